//! The records of runs, one by one: folded into a state of their own, which must be the live one; counted as tokens; and
//! kept as what became of each instance of each node.

use crate::outcomes::{called, instance};
use kernel::eval::Shape;
use kernel::frame::FramePath;
use kernel::ids::RunId;
use kernel::ir::{EdgeIx, Ir, NodeIx, NodeKind};
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
    /// What has occurred, for the coverage.
    pub occurred: BTreeSet<String>,
    tokens: BTreeMap<(RunId, FramePath), Tokens>,
    /// What nodes that are done gave. While their frame goes on it never changes: others have read it.
    given: BTreeMap<(RunId, FramePath), BTreeMap<NodeIx, Shape>>,
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
    entered: BTreeSet<NodeIx>,
    waiting: BTreeMap<NodeIx, usize>,
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
            occurred: BTreeSet::new(),
            tokens: BTreeMap::new(),
            given: BTreeMap::new(),
        }
    }

    pub fn instance(&self, at: &NodeAt) -> String {
        instance(&self.runs[&at.run], &at.frame.to_string(), at.node.as_str())
    }

    pub fn take(&mut self, entry: &Entry) {
        self.folded.replay_run(entry);
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
                let before = self.runs.iter().filter(|(_, known)| **known == name);
                before.for_each(|(run, _)| assert!(self.ended_runs.contains_key(run), "{name} was started twice"));
                // One that is called again begins anew.
                self.nodes.retain(|instance, _| !instance.starts_with(&format!("{name}/")));
                self.runs.insert(run, name);
            }
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

    /// Its run is tried again, or what it called is to go on and cannot. The tokens it gave are gone; those it took in wait,
    /// unless it goes on with the frames it has or the run it called.
    fn reopen(&mut self, at: &NodeAt, entry: &Entry) {
        let had_ended = self.nodes.remove(&self.instance(at)).is_some();
        self.occurred.insert(if had_ended { "tried again".into() } else { "call lost".into() });
        let live = self.folded.live_run(at.run).expect("a node's run is there");
        let (ir, frame) = (live.ir(), live.frame(&at.frame).expect("a node's frame is there"));
        let node = ir.find(&at.node).expect("a node of the workflow");
        let tokens = self.tokens.get_mut(&(at.run, at.frame.clone())).expect("it was entered");
        for edge in ir.node(node).outs.iter().filter(|_| had_ended) {
            let to = ir.edge(*edge).to;
            tokens.produced -= 1;
            if tokens.entered.contains(&to) {
                tokens.consumed -= 1;
            } else {
                *tokens.waiting.get_mut(&to).expect("it was given one") -= 1;
            }
        }
        if *frame.node(node) == NodeState::Waiting {
            tokens.entered.remove(&node);
            let taken = ir.node(node).ins.iter().filter(|edge| frame.carried(**edge).is_some()).count();
            tokens.consumed -= taken;
            tokens.waiting.insert(node, taken);
        }
        self.balance(at, entry);
    }

    fn keep(&mut self, at: &NodeAt) {
        let live = self.folded.live_run(at.run).expect("a node's run is there");
        let (ir, frame) = (live.ir(), live.frame(&at.frame).expect("a node's frame is there"));
        if !live.goes_on(&at.frame) {
            return;
        }
        let given = self.given.entry((at.run, at.frame.clone())).or_default();
        for node in &ir.body(frame.body()).nodes {
            if let NodeState::Done { .. } = frame.node(*node) {
                let now = live.output_of(&at.frame, *node).expect("its frame is there");
                let before = given.entry(*node).or_insert_with(|| now.clone());
                assert_eq!(*before, now, "what {} gave has changed", ir.node(*node).id);
            }
        }
    }

    /// Every edge of a node that has ended holds one token, and every token was taken in or waits.
    fn count(&mut self, at: &NodeAt, ends: bool, entry: &Entry) {
        let live = self.folded.live_run(at.run).expect("a node's run is there");
        let ir = live.ir();
        let node = ir.find(&at.node).expect("a node of the workflow");
        let tokens = self.tokens.entry((at.run, at.frame.clone())).or_default();
        if tokens.entered.insert(node) {
            let skipped = matches!(entry.record, Record::NodeSkipped { .. });
            assert!(skipped || !live.run().is_paused(), "{} was entered while its run is paused", at.show());
            tokens.consumed += tokens.waiting.remove(&node).unwrap_or(0);
            self.occurred.insert(format!("kind {}", kind(&ir.node(node).kind)));
        }
        if ends {
            for edge in &ir.node(node).outs {
                let to = ir.edge(*edge).to;
                tokens.produced += 1;
                if tokens.entered.contains(&to) {
                    tokens.consumed += 1;
                } else {
                    *tokens.waiting.entry(to).or_default() += 1;
                }
            }
        }
        self.balance(at, entry);
    }

    fn balance(&self, at: &NodeAt, entry: &Entry) {
        let live = self.folded.live_run(at.run).expect("a node's run is there");
        let ir = live.ir();
        let tokens = &self.tokens[&(at.run, at.frame.clone())];
        let frame = live.frame(&at.frame).expect("a node's frame is there");
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

fn way(went: &Went) -> String {
    match went {
        Went::Done => "done".into(),
        Went::Rule(rule) => format!("done rule {rule}"),
        Went::Default => "done default".into(),
        Went::Named(id) => format!("done named {id}"),
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
        NodeKind::Workflow { .. } => "workflow",
        NodeKind::Transform { .. } => "transform",
    }
}
