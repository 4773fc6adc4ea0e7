//! The registry's file: put in force when the server starts, and again whenever it changes. One that is wrong changes nothing:
//! the registry before it stays, and what is wrong is logged and shown by `status`.

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

/// Puts the file in force, and follows it until the engine ends. Says what is wrong with it now.
pub fn follow(engine: Engine, path: PathBuf) -> Option<String> {
    let mut last = seen(&path);
    let wrong = take(&engine, &path);
    last = last.filter(|_| !wrong.as_ref().is_some_and(|wrong| wrong.again));
    let thread = std::thread::Builder::new().name("registry".into());
    let started = thread.spawn(move || {
        while engine.is_up() {
            std::thread::sleep(LOOK_EVERY);
            let now = seen(&path);
            // A file that is being written is looked at again once it is left alone.
            if now != last {
                last = now;
                if let Some(Wrong { why, again }) = take(&engine, &path) {
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

/// What is wrong with it, if something is.
fn take(engine: &Engine, path: &Path) -> Option<Wrong> {
    let wrong = put(engine, path).err();
    engine.set_registry_refused(wrong.as_ref().map(|wrong| wrong.why.clone()));
    wrong
}

fn put(engine: &Engine, path: &Path) -> Result<(), Wrong> {
    let shown = path.display();
    let own = |why: String| Wrong { why, again: false };
    let other = |why: String| Wrong { why, again: true };
    let text = std::fs::read_to_string(path).map_err(|error| own(format!("{shown}: {error}")))?;
    let by = Actor::parse("registry file").expect("a name");
    match engine.put_registry(&text, &by) {
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
