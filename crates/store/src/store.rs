//! The contract between engine and store. One writer commits whole batches; readers see committed batches only and
//! never wait for the writer. A commit is all or nothing and durable when it returns.

use crate::blobs::{BlobId, mentions};
use crate::logs::{LogStore, MemoryLogs};
use crate::rollups::{RollupReader, RollupStore};
use kernel::bulk::TaskFilter;
use kernel::frame::FramePath;
use kernel::ids::{BulkId, EventId, RecordSeq, RunId, TaskId};
use kernel::names::{EventKey, HandlerName, IdempotencyKey, NodeId, Pattern, QueueName, Tag, WorkflowName};
use kernel::needs::{Begun, Need};
use kernel::record::{Entry, Payload};
use kernel::row::{BadRow, Row, Table, Value};
use kernel::run::{NodeAt, RunStatus};
use kernel::task::Status;
use kernel::time::Time;
use std::io::Write;
use std::sync::{Arc, OnceLock};
use thiserror::Error;

/// What one tick changed: its records, each dirty row once, in its last image, and histories that end with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch {
    pub entries: Vec<Entry>,
    pub puts: Vec<Row>,
    pub deletes: Vec<(&'static Table, Vec<Value>)>,
    /// The last records of histories to be forgotten, back to their first, payloads and all.
    pub prunes: Vec<RecordSeq>,
    pub texts: Texts,
    /// What records mention beside what their own texts do: the contents of blobs that stand for their values.
    pub mentions: Vec<(RecordSeq, BlobId)>,
}

/// The owners and bodies of a batch's records, written out. Whoever has the time does it before the commit; if nobody did,
/// the store does.
#[derive(Clone, Debug, Default)]
pub struct Texts(OnceLock<Written>);

/// They are what the records are.
impl PartialEq for Texts {
    fn eq(&self, _: &Texts) -> bool {
        true
    }
}

impl Eq for Texts {}

#[derive(Clone, Debug, Default)]
pub(crate) struct Written {
    bytes: Vec<u8>,
    /// Of each record: where its owner ends, and its body.
    ends: Vec<(usize, usize)>,
}

impl Written {
    fn new(entries: &[Entry]) -> Written {
        let mut written = Written { bytes: Vec::with_capacity(entries.len() * 128), ends: Vec::with_capacity(entries.len()) };
        for entry in entries {
            write!(written.bytes, "{}", entry.owner).expect("a buffer takes all text");
            let owner_end = written.bytes.len();
            serde_json::to_writer(&mut written.bytes, &entry.record).expect("a record has a JSON form");
            written.ends.push((owner_end, written.bytes.len()));
        }
        written
    }

    /// Owner and body of each record, in order.
    pub fn each(&self) -> impl Iterator<Item = (&[u8], &[u8])> {
        let starts = std::iter::once(0).chain(self.ends.iter().map(|(_, end)| *end));
        starts.zip(&self.ends).map(|(start, (owner, body))| (&self.bytes[start..*owner], &self.bytes[*owner..*body]))
    }
}

impl Batch {
    /// Every blob that its records mention.
    pub(crate) fn mentioned(&self) -> impl Iterator<Item = (RecordSeq, BlobId)> {
        let texts = self.entries.iter().filter_map(|entry| Some((entry.seq, entry.payload.as_ref()?)));
        let own = texts.flat_map(|(seq, payload)| mentions(payload.text()).into_iter().map(move |id| (seq, id)));
        own.chain(self.mentions.iter().copied())
    }

    /// The records are not changed any more, but for their payloads.
    pub fn write_out(&self) {
        self.written();
    }

    pub(crate) fn written(&self) -> &Written {
        self.texts.0.get_or_init(|| Written::new(&self.entries))
    }

    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.puts.is_empty() && self.deletes.is_empty() && self.prunes.is_empty()
    }
}

