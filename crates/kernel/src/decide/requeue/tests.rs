use crate::script::check;

#[test]
fn attempts_start_over() {
    check(
        "queue q attempts=2; add a; lease w; finish a failed; advance 1s; lease w; finish a failed; show a
         retry a; show a; lease w; finish a failed; show a",
        "leased a; leased a; a failed attempt=2 error=oops; a queued; leased a; a queued attempt=1 ready=2s error=oops",
    );
}

#[test]
fn a_redrive_by_ids_takes_the_dead_letters_of_its_queue_alone() {
    check(
        "add a; add b; add c queue=r; add d; lease w want=3; finish a failed final; finish b failed final; finish c failed final
         redrive q a,b,c,d; redrive q a; show a",
        "leased a b c; redrive q: 2 changed, 2 left; redrive q: 0 changed, 1 left; a queued | a queued, b queued, c failed, d queued",
    );
}

#[test]
fn a_redrive_that_names_a_task_that_is_not_there_changes_nothing() {
    check(
        "add a; lease w; finish a failed final; redrive q a,nobody; prio a,nobody high",
        "leased a; redrive q: task_not_found; prio a,nobody: task_not_found | a failed",
    );
}

#[test]
fn a_redriven_task_goes_behind_what_waits_already() {
    check(
        "add a; lease w; advance 1s; add b; advance 1s; finish a failed final; redrive q a; lease w want=2",
        "leased a; redrive q: 1 changed, 0 left; leased b a",
    );
}

#[test]
fn an_idle_task_keeps_its_schedule_until_it_is_queued() {
    check("add a idle at=10s; show a; retry a; show a; advance 10s; lease w", "a idle at=10s; a queued ready=10s; leased a");
    check("add a idle at=10s; advance 20s; retry a; lease w", "leased a");
    check("add a idle delay=10s; show a", "a idle at=10s");
}

#[test]
fn a_schedule_that_was_overtaken_by_a_start_does_not_come_back() {
    check(
        "add a idle at=1h; start a worker=w; finish a failed final; show a; retry a; show a",
        "leased a; a failed attempt=1 error=oops; a queued",
    );
    check("add a idle at=1h; start a; lease w; finish a failed; show a", "leased a; a queued attempt=1 ready=1s error=oops");
}

#[test]
fn a_full_queue_takes_no_newcomer_and_takes_back_whom_it_let_in() {
    check("queue q backlog=1; add a; cancel a; add b; retry a", "| a queued, b queued");
    check(
        "queue q backlog=1; add a idle; add b; retry a; lease w; retry a",
        "retry a: backlog_full; leased b | a queued, b running",
    );
}

#[test]
fn a_cancelled_task_that_is_queued_again_waits_for_what_still_blocks_it() {
    for again in ["retry b", "reset b; retry b"] {
        for (fate, blocked) in [
            ("", true),
            ("lease w; finish a done", false),
            ("lease w; finish a failed final", true),
            ("cancel a", true),
            ("delete a", false),
        ] {
            let leases = usize::from(fate.contains("lease"));
            check(
                &format!(
                    "add a type=u; add b by=a; cancel b; {}; {again}; show b; lease w",
                    fate.replace("lease w", "lease w u")
                ),
                &format!(
                    "{}{}; {}",
                    "leased a; ".repeat(leases),
                    if blocked { "b queued by=a" } else { "b queued" },
                    if blocked { "leased nothing" } else { "leased b" },
                ),
            );
        }
    }
}

#[test]
fn a_blocker_that_is_done_at_last_frees_what_was_queued_again() {
    check(
        "add a type=u; add b by=a; cancel b; cancel a; retry b; retry a; lease w u; finish a done; lease w",
        "leased a; leased b",
    );
}
