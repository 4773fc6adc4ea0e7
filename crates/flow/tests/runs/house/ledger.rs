//! The records of runs, one by one: folded into a state of their own, which must be the live one; counted as tokens; and
//! kept as what became of each instance of each node.

use crate::outcomes::{called, instance};
use kernel::eval::Shape;
use kernel::frame::FramePath;
use kernel::ids::RunId;
use kernel::ir::{EdgeIx, Ir, NodeKind};
use kernel::names::NodeId;
use kernel::node::{NodeState, Started, Told, Went};
use kernel::record::{Entry, Owner, Record};
use kernel::run::{NodeAt, RunStatus, ValueAt};
use kernel::state::State;
use kernel::time::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub struct Ledger {
    pub folded: State,
    /// How a run is called here: by its workflow, or by the node that called it.
    pub runs: BTreeMap<RunId, String>,
    pub ended_runs: BTreeMap<RunId, (RunStatus, ValueAt)>,
    pub nodes: BTreeMap<String, Became>,
    pub asking: BTreeMap<String, (NodeAt, Option<Time>)>,
    /// Of the first run: which of its texts its turns and items follow, and what its nodes were said to give.
    pub frames: BTreeMap<String, usize>,
    pub set: BTreeMap<String, ValueAt>,
    /// Called by what was undone, and called again since.
    stopping: BTreeSet<RunId>,
    /// What has occurred, for the coverage.
    pub occurred: BTreeSet<String>,
    tokens: BTreeMap<(RunId, FramePath), Tokens>,
    /// What nodes that are done gave. While their frame goes on it never changes: others have read it.
    given: BTreeMap<(RunId, FramePath), BTreeMap<NodeId, Shape>>,
}

pub struct Became {
    pub how: String,
    /// `None`: it passed on what it was given, or gave nothing.
    pub output: Option<ValueAt>,
}

#[derive(Default)]
struct Tokens {
    produced: usize,
    consumed: usize,
    /// Nodes that no longer wait: what comes to them is taken in at once.
    entered: BTreeSet<NodeId>,
    waiting: BTreeMap<NodeId, usize>,
}

impl Ledger {
    pub fn new(irs: &[Arc<Ir>]) -> Ledger {
        let mut folded = State::new(0);
        irs.iter().for_each(|ir| folded.put_workflow(ir.clone()));
        Ledger {
            folded,
            runs: BTreeMap::new(),
            ended_runs: BTreeMap::new(),
            nodes: BTreeMap::new(),
            asking: BTreeMap::new(),
            frames: BTreeMap::new(),
            set: BTreeMap::new(),
            stopping: BTreeSet::new(),
            occurred: BTreeSet::new(),
            tokens: BTreeMap::new(),
            given: BTreeMap::new(),
        }
    }

    pub fn instance(&self, at: &NodeAt) -> String {
        instance(&self.runs[&at.run], &plain(&at.frame), at.node.as_str())
    }

    pub fn take(&mut self, entry: &Entry) {
        if let (Owner::Run(run), Record::RunPatched { revision, .. }) = (&entry.owner, &entry.record) {
            let live = self.folded.live_run(*run).expect("it was started");
            let ir = super::book::revised(live.ir().version, entry.payload.as_ref().expect("it has a text"));
            self.folded.learn_revision(*run, *revision, Ok(ir));
        }
        self.folded.replay_run(entry);
        // What a restart has undone is stopped, and nobody counts it.
        let undone = |run: &RunId, path: &FramePath| {
            let live = self.folded.live_run(*run);
            live.and_then(|live| live.frame(path)).is_some_and(|frame| frame.is_undone())
        };
        match &entry.owner {
            Owner::Node(at) if self.stopping.contains(&at.run) || self.is_undone(at.run) || undone(&at.run, &at.frame) => {
                self.occurred.insert("undone".into());
                if !matches!(entry.record, Record::NodeStarted { .. }) {
                    self.asking.retain(|_, (asked, _)| asked != at);
                }
                return;
            }
            Owner::Frame(run, path) if self.runs[run] == "w0" => {
                let live = self.folded.live_run(*run).expect("it was started");
                if let Some(frame) = live.frame(path).filter(|frame| !frame.is_undone()) {
                    self.frames.insert(plain(path), frame.revision() as usize);
                }
            }
            _ => {}
        }
        match (&entry.owner, &entry.record) {
            (Owner::Run(run), Record::RunPatched { .. }) => self.recount(*run, &FramePath::root()),
            (Owner::Frame(run, path), Record::FramePatched { .. } | Record::FrameReopened { .. }) => self.recount(*run, path),
            _ => {}
        }
        match &entry.owner {
            Owner::Run(run) => self.take_run(*run, entry),
            Owner::Node(at) => self.take_node(at, entry),
            Owner::Frame(..) | Owner::Task(_) => _ = self.occurred.insert(entry.record.kind().into()),
            _ => {}
        }
    }

