//! `signaller run replay --step`: a run gone through record by record. On a terminal by keys, drawn in its place; elsewhere each
//! record is a line with what it changed.

use super::picture;
use super::replay::{Look, answer, head, tail};
use super::show::{counts_text, state_at};
use crate::canvas::Canvas;
use crate::output::{Answer, Exit, Failure, Outcome, Paint, raw};
use crate::plain::plain_json;
use crate::table::columns;
use crate::telling::line_of_run;
use doors::wire::{Cursor, RecordView, RunReplay};
use rustix::termios::{LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::{IsTerminal, Read};

pub fn run(look: &Look<'_>, from: &str, limit: u32) -> Outcome {
    let first = look.at(from)?;
    let keys = std::io::stdin().is_terminal() && std::io::stdout().is_terminal() && std::io::stderr().is_terminal();
    if look.session.screen.people && keys { by_keys(look, first) } else { told(look, first, limit) }
}

/// One record, and what was another way before it.
#[derive(Serialize)]
struct Step<'a> {
    record: &'a RecordView,
    place: u64,
    changed: Vec<String>,
}

fn told(look: &Look<'_>, first: RunReplay, limit: u32) -> Outcome {
    let screen = &look.session.screen;
    let (mut here, mut before, mut left) = (first, None::<RunReplay>, limit);
    if let Some(earlier) = here.before {
        before = Some(look.at(&earlier.to_string())?);
    }
    loop {
        let step = Step { record: &here.record, place: here.place, changed: changed(before.as_ref(), &here) };
        let heard = match screen.people {
            true => {
                let number = screen.paint(Paint::Dim, &format!("{:>8}", here.record.seq.to_string()));
                let more = if step.changed.is_empty() { String::new() } else { format!("  ({})", step.changed.join("; ")) };
                screen.line(&format!("{number}  {}{}", line_of_run(&here.record, look.run), crate::plain::plain(&more)))
            }
            false => screen.line(&plain_json(raw(&step).get())),
        };
        left -= 1;
        let Some(after) = here.after.filter(|_| left > 0 && heard) else { break };
        let next = look.at(&after.to_string())?;
        before = Some(std::mem::replace(&mut here, next));
    }
    let text = match here.after {
        Some(after) => format!("{} of {} records told; go on with --at {after}", here.place, here.records),
        None => format!("That is all of {}: {} records.", look.run, here.records),
    };
    let answered = Answer { text, ..answer(look, &here) };
    Ok(match here.after {
        Some(after) => answered.next(format!("run replay {} --at {after} --step", look.run), "go on from here"),
        None => answered,
    })
}

/// `pay: waiting → queued`, `rounds[1] is open`, `run: running → done`.
fn changed(before: Option<&RunReplay>, now: &RunReplay) -> Vec<String> {
    let mut changed = Vec::new();
    let status = |replay: &RunReplay| {
        if replay.run.pause.is_some() { "paused".into() } else { raw(&replay.run.status).get().replace('"', "") }
    };
    let was = before.map(status).unwrap_or_default();
    if was != status(now) {
        changed.push(format!("run: {}{}", if was.is_empty() { was } else { format!("{was} → ") }, status(now)));
    }
    let nodes = |replay: &RunReplay| -> BTreeMap<String, &'static str> {
        replay.run.nodes.iter().map(|node| (node.node.clone(), node.status.as_str())).collect()
    };
    let earlier = before.map(nodes).unwrap_or_default();
    for (node, status) in nodes(now) {
        match earlier.get(&node) {
            Some(was) if *was == status => {}
            Some(was) => changed.push(format!("{node}: {was} → {status}")),
            None if status == "waiting" => {}
            None => changed.push(format!("{node}: {status}")),
        }
    }
    let open = |replay: &RunReplay| replay.frames.iter().cloned().collect::<BTreeSet<String>>();
    let (were, are) = (before.map(open).unwrap_or_default(), open(now));
    changed.extend(are.difference(&were).map(|frame| format!("{frame} is open")));
    changed.extend(were.difference(&are).map(|frame| format!("{frame} is closed")));
    changed
}

