//! Commands over many tasks of a queue, and the bulks they become.

use super::object::objects;
use super::{BulkStatus, Instant, KeyPair, Priority, Problem, placed, reason, unreadable};
use engine::Wanted;
use flow::patch::Operations;
use kernel::bulk::{Bulk, BulkWork, Refusal, RunVerb};
use kernel::command::Reply;
use kernel::ids::{BulkId, RunId, TaskId};
use kernel::limits::{BULK_PATCH_BYTES_MAX, IDS_MAX};
use kernel::names::*;
use kernel::queue::BoostOn;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{ObjectBuilder, RefOr, Type};
use utoipa::{PartialSchema, ToSchema};

objects!(TaskFilter, QueueReprioritize, QueueRedrive, RunsBulk);

/// Which tasks of the queue: every given condition holds.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, default, remote = "Self")]
pub struct TaskFilter {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub kind: Option<TypeName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyPair>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub tag: Option<Tag>,
    /// Code of the last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Made by events of this family, or of those that a pattern such as `github/*` covers. What no event made has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub family: Option<Pattern>,
}

impl From<TaskFilter> for kernel::bulk::TaskFilter {
    fn from(filter: TaskFilter) -> kernel::bulk::TaskFilter {
        let TaskFilter { kind, key, tag, error_code, family } = filter;
        kernel::bulk::TaskFilter { kind, key: key.map(Into::into), tag, error_code, family }
    }
}

impl From<&kernel::bulk::TaskFilter> for TaskFilter {
    fn from(filter: &kernel::bulk::TaskFilter) -> TaskFilter {
        let kernel::bulk::TaskFilter { kind, key, tag, error_code, family } = filter.clone();
        TaskFilter { kind, key: key.as_ref().map(KeyPair::from), tag, error_code, family }
    }
}

/// Exactly one of `tasks`, `boost` (with or without `key`) and `filter`.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct QueueReprioritize {
    pub priority: Priority,
    /// These tasks, at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub tasks: Option<Vec<TaskId>>,
    /// A head start for all that is or comes in the queue; 0 removes it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub boost: bool,
    /// The boost is only on tasks that carry this key's value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<KeyPair>,
    /// What waits in the queue now and fits, as a bulk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<TaskFilter>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
}

/// What a reprioritize is on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ReprioritizeOn {
    Tasks(Vec<TaskId>),
    Boost(BoostOn),
    Filter(kernel::bulk::TaskFilter),
}

impl QueueReprioritize {
    pub fn on(&self) -> Result<ReprioritizeOn, Problem> {
        match (&self.tasks, self.boost, &self.filter) {
            (Some(tasks), false, None) if self.key.is_none() => Ok(ReprioritizeOn::Tasks(check_ids(tasks)?)),
            (None, true, None) => Ok(ReprioritizeOn::Boost(BoostOn { key: self.key.clone().map(Into::into) })),
            (None, false, Some(filter)) if self.key.is_none() => Ok(ReprioritizeOn::Filter(filter.clone().into())),
            _ => Err(Problem::invalid("give exactly one of tasks, filter, and boost (boost alone may come with key)")),
        }
    }
}

/// Exactly one of `tasks` and `filter`; an empty filter is every dead letter of the queue.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct QueueRedrive {
    /// These tasks, at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<String>>)]
    pub tasks: Option<Vec<TaskId>>,
    /// The dead letters that fit, as a bulk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<TaskFilter>,
    /// At most so many a second; only with `filter`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_s: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
}

/// What a redrive is on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RedriveOn {
    Tasks(Vec<TaskId>),
    Filter { filter: kernel::bulk::TaskFilter, per_s: Option<u32> },
}

