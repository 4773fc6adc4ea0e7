//! The operations of a change, however they are given: a file, `--set` and `--unset`, or an edited text.

use super::edit;
use crate::client::with_query;
use crate::commands::Session;
use crate::output::{Exit, Failure};
use clap::Args;
use doors::wire::{DefinitionQuery, NextAction, RunDefinition};
use flow::patch::{Document, Operations, PatchError};
use kernel::ids::RunId;
use serde_json::value::RawValue;
use std::io::Read;

/// How often they are made anew when somebody else was first.
const TRIES_MAX: u32 = 8;

#[derive(Args, Debug, Default)]
pub struct OperationsArgs {
    /// RFC 6902 operations from a file, JSON or YAML; - for stdin
    #[arg(short = 'f', long = "file", value_name = "FILE", conflicts_with_all = ["set", "unset", "text"])]
    file: Option<String>,
    /// Put VALUE at PATH, such as nodes.pay.timeout=1m; JSON if it can be read so, else text; may be given several times
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Take away what is at PATH; may be given several times, and is done after every --set
    #[arg(long, value_name = "PATH")]
    unset: Vec<String>,
    /// The whole text instead of what to change in it, from a file, YAML or JSON; - for stdin
    #[arg(long, value_name = "FILE", conflicts_with_all = ["set", "unset"])]
    text: Option<String>,
}

/// What is to be changed in the texts of many runs, as it is sent.
#[derive(Clone, Default)]
pub struct Patch {
    pub operations: Option<Box<RawValue>>,
    pub set: Vec<String>,
    pub unset: Vec<String>,
}

/// Operations as they are sent, and the revision they were made for.
pub struct Made {
    pub operations: Box<RawValue>,
    /// None: for whatever it is at.
    pub expected: Option<u32>,
}

impl OperationsArgs {
    pub fn is_empty(&self) -> bool {
        self.file.is_none() && self.text.is_none() && self.set.is_empty() && self.unset.is_empty()
    }

    /// It is a whole text, and not what to change in one.
    pub fn is_whole(&self) -> bool {
        self.text.is_some()
    }

    /// What is made of paths is made for one text; operations of a file are for any.
    pub fn hangs_on_text(&self) -> bool {
        self.text.is_some() || !self.set.is_empty() || !self.unset.is_empty()
    }

    /// As they are sent; `None`: nothing is to change. `text` is asked for if they hang on it.
    pub fn made_on(&self, text: Option<&str>) -> Result<Option<Box<RawValue>>, Failure> {
        match (&self.file, text) {
            (Some(file), _) => Ok(Some(raw(&of_file(file)?))),
            (None, Some(text)) if self.hangs_on_text() => Ok(Some(raw(&self.made(text)?))),
            (None, _) => Ok(None),
        }
    }

    /// Asks for a change until nobody else is first. What is made of paths is made for one revision.
    pub fn send<T>(
        &self,
        session: &Session,
        run: RunId,
        expected: Option<u32>,
        ask: impl Fn(Option<Made>) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        if !self.hangs_on_text() {
            return ask(self.made_on(None)?.map(|operations| Made { operations, expected }));
        }
        let mut tries = 0;
        loop {
            tries += 1;
            let present = definition_at(session, run, None)?;
            let made = self.made_on(Some(&present.text))?;
            let made = made.map(|operations| Made { operations, expected: expected.or(Some(present.newest)) });
            match ask(made) {
                Err(failure) if &*failure.code == "revision_conflict" && expected.is_none() && tries < TRIES_MAX => {}
                answer => return answer,
            }
        }
    }

    /// A restart that is advised takes the same change along.
    pub fn carried(&self, mut failure: Failure) -> Failure {
        let words = self.shown();
        let advised =
            |next: &&mut NextAction| next.command.starts_with("signaller run restart ") && !next.command.contains(" --");
        for next in failure.next.iter_mut().filter(advised).filter(|_| &*failure.code == "frozen") {
            next.command.push_str(&words);
        }
        failure
    }

