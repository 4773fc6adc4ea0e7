//! The registry's file: put in force when the server starts, and again whenever what it says changes. One that was touched and
//! says the same is not put again: somebody may have put another over HTTP meanwhile. One that is wrong changes nothing: the
//! registry before it stays, and what is wrong is logged and shown by `status`.

use engine::{Engine, NoRegistry};
use kernel::names::Actor;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// How soon a change is seen.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What tells one state of the file from another.
type Seen = Option<(SystemTime, u64)>;

fn seen(path: &Path) -> Seen {
    let found = std::fs::metadata(path).ok()?;
    Some((found.modified().ok()?, found.len()))
}

/// What the file said when it was last looked at.
#[derive(Default)]
struct Given {
    text: Option<String>,
    /// What was wrong with that.
    wrong: Option<String>,
}

/// Puts the file in force, and follows it until the engine ends. Says what is wrong with it now.
pub fn follow(engine: Engine, path: PathBuf) -> Option<String> {
    let (mut last, mut given) = (seen(&path), Given::default());
    engine.set_registry_followed(&path.display().to_string());
    tell_whom_it_replaces(&engine, &path);
    let wrong = take(&engine, &path, &mut given);
    last = last.filter(|_| !wrong.as_ref().is_some_and(|wrong| wrong.again));
    let thread = std::thread::Builder::new().name("registry".into());
    let started = thread.spawn(move || {
        while engine.is_up() {
            std::thread::sleep(LOOK_EVERY);
            let now = seen(&path);
            // A file that is being written is looked at again once it is left alone.
            if now != last {
                last = now;
                if let Some(Wrong { why, again }) = take(&engine, &path, &mut given) {
                    tracing::warn!(file = %path.display(), why, "the registry is not taken; the one before it stays in force");
                    last = last.filter(|_| !again);
                }
            }
        }
    });
    started.err().map(|error| format!("the file cannot be followed: {error}")).or(wrong.map(|wrong| wrong.why))
}

/// Why it is not in force.
struct Wrong {
    why: String,
    /// It is nothing of its own: it may be taken the next time.
    again: bool,
}

/// A start puts the file in force, whatever was put meanwhile: not without a word.
fn tell_whom_it_replaces(engine: &Engine, path: &Path) {
    let before = engine.in_force();
    let others = before.by.as_ref().is_some_and(|by| by.as_str() != BY);
    if others && std::fs::read_to_string(path).is_ok_and(|text| *text != *before.text) {
        let by = before.by.as_ref().map_or_else(String::new, ToString::to_string);
        tracing::warn!(revision = before.revision, by, file = %path.display(), "the registry's file takes the place of what was put");
    }
}

/// What is wrong with it, if something is that was not wrong before.
fn take(engine: &Engine, path: &Path, given: &mut Given) -> Option<Wrong> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()));
    let taken = match &text {
        // Touched, or back after it was gone, and the same as before.
        Ok(text) if given.text.as_ref() == Some(text) => {
            engine.set_registry_refused(given.wrong.clone());
            return None;
        }
        Ok(text) => put(engine, path, text),
        Err(why) => Err(Wrong { why: why.clone(), again: false }),
    };
    let wrong = taken.err();
    let why = wrong.as_ref().map(|wrong| wrong.why.clone());
    engine.set_registry_refused(why.clone());
    // What was neither taken nor refused for what it says is tried again; one that is gone for a while says what it said.
    if let Ok(text) = text
        && !wrong.as_ref().is_some_and(|wrong| wrong.again)
    {
        *given = Given { text: Some(text), wrong: why };
    }
    wrong
}

const BY: &str = "registry file";

fn put(engine: &Engine, path: &Path, text: &str) -> Result<(), Wrong> {
    let shown = path.display();
    let own = |why: String| Wrong { why, again: false };
    let other = |why: String| Wrong { why, again: true };
    let by = Actor::parse(BY).expect("a name");
    match engine.put_registry(text, &by) {
        Ok(put) => {
            if !put.unchanged {
                tracing::info!(revision = put.in_force.revision, "the registry is in force");
            }
            Ok(())
        }
        Err(NoRegistry::Problems(problems)) => {
            let first = problems.first().map(|one| format!("{shown}:{}:{}: {}", one.line, one.column, one.message));
            let more = match problems.len() {
                0 | 1 => String::new(),
                many => format!(" (and {} more; `signaller registry check {shown}` shows each)", many - 1),
            };
            Err(own(format!("{}{more}", first.unwrap_or_else(|| format!("{shown} is wrong")))))
        }
        Err(NoRegistry::Rejected(no)) => Err(own(format!("{shown}: {no}"))),
        Err(NoRegistry::Refused(refused)) => Err(other(format!("{shown}: {refused}"))),
        Err(NoRegistry::Unknown) => Err(other(format!("{shown}: the store failed while it was written; it is tried again"))),
    }
}
