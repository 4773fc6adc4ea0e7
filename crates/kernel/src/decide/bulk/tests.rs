use crate::limits::BULKS_OPEN_MAX;
use crate::script::world::Memory;
use crate::script::{check, check_with};

#[test]
fn a_clear_cancels_what_waits_now_and_nothing_that_comes_later() {
    check(
        "add a; add b delay=1h; add c by=a; add d queue=r; add e; start e; add f idle; clear q because=wrong_batch; add g; advance 0s; show a; bulk 1",
        "a cancelled cleared by ann because wrong batch; bulk 1 done: 4 changed, 0 left
         | a cancelled, b cancelled, c cancelled, d queued, e cancelled, f idle, g queued",
    );
    check(
        "add a; lease w; add b; clear q; advance 0s; bulk 1",
        "leased a; bulk 1 done: 1 changed, 0 left | a running, b cancelled",
    );
    check("clear q; advance 0s; bulk 1", "bulk 1 done: 0 changed, 0 left");
}

#[test]
fn a_bulk_goes_on_chunk_by_chunk() {
    check(
        "add x*2500; clear q; due; bulk 1; proceed; bulk 1; summary q; proceed; bulk 1; proceed; bulk 1; proceed; bulk 1; due; summary q",
        "due 0s; bulk 1 open: 0 changed, 0 left; bulk 1 open: 1000 changed, 0 left; q: 1500 queued
         bulk 1 open: 2000 changed, 0 left; bulk 1 open: 2500 changed, 0 left; bulk 1 done: 2500 changed, 0 left; due never; q: empty",
    );
}

#[test]
fn a_bulk_cancelled_half_way_leaves_the_rest() {
    check(
        "add x*1500; clear q; proceed; stop_bulk 1; bulk 1; advance 0s; summary q; due",
        "bulk 1 cancelled: 1000 changed, 0 left; q: 500 queued; due never",
    );
    check("stop_bulk 1", "stop_bulk 1: bulk_not_found");
    // A closed bulk is known only until it leaves memory.
    check_with(Memory::Stays, "clear q; stop_bulk 1; stop_bulk 1", "stop_bulk 1: bulk_closed");
}

#[test]
fn bulks_take_turns() {
    check(
        "add x*1200; add y*1200 queue=r; clear q; clear r; proceed; bulk 1; bulk 2; proceed; bulk 1; bulk 2; proceed; bulk 1; proceed; bulk 2",
        "bulk 1 open: 1000 changed, 0 left; bulk 2 open: 0 changed, 0 left
         bulk 1 open: 1000 changed, 0 left; bulk 2 open: 1000 changed, 0 left
         bulk 1 open: 1200 changed, 0 left; bulk 2 open: 1200 changed, 0 left",
    );
}

#[test]
fn so_many_bulks_and_no_more() {
    let many = "clear q; ".repeat(BULKS_OPEN_MAX);
    check(&format!("{many} clear q; stop_bulk 3; drain q"), "clear q: bulks_taken");
}

#[test]
fn a_drain_passes_rate_and_schedule() {
    check(
        "queue q rate=1/1h; add a; add b; add c delay=1h; lease w want=3; drain q; advance 0s; show b,c; lease w want=3; show b; due",
        "leased a; b queued expedited; c queued expedited; leased b c; b running attempt=1; due 3600s",
    );
    check(
        "queue q keyrate.k=1/1h; add a key.k=x; add b key.k=x; lease w want=2; drain q; advance 0s; lease w",
        "leased a; leased b",
    );
}

#[test]
fn a_drain_passes_neither_concurrency_nor_pause_nor_blockers() {
    check(
        "queue q rate=1/1h concurrency=1 key.k=1; add a; add b delay=1h; lease w; drain q; advance 0s; lease w; finish a done; lease w",
        "leased a; leased nothing; leased b",
    );
    check(
        "queue q key.k=1; add a key.k=x; add b key.k=x delay=1h; lease w; drain q; advance 0s; lease w; finish a done; lease w",
        "leased a; leased nothing; leased b",
    );
    check("pause q; add a; drain q; advance 0s; lease w; resume q; lease w", "leased nothing; leased a");
    check(
        "add a type=u; add b by=a at=1h; drain q; advance 0s; show b; lease w; lease w u; finish a done; lease w",
        "b queued by=a expedited; leased nothing; leased a; leased b",
    );
}

#[test]
fn what_is_drained_and_handed_back_is_still_drained_and_a_retry_is_not() {
    check(
        "queue q rate=1/1h; add a; add b; lease w; drain q; advance 0s; lease w; finish b released; show b; lease w; finish b failed; show b",
        "leased a; leased b; b queued expedited; leased b; b queued attempt=1 ready=1s error=oops",
    );
}

#[test]
fn a_drain_means_what_waits_now() {
    check(
        "queue q rate=1/1h; add a; add b; drain q; add c; advance 0s; lease w want=3; bulk 1",
        "leased a b c; bulk 1 done: 2 changed, 0 left",
    );
    check("queue q rate=1/1h; add a; add b; drain q; advance 0s; drain q; advance 0s; bulk 2", "bulk 2 done: 0 changed, 2 left");
    check("queue q rate=1/1h; add z; lease w; add a; drain q; add c; advance 0s; lease w want=3", "leased z; leased a");
}

