//! The evaluation side of `kernel::eval`: the kernel asks by where values are, the engine has them at hand, and here the
//! expressions of a workflow are worked out over them. Values are borrowed, never copied; what comes out is written as text
//! once. Invariants: whatever is missing is asked for in one go; the same question over the same values has the same answer.

use crate::context::{Found, Nodes};
use crate::expr::limits::{BUILT_BYTES_MAX, BYTES_PER_UNIT};
use crate::expr::{Bound, Budget, Expr, Names, NodeField, Reads, Root, Template, Value};
use crate::input::{Checked, InputSchema};
use crate::instant;
use crate::registry::{Arrival, EVENT_KEYS, said};
use crate::wide;
use kernel::eval::{EXPRESSION_FAILED, Evaluated, EventFacts, Json, NodeFacts, Recipe, Scope, Shape, View};
use kernel::ids::RecordSeq;
use kernel::ir::{ExprIx, Form, Ir, NodeKind, OnError, Sleep};
use kernel::limits::ERROR_MESSAGE_BYTES_MAX;
use kernel::names::NodeId;
use kernel::record::{Failure, Payload};
use kernel::run::ValueAt;
use serde::{Serialize, Serializer};
use serde_json::Value as JsonValue;
use std::sync::{Arc, OnceLock};

/// Values by the record that holds them.
pub trait Values {
    /// As [`wide::read`] reads it; `None`: not at hand.
    fn value(&mut self, seq: RecordSeq) -> Option<Arc<JsonValue>>;

    /// Its text as it lies there, where that is at hand and so need not be written again.
    fn text(&mut self, _: RecordSeq) -> Option<Payload> {
        None
    }
}

/// The expressions of one workflow version, each compiled when it is first asked.
#[derive(Debug)]
pub struct Programs {
    ir: Arc<Ir>,
    programs: Vec<OnceLock<Program>>,
    /// Those whose text is an instant, in order.
    instants: Vec<ExprIx>,
    /// What a run's input is held against, or why it cannot be.
    input: OnceLock<Result<InputSchema, String>>,
}

#[derive(Debug)]
enum Program {
    Expr(Expr),
    Template(Template),
}

impl Programs {
    pub fn new(ir: Arc<Ir>) -> Programs {
        let programs = ir.exprs.iter().map(|_| OnceLock::new()).collect();
        let until = |kind: &NodeKind| if let NodeKind::Sleep(Sleep::UntilExpr(expr)) = kind { Some(*expr) } else { None };
        let mut instants: Vec<ExprIx> = ir.nodes.iter().filter_map(|node| until(&node.kind)).collect();
        instants.sort_unstable();
        Programs { ir, programs, instants, input: OnceLock::new() }
    }

    pub fn ir(&self) -> &Arc<Ir> {
        &self.ir
    }

    /// Why a run of this workflow cannot have this input; `None`: it can. And what it cost to find out.
    pub fn misfit(&self, input: &Payload) -> (Option<Failure>, u64) {
        let Some(schema) = self.ir.input_schema.as_deref() else { return (None, 0) };
        let (workflow, version) = (&self.ir.workflow, self.ir.version);
        let failure = |code: &str, message: String| Some(Failure { code: code.into(), message: cut(message) });
        let ready = match self.input.get_or_init(|| InputSchema::new(schema).map_err(|why| why.message)) {
            Ok(ready) => ready,
            Err(why) => {
                let message = format!("the input of workflow `{workflow}` version {version} is no JSON Schema: {why}");
                return (failure("bad_workflow", message), 0);
            }
        };
        let Checked { misfits, cost } = ready.check(&serde_json::from_str(input.text()).unwrap_or_default());
        match misfits.as_slice() {
            [] => (None, cost),
            misfits => (failure("invalid_input", crate::input::told(workflow, version, misfits)), cost),
        }
    }

    fn program(&self, expr: ExprIx) -> &Program {
        self.programs[expr.at()].get_or_init(|| {
            let written = self.ir.expr(expr);
            let nodes = AnyNode(&self.ir);
            let names = Names::new(Root::ALL).with_nodes(&nodes);
            let program = match written.form {
                Form::Cel => Expr::compile(&written.source, &names).map(Program::Expr),
                Form::Template => {
                    let json = wide::read(&written.source).expect("a workflow's template is JSON");
                    Template::compile(&json, &names).map(Program::Template)
                }
            };
            program.unwrap_or_else(|problems| panic!("an expression of a checked workflow is wrong: {}", problems[0]))
        })
    }
}

impl Program {
    fn reads(&self) -> &Reads {
        match self {
            Program::Expr(expr) => expr.reads(),
            Program::Template(template) => template.reads(),
        }
    }
}

/// Which nodes may be read from where was checked when the workflow was compiled.
struct AnyNode<'a>(&'a Ir);

