use crate::script::check;

#[test]
fn a_spent_budget_asks_the_worker_to_stop_and_keeps_the_slot() {
    check(
        "queue q budget=10s concurrency=1; add a; add b; lease w; due; advance 9999ms; show a; advance 1ms; show a; summary q; lease w; due",
        "leased a; due 10s; a running attempt=1; a running attempt=1 timed_out; q: 1 queued 1 running; leased nothing; due never",
    );
}

#[test]
fn what_ran_too_long_counts_as_a_failure_whatever_its_worker_says_then() {
    for how in ["finish a done", "finish a failed final", "finish a released", "lapse a"] {
        check(
            &format!("queue q budget=10s; add a; lease w; advance 10s; {how}; show a"),
            "leased a; a queued attempt=1 ready=11s error=timed_out",
        );
    }
    check(
        "queue q budget=10s attempts=1; add a; lease w; advance 10s; lapse a; show a",
        "leased a; a failed attempt=1 error=timed_out",
    );
}

#[test]
fn an_undelivered_lease_that_timed_out_is_handed_back_unburnt() {
    check("queue q budget=10s; add a; lease w; advance 10s; undelivered a; show a", "leased a; a queued");
}

#[test]
fn a_task_may_have_a_budget_of_its_own() {
    check(
        "queue q budget=10s; add a budget=3s; lease w; due; advance 3s; show a",
        "leased a; due 3s; a running attempt=1 timed_out",
    );
}

#[test]
fn a_budget_ends_with_its_lease() {
    check(
        "queue q budget=10s; add a; lease w; finish a done; due; add b; lease w; cancel b; due",
        "leased a; due never; leased b; due never",
    );
}

#[test]
fn a_pause_ends_at_its_instant() {
    check(
        "add a; pause q until=10s; lease w; due; advance 9999ms; lease w; advance 1ms; lease w",
        "leased nothing; due 10s; leased nothing; leased a",
    );
}
