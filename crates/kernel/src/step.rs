//! One batch of decisions. A step hands out the state to read; `record` appends a fact and applies it at once, so a
//! cascade sees its own facts. Follow-ups run first in, first out, to quiescence in the same batch.

use crate::ids::{BulkId, RecordSeq, TaskId};
use crate::limits::{ID_BLOCK, RECORD_BLOCK};
use crate::record::{Entry, KeyRef, Owner, Payload, Record};
use crate::state::State;
use crate::time::Time;
use std::collections::VecDeque;

/// A consequence on the same shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FollowUp {
    /// This task is done: those that wait for it move on.
    Unblock { blocker: TaskId },
}

pub struct Step<'a> {
    state: &'a mut State,
    now: Time,
    entries: Vec<Entry>,
    dirty_tasks: Vec<TaskId>,
    dirty_others: Vec<Owner>,
    pub(crate) follow_ups: VecDeque<FollowUp>,
}

/// What a step did: its records in order, and each owner it touched, once.
#[derive(Debug, Default)]
pub struct Stepped {
    pub entries: Vec<Entry>,
    pub dirty: Vec<Owner>,
}

impl<'a> Step<'a> {
    pub fn new(state: &'a mut State, now: Time) -> Step<'a> {
        Step { state, now, entries: Vec::new(), dirty_tasks: Vec::new(), dirty_others: Vec::new(), follow_ups: VecDeque::new() }
    }

    pub fn state(&self) -> &State {
        self.state
    }

    pub fn now(&self) -> Time {
        self.now
    }

    pub fn records(&self) -> usize {
        self.entries.len()
    }

    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    pub fn finish(mut self) -> Stepped {
        assert!(self.follow_ups.is_empty(), "a step ends when its cascades have");
        self.dirty_tasks.sort_unstable();
        self.dirty_tasks.dedup();
        self.dirty_others.sort_unstable();
        self.dirty_others.dedup();
        let mut dirty = self.dirty_others;
        dirty.extend(self.dirty_tasks.into_iter().map(Owner::Task));
        Stepped { entries: self.entries, dirty }
    }

    pub(crate) fn follow(&mut self, follow_up: FollowUp) {
        if !crate::defect("lost_follow_up") {
            self.follow_ups.push_back(follow_up);
        }
    }

    /// The id of the next thing; taken by the record that creates it.
    fn next_id(&mut self) -> u64 {
        let shard = &self.state.shard;
        if shard.ids_next >= shard.ids_reserved {
            let (ids, records) = (shard.ids_next + ID_BLOCK, shard.records_reserved.max(shard.records_next + RECORD_BLOCK));
            self.append(Owner::Shard, RecordSeq::NONE, Record::IdsReserved { ids, records }, None);
        }
        let id = self.state.shard.ids_next;
        self.state.shard.ids_next += 1;
        id
    }

    pub(crate) fn new_task(&mut self) -> TaskId {
        let id = self.next_id();
        TaskId::new(id, self.state.shard.id)
    }

    pub(crate) fn new_bulk(&mut self) -> BulkId {
        let id = self.next_id();
        BulkId::new(id, self.state.shard.id)
    }

    pub(crate) fn record_task(&mut self, task: TaskId, record: Record) -> RecordSeq {
        self.record_task_with(task, record, None)
    }

    pub(crate) fn record_task_with(&mut self, task: TaskId, record: Record, payload: Option<Payload>) -> RecordSeq {
        let prev = self.state.task(task).map_or(RecordSeq::NONE, |task| task.card().last());
        self.dirty_tasks.push(task);
        self.record(Owner::Task(task), prev, record, payload)
    }

    pub(crate) fn record_queue(&mut self, queue: &crate::names::QueueName, record: Record) -> RecordSeq {
        let prev = self.state.queue(queue).map_or(RecordSeq::NONE, |queue| queue.last());
        self.record_other(Owner::Queue(queue.clone()), prev, record)
    }

    pub(crate) fn record_key(&mut self, key: &KeyRef, record: Record) -> RecordSeq {
        let prev = self.state.permits.get(key).map_or(RecordSeq::NONE, |permits| permits.last);
        self.record_other(Owner::Key(key.clone()), prev, record)
    }

    pub(crate) fn record_bulk(&mut self, bulk: BulkId, record: Record) -> RecordSeq {
        let prev = self.state.bulk(bulk).map_or(RecordSeq::NONE, |bulk| bulk.last());
        self.record_other(Owner::Bulk(bulk), prev, record)
    }

    fn record_other(&mut self, owner: Owner, prev: RecordSeq, record: Record) -> RecordSeq {
        self.dirty_others.push(owner.clone());
        self.record(owner, prev, record, None)
    }

    fn record(&mut self, owner: Owner, prev: RecordSeq, record: Record, payload: Option<Payload>) -> RecordSeq {
        let shard = &self.state.shard;
        // One number is kept back for the record that promises the next block.
        if shard.records_next + 1 >= shard.records_reserved {
            let (ids, records) = (shard.ids_reserved.max(shard.ids_next), shard.records_next + RECORD_BLOCK);
            self.append(Owner::Shard, RecordSeq::NONE, Record::IdsReserved { ids, records }, None);
        }
        self.append(owner, prev, record, payload)
    }

    fn append(&mut self, owner: Owner, prev: RecordSeq, record: Record, payload: Option<Payload>) -> RecordSeq {
        let seq = RecordSeq(self.state.shard.records_next);
        let prev = if owner == Owner::Shard { self.state.shard.last } else { prev };
        if owner == Owner::Shard {
            self.dirty_others.push(Owner::Shard);
        }
        self.state.shard.records_next += 1;
        let entry = Entry { seq, prev, at: self.now, owner, record, payload };
        self.state.apply(&entry);
        self.entries.push(entry);
        seq
    }
}