#[derive(Debug, Error)]
pub enum StoreError {
    /// The environment failed: disk full, file gone, locked. Whether the batch is durable is not known.
    #[error("the store failed: {0}")]
    Failed(String),
    /// It is far away and cannot be reached now; later it may be.
    #[error("{0}")]
    Unreached(String),
    /// It can be reached, and does not take this.
    #[error("{0}")]
    Refused(String),
    /// Another process has it.
    #[error("{0}")]
    Taken(String),
    /// What is stored does not decode.
    #[error("the store holds a row that does not decode: {0}")]
    Corrupt(#[from] BadRow),
    /// Written by a newer version.
    #[error("{0}")]
    Newer(String),
    /// A query went on for too long.
    #[error("{0}")]
    Slow(String),
}

pub trait Store: Send {
    /// Hands over every row that belongs in memory: the shard, queues, keys, open bulks, tasks that are idle, queued or
    /// running, workflows, runs that are live, the frames and nodes of those that are not being deleted, the registry, and
    /// what was said about families. In this order, and each by its key.
    fn load(&mut self, each: &mut dyn FnMut(Row)) -> Result<(), StoreError>;

    /// The time of the newest record, in microseconds; 0 for none.
    fn last_at_us(&mut self) -> Result<i64, StoreError>;

    /// Cold rows, each once, in the order they are asked for; what does not exist is left out.
    fn rows(&mut self, needs: &[Need]) -> Result<Vec<Row>, StoreError>;

    /// What the nodes whose last records these are have ever had done by others, oldest first.
    fn begun(&mut self, nodes: &[RecordSeq]) -> Result<Vec<Vec<Begun>>, StoreError>;

    /// The payload of a record; `None` where it has none or is gone.
    fn payload(&mut self, record: RecordSeq) -> Result<Option<Payload>, StoreError>;

    /// All of it, durable, or an error after which nothing is known.
    fn commit(&mut self, batch: &Batch) -> Result<(), StoreError>;

    /// Another pair of eyes; usable from any thread while the writer goes on.
    fn reader(&self) -> Result<Box<dyn Reader>, StoreError>;

    /// The hand that writes roll-ups, for a thread of its own. There is one at a time.
    fn rollups(&self) -> Result<Box<dyn RollupStore>, StoreError>;

    /// Where lines of workers are kept; in memory unless the store has a better place.
    fn logs(&self) -> Result<Box<dyn LogStore>, StoreError> {
        Ok(Box::<MemoryLogs>::default())
    }

    /// What and where this is, for people.
    fn describe(&self) -> String;
}

/// Which tasks to list, newest first. `before` is the cursor: ids below it.
#[derive(Clone, Debug, Default)]
pub struct TaskQuery {
    pub queue: Option<QueueName>,
    pub status: Option<Status>,
    pub filter: TaskFilter,
    pub tag: Option<Tag>,
    /// Dead letters alone: failed, and not the work of a run, whose affair they would be.
    pub dead: bool,
    pub before: Option<TaskId>,
    pub limit: usize,
}

/// Which events to list, newest first or oldest first. `before` and `after` are cursors.
#[derive(Clone, Debug, Default)]
pub struct EventQuery {
    /// Of their names.
    pub pattern: Option<Pattern>,
    /// Those alone that no handler took.
    pub unhandled: bool,
    /// At one of its handlers this became of it, and this is the handler.
    pub outcome: Option<Arc<str>>,
    pub handler: Option<HandlerName>,
    pub key: Option<EventKey>,
    pub since: Option<Time>,
    pub before: Option<EventId>,
    pub after: Option<EventId>,
    pub oldest_first: bool,
    pub limit: usize,
}

/// Which runs to list, newest first or oldest first. `before` and `after` are cursors: ids below and above. Those that are being
/// deleted are not listed.
#[derive(Clone, Debug, Default)]
pub struct RunQuery {
    pub workflow: Option<WorkflowName>,
    pub status: Option<RunStatus>,
    pub paused: Option<bool>,
    pub tag: Option<Tag>,
    /// Called by a node of this run.
    pub parent: Option<RunId>,
    /// Called by some run, or by none.
    pub called: Option<bool>,
    pub idempotency_key: Option<IdempotencyKey>,
    pub before: Option<RunId>,
    pub after: Option<RunId>,
    pub oldest_first: bool,
    pub limit: usize,
}

/// Which nodes of a run to list, by frame and node as texts. `after` is the cursor.
#[derive(Clone, Debug)]
pub struct NodeQuery {
    pub run: RunId,
    pub frame: Option<FramePath>,
    /// As the row says it.
    pub status: Option<String>,
    pub after: Option<(FramePath, NodeId)>,
    pub limit: usize,
}

impl NodeQuery {
    /// All of them.
    pub fn of(run: RunId, limit: usize) -> NodeQuery {
        NodeQuery { run, frame: None, status: None, after: None, limit }
    }
}

/// Which nodes that wait for an answer to list, by when they asked and then by where they are. `after` is the cursor.
#[derive(Clone, Debug, Default)]
pub struct ApprovalQuery {
    pub workflow: Option<WorkflowName>,
    pub after: Option<(Time, NodeAt)>,
    pub limit: usize,
}

/// Where a record stands: its number, and when it was written.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Stamp {
    pub seq: RecordSeq,
    pub at: Time,
}

