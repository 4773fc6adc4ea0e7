//! The reference: what becomes of a run, worked out from the text of its definition alone. It shares nothing with the kernel,
//! the IR or the evaluator: nodes are looked at one after another in an order in which every edge leads forward, each once,
//! and tokens are read off the results of the nodes before it. There is no time, no order of arrival, no restart in it.
//!
//! What depends on who comes first is left open. A value may be [`Seen::Depends`]: what a join of `any` or `n_of` was given
//! when more came than it waited for. In a frame that is broken off by a failure it is only certain what a node would have
//! come to, not that it did. And where a condition reads something that depends, the whole run does: [`Vague`].

mod graph;
mod kinds;

use crate::expression::{self, Read};
use crate::outcomes::{Outcomes, called, instance};
use graph::{dead, edges, ids, in_order, policy, shown};
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, PartialEq, Debug)]
pub enum Seen {
    Value(Json),
    Depends,
}

/// The result hangs on the order of things; why.
#[derive(Debug)]
pub struct Vague(#[allow(dead_code, reason = "shown when a seed is looked at")] pub String);

#[derive(Debug)]
pub struct Expected {
    pub done: bool,
    pub output: Seen,
    /// By instance.
    pub nodes: BTreeMap<String, Node>,
    /// What workers are given; `None`: it cannot be worked out, and the node fails.
    pub inputs: BTreeMap<String, Option<Seen>>,
    /// The workers and people without whose failure the run would not have failed by it.
    pub fatal: BTreeSet<String>,
}

#[derive(Clone, PartialEq, Debug)]
pub struct Node {
    pub how: String,
    pub output: Seen,
    /// Else it may be cancelled, or never come about: what it belongs to is broken off.
    pub certain: bool,
}

/// The texts that a run has followed, and which of them each of its turns and items did.
#[derive(Clone, Debug, Default)]
pub struct Texts {
    pub texts: Vec<Json>,
    /// Which of them the run's own frame does.
    pub own: usize,
    pub frames: BTreeMap<String, usize>,
}

pub fn expect(workflows: &BTreeMap<String, Json>, outcomes: &Outcomes, workflow: &str, input: &Json) -> Result<Expected, Vague> {
    expect_of(workflows, &Texts::default(), outcomes, workflow, input)
}

/// Of a run that was patched.
pub fn expect_of(
    workflows: &BTreeMap<String, Json>,
    texts: &Texts,
    outcomes: &Outcomes,
    workflow: &str,
    input: &Json,
) -> Result<Expected, Vague> {
    let (inputs, ended, causes) = Default::default();
    let mut reference = Reference { workflows, texts, outcomes, nodes: Vec::new(), inputs, ended, causes };
    let end = reference.run(workflow, workflow, Seen::Value(input.clone()))?;
    let (done, output, fatal) = match end {
        End::Done(output) => (true, output, BTreeSet::new()),
        End::Failed(causes) => (false, Seen::Value(Json::Null), causes),
    };
    let nodes = reference.nodes.into_iter().collect();
    Ok(Expected { done, output, nodes, inputs: reference.inputs, fatal })
}

struct Reference<'a> {
    workflows: &'a BTreeMap<String, Json>,
    texts: &'a Texts,
    outcomes: &'a Outcomes,
    /// In the order of walking: what belongs to a frame lies side by side.
    nodes: Vec<(String, Node)>,
    inputs: BTreeMap<String, Option<Seen>>,
    /// Of the frame that was walked last: a loop's `until` sees them.
    ended: BTreeMap<String, Ended>,
    /// Of the node that failed last: the instances it failed by.
    causes: BTreeSet<String>,
}

/// How a run or a frame ends, and by which instances it failed.
enum End {
    Done(Seen),
    Failed(BTreeSet<String>),
}

