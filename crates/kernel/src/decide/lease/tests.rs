use crate::command::Command;
use crate::names::WorkerName;
use crate::script::world::Memory;
use crate::script::{check, say, tell};

#[test]
fn the_order_is_ready_less_the_head_start() {
    check("add a; add b prio=high; add c prio=critical; add d prio=background; lease w want=4", "leased c b a d");
    // A head start of 600 s is used up by 600 s of waiting; then the older id goes first.
    for (wait, order) in [("599s", "b a"), ("600s", "a b"), ("601s", "a b")] {
        check(&format!("add a; advance {wait}; add b prio=high; lease w want=2"), &format!("leased {order}"));
    }
    check("add a prio=5; advance 5s; add b prio=10; lease w want=2", "leased a b");
    check("add a prio=-5; add b; advance 5s; add c; lease w want=3", "leased b a c");
}

#[test]
fn ties_go_to_the_older_id() {
    check("add a; add b; add c; lease w want=3", "leased a b c");
    check("add a at=5s; add b; advance 5s; lease w want=2", "leased b a");
    check("add a queue=r key.k=x; add b; add c queue=s; lease w want=3", "leased a b c");
}

#[test]
fn workers_get_what_they_ask_for() {
    check(
        "add a type=u; add b queue=r; add c; lease w; lease w t queue=q; lease w u,t; lease w",
        "leased b; leased c; leased a; leased nothing",
    );
    check("add a queue=r; add b; lease w t queue=q want=2; lease w t queue=r,q", "leased b; leased a");
    check("add a; lease w x; lease w t queue=nowhere; lease w t want=0", "leased nothing; leased nothing; leased nothing");
}

#[test]
fn a_queue_runs_no_more_than_its_limit() {
    check(
        "queue q concurrency=2; add x*4; add y queue=r; lease w want=9; summary q; finish x1 done; lease w want=9",
        "leased x1 x2 y; q: 2 queued 2 running; leased x3",
    );
}

#[test]
fn a_limit_lowered_while_running_revokes_nothing() {
    check(
        "queue q concurrency=3; add x*5; lease w want=9; queue q concurrency=1; summary q; finish x1 done; lease w; finish x2 done; lease w
         finish x3 done; lease w; queue q; lease w",
        "leased x1 x2 x3; q: 2 queued 3 running; leased nothing; leased nothing; leased x4; leased x5",
    );
    check(
        "queue q key.k=2; add x*4 key.k=v; lease w want=9; queue q key.k=1; finish x1 done; lease w; finish x2 done; lease w",
        "leased x1 x2; leased nothing; leased x3",
    );
}

#[test]
fn a_full_key_never_holds_up_another() {
    check(
        "queue q key.k=1; add a key.k=x; add b key.k=x; add c key.k=y; add d; lease w want=9; finish a done; lease w want=9",
        "leased a c d; leased b",
    );
}

#[test]
fn a_task_with_several_keys_needs_a_slot_of_each() {
    check(
        "queue q key.k=1 key.l=1; add a key.k=x key.l=v; add b key.k=x key.l=u; add c key.k=y key.l=v; add d key.k=y key.l=u
         lease w want=9; finish a done; lease w want=9; finish d done; lease w want=9",
        "leased a d; leased nothing; leased b c",
    );
    check("queue q key.k=1; add a key.k=x key.l=v; add b key.l=v; lease w want=2", "leased a b");
}

#[test]
fn a_limit_is_per_queue() {
    check("queue q key.k=1; queue r key.k=1; add a key.k=x; add b key.k=x queue=r; lease w want=2", "leased a b");
}

#[test]
fn a_rate_starts_one_at_a_time() {
    check(
        "queue q rate=2/1s; add x*4; lease w want=9; due; advance 499ms; lease w; advance 1ms; lease w; advance 2s; lease w want=9",
        "leased x1; due 500ms; leased nothing; leased x2; leased x3",
    );
}

#[test]
fn a_burst_is_saved_up_and_spent() {
    check(
        "queue q rate=1/1s burst=3; add x*9; lease w want=9; advance 1s; lease w want=9; advance 2s; lease w want=9; advance 1h; lease w want=9",
        "leased x1 x2 x3; leased x4; leased x5 x6; leased x7 x8 x9",
    );
}

#[test]
fn a_keyed_rate_counts_each_value_apart() {
    check(
        "queue q keyrate.k=1/10s; add a key.k=x; add b key.k=x; add c key.k=y; add d; lease w want=9; due; advance 10s; lease w want=9",
        "leased a c d; due 10s; leased b",
    );
}

#[test]
fn permits_of_all_keys_are_taken_together_or_not_at_all() {
    // b is stopped by l=v and must not have used up k=y on the way.
    check(
        "queue q keyrate.k=1/10s keyrate.l=1/10s; add a key.k=x key.l=v; add b key.k=y key.l=v; add c key.k=y; lease w want=9; due
         advance 10s; lease w",
        "leased a c; due 10s; leased b",
    );
    check(
        "queue q rate=1/1s keyrate.k=1/10s; add a key.k=x; add b key.k=x; add c; lease w; advance 1s; lease w; lease w",
        "leased a; leased c; leased nothing",
    );
}

#[test]
fn a_handed_back_lease_has_used_its_permit() {
    check(
        "queue q rate=1/10s; add a; lease w; finish a released; lease w; advance 10s; lease w",
        "leased a; leased nothing; leased a",
    );
}

#[test]
fn a_raised_rate_acts_at_once_and_a_removed_one_too() {
    check("queue q rate=1/1h; add a; add b; lease w; queue q; lease w", "leased a; leased b");
    check(
        "queue q keyrate.k=1/1h; add x*3 key.k=v; lease w; queue q keyrate.k=10/1s burst=2; due; advance 100ms; lease w want=2; due",
        "leased x1; due 100ms; leased x2; due 200ms",
    );
    check(
        "queue q rate=1/1h; add x*3; lease w; queue q rate=10/1s; lease w; due; advance 100ms; lease w",
        "leased x1; leased nothing; due 100ms; leased x2",
    );
}

