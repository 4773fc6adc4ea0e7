//! What is too large to ride in a record lies in the blob store, durable before the batch that mentions it.

use kernel::limits::INLINE_BYTES_MAX;
use kernel::record::{Entry, Payload, Record};
use store::{BlobId, BlobStore, StoreError};

/// Puts a large payload away and gives what stands for it.
pub fn stand_in(blobs: &dyn BlobStore, payload: &Payload) -> Result<Option<Payload>, StoreError> {
    if payload.text().len() <= INLINE_BYTES_MAX || payload.is_blob() {
        return Ok(None);
    }
    blobs.put(payload.text().as_bytes()).map(|id| Some(Payload::blob(&id.to_string())))
}

/// The outputs of a batch that were made in the engine, and the texts of runs. What events bring rides in their records, which go
/// with them: a file for each would cost the burst that brings them.
pub fn put_away(blobs: &dyn BlobStore, entries: &mut [Entry]) -> Result<(), StoreError> {
    for entry in entries.iter_mut().filter(|entry| is_output(&entry.record)) {
        if let Some(payload) = &entry.payload
            && let Some(blob) = stand_in(blobs, payload)?
        {
            entry.payload = Some(blob);
        }
    }
    Ok(())
}

fn is_output(record: &Record) -> bool {
    let node = matches!(record, Record::NodeStarted { .. } | Record::NodeDone { .. } | Record::NodeSet { .. });
    node || matches!(record, Record::RunPatched { .. })
        || matches!(record, Record::RunDone { .. } | Record::FrameDone { .. } | Record::TaskDone { .. })
}

/// The value that a payload is or stands for; `None`: it is not there any more.
pub fn content(blobs: &dyn BlobStore, payload: Payload) -> Result<Option<Payload>, StoreError> {
    let Some(id) = payload.blob_id() else { return Ok(Some(payload)) };
    let Some(id) = BlobId::parse(id) else { return Ok(None) };
    let Some(bytes) = blobs.get(&id)? else { return Ok(None) };
    Ok(String::from_utf8(bytes).ok().map(|text| Payload(text.into())))
}
