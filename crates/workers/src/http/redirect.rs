//! Where a redirect leads, and what of a request goes along.

use crate::client::{Sending, address};
use http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, PROXY_AUTHORIZATION};
use http::{Method, StatusCode, Uri};

/// Why a redirect is not followed.
#[derive(Copy, Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NotFollowed {
    #[error("it does not say where to, or nowhere that can be reached")]
    Nowhere,
    #[error("it leads from https to http")]
    Unsafe,
    #[error("it leads to another host, and a secret is not sent on")]
    Secret,
}

/// The request after one more redirect.
pub fn follow(sending: &Sending, status: StatusCode, location: Option<&str>, is_secret: bool) -> Result<Sending, NotFollowed> {
    let url = location.and_then(|location| join(&sending.url, location)).ok_or(NotFollowed::Nowhere)?;
    if sending.url.scheme_str() == Some("https") && url.scheme_str() != Some("https") {
        return Err(NotFollowed::Unsafe);
    }
    let is_elsewhere = origin(&url) != origin(&sending.url);
    if is_elsewhere && is_secret {
        return Err(NotFollowed::Secret);
    }
    let mut next = Sending { url, ..sending.clone() };
    let is_post = sending.method == Method::POST;
    let becomes_get = match status {
        StatusCode::SEE_OTHER => sending.method != Method::HEAD,
        StatusCode::MOVED_PERMANENTLY | StatusCode::FOUND => is_post,
        _ => false,
    };
    if becomes_get {
        next.method = Method::GET;
        next.body = Default::default();
        next.headers.remove(CONTENT_TYPE);
    }
    if is_elsewhere {
        [AUTHORIZATION, COOKIE, PROXY_AUTHORIZATION].into_iter().for_each(|name| _ = next.headers.remove(name));
    }
    Ok(next)
}

pub fn is_redirect(status: StatusCode) -> bool {
    matches!(status.as_u16(), 301 | 302 | 303 | 307 | 308)
}

fn origin(url: &Uri) -> (Option<&str>, String, u16) {
    let port = url.port_u16().unwrap_or(if url.scheme_str() == Some("https") { 443 } else { 80 });
    (url.scheme_str(), url.host().unwrap_or_default().to_ascii_lowercase(), port)
}

/// A reference, seen from where it was found (RFC 3986, 5.2).
fn join(base: &Uri, reference: &str) -> Option<Uri> {
    let reference = reference.split('#').next().unwrap_or_default();
    let has_scheme = reference.split_once(':').is_some_and(|(scheme, _)| !scheme.contains(['/', '?']));
    if has_scheme {
        return address(reference).ok();
    }
    let scheme = base.scheme_str()?;
    if reference.starts_with("//") {
        return address(&format!("{scheme}:{reference}")).ok();
    }
    let (path, query) = match reference.split_once('?') {
        Some((path, query)) => (path, format!("?{query}")),
        None => (reference, String::new()),
    };
    let path = match path {
        "" if query.is_empty() => return Some(base.clone()),
        "" => base.path().to_owned(),
        path if path.starts_with('/') => without_dots(path),
        path => without_dots(&format!("{}/{path}", base.path().rsplit_once('/').map_or("", |(folder, _)| folder))),
    };
    address(&format!("{scheme}://{}{path}{query}", base.authority()?)).ok()
}

fn without_dots(path: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    for part in &parts {
        match *part {
            "." => {}
            ".." => _ = kept.pop(),
            part => kept.push(part),
        }
    }
    let slash = if matches!(parts.last(), Some(&("." | ".."))) && !kept.is_empty() { "/" } else { "" };
    format!("/{}{slash}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderMap;
    use std::time::Duration;

    #[test]
    fn a_redirect_takes_along_what_may_go_there() {
        for (method, from, status, location, is_secret, next) in [
            ("POST", "http://h.test/a/b?x=1", 302, "/c?y=2", true, Ok("GET http://h.test/c?y=2 auth")),
            ("POST", "http://h.test/a/b", 307, "c", false, Ok("POST http://h.test/a/c auth type body")),
            ("PUT", "http://h.test/a/b", 301, "../c/./d", false, Ok("PUT http://h.test/c/d auth type body")),
            ("PUT", "http://h.test/a/b/", 303, "..", false, Ok("GET http://h.test/a/ auth")),
            ("GET", "http://h.test/a", 308, "?y=2#z", false, Ok("GET http://h.test/a?y=2 auth type body")),
            ("GET", "http://h.test:80/a", 308, "http://H.test/b", true, Ok("GET http://H.test/b auth type body")),
            ("GET", "http://h.test/a", 302, "//o.test/b", false, Ok("GET http://o.test/b type body")),
            ("GET", "http://h.test/a", 302, "https://h.test/b", false, Ok("GET https://h.test/b type body")),
            ("GET", "http://h.test/a", 302, "http://h.test:81/b", true, Err(NotFollowed::Secret)),
            ("GET", "http://h.test/a", 302, "https://o.test/b", true, Err(NotFollowed::Secret)),
            ("GET", "https://h.test/a", 302, "http://h.test/b", false, Err(NotFollowed::Unsafe)),
            ("GET", "http://h.test/a", 302, "file:///etc/passwd", false, Err(NotFollowed::Nowhere)),
            ("GET", "http://h.test/a", 302, "http://u:p@o.test/", false, Err(NotFollowed::Nowhere)),
            ("GET", "http://h.test/a", 302, "", false, Ok("GET http://h.test/a auth type body")),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(AUTHORIZATION, "k".parse().unwrap());
            headers.insert(CONTENT_TYPE, "t".parse().unwrap());
            let (method, url) = (method.parse().unwrap(), from.parse().unwrap());
            let sending = Sending { method, url, headers, body: "b".into(), time_max: Duration::ZERO, answer_bytes_max: 1 };
            let found = follow(&sending, StatusCode::from_u16(status).unwrap(), Some(location), is_secret).map(|next| {
                let word = |has: bool, word| if has { word } else { "" };
                let (auth, kind) = (next.headers.contains_key(AUTHORIZATION), next.headers.contains_key(CONTENT_TYPE));
                let words = [word(auth, " auth"), word(kind, " type"), word(!next.body.is_empty(), " body")].concat();
                format!("{} {}{words}", next.method, next.url)
            });
            assert_eq!(found.as_deref().map_err(|no| *no), next, "{from} {location}");
        }
    }
}
