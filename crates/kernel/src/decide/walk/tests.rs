//! Runs walked through with a toy of a flow: `yes` and `no` are truths, JSON is itself, a name is the value of that name.

use crate::command::{Command, Outcome, Reply};
use crate::decide::{NewRun, decide};
use crate::eval::{Evaluated, Flow, Json, Scope, Shape, View};
use crate::frame::FramePath;
use crate::ids::{RecordSeq, RunId, TaskId};
use crate::ir::*;
use crate::message::Message;
use crate::names::*;
use crate::node::NodeState;
use crate::record::{Entry, Failure, Payload, Record};
use crate::run::{RunSpec, RunStatus, ValueAt};
use crate::state::State;
use crate::step::Step;
use crate::time::Time;
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Default)]
struct Toy {
    values: FxHashMap<RecordSeq, Value>,
    /// Every so many questions, the first answer is that a value is missing.
    forgetful: bool,
    asked: FxHashMap<String, u32>,
}

impl Toy {
    fn value(&self, at: ValueAt) -> Value {
        match at {
            ValueAt::Null => Value::Null,
            ValueAt::Own => panic!("nobody asks for a value by the record that is not there yet"),
            ValueAt::Record(seq) => self.values.get(&seq).unwrap_or_else(|| panic!("record {} holds no value", seq.0)).clone(),
            ValueAt::Item(seq, index) => self.values[&seq][index as usize].clone(),
        }
    }

    fn shape(&self, shape: &Shape) -> Value {
        match shape {
            Shape::At(at) => self.value(*at),
            Shape::Object(parts) => parts.iter().map(|(id, part)| (id.to_string(), self.shape(part))).collect(),
        }
    }

    fn answer(&mut self, question: String, value: Value) -> Evaluated {
        let times = self.asked.entry(question).or_default();
        *times += 1;
        if self.forgetful && *times % 2 == 1 {
            return Evaluated::Missing(vec![RecordSeq(1)]);
        }
        let view = match &value {
            Value::Null => View::Null,
            Value::Bool(truth) => View::Bool(*truth),
            Value::Number(number) => number.as_i64().map_or(View::Other, View::Int),
            Value::String(text) => View::Text(text.as_str().into()),
            Value::Array(list) => View::List(list.len() as u32),
            Value::Object(_) => View::Other,
        };
        Evaluated::Value(Json { payload: Payload(value.to_string().into()), view })
    }
}

impl Flow for Toy {
    fn keep(&mut self, seq: RecordSeq, payload: &Payload) {
        self.values.insert(seq, serde_json::from_str(payload.text()).unwrap());
    }

    fn compile(&mut self, _: &crate::workflow::Workflow) -> Result<Arc<Ir>, String> {
        unreachable!("all are compiled")
    }

    fn eval(&mut self, ir: &Arc<Ir>, expr: ExprIx, scope: &Scope) -> Evaluated {
        let source = &*ir.expr(expr).source;
        let value = match source {
            "yes" => json!(true),
            "no" => json!(false),
            "input" => self.value(scope.input),
            "output" => self.shape(&scope.output),
            "item" => self.value(scope.item.unwrap().0),
            "last" => self.value(scope.last.unwrap().1),
            "iteration" => json!(scope.last.unwrap().0),
            "third" => json!(scope.last.unwrap().0 == 2),
            "broken" => return Evaluated::Failed(Failure { code: "expression".into(), message: "broken".into() }),
            node if node.starts_with("of.") => {
                let facts = &scope.nodes.iter().find(|(id, _)| id.as_str() == &node[3..]).unwrap().1;
                json!([facts.status, self.shape(&facts.output)])
            }
            text => serde_json::from_str(text).unwrap_or_else(|_| panic!("{text} is no JSON")),
        };
        self.answer(format!("{source} {scope:?}"), value)
    }

    fn misfit(&mut self, ir: &Arc<Ir>, input: &Payload) -> Option<Failure> {
        let unfit = ir.input_schema.as_deref().is_some_and(|schema| schema != input.text());
        unfit.then(|| Failure { code: "invalid_input".into(), message: format!("{} does not fit", input.text()) })
    }

