//! One batch of decisions. A step hands out the state to read; `record` appends a fact and applies it at once, so a
//! cascade sees its own facts. Follow-ups run first in, first out, to quiescence in the same batch.

use crate::eval::{Evaluated, Flow, Scope, Shape};
use crate::frame::FramePath;
use crate::ids::{BulkId, EventId, RecordSeq, RunId, TaskId};
use crate::ir::{ExprIx, Ir};
use crate::limits::{ID_BLOCK, RECORD_BLOCK, STEP_BYTES_MAX, STEP_COST_MAX, STEP_RECORDS_MAX};
use crate::message::{Ending, Message};
use crate::names::{Pattern, WorkflowName};
use crate::record::{Entry, Failure, KeyRef, Owner, Payload, Record};
use crate::run::ValueAt;
use crate::runs::{Awaits, Held, Inquiry, Leaving, Spot, Unfits};
use crate::state::State;
use crate::time::Time;
use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

/// A consequence on the same shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum FollowUp {
    /// This task is done: those that wait for it move on.
    Unblock {
        blocker: TaskId,
    },
    /// Tokens may have come to this node.
    Arrive(Spot),
    /// All nodes of this frame may have ended.
    Close(RunId, FramePath),
    Hear(Message),
}

pub struct Step<'a> {
    state: &'a mut State,
    now: Time,
    entries: Vec<Entry>,
    /// The number of its first record, or a later one's.
    first: RecordSeq,
    dirty_tasks: Vec<TaskId>,
    /// Once each, as long as none of them is forgotten.
    dirty_keys: Vec<KeyRef>,
    keys_forgotten: bool,
    dirty_others: Vec<Owner>,
    pub(crate) follow_ups: VecDeque<FollowUp>,
    flow: Option<&'a mut dyn Flow>,
    /// Which messages are for another shard.
    elsewhere: fn(&Message) -> bool,
    outbox: Vec<Message>,
    opened: usize,
    dropped: usize,
    told: usize,
    followed: usize,
    bytes: usize,
    /// Of what was asked of workflows.
    cost: u64,
    forgotten: Vec<(Owner, RecordSeq)>,
}

/// What a step did: its records in order, and each owner it touched, once.
#[derive(Debug, Default)]
pub struct Stepped {
    pub entries: Vec<Entry>,
    pub dirty: Vec<Owner>,
    /// What other shards are to be told, in order.
    pub outbox: Vec<Message>,
    /// Owners that go without a record of it, and the newest of their records.
    pub forgotten: Vec<(Owner, RecordSeq)>,
}

impl<'a> Step<'a> {
    pub fn new(state: &'a mut State, now: Time) -> Step<'a> {
        Step {
            first: RecordSeq(state.shard.records_next),
            state,
            now,
            entries: Vec::new(),
            dirty_tasks: Vec::new(),
            dirty_keys: Vec::new(),
            keys_forgotten: false,
            dirty_others: Vec::new(),
            follow_ups: VecDeque::new(),
            flow: None,
            elsewhere: |_| false,
            outbox: Vec::new(),
            opened: 0,
            dropped: 0,
            told: 0,
            followed: 0,
            bytes: 0,
            cost: 0,
            forgotten: Vec::new(),
        }
    }

    /// With workflows to ask.
    pub fn with_flow(state: &'a mut State, now: Time, flow: &'a mut dyn Flow) -> Step<'a> {
        Step { flow: Some(flow), ..Step::new(state, now) }
    }

