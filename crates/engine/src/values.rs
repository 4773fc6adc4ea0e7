//! Values of runs by the record that holds them, kept for whoever needs them soon: the writer to evaluate, the doors to
//! deliver. Two generations of bounded size; what has gone is read from its record, and stays until it was asked for.

use kernel::ids::RecordSeq;
use kernel::record::Payload;
use rustc_hash::FxHashMap;
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard};

const GENERATION_BYTES_MAX: usize = 8 * 1024 * 1024;

#[derive(Default)]
pub struct Values {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    young: FxHashMap<RecordSeq, Held>,
    old: FxHashMap<RecordSeq, Held>,
    young_bytes: usize,
    /// Fetched for somebody who waits, and forgotten when nobody does.
    fetched: FxHashMap<RecordSeq, Found>,
}

#[derive(Clone)]
struct Held {
    text: Payload,
    value: Option<Arc<Value>>,
}

#[derive(Clone)]
pub enum Found {
    Value(Arc<Value>),
    /// Its record holds none, or is gone.
    Lost,
    Missing,
}

impl Values {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().expect("no holder of the values panics")
    }

    pub fn keep(&self, seq: RecordSeq, text: &Payload) {
        // What lies in the blob store is fetched when it is asked for.
        if !text.is_blob() {
            self.kept().put(seq, Held { text: text.clone(), value: None });
        }
    }

    /// What was read for one who waits; `None`: there is nothing to read.
    pub fn provide(&self, seq: RecordSeq, text: Option<Payload>) {
        let value = text.and_then(|text| serde_json::from_str::<Value>(text.text()).ok()).map(Arc::new);
        self.kept().fetched.insert(seq, value.map_or(Found::Lost, Found::Value));
    }

    pub fn forget(&self) {
        *self.kept() = Kept::default();
    }

    /// Nobody waits any more. Before that nothing that was fetched may go: one who needs many values may get them one after
    /// the other, and would for ever ask for the first again when the last comes.
    pub fn forget_fetched(&self) {
        self.kept().fetched.clear();
    }

    pub fn text(&self, seq: RecordSeq) -> Option<Payload> {
        let kept = self.kept();
        kept.young.get(&seq).or_else(|| kept.old.get(&seq)).map(|held| held.text.clone())
    }

    pub fn value(&self, seq: RecordSeq) -> Found {
        let held = {
            let mut kept = self.kept();
            if let Some(found) = kept.fetched.get(&seq) {
                return found.clone();
            }
            match kept.get(seq) {
                None => return Found::Missing,
                Some(Held { value: Some(value), .. }) => return Found::Value(value),
                Some(held) => held,
            }
        };
        // Read out of the lock; whoever else reads it meanwhile finds the same.
        match serde_json::from_str::<Value>(held.text.text()) {
            Err(_) => Found::Lost,
            Ok(value) => {
                let value = Arc::new(value);
                self.kept().put(seq, Held { value: Some(value.clone()), ..held });
                Found::Value(value)
            }
        }
    }
}

impl Kept {
    fn put(&mut self, seq: RecordSeq, held: Held) {
        // A parsed value takes several times the room of its text.
        self.young_bytes += 96 + held.text.text().len() * if held.value.is_some() { 6 } else { 1 };
        self.young.insert(seq, held);
        if self.young_bytes > GENERATION_BYTES_MAX {
            self.old = std::mem::take(&mut self.young);
            self.young_bytes = 0;
        }
    }

    fn get(&mut self, seq: RecordSeq) -> Option<Held> {
        if let Some(held) = self.young.get(&seq) {
            return Some(held.clone());
        }
        let held = self.old.remove(&seq)?;
        self.put(seq, held.clone());
        Some(held)
    }
}