    fn gather(&mut self, shape: &Shape) -> Evaluated {
        let value = self.shape(shape);
        self.answer(format!("{shape:?}"), value)
    }

    fn list(&mut self, items: &[ValueAt]) -> Evaluated {
        let list: Vec<Value> = items.iter().map(|item| self.value(*item)).collect();
        self.answer(format!("{items:?}"), Value::Array(list))
    }

    fn spent(&mut self) -> u64 {
        0
    }
}

/// `id type key=value …; …`, bodies in braces after `do`.
struct Maker {
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    bodies: Vec<Body>,
    exprs: Vec<Expr>,
    wanted: Vec<(NodeIx, String, On)>,
}

fn ir(name: &str, text: &str) -> Arc<Ir> {
    let mut maker = Maker { nodes: Vec::new(), edges: Vec::new(), bodies: Vec::new(), exprs: Vec::new(), wanted: Vec::new() };
    maker.body(text, None);
    let Maker { mut nodes, edges, mut bodies, exprs, .. } = maker.joined();
    for body in &mut bodies {
        let ins = |node: &NodeIx| nodes[node.at()].ins.is_empty();
        body.entries = body.nodes.iter().copied().filter(ins).collect();
        body.sinks = body.nodes.iter().copied().filter(|node| nodes[node.at()].outs.is_empty()).collect();
    }
    for body in &bodies {
        body.nodes.iter().enumerate().for_each(|(place, node)| nodes[node.at()].place = place as u32);
    }
    let by_id = Ir::sorted(&nodes);
    let limits = RunLimits { deadline_ms: None, stall_ms: 1_000, steps_max: 1_000_000 };
    let workflow = WorkflowName::parse(name).unwrap();
    Arc::new(Ir { workflow, version: 1, nodes, by_id, edges, bodies, exprs, limits, input_schema: None, revised: None })
}

impl Maker {
    fn body(&mut self, text: &str, of: Option<NodeIx>) -> BodyIx {
        let ix = BodyIx(self.bodies.len() as u32);
        self.bodies.push(Body { of, nodes: Vec::new(), entries: Vec::new(), sinks: Vec::new(), output: None });
        let (mut depth, mut start) = (0, 0);
        let mut parts = Vec::new();
        for (at, c) in text.char_indices() {
            match c {
                '{' => depth += 1,
                '}' => depth -= 1,
                ';' if depth == 0 => {
                    parts.push(&text[start..at]);
                    start = at + 1;
                }
                _ => {}
            }
        }
        parts.push(&text[start..]);
        for part in parts.into_iter().map(str::trim).filter(|part| !part.is_empty()) {
            match part.strip_prefix("output=") {
                Some(source) => self.bodies[ix.at()].output = Some(self.expr(source)),
                None => self.node(part, ix),
            }
        }
        ix
    }

    fn expr(&mut self, source: &str) -> ExprIx {
        let known = |id: &str| self.nodes.iter().position(|node| node.id.as_str() == id).map(|at| NodeIx(at as u32));
        let nodes = source.strip_prefix("of.").and_then(known).into_iter().collect();
        self.exprs.push(Expr { source: source.into(), form: Form::Cel, reads: Reads { nodes, ..Reads::default() } });
        ExprIx(self.exprs.len() as u32 - 1)
    }

