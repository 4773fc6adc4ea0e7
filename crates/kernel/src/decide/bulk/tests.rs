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
    check_with(Memory::Stays, "add x; clear q; proceed; proceed; stop_bulk 1", "stop_bulk 1: bulk_closed");
    check_with(Memory::Stays, "clear q; stop_bulk 1; stop_bulk 1", "");
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

#[test]
fn clearing_and_draining_by_a_filter_mean_what_it_names() {
    let made = "emit e a/b + h; emit f c/d + h; emit g a/b.c + h type=u; add p";
    for (filter, changed, ends) in [
        ("family=a", 1, "e cancelled, f queued, g queued, p queued"),
        ("family=a/*", 2, "e cancelled, f queued, g cancelled, p queued"),
        ("family=* type=u", 1, "e queued, f queued, g cancelled, p queued"),
        ("family=*", 3, "e cancelled, f cancelled, g cancelled, p queued"),
        ("family=q", 0, "e queued, f queued, g queued, p queued"),
    ] {
        check(
            &format!("{made}; clear q {filter}; advance 0s; bulk 1"),
            &format!("e: queued; f: queued; g: queued; bulk 1 done: {changed} changed, {} left | {ends}", 4 - changed),
        );
        let drained = "queue q rate=1/1h; add z; lease w";
        let shown = if changed == 1 && filter == "family=a" { "e" } else { continue };
        check(
            &format!("{drained}; {made}; drain q {filter}; advance 0s; bulk 1; lease w t,u want=9"),
            &format!("leased z; e: queued; f: queued; g: queued; bulk 1 done: 1 changed, 3 left; leased {shown}"),
        );
    }
    check(
        &format!("{made}; reprioritize q high family=a/*; advance 0s; bulk 1; show e,f,g,p"),
        "e: queued; f: queued; g: queued; bulk 1 done: 2 changed, 2 left; e queued prio=600; f queued; g queued prio=600; p queued",
    );
}

#[test]
fn a_shed_cancels_what_waits_of_its_families_in_every_queue_upto_a_priority() {
    check(
        "emit e a/b + h + h2 queue=r; emit f a/b + h prio=high; emit g c/d + h queue=r; add p; emit i a/b + h delay=1h prio=background
         shed a normal because=a_storm; emit l a/b + h; advance 0s; bulk 1; show e.h; explain e.h",
        "e: queued, queued; f: queued; g: queued; i: queued; l: queued; bulk 1 done: 3 changed, 1 left
         e.h cancelled shed by ann because a storm; e.h is cancelled: ann shed work of its family: a storm. [cancelled] no eta
         | e.h cancelled, e.h2 cancelled, f queued, g queued, p queued, i cancelled, l queued",
    );
    check(
        "emit e a/b + h; emit f c/d.x + h; emit g c/e + h; emit i d + h; shed a,c/* 599; advance 0s; bulk 1",
        "e: queued; f: queued; g: queued; i: queued; bulk 1 done: 3 changed, 0 left
         | e cancelled, f cancelled, g cancelled, i queued",
    );
}

#[test]
fn what_a_bulk_would_change_is_counted_beforehand() {
    use crate::bulk::{BulkWork, TaskFilter};
    use crate::names::Pattern;
    use crate::priority::Priority;
    let script = "add x*1500; emit e a/b + h; emit f a/b + h prio=high; emit g c/d + h queue=r; emit i a/b + h queue=r";
    let told = crate::script::tell(Memory::Cools, script);
    let pattern = |text: &str| Pattern::parse(text).unwrap();
    let (queue, upto, reason) = (crate::script::say::queue("q"), crate::ids::TaskId::MAX, String::new());
    let clear = |family: Option<&str>| BulkWork::Clear {
        queue: queue.clone(),
        upto,
        reason: reason.clone(),
        filter: TaskFilter { family: family.map(pattern), ..TaskFilter::default() },
    };
    let shed = |families: &[&str], priority| BulkWork::Shed {
        families: families.iter().map(|text| pattern(text)).collect(),
        priority,
        upto,
        reason: reason.clone(),
    };
    let would = |work: &BulkWork, max| super::would_change(&told.world.state, work, max);
    for (work, max, expected) in [
        (clear(None), 10_000, (1_502, false)),
        (clear(None), 900, (1_502, false)),
        (clear(Some("*")), 900, (0, true)),
        (clear(Some("a")), 10_000, (2, false)),
        (shed(&["a"], Priority::NORMAL), 10_000, (2, false)),
        (shed(&["*"], Priority::HIGH), 10_000, (4, false)),
        (shed(&["a", "c/*"], Priority::NORMAL), 10_000, (3, false)),
        (shed(&["b"], Priority::HIGH), 10_000, (0, false)),
        (BulkWork::Drain { queue: queue.clone(), upto, filter: TaskFilter::default() }, 10_000, (1_502, false)),
    ] {
        assert_eq!(would(&work, max), expected, "{work:?}");
    }
}

#[test]
fn what_runs_and_what_is_critical_is_not_shed() {
    check(
        "emit e a/b + h; lease w; emit f a/b + h critical; emit g a/b + h prio=critical; emit i a/b + h; shed * high; advance 0s
         bulk 1; finish e done",
        "e: queued; leased e; f: queued; g: queued; i: queued; bulk 1 done: 1 changed, 2 left
         | e done, f queued, g queued, i cancelled",
    );
}

#[test]
fn a_shed_goes_on_chunk_by_chunk_through_all_queues() {
    let many: String = (0..520).map(|n| format!("emit e{n} a/b + h + h2 queue=r;")).collect();
    let mut told = crate::script::tell(Memory::Cools, &format!("{many} add x*300; shed a normal; proceed"));
    let bulk = told.world.state.bulks_open().next().expect("it is not through").id();
    let items = told.world.bulk(bulk).items();
    assert!((1..=1_000).contains(&items), "{items}");
    told.world.advance(told.world.now);
    let bulk = told.world.bulk(bulk);
    assert_eq!((bulk.items(), bulk.skipped()), (1_040, 0), "plain tasks are nothing to it");
    assert_eq!(told.world.state.counts().queued, 300);
}

#[test]
fn a_shed_names_families_and_stays_below_what_is_critical() {
    check("shed a critical", "shed a: invalid");
    check("shed a 3601", "shed a: invalid");
    check("shed a 3599; advance 0s; bulk 1", "bulk 1 done: 0 changed, 0 left");
    let many: Vec<String> = (0..=crate::limits::SHED_FAMILIES_MAX).map(|n| format!("f{n}")).collect();
    check(&format!("shed {} normal", many.join(",")), &format!("shed {}: invalid", many.join(",")));
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
    assert_eq!(told.world.state.queue_summary(&crate::script::say::queue("q")).depth.blocked, 0);
}
