//! What a record mentions is there. A node fails for a value that cannot be read only if that value lay in a blob that was spoilt.

use super::{Check, Scene, ensure};
use kernel::ids::RecordSeq;
use kernel::record::{Entry, Failure, Record};
use store::blobs::MemoryBlobs;
use store::memory::MemoryDisk;
use store::{BlobId, BlobStore};

pub fn only_if_spoilt(scene: &Scene<'_>, entry: &Entry) -> Check {
    match &entry.record {
        Record::NodeFailed { failure, .. } | Record::FrameFailed { failure } | Record::RunFailed { failure, .. } => {
            if failure.code == "value_lost" { lost(scene.disk, scene.blobs, failure) } else { Ok(()) }
        }
        _ => Ok(()),
    }
}

/// Whatever a record stands for, now that this tick's are written.
pub fn there(scene: &Scene<'_>) -> Check {
    scene.disk.read(|durable| {
        let missing = |(id, _): &&(BlobId, RecordSeq)| !scene.blobs.look(id).is_ok_and(|kept| kept.is_some());
        match durable.mentioned().find(missing) {
            Some((id, seq)) => Err(format!("record {} mentions {id}, which is gone", seq.0)),
            None => Ok(()),
        }
    })
}

/// By the record that the failure names.
pub fn lost(disk: &MemoryDisk, blobs: &MemoryBlobs, failure: &Failure) -> Check {
    let number = failure.message.split_whitespace().skip_while(|word| *word != "record").nth(1);
    let number: Option<u64> = number.and_then(|number| number.parse().ok());
    let Some(seq) = number.map(RecordSeq) else { return Err(format!("`{}` names no record", failure.message)) };
    let payload = disk.read(|durable| {
        let mut written = durable.written_after(RecordSeq(seq.0 - 1)).into_iter();
        written.find(|entry| entry.seq == seq).and_then(|entry| entry.payload.clone())
    });
    let blob = payload.as_ref().and_then(|payload| BlobId::parse(payload.blob_id()?));
    ensure(blob.is_some_and(|blob| blobs.was_damaged(&blob)), || format!("record {} is said to be lost, and is not", seq.0))
}
