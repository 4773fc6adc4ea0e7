//! What workers say while they work: the last lines of each task, and how far it is. Nothing is decided by them, so they lie apart from rows and
//! records, in a place of their own that never stands in the writer's way, and losing the last of them in a crash is no harm.

use crate::store::StoreError;
use kernel::ids::{Fence, TaskId};
use kernel::time::Time;
use std::collections::{BTreeMap, VecDeque};

/// What is kept of one task: its newest lines, so many and so many bytes.
pub const LOG_LINES_MAX: usize = 1_000;
pub const LOG_BYTES_MAX: usize = 256 * 1_024;
/// A longer line is cut.
pub const LOG_LINE_BYTES_MAX: usize = 4 * 1_024;
const _: () = assert!(LOG_LINE_BYTES_MAX < LOG_BYTES_MAX);

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogLine {
    pub at: Time,
    /// The lease of the attempt that said it.
    pub fence: Fence,
    pub text: String,
}

/// How far a worker is, by its own word.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Progress {
    pub at: Time,
    /// The lease of the attempt that said it.
    pub fence: Fence,
    /// From 0 to 1000.
    pub permille: u16,
    pub message: Option<String>,
}

impl Progress {
    /// From 0 to 1.
    pub fn share(&self) -> f64 {
        f64::from(self.permille) / 1_000.
    }
}

/// Lines of one task, each with its number from 1; those before the first that is kept are gone.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LogPage {
    pub lines: Vec<(u64, LogLine)>,
    /// How many were dropped to make room.
    pub dropped: u64,
    /// The last that was said of it.
    pub progress: Option<Progress>,
}

pub trait LogStore: Send {
    /// Adds lines in their order, of which the newest of each task stay. Of how far a task is only this stays, or nothing.
    fn add(&mut self, lines: &[(TaskId, LogLine)], progress: &[(TaskId, Option<Progress>)]) -> Result<(), StoreError>;

    /// Those of a task after this number, oldest first.
    fn read(&mut self, task: TaskId, after: u64, limit: usize) -> Result<LogPage, StoreError>;

    /// Tasks of which anything was said, in the order of their names, after this one.
    fn tasks(&mut self, after: Option<TaskId>, limit: usize) -> Result<Vec<TaskId>, StoreError>;

    /// Those that said something longest ago.
    fn oldest(&mut self, limit: usize) -> Result<Vec<TaskId>, StoreError>;

    fn forget(&mut self, tasks: &[TaskId]) -> Result<(), StoreError>;

    /// Bytes of all texts that are kept.
    fn bytes(&mut self) -> Result<u64, StoreError>;
}

/// How many of the oldest have to go, given the bytes of all.
pub(crate) fn beyond(bytes: impl ExactSizeIterator<Item = usize>, total: usize) -> usize {
    let (mut count, mut total, mut gone) = (bytes.len(), total, 0);
    for line in bytes {
        if count <= LOG_LINES_MAX && total <= LOG_BYTES_MAX {
            break;
        }
        (count, total, gone) = (count - 1, total - line, gone + 1);
    }
    gone
}

/// For tests and the simulator.
#[derive(Default)]
pub struct MemoryLogs(BTreeMap<String, Kept>);

struct Kept {
    task: TaskId,
    /// The number of the first line.
    first: u64,
    lines: VecDeque<LogLine>,
    progress: Option<Progress>,
    last: Time,
}

impl MemoryLogs {
    fn kept(&mut self, task: TaskId, at: Time) -> &mut Kept {
        let new = Kept { task, first: 1, lines: VecDeque::new(), progress: None, last: at };
        let kept = self.0.entry(task.to_string()).or_insert(new);
        kept.last = kept.last.max(at);
        kept
    }
}

