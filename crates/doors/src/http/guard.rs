//! Who may come in. With a token, whoever has it. Without one the server listens on loopback alone, and then a web page
//! in the user's own browser must not be able to reach it: by cross-site request, or by a name that was rebound.

use super::Door;
use super::answer::No;
use super::body::whole;
use crate::wire::Problem;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONNECTION, HOST};
use axum::http::{HeaderMap, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use std::net::IpAddr;

/// Paths that are answered without a token: whoever watches over the process need not know it.
pub const OPEN: [&str; 2] = ["/health", "/ready"];
/// What comes here proves who it is from by other means, and comes through proxies and tunnels of any name.
const PROVEN: &str = "/webhooks/";

pub async fn guard(State(door): State<Door>, request: Request, next: Next) -> Response {
    let open = OPEN.contains(&request.uri().path());
    let proven = request.uri().path().starts_with(PROVEN);
    let allowed = match &door.options.token {
        _ if proven => Ok(()),
        Some(_) if open => Ok(()),
        Some(token) => has_token(request.headers(), token),
        None => is_local(request.method(), request.headers()),
    };
    let read = whole(request, allowed.is_ok()).await;
    match (allowed, read) {
        (Ok(()), Ok(request)) => next.run(request).await,
        (Err(problem), Ok(_)) => No(problem).into_response(),
        (allowed, Err(unread)) => {
            let mut response = allowed.map_or_else(No, |()| unread).into_response();
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            response
        }
    }
}

fn has_token(headers: &HeaderMap, token: &str) -> Result<(), Problem> {
    let given = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok()).and_then(|value| value.split_once(' '));
    match given.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer")).map(|(_, given)| given) {
        Some(given) if same(given.as_bytes(), token.as_bytes()) => Ok(()),
        Some(_) => {
            Err(Problem::new("unauthorized", "this is not the server's token", "set SIGNALLER_TOKEN to the server's token"))
        }
        None => {
            let fix = "send `authorization: Bearer TOKEN`; the command line takes it from SIGNALLER_TOKEN";
            Err(Problem::new("unauthorized", "this server asks for a token", fix))
        }
    }
}

/// Looks at every byte whatever it finds, so that the time taken says nothing about where they differ.
fn same(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |differing, (a, b)| differing | (a ^ b)) == 0
}

fn is_local(method: &Method, headers: &HeaderMap) -> Result<(), Problem> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let host = headers.get(HOST).and_then(|value| value.to_str().ok());
    if host.is_some_and(|host| !is_loopback(host)) {
        let fix = "call it as localhost or 127.0.0.1, or start the server with a token";
        return Err(Problem::new("forbidden", "without a token this server answers only to loopback names", fix));
    }
    // A browser too old to say where a request comes from still names the page's origin.
    let cross_site = match (text("sec-fetch-site"), text("origin")) {
        (Some(site), _) => site != "same-origin" && site != "none",
        (None, Some(origin)) => origin.split_once("://").map(|(_, authority)| authority) != host,
        (None, None) => false,
    };
    if cross_site && method != Method::GET && method != Method::HEAD {
        let fix = "call it from a program, or start the server with a token";
        return Err(Problem::new("forbidden", "another web site may not change anything here", fix));
    }
    Ok(())
}

fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_names_pass_without_a_token() {
        for (host, loopback) in [
            ("localhost", true),
            ("localhost:7400", true),
            ("127.0.0.1:7400", true),
            ("127.8.9.1", true),
            ("[::1]:7400", true),
            ("evil.test:7400", false),
            ("localhost.evil.test", false),
            ("127.0.0.1.evil.test", false),
            ("10.0.0.1:7400", false),
            ("", false),
        ] {
            assert_eq!(is_loopback(host), loopback, "{host}");
        }
    }

    #[test]
    fn tokens_are_compared_whole() {
        for (a, b, equal) in [("abc", "abc", true), ("abc", "abd", false), ("abc", "ab", false), ("", "", true)] {
            assert_eq!(same(a.as_bytes(), b.as_bytes()), equal);
        }
    }
}
