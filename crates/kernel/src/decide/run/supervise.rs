//! The supervisor: a look at every running run from time to time. What should have gone on is looked at again, and a run
//! whose work could move and has not for longer than its limit fails. One that waits for a person, a sleep, another run, a
//! worker that is at it, or a limit of its queue is left alone. What waits for a value that does not come fails.

use crate::decide::walk;
use crate::frame::FramePath;
use crate::ids::{RunId, TaskId};
use crate::ir::NodeKind;
use crate::limits::VALUE_WAIT_MS_MAX;
use crate::message::Message;
use crate::node::{NodeState, Started};
use crate::record::Failure;
use crate::run::{NodeAt, RunStatus};
use crate::runs::{Held, Inquiry, Live, Spot};
use crate::step::{FollowUp, Step};
use crate::time::{Time, span};

pub(in crate::decide) fn sweep(step: &mut Step<'_>) {
    for run in step.swept() {
        look(step, run);
    }
}

fn look(step: &mut Step<'_>, run: RunId) {
    step.inquiries().remove(&run);
    if looked_at(step, run).is_none() {
        return;
    }
    let before = step.now().plus_us(-(VALUE_WAIT_MS_MAX as i64) * 1_000);
    for (held, value) in step.late(run, before) {
        let message = format!("the value of record {} could not be read for {}", value.0, span(VALUE_WAIT_MS_MAX));
        walk::give_up(step, &held, Failure { code: "value_unread".into(), message });
    }
    let Some(live) = looked_at(step, run) else { return };
    let is_held = |spot: &Spot| step.state().runs.held.contains(&Held::Node(spot.clone()));
    let movable = live.waiting().into_iter().filter(|spot| live.may_move(spot));
    let (held, spots): (Vec<Spot>, Vec<Spot>) = movable.partition(is_held);
    if live.root.open == 0 || !spots.is_empty() {
        spots.into_iter().for_each(|spot| step.follow(FollowUp::Arrive(spot)));
        step.follow(FollowUp::Close(run, FramePath::root()));
        return;
    }
    // What waits for a value is on its way.
    if !held.is_empty() {
        return;
    }
    // Only their queues know whether somebody could have taken them.
    let asked = live.unmoved(step.now()).unwrap_or_default();
    if !asked.is_empty() {
        let unanswered = asked.iter().map(|(task, _)| *task).collect();
        step.inquiries().insert(run, Inquiry { unanswered, youngest: None });
        for (task, at) in asked {
            step.send(Message::AskTask { task, at });
        }
    }
}

fn looked_at<'a>(step: &'a Step<'_>, run: RunId) -> Option<&'a Live> {
    let runs = &step.state().runs;
    let goes_on = |live: &&Live| live.run.status == RunStatus::Running && !live.run.is_paused() && !runs.unfit.contains(run);
    runs.get(run).filter(goes_on)
}

/// A queue says that a task has waited for nothing but a worker since then. If that is all there is, for too long, the run has
/// stalled.
pub(in crate::decide) fn waits(step: &mut Step<'_>, at: NodeAt, task: TaskId, since: Time) {
    let run = at.run;
    let Some(inquiry) = step.inquiries().get_mut(&run) else { return };
    if !inquiry.unanswered.remove(&task) {
        return;
    }
    if inquiry.youngest.as_ref().is_none_or(|(youngest, ..)| since > *youngest) {
        inquiry.youngest = Some((since, at, task));
    }
    if !inquiry.unanswered.is_empty() {
        return;
    }
    let Some((since, at, task)) = step.inquiries().remove(&run).and_then(|inquiry| inquiry.youngest) else { return };
    let now = step.now();
    // What was begun since then has not been asked about, and has not waited for long.
    let Some(live) = looked_at(step, run).filter(|live| live.unmoved(now).is_some()) else { return };
    if now >= since.plus_ms(live.ir().limits.stall_ms) {
        let kind = live.frame(&at.frame).and_then(|frame| Some(&frame.ir.node(frame.find(&at.node)?).kind));
        let kind = if let Some(NodeKind::Work { kind, .. }) = kind { format!(" (type `{kind}`)") } else { String::new() };
        let message = format!("no worker took {task} of {}{kind} for {}", at.show(), span(now.ms_since(since)));
        walk::fail_run(step, run, Failure { code: "stalled".into(), message });
    }
}

impl Live {
    /// What has been started and has not ended, in frames that are open.
    pub(crate) fn started(&self) -> impl Iterator<Item = (&FramePath, crate::ir::NodeIx, &Started)> {
        self.open_frames().flat_map(|(path, frame)| {
            let nodes = frame.ir.body(frame.body).nodes.iter().zip(&frame.nodes);
            nodes.filter_map(move |(node, slot)| match &slot.state {
                NodeState::Started { at, .. } => Some((path, *node, at)),
                _ => None,
            })
        })
    }

    /// The tasks of a run that has waited for nothing else for its limit.
    fn unmoved(&self, now: Time) -> Option<Vec<(TaskId, NodeAt)>> {
        let mut tasks = Vec::new();
        for (path, node, at) in self.started() {
            match at {
                Started::Turning { .. } | Started::Spreading { .. } => {}
                Started::Sleeping { .. } if crate::defect("impatient") => {}
                Started::Asking { .. } | Started::Sleeping { .. } | Started::Awaiting(_) | Started::Calling { .. } => {
                    return None;
                }
                Started::Working { task } => {
                    let (since, _) = self.slot(path, node)?.work()?;
                    if now < since.plus_ms(self.ir().limits.stall_ms) {
                        return None;
                    }
                    tasks.push((*task, self.at(path, node)));
                }
            }
        }
        Some(tasks)
    }
}
