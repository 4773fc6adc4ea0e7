use crate::script::check;

#[test]
fn without_a_worker_it_goes_first_in_line() {
    check("add a prio=critical; advance 1s; add b; start b; show b; lease w want=2", "b queued run_now; leased b a");
    check("add a idle; add b prio=critical; start a; lease w want=2", "leased a b");
}

#[test]
fn among_several_the_one_that_waited_longest_goes_first() {
    check("add a; advance 1s; add b; start b; start a; lease w want=2", "leased a b");
}

#[test]
fn with_a_worker_it_is_leased_at_once() {
    check("add a; start a worker=w; show a; summary q", "leased a; a running attempt=1 override; q: 1 overrides");
    check("add a; start a; start a worker=w; show a", "leased a; a running attempt=1 override");
}

#[test]
fn starting_twice_changes_nothing() {
    check("queue q overrides=1; add a; start a; start a; show a; summary q", "a queued run_now; q: 1 queued 1 overrides");
}

#[test]
fn override_slots_are_bounded_waiting_or_running() {
    check(
        "queue q overrides=1; add a; add b; start a; start b; lease w; start b; finish a done; start b; show b",
        "start b: overrides_taken; leased a; start b: overrides_taken; b queued run_now",
    );
    check("queue q overrides=0; add a; start a", "start a: overrides_taken");
    check(
        "queue q overrides=1; add a; add b; start a; cancel a; start b; reset b; add c; start c",
        "| a cancelled, b idle, c queued",
    );
}

#[test]
fn override_slots_are_counted_apart() {
    check(
        "queue q concurrency=1 key.k=1; add a key.k=x; add b key.k=x; add c key.k=x; lease w; start b; lease w; summary q
         finish a done; lease w; summary q",
        "leased a; leased b; q: 1 queued 1 running 1 overrides; leased c; q: 1 running 1 overrides",
    );
}

#[test]
fn it_passes_pause_limits_schedule_rate_and_tag() {
    for (prelude, options) in [
        ("pause q", ""),
        ("queue q concurrency=1; add z; lease w", ""),
        ("queue q key.k=1; add z key.k=x; lease w", "key.k=x"),
        ("queue q rate=1/1h; add z; lease w", ""),
        ("queue q keyrate.k=1/1h; add z key.k=x; lease w", "key.k=x"),
        ("queue q tag=x", ""),
        ("add z idle", "delay=1h"),
    ] {
        let leased = if prelude.contains("lease") { "leased z; " } else { "" };
        check(
            &format!("{prelude}; add a {options}; lease w; start a; lease w; show a"),
            &format!("{leased}leased nothing; leased a; a running attempt=1 override"),
        );
    }
}

#[test]
fn it_takes_no_permit() {
    check("queue q rate=1/10s; add a; add b; start a; lease w; lease w; due", "leased a; leased b; due 10s");
}

#[test]
fn a_blocked_task_is_refused_unless_forced() {
    check(
        "add a type=u; add b by=a; start b; start b worker=w; start b force; show b; lease w",
        "start b: blocked; start b: blocked; b queued run_now; leased b",
    );
    check("add a type=u; add b by=a; start b force worker=w; show b", "leased b; b running attempt=1 override");
    check("add a type=u; add b by=a idle; start b; start b force; show b", "start b: blocked; b queued run_now");
    // What was forced past its blocker does not hear of it again.
    check("add a type=u; add b by=a; start b force; lease w u; finish a done; show b", "leased a; b queued run_now");
}

#[test]
fn handed_back_it_is_first_in_line_again_and_a_retry_is_like_any_other() {
    check("add a; start a; lease w; finish a released; show a; summary q", "leased a; a queued run_now; q: 1 queued 1 overrides");
    check(
        "add a; start a; lease w; finish a failed; show a; summary q",
        "leased a; a queued attempt=1 ready=1s error=oops; q: 1 queued 1 scheduled",
    );
}
