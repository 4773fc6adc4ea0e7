//! What workers say while they work: lines and how far they are. The writer never hears of it: both wait in a bounded place of
//! their own for a thread that writes them, many at once.

use crate::clock;
use crate::engine::Engine;
use kernel::ids::{Fence, TaskId};
use kernel::names::clip;
use rustc_hash::FxHashMap;
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::{LOG_LINE_BYTES_MAX, LogLine, LogPage, LogStore, StoreError};
use tokio::sync::broadcast;

pub use store::Progress;

/// Bytes that may wait to be written. What comes while it is full is dropped, and counted.
const WAITING_BYTES_MAX: usize = 8 * 1_024 * 1_024;
/// What a line weighs beside its text.
const LINE_BYTES: usize = 64;
/// Tasks whose progress is remembered, and those of which it may wait to be written.
const PROGRESS_MAX: usize = 100_000;
const MESSAGE_BYTES_MAX: usize = 200;
/// Bytes of all lines together; beyond that those go that were said longest ago.
const KEPT_BYTES_MAX: u64 = 1_024 * 1_024 * 1_024;
/// Batches that a slow listener may fall behind, and bytes of each.
const BATCHES_MAX: usize = 256;
const BATCH_BYTES_MAX: usize = 128 * 1_024;
/// Tasks that are looked at, or forgotten, at a time.
const PAGE: usize = 500;
/// Pages of one look: where there are more, the next goes on from there.
const PAGES: usize = 20;
/// How often lines of tasks that are gone are looked for.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// While somebody writes, what was said is looked for so often, and again so soon.
const LOOKS_MAX: usize = 20;
const LOOK_AGAIN: Duration = Duration::from_millis(5);
/// How soon a stop is noticed.
const LOOK_UP: Duration = Duration::from_millis(500);

/// What was said, for whoever listens: lines once they are written.
#[derive(Clone, Debug)]
pub enum Said {
    Lines(Arc<[(TaskId, LogLine)]>),
    Progress(TaskId, Arc<Progress>),
}

pub struct Logs {
    store: Mutex<Box<dyn LogStore>>,
    waiting: Mutex<Waiting>,
    bell: Condvar,
    lost: AtomicU64,
    news: broadcast::Sender<Said>,
    /// Of those who are at work, so that what is not new is neither told nor written.
    progress: Mutex<FxHashMap<TaskId, Progress>>,
}

