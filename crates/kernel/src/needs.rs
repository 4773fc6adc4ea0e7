//! Which cold rows a command touches. Finished tasks live in the store alone; the writer loads what a command needs
//! before it is decided, so that `decide` never waits.

use crate::bulk::{BulkWork, Meant, RunVerb, TaskFilter};
use crate::command::Command;
use crate::handler::{Routed, dedup_key};
use crate::ids::{EventId, RunId, TaskId};
use crate::limits::{CHUNK_ITEMS_MAX, LOOK_EVENTS_MAX};
use crate::message::Message;
use crate::names::{EventKey, EventName, IdempotencyKey, QueueName, WorkflowName};
use crate::run::NodeAt;
use crate::state::State;
use crate::time::Time;

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Need {
    /// The task with this id.
    Task(TaskId),
    /// The youngest task of the queue with this idempotency key that is older than `before`.
    Idempotency {
        queue: QueueName,
        key: IdempotencyKey,
        before: TaskId,
    },
    /// Failed tasks of the queue with `after < id <= upto`, by id, at most `limit`.
    Dead {
        queue: QueueName,
        after: Option<TaskId>,
        upto: TaskId,
        limit: usize,
    },
    /// The row of this run alone.
    Run(RunId),
    /// This run with all its frames and nodes: first its row, then frames, then nodes.
    RunWhole(RunId),
    /// The youngest run of the workflow with this idempotency key.
    RunKey {
        workflow: WorkflowName,
        key: IdempotencyKey,
    },
    /// The frames and then the nodes of these runs, one run after the other, until there are `limit`.
    RunParts {
        runs: Vec<RunId>,
        limit: usize,
    },
    /// The event with this id, or the one that came with this key.
    Event(EventId),
    EventKey(EventKey),
    /// Events that came before `before`, and after this one, the oldest first, at most `limit`. No command needs these.
    EventsOld {
        before: Time,
        after: Option<EventId>,
        limit: usize,
    },
    /// Events of this name that came after that one, the oldest first, at most `limit`.
    EventsNamed {
        name: EventName,
        after: EventId,
        limit: usize,
    },
    /// Runs that nobody called, have ended, are not being deleted, and either ended before `before` or are older than the
    /// youngest `keep` of them; the oldest by their end first, at most `limit`. No command needs these: they are looked for.
    RunsEnded {
        before: Time,
        keep: usize,
        limit: usize,
    },
}

/// What a node had done by others. Its row names the last one alone.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Begun {
    Task(TaskId),
    Run(RunId),
}

