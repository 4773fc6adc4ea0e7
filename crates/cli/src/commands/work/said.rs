//! What commands say on stderr while they run, log lines and how far they are, kept until a poll takes it along. Lines of a poll that
//! failed are told again; if the server had heard them, they are there twice.

use doors::wire::{POLL_LINES_MAX, WorkPoll};
use kernel::ids::{Fence, TaskId};
use kernel::names::clip;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use store::{LOG_LINE_BYTES_MAX, LOG_LINES_MAX};
use workers::process::Progress;

/// Of each attempt so many lines wait, as many as are kept; the oldest make room.
const LINES_MAX: usize = LOG_LINES_MAX;
/// No more of what it is at would be kept.
const MESSAGE_BYTES_MAX: usize = 200;
/// What the lines of one poll may come to, as they are written there: a poll that is too large would be refused whole.
const POLL_LOG_BYTES_MAX: usize = 2 * 1_024 * 1_024;

#[derive(Clone, Default)]
pub struct Said(Arc<Mutex<BTreeMap<(TaskId, Fence), Waiting>>>);

/// Of one attempt.
#[derive(Default)]
struct Waiting {
    lines: VecDeque<String>,
    /// Lines that made room.
    dropped: usize,
    progress: Option<(f64, Option<String>)>,
}

impl Said {
    /// A line of the log, or how far it is. `true`: nothing waited before this.
    pub fn add(&self, task: TaskId, fence: Fence, line: &str) -> bool {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = said.is_empty();
        let waiting = said.entry((task, fence)).or_default();
        if let Some(Progress { permille, message }) = Progress::read(line) {
            waiting.progress = Some((f64::from(permille) / 1_000., message.map(|message| clip(message, MESSAGE_BYTES_MAX))));
            return first;
        }
        if waiting.lines.len() == LINES_MAX {
            waiting.lines.pop_front();
            waiting.dropped += 1;
        }
        // No more of it would be kept.
        waiting.lines.push_back(clip(line, LOG_LINE_BYTES_MAX));
        first
    }

    pub fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Puts what waits to the leases it belongs to, as far as it fits. Of what has ended it is now or never, the newest first; the rest of
    /// what goes on waits for the next poll.
    pub fn attach(&self, poll: &mut WorkPoll) {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if said.is_empty() {
            return;
        }
        // Beside them each lease may have a line that says how many are missing.
        let leases = poll.results.len() + poll.holding.len();
        let mut room = Room { lines: POLL_LINES_MAX - leases.min(POLL_LINES_MAX), bytes: POLL_LOG_BYTES_MAX };
        for result in &mut poll.results {
            let mut waiting = said.remove(&(result.task, result.fence)).unwrap_or_default();
            let fits = waiting.lines.iter().rev().take_while(|line| room.has(line)).count();
            let over = waiting.lines.len() - fits;
            waiting.lines.drain(..over);
            waiting.dropped += over;
            result.log = waiting.told(fits);
            (result.progress, result.message) = waiting.far();
        }
        let mut left = BTreeMap::new();
        for held in &mut poll.holding {
            let Some(mut waiting) = said.remove(&(held.task, held.fence)) else { continue };
            let fits = waiting.lines.iter().take_while(|line| room.has(line)).count();
            held.log = waiting.told(fits);
            (held.progress, held.message) = waiting.far();
            if !waiting.lines.is_empty() {
                left.insert((held.task, held.fence), waiting);
            }
        }
        *said = left;
    }

    /// The server may not have heard what this poll said.
    pub fn unheard(&self, poll: &WorkPoll) {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let results = poll.results.iter().map(|told| (told.task, told.fence, &told.log, told.progress, &told.message));
        let holding = poll.holding.iter().map(|held| (held.task, held.fence, &held.log, held.progress, &held.message));
        for (task, fence, log, share, message) in results.chain(holding) {
            let progress = share.map(|share| (share, message.clone()));
            if log.is_empty() && progress.is_none() {
                continue;
            }
            let waiting = said.entry((task, fence)).or_default();
            log.iter().rev().for_each(|line| waiting.lines.push_front(line.clone()));
            let over = waiting.lines.len().saturating_sub(LINES_MAX);
            waiting.lines.drain(..over);
            waiting.dropped += over;
            waiting.progress = waiting.progress.take().or(progress);
        }
    }
}

impl Waiting {
    /// The last that was said of how far it is.
    fn far(&mut self) -> (Option<f64>, Option<String>) {
        self.progress.take().map_or((None, None), |(share, message)| (Some(share), message))
    }

    /// The first so many lines, behind how many are missing before them.
    fn told(&mut self, count: usize) -> Vec<String> {
        let missing = std::mem::take(&mut self.dropped);
        let missing = (missing > 0).then(|| format!("({missing} lines before this one were too many to be told)"));
        missing.into_iter().chain(self.lines.drain(..count)).collect()
    }
}

/// What one poll has left for lines.
struct Room {
    lines: usize,
    bytes: usize,
}