impl LogStore for MemoryLogs {
    fn add(&mut self, lines: &[(TaskId, LogLine)], progress: &[(TaskId, Option<Progress>)]) -> Result<(), StoreError> {
        for (task, line) in lines {
            let kept = self.kept(*task, line.at);
            kept.lines.push_back(line.clone());
            let total = kept.lines.iter().map(|line| line.text.len()).sum();
            let gone = beyond(kept.lines.iter().map(|line| line.text.len()), total);
            kept.lines.drain(..gone);
            kept.first += gone as u64;
        }
        for (task, said) in progress {
            match (said, self.0.get_mut(&task.to_string())) {
                (Some(said), _) => self.kept(*task, said.at).progress = Some(said.clone()),
                (None, Some(kept)) => kept.progress = None,
                (None, None) => {}
            }
        }
        Ok(())
    }

    fn read(&mut self, task: TaskId, after: u64, limit: usize) -> Result<LogPage, StoreError> {
        let Some(kept) = self.0.get(&task.to_string()) else { return Ok(LogPage::default()) };
        let numbered = (kept.first..).zip(kept.lines.iter().cloned());
        let lines = numbered.filter(|(number, _)| *number > after).take(limit).collect();
        Ok(LogPage { lines, dropped: kept.first - 1, progress: kept.progress.clone() })
    }

    fn tasks(&mut self, after: Option<TaskId>, limit: usize) -> Result<Vec<TaskId>, StoreError> {
        let after = after.map(|task| task.to_string()).unwrap_or_default();
        Ok(self.0.range(after.clone()..).filter(|(name, _)| **name != after).map(|(_, kept)| kept.task).take(limit).collect())
    }

    fn oldest(&mut self, limit: usize) -> Result<Vec<TaskId>, StoreError> {
        let mut all: Vec<(Time, TaskId)> = self.0.values().map(|kept| (kept.last, kept.task)).collect();
        all.sort_unstable();
        Ok(all.into_iter().map(|(_, task)| task).take(limit).collect())
    }

    fn forget(&mut self, tasks: &[TaskId]) -> Result<(), StoreError> {
        tasks.iter().for_each(|task| _ = self.0.remove(&task.to_string()));
        Ok(())
    }

