use crate::command::{Command, NewRun, NewWorkflow, Put, Reply};
use crate::decide::decide;
use crate::ir::{Body, Ir, RunLimits};
use crate::names::{Actor, WorkflowName};
use crate::record::{Owner, Payload, Record};
use crate::rejection::Rejection;
use crate::run::RunSpec;
use crate::state::State;
use crate::step::Step;
use crate::time::Time;
use crate::workflow::Workflow;
use std::sync::Arc;

fn name(text: &str) -> WorkflowName {
    WorkflowName::parse(text).unwrap()
}

fn new(workflow: &str, version: Option<u32>, text: &str) -> NewWorkflow {
    let bodies = vec![Body { of: None, nodes: Vec::new(), entries: Vec::new(), sinks: Vec::new(), output: None }];
    let (nodes, by_id, edges, exprs) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let limits = RunLimits { deadline_ms: None, stall_ms: 1, steps_max: 1_000_000 };
    let workflow = name(workflow);
    let ir = Ir {
        workflow: workflow.clone(),
        version: 1,
        nodes,
        by_id,
        edges,
        bodies,
        exprs,
        limits,
        input_schema: None,
        revised: None,
    };
    NewWorkflow { name: workflow, version, text: text.into(), ir: Arc::new(ir) }
}

/// The answer and the kinds of records; what is kept of each workflow reads back as it is.
fn ask(state: &mut State, command: &Command) -> (Result<Reply, Rejection>, Vec<&'static str>) {
    let mut step = Step::new(state, Time::from_ms(5));
    let reply = decide(&mut step, command);
    let stepped = step.finish();
    for row in stepped.dirty.iter().filter(|owner| matches!(owner, Owner::Workflow(..))).map(|owner| state.row(owner).unwrap()) {
        assert_eq!(Workflow::from_row(&row.values).unwrap().to_row(), row);
    }
    (reply, stepped.entries.iter().map(|entry| entry.record.kind()).filter(|kind| *kind != "ids_reserved").collect())
}

fn put(state: &mut State, all: &[(&str, Option<u32>, &str)]) -> (Result<Vec<(u32, bool)>, Rejection>, usize) {
    let all = all.iter().map(|(workflow, version, text)| new(workflow, *version, text)).collect();
    let (reply, kinds) = ask(state, &Command::PutWorkflows { new: all, by: actor() });
    let each = |put: &Put| (put.version, put.unchanged);
    let reply = reply.map(|reply| if let Reply::Workflows(put) = reply { put.iter().map(each).collect() } else { Vec::new() });
    (reply, kinds.len())
}

fn actor() -> Actor {
    Actor::parse("ana").unwrap()
}

#[test]
fn several_are_put_together_or_not_at_all() {
    let mut state = State::new(0);
    assert_eq!(put(&mut state, &[("a", None, "1"), ("b", Some(7), "1")]), (Ok(vec![(1, false), (7, false)]), 2));
    assert_eq!(put(&mut state, &[("a", None, "1"), ("b", None, "2")]), (Ok(vec![(1, true), (8, false)]), 1));
    // The second cannot be: the first is not there either.
    let (refused, records) = put(&mut state, &[("a", None, "2"), ("b", Some(8), "3")]);
    assert_eq!(refused, Err(Rejection::VersionTaken { workflow: name("b"), version: 8, newest: 8, taken: true }));
    assert_eq!(records, 0);
    // Those before in the same command count.
    assert_eq!(put(&mut state, &[("a", None, "2"), ("a", None, "3")]), (Ok(vec![(2, false), (3, false)]), 2));
    let (refused, _) = put(&mut state, &[("a", Some(9), "4"), ("a", Some(5), "5")]);
    assert_eq!(refused, Err(Rejection::VersionTaken { workflow: name("a"), version: 5, newest: 9, taken: false }));
    let said = refused.unwrap_err().to_string();
    assert_eq!(said, "workflow `a` is at version 9: an older one cannot be put");
}

#[test]
fn a_disabled_workflow_starts_nothing_until_it_is_enabled_whatever_is_put() {
    let mut state = State::new(0);
    put(&mut state, &[("a", None, "1")]).0.unwrap();
    let disable = Command::DisableWorkflow { workflow: name("a"), reason: "audit".into(), by: actor() };
    let start = |version| {
        let spec = RunSpec::new(name("a"), 0);
        let new = NewRun { workflow: name("a"), version, spec, input: Payload("null".into()) };
        Command::StartRun { new: Box::new(new), by: actor() }
    };
    let unknown = Command::DisableWorkflow { workflow: name("x"), reason: String::new(), by: actor() };
    assert!(matches!(ask(&mut state, &unknown).0, Err(Rejection::WorkflowNotFound { .. })));
    let is = |version, unchanged| Ok(Reply::Workflow { workflow: name("a"), version, unchanged });
    assert_eq!(ask(&mut state, &disable), (is(1, false), vec!["workflow_disabled"]));
    assert_eq!(ask(&mut state, &disable), (is(1, true), vec![]));
    let (refused, _) = ask(&mut state, &start(None));
    assert_eq!(refused.unwrap_err().to_string(), "workflow `a` was disabled by ana (audit): no new runs of it start");
    assert_eq!(put(&mut state, &[("a", None, "2")]), (Ok(vec![(2, false)]), 2));
    for version in [None, Some(1), Some(2)] {
        assert!(matches!(ask(&mut state, &start(version)).0, Err(Rejection::WorkflowDisabled { .. })), "{version:?}");
    }
    let enable = Command::EnableWorkflow { workflow: name("a"), by: actor() };
    assert_eq!(ask(&mut state, &enable), (is(2, false), vec!["workflow_enabled"]));
    assert_eq!(ask(&mut state, &enable), (is(2, true), vec![]));
    for version in [None, Some(1)] {
        assert!(matches!(ask(&mut state, &start(version)).0, Ok(Reply::Started { .. })), "{version:?}");
    }
    let kinds = [
        Record::WorkflowEnabled { by: actor() }.kind(),
        Record::RunStarted { spec: Box::new(RunSpec::new(name("a"), 1)), by: actor() }.kind(),
    ];
    assert_eq!(kinds, ["workflow_enabled", "run_started"]);
}
