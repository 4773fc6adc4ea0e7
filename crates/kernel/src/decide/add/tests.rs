use crate::record::{CancelCause, Entry, Record};
use crate::script::walk::cases;
use crate::script::world::Memory;
use crate::script::{check, tell};
use proptest::prelude::*;
use std::fmt::Write;

#[test]
fn a_scheduled_task_starts_at_its_instant() {
    check(
        "add a at=10s; summary q; due; lease w; advance 9999ms; lease w; advance 1ms; summary q; lease w",
        "q: 1 queued 1 scheduled; due 10s; leased nothing; leased nothing; q: 1 queued; leased a",
    );
    check("advance 5s; add a delay=10s; show a", "a queued ready=15s");
    check("advance 5s; add a at=10s delay=1h; show a", "a queued ready=10s");
    check("advance 5s; add a at=1s; add b; lease w want=2", "leased a b");
}

#[test]
fn a_key_makes_one_task_within_its_window() {
    check(
        "queue q window=10s; add a idem=k; add b idem=k; advance 9999ms; add c idem=k; advance 1ms; add d idem=k; add e idem=k",
        "b is a; c is a; e is d | a queued, d queued",
    );
}

#[test]
fn a_key_is_known_whatever_became_of_its_task() {
    for fate in ["lease w; finish a done", "lease w; finish a failed final", "cancel a", "reset a", "lease w"] {
        let leased = if fate.contains("lease") { "leased a; " } else { "" };
        check(&format!("add a idem=k; {fate}; add b idem=k"), &format!("{leased}b is a"));
    }
    check("add a idem=k; delete a; add b idem=k", "| a gone, b queued");
}

#[test]
fn a_key_belongs_to_its_queue() {
    check("add a queue=q idem=k; add b queue=r idem=k; add c queue=q idem=k; add d queue=r idem=k", "c is a; d is b");
}

#[test]
fn a_key_counts_within_one_add() {
    check("add a idem=k + b idem=k + c idem=l", "b is a | a queued, c queued");
    check("queue q backlog=1; add a idem=k + b idem=k", "b is a | a queued");
    check("queue q window=0ms; add a idem=k + b idem=k", "| a queued, b queued");
}

#[test]
fn the_youngest_task_of_a_key_answers_even_when_an_older_one_still_waits() {
    check(
        "queue q window=10s; add a type=u idem=k delay=1h; advance 10s; add b idem=k; lease w; finish b done; prio a high; add c idem=k",
        "leased b; prio a: 1 changed, 0 left; c is b | a queued, b done",
    );
}

#[test]
fn a_wider_window_finds_the_older_task_again() {
    check(
        "queue q window=10s; add a type=u idem=k delay=1h; advance 10s; add b idem=k; queue q window=1h; delete b; add c idem=k",
        "c is a | a queued, b gone",
    );
}

#[test]
fn a_full_queue_takes_all_of_an_add_or_nothing() {
    check(
        "queue q backlog=2; add a; add b + c; add d queue=r + e; add f; add g idle; summary q",
        "add b c: backlog_full; add f: backlog_full; q: 2 queued | a queued, d queued, e queued, g idle",
    );
    check("queue q backlog=2; add a delay=1h; add b by=a; add c", "add c: backlog_full");
    check("queue q backlog=1; add a; lease w; add b; finish a failed; summary q", "leased a; q: 2 queued 1 scheduled");
    check("queue q backlog=1; add a idem=k; add b idem=k", "b is a");
}

