use crate::script::check;

#[test]
fn a_paused_family_waits_in_every_queue_and_others_go_on() {
    check(
        "emit e a/b + h + h2 queue=r; emit f c/d + h; pause_families a; lease w want=9; explain e.h asked=1s
         resume_families a; lease w want=9",
        "e: queued, queued; f: queued; leased f
         e.h waits: family `a` is paused by ann. [family_paused] eta unknown; leased e.h e.h2",
    );
}

#[test]
fn a_pattern_covers_families_below_it_and_a_pause_ends_by_itself() {
    check(
        "pause_families a/* until=10s because=a_storm; emit e a/b.c + h; emit f a/b + h; emit g b/a + h; lease w want=9
         explain e; advance 10s; lease w want=9",
        "e: queued; f: queued; g: queued; leased g
         e waits: family `a/b` is paused by ann for another 10 s because a storm. [family_paused until 10s] eta 10s
         leased e f",
    );
}

#[test]
fn a_window_belongs_to_the_family_of_its_newest_event() {
    check(
        "emit e a/b + h debounce=k/1s; emit f c/d + h debounce=k/1s; pause_families a; advance 1s; lease w
         emit g a/b + h batch=k/2/1s; emit i c/d + h batch=k/2/1s; pause_families c; lease w; resume_families c; lease w",
        "e: queued; f: debounced e; leased e; g: queued; i: batched g; leased nothing; leased g",
    );
}

#[test]
fn what_is_critical_passes_pauses() {
    check("pause q; pause_families *; emit e a/b + h critical; emit f a/b + h; lease w want=9", "e: queued; f: queued; leased e");
}

#[test]
fn what_is_critical_does_not_wait_behind_what_is_paused() {
    check(
        "queue q key.t=1; emit e a/b + h key.t=x; lease w; emit f a/b + h key.t=x; emit g a/b + h key.t=x critical; pause q
         finish e done; lease w",
        "e: queued; leased e; f: queued; g: queued; leased g",
    );
}

#[test]
fn a_boosted_family_goes_first_and_taking_the_boost_away_reverts_it() {
    check(
        "emit e a/b + h; advance 1s; emit f c/d + h; emit g c/d + h; boost_families c high; lease w; boost_families c normal; lease w",
        "e: queued; f: queued; g: queued; leased f; leased e",
    );
}

#[test]
fn resuming_what_is_not_paused_is_no_mistake() {
    check("resume_families a; boost_families a normal; pause_families a until=0s", "pause_families a: invalid");
}

#[test]
fn the_depth_of_a_family_is_known_in_each_queue() {
    check(
        "emit e a/b + h + h2 queue=r; emit f a/b + h delay=1h; emit g c/d + h; add p; add i queue=a; lease w want=1; depth a; depth c
         depth q; finish e.h done; advance 1h; depth a; clear q; clear r; clear a; advance 0s; depth *",
        "e: queued, queued; f: queued; g: queued; leased e.h
         a in q: 1 queued 1 scheduled 1 running; a in r: 1 queued; a in a: 1 queued; c in q: 1 queued; q in q: 1 queued
         a in q: 1 queued; a in r: 1 queued; a in a: 1 queued; nothing of *",
    );
    // A window goes with the family of its newest event.
    check(
        "emit e a/b + h debounce=k/1s; emit f c/d + h debounce=k/1s; depth a; depth c",
        "e: queued; f: debounced e; nothing of a; c in q: 1 queued 1 scheduled",
    );
}
