//! A checked graph → the IR. What is left to check are the expressions, each where it stands; the IR is made only if they,
//! and everything before, are right.

use crate::check::{Flat, FlatNode, Scope, Seen};
use crate::context::{Context, Demand, Expressions, Names, Wants};
use crate::define::{Defaults, Definition, Kind, OnError, Source};
use crate::limits::STALL_MS_DEFAULT;
use crate::problem::{Problem, Problems};
use kernel::ir::{self, BodyIx, Expr, ExprIx, Ir, Join, NodeIx, NodeKind, RunLimits, Sleep, WaitKey};
use kernel::limits::{RUN_STEPS_DEFAULT, WAITS_UNKEYED_MAX};
use kernel::names::{EventName, QueueName};

pub fn lower(definition: &Definition, flat: &Flat<'_>, expressions: &dyn Expressions, problems: &mut Problems) -> Option<Ir> {
    let mut lowering = Lowering { flat, expressions, problems, exprs: Vec::new() };
    let mut nodes = Vec::with_capacity(flat.nodes.len());
    for at in 0..flat.nodes.len() {
        nodes.push(lowering.node(NodeIx(at as u32), &definition.defaults));
    }
    let bodies: Vec<ir::Body> = (0..flat.bodies.len()).map(|at| lowering.body(BodyIx(at as u32))).collect();
    lowering.warn_of_any_event(definition);
    let exprs = lowering.exprs;
    if !flat.sound || !problems.is_empty() {
        return None;
    }
    let nodes = nodes.into_iter().collect::<Option<Vec<_>>>()?;
    Some(Ir {
        workflow: definition.workflow.clone(),
        version: definition.version.unwrap_or(1),
        by_id: Ir::sorted(&nodes),
        nodes,
        edges: flat.edges.iter().map(|edge| ir::Edge { from: edge.from, to: edge.to, on: edge.on }).collect(),
        bodies,
        exprs,
        limits: RunLimits {
            deadline_ms: definition.limits.deadline_ms,
            stall_ms: definition.limits.stall_ms.unwrap_or(STALL_MS_DEFAULT),
            steps_max: definition.limits.steps.unwrap_or(RUN_STEPS_DEFAULT),
        },
        input_schema: definition.input_schema.clone(),
        revised: None,
    })
}

struct Lowering<'a> {
    flat: &'a Flat<'a>,
    expressions: &'a dyn Expressions,
    problems: &'a mut Problems,
    exprs: Vec<Expr>,
}

impl<'a> Lowering<'a> {
    fn node(&mut self, ix: NodeIx, defaults: &Defaults) -> Option<ir::Node> {
        let flat = self.flat;
        let node = flat.node(ix);
        let written = node.written;
        let here = Place {
            seen: Seen::Before(ix),
            names: self.names(node.body, !node.ins.is_empty() || !flat.ins_known(ix)),
            wants: Wants::Anything,
        };
        let when = written.when.as_ref().map(|when| self.expr(when, here.wants(Wants::Truth)));
        let kind = self.kind(node, here, defaults)?;
        let worker = matches!(kind, NodeKind::Work { .. });
        Some(ir::Node {
            id: written.id.clone(),
            body: node.body,
            place: node.place,
            kind,
            ins: node.ins.clone(),
            outs: node.outs.clone(),
            join: written.join.as_ref().map_or(Join::All, |(join, _)| *join),
            when,
            on_error: match written.on_error {
                OnError::Fail => ir::OnError::Fail,
                OnError::Ignore(_) => ir::OnError::Ignore,
                OnError::To(_) => ir::OnError::To,
            },
            retry: written.retry.or(defaults.retry.filter(|_| worker)),
            timeout_ms: written.timeout_ms.or(defaults.timeout_ms.filter(|_| worker)),
        })
    }

