//! `?wait_ms=`: what is shown is shown when it has ended, or when its time is over.

use super::Door;
use super::answer::No;
use super::peer::Peer;
use crate::wire::wait_bounded;
use kernel::record::Owner;
use kernel::run::{Run, RunStatus};
use kernel::task::Task;
use std::time::Duration;
use store::{Reader, StoreError};

/// Returns when that task or run has ended, or there is nothing to wait for any more. It may have been too early: whoever shows it
/// looks for itself.
pub async fn wait_for(door: &Door, peer: &Peer, owner: Owner, wait_ms: u64) -> Result<(), No> {
    wait_bounded(wait_ms)?;
    if wait_ms == 0 {
        return Ok(());
    }
    // From before the first look, so that no end falls between the two.
    let mut ending = door.engine.ending(owner.clone());
    if door.read(move |reader| goes_on(reader, &owner)).await? {
        let _place = door.look_on()?;
        tokio::select! {
            () = ending.told() => {}
            () = tokio::time::sleep(Duration::from_millis(wait_ms)) => {}
            () = peer.dismissed() => {}
        }
    }
    Ok(())
}

fn goes_on(reader: &mut dyn Reader, owner: &Owner) -> Result<bool, StoreError> {
    Ok(match owner {
        Owner::Task(task) => {
            let task = reader.task(*task)?.map(|row| Task::from_row(&row.values)).transpose()?;
            task.is_some_and(|task| !task.has_ended())
        }
        Owner::Run(run) => {
            let run = reader.run(*run)?.map(|row| Run::from_row(&row.values)).transpose()?;
            run.is_some_and(|run| run.status() == RunStatus::Running)
        }
        _ => false,
    })
}
