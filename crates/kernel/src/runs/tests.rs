use super::*;
use crate::command::Command;
use crate::decide::NewWorkflow;
use crate::ir::Ir;
use crate::limits::WORKFLOW_TEXTS_BYTES_MAX;
use crate::names::Actor;
use crate::rejection::Rejection;
use crate::state::State;
use crate::step::Step;

fn held(run: u64) -> Held {
    Held::Node(Spot { run: RunId::new(run, 0), frame: FramePath::root(), node: NodeIx(0) })
}

fn seqs(seqs: &[u64]) -> Vec<RecordSeq> {
    seqs.iter().map(|seq| RecordSeq(*seq)).collect()
}

fn came(holds: &mut Holds, seq: u64) -> Vec<Held> {
    holds.came(&[(RecordSeq(seq), 10)]);
    holds.take_ready().into_iter().collect()
}

#[test]
fn a_value_that_comes_moves_only_those_who_miss_nothing_else() {
    let mut holds = Holds::default();
    holds.until(held(1), seqs(&[7]), Time::from_ms(3));
    holds.until(held(2), seqs(&[7, 8]), Time::from_ms(1));
    holds.until(held(3), seqs(&[9]), Time::from_ms(2));
    assert_eq!(holds.missing().collect::<Vec<_>>(), seqs(&[7, 8, 9, 7]), "the eldest first");
    assert_eq!(came(&mut holds, 7), [held(1)]);
    assert!(holds.is_waited_for(RecordSeq(7)), "the second needs it still");
    assert_eq!((holds.bytes_before(RecordSeq(8)), holds.bytes_before(RecordSeq(9))), (10, 0));
    assert_eq!(came(&mut holds, 8), [held(2)]);
    // Asked again it misses another: what it got before is still its, until it has gone on.
    holds.until(held(2), seqs(&[11]), Time::from_ms(9));
    holds.cool();
    assert!(holds.is_waited_for(RecordSeq(7)) && holds.is_waited_for(RecordSeq(8)));
    assert_eq!(came(&mut holds, 11), [held(2)]);
    holds.cool();
    assert!(!holds.is_waited_for(RecordSeq(7)) && !holds.is_waited_for(RecordSeq(11)));
    holds.settled(&held(3));
    assert!(holds.is_empty() && !holds.is_waited_for(RecordSeq(9)));
}

#[test]
fn what_misses_a_value_for_long_is_late_when_it_is_found_so_again() {
    let mut holds = Holds::default();
    holds.until(held(1), seqs(&[7]), Time::from_ms(10));
    let (run, other) = (RunId::new(1, 0), RunId::new(2, 0));
    assert_eq!(holds.late(run, Time::from_ms(9)), []);
    assert_eq!(holds.late(other, Time::from_ms(99)), []);
    assert_eq!(holds.late(run, Time::from_ms(10)), [], "we may have slept");
    assert_eq!(holds.late(run, Time::from_ms(10)), [(held(1), RecordSeq(7))]);
}

#[test]
fn the_texts_of_workflows_are_bounded_together() {
    let mut state = State::new(0);
    let put = |state: &mut State, text: &str| {
        let ir = Arc::new(Ir {
            workflow: WorkflowName::parse("w").unwrap(),
            version: 1,
            nodes: Vec::new(),
            by_id: Vec::new(),
            edges: Vec::new(),
            bodies: Vec::new(),
            exprs: Vec::new(),
            limits: crate::ir::RunLimits { deadline_ms: None, stall_ms: 1, steps_max: 1_000_000 },
            input_schema: None,
            revised: None,
        });
        let new = NewWorkflow { name: ir.workflow.clone(), version: None, text: text.into(), ir };
        let mut step = Step::new(state, Time::from_ms(1));
        let reply = crate::decide(&mut step, &Command::PutWorkflow { new: Box::new(new), by: Actor::parse("ann").unwrap() });
        step.finish();
        reply
    };
    put(&mut state, "four").unwrap();
    assert_eq!(state.runs.texts_bytes, 4);
    state.runs.texts_bytes = WORKFLOW_TEXTS_BYTES_MAX - 5;
    put(&mut state, "fives").unwrap();
    let full = put(&mut state, "6").unwrap_err();
    assert_eq!(full, Rejection::WorkflowTextsFull { max_bytes: WORKFLOW_TEXTS_BYTES_MAX });
    assert_eq!(full.code(), "workflows_taken");
}
