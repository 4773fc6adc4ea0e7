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

/// Returns when that task or run has ended, is not there, nobody waits any more, or so long is over.
pub async fn wait_for(door: &Door, peer: &Peer, owner: Owner, wait_ms: u64) -> Result<(), No> {
    wait_bounded(wait_ms)?;
    if wait_ms == 0 {
        return Ok(());
    }
    let over = tokio::time::sleep(Duration::from_millis(wait_ms));
    tokio::pin!(over);
    // From before the first look, so that no end falls between the two.
    let mut ending = door.engine.ending(owner.clone());
    loop {
        let of = owner.clone();
        if door.read(move |reader| goes_on(reader, &of)).await? {
            tokio::select! {
                is_up = ending.told() => if is_up { continue },
                () = &mut over => {}
                () = peer.gone() => {}
            }
        }
        return Ok(());
    }
}

fn goes_on(reader: &mut dyn Reader, owner: &Owner) -> Result<bool, StoreError> {
    Ok(match owner {
        Owner::Task(task) => {
            let task = reader.task(*task)?.map(|row| Task::from_row(&row.values)).transpose()?;
            task.is_some_and(|task| !matches!(task, Task::Done(_) | Task::Failed(_) | Task::Cancelled(_)))
        }
        Owner::Run(run) => {
            let run = reader.run(*run)?.map(|row| Run::from_row(&row.values)).transpose()?;
            run.is_some_and(|run| run.status() == RunStatus::Running)
        }
        _ => false,
    })
}
