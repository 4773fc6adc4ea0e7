//! What commands say on stderr while they run, log lines and how far they are, kept until the next poll takes it along. Lines are told at most once: a poll that
//! does not arrive loses those it carried.

use doors::wire::WorkPoll;
use kernel::ids::{Fence, TaskId};
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use workers::process::Progress;

/// Of each attempt so many lines wait; the oldest make room.
const LINES_MAX: usize = 500;

#[derive(Clone, Default)]
pub struct Said(Arc<Mutex<BTreeMap<(TaskId, Fence), Waiting>>>);

/// Of one attempt.
#[derive(Default)]
struct Waiting {
    lines: VecDeque<String>,
    progress: Option<(f64, Option<String>)>,
}

impl Said {
    /// A line of the log, or how far it is. `true`: nothing waited before this.
    pub fn add(&self, task: TaskId, fence: Fence, line: &str) -> bool {
        let mut said = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let first = said.is_empty();
        let waiting = said.entry((task, fence)).or_default();
        if let Some(Progress { permille, message }) = Progress::read(line) {
            waiting.progress = Some((f64::from(permille) / 1_000., message.map(str::to_owned)));
            return first;
        }
        if waiting.lines.len() == LINES_MAX {
            waiting.lines.pop_front();
        }
        waiting.lines.push_back(line.to_owned());
        first
    }

    pub fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Puts what waits to the leases it belongs to.
    pub fn attach(&self, poll: &mut WorkPoll) {
        let mut said = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        if said.is_empty() {
            return;
        }
        let mut take = |task, fence| said.remove(&(task, fence)).unwrap_or_default();
        poll.results.iter_mut().for_each(|result| result.log = take(result.task, result.fence).lines.into());
        for held in &mut poll.holding {
            let Waiting { lines, progress } = take(held.task, held.fence);
            held.log = lines.into();
            (held.progress, held.message) = progress.map_or((None, None), |(share, message)| (Some(share), message));
        }
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
        said.add(task(1), fence, "signaller: progress 0.2");
        said.add(task(1), fence, "signaller: progress 40% row 4");
        said.attach(&mut poll);
        let held = &poll.holding[0];
        assert_eq!((held.progress, held.message.as_deref(), held.log.len()), (Some(0.4), Some("row 4"), 0));
        (0..LINES_MAX + 2).for_each(|n| _ = said.add(task(1), fence, &n.to_string()));
        said.attach(&mut poll);
        assert_eq!((poll.holding[0].log.len(), poll.holding[0].log[0].as_str()), (LINES_MAX, "2"));
    }
}
