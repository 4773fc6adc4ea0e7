//! From the rows of the store to the state they are of: all of them at the start, and those a command needs.

use crate::deliver::payload;
use crate::flows::Flows;
use crate::presence::Presence;
use crate::revision::Revision;
use kernel::eval::Flow;
use kernel::ids::RecordSeq;
use kernel::record::Payload;
use kernel::row::Row;
use kernel::runs::WantedIr;
use kernel::state::State;
use kernel::time::Time;
use store::{BlobStore, Store, StoreError};

/// Reads the payload of a record.
pub(crate) type Payloads<'a> = &'a mut dyn FnMut(RecordSeq) -> Result<Option<Payload>, StoreError>;

/// A run's row needs its text compiled. One that does not compile any more is no reason not to start: its runs fail.
pub(crate) fn take_row(
    state: &mut State,
    flows: &mut Flows,
    payloads: Payloads<'_>,
    row: &Row,
    now: Time,
) -> Result<(), StoreError> {
    match state.wants_ir(row) {
        None => {}
        Some(WantedIr::Version(workflow)) => match flows.compile(&workflow) {
            Ok(ir) => state.learn_ir(workflow.name(), workflow.version(), ir),
            Err(why) => {
                tracing::error!(workflow = %workflow.name(), version = workflow.version(), why, "its runs fail");
                state.learn_bad_ir(workflow.name(), workflow.version(), why);
            }
        },
        Some(WantedIr::Revision { run, revision, record, workflow }) => {
            let ir = payloads(record)?.and_then(|payload| Revision::read(&payload)).map_or_else(
                || Err(format!("the text of revision {revision} is gone or damaged")),
                |read| flows.compile_revision(workflow.name(), workflow.version(), &read.text),
            );
            if let Err(why) = &ir {
                tracing::error!(%run, revision, why, "it fails");
            }
            state.learn_revision(run, revision, ir.map_err(Into::into));
        }
    }
    Ok(state.take_row(row, now)?)
}

pub(crate) fn load(
    store: &mut dyn Store,
    blobs: &dyn BlobStore,
    flows: &mut Flows,
    shard: u16,
    now: Time,
) -> Result<(State, Presence), StoreError> {
    let mut state = State::new(shard);
    let mut reader = store.reader()?;
    let mut payloads = |record| payload(&mut *reader, blobs, record);
    let mut bad = None;
    store.load(&mut |row| {
        if let Err(error) = take_row(&mut state, flows, &mut payloads, &row, now) {
            bad.get_or_insert(error);
        }
    })?;
    if let Some(error) = bad {
        return Err(error);
    }
    state.loaded();
    let mut presence = Presence::default();
    for task in state.running() {
        let lease = task.lease().expect("a running task has a lease");
        // What a run holds has no worker to be heard of.
        if lease.run().is_some() {
            continue;
        }
        presence.granted(task.card().id(), lease, now);
    }
    Ok((state, presence))
}