#[test]
fn a_full_queue_that_drops_its_oldest_takes_what_is_added() {
    let full = "queue q backlog=2 drop_oldest; add a; add b";
    check(
        &format!("{full}; add c; show a; add d idle; add e + f; summary q"),
        "a cancelled shed by signaller because its queue was full, and it had waited longest; q: 2 queued
         | a cancelled, b cancelled, c cancelled, d idle, e queued, f queued",
    );
    // More than there is ever room for is refused whole, and so is what only others could make way for.
    check(&format!("{full}; add c + d + e"), "add c d e: backlog_full | a queued, b queued");
    check(
        &format!("{full}; lease w want=2; add c; add d; add e; summary q"),
        "leased a b; q: 2 queued 2 running | a running, b running, c cancelled, d queued, e queued",
    );
    check(&format!("{full}; start a; start b; add c"), "add c: backlog_full | a queued, b queued");
    check(&format!("{full}; start a; add c"), "| a queued, b cancelled, c queued");
    // Nobody makes way for one that waits for it, or that it is.
    check(&format!("{full}; add c by=a"), "| a queued, b cancelled, c queued");
    check(&format!("{full}; add c by=a,b"), "add c: backlog_full | a queued, b queued");
    check("queue q backlog=2 drop_oldest; add a idem=k; add b; add c idem=k + d", "c is a | a queued, b cancelled, d queued");
    check("queue q backlog=1 drop_oldest; add a; queue q backlog=1; add b", "add b: backlog_full | a queued");
    check("queue q backlog=1 drop_oldest; add a queue=r + b; add c queue=r + d", "| a queued, b cancelled, c queued, d queued");
}

#[derive(Clone, Debug)]
enum Op {
    Add(usize),
    Lease,
    /// The n-th of those that run.
    Finish(usize),
}

proptest! {
    #![proptest_config(cases(64))]
    /// A queue with a bound is a list that loses its head, and never what runs.
    #[test]
    fn a_bounded_queue_is_a_list_that_loses_its_head(
        max in 1..5usize,
        drops: bool,
        ops in proptest::collection::vec(
            prop_oneof![4 => (1..4usize).prop_map(Op::Add), 2 => Just(Op::Lease), 1 => (0..9usize).prop_map(Op::Finish)],
            1..30,
        ),
    ) {
        let mut script = format!("queue q backlog={max}{}; ", if drops { " drop_oldest" } else { "" });
        let (mut count, mut waiting, mut running, mut shed) = (0, Vec::<String>::new(), Vec::<String>::new(), 0);
        let mut expected = Vec::new();
        for op in &ops {
            match op {
                Op::Add(many) => {
                    let names: Vec<String> = (0..*many).map(|_| { count += 1; format!("t{count}") }).collect();
                    write!(script, "add {}; ", names.join(" + ")).expect("it is written to memory");
                    let over = (waiting.len() + many).saturating_sub(max);
                    if over > 0 && (!drops || *many > max) {
                        expected.push(format!("add {}: backlog_full", names.join(" ")));
                    } else {
                        waiting.drain(..over);
                        shed += over;
                        waiting.extend(names);
                    }
                }
                Op::Lease => {
                    script.push_str("lease w; ");
                    let told = if waiting.is_empty() { "nothing".to_owned() } else { waiting.remove(0) };
                    running.extend(Some(told.clone()).filter(|told| told != "nothing"));
                    expected.push(format!("leased {told}"));
                }
                Op::Finish(at) if !running.is_empty() => {
                    let name = running.remove(at % running.len());
                    write!(script, "finish {name} done; ").expect("it is written to memory");
                }
                Op::Finish(_) => {}
            }
        }
        for memory in [Memory::Cools, Memory::Restarts] {
            let told = tell(memory, &script);
            prop_assert_eq!(&told.answers, &expected, "memory {:?}, script:\n{}\n", memory, script);
            let cancelled = |entry: &&Entry| matches!(entry.record, Record::TaskCancelled { cause: CancelCause::Shed, .. });
            prop_assert_eq!(told.world.history.iter().filter(cancelled).count(), shed);
        }
    }
}

#[test]
fn a_blocker_that_is_not_there_refuses_the_add_whole() {
    check("add a + b by=nobody", "add a b: blocker_not_found");
    check("add a; delete a; add b by=a", "add b: blocker_not_found");
}
