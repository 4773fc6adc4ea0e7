//! `POST /v1/work`: results, heartbeats and more work in one round trip. Durations are relative, so that the workers'
//! clocks do not matter. A result that cannot be taken is answered on its own; it never fails the whole poll.

use super::object::objects;
use super::{BlobRef, Problem, TaskError, TriggerView, fence_text, place, task::payload};
use kernel::command::{Grant, Outcome};
use kernel::ids::{Fence, RunId, TaskId};
use kernel::limits::*;
use kernel::names::*;
use kernel::record::{Failure, Payload};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

objects!(WorkPoll, WorkResult, Holding);

/// A poll may wait so long for work.
pub const POLL_WAIT_MS_MAX: u64 = 60_000;
/// Lines of workers' logs that one poll may bring.
pub const POLL_LINES_MAX: usize = 10_000;

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
#[schema(example = json!({"worker": "py-1", "types": ["lint"], "want": 1, "wait_ms": 20000}))]
pub struct WorkPoll {
    /// One poll in flight per name.
    #[schema(value_type = String)]
    pub worker: WorkerName,
    #[schema(value_type = Vec<String>)]
    pub types: Vec<TypeName>,
    /// Only from these queues; from all when empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub queues: Vec<QueueName>,
    /// Tasks it can take on.
    #[serde(default)]
    pub want: usize,
    /// How long to wait for one when there is nothing to report; with `want` 0, for word that something held should stop.
    #[serde(default)]
    pub wait_ms: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub results: Vec<WorkResult>,
    /// Every lease it still works on: one that is neither here nor in `results` is taken back.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holding: Vec<Holding>,
}

impl WorkPoll {
    pub fn check(&self) -> Result<(), Problem> {
        let bounded = [
            ("types", self.types.len(), POLL_TYPES_MAX),
            ("queues", self.queues.len(), POLL_QUEUES_MAX),
            ("want", self.want, POLL_TASKS_MAX),
            ("results", self.results.len(), POLL_TASKS_MAX),
            ("holding", self.holding.len(), POLL_TASKS_MAX),
        ];
        if let Some((name, count, max)) = bounded.into_iter().find(|(_, count, max)| count > max) {
            return Err(Problem::invalid(format!("{name} is {count}; at most {max} are allowed")));
        }
        if self.types.is_empty() && self.want > 0 {
            return Err(Problem::invalid("types is empty: say which types of task this worker takes"));
        }
        self.types.iter().try_for_each(super::task::not_own)?;
        if self.worker.as_str() == "signaller" || self.worker.as_str().starts_with("signaller:") {
            return Err(Problem::invalid(format!(
                "worker `{}` is what the server calls its own: choose another name",
                self.worker
            )));
        }
        let lines = self.results.iter().map(|result| result.log.len()).chain(self.holding.iter().map(|held| held.log.len()));
        if lines.sum::<usize>() > POLL_LINES_MAX {
            return Err(Problem::invalid(format!(
                "log holds more than {POLL_LINES_MAX} lines in all: send the rest with the next poll"
            )));
        }
        let shares = self.results.iter().map(|result| result.progress).chain(self.holding.iter().map(|held| held.progress));
        if shares.flatten().any(|share| !(0.0..=1.0).contains(&share)) {
            return Err(Problem::invalid("progress must lie between 0 and 1"));
        }
        wait_bounded(self.wait_ms)
    }
}

