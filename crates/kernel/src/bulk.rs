//! A bulk: work over more items than one batch may touch. It goes on, a chunk a batch, behind a durable cursor, so no
//! other command waits long behind it and a crash half way changes nothing but the time it takes.
//!
//! | record | effect |
//! |---|---|
//! | `BulkStarted` | open, nothing done |
//! | `BulkAdvanced`, `BulkRunsAdvanced` | the cursor moved; perhaps it rests until an instant |
//! | `BulkFinished`, `BulkCancelled` | closed |
//!
//! One over runs does not go on by itself: which runs are meant is found out off the writer, and handed in chunk by chunk.

use crate::command::NewRevision;
use crate::frame::FramePath;
use crate::ids::{BulkId, RecordSeq, RunId, TaskId};
use crate::limits::{BULK_FILTER_BYTES_MAX, BULK_PATCH_BYTES_MAX, BULK_RUNS_MAX, CHUNK_ITEMS_MAX, SHED_FAMILIES_MAX};
use crate::names::*;
use crate::priority::Priority;
use crate::record::{Entry, Record};
use crate::rejection::Rejection;
use crate::time::Time;
use serde::{Deserialize, Serialize};

/// Which tasks of a queue: every given condition holds.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TaskFilter {
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub kind: Option<TypeName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<(KeyName, KeyValue)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tag: Option<Tag>,
    /// Code of the last failure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_code: Option<String>,
    /// Of the event it is made of; one that no event made has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub family: Option<Pattern>,
}

impl TaskFilter {
    /// Nothing is asked of a task.
    pub fn is_any(&self) -> bool {
        *self == TaskFilter::default()
    }

    pub fn matches(&self, card: &crate::task::Card) -> bool {
        self.kind.as_ref().is_none_or(|kind| kind == card.route().kind())
            && self.key.as_ref().is_none_or(|key| card.route().keys().contains(key))
            && self.tag.as_ref().is_none_or(|tag| card.tags().contains(tag))
            && self.error_code.as_ref().is_none_or(|code| card.failure().is_some_and(|failure| failure.code == *code))
            && self.family.as_ref().is_none_or(|pattern| card.route().family().is_some_and(|family| pattern.covers(family)))
    }
}

/// What a bulk does to each run that is meant. One that is added is done in `decide/bulk/runs.rs`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunVerb {
    Cancel,
    Retry,
    Pause,
    Resume,
    /// From this node.
    Restart {
        #[serde(default, skip_serializing_if = "FramePath::is_root")]
        frame: FramePath,
        node: NodeId,
    },
    /// What is to be changed in the text of each, as JSON; the kernel never looks into it. The text comes with each run.
    Patch {
        change: String,
    },
}

impl RunVerb {
    pub const fn as_str(&self) -> &'static str {
        match self {
            RunVerb::Cancel => "cancel",
            RunVerb::Retry => "retry",
            RunVerb::Pause => "pause",
            RunVerb::Resume => "resume",
            RunVerb::Restart { .. } => "restart",
            RunVerb::Patch { .. } => "patch",
        }
    }

    /// Whether a run has to be there with all that belongs to it.
    pub const fn needs_whole(&self) -> bool {
        match self {
            RunVerb::Retry | RunVerb::Restart { .. } | RunVerb::Patch { .. } => true,
            RunVerb::Cancel | RunVerb::Pause | RunVerb::Resume => false,
        }
    }
}

/// A run that a bulk left as it was, and why.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Refusal {
    pub run: RunId,
    pub why: String,
}

/// One of the runs a bulk has come to.
#[derive(Clone, PartialEq, Debug)]
pub enum Meant {
    Run(RunId),
    /// With the text that it is to follow.
    Revised(RunId, Box<NewRevision>),
    /// It is left as it is: the filter gave no answer, or there is no text that it could follow.
    Left(Refusal),
}

