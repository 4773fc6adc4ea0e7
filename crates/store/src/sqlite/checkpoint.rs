//! Moving the log into the database, off the writer. A thread of its own copies what was committed while the writer
//! goes on; the writer only starts the log anew, once nearly all of it is copied, so that the pause is short.
//!
//! Under light load a round copies all there is, and SQLite starts the log anew by itself. Under steady load the copy
//! would never catch up with the end of the log, and the log would grow for ever: then starting anew is the writer's
//! part. A reader that holds an old moment forbids it; then the log grows, and the writer asks again later instead of
//! waiting.

use crate::store::StoreError;
use rusqlite::{Connection, DEFAULT_NAME, ErrorCode, wal::CheckpointMode};
use std::fs::File;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

/// A page of 4 KiB with its header.
pub(super) const FRAME_BYTES: u64 = 4_096 + 24;

const fn frames_of(mib: u64) -> u32 {
    (mib * 1_024 * 1_024 / FRAME_BYTES) as u32
}

/// The log's sizes at which something happens, in frames.
#[derive(Copy, Clone, Debug)]
pub(super) struct Marks {
    /// The smallest round of copying, while the log is of the wanted size: as long as rounds catch up, the log stays as
    /// short as this and lies in space the file already has, which is the fastest to write.
    pub round: u32,
    /// The largest: rounds that do not catch up get longer, since each has its price.
    pub round_max: u32,
    /// The wanted size; beyond it, rounds get smaller so that the rest does too.
    pub wanted: u32,
    /// A rest the writer may copy itself.
    pub rest: u32,
    /// From here on the writer copies whatever rest there is.
    pub max: u32,
}

pub(super) const MARKS: Marks =
    Marks { round: frames_of(2), round_max: frames_of(16), wanted: frames_of(64), rest: frames_of(2), max: frames_of(256) };
const _: () = assert!(MARKS.round < MARKS.round_max && MARKS.round_max < MARKS.wanted && MARKS.wanted < MARKS.max);

/// The log's file has this size from the start.
pub(super) const LOG_BYTES_AHEAD: u64 = 2 * MARKS.round as u64 * FRAME_BYTES;

/// The file keeps its size when the log starts anew, up to this: writing into old space is faster than growing.
pub(super) const LOG_BYTES_KEPT: i64 = MARKS.max as i64 * FRAME_BYTES as i64;

/// How long the writer lets a reader finish when it wants to start the log anew.
const READERS_WAIT: Duration = Duration::from_millis(5);

#[derive(Default)]
struct Shared {
    under_way: AtomicBool,
    /// Frames of the log that the last round left copied.
    copied: AtomicU32,
    trouble: Mutex<Option<String>>,
}

pub(super) struct Checkpoints {
    marks: Marks,
    busy_wait: Duration,
    shared: Arc<Shared>,
    rounds: Option<SyncSender<()>>,
    thread: Option<JoinHandle<()>>,
    // As the writer last saw the log, in frames.
    frames: u32,
    copied: u32,
    /// How much is to be there for the next round.
    round: u32,
    /// The log's size when the last round was asked for.
    asked_at: u32,
    /// Whether the last round's outcome is still to be taken over; not if the log started anew in between.
    outcome_due: bool,
    /// Asking for a new start is of no use before the log has this size.
    restart_from: u32,
}

impl Checkpoints {
    /// `db` is the thread's own connection to `file`; `busy_wait` is the writer's usual patience.
    pub(super) fn start(db: Connection, file: Arc<File>, marks: Marks, busy_wait: Duration) -> Result<Checkpoints, StoreError> {
        let shared = Arc::new(Shared::default());
        let (rounds, asked) = sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("checkpoint".into())
            .spawn({
                let shared = shared.clone();
                move || copy_rounds(&db, &file, &asked, &shared)
            })
            .map_err(|error| StoreError::Failed(format!("the checkpoint thread cannot start: {error}")))?;
        Ok(Checkpoints {
            marks,
            busy_wait,
            shared,
            rounds: Some(rounds),
            thread: Some(thread),
            frames: 0,
            copied: 0,
            round: marks.round,
            asked_at: 0,
            outcome_due: false,
            restart_from: 0,
        })
    }

