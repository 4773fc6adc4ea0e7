//! Timers are never late: what was due has happened, the engine wants to be woken in time for the rest, and it does not
//! spin when nothing is due.

use super::{Check, Scene, ensure};
use crate::model::runs::{NodeModel, NodeState, wake_at};
use kernel::limits::CHUNK_ITEMS_MAX;
use kernel::node::Started;
use kernel::record::{Entry, Owner, Record};

pub fn kept(scene: &Scene<'_>) -> Check {
    let (model, turn, presence) = (scene.model, scene.turn, scene.presence);
    if scene.core.is_none() || turn.reloaded {
        return Ok(());
    }
    let now = turn.now;
    let due = |at: &kernel::time::Time| *at <= now;
    // More than a chunk of them goes on in the next tick.
    let room = turn.entries.len() < CHUNK_ITEMS_MAX;
    for (name, queue) in model.queues.iter().filter(|_| room) {
        ensure(!queue.pause.flatten().is_some_and(|until| due(&until)), || format!("{name} is still paused at {now:?}"))?;
    }
    for (families, control) in model.events.controls.iter().filter(|_| room) {
        ensure(!control.pause.flatten().is_some_and(|until| due(&until)), || format!("{families} is still paused at {now:?}"))?;
    }
    let begun = |id| turn.statuses.get(&id).is_some_and(|was| was.len() > 1);
    for id in model.queued.iter().filter(|_| room) {
        let late = model.tasks[id].start_by.filter(|at| due(at) && !begun(*id));
        ensure(late.is_none(), || format!("{id} should have started by {late:?}"))?;
    }
    for (id, lease) in model.leases().filter(|_| room) {
        let spent = lease.ending.is_none() && due(&lease.budget_until);
        ensure(!spent || begun(id), || format!("the budget of {id} was spent at {:?}", lease.budget_until))?;
    }
    for (ticket, poll) in &presence.polls {
        ensure(!due(&poll.until), || {
            format!("poll {ticket:?} of {} should have been answered at {:?}", poll.worker, poll.until)
        })?;
    }
    for (id, run) in model.runs.running().filter(|_| room) {
        // It may have been given less time than it has had.
        let patched = |entry: &Entry| entry.owner == Owner::Run(id) && matches!(entry.record, Record::RunPatched { .. });
        let late = run.deadline.filter(|at| due(at) && run.started_at < now && !turn.entries.iter().any(patched));
        ensure(late.is_none(), || format!("{id} should have been over at {late:?}"))?;
        // Who looks back at events does so before it gives up.
        let looks = |state: &NodeState| {
            let awaits = matches!(state, NodeState::Started(Started::Awaiting(_)));
            awaits && scene.core.is_some_and(|core| core.state().runs_wait())
        };
        let overdue = |node: &NodeModel| wake_at(&node.state).is_some_and(|at| due(&at)) && node.at < now && !looks(&node.state);
        let slept = model.runs.nodes_of(id).find(|(_, node)| overdue(node));
        ensure(slept.is_none(), || format!("{slept:?} should have woken"))?;
    }
    let mut expected = model.next_due(now);
    for (id, watch) in &presence.watches {
        ensure(!turn.idle || !due(&watch.deadline) || !room, || {
            format!("the lease of {id} should have lapsed at {:?}", watch.deadline)
        })?;
        expected = Some(expected.map_or(watch.deadline, |at| at.min(watch.deadline)));
    }
    let polls = presence.polls.values().map(|poll| poll.until).min();
    let expected = expected.into_iter().chain(polls).min();
    ensure(expected.is_none_or(|at| turn.next.is_some_and(|next| next <= at.max(now))), || {
        format!("something is due at {expected:?}, but the engine sleeps until {:?}", turn.next)
    })?;
    // What is deleted goes part by part, what is held may be for the next batch, and the supervisor may look at a new run.
    let new = turn.entries.iter().any(|entry| matches!(entry.owner, Owner::Run(_)));
    let goes_on = new || model.runs.is_deleting() || scene.core.is_some_and(|core| core.state().runs_wait());
    let busy = goes_on || expected.is_some_and(|at| at <= now) || !model.sweeping.is_empty() || model.is_lagging();
    ensure(busy || turn.next.is_none_or(|next| next > now), || format!("nothing is due at {now:?}, but the engine spins"))
}