impl Meant {
    pub fn run(&self) -> RunId {
        match self {
            Meant::Run(run) | Meant::Revised(run, _) => *run,
            Meant::Left(refusal) => refusal.run,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "work", rename_all = "snake_case")]
pub enum BulkWork {
    /// Cancel what waits in the queue.
    Clear {
        queue: QueueName,
        upto: TaskId,
        reason: String,
        #[serde(default, skip_serializing_if = "TaskFilter::is_any")]
        filter: TaskFilter,
    },
    /// Run what waits in the queue now, past rate and schedule.
    Drain {
        queue: QueueName,
        upto: TaskId,
        #[serde(default, skip_serializing_if = "TaskFilter::is_any")]
        filter: TaskFilter,
    },
    /// Cancel what waits of these families in whatever queue, if its priority is no higher than this. What is critical stays.
    Shed {
        families: Vec<Pattern>,
        priority: Priority,
        upto: TaskId,
        reason: String,
    },
    Reprioritize {
        queue: QueueName,
        upto: TaskId,
        filter: TaskFilter,
        priority: Priority,
    },
    /// Queue dead letters again, oldest first, at most `per_s` a second.
    Redrive {
        queue: QueueName,
        upto: TaskId,
        filter: TaskFilter,
        per_s: Option<u32>,
    },
    /// Tell everyone who waits for a finished task.
    Unblock {
        blocker: TaskId,
    },
    /// Runs that a filter means, oldest first, at most `per_s` a second.
    Runs {
        verb: RunVerb,
        /// An expression; the kernel never looks into it.
        filter: String,
        upto: RunId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        per_s: Option<u32>,
    },
}

impl BulkWork {
    pub const fn kind(&self) -> &'static str {
        match self {
            BulkWork::Clear { .. } => "clear",
            BulkWork::Drain { .. } => "drain",
            BulkWork::Shed { .. } => "shed",
            BulkWork::Reprioritize { .. } => "reprioritize",
            BulkWork::Redrive { .. } => "redrive",
            BulkWork::Unblock { .. } => "unblock",
            BulkWork::Runs { verb: RunVerb::Cancel, .. } => "cancel_runs",
            BulkWork::Runs { verb: RunVerb::Retry, .. } => "retry_runs",
            BulkWork::Runs { verb: RunVerb::Pause, .. } => "pause_runs",
            BulkWork::Runs { verb: RunVerb::Resume, .. } => "resume_runs",
            BulkWork::Runs { verb: RunVerb::Restart { .. }, .. } => "restart_runs",
            BulkWork::Runs { verb: RunVerb::Patch { .. }, .. } => "patch_runs",
        }
    }

    /// Whether it could be begun at all.
    pub fn check(&self) -> Result<(), Rejection> {
        match self {
            BulkWork::Redrive { per_s: Some(0), .. } => {
                return Err(Rejection::Invalid { why: "a redrive at 0 a second would never end".into() });
            }
            BulkWork::Runs { per_s: Some(0), .. } => {
                return Err(Rejection::Invalid { why: "0 runs a second would never end".into() });
            }
            BulkWork::Runs { filter, .. } if filter.len() > BULK_FILTER_BYTES_MAX => {
                let why = format!("the filter has {} bytes; there may be {BULK_FILTER_BYTES_MAX}", filter.len());
                return Err(Rejection::Invalid { why });
            }
            BulkWork::Runs { verb: RunVerb::Patch { change }, .. } if change.len() > BULK_PATCH_BYTES_MAX => {
                let why = format!("the patch has {} bytes; one of many runs may have {BULK_PATCH_BYTES_MAX}", change.len());
                return Err(Rejection::Invalid { why });
            }
            BulkWork::Shed { families, .. } if families.is_empty() || families.len() > SHED_FAMILIES_MAX => {
                let why = format!("{} patterns of families are named; there may be 1 to {SHED_FAMILIES_MAX}", families.len());
                return Err(Rejection::Invalid { why });
            }
            BulkWork::Shed { priority, .. } if *priority >= Priority::CRITICAL => {
                return Err(Rejection::Invalid { why: "what is critical is never shed: name a priority below that".into() });
            }
            BulkWork::Unblock { .. } => {
                return Err(Rejection::Invalid { why: "only a task that is done unblocks those that wait for it".into() });
            }
            _ => {}
        }
        Ok(())
    }

    pub const fn is_over_runs(&self) -> bool {
        matches!(self, BulkWork::Runs { .. })
    }

    pub const fn per_s(&self) -> Option<u32> {
        match self {
            BulkWork::Redrive { per_s, .. } | BulkWork::Runs { per_s, .. } => *per_s,
            _ => None,
        }
    }

