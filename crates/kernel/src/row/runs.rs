//! Rows of runs, their frames and nodes. What a node that was started is at, and what it gave, share columns: a node is
//! only ever one of them.

use super::{BadRow, Columns, Kind, Row, Table, Value, flag, json, json_list};
use crate::frame::{Cause, FramePath, FrameState, revision_after};
use crate::ids::{EventId, RecordSeq, RunId, TaskId};
use crate::ir::OnError;
use crate::names::{Actor, IdempotencyKey, NodeId, WorkflowName};
use crate::node::{Awaiting, NodeState, Output, Slot, Started, Was, Went};
use crate::priority::Priority;
use crate::record::{Entry, Failure};
use crate::run::{Deleting, NodeAt, Origin, Patch, Run, RunPause, RunSpec, RunStatus, ValueAt};
use crate::workflow::Workflow;

pub static RUNS: Table = Table {
    name: "runs",
    key: 1,
    columns: &[
        ("id", Kind::Int),
        ("last", Kind::Int),
        ("status", Kind::Text),
        ("live", Kind::Int),
        ("deleting", Kind::Text),
        ("workflow", Kind::Text),
        ("version", Kind::Int),
        ("generation", Kind::Int),
        ("priority", Kind::Int),
        ("tags", Kind::Text),
        ("idempotency_key", Kind::Text),
        ("parent", Kind::Text),
        ("depth", Kind::Int),
        ("deadline", Kind::Int),
        ("input", Kind::Int),
        ("output", Kind::Text),
        ("error_code", Kind::Text),
        ("error_message", Kind::Text),
        ("pause", Kind::Text),
        ("held", Kind::Int),
        ("caller_pause", Kind::Int),
        ("pauses", Kind::Int),
        ("telling", Kind::Int),
        ("again", Kind::Int),
        ("given_ms", Kind::Int),
        ("started_at", Kind::Int),
        ("ended_at", Kind::Int),
        ("origin", Kind::Text),
        ("patches", Kind::Text),
        ("asked_ms", Kind::Int),
        ("opened_at", Kind::Int),
        ("following", Kind::Int),
        ("task", Kind::Int),
        ("event", Kind::Int),
    ],
};

pub static WORKFLOWS: Table = Table {
    name: "workflows",
    key: 2,
    columns: &[
        ("name", Kind::Text),
        ("version", Kind::Int),
        ("last", Kind::Int),
        ("put_at", Kind::Int),
        ("put_by", Kind::Text),
        ("text", Kind::Text),
        ("disabled", Kind::Text),
    ],
};

/// Without the run's own frame, which has no row.
pub static FRAMES: Table = Table {
    name: "frames",
    key: 2,
    columns: &[
        ("run", Kind::Int),
        ("path", Kind::Text),
        ("last", Kind::Int),
        ("status", Kind::Text),
        ("output", Kind::Text),
        ("revision", Kind::Int),
    ],
};

pub static NODES: Table = Table {
    name: "nodes",
    key: 3,
    columns: &[
        ("run", Kind::Int),
        ("frame", Kind::Text),
        ("node", Kind::Text),
        ("last", Kind::Int),
        ("entered", Kind::Int),
        ("status", Kind::Text),
        ("work", Kind::Text),
        ("since", Kind::Int),
        ("ended_at", Kind::Int),
        ("task", Kind::Int),
        ("call", Kind::Int),
        ("until", Kind::Int),
        ("count", Kind::Int),
        ("again", Kind::Int),
        ("value", Kind::Text),
        ("output", Kind::Text),
        ("went", Kind::Text),
        ("cause", Kind::Text),
        ("error_code", Kind::Text),
        ("error_message", Kind::Text),
        ("generation", Kind::Int),
        ("awaiting", Kind::Text),
    ],
};

impl ValueAt {
    /// `null`, `r17`, or `r17[4]` for an item.
    fn to_column(self) -> Value {
        match self {
            ValueAt::Null => Value::Null,
            ValueAt::Own => unreachable!("what is kept says which record holds it"),
            ValueAt::Record(seq) => format!("r{}", seq.0).as_str().into(),
            ValueAt::Item(seq, index) => format!("r{}[{index}]", seq.0).as_str().into(),
        }
    }

