//! Pause a run and let it go on. Nothing new begins in a paused run; its tasks that no worker has taken stay where they are,
//! and those that come back stay, too; the runs it called are paused with it. Each hears of it by a message, so many a batch.

use super::{found, running};
use crate::command::Reply;
use crate::ids::RunId;
use crate::limits::CHUNK_ITEMS_MAX;
use crate::message::Message;
use crate::names::Actor;
use crate::node::{NodeState, Started};
use crate::record::Record;
use crate::rejection::Rejection;
use crate::run::RunStatus;
use crate::runs::{Live, Spot};
use crate::step::{FollowUp, Step};

pub(in crate::decide) fn pause(step: &mut Step<'_>, run: RunId, by: &Actor, reason: &str) -> Result<Reply, Rejection> {
    let changed = running(step, run, "pause")?.run.pause.is_none();
    if changed {
        let (by, reason) = (by.clone(), reason.to_owned());
        change(step, run, |told| Record::RunPaused { reason, by, told }, |live| live.run.is_paused());
    }
    Ok(Reply::Run { run, status: RunStatus::Running, changed })
}

pub(in crate::decide) fn resume(step: &mut Step<'_>, run: RunId, by: &Actor) -> Result<Reply, Rejection> {
    let live = running(step, run, "resume")?;
    let changed = live.run.pause.is_some();
    if changed {
        let by = by.clone();
        change(step, run, |told| Record::RunResumed { by, told }, |live| live.run.is_held());
    } else if let Some(parent) = live.run.spec.parent.as_ref().filter(|_| live.run.is_held()) {
        let why = format!("{run} is paused with {}, which called it: resume that run", parent.run);
        return Err(Rejection::Invalid { why });
    }
    Ok(Reply::Run { run, status: RunStatus::Running, changed })
}

/// The run that called it is paused. Heard late or again, it changes nothing.
pub(in crate::decide) fn hold(step: &mut Step<'_>, run: RunId, pause: u32) {
    if running(step, run, "hold").is_ok_and(|live| live.run.hold.is_news(pause)) {
        change(step, run, |told| Record::RunHeld { pause, told }, |live| live.run.is_paused());
    }
}

pub(in crate::decide) fn let_go(step: &mut Step<'_>, run: RunId, pause: u32) {
    if running(step, run, "let go").is_ok_and(|live| live.run.hold.is_over_by(pause)) {
        change(step, run, |told| Record::RunLetGo { pause, told }, |live| live.run.pause.is_some() || !live.run.is_held());
    }
}

/// Records that a run is paused or not any more; if that makes a difference to what it works on, that hears of it.
fn change(step: &mut Step<'_>, run: RunId, record: impl FnOnce(bool) -> Record, stays: impl FnOnce(&Live) -> bool) {
    let live = found(step, run).expect("it runs");
    let stays = stays(live);
    let room = CHUNK_ITEMS_MAX.saturating_sub(step.told());
    let told = if stays { !live.run.telling } else { live.helpers().take(room + 1).count() <= room };
    step.record_run(run, record(told), None);
    if stays {
        return;
    }
    tell(step, run);
    let live = found(step, run).expect("it runs");
    if !live.run.is_paused() {
        let waiting: Vec<Spot> = live.waiting().into_iter().filter(|spot| live.may_move(spot)).collect();
        waiting.into_iter().for_each(|spot| step.follow(FollowUp::Arrive(spot)));
    }
}

/// The next of those who have not heard yet.
pub(in crate::decide) fn go_on(step: &mut Step<'_>) {
    while let Some(run) = step.state().runs.telling_next() {
        if step.told() >= CHUNK_ITEMS_MAX || step.is_full() {
            return;
        }
        tell(step, run);
    }
}

/// Frame by frame, as many as there is room for.
fn tell(step: &mut Step<'_>, run: RunId) {
    let live = found(step, run).expect("it runs");
    let (paused, pause, telling) = (live.run.is_paused(), live.run.pauses, live.run.telling);
    let from = step.state().runs.telling_from(run);
    let (mut messages, mut rest) = (Vec::new(), None);
    for (path, frame) in live.open_frames_from(&from) {
        if telling && step.told() + messages.len() >= CHUNK_ITEMS_MAX {
            rest = Some(path.clone());
            break;
        }
        let started = frame.nodes.iter().filter_map(|slot| match &slot.state {
            NodeState::Started { at, .. } => Some(at),
            _ => None,
        });
        messages.extend(started.filter_map(|at| match (at, paused) {
            (Started::Working { task }, true) => Some(Message::Hold { task: *task, pause }),
            (Started::Working { task }, false) => Some(Message::LetGo { task: *task, pause }),
            (Started::Calling { .. }, true) if crate::defect("pause_stays_above") => None,
            (Started::Calling { run, .. }, true) => Some(Message::HoldRun { run: *run, pause }),
            (Started::Calling { run, .. }, false) => Some(Message::LetRunGo { run: *run, pause }),
            _ => None,
        }));
    }
    messages.into_iter().for_each(|message| step.tell(message));
    match rest {
        Some(path) => step.tell_from(run, path),
        None if telling => _ = step.record_run(run, Record::RunTold {}, None),
        None => {}
    }
}

impl Live {
    /// The tasks and runs that work for it.
    fn helpers(&self) -> impl Iterator<Item = &Started> {
        self.started().map(|(_, _, at)| at).filter(|at| matches!(at, Started::Working { .. } | Started::Calling { .. }))
    }
}