#[derive(Default)]
struct Waiting {
    lines: VecDeque<(TaskId, LogLine)>,
    bytes: usize,
    /// The last word of each; none where it is taken back.
    progress: FxHashMap<TaskId, Option<Progress>>,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.lines.is_empty() && self.progress.is_empty()
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Logs {
    pub(crate) fn new(store: Box<dyn LogStore>) -> Logs {
        Logs {
            store: Mutex::new(store),
            waiting: Mutex::default(),
            bell: Condvar::new(),
            lost: AtomicU64::new(0),
            news: broadcast::channel(BATCHES_MAX).0,
            progress: Mutex::default(),
        }
    }

    /// What the holder of this lease says. It is written a moment later.
    pub fn add(&self, task: TaskId, fence: Fence, texts: impl IntoIterator<Item = impl AsRef<str>>) {
        let mut texts = texts.into_iter().peekable();
        if texts.peek().is_none() {
            return;
        }
        let at = clock::wall();
        let mut waiting = locked(&self.waiting);
        for text in texts {
            let text = clip(text.as_ref(), LOG_LINE_BYTES_MAX);
            if waiting.bytes + text.len() > WAITING_BYTES_MAX {
                self.lost.fetch_add(1, Ordering::Relaxed);
                continue;
            }
            waiting.bytes += text.len() + LINE_BYTES;
            waiting.lines.push_back((task, LogLine { at, fence, text }));
        }
        self.bell.notify_one();
    }

    /// How far the holder of this lease is. It is written a moment later.
    pub fn set_progress(&self, task: TaskId, fence: Fence, permille: u16, message: Option<&str>) {
        let message = message.map(|message| clip(message, MESSAGE_BYTES_MAX));
        let said = Progress { at: clock::wall(), fence, permille, message };
        let mut progress = locked(&self.progress);
        match progress.get(&task) {
            // It is said again, or by whom the task was taken from.
            Some(before) if Progress { at: said.at, ..before.clone() } == said || before.fence > fence => return,
            None if progress.len() >= PROGRESS_MAX => progress.clear(),
            _ => {}
        }
        progress.insert(task, said.clone());
        // Within, so that of two who say it the same one is last in both.
        self.keep_progress(task, Some(said.clone()));
        drop(progress);
        // Nobody may be listening.
        _ = self.news.send(Said::Progress(task, said.into()));
    }

    /// What was said of how far it is holds no more.
    pub fn unset_progress(&self, task: TaskId) {
        let mut progress = locked(&self.progress);
        if progress.remove(&task).is_some() {
            self.keep_progress(task, None);
        }
    }

    fn keep_progress(&self, task: TaskId, said: Option<Progress>) {
        let mut waiting = locked(&self.waiting);
        if waiting.progress.len() < PROGRESS_MAX || waiting.progress.contains_key(&task) {
            waiting.progress.insert(task, said);
            self.bell.notify_one();
        }
    }

    /// That of the lease which holds the task now. Blocks for a moment, as it may have been said to an earlier process; how a task
    /// stands is told without it where it cannot be had.
    pub fn progress(&self, task: TaskId, fence: Fence) -> Option<Progress> {
        let said = locked(&self.progress).get(&task).cloned();
        said.or_else(|| self.progress_kept(task)).filter(|progress| progress.fence == fence)
    }

    fn progress_kept(&self, task: TaskId) -> Option<Progress> {
        if let Some(said) = locked(&self.waiting).progress.get(&task) {
            return said.clone();
        }
        for _ in 0..LOOKS_MAX {
            if let Ok(mut store) = self.store.try_lock() {
                let found = store.read(task, u64::MAX, 0);
                return found.inspect_err(|error| tracing::warn!(%error, "how far a worker is cannot be read")).ok()?.progress;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        None
    }

    /// The attempt is over.
    pub fn ended(&self, task: TaskId) {
        let mut progress = locked(&self.progress);
        if !progress.is_empty() {
            progress.remove(&task);
        }
    }

    /// Lines of a task after this number, and how far it is, with all that was said before this call.
    pub fn read(&self, task: TaskId, after: u64, limit: usize) -> Result<LogPage, StoreError> {
        self.write()?;
        locked(&self.store).read(task, after, limit)
    }

    /// Lines as they are written, and how far workers are as they say so.
    pub fn subscribe(&self) -> broadcast::Receiver<Said> {
        self.news.subscribe()
    }

    /// Lines that were dropped because too many came at once, or that could not be written.
    pub fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    fn write(&self) -> Result<(), StoreError> {
        // The store first, so that two who write keep the order of what waits.
        let mut store = locked(&self.store);
        let waiting = std::mem::take(&mut *locked(&self.waiting));
        if waiting.is_empty() {
            return Ok(());
        }
        let (lines, progress) = (Vec::from(waiting.lines), Vec::from_iter(waiting.progress));
        if let Err(error) = store.add(&lines, &progress) {
            self.lost.fetch_add(lines.len() as u64, Ordering::Relaxed);
            return Err(error);
        }
        drop(store);
        let mut bytes = 0;
        for batch in lines.chunk_by(|_, (_, line)| {
            bytes += line.text.len() + LINE_BYTES;
            let fits = bytes <= BATCH_BYTES_MAX;
            bytes *= usize::from(fits);
            fits
        }) {
            // Nobody may be listening.
            _ = self.news.send(Said::Lines(batch.into()));
        }
        Ok(())
    }

    /// Lines of tasks that are gone, some tasks after `after`, and those beyond so many bytes.
    fn prune(&self, engine: &Engine, after: &mut Option<TaskId>, bytes_max: u64) -> Result<(), StoreError> {
        for _ in 0..PAGES {
            let tasks = locked(&self.store).tasks(*after, PAGE)?;
            *after = tasks.last().copied();
            if after.is_none() {
                break;
            }
            let gone = engine.read(|reader| {
                let mut gone = Vec::new();
                for task in &tasks {
                    if reader.task(*task)?.is_none() {
                        gone.push(*task);
                    }
                }
                Ok(gone)
            })?;
            if !gone.is_empty() {
                locked(&self.store).forget(&gone)?;
            }
        }
        loop {
            let mut store = locked(&self.store);
            if store.bytes()? <= bytes_max {
                return Ok(());
            }
            let oldest = store.oldest(PAGE)?;
            store.forget(&oldest)?;
        }
    }
}

/// Writes and prunes until the engine stops.
pub(crate) fn start(engine: Engine) -> Result<(), StoreError> {
    let thread = std::thread::Builder::new().name("logs".into());
    let started = thread.spawn(move || {
        let logs = engine.logs();
        let (mut looked, mut pruned) = (Instant::now(), None);
        while engine.is_up() {
            let waiting = locked(&logs.waiting);
            if waiting.is_empty() {
                drop(logs.bell.wait_timeout(waiting, LOOK_UP));
            } else {
                drop(waiting);
            }
            if let Err(error) = logs.write() {
                tracing::warn!(%error, "what workers say cannot be written");
            }
            if looked.elapsed() >= LOOK_EVERY {
                looked = Instant::now();
                if let Err(error) = logs.prune(&engine, &mut pruned, KEPT_BYTES_MAX) {
                    tracing::warn!(%error, "old lines of workers cannot be looked for");
                }
            }
        }
        if let Err(error) = logs.write() {
            tracing::warn!(%error, "the last that workers said cannot be written");
        }
    });
    started.map(drop).map_err(|error| StoreError::Failed(format!("cannot start a thread: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::EngineOptions;
    use kernel::ids::RecordSeq;
    use store::MemoryLogs;
    use store::blobs::MemoryBlobs;
    use store::memory::MemoryDisk;

    const FENCE: Fence = Fence(RecordSeq(7));

    fn task(number: u64) -> TaskId {
        TaskId::new(number, 0)
    }

    fn logs() -> Logs {
        Logs::new(Box::<MemoryLogs>::default())
    }

    #[test]
    fn what_is_said_is_read_at_once_and_told_to_those_who_listen() {
        let logs = logs();
        let mut news = logs.subscribe();
        logs.add(task(1), FENCE, ["a", "b"]);
        logs.add(task(1), FENCE, Vec::<String>::new());
        let page = logs.read(task(1), 0, 10).unwrap();
        let texts: Vec<&str> = page.lines.iter().map(|(_, line)| line.text.as_str()).collect();
        assert_eq!((texts, logs.lost()), (vec!["a", "b"], 0));
        assert!(matches!(news.try_recv().unwrap(), Said::Lines(lines) if lines.len() == 2));
    }

    #[test]
    fn what_comes_faster_than_it_is_written_is_dropped_and_counted() {
        let logs = logs();
        let mut news = logs.subscribe();
        let line = "x".repeat(LOG_LINE_BYTES_MAX);
        let fits = WAITING_BYTES_MAX / LOG_LINE_BYTES_MAX;
        (0..fits).for_each(|_| logs.add(task(1), FENCE, [&line]));
        logs.add(task(1), FENCE, ["y".repeat(2 * LOG_LINE_BYTES_MAX)]);
        assert!(logs.lost() > 0);
        logs.write().unwrap();
        let lost = logs.lost();
        logs.add(task(1), FENCE, ["z"]);
        assert_eq!(logs.lost(), lost, "there is room again");
        let Ok(Said::Lines(first)) = news.try_recv() else { panic!("nobody tells") };
        assert!((2..=BATCH_BYTES_MAX / LOG_LINE_BYTES_MAX).contains(&first.len()), "{} at once", first.len());
    }

    #[test]
    fn progress_is_that_of_the_lease_that_holds_the_task() {
        let logs = logs();
        let mut news = logs.subscribe();
        for _ in 0..2 {
            logs.set_progress(task(1), FENCE, 400, Some("half way"));
        }
        assert!(matches!(news.try_recv().unwrap(), Said::Progress(of, said) if of == task(1) && said.permille == 400));
        assert!(news.try_recv().is_err(), "what is not new is not told");
        // In memory, and, as after a restart, without it.
        for _ in 0..2 {
            let found = logs.progress(task(1), FENCE).unwrap();
            assert_eq!((found.permille, found.message.as_deref()), (400, Some("half way")));
            assert_eq!(logs.progress(task(1), Fence(RecordSeq(8))), None);
            logs.ended(task(1));
            logs.write().unwrap();
        }
        assert_eq!(logs.read(task(1), 0, 10).unwrap().progress.unwrap().permille, 400, "the last word stays");
        // Whoever comes too late does not take the place of the next.
        let next = Fence(RecordSeq(8));
        logs.set_progress(task(1), next, 100, None);
        logs.set_progress(task(1), FENCE, 500, None);
        logs.ended(task(1));
        assert_eq!(logs.progress(task(1), next).unwrap().permille, 100);
        logs.write().unwrap();
        assert_eq!(logs.progress(task(1), next).unwrap().permille, 100);
        let busy = logs.store.lock().unwrap();
        assert_eq!(logs.progress(task(1), next), None, "it is not waited for without end");
        drop(busy);
        // What is taken back is gone, written or not.
        for said in [300, 400] {
            logs.set_progress(task(1), next, said, None);
            logs.write().unwrap();
            logs.unset_progress(task(1));
            assert_eq!(logs.progress(task(1), next), None);
        }
    }

    fn engine_with(tasks: usize) -> (Engine, Vec<TaskId>) {
        let disk = MemoryDisk::default();
        let engine = Engine::open(Box::new(disk.open()), Arc::<MemoryBlobs>::default(), EngineOptions::default()).unwrap();
        let spec = kernel::record::TaskSpec::new(
            kernel::names::QueueName::parse("q").unwrap(),
            kernel::names::TypeName::parse("t").unwrap(),
        );
        let new = kernel::command::NewTask { spec, delay_ms: 0, input: kernel::record::Payload("1".into()) };
        let added = engine.ask_blocking(crate::Request::Command(kernel::command::Command::Add { tasks: vec![new; tasks] }));
        let Ok(crate::Answer::Reply(Ok(kernel::command::Reply::Added(added)))) = added else { panic!("{added:?}") };
        (engine, added.iter().map(|added| added.task).collect())
    }

    /// Of the two only one is a task that is there.
    #[test]
    fn lines_go_with_their_tasks() {
        let (engine, added) = engine_with(1);
        let (here, gone) = (added[0], task(99));
        let logs = logs();
        logs.add(here, FENCE, ["a"]);
        logs.add(gone, FENCE, ["b"]);
        logs.write().unwrap();
        logs.prune(&engine, &mut None, u64::MAX).unwrap();
        let left = |of| logs.read(of, 0, 10).unwrap().lines.len();
        assert_eq!((left(here), left(gone)), (1, 0));
    }

    #[test]
    fn of_too_many_lines_those_go_that_were_said_longest_ago() {
        let (engine, added) = engine_with(PAGE + 2);
        let logs = logs();
        let line = |(ms, of): (i64, &TaskId)| {
            (*of, LogLine { at: kernel::time::Time::from_ms(ms), fence: FENCE, text: "x".repeat(100) })
        };
        locked(&logs.store).add(&(1..).zip(added.iter().rev()).map(line).collect::<Vec<_>>(), &[]).unwrap();
        let left = || added.iter().map(|of| logs.read(*of, 0, 10).unwrap().lines.len()).collect::<Vec<_>>();
        let bytes = locked(&logs.store).bytes().unwrap();
        logs.prune(&engine, &mut None, bytes).unwrap();
        assert!(left().iter().all(|lines| *lines == 1), "all of it fits");
        logs.prune(&engine, &mut None, bytes - 1).unwrap();
        assert_eq!((&left()[..2], left().iter().sum::<usize>()), (&[1, 1][..], 2));
    }
}