    fn take_run(&mut self, run: RunId, entry: &Entry) {
        let own = |output: &ValueAt| if *output == ValueAt::Own { ValueAt::Record(entry.seq) } else { *output };
        self.occurred.insert(entry.record.kind().into());
        match &entry.record {
            Record::RunStarted { spec, .. } => {
                let name = match &spec.parent {
                    Some(at) => called(&self.instance(at), spec.workflow.as_str()),
                    None => spec.workflow.to_string(),
                };
                let below = format!("{name}/");
                let under_way = self.runs.iter().filter(|(run, _)| !self.ended_runs.contains_key(run));
                let before = under_way.filter(|(_, known)| **known == name || known.starts_with(&below));
                // What was undone is stopped in some later batch.
                let stopping: Vec<RunId> = before.map(|(run, _)| *run).collect();
                for run in stopping {
                    let known = &self.runs[&run];
                    assert!(*known != name || self.is_undone(run), "{name} was started twice");
                    self.stopping.insert(run);
                }
                // One that is called again begins anew.
                self.nodes.retain(|instance, _| !instance.starts_with(&format!("{name}/")));
                self.runs.insert(run, name);
            }
            Record::RunRestarted { .. } => _ = self.ended_runs.remove(&run),
            Record::RunReopened { .. } => {
                self.ended_runs.remove(&run);
                let called = self.folded.live_run(run).is_some_and(|live| live.run().spec().parent.is_some());
                self.occurred.insert(if called { "call taken up".into() } else { "run taken up".into() });
            }
            Record::RunDone { output, .. } => self.end_run(run, RunStatus::Done, own(output)),
            Record::RunFailed { .. } => self.end_run(run, RunStatus::Failed, ValueAt::Null),
            Record::RunCancelled { .. } => self.end_run(run, RunStatus::Cancelled, ValueAt::Null),
            _ => {}
        }
    }

    /// The node that called it stands in a turn or an item that a restart has undone.
    pub fn is_undone(&self, run: RunId) -> bool {
        let parent = self.folded.live_run(run).and_then(|live| live.run().spec().parent.as_ref());
        parent.is_some_and(|at| {
            let frame = self.folded.live_run(at.run).and_then(|live| live.frame(&at.frame));
            frame.is_some_and(|frame| frame.is_undone()) || self.is_undone(at.run)
        })
    }

    fn end_run(&mut self, run: RunId, status: RunStatus, output: ValueAt) {
        assert!(self.ended_runs.insert(run, (status, output)).is_none(), "{run} ended twice");
    }

