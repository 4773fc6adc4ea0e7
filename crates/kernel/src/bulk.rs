//! A bulk: work over more items than one batch may touch. It goes on, a chunk a batch, behind a durable cursor, so no
//! other command waits long behind it and a crash half way changes nothing but the time it takes.
//!
//! | record | effect |
//! |---|---|
//! | `BulkStarted` | open, nothing done |
//! | `BulkAdvanced` | the cursor moved; perhaps it rests until an instant |
//! | `BulkFinished`, `BulkCancelled` | closed |

use crate::ids::{BulkId, RecordSeq, TaskId};
use crate::limits::CHUNK_ITEMS_MAX;
use crate::names::*;
use crate::priority::Priority;
use crate::record::{Entry, Record};
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
}

impl TaskFilter {
    pub fn matches(&self, card: &crate::task::Card) -> bool {
        self.kind.as_ref().is_none_or(|kind| kind == card.route().kind())
            && self.key.as_ref().is_none_or(|key| card.route().keys().contains(key))
            && self.tag.as_ref().is_none_or(|tag| card.tags().contains(tag))
            && self.error_code.as_ref().is_none_or(|code| card.failure().is_some_and(|failure| failure.code == *code))
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
    },
    /// Run what waits in the queue now, past rate and schedule.
    Drain {
        queue: QueueName,
        upto: TaskId,
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
}

impl BulkWork {
    pub const fn kind(&self) -> &'static str {
        match self {
            BulkWork::Clear { .. } => "clear",
            BulkWork::Drain { .. } => "drain",
            BulkWork::Reprioritize { .. } => "reprioritize",
            BulkWork::Redrive { .. } => "redrive",
            BulkWork::Unblock { .. } => "unblock",
        }
    }

    pub fn queue(&self) -> Option<&QueueName> {
        match self {
            BulkWork::Clear { queue, .. }
            | BulkWork::Drain { queue, .. }
            | BulkWork::Reprioritize { queue, .. }
            | BulkWork::Redrive { queue, .. } => Some(queue),
            BulkWork::Unblock { .. } => None,
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
    pub(crate) items: u64,
    pub(crate) skipped: u64,
    pub(crate) resume_at: Option<Time>,
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
                items: 0,
                skipped: 0,
                resume_at: None,
            },
            (Some(mut bulk), Record::BulkAdvanced { after, items, skipped, resume_at }) if bulk.status == BulkStatus::Open => {
                bulk.after = Some(*after);
                bulk.items += u64::from(*items);
                bulk.skipped += u64::from(*skipped);
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
    pub(crate) fn allowance(&self) -> usize {
        match self.work {
            BulkWork::Redrive { per_s: Some(per_s), .. } => (per_s as usize / 10).clamp(1, CHUNK_ITEMS_MAX),
            _ => CHUNK_ITEMS_MAX,
        }
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

    pub fn resume_at(&self) -> Option<Time> {
        self.resume_at
    }
}