impl QueueRedrive {
    pub fn on(&self) -> Result<RedriveOn, Problem> {
        match (&self.tasks, &self.filter, self.per_s) {
            (Some(tasks), None, None) => Ok(RedriveOn::Tasks(check_ids(tasks)?)),
            (None, Some(_), Some(0)) => Err(Problem::invalid("per_s must be at least 1")),
            (None, Some(filter), per_s) => Ok(RedriveOn::Filter { filter: filter.clone().into(), per_s }),
            (Some(_), None, Some(_)) => Err(Problem::invalid("per_s works only with filter")),
            _ => Err(Problem::invalid("give exactly one of tasks and filter; an empty filter, {}, means all")),
        }
    }
}

fn check_ids(tasks: &[TaskId]) -> Result<Vec<TaskId>, Problem> {
    match tasks.len() {
        0 => Err(Problem::invalid("tasks is empty")),
        1..=IDS_MAX => Ok(tasks.to_vec()),
        count => Err(Problem::invalid(format!("tasks holds {count} ids; at most {IDS_MAX} are allowed, or use a filter"))),
    }
}

/// A bulk was started, or would be, or the tasks were changed at once, or a boost was set and there is nothing to say.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum BulkAnswer {
    Started {
        bulk: BulkId,
    },
    /// `skipped` were not in a state to be changed.
    Changed {
        changed: u64,
        skipped: u64,
    },
    /// A dry run: so many tasks that wait now would be changed.
    Would {
        would_change: u64,
        /// Not all that wait were looked at: there may be more.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        at_least: bool,
    },
    Nothing {},
}

/// One object whose fields may be missing: a choice of three shapes would fit each of them also as the empty one.
impl PartialSchema for BulkAnswer {
    fn schema() -> RefOr<Schema> {
        let field = |kind: Type, text: &str| ObjectBuilder::new().schema_type(kind).description(Some(text));
        ObjectBuilder::new()
            .description(Some(
                "A bulk was started, or would be, or the tasks were changed at once, or a boost was set and there is nothing to say.",
            ))
            .property("bulk", field(Type::String, "The bulk that does it."))
            .property("changed", field(Type::Integer, "Tasks that were changed at once."))
            .property("skipped", field(Type::Integer, "Tasks that were not in a state to be changed."))
            .property("would_change", field(Type::Integer, "Of a dry run: tasks that wait now and would be changed."))
            .property("at_least", field(Type::Boolean, "Not all that wait were looked at: there may be more."))
            .into()
    }
}

impl ToSchema for BulkAnswer {}

impl BulkAnswer {
    /// The reply to a command over many; other replies have no such answer.
    pub fn of(reply: &Reply) -> Option<BulkAnswer> {
        match reply {
            Reply::Bulk(bulk) => Some(BulkAnswer::Started { bulk: *bulk }),
            Reply::Items { changed, skipped } => Some(BulkAnswer::Changed { changed: *changed as u64, skipped: *skipped as u64 }),
            Reply::Done => Some(BulkAnswer::Nothing {}),
            Reply::Added(_) | Reply::Task { .. } | Reply::Finished { .. } | Reply::Leased(_) => None,
            Reply::Emitted(_) | Reply::Registry { .. } => None,
            Reply::Started { .. } | Reply::Run { .. } | Reply::Patched(_) | Reply::Workflow { .. } | Reply::Workflows(_) => None,
        }
    }
}

/// Work over many tasks or runs, done a chunk at a time.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BulkView {
    #[schema(value_type = String)]
    pub bulk: BulkId,
    /// `clear`, `drain`, `shed`, `reprioritize`, `redrive` or `unblock`; over runs `cancel_runs`, `retry_runs`, `pause_runs`,
    /// `resume_runs`, `restart_runs` or `patch_runs`.
    pub work: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub queue: Option<QueueName>,
    /// Which of the queue's, if not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<TaskFilter>,
    /// Of a shed: which families.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub families: Vec<Pattern>,
    /// Of a shed: the highest priority that is shed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<i32>)]
    pub upto: Option<Priority>,
    pub status: BulkStatus,
    /// Which runs, if it is over runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#where: Option<String>,
    /// Of a patch: what it changes in each text, its `operations`, `set` and `unset`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub patch: Option<Box<RawValue>>,
    /// Tasks changed so far, or runs.
    pub items: u64,
    pub skipped: u64,
    /// The first runs that were left as they were, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<RunRefused>,
    pub started_at: Instant,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<Instant>,
    #[schema(value_type = String)]
    pub by: Actor,
    pub reason: String,
    /// At most so many a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_s: Option<u32>,
    /// It rests until then, to keep its rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resume_at: Option<Instant>,
}

