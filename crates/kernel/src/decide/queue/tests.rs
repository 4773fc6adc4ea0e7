use crate::command::{Command, PauseUntil, Reply};
use crate::limits::{QUEUE_BOOSTS_MAX, QUEUES_MAX};
use crate::names::{Actor, QueueName, Tag};
use crate::queue::QueueConfig;
use crate::rejection::Rejection;
use crate::script::world::Memory;
use crate::script::{Script, check, say, tell};
use crate::state::State;
use crate::step::Step;
use crate::time::Time;

#[test]
fn a_pause_gates_dispatch_and_nothing_else() {
    check(
        "add a; lease w; pause q; add b; lease w; finish a done; lease w; resume q; lease w",
        "leased a; leased nothing; leased nothing; leased b",
    );
    check("pause q; add a; add b queue=r; lease w want=2", "leased b");
}

#[test]
fn a_pause_can_be_given_another_end() {
    check("add a; pause q until=10s; pause q until=5s; due; advance 5s; lease w; due", "due 5s; leased a; due 86405s");
    check("add a; pause q until=5s; pause q; due; advance 9s; lease w", "due never; leased nothing");
    check("add a; pause q until=5s; resume q; due; lease w; advance 9s", "due never; leased a");
}

#[test]
fn a_pause_that_is_over_before_it_begins_is_refused() {
    check("advance 10s; pause q until=10s; add a; lease w", "pause q: invalid; leased a");
}

#[test]
fn resuming_what_is_not_paused_is_no_mistake() {
    check("resume q; resume q; add a; lease w", "leased a");
}

#[test]
fn a_boost_on_a_queue_moves_all_of_it_and_its_removal_moves_it_back() {
    check("add a; advance 1s; add b queue=r; boost r 2; lease w; finish b released; boost r 0; lease w", "leased b; leased a");
    check("add a; advance 1s; add b queue=r; boost r 1; lease w want=2", "leased a b");
    check("boost r 2; add a; advance 1s; add b queue=r; lease w want=2", "leased b a");
}

#[test]
fn a_boost_on_a_key_moves_its_tasks_alone() {
    check(
        "add a key.k=x; add b key.k=y; add c key.k=z; boost q 60 key.k=y; lease w; boost q -60 key.k=x; lease w; boost q 0 key.k=x; lease w",
        "leased b; leased c; leased a",
    );
    // Boosts of several keys and of the queue add up.
    check(
        "add a; add b key.k=x key.l=v queue=r; boost q 5; boost r 2 key.k=x; boost r 2 key.l=v; lease w; finish a released; boost r 2; lease w",
        "leased a; leased b",
    );
}

#[test]
fn a_boosted_key_that_is_full_stays_full() {
    check(
        "queue q key.k=1; add a key.k=x; add b key.k=x; add c; lease w; boost q high key.k=x; lease w; lease w",
        "leased a; leased c; leased nothing",
    );
}

#[test]
fn so_many_boosts_and_no_more() {
    let many: String = (0..QUEUE_BOOSTS_MAX).map(|n| format!("boost q high key.k=v{n}; ")).collect();
    check(
        &format!("{many} boost q high; boost q 5 key.k=v2; boost q 0 key.k=new; boost q 0 key.k=v1; boost q high"),
        "boost q: boosts_taken",
    );
}

#[test]
fn a_required_tag_holds_back_what_lacks_it() {
    check(
        "queue q tag=x; add a; add b tag=y; add c tag=x,y; lease w want=3; queue q tag=y; lease w; queue q; lease w",
        "leased c; leased b; leased a",
    );
    check("queue q tag=x; add a delay=5s; advance 5s; lease w; start a; lease w", "leased nothing; leased a");
}

/// Beyond one chunk the queue hands out nothing until every task is in its place: neither what lacks the tag, nor a
/// later one before an earlier one that is not back yet.
#[test]
fn a_tag_required_or_given_up_while_many_wait_acts_at_once() {
    for (many, at_once) in [(998, true), (999, false), (2_500, false)] {
        let mut told = tell(Memory::Cools, &format!("add x*{many}; add y tag=v"));
        for (tag, first) in [(Some("v"), "y"), (None, "x1")] {
            let config = QueueConfig { require_tag: tag.map(|tag| Tag::parse(tag).unwrap()), ..QueueConfig::default() };
            let by = Actor::parse("ann").unwrap();
            told.world.run(&Command::ConfigureQueue { queue: say::queue("q"), config: config.into(), by }).unwrap();
            let pick = |told: &Script| told.world.state.pick(&[say::kind("t")], &[]);
            let expected = Some(told.id(first));
            assert_eq!(pick(&told), if at_once { expected } else { None }, "{many} tasks");
            assert_eq!(told.world.state.next_due(told.world.now), (!at_once).then_some(told.world.now));
            let mut turns = 1;
            while told.world.state.advance(told.world.now) {
                assert_eq!(pick(&told), None);
                turns += 1;
            }
            assert_eq!(pick(&told), expected);
            assert_eq!(turns, if at_once { 1 } else { (many + 1) / 1_000 });
        }
    }
}

#[test]
fn a_configuration_out_of_bounds_is_refused() {
    for bad in [
        "concurrency=0",
        "rate=0/1s",
        "rate=1/0ms",
        "rate=1/1s burst=0",
        "rate=1/8000h burst=1000000",
        "key.k=0",
        "keyrate.k=0/1s",
        "attempts=0",
        "attempts=1001",
        "jitter=101",
        "backoff=25h",
        "heartbeat=1ms",
        "budget=0ms",
        "backlog=0",
        "overrides=1001",
        "fair=k step=0ms",
        "fair=k weight.a=0",
        "window=99999h",
    ] {
        check(&format!("queue q {bad}"), "queue q: invalid");
    }
}

#[test]
fn what_is_said_about_queues_is_bounded() {
    let mut state = State::new(0);
    let mut step = Step::new(&mut state, Time::from_us(1));
    let by = Actor::parse("ann").unwrap();
    let mut pause = |name: &str| {
        let queue = QueueName::parse(name).unwrap();
        super::pause(&mut step, &queue, PauseUntil::Resumed, "", &by)
    };
    (0..QUEUES_MAX).for_each(|n| _ = pause(&format!("q{n}")).unwrap());
    assert_eq!(pause("one-more"), Err(Rejection::QueuesTaken { max: QUEUES_MAX }));
    assert_eq!(pause("q7"), Ok(Reply::Done));
}