    fn node(&mut self, text: &str, body: BodyIx) {
        let (head, inner) = match text.split_once('{') {
            Some((head, inner)) => (head, Some(inner.trim_end().strip_suffix('}').unwrap())),
            None => (text, None),
        };
        let mut words = head.split_whitespace();
        let (id, kind) = (words.next().unwrap(), words.next().unwrap_or("work"));
        let ix = NodeIx(self.nodes.len() as u32);
        let words: BTreeMap<&str, &str> = words.map(|word| word.split_once('=').unwrap_or((word, ""))).collect();
        let word = |name: &str| words.get(name).copied();
        self.nodes.push(Node {
            id: NodeId::parse(id).unwrap(),
            body,
            place: 0,
            kind: NodeKind::Join,
            ins: Vec::new(),
            outs: Vec::new(),
            join: match word("join") {
                None => Join::All,
                Some("any") => Join::NOf(1),
                Some(n) => Join::NOf(n.parse().unwrap()),
            },
            when: None,
            on_error: match (word("error"), word("ignore")) {
                (Some(_), _) => OnError::To,
                (_, Some(_)) => OnError::Ignore,
                _ => OnError::Fail,
            },
            retry: None,
            timeout_ms: word("timeout").map(|ms| ms.parse().unwrap()),
        });
        self.bodies[body.at()].nodes.push(ix);
        if let Some(when) = word("when") {
            self.nodes[ix.at()].when = Some(self.expr(when));
        }
        let kind = match kind {
            "work" => NodeKind::Work {
                kind: TypeName::parse("t").unwrap(),
                queue: QueueName::parse("q").unwrap(),
                priority: None,
                keys: Vec::new(),
                with: None,
            },
            "branch" => {
                let mut rules = Vec::new();
                for (at, rule) in word("rules").unwrap_or("").split(',').filter(|rule| !rule.is_empty()).enumerate() {
                    let (when, to) = rule.split_once(':').unwrap();
                    rules.push(self.expr(when));
                    to.split('+').for_each(|to| self.wanted.push((ix, to.into(), On::Rule(at as u16))));
                }
                word("default").into_iter().for_each(|to| self.wanted.push((ix, to.into(), On::Default)));
                NodeKind::Branch { rules }
            }
            "route" => {
                word("to").unwrap().split('+').for_each(|to| self.wanted.push((ix, to.into(), On::Named)));
                NodeKind::Route { by: self.expr("output") }
            }
            "join" => NodeKind::Join,
            "approval" => NodeKind::Approval { who: Vec::new(), message: None },
            "sleep" => NodeKind::Sleep(Sleep::For { ms: word("ms").unwrap().parse().unwrap() }),
            "transform" => NodeKind::Transform { value: self.expr(word("value").unwrap()), called: "transform" },
            "call" => {
                NodeKind::Workflow { workflow: WorkflowName::parse(word("run").unwrap()).unwrap(), version: None, with: None }
            }
            "loop" => NodeKind::Loop {
                init: word("init").map(|init| self.expr(init)),
                until: self.expr(word("until").unwrap()),
                iterations_max: word("max").unwrap_or("5").parse().unwrap(),
                body: self.body(inner.unwrap(), Some(ix)),
            },
            "each" => NodeKind::Each {
                items: self.expr(word("items").unwrap()),
                concurrency: word("concurrency").unwrap_or("100").parse().unwrap(),
                on_failure: match word("failure") {
                    None => EachFailure::Fast,
                    Some("wait") => EachFailure::WaitAll,
                    Some(n) => EachFailure::Tolerate(n.parse().unwrap()),
                },
                body: self.body(inner.unwrap(), Some(ix)),
            },
            other => panic!("{other} is no kind of node"),
        };
        self.nodes[ix.at()].kind = kind;
        for (word_name, on) in [("error", On::Error), ("reject", On::Reject), ("late", On::Timeout), ("spent", On::Max)] {
            word(word_name).into_iter().for_each(|to| self.wanted.push((ix, to.into(), on)));
        }
        for from in word("after").into_iter().flat_map(|after| after.split(',')) {
            let from = self.nodes.iter().position(|node| node.id.as_str() == from).unwrap();
            self.edge(NodeIx(from as u32), ix, On::Done);
        }
    }

    fn edge(&mut self, from: NodeIx, to: NodeIx, on: On) {
        let edge = EdgeIx(self.edges.len() as u32);
        self.edges.push(Edge { from, to, on });
        self.nodes[from.at()].outs.push(edge);
        self.nodes[to.at()].ins.push(edge);
    }

