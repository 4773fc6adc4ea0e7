use crate::script::check;

#[test]
fn what_it_blocked_waits_for_its_own_blockers() {
    check(
        "add a type=u; add b by=a; add c by=b; delete b; show c; lease w; lease w u; finish a done; lease w",
        "c queued by=a; leased nothing; leased a; leased c",
    );
    check("add a type=u; add b by=a; add d; add c by=b,d; delete b; show c", "c queued by=d,a");
    check("add a type=u; add b by=a; add c by=b,a; delete b; show c", "c queued by=a");
}

#[test]
fn a_chain_stays_closed_whichever_link_goes() {
    let chain = "add a type=u; add b by=a; add c by=b; add d by=c";
    for order in ["delete b; delete c", "delete c; delete b"] {
        check(
            &format!("{chain}; {order}; show d; lease w; lease w u; finish a done; lease w"),
            "d queued by=a; leased nothing; leased a; leased d",
        );
    }
    check(&format!("{chain}; delete a; show b,c,d; lease w"), "b queued; c queued by=b; d queued by=c; leased b");
}

#[test]
fn without_blockers_of_its_own_it_frees_them() {
    for fate in ["", "cancel a", "reset a", "lease w u; finish a failed final"] {
        let leased = if fate.contains("lease") { "leased a; " } else { "" };
        check(
            &format!("add a type=u; add b by=a; {fate}; advance 3s; delete a; show b; lease w"),
            &format!("{leased}b queued; leased b"),
        );
    }
}

#[test]
fn what_is_freed_by_a_deletion_is_ready_from_then_on() {
    check("add a type=u; add b by=a; advance 1s; add c; advance 1s; delete a; lease w want=2", "leased c b");
}

#[test]
fn a_cancelled_link_hands_on_only_what_still_blocks() {
    check(
        "add a type=u; add b by=a; add c by=b; cancel b; lease w u; finish a done; delete b; show c; lease w",
        "leased a; c queued; leased c",
    );
    check("add a type=u; add b by=a; add c by=b; cancel b; delete a; delete b; show c", "c queued");
    check("add a type=u; add b by=a; add c by=b; cancel b; cancel a; delete b; show c", "c queued by=a");
}

#[test]
fn a_task_that_runs_is_not_deleted() {
    check("add a; lease w; delete a", "leased a; delete a: wrong_state | a running");
}

#[test]
fn deleting_a_blocker_of_more_than_one_batch_is_refused() {
    check("add a idle; add x*1001 by=a; delete a", "delete a: invalid");
}

#[test]
fn no_blocker_is_dropped_for_want_of_room() {
    let names = |letter: char, n: usize| (1..=n).map(|i| format!("{letter}{i}")).collect::<Vec<_>>().join(",");
    check(
        &format!("add a*40 idle; add b*40 idle; add c by={}; add d by={},c; delete c; lease w", names('a', 40), names('b', 40)),
        "delete c: invalid; leased nothing",
    );
}

#[test]
fn deleting_takes_a_task_out_of_everything() {
    check(
        "add a delay=10s; delete a; due; summary q; add b; start b; delete b; summary q; lease w",
        "due never; q: empty; q: empty; leased nothing",
    );
}
