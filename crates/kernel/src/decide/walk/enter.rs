//! Entering a node: what each kind begins with.

use super::{Asked, answer, ask, done, fail, ir, live, skip};
use crate::eval::{Json, Recipe, Shape, TextAt, View};
use crate::frame::Cause;
use crate::ids::RunId;
use crate::ir::{ExprIx, Ir, Node, NodeKind, Reads, Sleep};
use crate::limits::{STEP_COST_MAX, SUB_RUNS_DEPTH_MAX};
use crate::message::Message;
use crate::names::{KeyName, KeyValue};
use crate::node::{Started, Told, Went};
use crate::record::{Failure, Payload, Record, TaskSpec};
use crate::run::{NodeAt, RunSpec, ValueAt};
use crate::runs::Spot;
use crate::step::Step;
use crate::time::Time;

pub(super) fn enter(step: &mut Step<'_>, spot: &Spot) {
    let ir = ir(step, spot).expect("only what runs is entered");
    let run = live(step, spot.run).expect("as above");
    let node = ir.node(spot.node);
    let output = run.output_before(&spot.frame, spot.node);
    if let Some(when) = node.when {
        match truth(step, spot, when, output.clone()) {
            Some(true) => {}
            Some(false) => return skip(step, spot, Cause::Untaken),
            None => return,
        }
    }
    match &node.kind {
        NodeKind::Work { .. } => work(step, spot, &ir, node, output),
        NodeKind::Branch { rules } => branch(step, spot, rules, &output),
        NodeKind::Route { by } => route(step, spot, *by, output),
        NodeKind::Join => done(step, spot, Told::Passed, Went::Done, None),
        NodeKind::Transform { value, .. } => {
            if let Some(json) = value_of(step, spot, *value, output) {
                done(step, spot, Told::Own, Went::Done, Some(json.payload));
            }
        }
        NodeKind::Sleep(sleep) => {
            let until = match sleep {
                Sleep::For { ms } => Some(step.now().plus_ms(*ms)),
                Sleep::ForExpr(expr) => {
                    let ms = value_of(step, spot, *expr, output);
                    ms.and_then(|json| {
                        instant(step, spot, *expr, &json, |ms, now| u64::try_from(ms).ok().map(|ms| now.plus_ms(ms)))
                    })
                }
                Sleep::UntilExpr(expr) => {
                    // `flow` gives an instant as its milliseconds.
                    let at = value_of(step, spot, *expr, output);
                    at.and_then(|json| instant(step, spot, *expr, &json, |ms, _| Some(Time::from_ms(ms)).filter(|_| ms >= 0)))
                }
            };
            if let Some(until) = until {
                step.record_node(spot, Record::NodeStarted { at: Started::Sleeping { until } }, None);
            }
        }
        NodeKind::Approval { message, .. } => {
            let until = node.timeout_ms.map(|ms| step.now().plus_ms(ms));
            let asked = match message {
                None => Some(None),
                Some(message) => value_of(step, spot, *message, output).map(|json| Some(json.payload)),
            };
            if let Some(message) = asked {
                step.record_node(spot, Record::NodeStarted { at: Started::Asking { until } }, message);
            }
        }
        NodeKind::Wait { event, key, .. } => {
            let found = match key {
                None => None,
                Some(key) => match ask(step, spot, key.is, output) {
                    Asked::Json(json) => super::hear::key_text(&json).map(|value| (Box::from(&*ir.expr(key.of).source), value)),
                    // What else is demanded may say that it need not work out.
                    Asked::Failed(_) if !key.whole => None,
                    Asked::Failed(failure) => return fail(step, spot, failure),
                    Asked::Held => return,
                },
            };
            super::hear::begin(step, spot, event, found);
        }
        NodeKind::Workflow { workflow, version, with } => {
            let input = match with {
                Some(with) => value_of(step, spot, *with, output),
                None => gathered(step, spot, &output),
            };
            let Some(input) = input else { return };
            if let Some(disabled) = crate::decide::workflow::refuses(step, workflow) {
                return fail(step, spot, Failure { code: disabled.code().into(), message: disabled.to_string() });
            }
            let found = match step.ir(workflow, *version) {
                Some(Ok(found)) => found,
                Some(Err(message)) => return fail(step, spot, Failure { code: "bad_workflow".into(), message }),
                None => {
                    let version = version.map_or(String::new(), |version| format!(" with version {version}"));
                    let message = format!("there is no workflow `{workflow}`{version}");
                    return fail(step, spot, Failure { code: "workflow_not_found".into(), message });
                }
            };
            if let Some(failure) = step.misfit(&found.1, &input.payload) {
                return fail(step, spot, failure);
            }
            if depth(step, spot.run) >= SUB_RUNS_DEPTH_MAX {
                let message = format!("runs call one another {SUB_RUNS_DEPTH_MAX} deep");
                return fail(step, spot, Failure { code: "too_deep".into(), message });
            }
            let parent = live(step, spot.run).expect("it is being entered");
            let at = NodeAt { run: spot.run, frame: spot.frame.clone(), node: node.id.clone() };
            let limit_ms = node.timeout_ms.into_iter().chain(found.1.limits.deadline_ms).min();
            let spec = RunSpec {
                workflow: workflow.clone(),
                version: found.0,
                priority: parent.run.spec.priority,
                tags: parent.run.spec.tags.clone(),
                idempotency_key: None,
                parent: Some(at),
                deadline: limit_ms.map(|ms| step.now().plus_ms(ms)),
                asked_ms: node.timeout_ms,
                depth: parent.run.spec.depth + 1,
                origin: None,
                task: None,
                event: None,
            };
            let run = step.new_run();
            step.record_node(spot, Record::NodeStarted { at: Started::Calling { run, again: 0 } }, None);
            step.send(Message::StartRun { run, spec: Box::new(spec), input: input.payload, by: super::super::itself() });
        }
        NodeKind::Loop { init, .. } => {
            let (init, payload) = match init {
                None => (ValueAt::Null, None),
                Some(init) => match value_of(step, spot, *init, output) {
                    Some(json) => (ValueAt::Own, Some(json.payload)),
                    None => return,
                },
            };
            let generation = generation(step, spot.run);
            step.record_node(spot, Record::NodeStarted { at: Started::Turning { init, kept: 0, generation } }, payload);
            _ = super::frames::open(step, spot, 0);
        }
        NodeKind::Each { items, .. } => {
            let Some(list) = value_of(step, spot, *items, output) else { return };
            let View::List(count) = list.view else {
                let message = gave(step, spot, *items, &list, "not a list");
                return fail(step, spot, Failure { code: "not_a_list".into(), message });
            };
            if count == 0 {
                return done(step, spot, Told::Own, Went::Done, Some(Payload("[]".into())));
            }
            let generation = generation(step, spot.run);
            let at = Started::Spreading { items: ValueAt::Own, count, again: false, generation };
            step.record_node(spot, Record::NodeStarted { at }, Some(list.payload));
            super::frames::spread(step, spot);
        }
    }
}