impl From<&Bulk> for BulkView {
    fn from(bulk: &Bulk) -> BulkView {
        BulkView {
            bulk: bulk.id(),
            work: bulk.work().kind().to_owned(),
            queue: bulk.work().queue().cloned(),
            filter: match bulk.work() {
                BulkWork::Clear { filter, .. }
                | BulkWork::Drain { filter, .. }
                | BulkWork::Reprioritize { filter, .. }
                | BulkWork::Redrive { filter, .. } => Some(filter).filter(|filter| !filter.is_any()).map(TaskFilter::from),
                BulkWork::Shed { .. } | BulkWork::Unblock { .. } | BulkWork::Runs { .. } => None,
            },
            families: if let BulkWork::Shed { families, .. } = bulk.work() { families.clone() } else { Vec::new() },
            upto: if let BulkWork::Shed { priority, .. } = bulk.work() { Some(Priority(*priority)) } else { None },
            status: bulk.status().into(),
            r#where: match bulk.work() {
                BulkWork::Runs { filter, .. } => Some(filter.clone()),
                _ => None,
            },
            patch: match bulk.work() {
                BulkWork::Runs { verb: RunVerb::Patch { change }, .. } => RawValue::from_string(change.clone()).ok(),
                _ => None,
            },
            items: bulk.items(),
            skipped: bulk.skipped(),
            refused: bulk.refused().iter().cloned().map(RunRefused::from).collect(),
            started_at: bulk.started_at().into(),
            finished_at: bulk.finished_at().map(Instant),
            by: bulk.by().clone(),
            reason: bulk.reason().to_owned(),
            per_s: bulk.work().per_s(),
            resume_at: bulk.resume_at().map(Instant),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct BulkList {
    pub bulks: Vec<BulkView>,
}

/// What is to be done to each run that is meant.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunsVerb {
    Cancel,
    Retry,
    Pause,
    Resume,
    /// From `node`.
    Restart,
    /// By `operations`, `set` and `unset`.
    Patch,
}

/// One verb for all runs that an expression means.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct RunsBulk {
    pub verb: RunsVerb,
    /// Of a restart: the node to begin anew from, such as `pay`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Of a patch: RFC 6902 over the text that each follows, as JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<serde_json::Value>>)]
    pub operations: Option<Box<RawValue>>,
    /// Of a patch, after its operations: values at paths, such as `nodes.pay.timeout=1m`, wherever that is in the text of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<String>,
    /// Of a patch, after that: paths to take away.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<String>,
    /// CEL over one run: `workflow == "refund" && status == "failed"`. It sees `id`, `workflow`, `version`, `status`, `paused`,
    /// `tags`, `started_at`, `ended_at`, `age` (seconds since the start), `error.code`, `error.message`, `called`, `parent` and
    /// `idempotency_key`; what is not there is an empty text. Runs that others called are left out, unless it reads `called` or
    /// `parent`.
    pub r#where: String,
    /// At most so many a second.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub per_s: Option<u32>,
    /// Why, for the history of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Of a patch, instead of `reason`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
    /// Change nothing: say how many are meant.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
}

