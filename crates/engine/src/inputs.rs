//! Inputs of tasks just added, kept for the worker that will soon ask for them, so that a hop reads nothing from the
//! store. Two generations of bounded size: what is not fetched in time is read from its record instead.

use kernel::ids::RecordSeq;
use kernel::record::Payload;
use rustc_hash::FxHashMap;

const GENERATION_BYTES_MAX: usize = 16 * 1024 * 1024;

#[derive(Default)]
pub struct Inputs {
    young: FxHashMap<RecordSeq, Payload>,
    old: FxHashMap<RecordSeq, Payload>,
    young_bytes: usize,
}

impl Inputs {
    pub fn keep(&mut self, record: RecordSeq, input: &Payload) {
        self.young_bytes += input.text().len() + 64;
        self.young.insert(record, input.clone());
        if self.young_bytes > GENERATION_BYTES_MAX {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
    }

    /// For one of several: what an event brings is the input of each of its tasks.
    pub fn look(&self, record: RecordSeq) -> Option<Payload> {
        self.young.get(&record).or_else(|| self.old.get(&record)).cloned()
    }

    pub fn take(&mut self, record: RecordSeq) -> Option<Payload> {
        self.young.remove(&record).or_else(|| self.old.remove(&record))
    }
}
