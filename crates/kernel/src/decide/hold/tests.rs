use crate::script::check;

#[test]
fn what_is_held_is_handed_to_nobody_and_keeps_its_place() {
    check(
        "add a prio=high; add b; hold a 1; summary q; explain a; lease w; let_go a 1; lease w; lease w",
        "q: 2 queued 1 held; a waits: its run is paused. [run_paused] eta unknown; leased b; leased a; leased nothing",
    );
    // Its hour comes while it is held, and goes by.
    check("add a delay=10s; hold a 1; due; advance 20s; lease w; let_go a 1; lease w", "due never; leased nothing; leased a");
    check("add a delay=10s; hold a 1; let_go a 1; due; advance 10s; lease w", "due 10s; leased a");
}

#[test]
fn what_runs_is_held_when_it_comes_back() {
    for back in ["finish a released", "undelivered a", "finish a failed", "lapse a"] {
        check(
            &format!("queue q backoff=5s jitter=0; add a; lease w; hold a 1; {back}; advance 5s; lease w; let_go a 1; lease w"),
            "leased a; leased nothing; leased a",
        );
    }
    check("add a; lease w; hold a 1; finish a done", "leased a | a done");
    check("add a; lease w; hold a 1; let_go a 1; finish a released; lease w", "leased a; leased a");
}

#[test]
fn attempts_and_backoff_outlive_a_pause() {
    check(
        "queue q backoff=10s jitter=0 attempts=2; add a; lease w; finish a failed; hold a 1; advance 4s; let_go a 1
         show a; lease w; advance 6s; lease w; finish a failed",
        "leased a; a queued attempt=1 ready=10s error=oops; leased nothing; leased a | a failed",
    );
}

#[test]
fn the_last_pause_counts_in_whatever_order_its_words_come() {
    for words in
        ["hold a 1; let_go a 1; hold a 1", "let_go a 1; hold a 1", "hold a 2; let_go a 2; hold a 1; let_go a 1; hold a 2"]
    {
        check(&format!("add a; {words}; lease w"), "leased a");
    }
    for words in
        ["hold a 1; let_go a 1; hold a 2; let_go a 1", "hold a 2; let_go a 1; hold a 1", "let_go a 1; hold a 2; hold a 1"]
    {
        check(&format!("add a; {words}; lease w"), "leased nothing");
    }
}

#[test]
fn what_is_held_can_be_taken_away() {
    check("add a; hold a 1; cancel a; lease w; let_go a 1", "leased nothing | a cancelled");
    check("add a; hold a 1; delete a; lease w; due", "leased nothing; due never | a gone");
    check("add a; hold a 1; clear q; proceed; summary q", "q: empty | a cancelled");
    check("add a budget=1s attempts=1; lease w; hold a 1; advance 1s; lapse a", "leased a | a failed");
}
