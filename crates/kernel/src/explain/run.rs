//! What a run waits for: every node that was started and has not ended, each with its cause; those that wait for the same are
//! one, and counted. Runs that it called are followed. The same state, facts and time give the same words.

use super::{Explanation, one_line};
use crate::ids::{RunId, TaskId};
use crate::ir::{Ir, NodeIx, NodeKind};
use crate::limits::SUB_RUNS_DEPTH_MAX;
use crate::node::{NodeState, Started};
use crate::run::{NodeAt, RunStatus};
use crate::runs::{Held, Live};
use crate::state::State;
use crate::task::Status;
use crate::time::{Time, span};
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Waits that are told one by one; the rest is counted.
const WAITS_TOLD_MAX: usize = 50;
/// Runs that are looked into for one answer.
const RUNS_TOLD_MAX: usize = 20;
const ACTIONS_MAX: usize = 10;

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
    /// What that one waits for.
    pub called: Option<Box<RunExplanation>>,
    /// Who may answer; empty also where anyone may.
    pub who: Vec<Arc<str>>,
    /// Others that wait for the same: of the same node in other turns or items, and tasks of other nodes that stand in their
    /// queue alike.
    pub alike: usize,
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

/// What queues say of the tasks of a run: runs know no more of tasks than that.
pub struct Queues<'a> {
    pub told: &'a dyn Fn(TaskId) -> Option<Explanation>,
    /// The same for those that stand in their queues alike. A number: there may be many, and the writer waits.
    pub likeness: &'a dyn Fn(TaskId) -> u64,
}

/// `None`: the run is not in memory, so it has ended or never was.
pub fn explain_run(state: &State, run: RunId, queues: &Queues<'_>, now: Time) -> Option<RunExplanation> {
    let mut teller = Teller { state, queues, now, runs_left: RUNS_TOLD_MAX };
    teller.run(run, 0)
}

struct Teller<'a> {
    state: &'a State,
    queues: &'a Queues<'a>,
    now: Time,
    runs_left: usize,
}

