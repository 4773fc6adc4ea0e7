//! Runs, their frames and nodes as the records tell them, by the tables of the design: what does not fit is told. Parts of
//! a run that is being deleted go without a record; the world says when their rows are gone.

use crate::catalogue::{self, Text};
use kernel::frame::{Cause, FramePath};
use kernel::ids::{EventId, RecordSeq, RunId, TaskId};
use kernel::ir::{BodyIx, Ir, OnError, ROOT};
use kernel::names::{IdempotencyKey, NodeId, WorkflowName};
use kernel::node::{Awaiting, Started, Went};
use kernel::record::{Entry, Record};
use kernel::run::{NodeAt, RunStatus};
use kernel::time::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct RunModel {
    pub last: RecordSeq,
    pub status: RunStatus,
    /// It runs, or what was under way in it is being stopped, or it is being deleted.
    pub live: bool,
    /// In its own right, or with its caller.
    pub paused: bool,
    pub own_pause: bool,
    /// By its caller's pause.
    pub held: bool,
    /// The last pause of its caller it heard of.
    pub caller_pause: u32,
    /// How often it was paused.
    pub pauses: u32,
    /// Some of what it works on has yet to hear that it is paused, or is not any more.
    pub telling: bool,
    /// How often it was tried again.
    pub again: u32,
    /// How long it was given.
    pub given_ms: Option<u64>,
    /// And how long by whoever started it.
    pub asked_ms: Option<u64>,
    /// When it last began to go on.
    pub opened_at: Time,
    /// Not all under way has been looked at since it was patched.
    pub following: bool,
    pub deleting: bool,
    pub workflow: WorkflowName,
    pub key: Option<IdempotencyKey>,
    /// The node that called it.
    pub parent: Option<NodeAt>,
    /// The task that was handed over to it.
    pub task: Option<TaskId>,
    pub event: Option<EventId>,
    pub deadline: Option<Time>,
    pub started_at: Time,
    pub version: u32,
    /// How often it was restarted.
    pub generation: u32,
    /// All that it has followed, the newest last: its own frame goes by that.
    pub texts: Vec<Arc<Text>>,
    pub ir: Arc<Ir>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum FrameState {
    Open,
    Done,
    Failed,
    Dropped,
}

#[derive(Clone, Debug)]
pub struct FrameModel {
    pub last: RecordSeq,
    pub state: FrameState,
    /// Which of its run's texts it follows.
    pub revision: u32,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodeState {
    Waiting,
    Started(Started),
    Done(Went),
    Failed(OnError),
    Skipped(Cause),
    Cancelled,
}

#[derive(Clone, Debug)]
pub struct NodeModel {
    pub last: RecordSeq,
    /// When its last record was.
    pub at: Time,
    pub state: NodeState,
    /// What it was at when it ended.
    was: Option<Started>,
    /// Somebody said what it gives, whatever it waited for.
    pub set: bool,
}

impl NodeModel {
    /// What it is at, or was.
    pub fn work(&self) -> Option<&Started> {
        if let NodeState::Started(at) = &self.state { Some(at) } else { self.was.as_ref() }
    }
}

impl RunModel {
    pub fn revision(&self) -> u32 {
        self.texts.len() as u32 - 1
    }

    fn pause(&mut self, own: bool, held: bool, told: bool) {
        let paused = own || held;
        self.pauses += u32::from(paused && !self.paused);
        (self.own_pause, self.held, self.paused, self.telling) = (own, held, paused, !told);
    }
}

impl NodeState {
    pub fn is_over(&self) -> bool {
        !matches!(self, NodeState::Waiting | NodeState::Started(_))
    }
}

#[derive(Clone, Debug, Default)]
pub struct Runs {
    pub runs: BTreeMap<RunId, RunModel>,
    pub frames: BTreeMap<(RunId, FramePath), FrameModel>,
    pub nodes: BTreeMap<NodeAt, NodeModel>,
    pub workflows: BTreeMap<(WorkflowName, u32), (RecordSeq, Arc<Ir>)>,
    pub disabled: BTreeSet<(WorkflowName, u32)>,
    /// Tasks of runs, by run.
    pub tasks: BTreeMap<RunId, Vec<TaskId>>,
}

impl Runs {
    pub fn node(&self, at: &NodeAt) -> &NodeState {
        self.nodes.get(at).map_or(&NodeState::Waiting, |node| &node.state)
    }

    pub fn nodes_of(&self, run: RunId) -> impl Iterator<Item = (&NodeAt, &NodeModel)> {
        // No id in the catalogue comes before `a`.
        let first = NodeAt { run, frame: FramePath::root(), node: NodeId::parse("a").expect("an id") };
        self.nodes.range(first..).take_while(move |(at, _)| at.run == run)
    }

    pub fn frames_of(&self, run: RunId) -> impl Iterator<Item = (&FramePath, &FrameModel)> {
        let from = (run, FramePath::root());
        self.frames.range(from..).take_while(move |((of, _), _)| *of == run).map(|((_, path), frame)| (path, frame))
    }

    /// The frames that a loop or an each has opened, but for those that were undone.
    pub fn below<'a>(&'a self, at: &'a NodeAt) -> impl Iterator<Item = (&'a FramePath, &'a FrameModel)> {
        let below = |path: &FramePath| path.up().is_some_and(|(above, node, _)| above == at.frame && *node == at.node);
        self.frames_of(at.run).filter(move |(path, _)| below(path) && !self.is_undone(at.run, path))
    }

    /// The text that a frame follows.
    pub fn ir(&self, run: RunId, path: &FramePath) -> Option<&Arc<Ir>> {
        let known = self.runs.get(&run)?;
        if path.is_root() {
            return Some(&known.ir);
        }
        let revision = self.frames.get(&(run, path.clone()))?.revision;
        known.texts.get(revision as usize).map(|text| &text.ir)
    }

    /// Whether a restart has undone a turn or an item, or what it is in; or a patch has taken out what it belongs to.
    pub fn is_undone(&self, run: RunId, path: &FramePath) -> bool {
        let changed = self.runs.get(&run).is_some_and(|run| run.generation > 0 || run.revision() > 0);
        let Some((above, node, index)) = path.up().filter(|_| changed) else { return false };
        let of = at(run, &above, node);
        let by_its_node = match self.nodes.get(&of).and_then(NodeModel::work) {
            _ if self.ir(run, &above).is_none_or(|ir| ir.find(node).is_none()) => true,
            Some(Started::Turning { kept, generation, .. }) => index >= *kept && path.generation() < *generation,
            Some(Started::Spreading { generation, .. }) => path.generation() < *generation,
            _ => true,
        };
        let place = |generation| (run, above.below(node.clone(), index, generation));
        let mut newer = self.frames.range(place(path.generation() + 1)..=place(u32::MAX));
        by_its_node || newer.next().is_some() || self.is_undone(run, &above)
    }

    pub fn live(&self) -> impl Iterator<Item = (RunId, &RunModel)> {
        self.runs.iter().filter(|(_, run)| run.live).map(|(id, run)| (*id, run))
    }

    pub fn running(&self) -> impl Iterator<Item = (RunId, &RunModel)> {
        self.live().filter(|(_, run)| run.status == RunStatus::Running)
    }

    /// The open frames of a run that goes on, its own first.
    pub fn open_frames(&self, run: RunId) -> Vec<FramePath> {
        let open = self.frames_of(run).filter(|(path, frame)| frame.state == FrameState::Open && self.is_wanted(run, path));
        std::iter::once(FramePath::root()).chain(open.map(|(path, _)| path.clone())).collect()
    }

    pub fn is_wanted(&self, run: RunId, path: &FramePath) -> bool {
        let Some((above, node, _)) = path.up() else { return true };
        let at = NodeAt { run, frame: above, node: node.clone() };
        let goes_on = matches!(self.node(&at), NodeState::Started(_)) && !self.is_undone(run, path);
        goes_on && self.is_wanted(run, &at.frame)
    }

    pub fn last_of_frame(&self, run: RunId, path: &FramePath) -> Option<RecordSeq> {
        self.frames.get(&(run, path.clone())).map(|frame| frame.last)
    }

    fn newest(&self, name: &WorkflowName) -> Option<u32> {
        self.workflows.keys().filter(|(known, _)| known == name).map(|(_, version)| *version).max()
    }

    pub fn is_disabled(&self, name: &WorkflowName) -> bool {
        self.newest(name).is_some_and(|version| self.disabled.contains(&(name.clone(), version)))
    }

    pub fn fold_workflow(&mut self, name: &WorkflowName, version: u32, entry: &Entry) -> Result<(), String> {
        let disables = match &entry.record {
            Record::WorkflowDisabled { .. } => Some(true),
            Record::WorkflowEnabled { .. } => Some(false),
            _ => None,
        };
        if let Some(disables) = disables {
            let newest = self.newest(name) == Some(version);
            let Some((last, _)) = self.workflows.get_mut(&(name.clone(), version)).filter(|_| newest) else {
                return Err(format!("{} of version {version} of {name}, which is not the newest", entry.record.kind()));
            };
            *last = entry.seq;
            let key = (name.clone(), version);
            let changed = if disables { self.disabled.insert(key) } else { self.disabled.remove(&key) };
            return if changed { Ok(()) } else { Err(format!("{} of {name} changes nothing", entry.record.kind())) };
        }
        let (Record::WorkflowPut { .. }, Some(payload)) = (&entry.record, &entry.payload) else {
            return Err(format!("{} is not a record of a workflow", entry.record.kind()));
        };
        // The text as a JSON string; the catalogue's own are found by it.
        let known = catalogue::CATALOGUE.iter().flat_map(|known| known.texts.iter());
        let text = known.into_iter().find(|text| kernel::workflow::Workflow::payload(text) == *payload);
        let ir = text.and_then(|text| catalogue::ir_of(text)).ok_or("a workflow that nobody put")?;
        let before = self.workflows.insert((name.clone(), version), (entry.seq, ir));
        if before.is_some() { Err(format!("version {version} of {name} was put twice")) } else { Ok(()) }
    }

    pub fn fold_run(&mut self, id: RunId, entry: &Entry) -> Result<(), String> {
        use RunStatus::{Cancelled, Done, Failed, Running};
        let misfit = |run: &RunModel| format!("{} of {id}, which is {}", entry.record.kind(), run.status.as_str());
        if let Record::RunStarted { spec, .. } = &entry.record {
            let (_, ir) = self.workflows.get(&(spec.workflow.clone(), spec.version)).ok_or("a run of no workflow")?;
            if spec.parent.is_none() && self.is_disabled(&spec.workflow) {
                return Err(format!("{id} was started although {} is disabled", spec.workflow));
            }
            let run = RunModel {
                last: entry.seq,
                status: Running,
                live: true,
                paused: false,
                own_pause: false,
                held: false,
                caller_pause: 0,
                pauses: 0,
                telling: false,
                again: 0,
                given_ms: spec.deadline.map(|deadline| deadline.ms_since(entry.at)).filter(|ms| *ms > 0),
                asked_ms: spec.asked_ms.filter(|ms| *ms > 0),
                opened_at: entry.at,
                following: false,
                deleting: false,
                workflow: spec.workflow.clone(),
                key: spec.idempotency_key.clone(),
                parent: spec.parent.clone(),
                task: spec.task,
                event: spec.event,
                deadline: spec.deadline,
                started_at: entry.at,
                version: spec.version,
                generation: 0,
                texts: vec![catalogue::text_of(&spec.workflow).ok_or("a workflow that nobody put")?],
                ir: ir.clone(),
            };
            return self.runs.insert(id, run).map_or(Ok(()), |_| Err(format!("{id} was started twice")));
        }
        let run = self.runs.get_mut(&id).ok_or_else(|| format!("{} of {id}, which does not exist", entry.record.kind()))?;
        run.last = entry.seq;
        let end = |run: &mut RunModel, status, closed: bool| {
            (run.status, run.live) = (status, !closed);
            (run.paused, run.own_pause, run.held, run.telling) = (false, false, false, false);
            run.following = false;
        };
        match (&entry.record, run.status) {
            (Record::RunPaused { told, .. }, Running) if !run.own_pause => run.pause(true, run.held, *told),
            (Record::RunResumed { told, .. }, Running) if run.own_pause => run.pause(false, run.held, *told),
            (Record::RunHeld { pause, told }, Running) if *pause > run.caller_pause => {
                run.caller_pause = *pause;
                run.pause(run.own_pause, true, *told);
            }
            (Record::RunLetGo { pause, told }, Running)
                if *pause > run.caller_pause || (*pause == run.caller_pause && run.held) =>
            {
                run.caller_pause = *pause;
                run.pause(run.own_pause, false, *told);
            }
            (Record::RunTold {}, Running) if run.telling => run.telling = false,
            (Record::RunDone { closed, .. }, Running) => end(run, Done, *closed),
            (Record::RunFailed { closed, .. }, Running) => end(run, Failed, *closed),
            (Record::RunCancelled { closed, .. }, Running) => end(run, Cancelled, *closed),
            (Record::RunClosed {}, Done | Failed | Cancelled) if run.live && !run.deleting => run.live = false,
            (Record::RunReopened { deadline, again, .. }, Failed | Cancelled) if !run.live && *again > run.again => {
                // As long as it was given at first, however often it is tried.
                let given = run.given_ms.or(run.ir.limits.deadline_ms).map(|ms| entry.at.plus_ms(ms));
                if *deadline != given {
                    return Err(format!("{id} is to be over at {deadline:?}, not at {given:?}"));
                }
                (run.status, run.live, run.deadline, run.again) = (Running, true, *deadline, *again);
                run.opened_at = entry.at;
            }
            (Record::RunRestarted { generation, deadline, .. }, _)
                if !run.deleting && (run.status == Running || !run.live) && *generation == run.generation + 1 =>
            {
                let given = match run.status {
                    Running => run.deadline,
                    _ => run.given_ms.or(run.ir.limits.deadline_ms).map(|ms| entry.at.plus_ms(ms)),
                };
                if *deadline != given {
                    return Err(format!("{id} is to be over at {deadline:?}, not at {given:?}"));
                }
                if run.status != Running {
                    run.opened_at = entry.at;
                }
                (run.status, run.live, run.deadline, run.generation) = (Running, true, *deadline, *generation);
            }
            (Record::RunPatched { revision, deadline, only, more, .. }, Running | Failed | Cancelled)
                if !run.deleting && (run.status == Running || !run.live) && *revision == run.revision() + 1 =>
            {
                let text = entry.payload.as_ref().and_then(catalogue::changed).ok_or("a text that nobody thought of")?;
                let (before, after) = (run.ir.limits.deadline_ms, text.ir.limits.deadline_ms);
                // Another time that it is given counts from when it began to go on, and what its starter gave it stays.
                let least = || after.into_iter().chain(run.asked_ms).min().map(|ms| run.opened_at.plus_ms(ms));
                let given = if before == after || only.is_some() { run.deadline } else { least() };
                if *deadline != given {
                    return Err(format!("{id} is to be over at {deadline:?}, not at {given:?}"));
                }
                if run.deadline != given {
                    run.given_ms = given.map(|at| at.ms_since(run.opened_at)).filter(|ms| *ms > 0);
                }
                (run.deadline, run.following) = (given, *more);
                if only.is_none() {
                    run.ir = text.ir.clone();
                }
                run.texts.push(text);
            }
            (Record::RunFollowed {}, Running) if run.following => run.following = false,
            (Record::RunDeleting { .. }, Done | Failed | Cancelled) if !run.live => (run.live, run.deleting) = (true, true),
            (Record::RunDeleted { .. }, _) if run.deleting => drop(self.runs.remove(&id)),
            _ => return Err(misfit(run)),
        }
        Ok(())
    }

    pub fn fold_frame(&mut self, id: RunId, path: &FramePath, entry: &Entry) -> Result<(), String> {
        use FrameState::{Done, Dropped, Failed, Open};
        let (before, revision) = self.frames.get(&(id, path.clone())).map_or((None, 0), |of| (Some(of.state), of.revision));
        let (state, revision) = match (&entry.record, before) {
            (Record::FrameOpened { revision }, None) => (Open, *revision),
            (Record::FrameReopened { revision }, Some(Done | Failed | Dropped)) => (Open, *revision),
            (Record::FramePatched { revision }, Some(state)) => (state, *revision),
            (Record::FrameDone { .. }, Some(Open)) => (Done, revision),
            (Record::FrameFailed { .. }, Some(Open)) => (Failed, revision),
            (Record::FrameDropped {}, Some(Open)) => (Dropped, revision),
            (Record::FrameReset {}, Some(Done | Failed)) => (Dropped, revision),
            (record, before) => return Err(format!("{} of {}, which is {before:?}", record.kind(), entry.owner)),
        };
        self.frames.insert((id, path.clone()), FrameModel { last: entry.seq, state, revision });
        Ok(())
    }

    pub fn fold_node(&mut self, at: &NodeAt, entry: &Entry) -> Result<(), String> {
        use NodeState::{Cancelled, Done, Failed, Skipped, Waiting};
        let before = self.nodes.remove(at);
        let (state, was) = before.map_or((Waiting, None), |node| (node.state, node.was));
        let was = if let NodeState::Started(at) = &state { Some(at.clone()) } else { was };
        let after = match (&entry.record, &state) {
            (Record::NodeStarted { at }, Waiting) => NodeState::Started(at.clone()),
            (Record::NodeDone { went, .. }, Waiting | NodeState::Started(_)) => Done(went.clone()),
            (Record::NodeFailed { then, .. }, Waiting | NodeState::Started(_)) => Failed(*then),
            (Record::NodeLooked {}, NodeState::Started(Started::Awaiting(awaiting))) if awaiting.looking => {
                NodeState::Started(Started::Awaiting(Box::new(Awaiting { looking: false, ..(**awaiting).clone() })))
            }
            (Record::NodeSkipped { cause }, Waiting) => Skipped(*cause),
            (Record::NodeCancelled {}, NodeState::Started(_)) => Cancelled,
            // What it called cannot go on.
            (Record::NodeReopened { .. }, NodeState::Started(Started::Calling { again, .. })) if *again > 0 => Waiting,
            (Record::NodeReopened { only, .. }, Failed(OnError::Fail) | Cancelled) => match &was {
                Some(at @ Started::Turning { .. }) => NodeState::Started(at.clone()),
                Some(Started::Spreading { items, count, generation, .. }) => {
                    let (items, count, generation) = (*items, *count, *generation);
                    NodeState::Started(Started::Spreading { items, count, again: !only, generation })
                }
                Some(Started::Calling { run, again }) => NodeState::Started(Started::Calling { run: *run, again: again + 1 }),
                _ => Waiting,
            },
            (Record::NodeReset {}, state) if *state != Waiting => Waiting,
            (Record::NodeRewound { turns, generation }, NodeState::Started(_) | Done(_) | Failed(_) | Cancelled) => match &was {
                Some(Started::Turning { init, .. }) => {
                    NodeState::Started(Started::Turning { init: *init, kept: *turns, generation: *generation })
                }
                Some(Started::Spreading { items, count, again, generation }) => {
                    // What had failed in it goes again if it had not got over that.
                    let again = *again || matches!(state, Failed(_) | Cancelled);
                    let (items, count, generation) = (*items, *count, *generation);
                    NodeState::Started(Started::Spreading { items, count, again, generation })
                }
                _ => return Err(format!("nothing in {} was ever opened", entry.owner)),
            },
            (Record::NodeSet { .. }, Waiting | NodeState::Started(_) | Failed(_) | Cancelled) => Done(Went::Done),
            (record, state) => return Err(format!("{} of {}, which is {state:?}", record.kind(), entry.owner)),
        };
        let set = matches!(entry.record, Record::NodeSet { .. });
        let was = was.filter(|_| after.is_over());
        self.nodes.insert(at.clone(), NodeModel { last: entry.seq, at: entry.at, state: after, was, set });
        Ok(())
    }

    /// When runs move by themselves, as far as records tell.
    pub fn next_due(&self, now: Time) -> Option<Time> {
        // Who looks back does so before it gives up.
        let looks = |state: &NodeState| matches!(state, NodeState::Started(Started::Awaiting(_)));
        let nodes = self.running().flat_map(|(id, _)| self.nodes_of(id)).map(|(_, node)| &node.state);
        let wakes = nodes.filter_map(|state| wake_at(state).filter(|at| !looks(state) || *at > now));
        let deadlines = self.running().filter_map(|(_, run)| run.deadline);
        let sweeps = self.running().map(|(_, run)| now.plus_ms(run.ir.limits.stall_ms.max(10_000)));
        wakes.chain(deadlines).chain(sweeps).min()
    }

    pub fn is_deleting(&self) -> bool {
        self.runs.values().any(|run| run.deleting)
    }
}

pub fn wake_at(state: &NodeState) -> Option<Time> {
    match state {
        NodeState::Started(Started::Sleeping { until }) => Some(*until),
        NodeState::Started(Started::Asking { until }) => *until,
        NodeState::Started(Started::Awaiting(awaiting)) => awaiting.until,
        _ => None,
    }
}

/// The body that a frame is a walk through.
pub fn body_of(ir: &Ir, path: &FramePath) -> Option<BodyIx> {
    match path.up() {
        None => Some(ROOT),
        Some((_, node, _)) => ir.body_of(ir.find(node)?),
    }
}

pub fn at(run: RunId, frame: &FramePath, node: &NodeId) -> NodeAt {
    NodeAt { run, frame: frame.clone(), node: node.clone() }
}