#[test]
fn who_runs_much_waits_behind_who_runs_little() {
    check(
        "queue q fair=k step=10s; add a1 key.k=a; add a2 key.k=a; add a3 key.k=a; advance 1s; add b1 key.k=b; add b2 key.k=b; lease w want=9",
        "leased a1 b1 a2 b2 a3",
    );
}

#[test]
fn age_wins_in_the_end() {
    for (wait, order) in [("9999ms", "b"), ("10s", "a2")] {
        check(
            &format!("queue q fair=k step=10s; add a1 key.k=a; add a2 key.k=a; lease w; advance {wait}; add b key.k=b; lease w"),
            &format!("leased a1; leased {order}"),
        );
    }
}

#[test]
fn a_weight_divides_what_running_costs() {
    check(
        "queue q fair=k step=12s weight.a=3; add a1 key.k=a; add a2 key.k=a; add a3 key.k=a; add a4 key.k=a; add a5 key.k=a
         advance 1s; add b1 key.k=b; add b2 key.k=b; lease w want=9",
        "leased a1 b1 a2 a3 a4 b2 a5",
    );
}

#[test]
fn fairness_ends_with_the_lease_and_with_its_configuration() {
    check(
        "queue q fair=k step=10s; add a1 key.k=a; add a2 key.k=a; lease w; advance 1s; add b key.k=b; finish a1 done; lease w",
        "leased a1; leased a2",
    );
    check(
        "queue q fair=k step=10s; add a1 key.k=a; add a2 key.k=a; lease w; advance 1s; add b key.k=b; queue q; lease w",
        "leased a1; leased a2",
    );
    check(
        "add a1 key.k=a; add a2 key.k=a; lease w; advance 1s; add b key.k=b; queue q fair=k step=10s; lease w",
        "leased a1; leased b",
    );
}

#[test]
fn tasks_without_the_fairness_key_pay_nothing() {
    check(
        "queue q fair=k step=10s; add a1 key.k=a; add a2 key.k=a; lease w; advance 1s; add c; add d; lease w want=3",
        "leased a1; leased c d a2",
    );
}

/// Two gates open at the same instant. The first to be looked at must not let its lane in through the second, or the
/// better lane that waits behind the second alone would be passed.
#[test]
fn gates_that_open_together_let_the_best_through_first() {
    check(
        "queue q keyrate.k=1/1s keyrate.l=1/1s; add y type=u key.k=x; add z type=u key.l=v; lease w u want=2
         add a key.k=x key.l=v prio=-1; add b key.l=v; advance 1s; lease w want=2",
        "leased y z; leased b",
    );
    check(
        "queue q key.k=1 key.l=1; add y type=u key.k=x; add z type=u key.l=v; lease w u want=2
         add a key.k=x key.l=v prio=-1; add b key.l=v; queue q key.k=2 key.l=2; lease w want=2",
        "leased y z; leased b",
    );
}

#[test]
fn permits_that_say_nothing_are_forgotten_also_behind_a_crowd_that_does() {
    // A hundred keys stay busy and sort before thousands that are used once.
    let script = |name: &str, many: usize| (0..many).map(|n| format!("{name}{n} key.{name}={n}")).collect::<Vec<_>>().join(" + ");
    let mut told = tell(
        Memory::Cools,
        &format!(
            "queue q keyrate.a=1/1h keyrate.b=1000/1s; add {}; lease w want=1000; add {}",
            script("a", 100),
            script("b", 3_202)
        ),
    );
    let (worker, types) = (WorkerName::parse("w").unwrap(), [say::kind("t")]);
    let mut lease = |ms: u64| {
        told.world.advance(told.world.now.plus_ms(ms));
        let command = Command::Lease { worker: worker.clone(), types: types.clone().into(), queues: [].into(), want: 1 };
        told.world.run(&command).unwrap();
        told.world.state.permits().count()
    };
    // Those that may be used again soon are kept, then two go for each that comes.
    assert_eq!((0..2_000).map(|_| lease(1)).last(), Some(2_100));
    assert_eq!(lease(8_001), 2_101);
    assert_eq!(lease(2_001), 2_100);
    assert_eq!((0..900).map(|_| lease(1)).last(), Some(1_200));
    assert_eq!(lease(20_000), 1_199);
    assert_eq!((0..299).map(|_| lease(1)).last(), Some(1_000));
    assert_eq!(told.world.state.counts().running, 3_302);
}

#[test]
fn of_a_crowd_of_permits_those_that_say_nothing_go_at_once() {
    let mut told = tell(Memory::Cools, "queue q keyrate.a=1000/1s");
    let (worker, types) = (WorkerName::parse("w").unwrap(), [say::kind("t")]);
    let counts = (0..21).map(|batch| {
        let adds: Vec<String> = (0..1_000).map(|n| format!("a{batch}-{n} key.a={batch}-{n}")).collect();
        told.statement(&format!("add {}", adds.join(" + ")));
        told.world.advance(told.world.now.plus_ms(10));
        let command = Command::Lease { worker: worker.clone(), types: types.clone().into(), queues: [].into(), want: 1_000 };
        told.world.run(&command).unwrap();
        told.world.state.permits().count()
    });
    let counts: Vec<usize> = counts.collect();
    assert_eq!(counts[..20], std::array::from_fn::<usize, 20, _>(|batch| (batch + 1) * 1_000));
    assert!((19_999..=20_001).contains(&counts[20]), "{counts:?}");
}
