//! `signaller run patch --edit`: the text in an editor, and back as operations.

use super::operations::{document, raw};
use crate::commands::Session;
use crate::output::{Exit, Failure};
use crate::place::env;
use doors::wire::RunDefinition;
use kernel::ids::RunId;
use serde_json::value::RawValue;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Lines at the head of the file that are ours.
const OURS: &str = "#: ";

/// Opens the text, again and again until it is one that can run, and asks for what was changed.
pub fn edited<T>(
    session: &Session,
    found: RunDefinition,
    ask: impl Fn(Box<RawValue>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let editor = env("VISUAL").or_else(|| env("EDITOR")).unwrap_or_else(|| "vi".to_owned());
    let run = found.run;
    let old = document(&found.text)?;
    let file = Scratch::new(run, found.revision, &found.text)?;
    let mut said =
        vec![format!("{run}, revision {}. What is saved is what it follows; nothing saved, nothing changed.", found.revision)];
    let mut before = found.text.clone();
    loop {
        file.write(&said, &before)?;
        open(&editor, &file.path)?;
        let text = file.read()?;
        if text.trim().is_empty() {
            return Err(aborted("the file was empty"));
        }
        if text.trim_end() == before.trim_end() {
            return Err(aborted(if said.len() > 1 { "the problems are still there" } else { "nothing was changed" }));
        }
        let problems = flow::incoming::read(text.as_bytes()).err().unwrap_or_default();
        if problems.is_empty() {
            let operations = flow::patch::between(&old, &document(&text)?);
            return ask(raw(&operations)).map_err(|failure| kept(failure, &file, &text));
        }
        said = vec!["This cannot run; correct it, or save it as it is to give up:".to_owned()];
        said.extend(problems.iter().map(|problem| {
            let path = if problem.path.is_empty() { String::new() } else { format!("{}: ", problem.path) };
            format!("line {}: {path}{}", problem.line, problem.message)
        }));
        said.iter().skip(1).for_each(|line| session.screen.note(line));
        before = text;
    }
}

fn aborted(why: &str) -> Failure {
    Failure::new(Exit::Usage, "aborted", format!("{why}, so the run stays as it is")).fix("change the text and save it")
}

/// What somebody wrote is not thrown away because it came too late or cannot be.
fn kept(failure: Failure, file: &Scratch, text: &str) -> Failure {
    let path = file.path.with_extension("kept");
    if std::fs::write(&path, text).is_err() {
        return failure;
    }
    let fix = failure.fix.as_deref().map_or_else(String::new, |fix| format!("{fix}; "));
    let fix = format!("{fix}your text is kept in {}", path.display());
    failure.fix(fix)
}

fn open(editor: &str, path: &Path) -> Result<(), Failure> {
    // As others do it: the variable may hold words.
    let ran = Command::new("sh").arg("-c").arg(format!("{editor} \"$1\"")).arg("sh").arg(path).status();
    match ran {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => {
            Err(Failure::new(Exit::Usage, "aborted", format!("`{editor}` ended with {status}; the run stays as it is"))
                .fix("name an editor that works in $VISUAL or $EDITOR"))
        }
        Err(error) => {
            Err(Failure::usage(format!("`{editor}` cannot be started: {error}")).fix("name an editor in $VISUAL or $EDITOR"))
        }
    }
}

struct Scratch {
    path: PathBuf,
}

impl Scratch {
    fn new(run: RunId, revision: u32, text: &str) -> Result<Scratch, Failure> {
        let suffix = if text.trim_start().starts_with('{') { "json" } else { "yaml" };
        let name = format!("signaller-{run}-{revision}-{}.{suffix}", std::process::id());
        let path = std::env::temp_dir().join(name);
        let made = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        made.map(|_| Scratch { path: path.clone() })
            .map_err(|error| Failure::usage(format!("`{}` cannot be made: {error}", path.display())))
    }

    fn write(&self, said: &[String], text: &str) -> Result<(), Failure> {
        let head: String = said.iter().map(|line| format!("{OURS}{}\n", line.replace('\n', " "))).collect();
        let written = OpenOptions::new().write(true).truncate(true).open(&self.path);
        let written = written.and_then(|mut file| file.write_all(format!("{head}{text}").as_bytes()));
        written.map_err(|error| Failure::usage(format!("`{}` cannot be written: {error}", self.path.display())))
    }

    /// Without our own lines.
    fn read(&self) -> Result<String, Failure> {
        let text = std::fs::read_to_string(&self.path)
            .map_err(|error| Failure::usage(format!("`{}` cannot be read: {error}", self.path.display())))?;
        let theirs = text.split_inclusive('\n').skip_while(|line| line.starts_with(OURS.trim_end()));
        Ok(theirs.collect())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.path);
    }
}