#[derive(Clone, PartialEq, Debug)]
enum Way {
    Done,
    Rule(usize),
    Default,
    Named(String),
    Reject,
    Timeout,
    Max,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Policy {
    Fail,
    To,
    Ignore,
}

#[derive(Clone, Copy, PartialEq, Debug)]
enum Cause {
    Untaken,
    Failed,
}

#[derive(Clone, PartialEq, Debug)]
enum How {
    Done(Way),
    Failed(Policy),
    Skipped(Cause),
}

/// A node that has ended.
#[derive(Clone, Debug)]
struct Ended {
    how: How,
    output: Seen,
    causes: BTreeSet<String>,
    /// The nodes of its frame that have ended for certain when it is entered.
    settled: BTreeSet<String>,
}

/// What an edge is live on.
#[derive(Clone, PartialEq, Debug)]
enum On {
    Done,
    Rule(usize),
    Default,
    Named,
    Error,
    Reject,
    Timeout,
    Max,
}

#[derive(Clone)]
struct Edge {
    from: String,
    on: On,
}

/// What is around a frame.
#[derive(Clone)]
struct Around {
    run: String,
    workflow: String,
    path: String,
    input: Seen,
    /// What the frame was entered with.
    entry: Seen,
    item: Option<(Seen, usize)>,
    last: Option<(usize, Seen)>,
    /// The nodes that can be read in the frames around it.
    outer: BTreeMap<String, Ended>,
}

/// What an expression can see.
struct Here<'a> {
    around: &'a Around,
    output: Option<Seen>,
    /// Of its own frame.
    nodes: &'a BTreeMap<String, Ended>,
    /// `None`: the frame is over, all have ended.
    settled: Option<&'a BTreeSet<String>>,
}

type Given = Result<Result<Seen, String>, Vague>;