/// How many runs called one another down to this one.
fn depth(step: &Step<'_>, run: RunId) -> u16 {
    live(step, run).map_or(0, |live| live.run.spec.depth)
}

fn generation(step: &Step<'_>, run: RunId) -> u32 {
    live(step, run).map_or(0, |live| live.run.generation)
}

fn work(step: &mut Step<'_>, spot: &Spot, ir: &Ir, node: &Node, output: Shape) {
    let NodeKind::Work { kind, queue, priority, keys, with } = &node.kind else { unreachable!("only work is done by workers") };
    let mut values = Vec::with_capacity(keys.len());
    for (name, expr) in keys {
        match key(step, spot, name, *expr, output.clone()) {
            Some(value) => values.push((name.clone(), value)),
            None => return,
        }
    }
    values.sort();
    let run = live(step, spot.run).expect("it is being entered");
    let reads = match with {
        Some(with) => ir.expr(*with).reads.clone(),
        None => Reads { output: true, ..Reads::default() },
    };
    let scope = run.scope(&spot.frame, ir, &reads, output);
    let RunSpec { workflow, version, .. } = &*run.run.spec;
    let revision = run.frame(&spot.frame).and_then(|frame| run.run.patch(frame.revision));
    let text = ir.revised.zip(revision).map(|(digest, record)| TextAt { record, digest });
    let recipe = Recipe { workflow: workflow.clone(), version: *version, text, node: node.id.clone(), scope };
    let input = Payload(serde_json::to_string(&recipe).expect("a recipe has a JSON form").into());
    let at = NodeAt { run: spot.run, frame: spot.frame.clone(), node: node.id.clone() };
    let spec = TaskSpec {
        queue: queue.clone(),
        kind: kind.clone(),
        priority: priority.or(run.run.spec.priority).unwrap_or_default(),
        keys: values,
        tags: Vec::new(),
        blocked_by: Vec::new(),
        scheduled_for: None,
        idempotency_key: None,
        retry: node.retry,
        budget_ms: node.timeout_ms,
        idle: false,
        node: Some(Box::new(at)),
        generation: run.run.generation,
        start_by: None,
        trigger: None,
        input: None,
    };
    let task = step.new_task();
    step.record_node(spot, Record::NodeStarted { at: Started::Working { task } }, None);
    step.send(Message::Enqueue { task, spec: Box::new(spec), input });
}