impl RunsBulk {
    /// What is done to each of them.
    pub fn deed(&self) -> Result<RunVerb, Problem> {
        if let Some(wanted) = self.wanted()? {
            let change = wanted.kept();
            if change.len() > BULK_PATCH_BYTES_MAX {
                let bytes = change.len();
                let why = format!("the patch has {bytes} bytes; one of many runs may have {BULK_PATCH_BYTES_MAX}");
                return Err(Problem::invalid(why));
            }
            return Ok(RunVerb::Patch { change });
        }
        let verb = match (self.verb, &self.node) {
            (RunsVerb::Restart, Some(text)) => {
                // Whichever run it is of.
                let at = placed(RunId::new(1, 0), text).ok_or_else(|| {
                    let shown: String = text.chars().take(80).collect();
                    Problem::invalid(format!("`{shown}` is not a node such as pay or rounds[1]/pay"))
                })?;
                return Ok(RunVerb::Restart { frame: at.frame, node: at.node });
            }
            (RunsVerb::Restart, None) => return Err(Problem::invalid("a restart needs `node`, to begin anew from")),
            (_, Some(_)) => return Err(Problem::invalid("only a restart has a `node`")),
            (verb, None) => verb,
        };
        Ok(match verb {
            RunsVerb::Cancel => RunVerb::Cancel,
            RunsVerb::Retry | RunsVerb::Restart | RunsVerb::Patch => RunVerb::Retry,
            RunsVerb::Pause => RunVerb::Pause,
            RunsVerb::Resume => RunVerb::Resume,
        })
    }
}

impl RunsBulk {
    /// What a patch is to make of each text; `None`: it is none.
    pub fn wanted(&self) -> Result<Option<Wanted>, Problem> {
        let operations = self.operations.as_ref().map(|raw| Operations::read(raw.get().as_bytes())).transpose();
        let operations = operations.map_err(|error| unreadable(&error))?;
        let wanted = Wanted { operations, set: self.set.clone(), unset: self.unset.clone(), with: None };
        wanted.check().map_err(|error| unreadable(&error))?;
        match (self.verb, wanted.is_nothing(), &self.node) {
            (RunsVerb::Patch, true, _) => Err(Problem::invalid("a patch needs `operations`, `set` or `unset`")),
            (RunsVerb::Patch, false, Some(_)) => Err(Problem::invalid("only a restart has a `node`")),
            (RunsVerb::Patch, false, None) => Ok(Some(wanted)),
            (_, false, _) => Err(Problem::invalid("only a patch has `operations`, `set` and `unset`")),
            (_, true, _) => Ok(None),
        }
    }

    /// Why, in whichever of the two it was said.
    pub fn why(&self) -> Result<String, Problem> {
        match (&self.reason, &self.description) {
            (Some(_), Some(_)) => Err(Problem::invalid("`reason` and `description` are one thing: give one of them")),
            (None, Some(_)) if self.verb != RunsVerb::Patch => Err(Problem::invalid("only a patch has a `description`")),
            (None, Some(description)) => reason("description", Some(description.clone())),
            (given, None) => reason("reason", given.clone()),
        }
    }
}

/// The bulk that does it; of a dry run, how many runs are meant.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
pub struct RunsBulkAnswer {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub bulk: Option<BulkId>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// Runs that are meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// Not all runs were looked at: there may be more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// Some of them, the oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub sample: Vec<RunId>,
    /// So many of them, the oldest, were asked whether they would take it, as far as that is known beforehand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried: Option<u64>,
    /// So many of those would be left as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<u64>,
    /// Of the first of those, why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused_first: Vec<RunRefused>,
    /// Of a restart: so many of those that were asked are done already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub done: Option<u64>,
    /// For so many runs the expression gives no answer; they would be left as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unclear: Option<u64>,
    /// Of the first of those, why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unclear_first: Option<RunRefused>,
}

/// A run that was left as it was.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunRefused {
    #[schema(value_type = String)]
    pub run: RunId,
    pub why: String,
}

impl From<Refusal> for RunRefused {
    fn from(Refusal { run, why }: Refusal) -> RunRefused {
        RunRefused { run, why }
    }
}