    pub fn queue(&self) -> Option<&QueueName> {
        match self {
            BulkWork::Clear { queue, .. }
            | BulkWork::Drain { queue, .. }
            | BulkWork::Reprioritize { queue, .. }
            | BulkWork::Redrive { queue, .. } => Some(queue),
            BulkWork::Shed { .. } | BulkWork::Unblock { .. } | BulkWork::Runs { .. } => None,
        }
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum BulkStatus {
    Open,
    Done,
    Cancelled,
}

impl BulkStatus {
    pub const ALL: [BulkStatus; 3] = [BulkStatus::Open, BulkStatus::Done, BulkStatus::Cancelled];

    pub const fn as_str(self) -> &'static str {
        match self {
            BulkStatus::Open => "open",
            BulkStatus::Done => "done",
            BulkStatus::Cancelled => "cancelled",
        }
    }

    pub fn parse(text: &str) -> Option<BulkStatus> {
        BulkStatus::ALL.into_iter().find(|status| status.as_str() == text)
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bulk {
    pub(crate) id: BulkId,
    pub(crate) last: RecordSeq,
    pub(crate) status: BulkStatus,
    pub(crate) work: BulkWork,
    pub(crate) by: Actor,
    pub(crate) reason: String,
    pub(crate) started_at: Time,
    pub(crate) finished_at: Option<Time>,
    /// The last item looked at.
    pub(crate) after: Option<TaskId>,
    /// The last run looked at.
    pub(crate) after_run: Option<RunId>,
    pub(crate) items: u64,
    pub(crate) skipped: u64,
    pub(crate) resume_at: Option<Time>,
    /// The first runs that were left as they were.
    pub(crate) refused: Vec<Refusal>,
}

impl Bulk {
    pub fn fold(bulk: Option<Bulk>, id: BulkId, entry: &Entry) -> Bulk {
        let mut bulk = match (bulk, &entry.record) {
            (None, Record::BulkStarted { work, by, reason }) => Bulk {
                id,
                last: entry.seq,
                status: BulkStatus::Open,
                work: (**work).clone(),
                by: by.clone(),
                reason: reason.clone(),
                started_at: entry.at,
                finished_at: None,
                after: None,
                after_run: None,
                items: 0,
                skipped: 0,
                resume_at: None,
                refused: Vec::new(),
            },
            (Some(mut bulk), Record::BulkAdvanced { after, items, skipped, resume_at }) if bulk.status == BulkStatus::Open => {
                bulk.after = Some(*after);
                bulk.items += u64::from(*items);
                bulk.skipped += u64::from(*skipped);
                bulk.resume_at = *resume_at;
                bulk
            }
            (Some(mut bulk), Record::BulkRunsAdvanced { after, items, skipped, refused, resume_at })
                if bulk.status == BulkStatus::Open =>
            {
                bulk.after_run = Some(*after);
                bulk.items += u64::from(*items);
                bulk.skipped += u64::from(*skipped);
                bulk.refused.extend(refused.iter().cloned());
                bulk.resume_at = *resume_at;
                bulk
            }
            (Some(mut bulk), Record::BulkFinished { items, skipped }) if bulk.status == BulkStatus::Open => {
                bulk.items += u64::from(*items);
                bulk.skipped += u64::from(*skipped);
                bulk.status = BulkStatus::Done;
                bulk.finished_at = Some(entry.at);
                bulk.resume_at = None;
                bulk
            }
            (Some(mut bulk), Record::BulkCancelled { .. }) if bulk.status == BulkStatus::Open => {
                bulk.status = BulkStatus::Cancelled;
                bulk.finished_at = Some(entry.at);
                bulk.resume_at = None;
                bulk
            }
            (_, record) => panic!("{id}: {} does not fit its history", record.kind()),
        };
        bulk.last = entry.seq;
        bulk
    }

    /// How many items the next chunk may change: a tenth of a second's worth under a rate.
    pub fn allowance(&self) -> usize {
        let most = if self.work.is_over_runs() { BULK_RUNS_MAX } else { CHUNK_ITEMS_MAX };
        self.work.per_s().map_or(most, |per_s| (per_s as usize / 10).clamp(1, most))
    }

    /// After so many items, to keep its rate.
    pub(crate) fn rests_until(&self, items: u32, now: Time) -> Option<Time> {
        let per_s = self.work.per_s().filter(|_| items > 0)?;
        let rest_us = (u64::from(items) * 1_000_000).div_ceil(u64::from(per_s).max(1));
        Some(now.plus_us(rest_us as i64))
    }

    pub fn id(&self) -> BulkId {
        self.id
    }

    pub fn last(&self) -> RecordSeq {
        self.last
    }

    pub fn status(&self) -> BulkStatus {
        self.status
    }

    pub fn work(&self) -> &BulkWork {
        &self.work
    }

    pub fn by(&self) -> &Actor {
        &self.by
    }

    pub fn reason(&self) -> &str {
        &self.reason
    }

    pub fn started_at(&self) -> Time {
        self.started_at
    }

    pub fn finished_at(&self) -> Option<Time> {
        self.finished_at
    }

    pub fn items(&self) -> u64 {
        self.items
    }

    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    pub fn after(&self) -> Option<TaskId> {
        self.after
    }

    pub fn after_run(&self) -> Option<RunId> {
        self.after_run
    }

    pub fn refused(&self) -> &[Refusal] {
        &self.refused
    }

    pub fn resume_at(&self) -> Option<Time> {
        self.resume_at
    }
}