    /// After every commit: `frames` is the log's size. What goes wrong here is no fault of the commit, which is durable
    /// already; it is kept for [`Checkpoints::trouble`].
    pub(super) fn after_commit(&mut self, db: &Connection, frames: u32) {
        if frames < self.frames {
            // The log started anew: what was copied was of the old one.
            (self.copied, self.asked_at, self.restart_from, self.outcome_due) = (0, 0, 0, false);
        }
        self.frames = frames;
        if self.shared.under_way.load(Ordering::Acquire) {
            return;
        }
        let outcome = std::mem::take(&mut self.outcome_due);
        if outcome {
            self.copied = self.shared.copied.load(Ordering::Acquire);
        }
        let rest = frames.saturating_sub(self.copied);
        if outcome {
            self.round = rest.saturating_mul(4).clamp(self.marks.round, self.marks.round_max);
        }
        let ripe = frames > self.marks.wanted && rest <= self.marks.rest || frames > self.marks.max;
        if ripe && frames >= self.restart_from {
            self.restart(db);
            return;
        }
        let round = if frames > self.marks.wanted { self.marks.rest / 2 } else { self.round };
        if rest >= round && frames - self.asked_at >= round {
            self.asked_at = frames;
            self.outcome_due = true;
            self.shared.under_way.store(true, Ordering::Release);
            let asked = self.rounds.as_ref().map(|rounds| rounds.try_send(()));
            if !matches!(asked, Some(Ok(()))) {
                // No round is under way, so the thread would wait: it is gone. The writer goes on alone when it must.
                note(&self.shared, "the checkpoint thread has ended".into());
                self.shared.under_way.store(false, Ordering::Release);
            }
        }
    }

    fn restart(&mut self, db: &Connection) {
        // The writer's usual patience is for locks held for moments; a reader may hold its moment for minutes.
        let outcome = db.busy_timeout(READERS_WAIT).and_then(|()| db.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::RESTART));
        let outcome = outcome.and_then(|done| db.busy_timeout(self.busy_wait).map(|()| done));
        match outcome {
            Ok((_, copied)) => {
                self.copied = copied.max(0) as u32;
                // Whatever the next commit sees, it is a new log.
                self.frames = u32::MAX;
                *self.shared.trouble.lock().expect("nobody panics holding this") = None;
            }
            Err(error) => {
                let _ = db.busy_timeout(self.busy_wait);
                self.restart_from = self.frames + self.marks.wanted;
                if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) {
                    note(&self.shared, error.to_string());
                }
            }
        }
    }

    /// Why the log cannot be moved, if it cannot.
    pub(super) fn trouble(&self) -> Option<String> {
        self.shared.trouble.lock().expect("nobody panics holding this").clone()
    }
}

impl Drop for Checkpoints {
    fn drop(&mut self) {
        drop(self.rounds.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn copy_rounds(db: &Connection, file: &File, asked: &Receiver<()>, shared: &Shared) {
    while asked.recv().is_ok() {
        let round = db.wal_checkpoint_v2(DEFAULT_NAME, CheckpointMode::PASSIVE);
        // SQLite makes the copies durable only when the last page of the log is among them. Left to then, the writer would
        // wait for all of them at once.
        let durable = file.sync_data();
        match round
            .map_err(|error| error.to_string())
            .and_then(|round| durable.map(|()| round).map_err(|error| error.to_string()))
        {
            Ok((_, copied)) => {
                shared.copied.store(copied.max(0) as u32, Ordering::Release);
                *shared.trouble.lock().expect("nobody panics holding this") = None;
            }
            Err(error) => note(shared, error),
        }
        shared.under_way.store(false, Ordering::Release);
    }
}

fn note(shared: &Shared, trouble: String) {
    *shared.trouble.lock().expect("nobody panics holding this") = Some(trouble);
}
