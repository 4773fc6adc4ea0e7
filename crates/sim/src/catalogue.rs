//! The workflows of the simulated world: small, and together of every kind of node, join and failure. Each has a second
//! text, so that there are versions.

use engine::Revision;
use flow::Language;
use flow::patch::Document;
use kernel::ir::Ir;
use kernel::names::WorkflowName;
use kernel::record::Payload;
use rustc_hash::FxHashMap;
use serde_json::Value as Json;
use std::cell::RefCell;
use std::sync::{Arc, LazyLock};
use store::BlobId;

pub struct Definition {
    pub name: WorkflowName,
    pub texts: [Arc<str>; 2],
    pub ir: Arc<Ir>,
    pub text: Arc<Text>,
}

/// What a run follows.
pub struct Text {
    pub json: Json,
    pub ir: Arc<Ir>,
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.json)
    }
}

pub static CATALOGUE: LazyLock<Vec<Definition>> = LazyLock::new(|| TEXTS.iter().map(|text| define(text)).collect());

fn define(text: &str) -> Definition {
    let compiled = flow::compile(text.as_bytes(), &Language).unwrap_or_else(|problems| panic!("{problems:?} in {text}"));
    let other = format!("{text}description: the same again\n");
    let (name, ir) = (compiled.ir.workflow.clone(), Arc::new(compiled.ir));
    let document = Document::read(text.as_bytes()).expect("it compiles");
    let json = serde_json::from_str(&document.json().compact()).expect("a definition has a JSON form");
    let text_of = Arc::new(Text { json, ir: ir.clone() });
    Definition { name, texts: [text.into(), other.into()], ir, text: text_of }
}

pub fn text_of(name: &WorkflowName) -> Option<Arc<Text>> {
    CATALOGUE.iter().find(|known| known.name == *name).map(|known| known.text.clone())
}

thread_local! {
    /// The changed texts that somebody thought of, by what stands for them in a record.
    static CHANGED: RefCell<FxHashMap<Arc<str>, Arc<Text>>> = RefCell::default();
}

/// Another world begins.
pub fn forget_changed() {
    CHANGED.with_borrow_mut(FxHashMap::clear);
}

/// A changed text as a patch carries it; `None`: it does not compile.
pub fn change(json: Json) -> Option<(Payload, Arc<Text>)> {
    let text = json.to_string();
    let payload = Revision { text: text.clone(), operations: None }.payload();
    if let Some(known) = changed(&payload) {
        return Some((payload, known));
    }
    let compiled = flow::compile(text.as_bytes(), &Language).ok()?;
    let ir = Arc::new(Ir { revised: Some(Revision::digest(&text)), ..compiled.ir });
    let text = Arc::new(Text { json, ir });
    // In a record a long one is a blob.
    let blob = Payload::blob(&BlobId::of(payload.text().as_bytes()).to_string());
    CHANGED.with_borrow_mut(|known| known.extend([(payload.0.clone(), text.clone()), (blob.0, text.clone())]));
    Some((payload, text))
}

/// By what stands for it in a record.
pub fn changed(payload: &Payload) -> Option<Arc<Text>> {
    CHANGED.with_borrow(|known| known.get(&payload.0).cloned())
}

/// What a text compiles to.
pub fn ir_of(text: &str) -> Option<Arc<Ir>> {
    CATALOGUE.iter().find(|known| known.texts.iter().any(|of| **of == *text)).map(|known| known.ir.clone())
}

/// Every type that a node asks for. Nobody works on the last in ordinary times.
pub const TYPES: [&str; 4] = ["build", "send", "crawl", "nobody"];