    fn joined(mut self) -> Maker {
        for (from, to, on) in std::mem::take(&mut self.wanted) {
            let to = self.nodes.iter().position(|node| node.id.as_str() == to).unwrap_or_else(|| panic!("no node {to}"));
            self.edge(from, NodeIx(to as u32), on);
        }
        self
    }
}

struct World {
    state: State,
    flow: Toy,
    now: Time,
    run: RunId,
    entries: Vec<Entry>,
    /// What a worker makes of a node: `!` fails it, anything else is its output.
    outcomes: BTreeMap<String, Value>,
    status: RunStatus,
    workflows: Vec<Arc<Ir>>,
    rows: BTreeMap<(u8, String), crate::row::Row>,
    /// After every command the runs are loaded anew.
    restarts: bool,
    /// Which messages are for another shard, and those.
    elsewhere: Option<fn(&Message) -> bool>,
    outbox: Vec<Message>,
}

impl World {
    fn new(workflows: &[(&str, &str)], outcomes: &[(&str, Value)], forgetful: bool) -> World {
        let mut state = State::new(0);
        let workflows: Vec<Arc<Ir>> = workflows.iter().map(|(name, text)| ir(name, text)).collect();
        workflows.iter().for_each(|ir| state.runs.put_workflow(ir.clone()));
        let outcomes = outcomes.iter().map(|(node, outcome)| ((*node).to_owned(), outcome.clone())).collect();
        let flow = Toy { forgetful, ..Toy::default() };
        let run = RunId::MAX;
        World {
            state,
            flow,
            now: Time::from_ms(1_000),
            run,
            entries: Vec::new(),
            outcomes,
            status: RunStatus::Running,
            workflows,
            rows: BTreeMap::new(),
            restarts: false,
            elsewhere: None,
            outbox: Vec::new(),
        }
    }

    fn ask(&mut self, command: Command) -> Reply {
        let step = Step::with_flow(&mut self.state, self.now, &mut self.flow);
        let mut step = step.without(self.elsewhere.unwrap_or(|_| false));
        let reply = decide(&mut step, &command).unwrap_or_else(|no| panic!("{command:?}: {no}"));
        let stepped = step.finish();
        for entry in &stepped.entries {
            match (&entry.owner, &entry.record) {
                (crate::record::Owner::Run(run), Record::RunDone { .. }) if *run == self.run => self.status = RunStatus::Done,
                (crate::record::Owner::Run(run), Record::RunFailed { .. }) if *run == self.run => self.status = RunStatus::Failed,
                (crate::record::Owner::Run(run), Record::RunCancelled { .. }) if *run == self.run => {
                    self.status = RunStatus::Cancelled
                }
                _ => {}
            }
        }
        for owner in stepped.dirty {
            let table = match &owner {
                crate::record::Owner::Run(_) => 0,
                crate::record::Owner::Frame(..) => 1,
                crate::record::Owner::Node(_) => 2,
                _ => continue,
            };
            if let Ok(row) = self.state.row(&owner) {
                self.rows.insert((table, owner.to_string()), row);
            }
        }
        self.entries.extend(stepped.entries);
        self.outbox.extend(stepped.outbox);
        if self.restarts {
            self.restart();
        }
        reply
    }

    /// The runs as their rows alone say it, in place of the ones in memory.
    fn stored(&self) -> crate::runs::Runs {
        let mut runs = crate::runs::Runs::default();
        self.workflows.iter().for_each(|ir| runs.put_workflow(ir.clone()));
        for row in self.rows.values() {
            runs.take_row(row).unwrap();
        }
        runs
    }

    fn restart(&mut self) {
        let mut runs = self.stored();
        runs.loaded(crate::ids::EventId::new(0, 0), None);
        self.state.runs = runs;
    }