    fn parse(text: &str) -> Option<ValueAt> {
        let number = |text: &str| text.parse::<u64>().ok().filter(|n| *n > 0 && n.to_string() == text).map(RecordSeq);
        let rest = text.strip_prefix('r')?;
        match rest.strip_suffix(']') {
            None => number(rest).map(ValueAt::Record),
            Some(rest) => {
                let (seq, index) = rest.split_once('[')?;
                let index = index.parse::<u32>().ok().filter(|n| n.to_string() == index)?;
                number(seq).map(|seq| ValueAt::Item(seq, index))
            }
        }
    }
}

impl Columns<'_> {
    fn run(&mut self) -> Result<RunId, BadRow> {
        let id = self.int()?;
        RunId::from_number(id).ok_or_else(|| self.bad("not a run's id"))
    }

    fn value_at(&mut self) -> Result<ValueAt, BadRow> {
        let text = self.text_or_null()?;
        text.map_or(Some(ValueAt::Null), ValueAt::parse).ok_or_else(|| self.bad("not where a value is"))
    }

    fn frame(&mut self) -> Result<FramePath, BadRow> {
        let text = self.text()?;
        FramePath::parse(text).ok_or_else(|| self.bad(format!("`{text}` is not the path of a frame")))
    }

    /// In milliseconds.
    fn span_or_null(&mut self) -> Result<Option<u64>, BadRow> {
        self.int_or_null()?.map(u64::try_from).transpose().map_err(|_| self.bad("negative"))
    }

    fn failure(&mut self) -> Result<Option<Failure>, BadRow> {
        let code = self.text_or_null()?.map(str::to_owned);
        let message = self.text_or_null()?.map(str::to_owned);
        match (code, message) {
            (Some(code), Some(message)) => Ok(Some(Failure { code, message })),
            (None, None) => Ok(None),
            _ => Err(self.bad("an error has a code and a message")),
        }
    }
}

fn failure(failure: Option<&Failure>) -> [Value; 2] {
    let part = |part: fn(&Failure) -> &str| failure.map_or(Value::Null, |failure| part(failure).into());
    [part(|failure| &failure.code), part(|failure| &failure.message)]
}

impl Run {
    pub fn to_row(&self) -> Row {
        let spec = &*self.spec;
        let [error_code, error_message] = failure(self.failure.as_deref());
        let values = vec![
            Value::Int(self.id.number()),
            self.last.into(),
            self.status.as_str().into(),
            flag(self.live),
            self.deleting.as_ref().map_or(Value::Null, json),
            spec.workflow.shared().into(),
            Value::Int(spec.version.into()),
            Value::Int(self.generation.into()),
            spec.priority.map_or(Value::Null, |priority| Value::Int(priority.head_start_s().into())),
            json_list(&spec.tags),
            spec.idempotency_key.as_ref().map_or(Value::Null, |key| key.shared().into()),
            spec.parent.as_ref().map_or(Value::Null, json),
            Value::Int(spec.depth.into()),
            spec.deadline.into(),
            self.input.into(),
            self.output.to_column(),
            error_code,
            error_message,
            self.pause.as_ref().map_or(Value::Null, json),
            flag(self.hold.held),
            Some(i64::from(self.hold.pause)).filter(|pause| *pause > 0).into(),
            Value::Int(self.pauses.into()),
            flag(self.telling),
            Value::Int(self.again.into()),
            self.given_ms.map(|ms| ms as i64).into(),
            self.started_at.into(),
            self.ended_at.into(),
            spec.origin.as_ref().map_or(Value::Null, json),
            json_list(&self.patches),
            spec.asked_ms.map(|ms| ms as i64).into(),
            self.opened_at.into(),
            flag(self.following),
            spec.task.map(TaskId::number).into(),
            spec.event.map(EventId::number).into(),
        ];
        Row { table: &RUNS, values }
    }

