use crate::script::check;

#[test]
fn an_event_makes_a_task_at_each_of_its_handlers() {
    check(
        "emit e a/b + h1 + h2 queue=r type=u; emit f a/c; lease w t,u want=3",
        "e: queued, queued; f: unhandled; leased e.h1 e.h2 | e.h1 running, e.h2 running",
    );
}

#[test]
fn the_same_id_is_the_same_event_and_has_no_second_effect() {
    check(
        "emit e a/b id=x + h; emit f a/b id=x + h + h2; lease w; finish e done; emit g a/b id=x + h; emit n a/b id=y + h",
        "e: queued; f again: queued; leased e; g again: queued; n: queued | e done, n queued",
    );
}

#[test]
fn what_was_routed_by_another_revision_is_refused() {
    check("registry q concurrency=1; emit e a/b revision=0 + h; emit f a/b revision=1 + h", "e: registry_changed; f: queued");
}

#[test]
fn a_handler_whose_expression_fails_does_not_stop_the_others() {
    check("emit e a/b + h1 broken + h2", "e: failed, queued | e.h2 queued");
}

#[test]
fn within_its_window_a_dedup_key_makes_one_task_though_that_has_ended() {
    check(
        "emit e a/b + h dedup=k/10s; lease w; finish e done; advance 9s; emit f a/b + h dedup=k/10s
         emit g a/b + h dedup=l/10s; emit i a/b + other dedup=k/10s; advance 1s; emit j a/b + h dedup=k/10s",
        "e: queued; leased e; f: duplicate e; g: queued; i: queued; j: queued",
    );
}

#[test]
fn what_comes_faster_than_the_drop_rate_is_dropped_key_by_key() {
    check(
        "emit e a/b + h drop=k/1/10s; emit f a/b + h drop=k/1/10s; emit g a/b + h drop=l/1/10s; advance 9999ms
         emit i a/b + h drop=k/1/10s; advance 1ms; emit j a/b + h drop=k/1/10s; emit m a/b + h2 drop=k/1/10s",
        "e: queued; f: rate_dropped; g: queued; i: rate_dropped; j: queued; m: queued",
    );
}

#[test]
fn a_debounce_waits_for_quiet_and_takes_the_newest() {
    check(
        "emit e a/b ts=1s + h debounce=k/5s; advance 3s; emit f a/b ts=2s + h debounce=k/5s; emit g a/b ts=1s + h debounce=k/5s
         emit o a/b + h debounce=other/5s; advance 4s; lease w want=2; show e; advance 1s; lease w; emit i a/b + h debounce=k/5s",
        "e: queued; f: debounced e; g: stale e; o: queued; leased nothing; e queued ready=8s; leased e; i: queued",
    );
}

#[test]
fn a_delay_counts_from_the_end_of_a_debounce_however_many_come() {
    check(
        "emit e a/b + h debounce=k/5s/8s delay=1min; show e; advance 4s; emit f a/b + h debounce=k/5s/8s delay=1min; show e",
        "e: queued; e queued ready=65s; f: debounced e; e queued ready=68s",
    );
}

#[test]
fn max_wait_ends_a_debounce_and_the_next_event_opens_another() {
    check(
        "emit e a/b + h debounce=k/5s/8s; advance 4s; emit f a/b + h debounce=k/5s/8s; show e; advance 4s
         emit g a/b + h debounce=k/5s/8s; lease w want=2; advance 5s; lease w",
        "e: queued; f: debounced e; e queued ready=8s; g: queued; leased e; leased g",
    );
}

#[test]
fn what_comes_while_it_waits_for_a_slot_is_taken_along_and_while_it_runs_waits_for_the_next() {
    check(
        "queue q concurrency=1; add x; lease w; emit e a/b + h debounce=k/5s; advance 6s; emit f a/b + h debounce=k/5s
         show e; finish x done; lease w; emit g a/b + h debounce=k/5s; emit i a/b + h debounce=k/5s",
        "leased x; e: queued; f: debounced e; e queued; leased e; g: queued; i: debounced g",
    );
}

#[test]
fn one_that_was_tried_takes_no_more_events() {
    check(
        "queue q backoff=1s; emit e a/b + h debounce=k/1s; advance 1s; lease w; finish e failed; emit f a/b + h debounce=k/1s",
        "e: queued; leased e; f: queued | e queued, f queued",
    );
}

