//! Nodes of runs, what happened to them and what they wait for.

use super::{AnswerView, AwaitKey, Cursor, Explanation, Instant, RecordView, RunStatus, TaskError};
use flow::graph::pen::Status;
use kernel::explain::{RunExplanation as Explained, Wait};
use kernel::frame::FramePath;
use kernel::ids::{EventId, RunId, TaskId};
use kernel::ir::{Ir, On};
use kernel::names::*;
use kernel::node::{NodeState, Started, Went};
use kernel::row::NodeRow;
use kernel::run::NodeAt;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::fmt;
use utoipa::{IntoParams, ToSchema};

/// `pay`, `rounds[1]/pay`: a node as it is called within its run.
pub fn place(frame: &FramePath, node: &NodeId) -> String {
    let slash = if frame.is_root() { "" } else { "/" };
    format!("{frame}{slash}{node}")
}

/// The other way around.
pub fn placed(run: RunId, text: &str) -> Option<NodeAt> {
    NodeAt::parse(&format!("{run}/{text}"))
}

/// How a place would be written that is written nearly so: `rounds[1]/check[2]/lint` is `rounds[1].check[2]/lint`, and what stands
/// in a loop or an each is of one of its turns or items.
pub fn place_meant(text: &str) -> Option<String> {
    let (frames, node) = text.rsplit_once('/')?;
    let indexed = |part: &str| if part.ends_with(']') { part.to_owned() } else { format!("{part}[0]") };
    let frames: Vec<String> = frames.split(['/', '.']).map(indexed).collect();
    let meant = format!("{}/{node}", frames.join("."));
    (meant != text && placed(RunId::new(1, 0), &meant).is_some()).then_some(meant)
}

/// Where a node stands.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeStatus {
    Waiting,
    /// No worker has taken its task yet.
    Queued,
    Running,
    /// Somebody has to answer.
    Asking,
    Sleeping,
    /// An event has to come.
    Awaiting,
    Done,
    Failed,
    Skipped,
    Cancelled,
}

impl NodeStatus {
    pub fn of(state: &NodeState) -> NodeStatus {
        match state {
            NodeState::Waiting => NodeStatus::Waiting,
            NodeState::Started { at: Started::Asking { .. }, .. } => NodeStatus::Asking,
            NodeState::Started { at: Started::Sleeping { .. }, .. } => NodeStatus::Sleeping,
            NodeState::Started { at: Started::Awaiting(_), .. } => NodeStatus::Awaiting,
            NodeState::Started { .. } => NodeStatus::Running,
            NodeState::Done { .. } => NodeStatus::Done,
            NodeState::Failed { .. } => NodeStatus::Failed,
            NodeState::Skipped(_) => NodeStatus::Skipped,
            NodeState::Cancelled => NodeStatus::Cancelled,
        }
    }

    /// As a row says it: there, all that were started are one.
    pub fn in_row(self) -> &'static str {
        match self {
            other if other.is_under_way() => "started",
            other => other.as_str(),
        }
    }

    pub fn as_str(self) -> &'static str {
        Status::from(self).as_str()
    }

    pub fn is_under_way(self) -> bool {
        use NodeStatus::{Asking, Awaiting, Queued, Running, Sleeping};
        matches!(self, Queued | Running | Asking | Sleeping | Awaiting)
    }
}

/// As it is drawn: the names of the states stand there.
impl From<NodeStatus> for Status {
    fn from(status: NodeStatus) -> Status {
        match status {
            NodeStatus::Waiting => Status::Waiting,
            NodeStatus::Queued => Status::Queued,
            NodeStatus::Running => Status::Running,
            NodeStatus::Asking => Status::Asking,
            NodeStatus::Sleeping => Status::Sleeping,
            NodeStatus::Awaiting => Status::Awaiting,
            NodeStatus::Done => Status::Done,
            NodeStatus::Failed => Status::Failed,
            NodeStatus::Skipped => Status::Skipped,
            NodeStatus::Cancelled => Status::Cancelled,
        }
    }
}

impl From<RunStatus> for Status {
    fn from(status: RunStatus) -> Status {
        match status {
            RunStatus::Running => Status::Running,
            RunStatus::Done => Status::Done,
            RunStatus::Failed => Status::Failed,
            RunStatus::Cancelled => Status::Cancelled,
        }
    }
}

impl fmt::Display for NodeStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who said what a node gives, instead of its worker.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct NodeSetBy {
    #[schema(value_type = String)]
    pub by: Actor,
    pub reason: String,
}