/// To be asked again once the rows are there, until nothing is missing that exists: a row may name others (twice is
/// enough, as blockers name none that matter).
pub fn needs(command: &Command, state: &State, now: Time, into: &mut Vec<Need>) {
    let mut task = |id: TaskId| {
        if state.task(id).is_none() {
            into.push(Need::Task(id));
        }
    };
    match command {
        Command::Add { tasks, .. } => {
            for new in tasks {
                new.spec.blocked_by.iter().for_each(|id| task(*id));
            }
            for new in tasks {
                if let Some(key) = &new.spec.idempotency_key
                    && state.duplicate_of(&new.spec, now).is_none()
                    && !crate::defect("cold_key_unread")
                {
                    into.push(Need::Idempotency { queue: new.spec.queue.clone(), key: key.clone(), before: TaskId::MAX });
                }
            }
        }
        Command::Retry { task: id, .. } | Command::Reset { task: id, .. } | Command::Delete { task: id, .. } => {
            task(*id);
            // Who was cancelled no longer heard what became of its blockers. One that waits may be cancelled by a command
            // before this one in the same batch.
            let found = state.task(*id);
            if let Some(found) = found.filter(|found| found.status().is_finished() || !crate::defect("blockers_half_read")) {
                found.card().blocked_by().iter().for_each(|blocker| task(*blocker));
            }
            // With its youngest task gone, a key stands for the one before it, also to an add of the same batch.
            if let Command::Delete { .. } = command
                && let Some(card) = found.map(|found| found.card())
                && let Some(key) = card.idempotency_key()
                && !crate::defect("cold_key_unread")
            {
                let (queue, key) = (card.route().queue().clone(), key.clone());
                into.push(Need::Idempotency { queue, key, before: *id });
            }
        }
        Command::Cancel { task: id, .. } | Command::Start { task: id, .. } | Command::Finish { task: id, .. } => task(*id),
        Command::Reprioritize { tasks, .. } | Command::RedriveTasks { tasks, .. } => tasks.iter().for_each(|id| task(*id)),
        Command::Proceed => {
            if let Some(bulk) = state.bulk_due(now)
                && let BulkWork::Redrive { queue, upto, filter, .. } = bulk.work()
            {
                // Without a filter every one that is loaded is used.
                let limit = if *filter == TaskFilter::default() { bulk.allowance() } else { CHUNK_ITEMS_MAX };
                into.push(Need::Dead { queue: queue.clone(), after: bulk.after(), upto: *upto, limit });
            }
        }
        Command::StartRun { new, .. } => {
            if let Some(key) = &new.spec.idempotency_key
                && state.runs.by_key(&new.workflow, key).is_none()
                && !crate::defect("run_key_unread")
            {
                into.push(Need::RunKey { workflow: new.workflow.clone(), key: key.clone() });
            }
        }
        Command::ForkRun { fork, .. } => {
            if let Some(key) = &fork.new.spec.idempotency_key
                && state.runs.by_key(&fork.new.workflow, key).is_none()
            {
                into.push(Need::RunKey { workflow: fork.new.workflow.clone(), key: key.clone() });
            }
        }
        Command::CancelRun { run, .. }
        | Command::PauseRun { run, .. }
        | Command::ResumeRun { run, .. }
        | Command::DeleteRun { run, .. }
        | Command::Answer { at: NodeAt { run, .. }, .. } => {
            if state.runs.get(*run).is_none() {
                into.push(Need::Run(*run));
            }
        }
        // Also of one that runs: what is past is not in memory.
        Command::RestartRun { at, .. } => {
            let is_known = |live: &crate::runs::Live| live.run.live && live.rewind(at).is_some_and(|rewind| live.knows(&rewind));
            if !state.runs.get(at.run).is_some_and(is_known) {
                into.push(Need::RunWhole(at.run));
            }
        }
        Command::RetryRun { run, .. } | Command::PatchRun { run, .. } | Command::SkipNode { at: NodeAt { run, .. }, .. } => {
            if state.runs.get(*run).is_none_or(|live| !live.run.live) {
                into.push(Need::RunWhole(*run));
            }
        }
        Command::AdvanceBulk { bulk, runs, .. } => {
            let work = state.bulk(*bulk).map(|bulk| bulk.work());
            let whole = matches!(work, Some(BulkWork::Runs { verb, .. }) if verb.needs_whole());
            // Of one that runs, what is past.
            let is_past = |live: &crate::runs::Live| match work {
                Some(BulkWork::Runs { verb: RunVerb::Restart { frame, node }, .. }) => {
                    live.rewind(&NodeAt { run: live.run.id, frame: frame.clone(), node: node.clone() }).is_none()
                }
                _ => false,
            };
            for meant in runs {
                if let Meant::Left(_) = meant {
                    continue;
                }
                let run = &meant.run();
                match state.runs.get(*run) {
                    Some(live) if is_past(live) => into.push(Need::RunWhole(*run)),
                    None if whole => into.push(Need::RunWhole(*run)),
                    Some(live) if whole && !live.run.live => into.push(Need::RunWhole(*run)),
                    None => into.push(Need::Run(*run)),
                    Some(_) => {}
                }
            }
        }
        Command::ExpireRuns { runs } => {
            into.extend(runs.iter().filter(|run| state.runs.get(**run).is_none()).map(|run| Need::Run(*run)));
        }
        Command::ProceedRuns => {
            let leaving = &state.runs.leaving;
            // A queue on this shard is asked to forget them in the same batch.
            leaving.tasks().for_each(task);
            let runs = leaving.due(now);
            if !runs.is_empty() {
                into.push(Need::RunParts { runs, limit: CHUNK_ITEMS_MAX });
            }
            into.extend(leaving.calls().filter(|run| state.runs.get(*run).is_none()).map(Need::Run));
            let awaits = &state.runs.awaits;
            for spot in awaits.due() {
                if let Some(after) = awaits.wants_after(spot)
                    && let Some(name) = state.runs.awaited(spot)
                {
                    let need = Need::EventsNamed { name, after, limit: LOOK_EVENTS_MAX };
                    if into.last() != Some(&need) {
                        into.push(need);
                    }
                }
            }
            let called = state.runs.recalls_due().into_iter().map(|(run, ..)| run);
            into.extend(called.filter(|run| state.runs.get(*run).is_none()).map(Need::RunWhole));
        }
        Command::PutWorkflow { .. }
        | Command::PutWorkflows { .. }
        | Command::DisableWorkflow { .. }
        | Command::EnableWorkflow { .. }
        | Command::TakeValues { .. } => {}
        // One that has ended is not added anew.
        Command::Hear(message) => match &**message {
            Message::Enqueue { task: id, .. } | Message::Withdraw { task: id, .. } | Message::ForgetTask { task: id, .. } => {
                task(*id)
            }
            Message::RetryRun { run, .. } if state.runs.get(*run).is_none_or(|live| !live.run.live) => {
                into.push(Need::RunWhole(*run));
            }
            Message::StartRun { run, .. } if state.runs.get(*run).is_none() => into.push(Need::Run(*run)),
            _ => {}
        },
        Command::Emit { events, .. } => {
            for new in events {
                if let Some(key) = &new.spec.key
                    && state.event_by_key(key).is_none()
                    && !crate::defect("cold_event_unread")
                {
                    into.push(Need::EventKey(key.clone()));
                }
                routed_needs(&new.routed, into);
            }
        }
        Command::ReplayEvent { event, routed, .. } => {
            if state.event(*event).is_none() {
                into.push(Need::Event(*event));
            }
            routed_needs(routed, into);
        }
        Command::ExpireEvents { events, .. } => {
            for id in events {
                match state.event(*id) {
                    None => into.push(Need::Event(*id)),
                    Some(event) => {
                        let tasks = event.handled().iter().filter_map(|handled| handled.outcome.made());
                        into.extend(tasks.filter(|task| state.task(*task).is_none()).map(Need::Task));
                    }
                }
            }
        }
        Command::HandOver { .. }
        | Command::PutRegistry { .. }
        | Command::PauseFamilies { .. }
        | Command::ResumeFamilies { .. }
        | Command::BoostFamilies { .. }
        | Command::NoteRefused { .. }
        | Command::NoteSignals { .. }
        | Command::Lease { .. }
        | Command::Lapse { .. }
        | Command::Mislay { .. }
        | Command::Release { .. }
        | Command::Due
        | Command::NoteStandstill { .. }
        | Command::ConfigureQueue { .. }
        | Command::PauseQueue { .. }
        | Command::ResumeQueue { .. }
        | Command::BoostQueue { .. }
        | Command::StartBulk { .. }
        | Command::CancelBulk { .. } => {}
    }
}

/// Whether one with the same key came within the window.
fn routed_needs(routed: &[Routed], into: &mut Vec<Need>) {
    for routed in routed {
        if let Ok(handling) = &routed.handling
            && let Some(dedup) = &handling.dedup
        {
            let key = dedup_key(&routed.handler, dedup);
            into.push(Need::Idempotency { queue: handling.queue.clone(), key, before: TaskId::MAX });
        }
    }
}