    fn kind(&mut self, node: &FlatNode<'_>, here: Place, defaults: &Defaults) -> Option<NodeKind> {
        Some(match &node.written.kind {
            Kind::Work { kind, queue, priority, keys, with } => NodeKind::Work {
                kind: kind.clone(),
                queue: match queue.as_ref().or(defaults.queue.as_ref()) {
                    Some(queue) => queue.clone(),
                    // A type is a legal queue: both are words.
                    None => QueueName::parse(kind.as_str()).expect("a type is a word"),
                },
                priority: priority.or(defaults.priority),
                keys: keys.iter().map(|(name, value)| (name.clone(), self.expr(value, here))).collect(),
                with: with.as_ref().map(|with| self.expr(with, here)),
            },
            Kind::Branch { rules, .. } => {
                NodeKind::Branch { rules: rules.iter().map(|rule| self.expr(&rule.when, here.wants(Wants::Truth))).collect() }
            }
            Kind::Route { .. } => NodeKind::Route { by: self.routed() },
            Kind::Loop { iterations_max, init, until, .. } => {
                let body = node.inner?;
                let names = Names { output: true, ..self.names(body, true) };
                NodeKind::Loop {
                    body,
                    iterations_max: *iterations_max,
                    init: init.as_ref().map(|init| self.expr(init, here)),
                    until: self.expr(until, Place { seen: Seen::After(body), names, wants: Wants::Truth }),
                }
            }
            Kind::Each { items, concurrency, on_failure, .. } => NodeKind::Each {
                body: node.inner?,
                items: self.expr(items, here.wants(Wants::List)),
                concurrency: *concurrency,
                on_failure: *on_failure,
            },
            Kind::Join => NodeKind::Join,
            Kind::Approval { who, message, .. } => {
                NodeKind::Approval { who: who.clone(), message: message.as_ref().map(|message| self.expr(message, here)) }
            }
            Kind::SleepFor { ms } => NodeKind::Sleep(Sleep::For { ms: *ms }),
            Kind::SleepForExpr(ms) => NodeKind::Sleep(Sleep::ForExpr(self.expr(ms, here.wants(Wants::Millis)))),
            Kind::SleepUntil(instant) => NodeKind::Sleep(Sleep::UntilExpr(self.expr(instant, here.wants(Wants::Instant)))),
            Kind::Wait { event, matches, .. } => self.wait(event, matches.as_ref(), here),
            Kind::Workflow { workflow, version, with } => NodeKind::Workflow {
                workflow: workflow.clone(),
                version: *version,
                with: with.as_ref().map(|with| self.expr(with, here)),
            },
            Kind::Transform { value, items, called } => {
                let before = self.problems.count();
                let value = self.expr(value, here);
                // Whatever else is wrong with the items has been said of the whole.
                if let (Some(items), true) = (items, self.problems.count() == before) {
                    self.check(items, here.wants(Wants::List));
                }
                NodeKind::Transform { value, called }
            }
            Kind::Broken => return None,
        })
    }

    fn wait(&mut self, event: &EventName, matches: Option<&Source>, here: Place) -> NodeKind {
        let with_event = Place { names: Names { event: true, ..here.names }, ..here };
        let before = self.problems.count();
        let found = matches.map(|matches| self.expr(matches, with_event.wants(Wants::Truth)));
        let demand =
            matches.filter(|_| self.problems.count() == before).and_then(|matches| self.expressions.demand(&matches.text));
        let key = demand.and_then(|Demand { of, is, whole }| {
            Some(WaitKey { of: self.part(of, with_event)?, is: self.part(is, here)?, whole })
        });
        // Who writes `match: true` means any.
        let doubted = matches.filter(|source| self.problems.count() == before && source.text.trim() != "true");
        if let (None, Some(source)) = (key, doubted) {
            let message =
                format!("nothing in it tells those who wait for `{event}` apart: at most {WAITS_UNKEYED_MAX} may wait so");
            let problem = Problem::new(&source.place("", 0), message);
            self.problems.warn(problem.suggest("begin with a comparison such as `event.data.id == input.id`"));
        }
        NodeKind::Wait { event: event.clone(), matches: found, key }
    }