impl Room {
    /// Whether one more fits, which it then takes.
    fn has(&mut self, line: &str) -> bool {
        // In quotes, and each byte may have to be escaped.
        let bytes = 3 + line.chars().map(|c| if c.is_control() { 6 } else { c.len_utf8() * 2 }).sum::<usize>();
        let fits = self.lines > 0 && bytes <= self.bytes;
        if fits {
            (self.lines, self.bytes) = (self.lines - 1, self.bytes - bytes);
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_go_once_with_the_lease_they_belong_to() {
        let (said, fence) = (Said::default(), Fence::parse("7").unwrap());
        let task = |number| TaskId::new(number, 0);
        assert!(said.add(task(1), fence, "a"));
        assert!(!said.add(task(1), fence, "b") && !said.add(task(2), fence, "c") && !said.add(task(3), fence, "gone"));
        let text = r#"{"worker":"w","types":[],"results":[{"task":"task-2","fence":"7","status":"done"}],
            "holding":[{"task":"task-1","fence":"7"},{"task":"task-4","fence":"7"}]}"#;
        let mut poll: WorkPoll = serde_json::from_str(text).unwrap();
        said.attach(&mut poll);
        let logs = [&poll.results[0].log, &poll.holding[0].log, &poll.holding[1].log].map(|log| log.join(" "));
        assert_eq!(logs, ["c", "a b", ""]);
        assert_eq!(poll.holding[0].progress, None);
        assert!(said.is_empty());
        // What failed goes with the next one, before what came meanwhile.
        said.add(task(1), fence, "z");
        said.unheard(&poll);
        said.attach(&mut poll);
        let logs = [&poll.results[0].log, &poll.holding[0].log, &poll.holding[1].log].map(|log| log.join(" "));
        assert_eq!((logs, said.is_empty()), (["c", "a b z", ""].map(str::to_owned), true));
        said.add(task(1), fence, "signaller: progress 0.2");
        said.add(task(1), fence, "signaller: progress 40% row 4");
        said.attach(&mut poll);
        let held = &poll.holding[0];
        assert_eq!((held.progress, held.message.as_deref(), held.log.len()), (Some(0.4), Some("row 4"), 0));
        // Also with a result, though nobody heard it the first time.
        said.add(task(2), fence, "signaller: progress 0.9 row 9");
        said.attach(&mut poll);
        said.unheard(&poll);
        (poll.results[0].progress, poll.holding[0].progress) = (None, None);
        said.attach(&mut poll);
        assert_eq!((poll.results[0].progress, poll.results[0].message.as_deref()), (Some(0.9), Some("row 9")));
        (0..LINES_MAX + 2).for_each(|n| _ = said.add(task(1), fence, &n.to_string()));
        said.attach(&mut poll);
        let log = &poll.holding[0].log;
        let missing = "(2 lines before this one were too many to be told)";
        assert_eq!((log.len(), log[0].as_str(), log[1].as_str()), (LINES_MAX + 1, missing, "2"));
    }

    #[test]
    fn however_much_is_said_a_poll_can_be_taken() {
        let (said, fence) = (Said::default(), Fence::parse("7").unwrap());
        let task = |number| TaskId::new(number, 0);
        let leases: Vec<String> = (1..=40).map(|number| format!(r#"{{"task":"{}","fence":"7"}}"#, task(number))).collect();
        let text = |holding: &str| format!(r#"{{"worker":"w","types":[],"holding":[{holding}]}}"#);
        let poll = || serde_json::from_str::<WorkPoll>(&text(&leases.join(","))).unwrap();
        for line in ["short".to_owned(), "\u{1b}[31m".repeat(2_000)] {
            for number in 1..=40 {
                (0..LINES_MAX).for_each(|_| _ = said.add(task(number), fence, &line));
            }
            let mut told = 0;
            while !said.is_empty() {
                let mut poll = poll();
                said.attach(&mut poll);
                told += poll.holding.iter().map(|held| held.log.len()).sum::<usize>();
                assert!(poll.check().is_ok() && serde_json::to_vec(&poll).unwrap().len() < POLL_LOG_BYTES_MAX + 10_000);
            }
            assert_eq!(told, 40 * LINES_MAX);
        }
        // What has ended is told by its newest.
        (0..LINES_MAX).for_each(|n| _ = said.add(task(1), fence, &format!("{n}{}", "\u{1b}".repeat(4_000))));
        let ended = r#"{"worker":"w","types":[],"results":[{"task":"task-1","fence":"7","status":"done"}]}"#;
        let mut poll: WorkPoll = serde_json::from_str(ended).unwrap();
        said.attach(&mut poll);
        let log = &poll.results[0].log;
        assert!(said.is_empty() && (2..LINES_MAX).contains(&log.len()) && log.last().unwrap().starts_with("999"));
        assert_eq!(log[0], format!("({} lines before this one were too many to be told)", LINES_MAX + 1 - log.len()));
    }
}