    /// On a shard that has only queues, or only runs.
    pub fn without(mut self, elsewhere: fn(&Message) -> bool) -> Step<'a> {
        self.elsewhere = elsewhere;
        self
    }

    pub(crate) fn send(&mut self, message: Message) {
        if (self.elsewhere)(&message) {
            self.outbox.push(message);
        } else {
            self.follow(FollowUp::Hear(message));
        }
    }

    /// Asks of a workflow, and notes what it cost.
    fn asked<T>(&mut self, ask: impl FnOnce(&mut dyn Flow) -> T) -> T {
        let flow = &mut **self.flow.as_mut().expect("a step over runs has workflows to ask");
        let answer = ask(flow);
        self.cost = self.cost.saturating_add(flow.spent());
        answer
    }

    pub(crate) fn eval(&mut self, ir: &Arc<Ir>, expr: ExprIx, scope: &Scope) -> Evaluated {
        self.asked(|flow| flow.eval(ir, expr, scope))
    }

    pub(crate) fn misfit(&mut self, ir: &Arc<Ir>, input: &Payload) -> Option<Failure> {
        self.asked(|flow| flow.misfit(ir, input))
    }

    pub(crate) fn gather(&mut self, shape: &Shape) -> Evaluated {
        self.asked(|flow| flow.gather(shape))
    }

    pub(crate) fn list(&mut self, items: &[ValueAt]) -> Evaluated {
        self.asked(|flow| flow.list(items))
    }

    /// In steps of evaluation, of all that was asked in this batch.
    pub fn cost(&self) -> u64 {
        self.cost
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
        self.state.runs.held.cool();
        self.dirty_tasks.sort_unstable();
        self.dirty_tasks.dedup();
        self.dirty_others.sort_unstable();
        self.dirty_others.dedup();
        if self.keys_forgotten {
            self.dirty_keys.sort_unstable();
            self.dirty_keys.dedup();
        }
        let mut dirty = self.dirty_others;
        dirty.extend(self.dirty_keys.into_iter().map(Owner::Key));
        dirty.extend(self.dirty_tasks.into_iter().map(Owner::Task));
        Stepped { entries: self.entries, dirty, outbox: self.outbox, forgotten: self.forgotten }
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
        let result = match &record {
            Record::TaskDone { .. } => payload.clone().map(Ending::Carried),
            Record::TaskFailed { failure, .. } => Some(Ending::Failed(failure.clone())),
            Record::TaskCancelled { by, reason, .. } => Some(Ending::Cancelled { by: by.clone(), reason: reason.clone() }),
            _ => None,
        };
        let node = result.as_ref().and_then(|_| self.state.task(task)?.card().node().cloned());
        let seq = self.record(Owner::Task(task), prev, record, payload);
        if let (Some(result), Some(at)) = (result, node) {
            let carried = Message::TaskEnded { at, task, result };
            let message = match carried {
                // A run on this shard finds the value where it is.
                Message::TaskEnded { at, task, result: Ending::Carried(_) } if !(self.elsewhere)(&carried) => {
                    Message::TaskEnded { at, task, result: Ending::Done(ValueAt::Record(seq)) }
                }
                carried => carried,
            };
            self.send(message);
        }
        seq
    }

    pub(crate) fn record_queue(&mut self, queue: &crate::names::QueueName, record: Record) -> RecordSeq {
        let prev = self.state.queue(queue).map_or(RecordSeq::NONE, |queue| queue.last());
        self.record_other(Owner::Queue(queue.clone()), prev, record)
    }

    pub(crate) fn record_key(&mut self, key: &KeyRef, record: Record) -> RecordSeq {
        let prev = self.state.permits.get(key).map_or(RecordSeq::NONE, |permits| permits.last);
        if prev < self.first {
            self.dirty_keys.push(key.clone());
        }
        self.keys_forgotten |= matches!(record, Record::PermitsForgotten {});
        self.record(Owner::Key(key.clone()), prev, record, None)
    }

    pub(crate) fn record_bulk(&mut self, bulk: BulkId, record: Record) -> RecordSeq {
        let prev = self.state.bulk(bulk).map_or(RecordSeq::NONE, |bulk| bulk.last());
        self.record_other(Owner::Bulk(bulk), prev, record)
    }

    pub(crate) fn new_event(&mut self) -> EventId {
        let id = self.next_id();
        EventId::new(id, self.state.shard.id)
    }

    pub(crate) fn record_event(&mut self, event: EventId, record: Record, data: Option<Payload>) -> RecordSeq {
        let prev = self.state.event(event).map_or(RecordSeq::NONE, |event| event.last());
        let owner = Owner::Event(event);
        self.dirty_others.push(owner.clone());
        self.record(owner, prev, record, data)
    }

    pub(crate) fn record_registry(&mut self, record: Record, text: Payload) {
        let prev = self.state.registry().last();
        self.dirty_others.push(Owner::Registry);
        self.record(Owner::Registry, prev, record, Some(text));
    }

    pub(crate) fn record_families(&mut self, families: &Pattern, record: Record) {
        let prev = self.state.control(families).map_or(RecordSeq::NONE, |control| control.last());
        self.record_other(Owner::Families(families.clone()), prev, record);
    }

    pub(crate) fn forget_event(&mut self, event: EventId) {
        if let Some(gone) = self.state.forget_event(event) {
            self.forget(Owner::Event(event), gone.last());
        }
    }

    pub(crate) fn new_run(&mut self) -> RunId {
        let id = self.next_id();
        RunId::new(id, self.state.shard.id)
    }

    pub(crate) fn record_run(&mut self, run: RunId, record: Record, payload: Option<Payload>) -> RecordSeq {
        let prev = self.state.runs.get(run).map_or(RecordSeq::NONE, |live| live.run.last);
        let owner = Owner::Run(run);
        self.dirty_others.push(owner.clone());
        self.record(owner, prev, record, payload)
    }

    pub(crate) fn record_frame(&mut self, run: RunId, path: &FramePath, record: Record, payload: Option<Payload>) -> RecordSeq {
        let prev = self.state.runs.get(run).and_then(|live| live.frame(path)).map_or(RecordSeq::NONE, |frame| frame.last);
        let owner = Owner::Frame(run, path.clone());
        self.dirty_others.push(owner.clone());
        self.record(owner, prev, record, payload)
    }

    pub(crate) fn record_node(&mut self, spot: &Spot, record: Record, payload: Option<Payload>) -> RecordSeq {
        let live = self.state.runs.get(spot.run).expect("a node's run is live");
        let prev = live.last_of(&spot.frame, spot.node);
        let owner = Owner::Node(live.at(&spot.frame, spot.node));
        self.dirty_others.push(owner.clone());
        self.record(owner, prev, record, payload)
    }

    /// It cannot go on before a value is fetched.
    pub(crate) fn hold(&mut self, held: Held, missing: Vec<RecordSeq>) {
        self.state.runs.held.until(held, missing, self.now);
    }

    /// Who looks back at events: no facts, only how far they have come.
    pub(crate) fn awaits(&mut self) -> &mut Awaits {
        &mut self.state.runs.awaits
    }

    /// It does not wake by itself before it was looked at again.
    pub(crate) fn overlook(&mut self, at: Time, spot: &Spot) {
        self.state.runs.wakes.remove(&(at, spot.clone()));
    }

    /// It goes on in the next batch.
    pub(crate) fn hold_over(&mut self, held: Held) {
        self.state.runs.held.over(held);
    }

    pub(crate) fn take_held(&mut self) -> Vec<Held> {
        self.state.runs.held.take_ready()
    }

    pub(crate) fn late(&mut self, run: RunId, before: Time) -> Vec<(Held, RecordSeq)> {
        self.state.runs.held.late(run, before)
    }

    pub(crate) fn came(&mut self, values: &[(RecordSeq, usize)]) {
        self.state.runs.held.came(values);
    }

    /// What a version of a workflow, or its newest, compiles to; `None`: there is none.
    pub(crate) fn ir(&mut self, name: &WorkflowName, version: Option<u32>) -> Option<Result<(u32, Arc<Ir>), String>> {
        let known = self.state.runs.workflow(name, version)?;
        let version = known.workflow.version;
        if let Some(ir) = &known.ir {
            return Some(Ok((version, ir.clone())));
        }
        let workflow = known.workflow.clone();
        let compiled = self.asked(|flow| flow.compile(&workflow));
        Some(compiled.map(|ir| {
            self.learn(name, version, ir.clone());
            (version, ir)
        }))
    }

    pub(crate) fn learn(&mut self, name: &WorkflowName, version: u32, ir: Arc<Ir>) {
        self.state.runs.learn(name, version, ir);
    }

    /// The text that the next record of this run has it follow.
    pub(crate) fn learn_revision(&mut self, run: RunId, revision: u32, ir: Arc<Ir>) {
        self.state.runs.learn_revision(run, revision, Ok(ir));
    }

    pub(crate) fn record_workflow(&mut self, name: &WorkflowName, version: u32, record: Record) {
        let known = self.state.runs.workflow(name, Some(version));
        let prev = known.map_or(RecordSeq::NONE, |known| known.workflow.last);
        self.record_other(Owner::Workflow(name.clone(), version), prev, record);
    }

    /// The first record of an owner.
    pub(crate) fn record_fresh(&mut self, owner: Owner, record: Record, payload: Payload) {
        self.dirty_others.push(owner.clone());
        self.record(owner, RecordSeq::NONE, record, Some(payload));
    }

    pub(crate) fn record_shard(&mut self, record: Record) {
        self.record(Owner::Shard, RecordSeq::NONE, record, None);
    }

    pub(crate) fn swept(&mut self) -> Vec<RunId> {
        self.state.runs.swept(self.now)
    }

    /// What is known of the runs that are being deleted, and of what the queues said of tasks: no facts, only what is under way.
    pub(crate) fn leaving(&mut self) -> &mut Leaving {
        &mut self.state.runs.leaving
    }

    /// Runs that cannot go on, and what they had begun.
    pub(crate) fn unfit(&mut self) -> &mut Unfits {
        &mut self.state.runs.unfit
    }

    pub(crate) fn inquiries(&mut self) -> &mut BTreeMap<RunId, Inquiry> {
        &mut self.state.runs.inquiries
    }

    /// It goes, with its history.
    pub(crate) fn forget(&mut self, owner: Owner, last: RecordSeq) {
        self.forgotten.push((owner, last));
    }

    pub(crate) fn forget_task(&mut self, task: TaskId) {
        if let Some(last) = self.state.forget(task) {
            self.forget(Owner::Task(task), last);
        }
    }

    pub(crate) fn forget_run(&mut self, run: RunId, last: RecordSeq) {
        self.state.runs.forget(run);
        // What was said of it in this batch is not written as a row.
        self.dirty_others.retain(|owner| *owner != Owner::Run(run));
        self.forget(Owner::Run(run), last);
    }

    /// Nobody waits for what goes on in this frame.
    pub(crate) fn orphan(&mut self, run: RunId, path: &FramePath) {
        self.state.runs.orphans.insert((run, path.clone()));
    }

    /// Nothing goes on in it any more.
    pub(crate) fn adopt(&mut self, run: RunId, path: &FramePath) {
        self.state.runs.orphans.remove(&(run, path.clone()));
    }

    /// Enough was written, or worked out, for one batch.
    pub(crate) fn is_full(&self) -> bool {
        self.entries.len() >= STEP_RECORDS_MAX || self.bytes >= STEP_BYTES_MAX || self.cost >= STEP_COST_MAX
    }

    /// What was told in this batch of pauses and of their ends.
    pub(crate) fn told(&self) -> usize {
        self.told
    }

    /// What a run works on hears that it is paused, or goes on.
    pub(crate) fn tell(&mut self, message: Message) {
        self.told += 1;
        self.send(message);
    }

    /// The rest of it hears in the next batch.
    pub(crate) fn tell_from(&mut self, run: RunId, path: FramePath) {
        self.state.runs.tell_from(run, path);
    }

    /// Turns and items that were looked at in this batch because their run was patched.
    pub(crate) fn followed(&self) -> usize {
        self.followed
    }

    pub(crate) fn note_followed(&mut self, many: usize) {
        self.followed += many;
    }

    /// The rest of them is looked at in the next batch.
    pub(crate) fn follow_from(&mut self, run: RunId, path: FramePath) {
        self.state.runs.follow_from(run, path);
    }

    pub(crate) fn forget_recall(&mut self, run: RunId, again: u32) {
        self.state.runs.forget_recall(run, again);
    }

    /// Frames that were opened in this batch, or taken up again.
    pub(crate) fn opened(&self) -> usize {
        self.opened
    }

    /// Nodes and frames that were ended for nobody in this batch.
    pub(crate) fn dropped(&self) -> usize {
        self.dropped
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
        match &record {
            Record::FrameOpened { .. } | Record::FrameReopened { .. } => self.opened += 1,
            Record::FrameDropped {} | Record::NodeCancelled {} => self.dropped += 1,
            _ => {}
        }
        self.bytes += payload.as_ref().map_or(0, |payload| payload.text().len());
        if let (Some(flow), Some(payload)) = (&mut self.flow, &payload)
            && is_value(self.state, &owner, &record)
        {
            flow.keep(seq, payload);
        }
        let entry = Entry { seq, prev, at: self.now, owner, record, payload };
        self.state.apply(&entry);
        self.entries.push(entry);
        seq
    }
}

/// Whether an expression may ask for it.
fn is_value(state: &State, owner: &Owner, record: &Record) -> bool {
    match (owner, record) {
        (Owner::Run(_) | Owner::Frame(..) | Owner::Node(_), _) => true,
        (Owner::Event(_), Record::EventReceived { spec, .. }) => state.runs.awaits.is_awaited(&spec.name),
        (Owner::Task(task), Record::TaskDone { .. }) => state.task(*task).is_some_and(|task| task.card().node().is_some()),
        _ => false,
    }
}
