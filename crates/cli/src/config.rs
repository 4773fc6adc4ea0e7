//! Where a command talks to, and how it knows: the flag, the environment, the default, in that order.

use crate::output::Failure;
use clap::Args;
use kernel::names::Actor;
use std::fmt;

pub const DEFAULT_URL: &str = "http://127.0.0.1:7400";

#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Everywhere")]
pub struct Globals {
    /// The server to talk to [env: SIGNALLER_URL] [default: http://127.0.0.1:7400]
    #[arg(long, global = true, value_name = "URL")]
    pub url: Option<String>,
    /// The server's token, if it asks for one [env: SIGNALLER_TOKEN]
    #[arg(long, global = true, value_name = "TOKEN")]
    pub token: Option<String>,
    /// Answer with one JSON document (the default when stdout is not a terminal)
    #[arg(long, global = true, conflicts_with = "human")]
    pub json: bool,
    /// Answer for people, even when stdout is not a terminal
    #[arg(long, global = true)]
    pub human: bool,
    /// Who this command comes from, for the history [default: $USER]
    #[arg(long, global = true, value_name = "NAME")]
    pub by: Option<String>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Source {
    Flag,
    Environment,
    Default,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Source::Flag => "given with --url",
            Source::Environment => "from SIGNALLER_URL",
            Source::Default => "the default",
        })
    }
}

/// The server a command talks to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Target {
    pub url: String,
    pub source: Source,
    pub token: Option<String>,
}

impl Target {
    pub fn resolve(globals: &Globals, env: impl Fn(&str) -> Option<String>) -> Result<Target, Failure> {
        let env = |name: &str| env(name).filter(|value| !value.is_empty());
        let (url, source) = match (&globals.url, env("SIGNALLER_URL")) {
            (Some(url), _) => (url.clone(), Source::Flag),
            (None, Some(url)) => (url, Source::Environment),
            (None, None) => (DEFAULT_URL.to_owned(), Source::Default),
        };
        let url = if is_address(&url) { format!("http://{url}") } else { url };
        let host = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://")).unwrap_or("");
        if host.is_empty() || host.starts_with('/') || url.contains(char::is_whitespace) {
            let message = format!("`{url}`, {source}, is not a URL such as {DEFAULT_URL}");
            return Err(
                Failure::usage(message).fix("give it as http://HOST:PORT or https://HOST, or leave it out for the default")
            );
        }
        let token = globals.token.clone().or_else(|| env("SIGNALLER_TOKEN"));
        Ok(Target { url: url.trim_end_matches('/').to_owned(), source, token })
    }

    /// Whether the address is this very machine's, so that no proxy stands between.
    pub fn is_loopback(&self) -> bool {
        let host = self.url.split("://").nth(1).unwrap_or("").split('/').next().unwrap_or("");
        host.starts_with("127.") || host.starts_with("localhost") || host.starts_with("[::1]")
    }
}

/// `127.0.0.1:7400` or `localhost:7400`, as people say it.
fn is_address(text: &str) -> bool {
    let port = text.split('/').next().and_then(|authority| authority.rsplit_once(':')).filter(|(host, _)| !host.is_empty());
    port.is_some_and(|(host, port)| !host.contains("://") && !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Who commands come from.
pub fn actor(globals: &Globals, env: impl Fn(&str) -> Option<String>) -> Result<Actor, Failure> {
    match &globals.by {
        Some(by) => Actor::parse(by)
            .map_err(|bad| Failure::usage(format!("--by: {bad}")).fix("give a short name such as ana or deploy-bot")),
        // An odd $USER is no reason to refuse a command.
        None => {
            let user = env("USER").and_then(|user| Actor::parse(&user).ok());
            Ok(user.unwrap_or_else(|| Actor::parse("cli").expect("`cli` is a legal name")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_wins_over_the_environment_over_the_default() {
        let none: Option<&str> = None;
        for (flag, env, url, source) in [
            (none, none, DEFAULT_URL, Source::Default),
            (None, Some(""), DEFAULT_URL, Source::Default),
            (None, Some("http://a:1/"), "http://a:1", Source::Environment),
            (Some("https://b/x/"), Some("http://a:1"), "https://b/x", Source::Flag),
            (Some("127.0.0.1:7400"), None, "http://127.0.0.1:7400", Source::Flag),
            (None, Some("localhost:7400/x/"), "http://localhost:7400/x", Source::Environment),
            (Some("[::1]:7400"), None, "http://[::1]:7400", Source::Flag),
        ] {
            let globals = Globals { url: flag.map(str::to_owned), ..Globals::default() };
            let lookup = |name: &str| env.filter(|_| name == "SIGNALLER_URL").map(str::to_owned);
            let target = Target::resolve(&globals, lookup).unwrap();
            assert_eq!((target.url.as_str(), target.source), (url, source));
        }
        for url in ["", "banana", "banana:", ":7400", "a b:1", "ftp://a", "ftp://a:1", "http://", "http:///x", "http://a b"] {
            let globals = Globals { url: Some(url.into()), ..Globals::default() };
            let failure = Target::resolve(&globals, |_| None).expect_err(url);
            assert!(failure.fix.is_some_and(|fix| fix.contains("http://HOST:PORT")), "{url}");
        }
    }

    #[test]
    fn this_machine_is_reached_without_a_proxy() {
        for (url, loopback) in [
            (DEFAULT_URL, true),
            ("http://localhost:1", true),
            ("http://[::1]:1", true),
            ("https://example.com/127.0.0.1", false),
        ] {
            let target = Target { url: url.into(), source: Source::Flag, token: None };
            assert_eq!(target.is_loopback(), loopback, "{url}");
        }
    }
}