    fn start(&mut self, workflow: &str, input: Value) {
        let workflow = WorkflowName::parse(workflow).unwrap();
        let spec = RunSpec::new(workflow.clone(), 1);
        let new = NewRun { workflow, version: None, spec, input: Payload(input.to_string().into()) };
        // The id is known before, so that its records are recognised.
        let Reply::Started { run, .. } = self.ask(Command::StartRun { new: Box::new(new), by: Actor::parse("ann").unwrap() })
        else {
            panic!("a run was started")
        };
        self.run = run;
        if self.entries.iter().any(|entry| matches!(entry.record, Record::RunDone { .. })) {
            self.status = RunStatus::Done;
        }
        if self.entries.iter().any(|entry| matches!(entry.record, Record::RunFailed { .. })) {
            self.status = RunStatus::Failed;
        }
    }

    /// One round of everything that goes on by itself: held values, sleeps, workers. `false`: nothing moved.
    fn round(&mut self) -> bool {
        let before = self.entries.len();
        for _ in 0..3 {
            self.ask(Command::TakeValues { values: vec![(RecordSeq(1), 1)] });
            self.ask(Command::ProceedRuns);
        }
        let lease = Command::Lease {
            worker: WorkerName::parse("w").unwrap(),
            types: [TypeName::parse("t").unwrap()].into(),
            queues: [].into(),
            want: 1,
        };
        if let Reply::Leased(grants) = self.ask(lease) {
            for grant in grants {
                let node = self.state.task(grant.task).unwrap().card().node().unwrap().clone();
                let outcome = self.outcomes.get(node.show().split_once('/').unwrap().1);
                let outcome = outcome.or_else(|| self.outcomes.get(node.node.as_str())).cloned();
                let outcome = match outcome {
                    Some(Value::String(failed)) if failed == "!" => Outcome::Failed {
                        failure: Failure { code: "oops".into(), message: String::new() },
                        retryable: false,
                        retry_after_ms: None,
                    },
                    Some(output) => Outcome::Done { output: Payload(output.to_string().into()) },
                    None => Outcome::Done { output: Payload(json!(node.node.as_str()).to_string().into()) },
                };
                self.ask(Command::Finish { task: grant.task, fence: grant.fence, outcome, jitter: 0 });
            }
        }
        self.entries.len() > before
    }

    fn settle(&mut self) {
        while self.round() {}
    }

    /// From the rows, where also what is past is told.
    fn shown(&self) -> String {
        self.shown_in(&self.stored())
    }

    fn shown_in(&self, runs: &crate::runs::Runs) -> String {
        let Some(live) = runs.get(self.run) else { return self.status.as_str().into() };
        let mut shown = Vec::new();
        let root = FramePath::root();
        for (path, frame) in std::iter::once((&root, &live.root)).chain(&live.frames) {
            for node in &frame.ir.body(frame.body).nodes {
                let state = frame.node(*node);
                let dot = if path.is_root() { String::new() } else { format!("{path}.") };
                let how = match state {
                    NodeState::Skipped(cause) => format!("skipped {}", cause.as_str()),
                    other => other.as_str().into(),
                };
                shown.push(format!("{dot}{} {how}", frame.ir.node(*node).id));
            }
        }
        let output = match live.run.output {
            ValueAt::Null => String::new(),
            at => format!(" {}", self.flow.value(at)),
        };
        format!("{} | {}{output}", shown.join(", "), live.run.status.as_str())
    }
}

/// Walks the workflow to where it stops by itself, with a flow that knows all and one that forgets every value once, with
/// and without a restart after every command.
fn check(text: &str, outcomes: &[(&str, Value)], expected: &str) {
    check_all(&[("w", text)], outcomes, expected);
}

fn check_all(workflows: &[(&str, &str)], outcomes: &[(&str, Value)], expected: &str) {
    for (forgetful, restarts) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut world = World::new(workflows, outcomes, forgetful);
        world.restarts = restarts;
        world.start("w", json!({"n": 1}));
        world.settle();
        assert_eq!(world.shown(), expected, "forgetful {forgetful}, restarts {restarts}: {workflows:?}");
        conserved(&world);
    }
}

