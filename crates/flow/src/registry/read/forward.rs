//! `forward:` → [`Forward`].

use super::expression::word;
use crate::define::fields::Fields;
use crate::define::scalars::{duration, text, wrong};
use crate::limits::*;
use crate::problem::{Problem, Problems};
use crate::registry::forward::*;
use crate::registry::webhook::Header;
use crate::source::{Data, Entry, Value, short};

/// Headers whose values are secrets.
const SECRET_WORDS: [&str; 8] = ["authorization", "cookie", "token", "secret", "password", "api-key", "apikey", "signature"];

/// A URL, or `{url, method, headers, timeout, shape}`.
pub fn forward(value: &Value, problems: &mut Problems) -> Option<Forward> {
    if let Data::Text(_) = &value.data {
        return url(value, problems).map(|url| Forward {
            url,
            method: Method::Post,
            headers: Vec::new(),
            timeout_ms: FORWARD_TIMEOUT_MS_DEFAULT,
            shape: Shape::Event,
        });
    }
    let mut fields = Fields::of(value, "`forward`", problems)?;
    let url = fields.require("url", problems).and_then(|entry| url(&entry.value, problems));
    let method = fields.take("method").and_then(|entry| word(&entry.value, &Method::NAMED, problems));
    let headers = fields.take("headers").map(|entry| headers(&entry.value, problems)).unwrap_or_default();
    let timeout_ms = fields.take("timeout").and_then(|entry| duration(&entry.value, problems));
    let shape = fields.take("shape").and_then(|entry| word(&entry.value, &Shape::NAMED, problems));
    fields.finish(problems);
    Some(Forward {
        url: url?,
        method: method.unwrap_or(Method::Post),
        headers,
        timeout_ms: timeout_ms.unwrap_or(FORWARD_TIMEOUT_MS_DEFAULT),
        shape: shape.unwrap_or(Shape::Event),
    })
}

fn url(value: &Value, problems: &mut Problems) -> Option<Filled> {
    let written = text(value, problems)?;
    let rest = written.strip_prefix("https://").or_else(|| written.strip_prefix("http://"));
    let plain = |rest: &str| !rest.is_empty() && rest.len() <= URL_BYTES_MAX && rest.chars().all(|c| c.is_ascii_graphic());
    let Some(rest) = rest.filter(|rest| plain(rest)) else {
        wrong(value, "a URL such as https://example.com/hooks", problems);
        return None;
    };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    if host.is_empty() || host.contains('@') {
        let problem = Problem::new(&value.at, "a URL names its host after //, and no user or password before it");
        problems.add(problem.suggest("write what proves us as a header: {Authorization: \"Bearer ${env:NAME}\"}"));
        return None;
    }
    filled(value, &written, problems)
}

fn filled(value: &Value, written: &str, problems: &mut Problems) -> Option<Filled> {
    let found = Filled::parse(written);
    if found.is_none() {
        let problem = Problem::new(&value.at, "`${` stands for a variable of the environment here, such as ${env:TOKEN}");
        problems.add(problem);
    }
    found
}

fn headers(value: &Value, problems: &mut Problems) -> Vec<(Header, Filled)> {
    let Data::Map(entries) = &value.data else {
        wrong(value, "a map from names of headers to their values", problems);
        return Vec::new();
    };
    if entries.len() > FORWARD_HEADERS_MAX {
        problems.say(&value.at, format!("there are {} headers; there may be {FORWARD_HEADERS_MAX}", entries.len()));
        return Vec::new();
    }
    entries.iter().filter_map(|entry| header(entry, problems)).collect()
}

fn header(entry: &Entry, problems: &mut Problems) -> Option<(Header, Filled)> {
    let Some(header) = Header::parse(&entry.key) else {
        problems.say(&entry.key_at, format!("`{}` is no name of a header", short(&entry.key)));
        return None;
    };
    let written = text(&entry.value, problems)?;
    if written.len() > URL_BYTES_MAX || written.chars().any(|c| c.is_control() || !c.is_ascii()) {
        problems.say(&entry.value.at, "the value of a header is short, on one line and in ASCII");
        return None;
    }
    let filled = filled(&entry.value, &written, problems)?;
    let secret = SECRET_WORDS.iter().any(|word| header.as_str().contains(word));
    if secret && filled.variables().next().is_none() {
        let problem = Problem::new(
            &entry.value.at,
            format!("what header `{}` holds is a secret, and does not stand in the registry", short(&entry.key)),
        );
        problems.add(problem.suggest("write ${env:NAME} and put it in that variable of the environment"));
        return None;
    }
    Some((header, filled))
}