impl Reference<'_> {
    fn run(&mut self, run: &str, workflow: &str, input: Seen) -> Result<End, Vague> {
        let own = self.texts.texts.get(self.texts.own).filter(|_| run == workflow);
        let definition = own.unwrap_or(&self.workflows[workflow]);
        let around = Around {
            run: run.to_owned(),
            workflow: workflow.to_owned(),
            path: String::new(),
            input: input.clone(),
            entry: input,
            item: None,
            last: None,
            outer: BTreeMap::new(),
        };
        self.frame(definition, &around)
    }

    /// The body of a loop or an each, as a turn or an item of it follows it.
    fn body(&self, id: &str, node: &Json, around: &Around) -> Json {
        let followed = self.texts.frames.get(&around.path).filter(|_| around.run == around.workflow);
        let followed = followed.and_then(|revision| found(&self.texts.texts[*revision], id));
        followed.unwrap_or(node)["do"].clone()
    }

    fn frame(&mut self, body: &Json, around: &Around) -> Result<End, Vague> {
        let first = self.nodes.len();
        let definitions = body["nodes"].as_object().expect("a body has nodes");
        let ins = edges(definitions);
        let mut ended: BTreeMap<String, Ended> = BTreeMap::new();
        for id in in_order(definitions, &ins) {
            let node = self.node(&id, &definitions[&id], &ins[&id], &ended, around)?;
            let key = instance(&around.run, &around.path, &id);
            self.nodes.push((key, Node { how: shown(&node.how), output: node.output.clone(), certain: true }));
            ended.insert(id, node);
        }
        let failing: Vec<&Ended> = ended.values().filter(|node| node.how == How::Failed(Policy::Fail)).collect();
        if !failing.is_empty() {
            self.broken_off(first);
            return Ok(End::Failed(failing.iter().flat_map(|node| node.causes.clone()).collect()));
        }
        let leads: BTreeSet<&String> = ins.values().flatten().map(|edge| &edge.from).collect();
        let sinks: Vec<(&String, &Ended)> = ended.iter().filter(|(id, _)| !leads.contains(id)).collect();
        let done = sinks.iter().any(|(_, sink)| matches!(sink.how, How::Done(_) | How::Failed(Policy::Ignore)));
        let failed = sinks.iter().any(|(_, sink)| sink.how == How::Skipped(Cause::Failed));
        if failed && !done {
            return Ok(End::Failed(BTreeSet::new()));
        }
        let given = match (body.get("output"), sinks.as_slice()) {
            (Some(output), _) => {
                let here = Here { around, output: None, nodes: &ended, settled: None };
                self.either(output, &here)?
            }
            (None, [(_, sink)]) => Ok(sink.output.clone()),
            (None, many) => {
                let done = many.iter().filter(|(_, sink)| matches!(sink.how, How::Done(_)));
                Ok(object(done.map(|(id, sink)| (id.as_str(), &sink.output))))
            }
        };
        self.ended = ended;
        Ok(given.map_or(End::Failed(BTreeSet::new()), End::Done))
    }

    /// What was walked since may not have come about.
    fn broken_off(&mut self, first: usize) {
        self.nodes[first..].iter_mut().for_each(|(_, node)| node.certain = false);
    }

    fn node(
        &mut self,
        id: &str,
        definition: &Json,
        ins: &[Edge],
        ended: &BTreeMap<String, Ended>,
        around: &Around,
    ) -> Result<Ended, Vague> {
        let tokens: Vec<(&str, Option<Cause>)> =
            ins.iter().map(|edge| (edge.from.as_str(), dead(&ended[&edge.from].how, &edge.on, id))).collect();
        let live: BTreeSet<&str> = tokens.iter().filter(|(_, dead)| dead.is_none()).map(|(from, _)| *from).collect();
        let failed = tokens.iter().any(|(_, dead)| *dead == Some(Cause::Failed));
        let wanted = match definition.get("join") {
            None => None,
            Some(join) if join == "all" => None,
            Some(join) if join == "any" => Some(1),
            Some(join) => Some(join["n_of"].as_u64().expect("n_of is a number") as usize),
        };
        let all: BTreeSet<&str> = ins.iter().map(|edge| edge.from.as_str()).collect();
        let enters = match wanted {
            _ if ins.is_empty() => true,
            None => !live.is_empty() && !failed,
            Some(wanted) => live.len() >= wanted,
        };
        let null = || Seen::Value(Json::Null);
        if let Some(output) = self.outcomes.set.get(&instance(&around.run, &around.path, id)) {
            // It may have been said before anything before it had ended.
            let (how, output) = (How::Done(Way::Done), Seen::Value(output.clone()));
            return Ok(Ended { how, output, causes: BTreeSet::new(), settled: BTreeSet::new() });
        }
        let skipped = |cause, settled| Ended { how: How::Skipped(cause), output: null(), causes: BTreeSet::new(), settled };
        if !enters {
            let cause = if failed || !live.is_empty() { Cause::Failed } else { Cause::Untaken };
            return Ok(skipped(cause, settled(ended, &all, all.len())));
        }
        let (settled, output) = match wanted {
            Some(wanted) if wanted < live.len() => {
                // Any so many of them may have been the first.
                (settled(ended, &live, wanted), if all.len() == 1 { None } else { Some(Seen::Depends) })
            }
            Some(_) => (settled(ended, &live, live.len()), None),
            None => (settled(ended, &all, all.len()), None),
        };
        let before = output.unwrap_or_else(|| match all.iter().collect::<Vec<_>>().as_slice() {
            [] => around.entry.clone(),
            [one] => ended[**one].output.clone(),
            _ => object(live.iter().map(|from| (*from, &ended[*from].output))),
        });
        let here = Here { around, output: Some(before), nodes: ended, settled: Some(&settled) };
        if let Some(when) = definition.get("when") {
            match self.truth(when.as_str().expect("`when` is a text"), &here)? {
                Ok(true) => {}
                Ok(false) => return Ok(skipped(Cause::Untaken, settled)),
                Err(_) => {
                    let how = How::Failed(policy(definition));
                    return Ok(Ended { how, output: null(), causes: BTreeSet::new(), settled });
                }
            }
        }
        let (how, output) = match self.kind(id, definition, &here)? {
            Some((way, output)) => (How::Done(way), output),
            None => (How::Failed(policy(definition)), null()),
        };
        let causes = if let How::Failed(_) = how { std::mem::take(&mut self.causes) } else { BTreeSet::new() };
        Ok(Ended { how, output, causes, settled })
    }

    /// A text is an expression, a list or a map a template.
    fn either(&self, written: &Json, here: &Here<'_>) -> Given {
        match written {
            Json::String(source) => self.eval(source, here),
            Json::Array(_) | Json::Object(_) => self.template(written, here),
            plain => Ok(Ok(Seen::Value(plain.clone()))),
        }
    }

    fn eval(&self, source: &str, here: &Here<'_>) -> Given {
        // Passing something on whole cannot fail, whatever it is.
        if let (Some(Seen::Depends), "output") = (&here.output, source) {
            return Ok(Ok(Seen::Depends));
        }
        let names = names(&[source.to_owned()], here)?;
        Ok(expression::eval(source, &names).map(Seen::Value))
    }

    fn template(&self, written: &Json, here: &Here<'_>) -> Given {
        let mut sources = Vec::new();
        expression::template_sources(written, &mut sources);
        let names = names(&sources, here)?;
        Ok(expression::resolve(written, &names).map(Seen::Value))
    }

    fn truth(&self, source: &str, here: &Here<'_>) -> Result<Result<bool, String>, Vague> {
        match self.eval(source, here)? {
            Ok(Seen::Depends) => Err(Vague(source.to_owned())),
            Ok(Seen::Value(Json::Bool(truth))) => Ok(Ok(truth)),
            Ok(Seen::Value(other)) => Ok(Err(format!("{other} is no truth"))),
            Err(error) => Ok(Err(error)),
        }
    }
}