#[test]
fn reprioritizing_by_a_filter_moves_what_it_names() {
    for (filter, ends) in [("", "a 1 b 1 c 1"), ("type=u", "b 1"), ("key.k=x", "b 1 c 1"), ("tag=v", "c 1"), ("type=u tag=v", "")]
    {
        let shown = |name: &str| {
            if ends.contains(&format!("{name} 1")) { format!("{name} queued prio=600") } else { format!("{name} queued") }
        };
        let changed = ends.matches('1').count();
        check(
            &format!(
                "add a; add b type=u key.k=x; add c key.k=x tag=v; add d queue=r; reprioritize q high {filter}; advance 0s; bulk 1; show a,b,c,d"
            ),
            &format!(
                "bulk 1 done: {changed} changed, {} left; {}; {}; {}; d queued",
                3 - changed,
                shown("a"),
                shown("b"),
                shown("c")
            ),
        );
    }
    check(
        "add x*1500; add y prio=high; reprioritize q critical type=t; proceed; bulk 1; advance 0s; bulk 1; lease w",
        "bulk 1 open: 1000 changed, 0 left; bulk 1 done: 1501 changed, 0 left; leased x1",
    );
}

const DEAD: &str =
    "add a; add b; add c type=u; add d queue=r; lease w t,u want=4; finish a,d failed=x final; finish b,c failed=y final";

#[test]
fn a_redrive_by_filter_queues_the_dead_letters_it_names() {
    for (filter, ends) in [
        ("", "a queued, b queued, c queued, d failed"),
        ("code=y", "a failed, b queued, c queued, d failed"),
        ("type=u code=y", "a failed, b failed, c queued, d failed"),
        ("code=z", "a failed, b failed, c failed, d failed"),
    ] {
        let changed = ends.matches("queued").count();
        check(
            &format!("{DEAD}; redrive_all q {filter}; advance 0s; bulk 1; show d"),
            &format!("leased a b c d; bulk 1 done: {changed} changed, {} left; d failed attempt=1 error=x | {ends}", 3 - changed),
        );
    }
    check(&format!("{DEAD}; redrive_all q; advance 0s; show a"), "leased a b c d; a queued");
}

#[test]
fn a_redrive_means_what_is_dead_now() {
    check(
        "add a; lease w; finish a failed final; redrive_all q; add b; lease w; finish b failed final; advance 0s; bulk 1",
        "leased a; leased b; bulk 1 done: 1 changed, 0 left | a queued, b failed",
    );
}

#[test]
fn a_redrive_keeps_to_its_pace() {
    let dead = "add x*5; lease w want=5; finish x1,x2,x3,x4,x5 failed final";
    check(
        &format!(
            "{dead}; redrive_all q per_s=10; due; proceed; bulk 1; due; advance 99ms; bulk 1; advance 1ms; bulk 1; advance 1s; bulk 1; due; lease w want=5"
        ),
        "leased x1 x2 x3 x4 x5; due 0s; bulk 1 open: 1 changed, 0 left; due 100ms; bulk 1 open: 1 changed, 0 left
         bulk 1 open: 2 changed, 0 left; bulk 1 done: 5 changed, 0 left; due never; leased x1 x2 x3 x4 x5",
    );
    check(
        "add x*100; lease w want=100; finish x1 failed final; clear q; advance 0s; redrive_all q per_s=3; proceed; due",
        "leased 100 tasks; due 333334us",
    );
}

#[test]
fn what_a_paced_redrive_passes_over_costs_no_time() {
    let names = |n: usize| (1..=n).map(|i| format!("x{i}")).collect::<Vec<_>>().join(",");
    check(
        &format!(
            "add x*60; add y*2; lease w want=62; finish {} failed=x final; finish y1,y2 failed=y final; redrive_all q per_s=1 code=y; proceed; bulk 1; due; advance 1s; bulk 1; advance 1s; bulk 1",
            names(60)
        ),
        "leased 62 tasks; bulk 1 open: 1 changed, 60 left; due 1s; bulk 1 open: 2 changed, 60 left; bulk 1 done: 2 changed, 60 left",
    );
}

#[test]
fn a_redrive_that_would_never_end_is_refused() {
    check("redrive_all q per_s=0", "redrive_all q: invalid");
}

#[test]
fn nobody_stops_the_telling_of_dependents() {
    // The bulk that unblocks is the only one there is, so its id is the next after the tasks.
    let mut told = crate::script::tell(Memory::Cools, "add a type=u; add x*1500 by=a; lease w u; finish a done; proceed");
    let bulk = told.world.state.bulks_open().next().unwrap().id();
    let by = crate::names::Actor::parse("ann").unwrap();
    let no = told.world.run(&crate::command::Command::CancelBulk { bulk, by }).unwrap_err();
    assert_eq!(no.code(), "invalid");
    told.world.advance(told.world.now);
    assert_eq!(told.world.state.queue_summary(&crate::script::say::queue("q")).blocked, 0);
}
