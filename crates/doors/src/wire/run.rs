//! Runs: how they are asked for and shown.

use super::object::objects;
use super::task::{at_most, once_each, payload};
use super::{Cursor, Instant, NodeView, Priority, Problem, RunStatus, TaskError, place};
use kernel::command::NewRun;
use kernel::ids::{EventId, RunId};
use kernel::limits::*;
use kernel::names::*;
use kernel::run::{NodeAt, Origin, Run, RunPause, RunSpec};
use kernel::time::Time;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

objects!(RunStart, RunChange, RunRetry);

/// Nodes that `show` has when nothing is said about them.
pub const RUN_NODES_DEFAULT: u32 = 100;

/// A run to start. Everything but `workflow` may be left out.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct RunStart {
    #[schema(value_type = String)]
    pub workflow: WorkflowName,
    /// The newest when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// As the workflow's `input` says; null when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub input: Option<Box<RawValue>>,
    /// Starting again with the same key answers the run it made the first time. Keys are of one workflow: another may use the
    /// same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub idempotency_key: Option<IdempotencyKey>,
    /// Of its tasks, where the workflow does not say otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub tags: Vec<Tag>,
    /// It fails if it is not over by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Instant>,
    /// Instead of `deadline`: so long after its start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
}

impl RunStart {
    pub fn new(workflow: WorkflowName) -> RunStart {
        RunStart {
            workflow,
            version: None,
            input: None,
            idempotency_key: None,
            priority: None,
            tags: Vec::new(),
            deadline: None,
            deadline_ms: None,
            by: None,
        }
    }

    /// All of it that can be checked without the workflow. `version` is left for whoever looks the workflow up.
    pub fn into_new_run(self, now: Time) -> Result<NewRun, Problem> {
        let spec = RunSpec {
            priority: self.priority.map(|priority| priority.0),
            tags: run_tags(self.tags)?,
            idempotency_key: self.idempotency_key,
            deadline: run_deadline(self.deadline, self.deadline_ms, now)?,
            ..RunSpec::new(self.workflow.clone(), self.version.unwrap_or(0))
        };
        Ok(NewRun { workflow: self.workflow, version: self.version, spec, input: payload("input", self.input)? })
    }
}

pub fn run_tags(tags: Vec<Tag>) -> Result<Vec<Tag>, Problem> {
    at_most("tags", tags.len(), TASK_TAGS_MAX)?;
    Ok(once_each(tags))
}

/// One of the two, or none.
pub fn run_deadline(deadline: Option<Instant>, deadline_ms: Option<u64>, now: Time) -> Result<Option<Time>, Problem> {
    if deadline.is_some() && deadline_ms.is_some() {
        return Err(Problem::invalid("deadline and deadline_ms exclude each other"));
    }
    if deadline_ms.is_some_and(|ms| ms == 0 || ms > BUDGET_MS_MAX) {
        return Err(Problem::invalid(format!("deadline_ms must lie between 1 and {BUDGET_MS_MAX}")));
    }
    Ok(deadline.map(|at| at.0).or(deadline_ms.map(|ms| now.plus_ms(ms))))
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunStarted {
    #[schema(value_type = String)]
    pub run: RunId,
    /// The idempotency key was used before: this is the run it made then.
    pub duplicate: bool,
    /// And that was for another input, which was used; nothing of this request was.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub input_differs: bool,
}

/// Which runs to list: every given condition holds.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct RunQuery {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub workflow: Option<WorkflowName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub status: Option<RunStatus>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub tag: Option<Tag>,
    /// Called by a node of this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub parent: Option<RunId>,
    /// Only those that a run has called, or only those that none has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub called: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub idempotency_key: Option<IdempotencyKey>,
    /// 50 when left out, at most 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunList {
    pub runs: Vec<RunView>,
    /// The cursor of the next page; null on the last.
    pub next: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct RunShowQuery {
    /// How many of its nodes to show: 100 when left out, at most 1000. What runs, waits or failed comes before the rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// Also what restarts have undone.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub all_generations: bool,
    /// While it goes on, so long is waited for its end; at most 60,000. It may still go on when the answer comes: look at `status`.
    #[serde(skip_serializing_if = "super::is_zero")]
    pub wait_ms: u64,
}

/// A run as it stands. In lists `input`, `output`, `counts` and `nodes` are left out.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunView {
    #[schema(value_type = String)]
    pub run: RunId,
    #[schema(value_type = String)]
    pub workflow: WorkflowName,
    pub version: u32,
    /// How often its definition was changed.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub revision: u32,
    /// How often it was restarted from a node.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub generation: u32,
    /// The run that it was forked from, and the record there after which it goes on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<RunOrigin>,
    /// The event it was started for, the newest if several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub event: Option<EventId>,
    pub status: RunStatus,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<RunPauseView>,
    /// It is paused with the run that called it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub held: bool,
    /// It has ended, and what was under way in it is still being stopped.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stopping: bool,
    /// What belongs to it is being deleted.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub deleting: bool,
    pub started_at: Instant,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Instant>,
    /// From its first start to its end, with all that lay between: a retry or a restart later does not count from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Instant>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i32>)]
    pub priority: Option<Priority>,
    #[serde(default)]
    #[schema(value_type = Vec<String>)]
    pub tags: Vec<Tag>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub idempotency_key: Option<IdempotencyKey>,
    /// The node that called it, such as `run-7/pay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<String>,
    /// In a list of what one run has called: a restart has undone that call.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub undone: bool,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TaskError>,
    /// The node that failed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed_at: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cancelled: Option<RunCancelledView>,
    /// It has ended short, and what stopped can be tried again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retryable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub input: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub output: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counts: Option<NodeCounts>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<NodeView>,
}

