//! Secrets by name. `secret://NAME` in a text stands for what a variable of the environment or a file holds, and is put in at
//! the last moment, on the way out. What was put in is remembered for as long as something may come back from there, and taken
//! out of that again: nothing that is kept, told or logged holds it.
//!
//! Invariant: a secret goes to the hosts it names alone. Whoever writes what a task sends, also by what an event brings, can
//! name a secret; where it may go is for the one to say who keeps it.

mod mask;

pub use mask::Mask;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use thiserror::Error;

const MARK: &str = "secret://";
/// What is shorter is found in any text, and cannot be taken out of one.
pub const SECRET_BYTES_MIN: usize = 6;
pub const SECRET_BYTES_MAX: usize = 64 * 1_024;

/// Where a secret is to be found, and where it may go.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Secret {
    pub from: From,
    /// Hosts, such as `api.stripe.com`, `*.example.com` or `*` for all. None: it goes out to nobody.
    pub hosts: Vec<String>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum From {
    /// A variable of the environment.
    Env(String),
    /// Its text without the line break at its end. It is read at every use, so it can be exchanged.
    File(PathBuf),
}

#[derive(Clone, Debug, Default)]
pub struct Secrets(BTreeMap<String, Secret>);

#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum NoSecret {
    #[error("there is no secret `{0}`: name it under [secrets] in signaller.toml")]
    Unknown(String),
    #[error("secret `{0}` is not there: {1}")]
    Unset(String, String),
    #[error(
        "secret `{0}` is shorter than {SECRET_BYTES_MIN} bytes, so it could not be kept out of what is told: use a longer one"
    )]
    Short(String),
    #[error("secret `{0}` cannot be a part of a host: write it behind the host, or keep the whole address in it")]
    InHost(String),
    #[error("secret `{0}` may not go to {1}: name that host in its `hosts` in signaller.toml")]
    Elsewhere(String, String),
}

/// What may stand after `secret://`.
pub fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

/// What may stand among a secret's hosts: `*` at most at the beginning.
pub fn is_host_pattern(text: &str) -> bool {
    let rest = text.strip_prefix('*').unwrap_or(text);
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
    let is_address = rest.starts_with('[') && rest.ends_with(']');
    !text.is_empty() && (is_address || rest.bytes().all(is_host))
}

/// The secrets that a text names.
pub fn named(text: &str) -> impl Iterator<Item = &str> {
    text.split(MARK).skip(1).map(|after| split(after).0)
}

/// A name, and what stands after it.
fn split(after: &str) -> (&str, &str) {
    let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_' && c != '-');
    after.split_at(end.unwrap_or(after.len()))
}

/// Secrets that were put into something, with what they hold. Not to be shown.
#[derive(Clone, Default)]
pub struct Revealed {
    found: Vec<(String, String, Vec<String>)>,
}

impl Secrets {
    pub fn new(known: impl IntoIterator<Item = (String, Secret)>) -> Secrets {
        Secrets(known.into_iter().collect())
    }