    fn take_node(&mut self, at: &NodeAt, entry: &Entry) {
        let key = self.instance(at);
        let own = |output: &ValueAt| if *output == ValueAt::Own { ValueAt::Record(entry.seq) } else { *output };
        let became = match &entry.record {
            Record::NodeStarted { at: Started::Asking { until } } => {
                self.occurred.insert(format!("asked {key}"));
                self.asking.insert(key.clone(), (at.clone(), *until));
                None
            }
            Record::NodeStarted { .. } => None,
            Record::NodeReopened { .. } => return self.reopen(at, entry),
            Record::NodeReset {} => {
                self.occurred.insert(entry.record.kind().into());
                self.undo(at, 0);
                self.forget_below(&key);
                // What it called is stopped.
                let called = self.runs.iter().filter(|(_, name)| name.starts_with(&format!("{key}>"))).map(|(run, _)| *run);
                self.stopping.extend(called.collect::<Vec<_>>());
                return self.reopen(at, entry);
            }
            Record::NodeRewound { turns, .. } => {
                self.occurred.insert(entry.record.kind().into());
                self.set.remove(&key);
                let live = self.folded.live_run(at.run).expect("a node's run is there");
                let frame = live.frame(&at.frame).expect("a node's frame is there");
                let node = frame.ir().find(&at.node).expect("a node of the workflow");
                if let NodeKind::Loop { .. } = frame.ir().node(node).kind {
                    self.undo(at, *turns);
                }
                return self.reopen(at, entry);
            }
            Record::NodeSet { .. } => {
                self.occurred.insert(entry.record.kind().into());
                self.set.insert(key.clone(), ValueAt::Record(entry.seq));
                Some(Became { how: "done".into(), output: Some(ValueAt::Record(entry.seq)) })
            }
            Record::NodeDone { output, went } => {
                let output = match output {
                    Told::Own => Some(ValueAt::Record(entry.seq)),
                    Told::At(value) => Some(own(value)),
                    Told::Passed => None,
                };
                Some(Became { how: way(went), output })
            }
            Record::NodeFailed { then, .. } => Some(Became { how: format!("failed {}", then.as_str()), output: None }),
            Record::NodeSkipped { cause } => Some(Became { how: format!("skipped {}", cause.as_str()), output: None }),
            Record::NodeCancelled {} => Some(Became { how: "cancelled".into(), output: None }),
            other => panic!("{} is not expected here", other.kind()),
        };
        let ends = became.is_some();
        if let Some(became) = became {
            let general = became.how.split(' ').take(2).collect::<Vec<_>>().join(" ");
            self.occurred.insert(general);
            self.asking.remove(&key);
            assert!(self.nodes.insert(key.clone(), became).is_none(), "{key} ended twice");
        }
        self.count(at, ends, entry);
        self.keep(at);
    }

    /// What went on in a node before somebody said what it gives is of no account.
    pub fn forget_below_set(&mut self) {
        self.set.keys().cloned().collect::<Vec<_>>().iter().for_each(|instance| self.forget_below(instance));
    }

    fn forget_below(&mut self, instance: &str) {
        let (place, node) = instance.rsplit_once('/').expect("it ends with the node");
        let dot = if place.ends_with('/') { "" } else { "." };
        let (turns, called) = (format!("{place}{dot}{node}["), format!("{instance}>"));
        self.nodes.retain(|key, _| !key.starts_with(&turns) && !key.starts_with(&called));
    }

    /// Another text has other edges.
    fn recount(&mut self, run: RunId, path: &FramePath) {
        let live = self.folded.live_run(run).expect("it was started");
        let frame = live.frame(path).expect("it is there");
        let (ir, mut tokens) = (frame.ir(), Tokens::default());
        for node in &ir.body(frame.body()).nodes {
            let id = &ir.node(*node).id;
            let carried = ir.node(*node).ins.iter().filter(|edge| frame.carried(**edge).is_some()).count();
            tokens.produced += carried;
            match frame.node(*node) {
                NodeState::Waiting => _ = tokens.waiting.insert(id.clone(), carried),
                _ => {
                    tokens.consumed += carried;
                    tokens.entered.insert(id.clone());
                }
            }
        }
        self.tokens.insert((run, path.clone()), tokens);
        let (prefix, is_there) = (instance(&self.runs[&run], &plain(path), ""), |id: &str| {
            let id = NodeId::parse(id).ok().and_then(|id| ir.find(&id));
            id.is_some_and(|node| ir.node(node).body == frame.body())
        });
        // What had failed may have been taken out, with what went on in it.
        let own = self.nodes.keys().filter_map(|key| key.strip_prefix(&prefix)).filter(|id| !id.contains(['/', '>']));
        let gone: Vec<String> = own.filter(|id| !is_there(id)).map(|id| format!("{prefix}{id}")).collect();
        for instance in gone {
            self.nodes.remove(&instance);
            self.forget_below(&instance);
        }
    }

