//! Values that runs wait for are read here, off the writer, and handed back to it.

use crate::deliver::payload;
use crate::engine::Engine;
use crate::request::Request;
use kernel::ids::RecordSeq;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use store::StoreError;

const TRY_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// Values handed over at once.
const VALUES_MAX: usize = 1_000;

/// Where to send what is missing; the thread ends when this is dropped.
pub struct Fetcher {
    wanted: Sender<Vec<RecordSeq>>,
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
    while let Ok(missing) = asked.recv() {
        for some in missing.chunks(VALUES_MAX) {
            while engine.is_up() {
                let read = engine.read_first(|reader| {
                    let mut value = |seq: &RecordSeq| match payload(reader, engine.blobs(), *seq) {
                        // It will not get better: its node is told so, and the others go on.
                        Err(StoreError::Corrupt(bad)) => {
                            tracing::error!(record = seq.0, %bad, "a value cannot be read");
                            Ok((*seq, None))
                        }
                        read => read.map(|payload| (*seq, payload)),
                    };
                    some.iter().map(&mut value).collect::<Result<Vec<_>, StoreError>>()
                });
                match read {
                    Ok(values) => {
                        engine.tell(Request::Values(values));
                        break;
                    }
                    // Handed back as lost they would fail their nodes; the disk may come back.
                    Err(error) => {
                        tracing::error!(%error, "values that runs wait for cannot be read; trying again");
                        std::thread::sleep(TRY_AGAIN_AFTER);
                    }
                }
            }
        }
    }
}
