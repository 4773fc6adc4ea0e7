//! Values of runs by the record that holds them, kept for whoever needs them soon: the writer to evaluate, the doors to
//! deliver. Two generations of bounded size; what has gone is read from its record, and stays until it was asked for.

use flow::wide;
use kernel::ids::RecordSeq;
use kernel::limits::FETCHED_BYTES_MAX;
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
    /// Fetched for somebody who waits, and forgotten when nobody does; what they weigh together.
    fetched: FxHashMap<RecordSeq, (Found, usize)>,
    fetched_bytes: usize,
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
    /// Whoever needs it needs too much.
    TooMuch,
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

    /// What was read for one who waits and has got so many bytes before; `None`: there is nothing to read. Gives what it weighs.
    pub fn provide(&self, seq: RecordSeq, text: Option<Payload>, bytes_before: usize) -> usize {
        let bytes = text.as_ref().map_or(0, |text| weight(text, true));
        let found = match text {
            Some(_) if bytes_before + bytes > FETCHED_BYTES_MAX => Found::TooMuch,
            Some(text) => wide::read(text.text()).map_or(Found::Lost, |value| Found::Value(Arc::new(value))),
            None => Found::Lost,
        };
        let held = if matches!(found, Found::Value(_)) { bytes } else { 0 };
        let mut kept = self.kept();
        let before = kept.fetched.insert(seq, (found, held));
        kept.fetched_bytes = kept.fetched_bytes + held - before.map_or(0, |(_, bytes)| bytes);
        bytes
    }

    /// What all that was fetched weighs.
    pub fn fetched_bytes(&self) -> usize {
        self.kept().fetched_bytes
    }

    pub fn forget(&self) {
        *self.kept() = Kept::default();
    }

    /// What nobody waits for any more goes. Before that nothing that was fetched may: one who needs many values may get them
    /// one after the other, and would for ever ask for the first again when the last comes.
    pub fn keep_fetched(&self, is_waited_for: impl Fn(RecordSeq) -> bool) {
        let mut kept = self.kept();
        let Kept { fetched, fetched_bytes, .. } = &mut *kept;
        fetched.retain(|seq, (_, bytes)| {
            let stays = is_waited_for(*seq);
            *fetched_bytes -= if stays { 0 } else { *bytes };
            stays
        });
    }

    pub fn text(&self, seq: RecordSeq) -> Option<Payload> {
        let kept = self.kept();
        kept.young.get(&seq).or_else(|| kept.old.get(&seq)).map(|held| held.text.clone())
    }

    pub fn value(&self, seq: RecordSeq) -> Found {
        let held = {
            let mut kept = self.kept();
            if let Some((found, _)) = kept.fetched.get(&seq) {
                return found.clone();
            }
            match kept.get(seq) {
                None => return Found::Missing,
                Some(Held { value: Some(value), .. }) => return Found::Value(value),
                Some(held) => held,
            }
        };
        // Read out of the lock; whoever else reads it meanwhile finds the same.
        match wide::read(held.text.text()) {
            Err(_) => Found::Lost,
            Ok(value) => {
                let value = Arc::new(value);
                self.kept().put(seq, Held { value: Some(value.clone()), ..held });
                Found::Value(value)
            }
        }
    }
}

/// A parsed value takes several times the room of its text.
pub fn weight(text: &Payload, parsed: bool) -> usize {
    96 + text.text().len() * if parsed { 6 } else { 1 }
}

impl Kept {
    fn put(&mut self, seq: RecordSeq, held: Held) {
        self.young_bytes += weight(&held.text, held.value.is_some());
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