    pub fn knows(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// Those that cannot be had now, and why.
    pub fn missing(&self) -> Vec<NoSecret> {
        self.0.keys().filter_map(|name| self.value(name).err()).collect()
    }

    /// The text with its secrets put in.
    pub fn fill(&self, text: &str, revealed: &mut Revealed) -> Result<String, NoSecret> {
        self.fill_as(text, revealed, str::to_owned)
    }

    /// The same of a JSON text: what is put in is escaped, so that it stays the text it stands in.
    pub fn fill_json(&self, text: &str, revealed: &mut Revealed) -> Result<String, NoSecret> {
        self.fill_as(text, revealed, |value| {
            let quoted = serde_json::to_string(value).expect("text is JSON");
            quoted[1..quoted.len() - 1].to_owned()
        })
    }

    fn fill_as(&self, text: &str, revealed: &mut Revealed, put: impl Fn(&str) -> String) -> Result<String, NoSecret> {
        self.put_in(text, revealed, put).map(|(filled, _)| filled)
    }

    /// An address with its secrets put in. Its host is looked up, and told when something goes wrong: none of it may be a secret,
    /// unless that is the whole beginning of the address, with a host of its own.
    pub fn fill_address(&self, text: &str, revealed: &mut Revealed) -> Result<String, NoSecret> {
        let (filled, put) = self.put_in(text, revealed, str::to_owned)?;
        let (Some(first), Some(scheme)) = (put.first(), filled.find("://")) else { return Ok(filled) };
        let host = scheme + "://".len();
        let end = filled[host..].find(['/', '?', '#']).map_or(filled.len(), |end| host + end);
        if let Some(nth) = put.iter().position(|begin| (1..=end).contains(begin)) {
            return Err(NoSecret::InHost(named(text).nth(nth).unwrap_or_default().to_owned()));
        }
        if *first == 0 {
            let (name, _, hosts) = revealed.found[revealed.found.len() - put.len()].clone();
            let host = filled[host..end].rsplit_once(':').map_or(&filled[host..end], |(host, _)| host);
            revealed.found.push((name, host.to_owned(), hosts));
        }
        Ok(filled)
    }

    /// With where each of them begins.
    fn put_in(
        &self,
        text: &str,
        revealed: &mut Revealed,
        put: impl Fn(&str) -> String,
    ) -> Result<(String, Vec<usize>), NoSecret> {
        let (mut filled, mut begins, mut rest) = (String::with_capacity(text.len()), Vec::new(), text);
        while let Some((before, after)) = rest.split_once(MARK) {
            let (name, after) = split(after);
            let value = self.value(name)?;
            filled.push_str(before);
            begins.push(filled.len());
            filled.push_str(&put(&value));
            revealed.found.push((name.to_owned(), value, self.0[name].hosts.clone()));
            rest = after;
        }
        filled.push_str(rest);
        Ok((filled, begins))
    }

    fn value(&self, name: &str) -> Result<String, NoSecret> {
        let secret = self.0.get(name).ok_or_else(|| NoSecret::Unknown(name.to_owned()))?;
        let unset = |why: String| NoSecret::Unset(name.to_owned(), why);
        let value = match &secret.from {
            From::Env(variable) => std::env::var(variable).map_err(|_| {
                unset(format!("variable {variable} of the environment is not set, set it and start the server again"))
            })?,
            From::File(path) => {
                let unread = |why: String| unset(format!("{} cannot be read ({why}), write it there", path.display()));
                let bytes = std::fs::metadata(path).map_err(|error| unread(error.to_string()))?.len();
                if bytes > SECRET_BYTES_MAX as u64 {
                    return Err(unread("it is larger than any secret".into()));
                }
                let text = std::fs::read_to_string(path).map_err(|error| unread(error.to_string()))?;
                text.trim_end_matches(['\r', '\n']).to_owned()
            }
        };
        if value.len() < SECRET_BYTES_MIN { Err(NoSecret::Short(name.to_owned())) } else { Ok(value) }
    }
}

impl Revealed {
    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Whether all of them may go to this host.
    pub fn check(&self, host: &str) -> Result<(), NoSecret> {
        let lower = host.to_ascii_lowercase();
        let fits = |pattern: &String| match pattern.to_ascii_lowercase().strip_prefix('*') {
            Some(end) => lower.ends_with(end),
            None => lower == pattern.to_ascii_lowercase(),
        };
        match self.found.iter().find(|(_, _, hosts)| !hosts.iter().any(fits)) {
            Some((name, ..)) => Err(NoSecret::Elsewhere(name.clone(), host.to_owned())),
            None => Ok(()),
        }
    }