impl Nodes for AnyNode<'_> {
    fn find(&self, id: &str) -> Found {
        NodeId::parse(id).ok().and_then(|id| self.0.find(&id)).map_or(Found::Unknown, Found::Upstream)
    }

    fn known<'a>(&'a self) -> Box<dyn Iterator<Item = &'a str> + 'a> {
        Box::new(self.0.nodes.iter().map(|node| node.id.as_str()))
    }
}

pub fn eval(programs: &Programs, expr: ExprIx, scope: &Scope, values: &mut dyn Values) -> Evaluated {
    eval_within(programs, expr, scope, values, &mut Budget::default())
}

/// The budget tells afterwards what it cost.
pub fn eval_within(programs: &Programs, expr: ExprIx, scope: &Scope, values: &mut dyn Values, budget: &mut Budget) -> Evaluated {
    let program = programs.program(expr);
    let bindings = match Bindings::fetch(&programs.ir, program.reads(), scope, values) {
        Ok(bindings) => bindings,
        Err(missing) => return Evaluated::Missing(missing),
    };
    let given = match program {
        Program::Expr(expr) => expr.eval_then(&bindings, budget, |value| (text(value), view_of_value(value))),
        Program::Template(template) => template.resolve(&bindings, budget).map(|json| (text(&Value::of(&json)), view_of(&json))),
    };
    let (text, view) = match given {
        Ok(given) => given,
        Err(error) => return failed(error.to_string()),
    };
    if programs.instants.binary_search(&expr).is_err() {
        return Evaluated::Value(Json { payload: Payload(text.into()), view });
    }
    // A number says nothing of its unit or its beginning: only a text is an instant.
    let ms = if let View::Text(until) = &view { instant::parse_ms(until) } else { None };
    match ms {
        Some(ms) => Evaluated::Value(Json { payload: Payload(ms.to_string().into()), view: View::Int(ms) }),
        None => {
            let source = &programs.ir.expr(expr).source;
            let told = format!("`{source}` gave {}, no instant such as \"2027-01-31T09:00:00Z\"", shortened(&text));
            Evaluated::Failed(Failure { code: "bad_time".into(), message: cut(told) })
        }
    }
}

/// As much of a value as fits in a sentence.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(100) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// `Shape` as one value.
pub fn gather(shape: &Shape, values: &mut dyn Values) -> Evaluated {
    let mut held = Held::default();
    held.ask(shape, values);
    if !held.missing.is_empty() {
        return Evaluated::Missing(held.missing);
    }
    let view = if let Shape::At(at) = shape { view_of(held.at(*at)) } else { View::Other };
    whole(&held.bound(shape), view)
}

/// What it cost to put together, or to find that it cannot be.
pub fn cost_of(evaluated: &Evaluated) -> u64 {
    match evaluated {
        Evaluated::Value(json) => 1 + (json.payload.text().len() / BYTES_PER_UNIT) as u64,
        Evaluated::Missing(_) => 1,
        Evaluated::Failed(_) => BUILT_BYTES_MAX / BYTES_PER_UNIT as u64,
    }
}

/// The same for one who only hands it on: its text is enough, and nobody looks at it.
fn pass_on(shape: &Shape, values: &mut dyn Values) -> Evaluated {
    let text = if let Shape::At(ValueAt::Record(seq)) = shape { values.text(*seq) } else { None };
    match text {
        Some(payload) => Evaluated::Value(Json { payload, view: View::Other }),
        None => gather(shape, values),
    }
}

/// The list of these, in order.
pub fn list(items: &[ValueAt], values: &mut dyn Values) -> Evaluated {
    if let Some(json) = spliced(items, values) {
        return json;
    }
    let mut held = Held::default();
    items.iter().for_each(|item| held.ask_at(*item, values));
    if !held.missing.is_empty() {
        return Evaluated::Missing(held.missing);
    }
    let parts = Parts(items, &held);
    whole(&parts, View::List(items.len() as u32))
}

/// The same of their texts, if all are at hand as such: nothing is read and written again.
fn spliced(items: &[ValueAt], values: &mut dyn Values) -> Option<Evaluated> {
    let mut text = String::from("[");
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            text.push(',');
        }
        match item {
            ValueAt::Null => text.push_str("null"),
            ValueAt::Record(seq) => text.push_str(values.text(*seq)?.text()),
            ValueAt::Own | ValueAt::Item(..) => return None,
        }
        if text.len() > BUILT_BYTES_MAX as usize {
            return Some(failed(too_large()));
        }
    }
    text.push(']');
    Some(Evaluated::Value(Json { payload: Payload(text.into()), view: View::List(items.len() as u32) }))
}

fn too_large() -> String {
    format!("the value put together here has more than {BUILT_BYTES_MAX} bytes")
}

