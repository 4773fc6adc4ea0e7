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
    let thread = std::thread::Builder::new().name("registry".into());
    let started = thread.spawn(move || {
        while engine.is_up() {
            std::thread::sleep(LOOK_EVERY);
            let now = seen(&path);
            // A file that is being written is looked at again once it is left alone.
            if now != last {
                last = now;
                if let Some(why) = take(&engine, &path) {
                    tracing::warn!(file = %path.display(), why, "the registry is not taken; the one before it stays in force");
                }
            }
        }
    });
    started.err().map(|error| format!("the file cannot be followed: {error}")).or(wrong)
}

/// What is wrong with it, if something is.
fn take(engine: &Engine, path: &Path) -> Option<String> {
    let why = put(engine, path).err();
    engine.set_registry_refused(why.clone());
    why
}

fn put(engine: &Engine, path: &Path) -> Result<(), String> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(|error| format!("{shown}: {error}"))?;
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
            Err(format!("{}{more}", first.unwrap_or_else(|| format!("{shown} is wrong"))))
        }
        Err(NoRegistry::Rejected(no)) => Err(format!("{shown}: {no}")),
        Err(NoRegistry::Refused(refused)) => Err(format!("{shown}: {refused}")),
        Err(NoRegistry::Unknown) => Err(format!("{shown}: the store failed while it was written; it is tried again")),
    }
}