/// Some of the records that follow one another.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Stretch {
    pub entries: Vec<Entry>,
    /// Records it goes over, whether they are among those or not.
    pub passed: usize,
    /// The last of these, and when it was written.
    pub end: Option<(RecordSeq, Time)>,
}

/// A record, or its number and the column that does not fit.
pub type Decoded = Result<Entry, (RecordSeq, BadRow)>;

pub trait Reader: RollupReader + Send {
    fn task(&mut self, id: TaskId) -> Result<Option<Row>, StoreError>;

    fn tasks(&mut self, query: &TaskQuery) -> Result<Vec<Row>, StoreError>;

    /// Dead letters per queue.
    fn dead_counts(&mut self) -> Result<Vec<(QueueName, u64)>, StoreError>;

    /// And per family of the events that made them, by both; what no event made has its queue's name for one.
    fn dead_families(&mut self) -> Result<Vec<(QueueName, Arc<str>, u64)>, StoreError>;

    fn event(&mut self, id: EventId) -> Result<Option<Row>, StoreError>;

    fn events(&mut self, query: &EventQuery) -> Result<Vec<Row>, StoreError>;

    /// As [`Need::EventsOld`] says it.
    fn events_old(&mut self, before: Time, after: Option<EventId>, limit: usize) -> Result<Vec<Row>, StoreError>;

    /// The one in force, if one was ever put.
    fn registry(&mut self) -> Result<Option<Row>, StoreError>;

    fn bulk(&mut self, id: BulkId) -> Result<Option<Row>, StoreError>;

    /// Newest first.
    fn bulks(&mut self, limit: usize) -> Result<Vec<Row>, StoreError>;

    /// This version, or the highest.
    fn workflow(&mut self, name: &WorkflowName, version: Option<u32>) -> Result<Option<Row>, StoreError>;

    /// The highest version of each, by name.
    fn workflows(&mut self) -> Result<Vec<Row>, StoreError>;

    /// Highest first.
    fn workflow_versions(&mut self, name: &WorkflowName) -> Result<Vec<Row>, StoreError>;

    /// Also one that is being deleted.
    fn run(&mut self, id: RunId) -> Result<Option<Row>, StoreError>;

    fn runs(&mut self, query: &RunQuery) -> Result<Vec<Row>, StoreError>;

    /// As [`Need::RunsEnded`] says it.
    fn runs_ended(&mut self, before: Time, keep: usize, limit: usize) -> Result<Vec<Row>, StoreError>;