    /// What a loop or an each opened from that turn on has not been.
    fn undo(&mut self, at: &NodeAt, turns: u32) {
        self.set.remove(&self.instance(at));
        let (run, dot) = (self.runs[&at.run].clone(), if at.frame.is_root() { "" } else { "." });
        let open = format!("{}{dot}{}[", plain(&at.frame), at.node);
        let of_it = |path: &str| {
            let index = path.strip_prefix(&open).and_then(|rest| rest.split(']').next()?.parse::<u32>().ok());
            index.is_some_and(|index| index >= turns)
        };
        // An instance is of its run, its frame and its node; what it called hangs on it.
        let undone = |key: &String| key.strip_prefix(&format!("{run}/")).is_some_and(of_it);
        self.nodes.retain(|key, _| !undone(key));
        self.set.retain(|key, _| !undone(key));
        self.asking.retain(|key, _| !undone(key));
        self.frames.retain(|path, _| run != "w0" || !of_it(path));
        self.tokens.retain(|(of, path), _| *of != at.run || !of_it(&plain(path)));
        self.given.retain(|(of, path), _| *of != at.run || !of_it(&plain(path)));
    }

    /// Its run is tried again, or what it called is to go on and cannot. The tokens it gave are gone; those it took in wait,
    /// unless it goes on with the frames it has or the run it called.
    fn reopen(&mut self, at: &NodeAt, entry: &Entry) {
        let key = self.instance(at);
        let had_ended = self.nodes.remove(&key).is_some();
        self.asking.remove(&key);
        self.occurred.insert(if had_ended { "tried again".into() } else { "call lost".into() });
        let live = self.folded.live_run(at.run).expect("a node's run is there");
        let frame = live.frame(&at.frame).expect("a node's frame is there");
        let ir = frame.ir();
        if let Some(given) = self.given.get_mut(&(at.run, at.frame.clone())) {
            given.remove(&at.node);
        }
        let node = ir.find(&at.node).expect("a node of the workflow");
        let tokens = self.tokens.get_mut(&(at.run, at.frame.clone())).expect("it was entered");
        for edge in ir.node(node).outs.iter().filter(|_| had_ended) {
            let to = &ir.node(ir.edge(*edge).to).id;
            tokens.produced -= 1;
            if tokens.entered.contains(to) {
                tokens.consumed -= 1;
            } else {
                *tokens.waiting.get_mut(to).expect("it was given one") -= 1;
            }
        }
        if *frame.node(node) == NodeState::Waiting {
            tokens.entered.remove(&at.node);
            let taken = ir.node(node).ins.iter().filter(|edge| frame.carried(**edge).is_some()).count();
            tokens.consumed -= taken;
            tokens.waiting.insert(at.node.clone(), taken);
        }
        self.balance(at, entry);
    }

    fn keep(&mut self, at: &NodeAt) {
        let live = self.folded.live_run(at.run).expect("a node's run is there");
        let frame = live.frame(&at.frame).expect("a node's frame is there");
        let ir = frame.ir();
        if !live.goes_on(&at.frame) {
            return;
        }
        let given = self.given.entry((at.run, at.frame.clone())).or_default();
        for node in &ir.body(frame.body()).nodes {
            if let NodeState::Done { .. } = frame.node(*node) {
                let now = live.output_of(&at.frame, *node).expect("its frame is there");
                let before = given.entry(ir.node(*node).id.clone()).or_insert_with(|| now.clone());
                assert_eq!(*before, now, "what {} gave has changed", ir.node(*node).id);
            }
        }
    }