/// Each node instance ends at most once, and whatever was made is gone or there.
fn conserved(world: &World) {
    let mut ends = BTreeMap::new();
    for entry in &world.entries {
        if matches!(
            entry.record,
            Record::NodeDone { .. } | Record::NodeFailed { .. } | Record::NodeSkipped { .. } | Record::NodeCancelled {}
        ) {
            *ends.entry(entry.owner.to_string()).or_insert(0) += 1;
        }
    }
    assert!(ends.values().all(|times| *times == 1), "{ends:?}");
}

#[test]
fn one_after_another() {
    check("a; b work after=a; c work after=b", &[], "a done, b done, c done | done \"c\"");
    check("a transform value=[1]; b transform value=output after=a; output=of.b", &[], "a done, b done | done [\"done\",[1]]");
}

#[test]
fn a_join_after_an_untaken_branch_does_not_hang() {
    let text = "a; r branch after=a rules=no:b,yes:c default=d; b; c; d; j join after=b,c,d; e work after=j";
    check(text, &[], "a done, r done, b skipped untaken, c done, d skipped untaken, j done, e done | done \"e\"");
}

#[test]
fn skips_go_deep() {
    let text = "a; r branch after=a rules=no:b default=x; b; c work after=b; d work after=c; x; j join after=d,x";
    check(
        text,
        &[],
        "a done, r done, b skipped untaken, c skipped untaken, d skipped untaken, x done, j done | done {\"x\":\"x\"}",
    );
}

#[test]
fn all_paths_skipped_is_an_end_too() {
    check("r branch rules=no:a; a; b work after=a", &[], "r done, a skipped untaken, b skipped untaken | done");
    check("a work when=no; b work after=a", &[], "a skipped untaken, b skipped untaken | done");
}

#[test]
fn a_gate_in_an_untaken_branch_asks_nobody() {
    let text = "r branch rules=no:ask default=b; ask approval; b; j join after=ask,b";
    check(text, &[], "r done, ask skipped untaken, b done, j done | done {\"b\":\"b\"}");
}

#[test]
fn joins_of_all_kinds() {
    check("a; b; j join join=any after=a,b", &[("a", json!("!"))], "a failed, b cancelled, j waiting | failed");
    check("a work ignore; b; j join join=any after=a,b", &[("a", json!("!"))], "a failed, b done, j done | done {\"a\":null}");
    let unreachable = "r branch rules=no:a default=b; a; b; c; j join join=3 after=a,b,c; k work after=j";
    check(unreachable, &[], "r done, a skipped untaken, b done, c done, j skipped failed, k skipped failed | failed");
    check("a; b; c; j join join=2 after=a,b,c", &[], "a done, b done, c done, j done | done {\"a\":\"a\",\"b\":\"b\"}");
}

#[test]
fn errors_go_where_they_are_told() {
    check(
        "a work error=b; b; c work after=a; j join join=any after=b,c",
        &[("a", json!("!"))],
        "a failed, b done, c skipped failed, j done | done {\"b\":\"b\"}",
    );
    check(
        "a work error=b; b; c work after=a; j join join=any after=b,c",
        &[],
        "a done, b skipped untaken, c done, j done | done {\"c\":\"c\"}",
    );
    check("a transform value=broken; b work after=a", &[], "a failed, b waiting | failed");
    check("a work when=[1]", &[], "a failed | failed");
}

#[test]
fn an_agent_names_the_way() {
    let text = "a; r route after=a to=b+c; b; c; j join after=b,c";
    check(text, &[("a", json!("c"))], "a done, r done, b skipped untaken, c done, j done | done {\"c\":\"c\"}");
    check(text, &[("a", json!("nowhere"))], "a done, r failed, b waiting, c waiting, j waiting | failed");
}

#[test]
fn loops_turn_until_they_may_stop() {
    let body = "{ x transform value=iteration }";
    check(
        &format!("l loop until=third {body}; z work after=l"),
        &[],
        "l done, z done, l[0].x done, l[1].x done, l[2].x done | done \"z\"",
    );
    check(
        &format!("l loop until=no max=2 spent=z {body}; y work after=l; z"),
        &[],
        "l done, y skipped untaken, z done, l[0].x done, l[1].x done | done {\"z\":\"z\"}",
    );
    check(&format!("l loop until=no max=2 {body}"), &[], "l failed, l[0].x done, l[1].x done | failed");
    check(
        "l loop until=third init=[7] { x transform value=last }",
        &[],
        "l done, l[0].x done, l[1].x done, l[2].x done | done [7]",
    );
}