#[test]
fn a_batch_starts_when_it_is_full_or_its_time_is_over() {
    check(
        "emit e a/b + h batch=k/3/10s; emit f a/b + h batch=k/3/10s; lease w; emit g a/b + h batch=k/3/10s; lease w
         emit i a/b + h batch=k/3/10s; advance 10s; lease w; emit j a/b + h batch=k/1/10s; lease w",
        "e: queued; f: batched e; leased nothing; g: batched e; leased e; i: queued; leased i; j: queued; leased j",
    );
}

#[test]
fn a_full_batch_waits_for_its_delay_and_no_longer_than_for_its_time() {
    check(
        "emit e a/b + h batch=k/2/10s delay=3s; show e; advance 1s; emit f a/b + h batch=k/2/10s delay=3s; show e; explain e
         emit g a/b + h batch=k/2/10s delay=3s; advance 2999ms; lease w; advance 1ms; lease w want=2
         advance 8999ms; emit i a/b + h batch=k/2/10s delay=3s; show g",
        "e: queued; e queued ready=13s; f: batched e; e queued ready=4s
         e waits: the batch of handler `h` for key k is full: it starts in 3.0 s. [batch until 4s] eta 4s
         g: queued; leased nothing; leased e; i: batched g; g queued ready=14s",
    );
    check(
        "emit e a/b + h batch=k/2/10s within=1s; advance 1s; emit f a/b + h batch=k/2/10s within=1s; lease w",
        "e: queued; f: batched e; leased e",
    );
}

#[test]
fn a_batch_for_a_run_is_no_larger_than_what_a_run_may_begin_with() {
    let emit = |label: &str, bytes: usize, more: &str| format!("emit {label} a/b bytes={bytes} + h batch=k/9/10s {more}");
    for (more, answer) in [("", "e: queued; f: batched e; g: batched e"), ("workflow=w", "e: queued; f: batched e; g: queued")] {
        let script = [emit("e", 100_000, more), emit("f", 100_000, more), emit("g", 100_000, more)].join("; ");
        check(&script, answer);
    }
    // Handed over whole, an event is more than its data.
    let whole = |more: &str| [emit("e", 131_000, more), emit("f", 131_000, more)].join("; ");
    check(&whole("workflow=w"), "e: queued; f: batched e");
    check(&whole("workflow=w whole"), "e: queued; f: queued");
}

#[test]
fn a_full_batch_that_waits_takes_no_more() {
    check(
        "queue q concurrency=1; add x; lease w; emit e a/b + h batch=k/2/10s; emit f a/b + h batch=k/2/10s
         emit g a/b + h batch=k/2/10s; emit i a/b + h batch=l/2/10s",
        "leased x; e: queued; f: batched e; g: queued; i: queued",
    );
}

#[test]
fn a_singleton_skips_while_one_is_under_way() {
    check(
        "queue q key.h@single=1; emit e a/b + h single=k; emit f a/b + h single=k; lease w; emit g a/b + h single=k
         emit o a/b + h single=l; finish e done; emit i a/b + h single=k",
        "e: queued; f: skipped e; leased e; g: skipped e; o: queued; i: queued",
    );
}

#[test]
fn a_singleton_that_replaces_stops_the_one_before() {
    check(
        "queue q key.h@single=1; emit e a/b + h single=k replace; lease w; emit f a/b + h single=k replace; lease w
         emit g a/b + h single=k replace; show f; finish e done; lease w",
        "e: queued; leased e; f: queued; leased nothing; g: queued
         f cancelled replaced by signaller because a newer event took its place; leased g
         | e cancelled, f cancelled, g running",
    );
}

#[test]
fn a_singleton_is_alone_though_its_handler_changes_its_queue() {
    check(
        "emit e a/b + h single=k replace; lease w; emit f a/b + h single=k replace queue=r; emit o a/b + h single=l queue=r
         lease w want=2; explain f; finish e done; lease w want=2",
        "e: queued; leased e; f: queued; o: queued; leased o
         f waits: handler `h` for k has one under way, and there may be one only. [singleton] eta unknown; leased f",
    );
    // One that failed and is tried again is no second one, either.
    check(
        "emit e a/b + h single=k; lease w; finish e failed final; emit f a/b + h single=k queue=r; lease w; retry e; lease w want=2
         finish f done; lease w want=2",
        "e: queued; leased e; f: queued; leased f; leased nothing; leased e",
    );
}

