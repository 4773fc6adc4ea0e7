//! What a run waits for: every node that was started and has not ended, each with its cause. The same state, facts and time
//! give the same words.

use super::{Explanation, span};
use crate::ids::{RunId, TaskId};
use crate::node::{NodeState, Started};
use crate::run::{NodeAt, RunStatus};
use crate::runs::{Held, Live};
use crate::state::State;
use crate::time::Time;

/// Waits that are told one by one; the rest is counted.
const WAITS_TOLD_MAX: usize = 50;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wait {
    pub at: NodeAt,
    pub code: &'static str,
    pub sentence: String,
    pub since: Option<Time>,
    /// When it ends by itself, where that is known exactly.
    pub eta: Option<Time>,
    /// Why its task does not run.
    pub task: Option<Box<Explanation>>,
    /// The run it called.
    pub run: Option<RunId>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunExplanation {
    pub run: RunId,
    pub status: RunStatus,
    pub sentence: String,
    pub waits: Vec<Wait>,
    /// Waits beyond those.
    pub more: usize,
    pub next_actions: Vec<String>,
}

/// `told` is what its queue says of a task: runs know no more of tasks than that. `None`: the run is not in memory, so it has
/// ended or never was.
pub fn explain_run(state: &State, run: RunId, told: &dyn Fn(TaskId) -> Option<Explanation>, now: Time) -> Option<RunExplanation> {
    let live = state.runs.get(run)?;
    let status = live.run.status;
    let (mut waits, mut more, mut actions) = (Vec::new(), 0, Vec::new());
    if status == RunStatus::Running {
        for (path, node, at) in live.started() {
            if matches!(at, Started::Turning { .. } | Started::Spreading { .. }) {
                continue;
            }
            if waits.len() == WAITS_TOLD_MAX {
                more += 1;
                continue;
            }
            let spot = NodeAt { run, frame: path.clone(), node: live.ir.node(node).id.clone() };
            let since = match live.slot(path, node).map(|slot| &slot.state) {
                Some(NodeState::Started { since, .. }) => Some(*since),
                _ => None,
            };
            waits.push(wait(spot, at, since, told, now, &mut actions));
        }
        more += held(state, live, &mut waits);
    }
    if let Some((how, resume)) = paused(state, run) {
        let sentence = format!("{how}: nothing new begins in it.");
        let resume = format!("signaller run resume {resume}");
        actions.retain(|action| *action != resume);
        actions.insert(0, resume);
        return Some(RunExplanation { run, status, sentence, waits, more, next_actions: actions });
    }
    let sentence = match (status, waits.first(), waits.len() + more) {
        (RunStatus::Running, None, _) => format!("{run} goes on in a moment."),
        (RunStatus::Running, Some(first), 1) => format!("{run} waits for {}: {}.", first.at.place(), first.sentence),
        (RunStatus::Running, Some(first), many) => {
            format!("{run} waits for {many} nodes; {}: {}.", first.at.place(), first.sentence)
        }
        (ended, ..) => {
            let stopping = if live.run.live { ", and what was under way in it is being stopped" } else { "" };
            format!("{run} is {}{stopping}.", ended.as_str())
        }
    };
    actions.dedup();
    Some(RunExplanation { run, status, sentence, waits, more, next_actions: actions })
}

/// How a run is paused, and which run is to be resumed for it: it, or the nearest above it that is paused in its own right.
pub(super) fn paused(state: &State, run: RunId) -> Option<(String, RunId)> {
    let found = &state.runs.get(run)?.run;
    if let Some(pause) = found.pause() {
        let why = if pause.reason.is_empty() { String::new() } else { format!(" because {}", pause.reason) };
        return Some((format!("{run} is paused by {}{why}", pause.by), run));
    }
    let caller = found.spec.parent.as_ref().filter(|_| found.is_held())?.run;
    let above = |run: &RunId| {
        let run = &state.runs.get(*run)?.run;
        run.spec.parent.as_ref().filter(|_| run.pause.is_none()).map(|parent| parent.run)
    };
    let resume = std::iter::successors(Some(caller), above).last().unwrap_or(caller);
    Some((format!("{run} is paused with {caller}, which called it"), resume))
}

fn wait(
    at: NodeAt,
    started: &Started,
    since: Option<Time>,
    told: &dyn Fn(TaskId) -> Option<Explanation>,
    now: Time,
    actions: &mut Vec<String>,
) -> Wait {
    let (mut task, mut run, mut eta) = (None, None, None);
    let (code, sentence) = match started {
        Started::Working { task: id } => match told(*id) {
            Some(told) => {
                eta = told.eta;
                actions.extend(told.next_actions.iter().cloned());
                let sentence = told.sentence.trim_end_matches('.').to_owned();
                task = Some(Box::new(told));
                ("task", sentence)
            }
            None => ("task", format!("{id} is on its way to its queue")),
        },
        Started::Calling { run: called, .. } => {
            run = Some(*called);
            actions.push(format!("signaller run explain {called}"));
            ("run", format!("{called}, which it called, has not ended"))
        }
        Started::Asking { until } => {
            // Then it is over, one way or the other.
            eta = *until;
            let node = at.show();
            actions.push(format!("signaller approval answer {node} --yes --by NAME"));
            let limit = until.map_or(String::new(), |until| format!(", for another {}", span(until.ms_since(now))));
            ("approval", format!("it waits for an answer{limit}"))
        }
        Started::Sleeping { until } => {
            eta = Some(*until);
            ("sleep", format!("it sleeps for another {}", span(until.ms_since(now))))
        }
        Started::Turning { .. } | Started::Spreading { .. } => ("frames", "it waits for what goes on in it".into()),
    };
    Wait { at, code, sentence, since, eta, task, run }
}

/// What is held until a value is fetched.
fn held(state: &State, live: &Live, waits: &mut Vec<Wait>) -> usize {
    let mut more = 0;
    for held in state.runs.held.nodes_of(live.run.id) {
        let Held::Node(spot) = held else { continue };
        if waits.len() >= WAITS_TOLD_MAX {
            more += 1;
            continue;
        }
        let at = NodeAt { run: spot.run, frame: spot.frame.clone(), node: live.ir.node(spot.node).id.clone() };
        let sentence = "a value it needs is being fetched".to_owned();
        waits.push(Wait { at, code: "loading", sentence, since: None, eta: None, task: None, run: None });
    }
    more
}

impl NodeAt {
    /// `pay`, `rounds[1]/pay`
    fn place(&self) -> String {
        let dash = if self.frame.is_root() { "" } else { "/" };
        format!("{}{dash}{}", self.frame, self.node)
    }
}