#[test]
fn each_goes_over_all_items_in_order() {
    check("e each items=[] { x }; z work after=e", &[], "e done, z done | done \"z\"");
    check("e each items=[5,6,7] { x transform value=item }", &[], "e done, e[0].x done, e[1].x done, e[2].x done | done [5,6,7]");
    check(
        "e each items=[5,6,7] concurrency=1 { x; y transform value=item after=x; output=of.y }",
        &[],
        "e done, e[0].x done, e[0].y done, e[1].x done, e[1].y done, e[2].x done, e[2].y done | done [[\"done\",5],[\"done\",6],[\"done\",7]]",
    );
    check("e each items=output { x }", &[], "e failed | failed");
}

#[test]
fn items_that_fail() {
    let failing = [("e[1]/x", json!("!"))];
    check(
        "e each items=[5,6,7] failure=1 { x }",
        &failing,
        "e done, e[0].x done, e[1].x failed, e[2].x done | done [\"x\",null,\"x\"]",
    );
    check("e each items=[5,6,7] failure=wait { x }", &failing, "e failed, e[0].x done, e[1].x failed, e[2].x done | failed");
    check("e each items=[5,6,7] { x }", &failing, "e failed, e[0].x done, e[1].x failed, e[2].x cancelled | failed");
    check(
        "e each items=[5,6,7] error=z { x }; z",
        &failing,
        "e failed, z done, e[0].x done, e[1].x failed, e[2].x cancelled | done \"z\"",
    );
}

#[test]
fn a_loop_in_an_each_in_a_loop() {
    let text = "o loop until=third { e each items=[1,2] { l loop until=third { x transform value=iteration } } }";
    let mut world = World::new(&[("w", text)], &[], false);
    world.start("w", json!(null));
    world.settle();
    assert!(world.shown().ends_with("| done [2,2]"), "{}", world.shown());
    let turns = world.entries.iter().filter(|entry| entry.owner.to_string().ends_with("/x")).count();
    assert_eq!(turns, 3 * 2 * 3);
    conserved(&world);
}

#[test]
fn runs_call_runs() {
    check_all(
        &[("w", "a; s call run=v after=a; b work after=s"), ("v", "x; y work after=x")],
        &[],
        "a done, s done, b done | done \"b\"",
    );
    check_all(&[("w", "s call run=v; b work after=s"), ("v", "x")], &[("x", json!("!"))], "s failed, b waiting | failed");
    check_all(&[("w", "s call run=v error=b; b"), ("v", "x")], &[("x", json!("!"))], "s failed, b done | done \"b\"");
    check_all(&[("w", "s call run=nobody; b work after=s")], &[], "s failed, b waiting | failed");
}

#[test]
fn a_cancelled_run_takes_everything_with_it() {
    let mut world =
        World::new(&[("w", "e each items=[1,2,3] { x; s sleep ms=1000 after=x }; c call run=v"), ("v", "y")], &[], false);
    world.start("w", json!(null));
    let by = Actor::parse("ann").unwrap();
    world.ask(Command::CancelRun { run: world.run, by, reason: "enough".into() });
    world.settle();
    assert_eq!(
        world.shown(),
        "e cancelled, c cancelled, e[0].x cancelled, e[0].s waiting, e[1].x cancelled, e[1].s waiting, \
        e[2].x cancelled, e[2].s waiting | cancelled"
    );
    assert_eq!(world.state.counts().queued + world.state.counts().running, 0);
    conserved(&world);
}

/// Runs on one shard, queues on another, and between them a mailbox that is slow and tells things twice.
struct Shards {
    runs: World,
    queues: State,
    to_queues: Vec<Message>,
    to_runs: Vec<Message>,
    finished: FxHashMap<TaskId, bool>,
    chance: u64,
}

