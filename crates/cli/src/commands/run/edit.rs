//! `signaller run patch --edit`: the text in an editor, and back as operations. What somebody wrote is not thrown away because it
//! came too late, cannot be, or was interrupted: it is kept in a file of its owner's, which `--text` takes up again.

use super::operations::{document, raw};
use crate::commands::Session;
use crate::output::{Exit, Failure};
use crate::place::env;
use crate::signals::{self, Signal};
use doors::wire::{ProblemAt, RunDefinition};
use kernel::ids::RunId;
use serde_json::value::RawValue;
use std::fs::{OpenOptions, Permissions};
use std::io::{IsTerminal, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Lines at the head of the file that are ours.
const OURS: &str = "#: ";

/// Opens the text, at a terminal again and again until it is one that can run, and asks for what was changed. `again`: the command
/// that takes up a text that was kept, such as `run patch run-7`.
pub fn edited<T>(
    session: &Session,
    found: RunDefinition,
    again: &str,
    ask: impl Fn(Box<RawValue>) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let terminal = std::io::stdin().is_terminal();
    let editor = env("VISUAL").or_else(|| env("EDITOR")).or_else(|| terminal.then(|| "vi".to_owned()));
    let editor = editor.ok_or_else(|| {
        Failure::usage("there is no editor to open: $VISUAL and $EDITOR are not set, and this is no terminal")
            .fix("set $EDITOR, or change the text with --set, --unset, -f or --text")
    })?;
    let run = found.run;
    let old = document(&found.text)?;
    let file = Scratch::new(run, found.revision, &found.text)?;
    let editing = file.mind_signals(session, again);
    let mut said =
        vec![format!("{run}, revision {}. What is saved is what it follows; nothing saved, nothing changed.", found.revision)];
    let mut before = found.text.clone();
    loop {
        file.write(&said, &before)?;
        editing.store(true, Ordering::Relaxed);
        let opened = open(&editor, &file.path);
        editing.store(false, Ordering::Relaxed);
        let text = file.read()?;
        let is_same = text.trim_end() == before.trim_end();
        opened.map_err(|failure| if is_same || text.trim().is_empty() { failure } else { file.kept(failure, again) })?;
        if text.trim().is_empty() {
            return Err(aborted("the file was empty"));
        }
        if is_same && said.len() > 1 {
            return Err(file.kept(aborted("the problems are still there"), again));
        }
        if is_same {
            return Err(aborted("nothing was changed"));
        }
        let problems = flow::incoming::read(text.as_bytes()).err().unwrap_or_default();
        if problems.is_empty() {
            let operations = flow::patch::between(&old, &document(&text)?);
            return ask(raw(&operations)).map_err(|failure| file.kept(failure, again));
        }
        if !terminal {
            return Err(file.kept(cannot_run(&problems), again));
        }
        said = vec!["This cannot run; correct it, or save it as it is to give up:".to_owned()];
        said.extend(problems.iter().map(|problem| format!("line {}: {}", problem.line, told(problem))));
        said.iter().skip(1).for_each(|line| session.screen.note(line));
        before = text;
    }
}

fn told(problem: &flow::Problem) -> String {
    let path = if problem.path.is_empty() { String::new() } else { format!("{}: ", problem.path) };
    format!("{path}{}", problem.message)
}

/// A text that is not a workflow.
pub fn cannot_run(problems: &[flow::Problem]) -> Failure {
    let first = problems.first().map_or_else(String::new, |first| format!(": line {}: {}", first.line, told(first)));
    let fix = problems.first().and_then(|first| first.suggestion.clone()).unwrap_or_else(|| "correct the text".to_owned());
    let failure = Failure::new(Exit::Usage, "invalid_workflow", format!("the text is not a workflow that can run{first}"));
    Failure { problems: problems.iter().map(ProblemAt::from).collect(), ..failure.fix(fix) }
}

fn aborted(why: &str) -> Failure {
    Failure::new(Exit::Usage, "aborted", format!("{why}, so the run stays as it is")).fix("change the text and save it")
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

/// The text without the lines at its head that are ours.
pub fn theirs(text: &str) -> String {
    text.split_inclusive('\n').skip_while(|line| line.starts_with(OURS.trim_end())).collect()
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
        Ok(theirs(&text))
    }

    /// Asked to end, the text is kept. While it is open in the editor, Ctrl-C is the editor's. The answer: say whether it is.
    fn mind_signals(&self, session: &Session, again: &str) -> Arc<AtomicBool> {
        let editing = Arc::new(AtomicBool::new(false));
        let (ours, path, again, screen) = (editing.clone(), self.path.clone(), again.to_owned(), session.screen);
        signals::on_signal(move |signal| {
            if signal == Signal::Interrupt && ours.load(Ordering::Relaxed) {
                return;
            }
            let kept = keep(&path).map(|kept| format!("; the text is kept in {0}: signaller {again} --text {0}", kept.display()));
            screen.note(&format!("interrupted; look whether the run was changed{}", kept.unwrap_or_default()));
            std::process::exit(signals::INTERRUPTED);
        });
        editing
    }

    fn kept(&self, failure: Failure, again: &str) -> Failure {
        let Some(path) = keep(&self.path) else { return failure };
        let fix = failure.fix.as_deref().map_or_else(String::new, |fix| format!("{fix}; "));
        let fix = format!("{fix}your text is kept in {}", path.display());
        failure.fix(fix).next(format!("{again} --text {}", path.display()), "take up that text again")
    }
}

/// The file under another name, for its owner alone. What stands there by that name is not written through, but replaced.
fn keep(path: &Path) -> Option<PathBuf> {
    let text = theirs(&std::fs::read_to_string(path).ok()?);
    std::fs::set_permissions(path, Permissions::from_mode(0o600)).ok()?;
    std::fs::write(path, text).ok()?;
    let kept = path.with_extension("kept");
    std::fs::rename(path, &kept).ok()?;
    Some(kept)
}

impl Drop for Scratch {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.path);
    }
}