/// A node by its id, however deep it stands.
pub fn found<'a>(body: &'a Json, id: &str) -> Option<&'a Json> {
    let nodes = body["nodes"].as_object().expect("a body has nodes");
    nodes.get(id).or_else(|| nodes.values().filter_map(|node| node.get("do")).find_map(|inner| found(inner, id)))
}

/// The values of the names that these expressions read.
fn names(sources: &[String], here: &Here<'_>) -> Result<Map<String, Json>, Vague> {
    let mut names = Map::new();
    let mut nodes = Map::new();
    let known = |seen: &Seen, name: &str| match seen {
        Seen::Value(value) => Ok(value.clone()),
        Seen::Depends => Err(Vague(format!("{name} in {sources:?}"))),
    };
    let around = here.around;
    for read in sources.iter().flat_map(|source| expression::reads(source)) {
        let root = match read {
            Read::Node(id, field) => {
                let node = match here.nodes.get(&id) {
                    Some(node) if here.settled.is_none_or(|settled| settled.contains(&id)) => node,
                    Some(_) => return Err(Vague(format!("{id} in {sources:?}"))),
                    None => around.outer.get(&id).ok_or_else(|| Vague(format!("{id} in {sources:?}")))?,
                };
                if field == "output" && has_output(node) {
                    known(&node.output, &id)?;
                }
                nodes.insert(id, facts(node));
                continue;
            }
            Read::Root(root) => root,
        };
        let value = match root.as_str() {
            "input" => Some(known(&around.input, &root)?),
            "output" => here.output.as_ref().map(|output| known(output, &root)).transpose()?,
            "item" => around.item.as_ref().map(|(item, _)| known(item, &root)).transpose()?,
            "index" => around.item.as_ref().map(|(_, index)| json!(index)),
            "iteration" => around.last.as_ref().map(|(turn, _)| json!(turn)),
            "last" => around.last.as_ref().map(|(_, last)| known(last, &root)).transpose()?,
            // Its id is given by the engine; the rest is known.
            "run" => Some(json!({"workflow": around.workflow})),
            other => panic!("`{other}` is no name"),
        };
        value.map(|value| names.insert(root, value));
    }
    names.insert("nodes".into(), Json::Object(nodes));
    Ok(names)
}

fn has_output(node: &Ended) -> bool {
    matches!(node.how, How::Done(_) | How::Failed(Policy::Ignore))
}

fn facts(node: &Ended) -> Json {
    let status = match node.how {
        How::Done(_) => "done",
        How::Failed(_) => "failed",
        How::Skipped(_) => "skipped",
    };
    let mut facts = json!({"status": status});
    if let (true, Seen::Value(output)) = (has_output(node), &node.output) {
        facts["output"] = output.clone();
    }
    if let How::Failed(_) = node.how {
        facts["error"] = json!({});
    }
    facts
}

/// Those that at least one of any `wanted` of the nodes `from` has behind it.
fn settled(ended: &BTreeMap<String, Ended>, from: &BTreeSet<&str>, wanted: usize) -> BTreeSet<String> {
    let mut behind: BTreeMap<&str, usize> = BTreeMap::new();
    for node in from {
        let and_itself = ended[*node].settled.iter().map(String::as_str).chain([*node]);
        and_itself.for_each(|id| *behind.entry(id).or_default() += 1);
    }
    let least = from.len() - wanted + 1;
    behind.into_iter().filter(|(_, count)| *count >= least).map(|(id, _)| id.to_owned()).collect()
}

fn object<'a>(parts: impl Iterator<Item = (&'a str, &'a Seen)>) -> Seen {
    let mut object = Map::new();
    for (id, part) in parts {
        match part {
            Seen::Value(value) => object.insert(id.to_owned(), value.clone()),
            Seen::Depends => return Seen::Depends,
        };
    }
    Seen::Value(Json::Object(object))
}