impl Shards {
    fn chance(&mut self, below: u64) -> u64 {
        self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.chance >> 33) % below
    }

    fn ask_runs(&mut self, command: Command) {
        let World { state, flow, now, entries, .. } = &mut self.runs;
        let mut step = Step::with_flow(state, *now, flow).without(Message::is_for_queues);
        _ = decide(&mut step, &command);
        let stepped = step.finish();
        entries.extend(stepped.entries);
        self.to_queues.extend(stepped.outbox);
    }

    fn ask_queues(&mut self, command: Command) -> Option<Reply> {
        let mut step = Step::new(&mut self.queues, self.runs.now).without(|message| !message.is_for_queues());
        let reply = decide(&mut step, &command).ok();
        let stepped = step.finish();
        self.to_runs.extend(stepped.outbox);
        reply
    }

    /// In order, but late: some of what waits. Some of it is told again later.
    fn deliver(&mut self) {
        for to_runs in [false, true] {
            let waiting = if to_runs { self.to_runs.len() } else { self.to_queues.len() };
            let count = if waiting == 0 { 0 } else { self.chance(waiting as u64 + 1) as usize };
            let list = if to_runs { &mut self.to_runs } else { &mut self.to_queues };
            let told: Vec<Message> = list.drain(..count).collect();
            let again = told.iter().filter(|_| self.chance(3) == 0).cloned().collect::<Vec<_>>();
            for message in told.into_iter().chain(again) {
                let command = Command::Hear(Box::new(message));
                if to_runs { self.ask_runs(command) } else { _ = self.ask_queues(command) }
            }
        }
    }
}

#[test]
fn runs_and_queues_on_two_shards_come_to_the_same_end() {
    let text = "a; r branch after=a rules=no:b,yes:c default=d; b; c; d; j join after=b,c,d
        ; e each items=[1,2,3] after=j failure=1 { x; y work after=x }; l loop until=third after=e { z }";
    for seed in 0..200 {
        let mut runs = World::new(&[("w", text)], &[], false);
        runs.elsewhere = Some(Message::is_for_queues);
        runs.start("w", json!(null));
        let to_queues = std::mem::take(&mut runs.outbox);
        let mut shards =
            Shards { runs, queues: State::new(1), to_queues, to_runs: Vec::new(), finished: FxHashMap::default(), chance: seed };
        for _ in 0..2_000 {
            shards.deliver();
            shards.ask_runs(Command::ProceedRuns);
            let lease = Command::Lease {
                worker: WorkerName::parse("w").unwrap(),
                types: [TypeName::parse("t").unwrap()].into(),
                queues: [].into(),
                want: 2,
            };
            let Some(Reply::Leased(grants)) = shards.ask_queues(lease) else { panic!("leased or not") };
            for grant in grants {
                assert!(shards.finished.insert(grant.task, true).is_none(), "{} ran twice", grant.task);
                let outcome = if shards.queues.task(grant.task).unwrap().card().node().unwrap().show().ends_with("e[1]/x") {
                    let failure = Failure { code: "oops".into(), message: String::new() };
                    Outcome::Failed { failure, retryable: false, retry_after_ms: None }
                } else {
                    Outcome::Done { output: Payload("7".into()) }
                };
                shards.ask_queues(Command::Finish { task: grant.task, fence: grant.fence, outcome, jitter: 0 });
            }
            if shards.runs.state.runs.get(shards.runs.run).is_none_or(|live| live.run.status != RunStatus::Running) {
                break;
            }
        }
        assert_eq!(
            shards.runs.shown_in(&shards.runs.state.runs),
            "a done, r done, b skipped untaken, c done, d skipped untaken, j done, e done, l done, \
             e[0].x done, e[0].y done, e[1].x failed, e[1].y waiting, e[2].x done, e[2].y done, \
             l[0].z done, l[1].z done, l[2].z done | done 7",
            "seed {seed}"
        );
        assert_eq!(shards.finished.len(), 10, "seed {seed}");
        conserved(&shards.runs);
    }
}
