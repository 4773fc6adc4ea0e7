//! Values that runs wait for are read here, off the writer, and handed back to it, no more at once than it may hold. One that
//! cannot be read holds up nobody else: it is tried again, and given up in the end.

use crate::blobs::content;
use crate::engine::Engine;
use crate::request::Request;
use kernel::ids::RecordSeq;
use kernel::limits::{FETCHING_BYTES_MAX, VALUE_WAIT_MS_MAX};
use kernel::record::Payload;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};
use store::StoreError;

const TRY_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// Where to send what is missing; the thread ends when this is dropped.
pub struct Fetcher {
    wanted: Sender<Vec<RecordSeq>>,
}

/// One that could not be read.
struct Again {
    seq: RecordSeq,
    at: Instant,
    /// Then it is given up.
    until: Instant,
}

impl Fetcher {
    pub fn start(engine: Engine) -> Result<Fetcher, StoreError> {
        let (wanted, asked) = channel();
        let thread = std::thread::Builder::new().name("fetcher".into());
        let started = thread.spawn(move || fetch(&engine, &asked));
        started.map_err(|error| StoreError::Failed(format!("cannot start the fetcher's thread: {error}")))?;
        Ok(Fetcher { wanted })
    }

    pub fn fetch(&self, missing: Vec<RecordSeq>) {
        if !missing.is_empty() {
            _ = self.wanted.send(missing);
        }
    }
}

fn fetch(engine: &Engine, asked: &Receiver<Vec<RecordSeq>>) {
    // By when they are tried again.
    let mut again: VecDeque<Again> = VecDeque::new();
    while engine.is_up() {
        let wait = again.front().map(|again| again.at.saturating_duration_since(Instant::now()));
        let asked = match wait {
            None => asked.recv().map_err(|_| RecvTimeoutError::Disconnected),
            Some(wait) => asked.recv_timeout(wait),
        };
        let until = Instant::now() + Duration::from_millis(VALUE_WAIT_MS_MAX);
        let mut due: VecDeque<(RecordSeq, Instant)> = match asked {
            Ok(missing) => missing.into_iter().map(|seq| (seq, until)).collect(),
            Err(RecvTimeoutError::Timeout) => VecDeque::new(),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        while again.front().is_some_and(|again| again.at <= Instant::now()) {
            due.extend(again.pop_front().map(|again| (again.seq, again.until)));
        }
        while !due.is_empty() {
            let (values, failed) = read(engine, &mut due);
            let at = Instant::now() + TRY_AGAIN_AFTER;
            again.extend(failed.into_iter().map(|(seq, until)| Again { seq, at, until }));
            // It is taken before more is read.
            if !values.is_empty() && engine.ask_blocking(Request::Values(values)).is_err() {
                return;
            }
        }
    }
}

type Read = (Vec<(RecordSeq, Option<Payload>)>, Vec<(RecordSeq, Instant)>);

/// The first of them, as many as may be handed over at once, and those that are to be tried again.
fn read(engine: &Engine, due: &mut VecDeque<(RecordSeq, Instant)>) -> Read {
    let (mut values, mut failed, mut bytes) = (Vec::new(), Vec::new(), 0);
    while bytes < FETCHING_BYTES_MAX
        && let Some((seq, until)) = due.pop_front()
    {
        // Blobs may be far away, and others want to read meanwhile.
        let found = engine.read_first(|reader| Ok(reader.payloads(&[seq])?.pop().flatten()));
        let found = found.and_then(|found| found.map_or(Ok(None), |payload| content(engine.blobs(), payload)));
        match found {
            Ok(value) => {
                bytes += value.as_ref().map_or(0, |value| value.text().len());
                values.push((seq, value));
            }
            // It will not get better: its node is told so, and the others go on.
            Err(StoreError::Corrupt(bad)) => {
                tracing::error!(record = seq.0, %bad, "a value cannot be read");
                values.push((seq, None));
            }
            // What cannot be reached at all is waited for: it is not lost.
            Err(error) if Instant::now() >= until && !matches!(error, StoreError::Unreached(_)) => {
                tracing::error!(record = seq.0, %error, "a value that a run waits for cannot be read; it is given up");
                values.push((seq, None));
            }
            // The disk may come back.
            Err(error) => {
                tracing::error!(record = seq.0, %error, "a value that a run waits for cannot be read; trying again");
                failed.push((seq, until));
            }
        }
    }
    (values, failed)
}
