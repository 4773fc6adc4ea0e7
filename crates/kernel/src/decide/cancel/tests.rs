use crate::script::check;

#[test]
fn what_waits_is_cancelled_at_once() {
    check(
        "add a; cancel a because=not_needed; show a; lease w; due",
        "a cancelled asked by ann because not needed; leased nothing; due never",
    );
    check("add a delay=10s; cancel a; due; advance 10s; lease w", "due never; leased nothing");
}

#[test]
fn what_runs_keeps_its_slot_until_the_worker_confirms() {
    for confirm in ["finish a done", "finish a failed", "finish a released", "undelivered a", "lapse a"] {
        check(
            &format!(
                "queue q concurrency=1 key.k=1; add a key.k=x; add b key.k=x; lease w
                 cancel a because=why; show a; lease w; {confirm}; show a; lease w"
            ),
            "leased a; a running attempt=1 cancelling; leased nothing; a cancelled attempt=1 asked by ann because why; leased b",
        );
    }
}

#[test]
fn a_confirmation_that_is_sent_again_is_fine() {
    check(
        "add a; lease w; cancel a; finish a done=1; finish a done=1; finish a done=2",
        "leased a; finish a: duplicate; finish a: lease_lost | a cancelled",
    );
}

#[test]
fn asking_twice_changes_nothing() {
    check(
        "add a; lease w; cancel a because=first; cancel a because=second; finish a done; show a",
        "leased a; a cancelled attempt=1 asked by ann because first",
    );
}

#[test]
fn a_task_that_timed_out_can_still_be_cancelled_and_is_not_retried() {
    check(
        "queue q budget=1s; add a; lease w; advance 1s; show a; cancel a; show a; finish a done",
        "leased a; a running attempt=1 timed_out; a running attempt=1 cancelling | a cancelled",
    );
}

#[test]
fn a_cancelled_lease_does_not_time_out() {
    check(
        "queue q budget=1s; add a; lease w; cancel a; due; advance 5s; show a",
        "leased a; due never; a running attempt=1 cancelling",
    );
}

#[test]
fn who_asks_again_hears_the_same_and_changes_nothing() {
    check("add a; cancel a because=first; cancel a because=second; show a", "a cancelled asked by ann because first");
}

#[test]
fn a_cancelled_task_can_be_queued_again() {
    check("add a; cancel a; retry a; show a; lease w", "a queued; leased a");
}
