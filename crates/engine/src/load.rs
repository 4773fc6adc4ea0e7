//! From the rows of the store to the state they are of: all of them at the start, and those a command needs.

use crate::flows::Flows;
use crate::presence::Presence;
use kernel::eval::Flow;
use kernel::row::{BadRow, Row};
use kernel::state::State;
use kernel::time::Time;
use store::{Store, StoreError};

/// A run's row needs its workflow compiled. One that does not compile any more is no reason not to start: its runs fail.
pub(crate) fn take_row(state: &mut State, flows: &mut Flows, row: &Row, now: Time) -> Result<(), BadRow> {
    if let Some(workflow) = state.wants_ir(row) {
        match flows.compile(&workflow) {
            Ok(ir) => state.learn_ir(workflow.name(), workflow.version(), ir),
            Err(why) => {
                tracing::error!(workflow = %workflow.name(), version = workflow.version(), why, "its runs fail");
                state.learn_bad_ir(workflow.name(), workflow.version(), why);
            }
        }
    }
    state.take_row(row, now)
}

pub(crate) fn load(store: &mut dyn Store, flows: &mut Flows, shard: u16, now: Time) -> Result<(State, Presence), StoreError> {
    let mut state = State::new(shard);
    let mut bad = None;
    store.load(&mut |row| {
        if let Err(error) = take_row(&mut state, flows, &row, now) {
            bad.get_or_insert(error);
        }
    })?;
    if let Some(error) = bad {
        return Err(error.into());
    }
    state.loaded();
    let mut presence = Presence::default();
    for task in state.running() {
        let lease = task.lease().expect("a running task has a lease");
        presence.granted(task.card().id(), lease, now);
    }
    Ok((state, presence))
}
