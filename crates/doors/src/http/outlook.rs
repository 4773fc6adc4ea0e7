//! What the rows of some runs say to a verb before it is done to them. The kernel has the last word; what follows from a status, or
//! from whether a node has begun, is known here.

use super::node::present;
use crate::wire::{RunRefused, RunsBulkAnswer};
use engine::Engine;
use kernel::bulk::RunVerb;
use kernel::ids::RunId;
use kernel::node::NodeState;
use kernel::rejection::Rejection;
use kernel::row::NodeRow;
use kernel::run::{NodeAt, Run, RunStatus};
use store::{Reader, StoreError};

/// Runs that a dry run looks at one by one, and reasons that it tells.
pub const LOOKED_AT_MAX: usize = 1_000;
const REASONS_MAX: usize = 10;
/// Looked at in one go, so that others have their turn.
const AT_ONCE: usize = 100;

/// How many of these would be left as they are, and why the first of them.
pub fn told(engine: &Engine, verb: &RunVerb, runs: &[RunId], answer: &mut RunsBulkAnswer) -> Result<(), StoreError> {
    let (mut tried, mut refused, mut done) = (0, 0, 0);
    for chunk in runs.chunks(AT_ONCE) {
        engine.read(|reader| {
            for run in chunk {
                let Some(found) = reader.run(*run)?.map(|row| Run::from_row(&row.values)).transpose()? else { continue };
                tried += 1;
                done += u64::from(found.status() == RunStatus::Done);
                if let Some(why) = against(reader, verb, &found)? {
                    refused += 1;
                    if answer.refused_first.len() < REASONS_MAX {
                        answer.refused_first.push(RunRefused { run: *run, why });
                    }
                }
            }
            Ok(())
        })?;
    }
    answer.tried = Some(tried).filter(|_| refused > 0 || done > 0);
    answer.refused = Some(refused).filter(|refused| *refused > 0);
    answer.done = Some(done).filter(|done| *done > 0 && matches!(verb, RunVerb::Restart { .. }));
    Ok(())
}

/// Why a run would be left as it is; `None`: nothing that is known stands against it.
fn against(reader: &mut dyn Reader, verb: &RunVerb, found: &Run) -> Result<Option<String>, StoreError> {
    let (run, status) = (found.id(), found.status());
    let ended = status != RunStatus::Running;
    let told = |rejection: Rejection| Some(rejection.to_string());
    if found.is_deleting() {
        return Ok(told(Rejection::RunNotFound { run }));
    }
    let called = || found.spec().parent.as_ref().map(|parent| parent.show());
    Ok(match verb {
        RunVerb::Cancel if status == RunStatus::Cancelled => Some("it was cancelled already".to_owned()),
        RunVerb::Cancel | RunVerb::Pause | RunVerb::Resume if ended => {
            let verb = match verb {
                RunVerb::Cancel => "cancel",
                RunVerb::Pause => "pause",
                _ => "resume",
            };
            told(Rejection::RunEnded { run, status, verb })
        }
        RunVerb::Pause if found.pause().is_some() => Some("it was paused already".to_owned()),
        RunVerb::Resume if found.pause().is_none() => Some("it was not paused".to_owned()),
        RunVerb::Cancel | RunVerb::Pause | RunVerb::Resume => None,
        RunVerb::Retry if !matches!(status, RunStatus::Failed | RunStatus::Cancelled) => {
            told(Rejection::NotToRetry { run, status })
        }
        RunVerb::Retry => called().map(|caller| format!("{run} was called by {caller}: retry that run")),
        RunVerb::Restart { .. } if ended && called().is_some() => {
            called().map(|caller| format!("{run} was called by {caller} and has ended: restart that run from there"))
        }
        // It is asked of the kernel itself.
        RunVerb::Patch { .. } => None,
        RunVerb::Restart { frame, node } => {
            let at = NodeAt { run, frame: frame.clone(), node: node.clone() };
            let meant = present(reader, found, &at)?.unwrap_or_else(|| at.clone());
            let row = reader.node(&meant)?.map(|row| NodeRow::from_row(&row.values)).transpose()?;
            match row {
                Some(row) if *row.slot.state() == NodeState::Waiting => told(Rejection::NotBegun { at }),
                Some(_) => None,
                None => Some(format!("{} has not begun, or there is no such node", at.show())),
            }
        }
    })
}
