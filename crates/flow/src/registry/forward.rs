//! Handlers that pass an event on over HTTP. What they send may hold secrets, which are named here and filled in by whoever sends.

use super::webhook::Header;
use std::fmt;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Forward {
    pub url: Filled,
    pub method: Method,
    pub headers: Vec<(Header, Filled)>,
    /// How long one attempt may take.
    pub timeout_ms: u64,
    pub shape: Shape,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Method {
    Post,
    Put,
    Patch,
}

impl Method {
    pub const NAMED: [(&'static str, Method); 3] = [("POST", Method::Post), ("PUT", Method::Put), ("PATCH", Method::Patch)];

    pub fn as_str(self) -> &'static str {
        Method::NAMED.iter().find(|(_, method)| *method == self).map_or("", |(name, _)| name)
    }
}

/// What the body looks like.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Shape {
    /// The event as Signaller shows it.
    Event,
    /// As the event API of an Inngest server takes it.
    Inngest,
}

impl Shape {
    pub const NAMED: [(&'static str, Shape); 2] = [("event", Shape::Event), ("inngest", Shape::Inngest)];

    pub fn as_str(self) -> &'static str {
        Shape::NAMED.iter().find(|(_, shape)| *shape == self).map_or("", |(name, _)| name)
    }
}

/// A text in which `${env:NAME}` stands for what a variable of the environment holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Filled(Vec<Piece>);

#[derive(Clone, PartialEq, Eq, Debug)]
enum Piece {
    Plain(Box<str>),
    Env(Box<str>),
}

/// What a variable of the environment may be called.
pub fn is_variable(name: &str) -> bool {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_';
    (1..=128).contains(&name.len()) && !name.starts_with(|c: char| c.is_ascii_digit()) && name.chars().all(legal)
}

impl Filled {
    /// `None`: a `${` that is not closed, or names no variable.
    pub fn parse(text: &str) -> Option<Filled> {
        let (mut pieces, mut rest) = (Vec::new(), text);
        while let Some((plain, after)) = rest.split_once("${") {
            let (inner, after) = after.split_once('}')?;
            let env = inner.strip_prefix("env:").filter(|env| is_variable(env))?;
            if !plain.is_empty() {
                pieces.push(Piece::Plain(plain.into()));
            }
            pieces.push(Piece::Env(env.into()));
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Plain(rest.into()));
        }
        Some(Filled(pieces))
    }

    /// The variables it needs.
    pub fn variables(&self) -> impl Iterator<Item = &str> {
        self.0.iter().filter_map(|piece| if let Piece::Env(env) = piece { Some(&**env) } else { None })
    }

    /// `Err`: the variable that is not set.
    pub fn fill(&self, env: impl Fn(&str) -> Option<String>) -> Result<String, String> {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Plain(plain) => text.push_str(plain),
                Piece::Env(name) => text.push_str(&env(name).ok_or_else(|| name.to_string())?),
            }
        }
        Ok(text)
    }
}

impl fmt::Display for Filled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|piece| match piece {
            Piece::Plain(plain) => f.write_str(plain),
            Piece::Env(name) => write!(f, "${{env:{name}}}"),
        })
    }
}