    /// Every edge of a node that has ended holds one token, and every token was taken in or waits.
    fn count(&mut self, at: &NodeAt, ends: bool, entry: &Entry) {
        let live = self.folded.live_run(at.run).expect("a node's run is there");
        let ir = live.frame(&at.frame).expect("a node's frame is there").ir();
        let node = ir.find(&at.node).expect("a node of the workflow");
        let tokens = self.tokens.entry((at.run, at.frame.clone())).or_default();
        if tokens.entered.insert(at.node.clone()) {
            let skipped = matches!(entry.record, Record::NodeSkipped { .. } | Record::NodeSet { .. });
            assert!(skipped || !live.run().is_paused(), "{} was entered while its run is paused", at.show());
            tokens.consumed += tokens.waiting.remove(&at.node).unwrap_or(0);
            self.occurred.insert(format!("kind {}", kind(&ir.node(node).kind)));
        }
        if ends {
            for edge in &ir.node(node).outs {
                let to = &ir.node(ir.edge(*edge).to).id;
                tokens.produced += 1;
                if tokens.entered.contains(to) {
                    tokens.consumed += 1;
                } else {
                    *tokens.waiting.entry(to.clone()).or_default() += 1;
                }
            }
        }
        self.balance(at, entry);
    }

    fn balance(&self, at: &NodeAt, entry: &Entry) {
        let live = self.folded.live_run(at.run).expect("a node's run is there");
        let tokens = &self.tokens[&(at.run, at.frame.clone())];
        let frame = live.frame(&at.frame).expect("a node's frame is there");
        let ir = frame.ir();
        let edges = || ir.body(frame.body()).nodes.iter().flat_map(|node| &ir.node(*node).outs);
        let carried = edges().filter(|edge| frame.carried(**edge).is_some());
        let (taken, waiting): (Vec<&EdgeIx>, Vec<&EdgeIx>) =
            carried.partition(|edge| *frame.node(ir.edge(**edge).to) != NodeState::Waiting);
        let seen = (taken.len() + waiting.len(), taken.len(), waiting.len());
        let counted = (tokens.produced, tokens.consumed, tokens.waiting.values().sum::<usize>());
        assert_eq!(seen, counted, "produced, consumed, live after {} of {}", entry.record.kind(), at.show());
        assert_eq!(seen.0, seen.1 + seen.2, "produced = consumed + live");
    }
}

/// A frame as it is called whatever was restarted.
pub fn plain(path: &FramePath) -> String {
    let text = path.to_string();
    let cut = |part: &str| part.split_once('@').map_or(part.to_owned(), |(part, _)| format!("{part}]"));
    text.split('.').map(cut).collect::<Vec<_>>().join(".")
}

fn way(went: &Went) -> String {
    match went {
        Went::Done => "done".into(),
        Went::Rule(rule) => format!("done rule {rule}"),
        Went::Default => "done default".into(),
        Went::Named(id) => format!("done named {id}"),
        Went::Heard(_) => "done heard".into(),
        Went::Reject => "done reject".into(),
        Went::Timeout => "done timeout".into(),
        Went::Max => "done max".into(),
    }
}

pub fn kind(kind: &NodeKind) -> &'static str {
    match kind {
        NodeKind::Work { .. } => "work",
        NodeKind::Branch { .. } => "branch",
        NodeKind::Route { .. } => "route",
        NodeKind::Loop { .. } => "loop",
        NodeKind::Each { .. } => "each",
        NodeKind::Join => "join",
        NodeKind::Approval { .. } => "approval",
        NodeKind::Sleep(_) => "sleep",
        NodeKind::Wait { .. } => "wait",
        NodeKind::Workflow { .. } => "workflow",
        NodeKind::Transform { .. } => "transform",
    }
}