const TEXTS: [&str; 21] = [
    "
workflow: line
nodes:
  a: {type: build, with: {n: '${input.n}'}}
  b: {type: send, after: a, retry: {attempts: 3, backoff: 20ms}, with: {n: '${output.n + 1}'}}
  c: {type: transform, after: b, value: {got: '${output}'}}
",
    "
workflow: branch
nodes:
  a: {type: build}
  w: {type: crawl}
  r:
    type: branch
    after: [a, w]
    rules:
      - {when: nodes.a.output.n > 6, to: x}
      - {when: nodes.w.output.n > 4, to: [x, y]}
    default: y
  x: {type: send, on_error: {to: e}}
  y: {type: transform, value: \"{'v': 1}\"}
  e: {type: transform, value: nodes.x.status}
  j: {type: join, after: [x, y]}
  k: {type: build, after: j, when: nodes.a.output.n != 3}
",
    "
workflow: routed
nodes:
  a: {type: send}
  r: {type: branch, after: a, route: {to: [left, right]}}
  left: {type: build, timeout: 400ms}
  right: {type: approval, who: [sim], message: 'right?'}
  end: {type: join, after: [left, right], join: any}
",
    "
workflow: each-fast
nodes:
  e:
    type: each
    items: input.list
    concurrency: 2
    do:
      nodes:
        x: {type: build, with: '${item}'}
        y: {type: send, after: x, on_error: ignore}
  z: {type: aggregate, after: e, items: output, op: count}
",
    "
workflow: each-wait
nodes:
  a: {type: crawl}
  e:
    type: each
    after: a
    items: output.list
    concurrency: 3
    on_failure: wait_all
    do:
      nodes:
        i: {type: transform, value: item + 1}
        x: {type: build, after: i, retry: {attempts: 1}, with: '${index}'}
        s: {type: sleep, after: i, for: 40ms}
        y: {type: transform, after: [x, s], value: nodes.x.output.n}
  z: {type: aggregate, after: e, items: output, op: sum}
",
    "
workflow: each-some
nodes:
  e:
    type: each
    items: input.list
    on_failure: {tolerate: 1}
    do:
      nodes:
        x: {type: send, retry: {attempts: 1}, when: item != 2}
        g: {type: approval, after: x, when: output.n > 7, timeout: 2s}
  f: {type: filter, after: e, items: output, where: item != null}
  z: {type: build, after: f, with: {left: '${size(output)}'}}
",
    "
workflow: rounds
nodes:
  l:
    type: loop
    max_iterations: 3
    init: input.n
    until: output > 12
    on_max: m
    do:
      nodes:
        x: {type: build, with: {n: '${last}', i: '${iteration}'}}
      output: last + nodes.x.output.n
  d: {type: transform, after: l, value: \"'done'\"}
  m: {type: approval, timeout: 5s, on_timeout: t}
  t: {type: transform, value: \"'nobody'\"}
",
    "
workflow: deep
nodes:
  o:
    type: loop
    max_iterations: 2
    until: iteration > 0
    do:
      nodes:
        e:
          type: each
          items: '[1, 2]'
          on_failure: {tolerate: 1}
          do:
            nodes:
              i:
                type: loop
                max_iterations: 2
                until: output.n > 5
                on_max: q
                do: {nodes: {x: {type: crawl, retry: {attempts: 2, backoff: 5ms}}}}
              q: {type: sleep, for: 30ms}
",
    "
workflow: race
nodes:
  a: {type: build, on_error: ignore}
  b: {type: send, on_error: ignore}
  c: {type: crawl, on_error: {to: e}}
  d: {type: sleep, for: 200ms}
  e: {type: send, on_error: ignore}
  first: {type: transform, after: [a, b, d], join: any, value: \"{'got': output}\"}
  two: {type: build, after: [a, b, c], join: {n_of: 2}, on_error: ignore}
  end: {type: join, after: [first, two]}
",
    "
workflow: gate
nodes:
  a: {type: build}
  g:
    type: approval
    after: a
    when: output.n > 2
    who: [sim]
    message: 'n is ${output.n}'
    timeout: 3s
    on_reject: nay
    on_timeout: late
  yes: {type: send, after: g}
  nay: {type: transform, value: \"'no'\"}
  late: {type: approval}
  end: {type: join, after: [yes, nay, late], join: any}
",
    "
workflow: call
nodes:
  a: {type: workflow, run: line, with: {n: '${input.n}'}, on_error: {to: d}}
  b: {type: workflow, run: gate, timeout: 20s, on_error: ignore}
  c: {type: workflow, run: missing, after: a, on_error: {to: d}}
  d: {type: sleep, for: input.n * 10, join: any}
  e: {type: workflow, run: branch, after: [b, d]}
",
    "
workflow: hurry
limits: {deadline: 4s, stall: 2s}
nodes:
  a: {type: build}
  b: {type: nobody, after: a, when: output.n > 5}
  c: {type: sleep, after: a, for: 1s}
",
    "
workflow: stuck
limits: {stall: 1s}
nodes:
  a: {type: transform, value: input.n + 1}
  b: {type: nobody, after: a}
  c: {type: sleep, after: a, for: 5s}
",
    "
workflow: wide
nodes:
  e:
    type: each
    items: input.list
    concurrency: 2000
    on_failure: {tolerate: 2}
    do:
      nodes:
        t: {type: transform, value: item * 2}
        s: {type: sleep, after: t, for: 100ms}
      output: nodes.t.output
  z: {type: aggregate, after: e, items: output, op: max}
",
    "
workflow: crowd
nodes:
  e:
    type: each
    items: input.list
    concurrency: 64
    on_failure: {tolerate: 40}
    do:
      nodes:
        x: {type: build, retry: {attempts: 2, backoff: 5ms}, with: '${item}'}
        y: {type: transform, after: x, value: nodes.x.output.n + item}
  z: {type: send, after: e, with: {left: '${size(output)}'}}
",
    "
workflow: big
nodes:
  a: {type: build}
  b: {type: transform, after: a, value: \"{'t': output.text + output.text, 'n': output.n}\"}
  c:
    type: send
    after: b
    queue: ci
    key: {tenant: 'v${output.n}'}
    with: {size: '${size(nodes.b.output.t)}', n: '${output.n}'}
  d:
    type: branch
    after: c
    rules:
      - {when: size(nodes.a.output.text) > 20000, to: x}
      - {when: size(nodes.b.output.t) > 100, to: x}
      - {when: size(nodes.c.output.text) > 100, to: x}
    default: []
  x: {type: transform, value: nodes.a.output.text}
",
    "
workflow: endless
limits: {steps: 60}
nodes:
  a: {type: build}
  l:
    type: loop
    after: a
    max_iterations: 10000
    until: 'false'
    do:
      nodes:
        d: {type: transform, value: 'size(range(6000).map(x, x + 1))'}
",
    "
workflow: wait-key
nodes:
  a: {type: build, on_error: ignore}
  w: {type: wait, after: a, event: hub/push, match: event.data.n == input.n, timeout: 20s, on_timeout: t}
  b: {type: send, after: w, with: {n: '${output.n}'}}
  t: {type: transform, value: \"'late'\"}
",
    "
workflow: wait-loop
nodes:
  l:
    type: loop
    max_iterations: 3
    until: iteration > 1
    do:
      nodes:
        w: {type: wait, event: deploy, match: event.data.n > 4 && event.source == ''}
        x: {type: build, after: w, on_error: ignore, with: {n: '${output.n}'}}
",
    "
workflow: wait-each
nodes:
  e:
    type: each
    items: input.list
    on_failure: {tolerate: 3}
    do:
      nodes:
        w: {type: wait, event: shop/order.paid, match: event.data.n == item && input != null, timeout: 8s}
        x: {type: crawl, after: w, on_error: ignore}
",
    "
workflow: wait-any
nodes:
  w: {type: wait, event: shop/order.sent}
  s: {type: sleep, for: 300ms}
  v: {type: wait, after: s, event: shop/order.sent}
",
];

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::ir::{EachFailure, Join, NodeKind, OnError};

    #[test]
    fn every_kind_of_node_is_there() {
        let nodes = || CATALOGUE.iter().flat_map(|known| &known.ir.nodes);
        let kind = |fits: fn(&NodeKind) -> bool| nodes().any(|node| fits(&node.kind));
        assert!(kind(|kind| matches!(kind, NodeKind::Work { .. })));
        assert!(kind(|kind| matches!(kind, NodeKind::Branch { .. })));
        assert!(kind(|kind| matches!(kind, NodeKind::Route { .. })));
        assert!(kind(|kind| matches!(kind, NodeKind::Loop { .. })));
        assert!(kind(|kind| matches!(kind, NodeKind::Join)));
        assert!(kind(|kind| matches!(kind, NodeKind::Approval { .. })));
        assert!(kind(|kind| matches!(kind, NodeKind::Sleep(_))));
        assert!(kind(|kind| matches!(kind, NodeKind::Wait { .. })));
        assert!(kind(|kind| matches!(kind, NodeKind::Workflow { .. })));
        assert!(kind(|kind| matches!(kind, NodeKind::Transform { .. })));
        assert!(kind(|kind| matches!(kind, NodeKind::Each { on_failure: EachFailure::Fast, .. })));
        assert!(kind(|kind| matches!(kind, NodeKind::Each { on_failure: EachFailure::WaitAll, .. })));
        assert!(kind(|kind| matches!(kind, NodeKind::Each { on_failure: EachFailure::Tolerate(_), .. })));
        assert!(nodes().any(|node| node.join == Join::NOf(1)) && nodes().any(|node| node.join == Join::NOf(2)));
        for then in [OnError::Fail, OnError::To, OnError::Ignore] {
            assert!(nodes().any(|node| node.on_error == then));
        }
    }
}
