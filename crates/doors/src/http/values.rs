//! The values of runs and tasks, read for people: out of records, out of lists, out of the blob store.

use engine::content;
use kernel::record::Payload;
use kernel::run::ValueAt;
use serde_json::value::RawValue;
use store::{BlobStore, Reader, StoreError};

/// The JSON that a payload is or stands for; `None`: it is not there any more.
pub fn shown(blobs: &dyn BlobStore, payload: Payload) -> Result<Option<Box<RawValue>>, StoreError> {
    Ok(content(blobs, payload)?.and_then(raw))
}

/// The value that lies there.
pub fn value(reader: &mut dyn Reader, blobs: &dyn BlobStore, at: ValueAt) -> Result<Option<Box<RawValue>>, StoreError> {
    let (seq, item) = match at {
        ValueAt::Null => return Ok(raw(Payload::null())),
        ValueAt::Own => return Ok(None),
        ValueAt::Record(seq) => (seq, None),
        ValueAt::Item(seq, index) => (seq, Some(index as usize)),
    };
    let found = engine::payload(reader, blobs, seq)?.and_then(raw);
    Ok(match item {
        None => found,
        Some(index) => found.and_then(|list| serde_json::from_str::<Vec<Box<RawValue>>>(list.get()).ok()?.into_iter().nth(index)),
    })
}

pub fn raw(payload: Payload) -> Option<Box<RawValue>> {
    RawValue::from_string(payload.text().to_owned()).ok()
}