/// The input of a run's task: its node's `with`, or without one what `output` is to it. And what it cost to work it out.
pub fn resolve(programs: &Programs, recipe: &Recipe, values: &mut dyn Values) -> (Evaluated, u64) {
    let ir = &programs.ir;
    let node = ir.find(&recipe.node).map(|node| &ir.node(node).kind);
    let Some(NodeKind::Work { with, .. }) = node else {
        panic!("`{}` of {} version {} is no task", recipe.node, recipe.workflow, recipe.version)
    };
    let mut budget = Budget::default();
    let evaluated = match with {
        Some(with) => eval_within(programs, *with, &recipe.scope, values, &mut budget),
        None => pass_on(&recipe.scope.output, values),
    };
    (evaluated, budget.cost_spent())
}

/// As handlers see it.
fn said_of(event: &EventFacts) -> Vec<(&'static str, JsonValue)> {
    let id = event.id.to_string();
    let arrival = Arrival { spec: &event.spec, id: &id, received_at: event.received_at, data: "" };
    EVENT_KEYS.into_iter().filter(|key| *key != "data").map(|key| (key, said(&arrival, key))).collect()
}

fn failed(message: String) -> Evaluated {
    Evaluated::Failed(Failure { code: EXPRESSION_FAILED.into(), message: cut(message) })
}

fn cut(mut message: String) -> String {
    message.truncate(message.floor_char_boundary(ERROR_MESSAGE_BYTES_MAX));
    message
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a value has a JSON form")
}

/// What is only put together is bounded as what is worked out.
fn whole(value: &impl Serialize, view: View) -> Evaluated {
    let mut bounded = Bounded(Vec::with_capacity(128));
    match serde_json::to_writer(&mut bounded, value) {
        Ok(()) => {
            let text = String::from_utf8(bounded.0).expect("JSON is text");
            Evaluated::Value(Json { payload: Payload(text.into()), view })
        }
        Err(_) => failed(too_large()),
    }
}

struct Bounded(Vec<u8>);

impl std::io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if self.0.len() + bytes.len() > BUILT_BYTES_MAX as usize {
            return Err(std::io::ErrorKind::WriteZero.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn view_of(json: &JsonValue) -> View {
    view_of_value(&Value::of(json))
}

fn view_of_value(value: &Value<'_>) -> View {
    match value {
        Value::Null => View::Null,
        Value::Bool(value) => View::Bool(*value),
        Value::Int(value) => View::Int(*value),
        Value::Uint(value) => i64::try_from(*value).map_or(View::Other, View::Int),
        Value::Text(text) => View::Text((&**text).into()),
        Value::List(list) => View::List(list.len() as u32),
        Value::Double(_) | Value::Wide(_) | Value::Map(_) => View::Other,
    }
}

/// Values that were at hand, by their records.
#[derive(Default)]
struct Held {
    values: Vec<(RecordSeq, Arc<JsonValue>)>,
    /// Those that were not.
    missing: Vec<RecordSeq>,
}

impl Held {
    fn ask(&mut self, shape: &Shape, values: &mut dyn Values) {
        match shape {
            Shape::At(at) => self.ask_at(*at, values),
            Shape::Object(parts) => parts.iter().for_each(|(_, part)| self.ask(part, values)),
        }
    }

    /// One that is missing does not end the asking: all of them are fetched together.
    fn ask_at(&mut self, at: ValueAt, values: &mut dyn Values) {
        let (ValueAt::Record(seq) | ValueAt::Item(seq, _)) = at else { return };
        let Err(place) = self.values.binary_search_by_key(&seq, |(held, _)| *held) else { return };
        match values.value(seq) {
            Some(value) => self.values.insert(place, (seq, value)),
            None => self.missing.push(seq),
        }
    }

    fn at(&self, at: ValueAt) -> &JsonValue {
        let held = |seq: RecordSeq| match self.values.binary_search_by_key(&seq, |(held, _)| *held) {
            Ok(place) => &*self.values[place].1,
            Err(_) => panic!("the value of record {} was not asked for", seq.0),
        };
        match at {
            ValueAt::Null => &JsonValue::Null,
            ValueAt::Own => panic!("nobody asks for a value by a record that is not there yet"),
            ValueAt::Record(seq) => held(seq),
            ValueAt::Item(seq, index) => {
                let item = held(seq).get(index as usize);
                item.unwrap_or_else(|| panic!("the list of record {} has no item {index}", seq.0))
            }
        }
    }

    fn bound<'s>(&'s self, shape: &'s Shape) -> Bound<'s> {
        match shape {
            Shape::At(at) => Bound::Json(self.at(*at)),
            Shape::Object(parts) => Bound::Object(parts.iter().map(|(id, part)| (id.as_str(), self.bound(part))).collect()),
        }
    }
}

/// A list of values from here and there.
struct Parts<'a>(&'a [ValueAt], &'a Held);

impl Serialize for Parts<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|at| Value::of(self.1.at(*at))))
    }
}