    /// Without the run's own frame, by path as text.
    fn frames(&mut self, run: RunId, limit: usize) -> Result<Vec<Row>, StoreError>;

    fn nodes(&mut self, query: &NodeQuery) -> Result<Vec<Row>, StoreError>;

    fn node(&mut self, at: &NodeAt) -> Result<Option<Row>, StoreError>;

    /// Nodes that wait for somebody's answer, the longest waiting first.
    fn approvals(&mut self, query: &ApprovalQuery) -> Result<Vec<Row>, StoreError>;

    /// The records of a run, its frames, its nodes and, if wanted, its tasks, with their payloads: those after `after`,
    /// oldest first. All of one moment, so that the last of a page is the cursor of the next.
    fn run_history(&mut self, run: RunId, after: RecordSeq, limit: usize, tasks: bool) -> Result<Vec<Entry>, StoreError>;

    /// Where every record of a run, its frames, its nodes and its tasks stands, oldest first. All of one moment. What a damaged
    /// chain leads to is found as well, as far as it can be.
    fn run_stamps(&mut self, run: RunId) -> Result<Vec<Stamp>, StoreError>;

    /// These records without their payloads, in the order of their numbers, in which they are asked for; what is gone is left out.
    fn entries(&mut self, records: &[RecordSeq]) -> Result<Vec<Decoded>, StoreError>;

    /// The payloads of these records, in the same order; `None` where a record has none or is gone.
    fn payloads(&mut self, records: &[RecordSeq]) -> Result<Vec<Option<Payload>>, StoreError>;

    /// Which of these blobs some record mentions, in the same order. Of what is committed now, unless a moment is held.
    fn blobs_mentioned(&mut self, blobs: &[BlobId]) -> Result<Vec<bool>, StoreError>;

    /// The blobs that a record mentions, by their ids.
    fn mentioned_by(&mut self, record: RecordSeq) -> Result<Vec<BlobId>, StoreError>;

    /// The blobs after this one that records mention, by their ids, each with the oldest record that does.
    fn mentions(&mut self, after: Option<&BlobId>, limit: usize) -> Result<Vec<(BlobId, RecordSeq)>, StoreError>;

    /// The oldest record whose value this blob stands for.
    fn valued_by(&mut self, blob: &BlobId) -> Result<Option<RecordSeq>, StoreError>;

    /// One owner's records with their payloads, newest first, walking its chain back from `last`.
    fn history(&mut self, last: RecordSeq, limit: usize) -> Result<Vec<Entry>, StoreError>;

    /// Of the `limit` records after `after`, oldest first, those whose owner's name begins with one of these. The others are
    /// passed over unread. Payloads left out.
    fn stretch(&mut self, after: RecordSeq, limit: usize, owners: &[&str]) -> Result<Stretch, StoreError>;

    /// All of them: the stream's catch-up.
    fn records(&mut self, after: RecordSeq, limit: usize) -> Result<Vec<Entry>, StoreError> {
        self.stretch(after, limit, &[""]).map(|stretch| stretch.entries)
    }

    /// The number of the newest record.
    fn last_record(&mut self) -> Result<RecordSeq, StoreError>;

    /// Every row of a table, raw and unchecked, by primary key.
    fn scan(&mut self, table: &'static Table, each: &mut dyn FnMut(Row)) -> Result<(), StoreError>;

    /// Every record with its payload, oldest first. A record that does not decode is handed over as its number and
    /// the column that does not fit.
    fn scan_records(&mut self, each: &mut dyn FnMut(Decoded)) -> Result<(), StoreError>;

    /// From here to `release`, every answer is of this one moment, while the writer goes on. The store cannot clean
    /// up behind a moment that is held, so this is for `verify`, which must see rows and records of the same batch.
    fn hold(&mut self) -> Result<(), StoreError>;

    fn release(&mut self) -> Result<(), StoreError>;
}
