//! What is too large to ride in a record lies in the blob store, durable before the batch that mentions it. From when it is put
//! until the commit of whoever mentions it, somebody holds it: who put it, then the letter it rides in, then the parcel.

use crate::request::{Report, Request};
use kernel::command::{Command, Outcome};
use kernel::limits::INLINE_BYTES_MAX;
use kernel::record::{Payload, Record};
use store::blobs::mentions;
use store::{Batch, BlobId, BlobStore, Hold, StoreError};

/// A value as a record holds it. As long as this lives, what it stands for stays where it is.
#[derive(Clone, Debug)]
pub struct PutAway {
    pub payload: Payload,
    pub hold: Option<Hold>,
}

impl PutAway {
    pub(crate) fn inline(payload: Payload) -> PutAway {
        PutAway { payload, hold: None }
    }

    fn standing_for(hold: Hold, contents: Vec<BlobId>) -> PutAway {
        hold.note_contents(contents);
        PutAway { payload: Payload::blob(&hold.id().to_string()), hold: Some(hold) }
    }
}

/// Puts a large payload away and gives what stands for it.
pub fn stand_in(blobs: &dyn BlobStore, payload: &Payload) -> Result<Option<PutAway>, StoreError> {
    if payload.text().len() <= INLINE_BYTES_MAX || payload.is_blob() {
        return Ok(None);
    }
    let hold = blobs.put(payload.text().as_bytes())?;
    Ok(Some(PutAway::standing_for(hold, mentions(payload.text()))))
}

/// A value that a record holds already, for another record: what it stands for is held, or is gone.
pub fn kept(blobs: &dyn BlobStore, payload: Payload, mentioned: Vec<BlobId>) -> Result<Option<PutAway>, StoreError> {
    let Some(id) = payload.blob_id() else { return Ok(Some(PutAway::inline(payload))) };
    let Some(id) = BlobId::parse(id) else { return Ok(None) };
    let Some((hold, _)) = blobs.hold(&id)? else { return Ok(None) };
    let contents = mentioned.into_iter().filter(|mentioned| *mentioned != id).collect();
    Ok(Some(PutAway::standing_for(hold, contents)))
}

/// The outputs of a batch that were made in the engine, and the texts of runs. What events bring rides in their records, which go
/// with them: a file for each would cost the burst that brings them. What is far away is not asked here, where all wait for it: then
/// these stay in their records.
pub fn put_away(blobs: &dyn BlobStore, batch: &mut Batch) -> Result<Vec<Hold>, StoreError> {
    let mut holds = Vec::new();
    if blobs.is_near() {
        for entry in batch.entries.iter_mut().filter(|entry| is_output(&entry.record)) {
            if let Some(payload) = &entry.payload
                && let Some(away) = stand_in(blobs, payload)?
            {
                entry.payload = Some(away.payload);
                holds.extend(away.hold);
            }
        }
    }
    for entry in &batch.entries {
        let id = entry.payload.as_ref().and_then(|payload| BlobId::parse(payload.blob_id()?));
        let contents = id.and_then(|id| blobs.holds().contents(&id));
        batch.mentions.extend(contents.iter().flat_map(|ids| ids.iter()).map(|id| (entry.seq, *id)));
    }
    Ok(holds)
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

impl Request {
    /// The blobs that stand for values in it.
    pub fn blobs(&self) -> Vec<BlobId> {
        fn output(outcome: &Outcome) -> Option<&Payload> {
            if let Outcome::Done { output } = outcome { Some(output) } else { None }
        }
        let mut found = Vec::new();
        let mut see = |payload: &Payload| found.extend(payload.blob_id().and_then(BlobId::parse));
        match self {
            Request::Work(work) => work.results.iter().filter_map(|Report { outcome, .. }| output(outcome)).for_each(see),
            Request::Command(Command::Finish { outcome, .. }) => output(outcome).into_iter().for_each(see),
            Request::Command(Command::StartRun { new, .. } | Command::HandOver { new, .. }) => see(&new.input),
            Request::Command(Command::ForkRun { fork, .. }) => {
                see(&fork.new.input);
                fork.texts.iter().chain(&fork.change).for_each(|text| see(&text.payload));
                fork.parts.iter().filter_map(|part| part.payload.as_ref()).for_each(see);
            }
            _ => {}
        }
        found
    }
}