    /// What takes them out of a text again.
    pub fn mask(&self) -> Mask {
        Mask::new(self.found.iter().map(|(name, value, _)| (format!("{MARK}{name}"), value.clone())))
    }
}

impl fmt::Debug for Revealed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.found.iter().map(|(name, ..)| name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_put_in_where_it_is_named_or_it_is_said_why_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            From::File(path)
        };
        let secret = |from, hosts: &[&str]| Secret { from, hosts: hosts.iter().map(ToString::to_string).collect() };
        let secrets = Secrets::new([
            ("KEY".to_owned(), secret(file("key", "top \"secret\"\n"), &["api.test", "*.b.test"])),
            ("SHORT".to_owned(), secret(file("short", "abc\n"), &["*"])),
            ("GONE".to_owned(), secret(From::File(folder.path().join("gone")), &["*"])),
            ("UNSET".to_owned(), secret(From::Env("SIGNALLER_NOBODY_SETS_THIS".into()), &["*"])),
            ("ALL".to_owned(), secret(file("all", "anything"), &["*"])),
            ("NOBODY".to_owned(), secret(file("nobody", "anything"), &[])),
        ]);
        for (text, filled) in [
            ("nothing", Ok("nothing")),
            ("Bearer secret://KEY", Ok("Bearer top \"secret\"")),
            ("a=secret://KEY&b=secret://KEY.", Ok("a=top \"secret\"&b=top \"secret\".")),
            ("secret://NONE", Err("there is no secret `NONE`")),
            ("secret://", Err("there is no secret ``")),
            ("secret://SHORT", Err("shorter than 6 bytes")),
            ("secret://GONE", Err("cannot be read")),
            ("secret://UNSET", Err("variable SIGNALLER_NOBODY_SETS_THIS of the environment is not set")),
        ] {
            let mut revealed = Revealed::default();
            match (secrets.fill(text, &mut revealed), filled) {
                (Ok(found), Ok(filled)) => assert_eq!(found, filled),
                (Err(why), Err(told)) => assert!(why.to_string().contains(told) && !why.to_string().contains("top"), "{why}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
            assert!(!format!("{revealed:?}").contains("top"), "{revealed:?}");
        }
        let mut revealed = Revealed::default();
        assert_eq!(secrets.fill_json(r#"{"a":"secret://KEY"}"#, &mut revealed).unwrap(), r#"{"a":"top \"secret\""}"#);
        for (name, host, fits) in [
            ("KEY", "api.test", true),
            ("KEY", "API.test", true),
            ("KEY", "a.b.test", true),
            ("KEY", "b.test", false),
            ("KEY", "evil-b.test", false),
            ("KEY", "api.test.evil", false),
            ("ALL", "anywhere", true),
            ("NOBODY", "anywhere", false),
        ] {
            let mut revealed = Revealed::default();
            secrets.fill(&format!("secret://{name}"), &mut revealed).unwrap();
            assert_eq!(revealed.check(host).is_ok(), fits, "{name} {host}");
        }
        assert_eq!(secrets.missing().len(), 3);
    }

    #[test]
    fn a_host_is_never_made_of_a_secret() {
        let folder = tempfile::tempdir().unwrap();
        let known =
            [("KEY", "Abc/def?ghi"), ("SLASH", "/abcdefg"), ("BASE", "http://x"), ("HOOK", "https://Hooks.test:8443/T0/B0")];
        let known = known.map(|(name, value)| {
            let path = folder.path().join(name);
            std::fs::write(&path, value).unwrap();
            (name.to_owned(), Secret { from: From::File(path), hosts: vec!["hooks.test".into()] })
        });
        let secrets = Secrets::new(known);
        for (text, filled) in [
            ("https://hooks.test/secret://KEY", Some("https://hooks.test/Abc/def?ghi")),
            ("https://hooks.test?k=secret://KEY", Some("https://hooks.test?k=Abc/def?ghi")),
            ("secret://HOOK", Some("https://Hooks.test:8443/T0/B0")),
            ("secret://HOOK?k=secret://KEY", Some("https://Hooks.test:8443/T0/B0?k=Abc/def?ghi")),
            ("http://secret://KEY.x.test/", None),
            ("http://x.test:secret://KEY/", None),
            ("http://x.test.secret://KEY", None),
            ("http://x.testsecret://SLASH", None),
            ("http://secret://KEY@x.test/", None),
            ("secret://BASE.secret://KEY/", None),
        ] {
            let mut revealed = Revealed::default();
            match (secrets.fill_address(text, &mut revealed), filled) {
                (Ok(found), Some(filled)) => assert_eq!(found, filled),
                (Err(no @ NoSecret::InHost(_)), None) => assert!(!no.to_string().contains("Abc"), "{no}"),
                (found, _) => panic!("{text}: {found:?}"),
            }
        }
        // Where the whole address is one, its host is told as little as the rest of it.
        let mut revealed = Revealed::default();
        secrets.fill_address("secret://HOOK", &mut revealed).unwrap();
        assert!(revealed.check("Hooks.test").is_ok());
        assert_eq!(revealed.mask().text("cannot reach Hooks.test:8443"), "cannot reach secret://HOOK:8443");
    }
}