#[test]
fn a_full_backlog_drops_the_newcomer_or_the_oldest_and_says_so() {
    check(
        "queue q backlog=2; emit e a/b + h; emit f a/b + h + h2; emit g a/b + h",
        "e: queued; f: queued, backlog_dropped; g: backlog_dropped",
    );
    check(
        "queue q backlog=2 drop_oldest; emit e a/b + h; emit f a/b + h + h2; show e; emit g a/b + h; lease w want=3",
        "e: queued; f: queued, queued; e cancelled shed by signaller because its queue was full, and it had waited longest
         g: queued; leased f.h2 g | e cancelled, f.h cancelled, f.h2 running, g running",
    );
}

#[test]
fn what_makes_way_for_one_handler_is_neither_window_nor_singleton_to_the_next() {
    check(
        "queue q backlog=1 drop_oldest; emit e a/b + h2 debounce=k/5s; emit f a/b + h + h2 queue=r debounce=k/5s; show e",
        "e: queued; f: queued, queued; e cancelled shed by signaller because its queue was full, and it had waited longest
         | e cancelled, f.h queued, f.h2 queued",
    );
    check(
        "queue q backlog=1 drop_oldest; emit e a/b + h2 single=k; emit f a/b + h + h2 queue=r single=k",
        "e: queued; f: queued, queued | e cancelled, f.h queued, f.h2 queued",
    );
}

#[test]
fn a_drop_rate_that_was_raised_acts_at_once() {
    check(
        "emit e a/b + h drop=k/1/1h; advance 1s; emit f a/b + h drop=k/1/1h; emit g a/b + h drop=k/1/10s; emit i a/b + h drop=k/1/10s
         advance 10s; emit j a/b + h drop=k/1/10s",
        "e: queued; f: rate_dropped; g: queued; i: rate_dropped; j: queued",
    );
}

#[test]
fn one_that_started_in_time_may_be_tried_again_later() {
    check(
        "queue q backoff=1s; emit e a/b + h within=10s; advance 9s; lease w; advance 5s; finish e failed; advance 1s; lease w
         finish e released; advance 1s; lease w",
        "e: queued; leased e; leased e; leased e",
    );
}

#[test]
fn what_does_not_start_in_time_is_cancelled() {
    check(
        "emit e a/b + h within=10s; emit f a/b + h delay=5s within=10s; advance 10s; show e; lease w; advance 20s",
        "e: queued; f: queued; e cancelled expired by signaller because it did not start in time; leased f",
    );
    check("advance 10s; add a start_by=10s; show a", "a cancelled expired by signaller because it did not start in time");
    check(
        "queue q concurrency=1; add x; lease w; emit e a/b + h debounce=k/1s within=5s; advance 5s
         emit f a/b + h debounce=k/1s within=5s; advance 4s; show e; advance 1s; show e",
        "leased x; e: queued; f: debounced e; e queued; e cancelled expired by signaller because it did not start in time",
    );
    check("add a start_by=10s; due; advance 9s; lease w; advance 5s; show a", "due 10s; leased a; a running attempt=1");
}

#[test]
fn a_replay_is_handled_anew_whatever_its_keys_say() {
    check(
        "emit e a/b id=x + h dedup=k/1h; lease w; finish e done; replay e + h dedup=k/1h + h2; emit f a/b id=x + h",
        "e: queued; leased e; e': queued, queued; f again: queued, queued, queued",
    );
}

#[test]
fn an_event_goes_with_its_tasks_once_these_came_to_a_good_end() {
    check(
        "emit e a/b id=x + h; emit f a/b + h; emit g a/b; lease w want=2; finish e done; expire e,f,g; finish f failed final
         expire f; emit n a/b id=x + h; retry f; cancel f; expire f",
        "e: queued; f: queued; g: unhandled; leased e f; expire e,f,g: 2 changed, 1 left; expire f: 0 changed, 1 left
         n: queued; expire f: 1 changed, 0 left | e gone, f gone, n queued",
    );
}

