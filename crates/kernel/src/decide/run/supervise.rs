//! The supervisor: a look at every running run from time to time. What should have gone on is looked at again, and a run
//! whose work could move and has not for longer than its limit fails. One that waits for a person, a sleep, another run, a
//! worker that is at it, or a limit of its queue is left alone.

use crate::decide::walk;
use crate::explain::span;
use crate::frame::FramePath;
use crate::ids::RunId;
use crate::node::{NodeState, Started};
use crate::record::Failure;
use crate::run::RunStatus;
use crate::runs::{Live, Spot};
use crate::state::{Place, State};
use crate::step::{FollowUp, Step};
use crate::task::Task;
use crate::time::Time;

pub(in crate::decide) fn sweep(step: &mut Step<'_>) {
    for run in step.swept() {
        look(step, run);
    }
}

fn look(step: &mut Step<'_>, run: RunId) {
    let state = step.state();
    let Some(live) = state.runs.get(run).filter(|live| live.run.status == RunStatus::Running && !live.run.is_paused()) else {
        return;
    };
    let spots: Vec<Spot> = live.waiting().into_iter().filter(|spot| live.may_move(spot)).collect();
    let over = live.root.open == 0;
    match stalled(state, live, step.now()) {
        _ if over || !spots.is_empty() => {
            spots.into_iter().for_each(|spot| step.follow(FollowUp::Arrive(spot)));
            step.follow(FollowUp::Close(run, FramePath::root()));
        }
        Some(message) => walk::fail_run(step, run, Failure { code: "stalled".into(), message }),
        None => {}
    }
}

/// What nobody has taken for too long, if that is all there is.
fn stalled(state: &State, live: &Live, now: Time) -> Option<String> {
    let mut youngest: Option<(Time, String)> = None;
    for (path, node, at) in live.started() {
        let task = match at {
            Started::Turning { .. } | Started::Spreading { .. } => continue,
            Started::Sleeping { .. } if crate::defect("impatient") => continue,
            Started::Asking { .. } | Started::Sleeping { .. } | Started::Calling { .. } => return None,
            Started::Working { task } => state.task(*task)?,
        };
        let since = free_since(state, task, now)?;
        if youngest.as_ref().is_none_or(|(at, _)| since > *at) {
            let (id, kind) = (task.card().id(), task.card().route().kind());
            let node = crate::run::NodeAt { run: live.run.id, frame: path.clone(), node: live.ir.node(node).id.clone() };
            let waited = span(now.ms_since(since));
            youngest = Some((since, format!("no worker took {id} of {} (type `{kind}`) for {waited}", node.show())));
        }
    }
    let (since, message) = youngest?;
    (now >= since.plus_ms(live.ir.limits.stall_ms)).then_some(message)
}

/// Since when a task has waited for nothing but a worker.
fn free_since(state: &State, task: &Task, now: Time) -> Option<Time> {
    let Task::Queued(queued) = task else { return None };
    let route = task.card().route();
    let ready = matches!(state.place(task.card().id()), Place::Lane(..) | Place::Override(_));
    let paused = state.queue(route.queue()).is_some_and(|queue| queue.pause().is_some());
    let free = ready && !paused && state.lanes.obstacles(route, queued.is_expedited(), now).is_empty();
    free.then(|| queued.since().max(queued.ready_at()))
}

impl Live {
    /// What has been started and has not ended, in frames that are open.
    pub(crate) fn started(&self) -> impl Iterator<Item = (&FramePath, crate::ir::NodeIx, &Started)> {
        self.open_frames().flat_map(|(path, frame)| {
            let nodes = self.ir.body(frame.body).nodes.iter().zip(&frame.nodes);
            nodes.filter_map(move |(node, slot)| match &slot.state {
                NodeState::Started { at, .. } => Some((path, *node, at)),
                _ => None,
            })
        })
    }
}