    pub fn from_row(values: &[Value]) -> Result<Run, BadRow> {
        let mut c = Columns::new(&RUNS, values)?;
        let id = c.run()?;
        let last = c.seq()?;
        let status = c.text()?;
        let status = RunStatus::parse(status).ok_or_else(|| c.bad(format!("`{status}` is not a status")))?;
        let live = c.flag()?;
        let deleting: Option<Box<Deleting>> = c.json_or_null()?.map(Box::new);
        let workflow = c.name(WorkflowName::parse)?;
        let version = c.within()?;
        let generation = c.within()?;
        let priority = c.int_or_null()?.map(Priority::seconds);
        let priority = priority.map(|priority| priority.ok_or_else(|| c.bad("not a priority"))).transpose()?;
        let tags = c.json_or_null()?.unwrap_or_default();
        let idempotency_key = c.name_or_null(IdempotencyKey::parse)?;
        let parent: Option<NodeAt> = c.json_or_null()?;
        let depth = c.within()?;
        let deadline = c.time_or_null()?;
        let input = c.seq()?;
        let output = c.value_at()?;
        let failure = c.failure()?.map(Box::new);
        let pause: Option<Box<RunPause>> = c.json_or_null()?.map(Box::new);
        let hold = c.hold()?;
        let pauses = c.within()?;
        let telling = c.flag()?;
        let again = c.within()?;
        let given_ms = c.span_or_null()?;
        let started_at = c.time()?;
        let ended_at = c.time_or_null()?;
        let origin: Option<Box<Origin>> = c.json_or_null()?.map(Box::new);
        let patches: Option<Vec<Patch>> = c.json_or_null()?;
        let asked_ms = c.span_or_null()?;
        let opened_at = c.time_or_null()?;
        let following = c.flag()?;
        let task = c.int_or_null()?;
        let task = task.map(|task| TaskId::from_number(task).ok_or_else(|| c.bad("not a task's id"))).transpose()?;
        let event = c.int_or_null()?;
        let event = event.map(|event| EventId::from_number(event).ok_or_else(|| c.bad("not an event's id"))).transpose()?;
        let running = status == RunStatus::Running;
        if running != ended_at.is_none() || (running && (!live || deleting.is_some())) || (deleting.is_some() && !live) {
            return Err(c.bad_at("ended_at", format!("does not fit a run that is {}", status.as_str())));
        }
        if !running && (pause.is_some() || hold.held || telling || following) {
            return Err(c.bad_at("pause", format!("set on a run that is {}", status.as_str())));
        }
        if (status == RunStatus::Failed) != failure.is_some() {
            return Err(c.bad_at("error_code", format!("does not fit a run that is {}", status.as_str())));
        }
        let spec = Box::new(RunSpec {
            workflow,
            version,
            priority,
            tags,
            idempotency_key,
            parent,
            deadline,
            asked_ms,
            depth,
            origin,
            task,
            event,
        });
        Ok(Run {
            id,
            last,
            status,
            live,
            deleting,
            spec,
            generation,
            patches: patches.unwrap_or_default().into(),
            input,
            output,
            failure,
            pause,
            hold,
            pauses,
            telling,
            again,
            given_ms,
            started_at,
            opened_at,
            following,
            ended_at,
        })
    }
}

impl Workflow {
    pub fn to_row(&self) -> Row {
        let (name, version) = (self.name.shared().into(), Value::Int(self.version.into()));
        let values = vec![
            name,
            version,
            self.last.into(),
            self.put_at.into(),
            self.put_by.shared().into(),
            (&self.text).into(),
            self.disabled.as_ref().map_or(Value::Null, json),
        ];
        Row { table: &WORKFLOWS, values }
    }

    pub fn from_row(values: &[Value]) -> Result<Workflow, BadRow> {
        let mut c = Columns::new(&WORKFLOWS, values)?;
        let name = c.name(WorkflowName::parse)?;
        let version = c.within()?;
        let last = c.seq()?;
        let put_at = c.time()?;
        let put_by = c.name(Actor::parse)?;
        let text = c.text()?.into();
        let disabled = c.json_or_null()?.map(Box::new);
        Ok(Workflow { name, version, last, put_at, put_by, text, disabled })
    }
}

/// A frame's row without its nodes, which have their own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FrameRow {
    pub run: RunId,
    pub path: FramePath,
    pub last: RecordSeq,
    pub state: FrameState,
    /// Which of the run's texts it follows.
    pub revision: u32,
}

impl FrameRow {
    /// A frame after one more of its records.
    pub fn fold(frame: Option<FrameRow>, run: RunId, path: &FramePath, entry: &Entry) -> FrameRow {
        let (before, revision) = frame.map_or((None, 0), |frame| (Some(frame.state), frame.revision));
        let (state, revision) = (FrameState::fold(before, entry), revision_after(revision, entry));
        FrameRow { run, path: path.clone(), last: entry.seq, state, revision }
    }

