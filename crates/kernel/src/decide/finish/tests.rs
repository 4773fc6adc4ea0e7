use crate::script::check;

#[test]
fn the_wait_doubles_with_each_failure_up_to_its_bound() {
    check(
        "queue q attempts=5 backoff=1s backoff_max=3s; add a; lease w; finish a failed; show a
         lease w; advance 999ms; lease w; advance 1ms; lease w; finish a failed; show a
         advance 2s; lease w; finish a failed; show a
         advance 3s; lease w; finish a failed; show a; due",
        "leased a; a queued attempt=1 ready=1s error=oops
         leased nothing; leased nothing; leased a; a queued attempt=2 ready=3s error=oops
         leased a; a queued attempt=3 ready=6s error=oops
         leased a; a queued attempt=4 ready=9s error=oops; due 9s",
    );
}

#[test]
fn chance_only_lengthens_the_wait_by_its_share() {
    for (jitter, ready) in [(0, "10s"), (100, "15s")] {
        check(
            &format!("queue q backoff=10s jitter=50; add a; lease w; finish a failed jitter={jitter}; show a"),
            &format!("leased a; a queued attempt=1 ready={ready} error=oops"),
        );
    }
}

#[test]
fn a_worker_that_says_when_is_believed_up_to_a_week() {
    for (after, ready) in [("3s", "3s"), ("20s", "20s"), ("0ms", ""), ("9999h", "604800s")] {
        let ready = if ready.is_empty() { String::new() } else { format!(" ready={ready}") };
        check(
            &format!("queue q backoff=10s; add a; lease w; finish a failed after={after}; show a"),
            &format!("leased a; a queued attempt=1{ready} error=oops"),
        );
    }
}

#[test]
fn a_task_whose_attempts_are_spent_is_a_dead_letter() {
    check(
        "queue q attempts=2; add a; lease w; finish a failed; advance 1s; lease w; finish a failed; show a; summary q",
        "leased a; leased a; a failed attempt=2 error=oops; q: empty",
    );
    check("queue q attempts=9; add a attempts=1; lease w; finish a failed; show a", "leased a; a failed attempt=1 error=oops");
    check("add a; lease w; finish a failed final; show a", "leased a; a failed attempt=1 error=oops");
    check("add a; lease w; finish a failed final after=1h; show a", "leased a; a failed attempt=1 error=oops");
}

#[test]
fn the_last_failure_is_kept_until_it_succeeds() {
    check(
        "add a; lease w; finish a failed=bad; advance 1s; lease w; show a; finish a done; show a",
        "leased a; leased a; a running attempt=2 error=bad; a done attempt=2",
    );
}

#[test]
fn a_silent_worker_costs_an_attempt_and_so_does_one_that_forgets() {
    check("add a; lease w; mislay a; show a", "leased a; a queued attempt=1 ready=1s error=worker_lost");
    check("add a; lease w; cancel a; mislay a; show a", "leased a; a cancelled attempt=1 asked by ann");
    check("add a; lease w; lapse a; show a", "leased a; a queued attempt=1 ready=1s error=worker_lost");
    check("queue q attempts=1; add a; lease w; lapse a; show a", "leased a; a failed attempt=1 error=worker_lost");
}

#[test]
fn handing_back_costs_no_attempt_and_no_place() {
    for how in ["finish a released", "undelivered a"] {
        check(
            &format!("add a; advance 5s; add b; lease w; {how}; show a; lease w; show a"),
            "leased a; a queued; leased a; a running attempt=1",
        );
    }
    check(
        "add a; lease w; finish a failed; advance 1s; lease w; finish a released; show a",
        "leased a; leased a; a queued attempt=1 error=oops",
    );
}

#[test]
fn a_stale_fence_is_refused_whatever_it_brings() {
    for late in ["done", "failed", "failed final", "released"] {
        check(
            &format!(
                "add a; lease w; lapse a; advance 1s; lease w2; finish a {late} fence=1; lapse a fence=1; undelivered a fence=1"
            ),
            "leased a; leased a; finish a: lease_lost; lapse a: lease_lost; undelivered a: lease_lost | a running",
        );
    }
}

#[test]
fn an_outcome_that_is_sent_again_is_fine_and_another_one_is_not() {
    for (first, other) in [
        ("done=1", "done=2"),
        ("done=1", "failed"),
        ("done=1", "released"),
        ("failed=x/y final", "failed=x/z final"),
        ("failed=xy/z final", "failed=x/yz final"),
        ("failed=x/y final", "failed=x/y"),
        ("failed=x/y", "done"),
        ("released", "done"),
        ("released", "failed"),
    ] {
        check(
            &format!("add a; lease w; finish a {first}; finish a {first}; finish a {other}; finish a {first}"),
            "leased a; finish a: duplicate; finish a: lease_lost; finish a: duplicate",
        );
    }
}

#[test]
fn an_outcome_is_still_known_after_the_next_lease() {
    for first in ["failed", "released"] {
        check(
            &format!(
                "add a; lease w; finish a {first}; advance 1s; lease w2; finish a {first} fence=1; finish a done fence=1; finish a done"
            ),
            "leased a; leased a; finish a: duplicate; finish a: lease_lost | a done",
        );
    }
}

#[test]
fn an_undelivered_lease_is_nobodys() {
    check(
        "add a; lease w; undelivered a; finish a done; finish a released",
        "leased a; finish a: lease_lost; finish a: lease_lost | a queued",
    );
}

#[test]
fn a_finished_task_remembers_its_outcome_through_reset_and_retry() {
    check(
        "add a; lease w; finish a done=1; reset a; finish a done=1; retry a; finish a done=1; lease w; finish a done=1 fence=1; show a",
        "leased a; finish a: duplicate; finish a: duplicate; leased a; finish a: duplicate; a running attempt=1",
    );
}

#[test]
fn a_result_for_a_task_that_is_gone_is_not_found() {
    check("add a; lease w; finish a done; delete a; finish a done", "leased a; finish a: task_not_found");
}