impl Teller<'_> {
    fn run(&mut self, run: RunId, depth: u16) -> Option<RunExplanation> {
        self.runs_left = self.runs_left.checked_sub(1)?;
        let state = self.state;
        let live = state.runs.get(run)?;
        let status = live.run.status;
        let (mut waits, mut more, mut actions) = (Vec::new(), 0, Vec::new());
        if status == RunStatus::Running {
            more = self.waits(live, depth, &mut waits, &mut actions) + held(state, live, &mut waits);
        }
        let sentence = match paused(state, run).filter(|_| status == RunStatus::Running) {
            Some((how, resume)) => {
                actions.insert(0, format!("signaller run resume {resume}"));
                format!("{how}: nothing new begins in it.")
            }
            None => sentence(live, &waits, more),
        };
        let mut told = std::collections::BTreeSet::new();
        actions.retain(|action| told.insert(action.clone()));
        actions.truncate(ACTIONS_MAX);
        Some(RunExplanation { run, status, sentence, waits, more, next_actions: actions })
    }

    /// How many were not told, those that are alike not counted.
    fn waits(&mut self, live: &Live, depth: u16, waits: &mut Vec<Wait>, actions: &mut Vec<String>) -> usize {
        let mut more = 0;
        let mut known: FxHashMap<(Option<NodeIx>, u64), usize> = FxHashMap::default();
        for (path, node, at) in live.started() {
            if matches!(at, Started::Turning { .. } | Started::Spreading { .. }) {
                continue;
            }
            // Whose task it is does not matter to its queue.
            let whose = Some(node).filter(|_| !matches!(at, Started::Working { .. }));
            let likeness = (whose, self.likeness(at));
            if let Some(told) = known.get(&likeness) {
                waits[*told].alike += 1;
                continue;
            }
            if waits.len() == WAITS_TOLD_MAX {
                more += 1;
                continue;
            }
            known.insert(likeness, waits.len());
            let spot = live.at(path, node);
            let since = match live.slot(path, node).map(|slot| &slot.state) {
                Some(NodeState::Started { since, .. }) => Some(*since),
                _ => None,
            };
            let text = live.frame(path).map(|frame| (&*frame.ir, node));
            waits.push(self.wait(spot, (at, since), text, depth, actions));
        }
        more
    }

    /// What is the same of two of one node that wait for the same.
    fn likeness(&self, at: &Started) -> u64 {
        let mut hasher = FxHasher::default();
        at.as_str().hash(&mut hasher);
        match at {
            Started::Working { task } => (self.queues.likeness)(*task).hash(&mut hasher),
            Started::Calling { run, .. } => {
                let called = self.state.runs.get(*run);
                called.map(|called| (called.run.status, called.run.is_paused())).hash(&mut hasher);
            }
            _ => {}
        }
        hasher.finish()
    }

    fn wait(
        &mut self,
        at: NodeAt,
        (started, since): (&Started, Option<Time>),
        text: Option<(&Ir, NodeIx)>,
        depth: u16,
        actions: &mut Vec<String>,
    ) -> Wait {
        let who = match text.map(|(ir, node)| &ir.node(node).kind) {
            Some(NodeKind::Approval { who, .. }) => who.clone(),
            _ => Vec::new(),
        };
        let (mut task, mut run, mut called, mut eta) = (None, None, None, None);
        let (code, sentence) = match started {
            Started::Working { task: id } => match (self.queues.told)(*id) {
                Some(told) => {
                    eta = told.eta;
                    actions.extend(told.next_actions.iter().cloned());
                    // Nothing else tells the causes beyond the first.
                    let causes: Vec<&str> = told.blocked_on.iter().map(|cause| &*cause.sentence).collect();
                    let sentence = match (told.status, causes.len()) {
                        (Status::Queued, 2..) => format!("{id} waits: {}", causes.join("; and ")),
                        _ => told.sentence.trim_end_matches('.').to_owned(),
                    };
                    task = Some(Box::new(told));
                    ("task", sentence)
                }
                None => ("task", format!("{id} is on its way to its queue")),
            },
            Started::Calling { run: id, .. } => {
                run = Some(*id);
                let told = if depth < SUB_RUNS_DEPTH_MAX { self.run(*id, depth + 1) } else { None };
                let sentence = match &told {
                    Some(told) => {
                        actions.extend(told.next_actions.iter().cloned());
                        let rest = told.sentence.strip_prefix(&format!("{id} ")).unwrap_or(&told.sentence);
                        format!("it called {id}, which {}", rest.trim_end_matches('.'))
                    }
                    None => format!("{id}, which it called, has not ended"),
                };
                actions.push(format!("signaller run explain {id}"));
                called = told.map(Box::new);
                ("run", sentence)
            }
            Started::Asking { until } => {
                // Then it is over, one way or the other.
                eta = *until;
                let (node, by) = (at.show(), who.first().map_or("NAME", |name| name));
                for answer in ["--yes", "--no"] {
                    actions.push(format!("signaller approval answer {node} {answer} --by {by}"));
                }
                let limit = until.map_or(String::new(), |until| format!(", for another {}", span(until.ms_since(self.now))));
                let asked = if who.is_empty() { "anyone".to_owned() } else { who.join(" or ") };
                ("approval", format!("it waits for an answer of {asked}{limit}"))
            }
            Started::Sleeping { until } => {
                eta = Some(*until);
                ("sleep", format!("it sleeps for another {}", span(until.ms_since(self.now))))
            }
            Started::Awaiting(awaiting) => {
                eta = awaiting.until;
                let name = &awaiting.event;
                actions.push(format!("signaller event list --name {name}"));
                actions.push(format!("signaller emit {name} -d '{{…}}'"));
                let limit =
                    awaiting.until.map_or(String::new(), |until| format!(", for another {}", span(until.ms_since(self.now))));
                let asked = awaiting.key.as_ref().map_or(String::new(), |(of, value)| format!(" whose `{of}` is {value}"));
                let rest = text.and_then(|(ir, node)| ir.match_beyond_key(node));
                let rest = rest.map_or(String::new(), |rest| {
                    let (and, source) = (if asked.is_empty() { "" } else { ", and" }, one_line(rest));
                    format!("{and} for which `{source}` holds")
                });
                let looks = if awaiting.looking { "; those that came before are being looked at" } else { "" };
                ("event", format!("it waits for an event `{name}`{asked}{rest}{limit}{looks}"))
            }
            Started::Turning { .. } | Started::Spreading { .. } => ("frames", "it waits for what goes on in it".into()),
        };
        Wait { at, code, sentence, since, eta, task, run, called, who, alike: 0 }
    }
}

fn sentence(live: &Live, waits: &[Wait], more: usize) -> String {
    let run = live.run.id;
    let all = waits.iter().map(|wait| 1 + wait.alike).sum::<usize>() + more;
    match (live.run.status, waits.first(), all) {
        (RunStatus::Running, None, _) => format!("{run} goes on in a moment."),
        (RunStatus::Running, Some(first), 1) => format!("{run} waits for {}: {}.", first.at.place(), first.sentence),
        (RunStatus::Running, Some(first), many) if waits.len() == 1 => {
            format!("{run} waits for {many} alike; {}: {}.", first.at.place(), first.sentence)
        }
        (RunStatus::Running, Some(first), many) => {
            format!("{run} waits for {many} nodes; {}: {}.", first.at.place(), first.sentence)
        }
        (ended, ..) => {
            let stopping = if live.run.live { ", and what was under way in it is being stopped" } else { "" };
            format!("{run} is {}{stopping}.", ended.as_str())
        }
    }
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

/// What is held until a value is fetched.
fn held(state: &State, live: &Live, waits: &mut Vec<Wait>) -> usize {
    let mut more = 0;
    for held in state.runs.held.nodes_of(live.run.id) {
        let Held::Node(spot) = held else { continue };
        if waits.len() >= WAITS_TOLD_MAX {
            more += 1;
            continue;
        }
        let at = live.at(&spot.frame, spot.node);
        let sentence = "it goes on in a moment, when a value it needs is there or its turn has come".to_owned();
        let (code, since, eta, task, run) = ("loading", None, None, None, None);
        waits.push(Wait { at, code, sentence, since, eta, task, run, called: None, who: Vec::new(), alike: 0 });
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