    pub fn to_row(&self) -> Row {
        let (status, output) = match self.state {
            FrameState::Open => ("open", Value::Null),
            FrameState::Done(output) => ("done", output.to_column()),
            FrameState::Failed => ("failed", Value::Null),
            FrameState::Dropped => ("dropped", Value::Null),
        };
        let path = self.path.to_string();
        let revision = Value::Int(self.revision.into());
        let values = vec![Value::Int(self.run.number()), path.as_str().into(), self.last.into(), status.into(), output, revision];
        Row { table: &FRAMES, values }
    }

    pub fn from_row(values: &[Value]) -> Result<FrameRow, BadRow> {
        let mut c = Columns::new(&FRAMES, values)?;
        let run = c.run()?;
        let path = c.frame()?;
        if path.is_root() {
            return Err(c.bad("the run's own frame has no row"));
        }
        let last = c.seq()?;
        let status = c.text()?;
        let unknown = c.bad(format!("`{status}` is not a status"));
        let output = c.value_at()?;
        let revision = c.within()?;
        let state = match status {
            "open" => FrameState::Open,
            "done" => FrameState::Done(output),
            "failed" => FrameState::Failed,
            "dropped" => FrameState::Dropped,
            _ => return Err(unknown),
        };
        Ok(FrameRow { run, path, last, state, revision })
    }
}

/// A node's row: where it is, and how it is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeRow {
    pub at: NodeAt,
    pub slot: Slot,
}

const PASSED: &str = "passed";

impl NodeRow {
    /// A node after one more of its records.
    pub fn fold(node: Option<NodeRow>, at: &NodeAt, entry: &Entry) -> NodeRow {
        let slot = node.map(|node| node.slot).unwrap_or_default();
        NodeRow { at: at.clone(), slot: slot.fold(entry) }
    }

    pub fn to_row(&self) -> Row {
        let NodeRow { at, slot } = self;
        let (mut work, mut since) = (Value::Null, Value::Null);
        let (mut task, mut call, mut until, mut count, mut again, mut value) =
            (Value::Null, Value::Null, Value::Null, Value::Null, Value::Null, Value::Null);
        let (mut of_generation, mut awaits) = (0, Value::Null);
        if let Some((started, at)) = slot.work() {
            work = at.as_str().into();
            since = started.into();
            match at {
                Started::Working { task: id } => task = Value::Int(id.number()),
                Started::Calling { run, again: often } => {
                    call = Value::Int(run.number());
                    again = Some(i64::from(*often)).filter(|often| *often > 0).into();
                }
                Started::Asking { until: at } => until = (*at).into(),
                Started::Sleeping { until: at } => until = (*at).into(),
                Started::Awaiting(awaiting) => {
                    until = awaiting.until.into();
                    awaits = json(&Awaiting { until: None, ..(**awaiting).clone() });
                }
                Started::Turning { init, kept, generation } => {
                    value = init.to_column();
                    count = Some(i64::from(*kept)).filter(|kept| *kept > 0).into();
                    of_generation = *generation;
                }
                Started::Spreading { items, count: items_count, again: is_again, generation } => {
                    value = items.to_column();
                    of_generation = *generation;
                    count = Value::Int((*items_count).into());
                    again = flag(*is_again);
                }
            }
        }
        let (mut output, mut went, mut cause, mut error) = (Value::Null, Value::Null, Value::Null, None);
        let status = match &slot.state {
            NodeState::Waiting => "waiting",
            NodeState::Started { .. } => "started",
            NodeState::Cancelled => "cancelled",
            NodeState::Done { output: told, went: way } => {
                output = if let Output::At(at) = told { at.to_column() } else { PASSED.into() };
                // Most go the plain way.
                went = if *way == Went::Done { Value::Null } else { json(way) };
                "done"
            }
            NodeState::Failed { failure, then } => {
                error = Some(&**failure);
                cause = then.as_str().into();
                "failed"
            }
            NodeState::Skipped(why) => {
                cause = why.as_str().into();
                "skipped"
            }
        };
        let [error_code, error_message] = failure(error);
        let frame = at.frame.to_string();
        let values = vec![
            Value::Int(at.run.number()),
            frame.as_str().into(),
            at.node.shared().into(),
            slot.last.into(),
            slot.entered.into(),
            status.into(),
            work,
            since,
            slot.ended_at.into(),
            task,
            call,
            until,
            count,
            again,
            value,
            output,
            went,
            cause,
            error_code,
            error_message,
            Some(i64::from(of_generation)).filter(|generation| *generation > 0).into(),
            awaits,
        ];
        Row { table: &NODES, values }
    }