impl From<&Run> for RunView {
    /// Without what is read apart: input, output, nodes, and who cancelled it.
    fn from(run: &Run) -> RunView {
        let spec = run.spec();
        let (started_at, ended_at) = (Instant(run.started_at()), run.ended_at().map(Instant));
        RunView {
            run: run.id(),
            workflow: spec.workflow.clone(),
            version: spec.version,
            revision: run.revision(),
            generation: run.generation(),
            origin: spec.origin.as_deref().map(RunOrigin::from),
            event: spec.event,
            status: run.status().into(),
            pause: run.pause().map(RunPauseView::from),
            held: run.is_held(),
            stopping: ended_at.is_some() && run.is_live() && !run.is_deleting(),
            deleting: run.is_deleting(),
            started_at,
            ended_at,
            duration_ms: ended_at.map(|at| started_at.ms_until(at).max(0).unsigned_abs()),
            deadline: spec.deadline.map(Instant),
            priority: spec.priority.map(Priority),
            tags: spec.tags.clone(),
            idempotency_key: spec.idempotency_key.clone(),
            parent: spec.parent.as_ref().map(NodeAt::show),
            undone: false,
            error: run.failure().map(TaskError::from),
            failed_at: None,
            cancelled: None,
            retryable: false,
            input: None,
            output: None,
            counts: None,
            nodes: Vec::new(),
        }
    }
}

fn is_none(count: &u64) -> bool {
    *count == 0
}

/// Where a run was forked from another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunOrigin {
    #[schema(value_type = String)]
    pub run: RunId,
    pub record: Cursor,
    /// It goes on from before this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
}

impl From<&Origin> for RunOrigin {
    fn from(origin: &Origin) -> RunOrigin {
        let node = origin.node.as_ref().map(|at| place(&at.frame, &at.node));
        RunOrigin { run: origin.run, record: Cursor(origin.record), node }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunPauseView {
    pub since: Instant,
    pub reason: String,
    #[schema(value_type = String)]
    pub by: Actor,
}

impl From<&RunPause> for RunPauseView {
    fn from(pause: &RunPause) -> RunPauseView {
        RunPauseView { since: pause.since.into(), reason: pause.reason.clone(), by: pause.by.clone() }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunCancelledView {
    #[schema(value_type = String)]
    pub by: Actor,
    pub reason: String,
}

/// Its nodes by status, those of loops and eaches included.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct NodeCounts {
    pub waiting: u64,
    pub queued: u64,
    pub running: u64,
    pub asking: u64,
    pub sleeping: u64,
    pub awaiting: u64,
    pub done: u64,
    pub failed: u64,
    pub skipped: u64,
    pub cancelled: u64,
    /// Nodes that restarts have undone, where those were asked for. They are not among the others.
    #[serde(skip_serializing_if = "is_none")]
    pub undone: u64,
    /// There are more than were counted.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub more: bool,
}

impl NodeCounts {
    pub fn all(&self) -> u64 {
        let ended = self.done + self.failed + self.skipped + self.cancelled;
        ended + self.waiting + self.queued + self.running + self.asking + self.sleeping + self.awaiting
    }
}

/// Why it is cancelled or paused.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct RunChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct RunRetry {
    /// Only this one, such as `rounds[1]/pay`; without it, all that failed the run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Of a node that a worker does: another input for it, in the definition that the run follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub with: Option<Box<RawValue>>,
    /// Changes of its definition that come with it, as in a patch: also of what is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<serde_json::Value>>)]
    pub operations: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_revision: Option<u32>,
    /// Why, for the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RunDelete {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub by: Option<Actor>,
}

/// Where the run stands after the command.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunNow {
    #[schema(value_type = String)]
    pub run: RunId,
    pub status: RunStatus,
    /// Whether the command made a difference: one that is paused already, or was not, stays as it is.
    pub changed: bool,
    /// It is paused: nothing new begins in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// Of one in which a node was skipped: how it stood before, if it had ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub was: Option<RunStatus>,
    /// Of one that was cancelled: the node that called it, which fails by that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<String>,
    /// Of one whose definition was changed: its revision with that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// Of one that was restarted: how often it was, with that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub generation: Option<u32>,
}

impl RunNow {
    pub fn new(run: RunId, status: RunStatus, changed: bool) -> RunNow {
        RunNow { run, status, changed, paused: false, was: None, caller: None, revision: None, generation: None }
    }
}