#[test]
fn an_event_is_kept_from_the_end_of_its_work() {
    check(
        "emit e a/b + h; advance 1h; lease w; expire e before=1h; finish e done; expire e before=1h; advance 1h
         expire e before=1h; expire e before=3601s",
        "e: queued; leased e; expire e: 0 changed, 1 left; expire e: 0 changed, 1 left; expire e: 0 changed, 1 left
         expire e: 1 changed, 0 left",
    );
    check(
        "emit e a/b + h batch=k/9/1h; advance 30min; emit f a/b + h batch=k/9/1h; expire e,f; advance 1h; lease w; finish e done; expire e,f",
        "e: queued; f: batched e; expire e,f: 0 changed, 2 left; leased e; expire e,f: 2 changed, 0 left",
    );
}

#[test]
fn what_a_dedup_window_needs_is_kept_as_long_as_it_is_open() {
    check(
        "emit e a/b + h dedup=k/10s; lease w; finish e done; emit f a/b + h dedup=k/10s; expire e,f; emit g a/b + h dedup=k/10s
         advance 10s; expire e,g; emit i a/b + h dedup=k/10s",
        "e: queued; leased e; f: duplicate e; expire e,f: 1 changed, 1 left; g: duplicate e; expire e,g: 2 changed, 0 left; i: queued",
    );
}

#[test]
fn an_event_takes_no_task_along_that_another_made() {
    check(
        "emit e a/b + h single=k + h2; emit f a/b + h single=k; lease w want=2; finish e.h done; finish e.h2 failed final
         expire e,f; show e.h",
        "e: queued, queued; f: skipped e.h; leased e.h e.h2; expire e,f: 1 changed, 1 left; e.h done attempt=1",
    );
}

#[test]
fn one_that_is_waited_for_keeps_its_event() {
    check(
        "emit e a/b + h; cancel e; add x by=e; expire e; delete x; expire e",
        "e: queued; expire e: 0 changed, 1 left; expire e: 1 changed, 0 left",
    );
}

#[test]
fn a_batch_takes_no_more_than_may_be_handed_over_at_once() {
    check(
        "emit e a/b bytes=3000000 + h batch=k/9/10s; emit f a/b bytes=3000000 + h batch=k/9/10s; emit g a/b + h batch=k/9/10s",
        "e: queued; f: queued; g: batched f",
    );
}

#[test]
fn it_is_told_which_limit_of_a_handler_stands_in_the_way() {
    check(
        "queue q key.h=1; emit e a/b + h key.h=all; lease w; emit f a/b + h key.h=all; explain f asked=1s",
        "e: queued; leased e; f: queued; f waits: handler `h` runs its limit of 1 at once. [handler_concurrency] eta unknown",
    );
    check(
        "queue q keyrate.h.tenant=1/10s; emit e a/b + h key.h.tenant=acme; lease w; emit f a/b + h key.h.tenant=acme; explain f",
        "e: queued; leased e; f: queued
         f waits: rate limit of handler `h` for tenant acme: next permit in 10 s. [handler_rate until 10s] eta 10s",
    );
    check(
        "queue q key.h@single=1; emit e a/b + h single=k replace; lease w; emit f a/b + h single=k replace; explain f",
        "e: queued; leased e; f: queued
         f waits: handler `h` for k has one under way, and there may be one only. [singleton] eta unknown",
    );
    check(
        "emit e a/b + h batch=k/3/10s; explain e",
        "e: queued; e waits: the batch of handler `h` for key k has 1 of 3 events: it starts with the last of these, or in 10 s. \
         [batch until 10s] eta 10s",
    );
}

#[test]
fn a_window_that_was_leased_once_is_closed_whatever_becomes_of_it() {
    check(
        "emit e a/b + h batch=k/3/1s; advance 1s; lease w; finish e released; emit f a/b + h batch=k/3/1s; lease w
         finish e failed final; retry e; emit g a/b + h batch=k/3/1s",
        "e: queued; leased e; f: queued; leased e; g: batched f",
    );
}

#[test]
fn what_passes_pauses_or_was_started_by_hand_makes_no_way_for_others() {
    check(
        "queue q backlog=2 drop_oldest; emit e a/b + h critical; emit f a/b + h; start f; emit g a/b + h",
        "e: queued; f: queued; g: backlog_dropped | e queued, f queued",
    );
}

#[test]
fn a_clock_that_goes_ahead_makes_nothing_newer_than_what_comes_later() {
    check("emit e a/b ts=1h + h debounce=k/5s; advance 1s; emit f a/b + h debounce=k/5s", "e: queued; f: debounced e");
}