/// How long an answer may be waited for.
pub fn wait_bounded(wait_ms: u64) -> Result<(), Problem> {
    if wait_ms > POLL_WAIT_MS_MAX {
        return Err(Problem::invalid(format!("wait_ms may be at most {POLL_WAIT_MS_MAX}")));
    }
    Ok(())
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct WorkResult {
    #[schema(value_type = String)]
    pub task: TaskId,
    #[serde(with = "fence_text")]
    #[schema(value_type = String)]
    pub fence: Fence,
    pub status: WorkStatus,
    /// Of a task that is done; any JSON, null when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub output: Option<Box<RawValue>>,
    /// The same by name: a blob that was put with `PUT /v1/blobs` and holds the output as JSON, no larger than one may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_ref: Option<BlobRef>,
    /// Of a task that failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<TaskError>,
    /// Whether another attempt could help; true when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
    /// Not before so long, whatever the backoff says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// How far it came, from 0 to 1, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    /// What it was at then, in a few words; told with `progress`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Lines that were said since the last poll, for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum WorkStatus {
    Done,
    Failed,
    /// Handed back without burning the attempt.
    Released,
}

impl WorkResult {
    /// With nothing else said.
    pub fn new(task: TaskId, fence: Fence, status: WorkStatus) -> WorkResult {
        WorkResult {
            task,
            fence,
            status,
            output: None,
            output_ref: None,
            error: None,
            retryable: None,
            retry_after_ms: None,
            progress: None,
            message: None,
            log: Vec::new(),
        }
    }

    pub fn outcome(self) -> Result<Outcome, Problem> {
        let failing = self.error.is_some() || self.retryable.is_some() || self.retry_after_ms.is_some();
        match self.status {
            WorkStatus::Done if failing => Err(Problem::invalid("a task that is done has an output and no error")),
            WorkStatus::Done if self.output.is_some() && self.output_ref.is_some() => {
                Err(Problem::invalid("an output is given as output or as output_ref, not as both"))
            }
            WorkStatus::Done => Ok(Outcome::Done {
                output: match self.output_ref {
                    // The door looks whether it may be one.
                    Some(BlobRef(id)) => Payload::blob(&id.to_string()),
                    None => payload("output", self.output)?,
                },
            }),
            WorkStatus::Failed if self.output.is_some() || self.output_ref.is_some() => {
                Err(Problem::invalid("a task that failed has an error and no output"))
            }
            WorkStatus::Failed => {
                if self.retry_after_ms.is_some_and(|ms| ms > RETRY_AFTER_MS_MAX) {
                    return Err(Problem::invalid(format!("retry_after_ms may be at most {RETRY_AFTER_MS_MAX}")));
                }
                let error = self.error.unwrap_or_else(|| TaskError { code: "failed".into(), message: String::new() });
                let failure = Failure {
                    code: clip(&error.code, ERROR_CODE_BYTES_MAX),
                    message: clip(&error.message, ERROR_MESSAGE_BYTES_MAX),
                };
                let retryable = self.retryable.unwrap_or(true);
                Ok(Outcome::Failed { failure, retryable, retry_after_ms: self.retry_after_ms })
            }
            WorkStatus::Released if failing || self.output.is_some() || self.output_ref.is_some() => {
                Err(Problem::invalid("a task that is released has neither output nor error"))
            }
            WorkStatus::Released => Ok(Outcome::Released),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Holding {
    #[schema(value_type = String)]
    pub task: TaskId,
    #[serde(with = "fence_text")]
    #[schema(value_type = String)]
    pub fence: Fence,
    /// From 0 to 1, for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    /// What it is at, in a few words; told with `progress`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Lines that were said since the last poll, for people: `GET /v1/tasks/{task}/log`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub log: Vec<String>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
pub struct WorkAnswer {
    /// One for each result, in order.
    pub results: Vec<ResultAnswer>,
    /// One for each lease held, in order.
    pub holding: Vec<HoldingAnswer>,
    pub tasks: Vec<WorkTask>,
    /// Tasks that this worker would have been given, had their input not failed to be made: they have failed, and there is nothing to do.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unmade: Vec<UnmadeTask>,
    /// The server goes away: no more work comes until it is back.
    pub stopping: bool,
}

/// A task whose input cannot be made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct UnmadeTask {
    #[schema(value_type = String)]
    pub task: TaskId,
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    pub kind: TypeName,
    pub error: TaskError,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct ResultAnswer {
    #[schema(value_type = String)]
    pub task: TaskId,
    pub ok: bool,
    /// The same result had counted before.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl ResultAnswer {
    pub fn ok(task: TaskId, duplicate: bool) -> ResultAnswer {
        ResultAnswer { task, ok: true, duplicate, code: None, message: None }
    }

    pub fn refused(task: TaskId, problem: &Problem) -> ResultAnswer {
        let (code, message) = (problem.code.to_string(), problem.message.clone());
        ResultAnswer { task, ok: false, duplicate: false, code: Some(code), message: Some(message) }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct HoldingAnswer {
    #[schema(value_type = String)]
    pub task: TaskId,
    /// False: the lease is lost, the work no longer counts.
    pub ok: bool,
    /// Stop, and say so with a result.
    #[serde(default)]
    pub cancel: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heartbeat_ms: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// One attempt at a task, leased to this worker.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WorkTask {
    #[schema(value_type = String)]
    pub task: TaskId,
    /// Proves the lease; with it a worker may also patch its own run.
    #[serde(with = "fence_text")]
    #[schema(value_type = String)]
    pub fence: Fence,
    #[serde(rename = "type")]
    #[schema(value_type = String)]
    pub kind: TypeName,
    #[schema(value_type = String)]
    pub queue: QueueName,
    /// From 1.
    pub attempt: u16,
    #[schema(value_type = serde_json::Value)]
    pub input: Box<RawValue>,
    /// Poll at least so often, with this lease in `holding`.
    pub heartbeat_ms: u32,
    /// How long this attempt may take.
    pub budget_ms: u64,
    /// The same over all attempts: that of the run's node, the caller's, or the task's id.
    pub idempotency_key: String,
    /// The run it is part of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub run: Option<RunId>,
    /// The node of that run it is the work of, such as `rounds[1].check[4]/lint`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// What it was made of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger: Option<TriggerView>,
}

impl WorkTask {
    pub fn new(grant: Grant, input: Box<RawValue>) -> WorkTask {
        let idempotency_key = grant.work_key().unwrap_or_else(|| grant.task.to_string());
        let at = grant.node.as_ref().map(|(at, _)| &**at);
        WorkTask {
            run: at.map(|at| at.run),
            trigger: grant.trigger.as_ref().map(|(trigger, _)| TriggerView::from(&**trigger)),
            node: at.map(|at| place(&at.frame, &at.node)),
            task: grant.task,
            fence: grant.fence,
            kind: grant.kind,
            queue: grant.queue,
            attempt: grant.attempt,
            input,
            heartbeat_ms: grant.heartbeat_ms,
            budget_ms: grant.budget_ms,
            idempotency_key,
        }
    }
}