fn branch(step: &mut Step<'_>, spot: &Spot, rules: &[ExprIx], output: &Shape) {
    let cost_before = step.cost();
    for (at, rule) in rules.iter().enumerate() {
        // Each of them is bounded, and so are all together: they are asked in one go.
        if step.cost() - cost_before > STEP_COST_MAX {
            let message = format!("the first {at} rules together cost more than {STEP_COST_MAX} steps");
            return fail(step, spot, Failure { code: "expression".into(), message });
        }
        match truth(step, spot, *rule, output.clone()) {
            Some(true) => return done(step, spot, Told::Passed, Went::Rule(at as u16), None),
            Some(false) => {}
            None => return,
        }
    }
    done(step, spot, Told::Passed, Went::Default, None);
}

/// The output before it names the node to go to.
fn route(step: &mut Step<'_>, spot: &Spot, by: ExprIx, output: Shape) {
    let Some(json) = value_of(step, spot, by, output) else { return };
    let ir = ir(step, spot).expect("it is being entered");
    let targets = || ir.node(spot.node).outs.iter().map(|edge| &ir.node(ir.edge(*edge).to).id);
    let named = if let View::Text(text) = &json.view { targets().find(|id| id.as_str() == &**text).cloned() } else { None };
    match named {
        Some(id) => done(step, spot, Told::Passed, Went::Named(id), None),
        None => {
            let declared: Vec<&str> = targets().map(|id| id.as_str()).collect();
            let message = format!("{} names none of the nodes that may follow: {}", shown(&json.payload), declared.join(", "));
            fail(step, spot, Failure { code: "no_such_way".into(), message });
        }
    }
}

/// `None`: it is held, or has failed.
fn value_of(step: &mut Step<'_>, spot: &Spot, expr: ExprIx, output: Shape) -> Option<Json> {
    let asked = ask(step, spot, expr, output);
    taken(step, spot, asked)
}

pub(super) fn gathered(step: &mut Step<'_>, spot: &Spot, shape: &Shape) -> Option<Json> {
    let asked = answer(step, spot, |step| step.gather(shape));
    taken(step, spot, asked)
}

fn taken(step: &mut Step<'_>, spot: &Spot, asked: Asked) -> Option<Json> {
    match asked {
        Asked::Json(json) => Some(json),
        Asked::Held => None,
        Asked::Failed(failure) => {
            fail(step, spot, failure);
            None
        }
    }
}

fn truth(step: &mut Step<'_>, spot: &Spot, expr: ExprIx, output: Shape) -> Option<bool> {
    let json = value_of(step, spot, expr, output)?;
    if let View::Bool(truth) = json.view {
        return Some(truth);
    }
    let message = gave(step, spot, expr, &json, "neither true nor false");
    fail(step, spot, Failure { code: "not_a_truth".into(), message });
    None
}

fn key(step: &mut Step<'_>, spot: &Spot, name: &KeyName, expr: ExprIx, output: Shape) -> Option<KeyValue> {
    let json = value_of(step, spot, expr, output)?;
    let text = match &json.view {
        View::Text(text) => text.to_string(),
        View::Int(int) => int.to_string(),
        _ => String::new(),
    };
    match KeyValue::parse(&text) {
        Ok(value) => Some(value),
        Err(_) => {
            let message = gave(step, spot, expr, &json, &format!("which cannot be the value of key `{name}`"));
            fail(step, spot, Failure { code: "bad_key".into(), message });
            None
        }
    }
}

fn instant(
    step: &mut Step<'_>,
    spot: &Spot,
    expr: ExprIx,
    json: &Json,
    make: impl Fn(i64, Time) -> Option<Time>,
) -> Option<Time> {
    let at = if let View::Int(ms) = json.view { make(ms, step.now()) } else { None };
    let at = at.filter(|at| at.us() <= crate::limits::TIME_US_MAX);
    if at.is_none() {
        let message = gave(step, spot, expr, json, "no time to sleep");
        fail(step, spot, Failure { code: "bad_time".into(), message });
    }
    at
}

/// What an expression gave that is of no use: both are shown.
pub(super) fn gave(step: &Step<'_>, spot: &Spot, expr: ExprIx, json: &Json, why: &str) -> String {
    let ir = ir(step, spot).expect("it asked");
    format!("`{}` gave {}, {why}", clipped(&ir.expr(expr).source, 1_000), shown(&json.payload))
}

/// As much of a value as fits in a sentence.
fn shown(payload: &Payload) -> String {
    clipped(payload.text(), 100)
}

fn clipped(text: &str, chars_max: usize) -> String {
    match text.char_indices().nth(chars_max) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
