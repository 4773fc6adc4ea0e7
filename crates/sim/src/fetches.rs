//! Values that runs wait for, on their way from the disk to the engine: each takes its time, and a crash loses them.

use crate::mail::Sender;
use crate::world::World;
use engine::Request;
use kernel::ids::RecordSeq;
use store::StoreError;

/// Steps that a value takes at most.
const STEPS_MAX: usize = 6;

#[derive(Default)]
pub struct Fetches {
    /// By the step in which they come.
    under_way: Vec<(usize, Vec<RecordSeq>)>,
}

impl Fetches {
    pub fn is_empty(&self) -> bool {
        self.under_way.is_empty()
    }
}

impl World {
    /// What one tick misses comes together or in parts.
    pub(crate) fn fetch(&mut self, mut missing: Vec<RecordSeq>) {
        while !missing.is_empty() {
            let many = if self.chance.permille(500) { missing.len() } else { 1 + self.chance.below(missing.len()) };
            let rest = missing.split_off(many);
            let mut steps = if self.chance.permille(500) { 0 } else { self.chance.below(STEPS_MAX) };
            if steps > 1 {
                self.fault("values_late");
            }
            if self.chance.permille(self.temper.faults.blob_slow) {
                self.fault("blob_slow");
                steps += 5 * STEPS_MAX;
            }
            self.fetches.under_way.push((self.step + 1 + steps, std::mem::replace(&mut missing, rest)));
        }
    }

    pub(crate) fn hand_in_values(&mut self) {
        let step = self.step;
        let due: Vec<_> = self.fetches.under_way.extract_if(.., |(at, _)| *at <= step).collect();
        for (_, seqs) in due {
            let store = self.disk.open();
            let mut reader = store::Store::reader(&store).expect("memory can be read");
            let (mut values, mut again) = (Vec::new(), Vec::new());
            for seq in seqs {
                match engine::payload(&mut *reader, &*self.blobs, seq) {
                    Ok(value) => values.push((seq, value)),
                    // It will not get better.
                    Err(StoreError::Corrupt(_)) => values.push((seq, None)),
                    Err(_) => again.push(seq),
                }
            }
            if !again.is_empty() {
                self.fetches.under_way.push((step + 2, again));
            }
            if !values.is_empty() {
                self.mail.send(Sender::Door, Request::Values(values));
            }
        }
    }

    /// With the engine goes what was to be handed to it.
    pub(crate) fn lose_values(&mut self) {
        if !self.fetches.is_empty() {
            self.fault("values_lost");
        }
        self.fetches.under_way.clear();
    }
}