/// One node of one frame of a run.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct NodeView {
    /// `pay`, or `rounds[1].check[4]/lint` in a loop or an each.
    pub node: String,
    /// What its definition calls it.
    #[schema(value_type = String)]
    pub id: NodeId,
    /// The turn or item it stands in; left out for the run's own frame.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub frame: String,
    #[serde(rename = "type", default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    pub status: NodeStatus,
    /// A restart has undone the turn or item that it stands in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
    /// A patch has taken it out: the first revision of the run's definition without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub removed: Option<u32>,
    /// When it was started; of a loop or an each in which something was tried again or restarted, the first time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Instant>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Instant>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub task: Option<TaskId>,
    /// The worker that is at its task; of one that was cancelled, the worker that has still to stop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub worker: Option<WorkerName>,
    /// How far that is, from 0 to 1, and at what, by its own word; of a node that is shown alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Of one that waits: the nodes before it that have not ended.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub waits_for: Vec<NodeId>,
    /// The run it called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub sub_run: Option<RunId>,
    /// The name of the event that it waits for, or waited for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub awaits: Option<EventName>,
    /// What of that event has to be what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub await_key: Option<AwaitKey>,
    /// What else has to hold for that event, as its `match` is written; left out where `await_key` is all of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub await_match: Option<String>,
    /// The event by which it is done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub heard: Option<EventId>,
    /// How long it sleeps, or waits for an answer or an event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Instant>,
    /// Of an each: over how many it goes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub items: Option<u32>,
    /// Of a loop or an each: its turns or items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frames: Option<FrameCounts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TaskError>,
    /// How the last attempt of its task ended, while there is to be another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<TaskError>,
    /// Not before this instant is its task tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_at: Option<Instant>,
    /// What its failure means: `fail`, `to` or `ignore`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub then: Option<String>,
    /// Why it was skipped: `untaken`, or `failed` when something before it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// What made it so: a condition that did not hold, the way that another node went, a failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The way it took, where there was a choice: `rules[0]`, `default`, `named`, `rejected`, `timed_out`, `max`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub way: Option<String>,
    /// Where that way leads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub to: Vec<NodeId>,
    /// Of one that somebody skipped: whose word its output is, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set: Option<NodeSetBy>,
    /// Of an approval that was answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub answer: Option<AnswerView>,
    /// How often its task was tried; of one node alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<u16>,
    /// What it was given, of one node alone: its task's input, the called run's, what it asks, what it turns or goes over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub input: Option<Box<RawValue>>,
    /// Only where it was asked for; one that passes on what it was given has none of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub output: Option<Box<RawValue>>,
}

impl NodeView {
    /// One that has not been reached.
    pub fn waiting(frame: &FramePath, id: &NodeId, kind: String) -> NodeView {
        NodeView {
            node: place(frame, id),
            id: id.clone(),
            frame: frame.to_string(),
            kind: Some(kind),
            status: NodeStatus::Waiting,
            undone: false,
            removed: None,
            since: None,
            ended_at: None,
            duration_ms: None,
            task: None,
            worker: None,
            progress: None,
            message: None,
            waits_for: Vec::new(),
            sub_run: None,
            awaits: None,
            await_key: None,
            await_match: None,
            heard: None,
            until: None,
            items: None,
            frames: None,
            error: None,
            last_error: None,
            again_at: None,
            then: None,
            cause: None,
            why: None,
            way: None,
            to: Vec::new(),
            answer: None,
            set: None,
            attempts: None,
            input: None,
            output: None,
        }
    }

    /// Without its output, which is read apart.
    pub fn new(row: &NodeRow, ir: Option<&Ir>) -> NodeView {
        let NodeAt { frame, node, .. } = &row.at;
        let found = ir.and_then(|ir| ir.find(node).map(|ix| (ir, ix)));
        let kind = found.map(|(ir, ix)| super::type_of(&ir.node(ix).kind));
        let slot = &row.slot;
        let work = slot.work();
        let (since, ended_at) = (work.map(|(since, _)| Instant(since)), slot.ended_at().map(Instant));
        let mut view = NodeView {
            status: NodeStatus::of(slot.state()),
            since,
            ended_at,
            duration_ms: since.zip(ended_at).map(|(since, ended)| since.ms_until(ended).max(0).unsigned_abs()),
            ..NodeView::waiting(frame, node, String::new())
        };
        view.kind = kind;
        match work.map(|(_, at)| at) {
            Some(Started::Working { task }) => view.task = Some(*task),
            Some(Started::Calling { run, .. }) => view.sub_run = Some(*run),
            Some(Started::Asking { until }) => view.until = until.map(Instant),
            Some(Started::Sleeping { until }) => view.until = Some(Instant(*until)),
            Some(Started::Awaiting(awaiting)) => {
                view.until = awaiting.until.map(Instant);
                view.awaits = Some(awaiting.event.clone());
                view.await_key = awaiting.key.as_ref().map(AwaitKey::from);
                view.await_match = found.and_then(|(ir, ix)| ir.match_beyond_key(ix)).map(str::to_owned);
            }
            Some(Started::Spreading { count, .. }) => view.items = Some(*count),
            Some(Started::Turning { .. }) | None => {}
        }
        match slot.state() {
            NodeState::Failed { failure, then } => {
                view.error = Some(TaskError::from(&**failure));
                view.then = Some(then.as_str().to_owned());
            }
            NodeState::Skipped(cause) => view.cause = Some(cause.as_str().to_owned()),
            NodeState::Done { went, .. } => {
                view.heard = slot.state().heard();
                view.way = way(went);
                if let Some((ir, ix)) = found.filter(|_| view.way.is_some()) {
                    let edges = ir.node(ix).outs.iter().map(|edge| ir.edge(*edge));
                    let taken = edges.filter(|edge| takes(went, edge.on, &ir.node(edge.to).id));
                    view.to = taken.map(|edge| ir.node(edge.to).id.clone()).collect();
                }
            }
            NodeState::Waiting | NodeState::Started { .. } | NodeState::Cancelled => {}
        }
        view
    }
}