    pub fn from_row(values: &[Value]) -> Result<NodeRow, BadRow> {
        let mut c = Columns::new(&NODES, values)?;
        let run = c.run()?;
        let frame = c.frame()?;
        let node = c.name(NodeId::parse)?;
        let last = c.seq()?;
        let entered = c.seq()?;
        let status = c.text()?;
        let unknown = c.bad(format!("`{status}` is not a status"));
        let work = c.text_or_null()?;
        let unknown_work = c.bad(format!("`{}` is not what a node is at", work.unwrap_or_default()));
        let since = c.time_or_null()?;
        let ended_at = c.time_or_null()?;
        let task = c.int_or_null()?.and_then(TaskId::from_number);
        let call = c.int_or_null()?.and_then(RunId::from_number);
        let until = c.time_or_null()?;
        let count = c.int_or_null()?.and_then(|count| u32::try_from(count).ok());
        let again = c.int_or_null()?.map(u32::try_from).transpose().map_err(|_| c.bad("out of range"))?.unwrap_or(0);
        let value = c.value_at()?;
        let passed = matches!(&c.values[c.at], Value::Text(text) if &**text == PASSED);
        let output = if passed { c.text().map(|_| ValueAt::Null)? } else { c.value_at()? };
        let went: Option<Went> = c.json_or_null()?;
        let cause = c.text_or_null()?;
        let failure = c.failure()?;
        let generation = c.int_or_null()?.map(u32::try_from).transpose().map_err(|_| c.bad("out of range"))?.unwrap_or(0);
        let awaiting: Option<Box<Awaiting>> = c.json_or_null()?;
        let misfit = || c.bad_at("status", format!("what a node that is {status} has is missing"));
        let at = match work {
            None => None,
            Some("working") => Some(Started::Working { task: task.ok_or_else(misfit)? }),
            Some("calling") => Some(Started::Calling { run: call.ok_or_else(misfit)?, again }),
            Some("asking") => Some(Started::Asking { until }),
            Some("sleeping") => Some(Started::Sleeping { until: until.ok_or_else(misfit)? }),
            Some("awaiting") => {
                let awaiting = awaiting.ok_or_else(misfit)?;
                Some(Started::Awaiting(Box::new(Awaiting { until, ..*awaiting })))
            }
            Some("turning") => Some(Started::Turning { init: value, kept: count.unwrap_or(0), generation }),
            Some("spreading") => {
                let count = count.ok_or_else(misfit)?;
                Some(Started::Spreading { items: value, count, again: again > 0, generation })
            }
            Some(_) => return Err(unknown_work),
        };
        let mut was = match at {
            Some(at) => Some(Box::new(Was { since: since.ok_or_else(misfit)?, at })),
            None => None,
        };
        let state = match status {
            "waiting" => NodeState::Waiting,
            "cancelled" => NodeState::Cancelled,
            "started" => {
                let Was { since, at } = *was.take().ok_or_else(misfit)?;
                NodeState::Started { since, at }
            }
            "done" => {
                let output = if passed { Output::Passed } else { Output::At(output) };
                NodeState::Done { output, went: went.unwrap_or(Went::Done) }
            }
            "failed" => {
                let then = cause.and_then(OnError::parse).ok_or_else(misfit)?;
                NodeState::Failed { failure: Box::new(failure.ok_or_else(misfit)?), then }
            }
            "skipped" => NodeState::Skipped(cause.and_then(Cause::parse).ok_or_else(misfit)?),
            _ => return Err(unknown),
        };
        if state.ended().is_some() != ended_at.is_some() {
            return Err(c.bad_at("ended_at", format!("does not fit a node that is {status}")));
        }
        let was = was.filter(|_| ended_at.is_some());
        Ok(NodeRow { at: NodeAt { run, frame, node }, slot: Slot { last, entered, state, was, ended_at } })
    }
}