    fn made(&self, text: &str) -> Result<Operations, Failure> {
        let document = document(text)?;
        if let Some(file) = &self.text {
            return Ok(flow::patch::between(&document, &whole(file)?));
        }
        // Whether they are paths at all is ours to say, whether they fit the text is said as the server would.
        document.set_all(&self.set, &self.unset).map(|(operations, _)| operations).map_err(|error| match error.index {
            Some(_) => unfit(error),
            None => wrong(error),
        })
    }

    /// For many runs: what paths mean is found out in the text of each.
    pub fn for_many(&self) -> Result<Patch, Failure> {
        let operations = self.file.as_deref().map(of_file).transpose()?;
        Ok(Patch { operations: operations.as_ref().map(raw), set: self.set.clone(), unset: self.unset.clone() })
    }

    /// As they stand on a command line.
    pub fn shown(&self) -> String {
        let quoted = |flag: &str, text: &String| format!(" {flag} '{}'", text.replace('\'', "'\\''"));
        let file = self.file.iter().map(|file| quoted("-f", file));
        let file = file.chain(self.text.iter().map(|file| quoted("--text", file)));
        let set = self.set.iter().map(|text| quoted("--set", text));
        file.chain(set).chain(self.unset.iter().map(|path| quoted("--unset", path))).collect()
    }
}

/// The text that a run follows, or followed in this revision.
pub fn definition_at(session: &Session, run: RunId, revision: Option<u32>) -> Result<RunDefinition, Failure> {
    let query = DefinitionQuery { revision, ..DefinitionQuery::default() };
    session.client.get(&with_query(&format!("/v1/runs/{run}/definition"), &query))
}

pub fn document(text: &str) -> Result<Document, Failure> {
    Document::read(text.as_bytes()).map_err(|problems| {
        let first = problems.first().map_or_else(String::new, ToString::to_string);
        Failure::new(Exit::Usage, "invalid_workflow", format!("the text cannot be read: {first}"))
    })
}

pub fn raw(operations: &Operations) -> Box<RawValue> {
    RawValue::from_string(operations.text()).expect("operations are written as JSON")
}

/// The operations of a file. What is wrong with them is wrong there.
fn of_file(file: &str) -> Result<Operations, Failure> {
    Operations::read(&read(file)?).map_err(|error| {
        let fix = error.suggestion.clone().unwrap_or_else(|| {
            r#"write a list of RFC 6902 operations: [{"op": "add", "path": "/nodes/pay/timeout", "value": "1m"}]"#.to_owned()
        });
        let name = if file == "-" { "stdin" } else { file };
        let plain = PatchError { suggestion: None, ..error };
        Failure::new(Exit::Usage, "invalid_patch", format!("{name}: {plain}")).fix(fix)
    })
}

/// A whole text, one that can run.
fn whole(file: &str) -> Result<Document, Failure> {
    let text = String::from_utf8(read(file)?);
    let text = text.map_err(|_| Failure::usage(format!("`{file}` is not text")).fix("give a definition, YAML or JSON"))?;
    let text = edit::theirs(&text);
    flow::incoming::read(text.as_bytes()).map_err(|problems| edit::cannot_run(&problems))?;
    document(&text)
}

/// Operations that the text refuses, as the server says it of those of a file.
fn unfit(error: PatchError) -> Failure {
    Failure { exit: Exit::Conflict, code: "patch_failed".into(), ..wrong(error) }
}

fn wrong(error: PatchError) -> Failure {
    let fix = error.suggestion.clone().unwrap_or_else(|| "`signaller run definition RUN` has the text it follows".to_owned());
    let plain = PatchError { suggestion: None, ..error };
    Failure::new(Exit::Usage, "invalid_patch", plain.to_string()).fix(fix)
}

fn read(file: &str) -> Result<Vec<u8>, Failure> {
    if file == "-" {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        return read.map(|_| bytes).map_err(|error| Failure::usage(format!("stdin cannot be read: {error}")));
    }
    std::fs::read(file).map_err(|error| {
        Failure::usage(format!("`{file}` cannot be read: {error}")).fix("name a file that is there, or - for stdin")
    })
}