/// A kernel's scope, as an expression sees it.
struct Bindings<'a> {
    ir: &'a Ir,
    scope: &'a Scope,
    held: Held,
    run: JsonValue,
    index: JsonValue,
    iteration: JsonValue,
    errors: Vec<(&'a NodeId, JsonValue)>,
    /// What is said of the event, without its data.
    event: Vec<(&'static str, JsonValue)>,
}

impl<'a> Bindings<'a> {
    /// Or the values it reads that are not at hand.
    fn fetch(ir: &'a Ir, reads: &Reads, scope: &'a Scope, values: &mut dyn Values) -> Result<Bindings<'a>, Vec<RecordSeq>> {
        let mut held = Held::default();
        let has = |root: Root| reads.roots.contains(&root);
        if has(Root::Input) {
            held.ask_at(scope.input, values);
        }
        if has(Root::Output) {
            held.ask(&scope.output, values);
        }
        if let (true, Some((item, _))) = (has(Root::Item), scope.item) {
            held.ask_at(item, values);
        }
        if let (true, Some((_, last))) = (has(Root::Last), scope.last) {
            held.ask_at(last, values);
        }
        let facts = scope.event.as_deref().filter(|_| has(Root::Event));
        facts.iter().for_each(|event| held.ask_at(event.data, values));
        let mut errors = Vec::new();
        for (id, facts) in &scope.nodes {
            let reads_it = |field| reads.nodes.iter().any(|(read, its)| read == id.as_str() && *its == field);
            if reads_it(NodeField::Output) {
                held.ask(&facts.output, values);
            }
            if let (Some(failure), true) = (&facts.error, reads_it(NodeField::Error)) {
                errors.push((id, serde_json::json!({"code": failure.code, "message": wide::text(&failure.message)})));
            }
        }
        if !held.missing.is_empty() {
            return Err(held.missing);
        }
        let run = if has(Root::Run) {
            serde_json::json!({"id": scope.run.to_string(), "workflow": ir.workflow.as_str(), "version": ir.version})
        } else {
            JsonValue::Null
        };
        let index = scope.item.map_or(JsonValue::Null, |(_, index)| index.into());
        let iteration = scope.last.map_or(JsonValue::Null, |(turn, _)| turn.into());
        let event = facts.map(said_of).unwrap_or_default();
        Ok(Bindings { ir, scope, held, run, index, iteration, errors, event })
    }

    fn facts(&self, id: &str) -> Option<(&NodeId, &NodeFacts)> {
        self.scope.nodes.iter().find(|(known, _)| known.as_str() == id).map(|(id, facts)| (id, facts))
    }
}

impl crate::expr::Scope for Bindings<'_> {
    fn root(&self, root: Root) -> Option<Bound<'_>> {
        let at = |at: ValueAt| Bound::Json(self.held.at(at));
        match root {
            Root::Input => Some(at(self.scope.input)),
            Root::Output => Some(self.held.bound(&self.scope.output)),
            Root::Item => self.scope.item.map(|(item, _)| at(item)),
            Root::Index => self.scope.item.map(|_| Bound::Json(&self.index)),
            Root::Iteration => self.scope.last.map(|_| Bound::Json(&self.iteration)),
            Root::Last => self.scope.last.map(|(_, last)| at(last)),
            Root::Run => Some(Bound::Json(&self.run)),
            Root::Event => self.scope.event.as_ref().map(|event| {
                let said = self.event.iter().map(|(key, value)| (*key, Bound::Json(value)));
                Bound::Object(said.chain([("data", at(event.data))]).collect())
            }),
            Root::Nodes => None,
        }
    }

    /// A node that is done has one, and so has one whose failure is ignored: null. To read another's is a mistake that is
    /// told; `has(nodes.x.output)` asks first.
    fn node_output(&self, id: &str) -> Option<Bound<'_>> {
        let (id, facts) = self.facts(id)?;
        let ignored = || self.ir.find(id).is_some_and(|node| self.ir.node(node).on_error == OnError::Ignore);
        let there = facts.status == "done" || (facts.status == "failed" && ignored());
        there.then(|| self.held.bound(&facts.output))
    }

    fn node_status(&self, id: &str) -> Option<&str> {
        self.facts(id).map(|(_, facts)| facts.status.as_str())
    }

    fn node_error(&self, id: &str) -> Option<&JsonValue> {
        self.errors.iter().find(|(known, _)| known.as_str() == id).map(|(_, error)| error)
    }
}

#[cfg(test)]
mod tests;
