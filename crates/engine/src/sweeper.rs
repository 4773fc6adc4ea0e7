//! Blobs that nothing mentions any more are removed here, off the writer, some at a time with a rest between; and what somebody
//! outside puts, or hands in by name, comes in here.

use crate::blobs::PutAway;
use crate::clock;
use crate::engine::Engine;
use kernel::limits::{INLINE_BYTES_MAX, PAYLOAD_BYTES_MAX};
use kernel::record::Payload;
use kernel::time::Time;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::blobs::{Sweep, Swept, mentions, sweep};
use store::{BlobId, Hold, StoreError};
use thiserror::Error;

/// Blobs that are looked at without a rest.
const CHUNK: usize = 500;
const CHUNK_TIME_MAX: Duration = Duration::from_secs(10);
const REST: Duration = Duration::from_millis(100);
/// Between two looks at all of them.
const LOOK_EVERY: Duration = Duration::from_secs(3_600);
/// How soon a stop is noticed.
const LOOK_UP: Duration = Duration::from_millis(500);
/// A place that cannot be reached is tried so often.
const TRY_EVERY: Duration = Duration::from_secs(10);

/// How it goes with the removing.
#[derive(Clone, Debug, Default)]
pub struct SweepState {
    /// The last look at all of them, as far as it has gone.
    pub swept: Swept,
    pub ended_at: Option<Time>,
    pub trouble: Option<String>,
}

pub(crate) struct Sweeping {
    grace: Option<Duration>,
    state: Mutex<SweepState>,
}

impl Sweeping {
    pub fn new(grace: Option<Duration>) -> Sweeping {
        Sweeping { grace, state: Mutex::default() }
    }

    fn change(&self, change: impl FnOnce(&mut SweepState)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// Why a blob is not taken as a value.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoValue {
    #[error("blob:{0} is not there: put it with PUT /v1/blobs and hand it in within the grace period")]
    Missing(BlobId),
    #[error("blob:{0} has {1} bytes, and a value may have {PAYLOAD_BYTES_MAX}: mention it in a smaller value instead")]
    Large(BlobId, u64),
    #[error("blob:{0} is not JSON, which a value has to be: mention it in a value instead, such as {{\"file\": \"blob:{0}\"}}")]
    NotJson(BlobId),
}

impl Engine {
    /// Keeps bytes for somebody outside, who has the grace period to mention them. Blocks; not for an async thread.
    pub fn put_blob(&self, bytes: &[u8]) -> Result<Hold, StoreError> {
        self.blobs().put_anew(bytes)
    }

    /// A value that is handed in by the name of its blob. Blocks; not for an async thread.
    pub fn value_of(&self, id: &BlobId) -> Result<Result<PutAway, NoValue>, StoreError> {
        let Some((hold, kept)) = self.blobs().hold(id)? else { return Ok(Err(NoValue::Missing(*id))) };
        if kept.size > PAYLOAD_BYTES_MAX as u64 {
            return Ok(Err(NoValue::Large(*id, kept.size)));
        }
        let Some(bytes) = self.blobs().get(id)? else { return Ok(Err(NoValue::Missing(*id))) };
        let text = String::from_utf8(bytes).ok();
        let Some(text) = text.filter(|text| serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok()) else {
            return Ok(Err(NoValue::NotJson(*id)));
        };
        Ok(Ok(match text.len() <= INLINE_BYTES_MAX {
            true => PutAway::inline(Payload(text.into())),
            false => {
                hold.note_contents(mentions(&text));
                PutAway { payload: Payload::blob(&id.to_string()), hold: Some(hold) }
            }
        }))
    }

    pub fn blobs_grace(&self) -> Option<Duration> {
        self.shared().sweeping.grace
    }

    pub fn sweep_state(&self) -> SweepState {
        self.shared().sweeping.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Removes some of what nobody mentions, after this one; or says what would go. Ends with time or the limit. Blocks; not for an
    /// async thread.
    pub fn sweep_blobs(&self, after: Option<BlobId>, limit: usize, time: Duration, dry: bool) -> Result<Swept, StoreError> {
        let before = self.blobs_grace().map_or(Time::from_us(i64::MIN), |grace| {
            clock::wall().plus_us(-i64::try_from(grace.as_micros()).unwrap_or(i64::MAX))
        });
        let until = Some(Instant::now() + time);
        // Before lists: who puts what may be about to go waits for this, and that may be the writer.
        let mut mentioned = |ids: &[BlobId]| self.read_first(|reader| reader.blobs_mentioned(ids));
        sweep(self.blobs(), &mut mentioned, &Sweep { before, after, limit, until, dry })
    }
}

/// Looks at all blobs from time to time, until the engine stops.
pub(crate) fn start(engine: Engine) -> Result<(), StoreError> {
    let thread = std::thread::Builder::new().name("sweeper".into());
    let started = thread.spawn(move || run(&engine));
    started.map(drop).map_err(|error| StoreError::Failed(format!("cannot start the sweeper's thread: {error}")))
}

fn run(engine: &Engine) {
    // Servers that are started often would never come to the last of many blobs, if all began with the first.
    let mut after = Some(BlobId::of(&RandomState::new().hash_one(0).to_be_bytes()));
    // Not at once: a start has other things to do, and what nobody mentions has waited long.
    let mut rest = engine.blobs_grace().unwrap_or(LOOK_EVERY).min(TRY_EVERY);
    while pause(engine, rest) {
        if engine.blobs_grace().is_none() {
            rest = LOOK_EVERY;
            continue;
        }
        if after.is_none() {
            engine.shared().sweeping.change(|state| state.swept = Swept::default());
        }
        match engine.sweep_blobs(after, CHUNK, CHUNK_TIME_MAX, false) {
            Ok(swept) => {
                after = swept.next;
                engine.shared().sweeping.change(|state| {
                    state.swept.add(&swept);
                    state.trouble = state.swept.trouble.clone();
                    if after.is_none() {
                        state.ended_at = Some(clock::wall());
                    }
                });
                rest =
                    if after.is_some() { REST } else { LOOK_EVERY.min(engine.blobs_grace().unwrap_or(LOOK_EVERY).max(LOOK_UP)) };
            }
            Err(error) => {
                tracing::warn!(%error, "blobs that nothing mentions cannot be looked for");
                engine.shared().sweeping.change(|state| state.trouble = Some(error.to_string()));
                rest = TRY_EVERY;
            }
        }
    }
}

/// Rests, and meanwhile tries whether what could not be reached can be again. `false`: the engine has stopped.
fn pause(engine: &Engine, rest: Duration) -> bool {
    let began = Instant::now();
    let mut tried = Instant::now();
    while began.elapsed() < rest && engine.is_up() {
        std::thread::sleep(LOOK_UP.min(rest));
        if tried.elapsed() >= TRY_EVERY && engine.blobs().trouble().is_some() {
            _ = engine.blobs().list(None, 1);
            tried = Instant::now();
        }
    }
    engine.is_up()
}