    /// A wait without `match`, where runs are for something each: an event that is meant for one wakes all of them.
    fn warn_of_any_event(&mut self, definition: &Definition) {
        let differs = definition.input_schema.is_some() || self.exprs.iter().any(|expr| expr.reads.input);
        for node in self.flat.nodes.iter().filter(|_| differs) {
            if let Kind::Wait { event, matches: None, .. } = &node.written.kind {
                let message = format!(
                    "without `match`, the next event `{event}` is heard by every run that waits here, whatever its input"
                );
                let problem = Problem::new(&node.written.at, message);
                let fix = "say which one is meant, such as `match: event.data.id == input.id`, or `match: true` if any will do";
                self.problems.warn(problem.suggest(fix));
            }
        }
    }

    /// An expression that is part of one that was written, and was checked with it.
    fn part(&mut self, source: String, place: Place) -> Option<ExprIx> {
        let scope = Scope { flat: self.flat, seen: place.seen };
        let context = Context { wants: Wants::Anything, names: place.names, nodes: &scope };
        let reads = self.expressions.check(&source, ir::Form::Cel, &context).ok()?;
        self.exprs.push(Expr { source: source.into(), form: ir::Form::Cel, reads });
        Some(ExprIx(self.exprs.len() as u32 - 1))
    }

    /// What names the way: a text, or what stands under `next`.
    fn routed(&mut self) -> ExprIx {
        let reads = ir::Reads { output: true, ..ir::Reads::default() };
        let source = "type(output) == string ? output : output.next".into();
        self.exprs.push(Expr { source, form: ir::Form::Cel, reads });
        ExprIx(self.exprs.len() as u32 - 1)
    }

    fn body(&mut self, ix: BodyIx) -> ir::Body {
        let flat = self.flat;
        let body = flat.body(ix);
        let end = Place { seen: Seen::After(ix), names: self.names(ix, false), wants: Wants::Anything };
        let output = body.written.output.as_ref().map(|output| self.expr(output, end));
        ir::Body { of: body.of, nodes: body.nodes.clone(), entries: body.entries.clone(), sinks: body.sinks.clone(), output }
    }

    /// `item` and `last` are those of the bodies around it, however far out.
    fn names(&self, body: BodyIx, output: bool) -> Names {
        let mut names = Names { input: true, output, run: true, ..Names::default() };
        let mut around = self.flat.body(body).of;
        while let Some(ix) = around {
            let node = self.flat.node(ix);
            names.item |= matches!(node.written.kind, Kind::Each { .. });
            names.last |= matches!(node.written.kind, Kind::Loop { .. });
            around = self.flat.body(node.body).of;
        }
        // Bodies that are not found have no names of their own.
        names.last |= self.flat.bodies[0].written.torn;
        names
    }

    /// Its index means nothing if there are problems: then there will be no IR.
    fn expr(&mut self, source: &Source, place: Place) -> ExprIx {
        if self.problems.is_full() {
            self.problems.pass_over();
            return ExprIx(0);
        }
        if let Some(reads) = self.check(source, place) {
            self.exprs.push(Expr { source: source.text.clone(), form: source.form, reads });
        }
        ExprIx(self.exprs.len().saturating_sub(1) as u32)
    }

    fn check(&mut self, source: &Source, place: Place) -> Option<ir::Reads> {
        let scope = Scope { flat: self.flat, seen: place.seen };
        let context = Context { wants: place.wants, names: place.names, nodes: &scope };
        match self.expressions.check(&source.text, source.form, &context) {
            Ok(reads) => {
                for (at, meant) in source.foreign() {
                    let message = "`{{ }}` stays as it is: in a template, expressions stand in `${ }`";
                    self.problems.warn(Problem::new(&at, message).suggest(meant));
                }
                Some(reads)
            }
            Err(found) => {
                assert!(!found.is_empty(), "an expression was refused without a reason: {}", source.text);
                for found in found {
                    let problem = Problem::new(&source.place(&found.path, found.offset), found.message);
                    self.problems.add(Problem { suggestion: found.suggestion, ..problem });
                }
                None
            }
        }
    }
}

/// Where an expression stands.
#[derive(Copy, Clone)]
struct Place {
    seen: Seen,
    names: Names,
    wants: Wants,
}

impl Place {
    fn wants(self, wants: Wants) -> Place {
        Place { wants, ..self }
    }
}
