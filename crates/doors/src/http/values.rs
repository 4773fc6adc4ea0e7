//! The values of runs and tasks, read for people: out of records, out of lists, out of the blob store. That may be far away, so
//! nobody asks for a value with a reader in hand.

use engine::Engine;
use flow::wide;
use kernel::ids::RecordSeq;
use kernel::record::Payload;
use kernel::run::ValueAt;
use serde_json::value::RawValue;
use store::StoreError;

/// The JSON that a payload is or stands for; `None`: it is not there any more.
pub fn shown(engine: &Engine, payload: Option<Payload>) -> Result<Option<Box<RawValue>>, StoreError> {
    Ok(engine.content(payload)?.and_then(raw))
}

/// The value that lies there.
pub fn value(engine: &Engine, at: ValueAt) -> Result<Option<Box<RawValue>>, StoreError> {
    let (seq, item) = match at {
        ValueAt::Null => return Ok(raw(Payload::null())),
        ValueAt::Own => return Ok(None),
        ValueAt::Record(seq) => (seq, None),
        ValueAt::Item(seq, index) => (seq, Some(index as usize)),
    };
    let found = engine.payload(seq)?.and_then(raw);
    Ok(match item {
        None => found,
        Some(index) => found.and_then(|list| serde_json::from_str::<Vec<Box<RawValue>>>(list.get()).ok()?.into_iter().nth(index)),
    })
}

/// Whether what came again under a known key is another value than the first time, which that record holds. That it was there
/// needs no comparison to be answered: what is gone, or cannot be read now, is not another.
pub fn is_another(engine: &Engine, before: Result<Option<RecordSeq>, StoreError>, again: &Payload) -> bool {
    match before.and_then(|record| record.map_or(Ok(None), |record| engine.payload(record))) {
        Ok(before) => before.is_some_and(|before| !is_same(before.text(), again.text())),
        Err(error) => {
            tracing::warn!(%error, "what came again under a known key cannot be compared with the first time");
            false
        }
    }
}

/// However it is written.
fn is_same(one: &str, other: &str) -> bool {
    one == other || wide::read(one).is_ok_and(|one| wide::read(other).is_ok_and(|other| one == other))
}

pub fn raw(payload: Payload) -> Option<Box<RawValue>> {
    RawValue::from_string(payload.text().to_owned()).ok()
}

/// The same for one who looks back: why it cannot be read is a sentence, and no failure.
pub fn legible(engine: &Engine, at: ValueAt) -> Result<Option<Box<RawValue>>, String> {
    let seq = match at {
        ValueAt::Null | ValueAt::Own => None,
        ValueAt::Record(seq) | ValueAt::Item(seq, _) => Some(seq),
    };
    let why = match value(engine, at) {
        Ok(Some(found)) => return Ok(Some(found)),
        Ok(None) if seq.is_none() => return Ok(None),
        Ok(None) => None,
        Err(error) => Some(error.to_string()),
    };
    let number = seq.map_or(0, |seq| seq.0);
    let payload = seq.and_then(|seq| engine.read(|reader| reader.payloads(&[seq])).ok()?.pop().flatten());
    Err(match (why, payload.as_ref().map(|payload| payload.blob_id())) {
        (Some(why), _) => format!("its value cannot be read: {why}"),
        (None, Some(Some(blob))) => {
            format!("its value is gone: r{number} says it is {blob}, which is not among the blobs any more")
        }
        (None, Some(None)) => format!("its value, which r{number} holds, is damaged"),
        (None, None) => format!("its value is gone: r{number} does not hold one any more"),
    })
}