    fn bytes(&mut self) -> Result<u64, StoreError> {
        let said = self.0.values().filter_map(|kept| kept.progress.as_ref()?.message.as_ref());
        let texts = self.0.values().flat_map(|kept| &kept.lines).map(|line| &line.text);
        Ok(texts.chain(said).map(|text| text.len() as u64).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sqlite::Sqlite;
    use crate::store::Store;
    use kernel::ids::RecordSeq;

    fn line(at: i64, text: &str) -> LogLine {
        LogLine { at: Time::from_us(at), fence: Fence(RecordSeq(7)), text: text.to_owned() }
    }

    fn far(at: i64, permille: u16, message: Option<&str>) -> Option<Progress> {
        Some(Progress { at: Time::from_us(at), fence: Fence(RecordSeq(7)), permille, message: message.map(str::to_owned) })
    }

    fn task(number: u64) -> TaskId {
        TaskId::new(number, 0)
    }

    /// What a page holds, in short.
    fn shown(page: &LogPage) -> String {
        let lines: Vec<String> = page.lines.iter().map(|(number, line)| format!("{number}:{}", line.text)).collect();
        format!("{} dropped {}", lines.join(" "), page.dropped)
    }

    /// What every store of lines has to do.
    fn check(logs: &mut dyn LogStore) {
        assert_eq!(logs.read(task(1), 0, 10).unwrap(), LogPage::default());
        logs.add(&[(task(1), line(1, "a")), (task(2), line(2, "b")), (task(1), line(3, "c ü\0"))], &[]).unwrap();
        let page = logs.read(task(1), 0, 10).unwrap();
        assert_eq!(page.lines[1], (2, line(3, "c ü\0")));
        assert_eq!(shown(&logs.read(task(1), 1, 10).unwrap()), "2:c ü\0 dropped 0");
        assert_eq!(shown(&logs.read(task(1), 0, 1).unwrap()), "1:a dropped 0");
        assert_eq!(logs.oldest(5).unwrap(), [task(2), task(1)]);
        assert_eq!(logs.tasks(None, 1).unwrap(), [task(1)]);
        assert_eq!(logs.tasks(Some(task(1)), 5).unwrap(), [task(2)]);

        // Too many lines, and then too many bytes.
        let many: Vec<(TaskId, LogLine)> = (0..LOG_LINES_MAX).map(|at| (task(1), line(4, &at.to_string()))).collect();
        logs.add(&many, &[]).unwrap();
        let page = logs.read(task(1), 0, 5_000).unwrap();
        assert_eq!((page.lines.len(), page.dropped, page.lines[0].0), (LOG_LINES_MAX, 2, 3));
        let wide = "x".repeat(LOG_LINE_BYTES_MAX);
        let wide: Vec<(TaskId, LogLine)> = (0..100).map(|_| (task(1), line(5, &wide))).collect();
        logs.add(&wide, &[]).unwrap();
        let page = logs.read(task(1), 0, 5_000).unwrap();
        assert_eq!(page.lines.len(), LOG_BYTES_MAX / LOG_LINE_BYTES_MAX);
        assert_eq!(page.dropped, (2 + LOG_LINES_MAX + 100 - page.lines.len()) as u64);
        assert_eq!(logs.bytes().unwrap(), LOG_BYTES_MAX as u64 + 1);

        logs.forget(&[task(1), task(9)]).unwrap();
        assert_eq!((logs.read(task(1), 0, 10).unwrap(), logs.bytes().unwrap()), (LogPage::default(), 1));
        assert_eq!(logs.tasks(None, 5).unwrap(), [task(2)]);

        // How far: the last word of each, also of one that has no lines.
        logs.add(
            &[],
            &[(task(2), far(6, 100, Some("ä"))), (task(3), far(1, 1_000, None)), (task(2), far(7, 200, Some("row 2")))],
        )
        .unwrap();
        let page = logs.read(task(2), 0, 10).unwrap();
        assert_eq!((shown(&page).as_str(), page.progress), ("1:b dropped 0", far(7, 200, Some("row 2"))));
        assert_eq!(logs.read(task(3), 0, 10).unwrap(), LogPage { progress: far(1, 1_000, None), ..LogPage::default() });
        assert_eq!((logs.oldest(5).unwrap(), logs.bytes().unwrap()), (vec![task(3), task(2)], 6));
        logs.add(&[(task(3), line(8, "d"))], &[(task(2), far(9, 300, None))]).unwrap();
        assert_eq!((logs.oldest(5).unwrap(), logs.tasks(None, 5).unwrap()), (vec![task(3), task(2)], vec![task(2), task(3)]));
        assert_eq!(logs.read(task(3), 0, 10).unwrap().progress, far(1, 1_000, None));
        logs.add(&[], &[(task(3), None), (task(9), None)]).unwrap();
        assert_eq!(
            (shown(&logs.read(task(3), 0, 10).unwrap()).as_str(), logs.read(task(3), 0, 10).unwrap().progress),
            ("1:d dropped 0", None)
        );
        logs.forget(&[task(3)]).unwrap();
        assert_eq!((logs.read(task(3), 0, 10).unwrap(), logs.bytes().unwrap()), (LogPage::default(), 1));
    }

    #[test]
    fn lines_are_kept_up_to_their_bounds_and_the_newest_stay() {
        check(&mut MemoryLogs::default());
        let folder = tempfile::tempdir().unwrap();
        let store = Sqlite::open(folder.path()).unwrap();
        check(&mut *store.logs().unwrap());
        // They are there when the store is opened again.
        drop(store);
        let store = Sqlite::open(folder.path()).unwrap();
        let page = store.logs().unwrap().read(task(2), 0, 5).unwrap();
        assert_eq!((shown(&page).as_str(), page.progress), ("1:b dropped 0", far(9, 300, None)));
    }
}
