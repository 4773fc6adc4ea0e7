use crate::script::check;

#[test]
fn done_unblocks() {
    check(
        "add a; add b by=a; summary q; lease w want=2; advance 5s; finish a done; show b; lease w",
        "q: 2 queued 1 blocked; leased a; b queued; leased b",
    );
}

#[test]
fn the_last_of_several_blockers_unblocks() {
    check(
        "add a; add b; add c by=a,b; lease w want=3; finish b done; show c; finish a done; show c; lease w",
        "leased a b; c queued by=a; c queued; leased c",
    );
}

#[test]
fn a_blocker_that_failed_or_was_cancelled_blocks_on() {
    for (fate, again) in [
        ("finish a failed final", "retry a"),
        ("cancel a; finish a done", "retry a"),
        ("finish a failed final", "reset a; retry a"),
    ] {
        check(
            &format!("add a type=u; add b by=a; lease w u; {fate}; show b; lease w; {again}; lease w u; finish a done; lease w"),
            "leased a; b queued by=a; leased nothing; leased a; leased b",
        );
    }
}

#[test]
fn a_blocker_that_is_done_already_blocks_nothing() {
    check("add a; lease w; finish a done; add b by=a; show b; lease w", "leased a; b queued; leased b");
    check("add a; add c; lease w; finish a done; add b by=a,c; show b", "leased a; b queued by=c");
    check("add a; lease w; finish a failed final; add b by=a; show b", "leased a; b queued by=a");
}

#[test]
fn ready_is_the_latest_of_queued_scheduled_and_unblocked() {
    // b was unblocked at 5 s, so c, ready at 4 s, goes first.
    check("add a; add b by=a; lease w; advance 4s; add c; advance 1s; finish a done; lease w want=2", "leased a; leased c b");
    check("add a; add b by=a at=10s; lease w; advance 1s; finish a done; show b", "leased a; b queued ready=10s");
    check("add a; add b by=a at=1s; lease w; advance 4s; finish a done; show b; lease w", "leased a; b queued; leased b");
}

#[test]
fn an_idle_task_is_unblocked_too() {
    check("add a; add b by=a idle; lease w; finish a done; show b; retry b; lease w", "leased a; b idle; leased b");
    check("add a type=u; add b by=a; reset b; retry b; show b", "b queued by=a");
}

#[test]
fn more_than_a_thousand_dependents_are_told_in_chunks() {
    check(
        "add a type=u; add x*2500 by=a; lease w u; finish a done; summary q; due
         proceed; summary q; proceed; summary q; proceed; summary q; proceed; due; lease w want=2500",
        "leased a; q: 2500 queued 2500 blocked; due 0s
         q: 2500 queued 1500 blocked; q: 2500 queued 500 blocked; q: 2500 queued; due never; leased 2500 tasks",
    );
}

#[test]
fn dependents_that_wait_to_be_told_are_not_left_behind() {
    // Nobody can stop the telling, start one out of turn, or lose it by taking the blocker away.
    check(
        "add a type=u; add x*1500 by=a; lease w u; finish a done; explain x1500; proceed; delete a; advance 0s; summary q",
        "leased a
         x1500 waits: it is blocked by a, which is done: those that wait for it are being told. [blocked_by] eta unknown
         q: 1500 queued",
    );
    check("add a; add b by=a; unblock a; show b", "unblock a: invalid; b queued by=a");
    // Nor does it go on for a blocker that is not done any more, and free those who came to wait for it since.
    check(
        "add a type=u; add x*1500 by=a; lease w u; finish a done; reset a; proceed; reset a; proceed; proceed; reset a; add b by=a; show b",
        "leased a; reset a: still_telling; reset a: still_telling; b queued by=a",
    );
}