/// Keys come one by one and are not shown, until this is dropped.
struct Keys(Termios);

impl Keys {
    fn open() -> Result<Keys, Failure> {
        let broken = |error| Failure::new(Exit::Unavailable, "terminal", format!("the terminal cannot be set up: {error}"));
        let usual = tcgetattr(std::io::stdin()).map_err(broken)?;
        let mut ours = usual.clone();
        // Ctrl-C is a key like the others: what was changed is to be put back.
        ours.local_modes.remove(LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG);
        ours.special_codes[SpecialCodeIndex::VMIN] = 1;
        ours.special_codes[SpecialCodeIndex::VTIME] = 0;
        tcsetattr(std::io::stdin(), OptionalActions::Now, &ours).map_err(broken)?;
        Ok(Keys(usual))
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &self.0);
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
enum Key {
    Next,
    Before,
    NextChange,
    ChangeBefore,
    First,
    Last,
    Go,
    Quit,
    Digit(u8),
    Enter,
    Erase,
    Other,
}

/// Keys that came together: each is one byte, but an arrow is three, and a sign beyond ASCII several.
fn keys(mut bytes: &[u8]) -> Vec<Key> {
    if bytes.is_empty() {
        return vec![Key::Quit];
    }
    let mut keys = Vec::new();
    while let Some(first) = bytes.first() {
        let count = match (first, bytes.get(1)) {
            (b'\x1b', Some(b'[' | b'O')) => {
                2 + bytes[2..].iter().position(|byte| (0x40..0x7f).contains(byte)).map_or(0, |at| at + 1)
            }
            (0x80.., _) => bytes.iter().take_while(|byte| **byte >= 0x80).count(),
            _ => 1,
        };
        let (one, rest) = bytes.split_at(count);
        keys.push(key(one));
        bytes = rest;
    }
    keys
}

/// One that was typed.
fn key(bytes: &[u8]) -> Key {
    match bytes {
        b"n" | b" " | b"\x1b[C" | b"\x1b[B" | b"\x1bOC" | b"\x1bOB" => Key::Next,
        b"p" | b"\x1b[D" | b"\x1b[A" | b"\x1bOD" | b"\x1bOA" => Key::Before,
        b"N" => Key::NextChange,
        b"P" => Key::ChangeBefore,
        b"$" | b"\x1b[F" => Key::Last,
        b"\x1b[H" => Key::First,
        b"g" => Key::Go,
        b"q" | b"\x1b" | b"\x03" | b"\x04" | b"" => Key::Quit,
        b"\r" | b"\n" => Key::Enter,
        b"\x7f" | b"\x08" => Key::Erase,
        [digit @ b'0'..=b'9'] => Key::Digit(*digit),
        _ => Key::Other,
    }
}

/// Looks from one record to the next at most, for one that is not a task's.
const PASSED_BY_MAX: usize = 200;

/// Where one is, and what is typed.
struct Walk<'a> {
    look: &'a Look<'a>,
    here: RunReplay,
    /// The number of a record that is being typed.
    going: Option<String>,
    trouble: Option<String>,
}

impl Walk<'_> {
    /// `false`: that was enough.
    fn take(&mut self, key: Key) -> bool {
        let (look, here) = (self.look, &self.here);
        let there = match (key, &mut self.going) {
            (Key::Quit, None) => return false,
            (Key::Quit, Some(_)) => {
                self.going = None;
                return true;
            }
            (Key::Digit(digit), Some(number)) => {
                number.push(char::from(digit));
                return true;
            }
            (Key::Erase, Some(number)) => {
                number.pop();
                return true;
            }
            (Key::Enter, Some(number)) => {
                let number = std::mem::take(number);
                self.going = None;
                if number.is_empty() {
                    return true;
                }
                look.at(&number)
            }
            (_, Some(_)) => return true,
            (Key::Go, None) => {
                self.going = Some(String::new());
                return true;
            }
            (Key::First | Key::Digit(b'0'), None) => look.at("start"),
            (Key::Last, None) => look.at("end"),
            (Key::Next, None) => moved(look, here.after),
            (Key::Before, None) => moved(look, here.before),
            (Key::NextChange, None) => change(look, here.after, |replay| replay.after),
            (Key::ChangeBefore, None) => change(look, here.before, |replay| replay.before),
            _ => return true,
        };
        match there {
            Ok(there) => self.here = there,
            // It is told, and what was drawn stays.
            Err(failure) => self.trouble = Some(failure.message),
        }
        true
    }
}