/// The way a node took, where it is not the plain one.
pub fn way(went: &Went) -> Option<String> {
    Some(match went {
        Went::Done | Went::Heard(_) => return None,
        Went::Rule(rule) => format!("rules[{rule}]"),
        Went::Default => "default".to_owned(),
        Went::Named(_) => "named".to_owned(),
        Went::Reject => "rejected".to_owned(),
        Went::Timeout => "timed_out".to_owned(),
        Went::Max => "max".to_owned(),
    })
}

fn takes(went: &Went, on: On, to: &NodeId) -> bool {
    match (went, on) {
        (Went::Rule(rule), On::Rule(of)) => *rule == of,
        (Went::Named(name), On::Named) => name == to,
        (Went::Default, On::Default) | (Went::Reject, On::Reject) | (Went::Timeout, On::Timeout) | (Went::Max, On::Max) => true,
        _ => false,
    }
}

/// Turns of a loop, or items of an each, that were begun.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct FrameCounts {
    pub open: u64,
    pub done: u64,
    pub failed: u64,
    pub dropped: u64,
    /// Turns or items that restarts have undone. They are not among the others.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub undone: u64,
}

/// Which nodes of a run to list, and whether with what they gave.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct NodeQuery {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub status: Option<NodeStatus>,
    /// Of this turn or item alone, such as `rounds[1]`; empty for the run's own frame. After a restart that is the newest of its
    /// place: `rounds[1@2]`, opened in generation 2. Which was first is said with `all_generations`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frame: Option<String>,
    /// With what they gave.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub output: bool,
    /// Also what restarts have undone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all_generations: bool,
    /// 50 when left out, at most 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Nodes that something has happened to. A page may hold fewer than asked for although there is a next one.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct NodeList {
    pub nodes: Vec<NodeView>,
    /// The cursor of the next page; null on the last.
    pub next: Option<String>,
}

/// Which node of a run to show.
#[derive(Clone, Debug, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NodeShowQuery {
    /// Such as `pay` or `rounds[1]/pay`; after a restart that of the newest generation.
    pub node: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct RunHistoryQuery {
    /// 50 when left out, at most 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// Every record of a run, its turns and items, its nodes and their tasks, oldest first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunHistory {
    pub records: Vec<RecordView>,
    /// The cursor of the next page; null on the last.
    pub next: Option<Cursor>,
}

/// What a run waits for, or how it ended.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunExplanation {
    #[schema(value_type = String)]
    pub run: RunId,
    pub status: RunStatus,
    /// The whole answer in one sentence.
    pub sentence: String,
    pub waits: Vec<WaitView>,
    /// Waits beyond those.
    #[serde(default)]
    pub more: u64,
    pub next_actions: Vec<String>,
}

/// A node that something is awaited of.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WaitView {
    /// Such as `rounds[1]/pay`.
    pub node: String,
    /// Stable: `task`, `approval`, `sleep`, `event`, `run`, `loading`.
    pub code: String,
    pub sentence: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Instant>,
    /// When it ends by itself, where that is known exactly.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eta: Option<Instant>,
    /// Why its task does not run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<Box<Explanation>>,
    /// The run it called.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub sub_run: Option<RunId>,
    /// What that one waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(no_recursion)]
    pub called: Option<Box<RunExplanation>>,
    /// Who may answer; anyone when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub who: Vec<String>,
    /// What it asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub message: Option<Box<RawValue>>,
    /// Others that wait for the same: of the same node in other turns or items, and tasks of other nodes that stand in their
    /// queue alike.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub alike: u64,
}

impl From<&Wait> for WaitView {
    fn from(wait: &Wait) -> WaitView {
        WaitView {
            node: place(&wait.at.frame, &wait.at.node),
            code: wait.code.to_owned(),
            sentence: wait.sentence.clone(),
            since: wait.since.map(Instant),
            eta: wait.eta.map(Instant),
            task: wait.task.as_ref().map(|task| Box::new(Explanation::from(&**task))),
            sub_run: wait.run,
            called: wait.called.as_ref().map(|called| Box::new(RunExplanation::from(&**called))),
            who: wait.who.iter().map(ToString::to_string).collect(),
            message: None,
            alike: wait.alike as u64,
        }
    }
}

impl From<&Explained> for RunExplanation {
    fn from(explained: &Explained) -> RunExplanation {
        RunExplanation {
            run: explained.run,
            status: explained.status.into(),
            sentence: explained.sentence.clone(),
            waits: explained.waits.iter().map(WaitView::from).collect(),
            more: explained.more as u64,
            next_actions: explained.next_actions.clone(),
        }
    }
}