fn by_keys(look: &Look<'_>, first: RunReplay) -> Outcome {
    let mut canvas = Canvas::default();
    let mut walk = Walk { look, here: first, going: None, trouble: None };
    let terminal = Keys::open()?;
    'typing: loop {
        draw(look, &mut canvas, &walk.here, walk.going.as_deref(), walk.trouble.take().as_deref());
        let mut bytes = [0; 64];
        let count = std::io::stdin().lock().read(&mut bytes).unwrap_or(0);
        for key in keys(&bytes[..count]) {
            if !walk.take(key) {
                break 'typing;
            }
        }
    }
    drop(terminal);
    canvas.clear();
    Ok(answer(look, &walk.here))
}

fn moved(look: &Look<'_>, to: Option<Cursor>) -> Result<RunReplay, Failure> {
    match to {
        Some(seq) => look.at(&seq.to_string()),
        None => Err(Failure::usage("there is no further record")),
    }
}

/// On to a record that is not of a task.
fn change(look: &Look<'_>, to: Option<Cursor>, on: impl Fn(&RunReplay) -> Option<Cursor>) -> Result<RunReplay, Failure> {
    let mut there = moved(look, to)?;
    for _ in 0..PASSED_BY_MAX {
        match on(&there).filter(|_| there.record.owner.starts_with("task-")) {
            Some(seq) => there = look.at(&seq.to_string())?,
            None => break,
        }
    }
    Ok(there)
}

fn draw(look: &Look<'_>, canvas: &mut Canvas, here: &RunReplay, going: Option<&str>, trouble: Option<&str>) {
    let screen = &look.session.screen;
    let mut lines = head(screen, here);
    let counts = here.run.counts.as_ref().map_or_else(String::new, |counts| format!(", {}", counts_text(counts)));
    lines.push(format!("{} is {}{counts}", here.run.workflow, state_at(screen, &here.run, here.time)));
    lines.extend(picture::lines(screen, &here.run, here.time, columns()));
    lines.extend(tail(screen, here));
    lines.push(match (going, trouble) {
        (Some(number), _) => format!("go to record r{number}"),
        (None, Some(trouble)) => screen.paint(Paint::Red, trouble),
        (None, None) => screen.paint(Paint::Dim, "n next, p before, N and P without tasks, g number, 0 first, $ last, q leave"),
    });
    let lines: Vec<String> = lines.iter().map(|line| screen.known(line).into_owned()).collect();
    // The keys, and what is typed, are seen however few rows there are.
    canvas.draw(&lines, 1);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read() {
        for (bytes, wanted) in [
            (&b"n"[..], Key::Next),
            (b"\x1b[C", Key::Next),
            (b"\x1b[D", Key::Before),
            (b"N", Key::NextChange),
            (b"g", Key::Go),
            (b"7", Key::Digit(b'7')),
            (b"\x03", Key::Quit),
            (b"", Key::Quit),
            (b"\x1b", Key::Quit),
            (b"x", Key::Other),
            (b"\x1b[Z", Key::Other),
        ] {
            assert_eq!(keys(bytes), [wanted], "{bytes:?}");
        }
        let several = [Key::Go, Key::Digit(b'1'), Key::Digit(b'2'), Key::Enter, Key::Next, Key::Before, Key::Other, Key::Last];
        assert_eq!(keys("g12\rn\x1b[D漢$".as_bytes()), several);
    }
}
