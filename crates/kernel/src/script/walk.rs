//! Random walks: queues, keys, limits, rates, fairness, boosts and pauses come and go while tasks are added, leased,
//! finished, moved and taken away, and the time passes. `watch` is called wherever something could have gone wrong.

use super::world::World;
use crate::bulk::BulkWork;
use crate::command::{Command, NewTask, Outcome, PauseUntil, Reply};
use crate::ids::{Fence, TaskId};
use crate::message::Message;
use crate::names::*;
use crate::priority::Priority;
use crate::queue::{BoostOn, Fairness, KeyLimit, QueueConfig};
use crate::rate::Rate;
use crate::record::{Failure, Payload, ReleaseCause, TaskSpec};
use crate::retry::RetryPolicy;
use crate::task::Card;
use crate::time::Time;
use proptest::prelude::*;
use std::sync::Arc;

/// Looks at the world as it would be at an instant, if nothing happened until then.
pub(crate) type Watch<'a> = &'a dyn Fn(&World, Time);

pub(crate) const QUEUES: [&str; 2] = ["q0", "q1"];
pub(crate) const TYPES: [&str; 2] = ["t0", "t1"];
const KEYS: [&str; 2] = ["k", "l"];
const VALUES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// `nth` and `task` count among what there is, whatever that is.
#[derive(Clone, Debug)]
pub(crate) enum Op {
    Add(Box<Added>),
    Lease {
        types: usize,
        queues: usize,
    },
    Finish {
        nth: usize,
        how: usize,
    },
    Cancel {
        task: usize,
    },
    Requeue {
        task: usize,
        reset: bool,
    },
    Start {
        task: usize,
        force: bool,
    },
    Delete {
        task: usize,
    },
    /// Its run, if it had one, would be paused or go on.
    Hold {
        task: usize,
        pause: u32,
        hold: bool,
    },
    Reprioritize {
        task: usize,
        seconds: i64,
    },
    Configure {
        queue: usize,
        config: Box<QueueConfig>,
    },
    Pause {
        queue: usize,
        for_ms: Option<u64>,
    },
    Resume {
        queue: usize,
    },
    Boost {
        queue: usize,
        key: Option<(usize, usize)>,
        seconds: i64,
    },
    Bulk {
        queue: usize,
        how: usize,
    },
    /// Moves the very task that would go next.
    Unseat {
        kind: usize,
        how: usize,
    },
    /// Time passes, and the engine wakes whenever the state asked for it.
    Pass {
        ms: u64,
    },
    /// Time passes, and the engine wakes late.
    Sleep {
        ms: u64,
    },
}

#[derive(Clone, Debug)]
pub(crate) struct Added {
    queue: usize,
    kind: usize,
    keys: [Option<usize>; 2],
    seconds: i64,
    tagged: bool,
    delay_ms: u64,
    blocker: Option<usize>,
    idle: bool,
    idempotency_key: Option<u8>,
    budget_ms: Option<u64>,
}

fn seconds() -> impl Strategy<Value = i64> {
    prop_oneof![4 => Just(0), 4 => -6i64..7]
}

fn time_ms() -> impl Strategy<Value = u64> {
    prop_oneof![3 => Just(0), 4 => (0u64..6).prop_map(|s| s * 1_000), 1 => 0u64..6_000]
}

fn added() -> impl Strategy<Value = Added> {
    let value = || prop::option::weighted(0.7, 0usize..3);
    let rare = |chance: f64| prop::bool::weighted(chance);
    let delay_ms = prop_oneof![6 => Just(0u64), 1 => (1u64..5).prop_map(|s| s * 1_000)];
    let blocker = prop::option::weighted(0.06, 0usize..99);
    let queue = prop_oneof![3 => Just(0usize), 1 => Just(1)];
    let kind = prop_oneof![3 => Just(0usize), 1 => Just(1)];
    let more = (prop::option::weighted(0.1, 0u8..3), prop::option::weighted(0.1, 1u64..9_000));
    (queue, kind, [value(), value()], seconds(), rare(0.6), delay_ms, blocker, rare(0.04), more).prop_map(
        |(queue, kind, keys, seconds, tagged, delay_ms, blocker, idle, (idempotency_key, budget_ms))| Added {
            queue,
            kind,
            keys,
            seconds,
            tagged,
            delay_ms,
            blocker,
            idle,
            idempotency_key,
            budget_ms,
        },
    )
}

/// All in one lane's neighbourhood: few values of one key, many of the other.
fn added_to_crowd() -> impl Strategy<Value = Added> {
    (added(), prop::option::weighted(0.9, 0usize..2), prop::option::weighted(0.9, 0..VALUES.len())).prop_map(|(added, k, l)| {
        let kind = usize::from(added.kind == 1 && added.tagged);
        Added { queue: 0, kind, keys: [k, l], delay_ms: 0, blocker: None, idle: false, idempotency_key: None, ..added }
    })
}

fn rate() -> impl Strategy<Value = Rate> {
    (1u32..4, 1u64..8, 1u32..4).prop_map(|(count, per_s, burst)| Rate { count, per_ms: per_s * 1_000, burst })
}

fn config() -> impl Strategy<Value = QueueConfig> {
    let limit = || prop::option::weighted(0.6, 1u32..4);
    let key = || (limit(), prop::option::weighted(0.4, rate())).prop_map(|(concurrency, rate)| KeyLimit { concurrency, rate });
    let weights = prop::collection::btree_map((0..VALUES.len()).prop_map(|v| KeyValue::parse(VALUES[v]).unwrap()), 1u32..4, 0..3);
    let fairness = (0..KEYS.len(), 1u64..8, weights).prop_map(|(key, step_s, weights)| Fairness {
        key: KeyName::parse(KEYS[key]).unwrap(),
        step_ms: step_s * 1_000,
        weights,
    });
    let total = prop::option::weighted(0.3, 1u32..6);
    let rare_rate = prop::option::weighted(0.25, rate());
    (total, rare_rate, [key(), key()], prop::option::weighted(0.5, fairness), prop::bool::weighted(0.15)).prop_map(
        |(concurrency, rate, keys, fairness, tagged)| QueueConfig {
            concurrency,
            rate,
            keys: KEYS.iter().map(|name| KeyName::parse(name).unwrap()).zip(keys).collect(),
            fairness,
            require_tag: tagged.then(|| Tag::parse("x").unwrap()),
            retry: RetryPolicy { attempts: 2, backoff_ms: 1_000, backoff_max_ms: 1_000, jitter_percent: 0 },
            override_slots: 2,
            budget_ms: 30_000,
            idempotency_window_ms: 8_000,
            ..QueueConfig::default()
        },
    )
}

fn op() -> impl Strategy<Value = Op> {
    let (nth, queue) = (|| 0usize..99, || prop_oneof![3 => Just(0usize), 1 => Just(1)]);
    prop_oneof![
        24 => added().prop_map(|added| Op::Add(Box::new(added))),
        20 => (0usize..3, 0usize..3).prop_map(|(types, queues)| Op::Lease { types, queues }),
        14 => (nth(), 0usize..8).prop_map(|(nth, how)| Op::Finish { nth, how }),
        4 => nth().prop_map(|task| Op::Cancel { task }),
        3 => (nth(), any::<bool>()).prop_map(|(task, reset)| Op::Requeue { task, reset }),
        2 => (nth(), any::<bool>()).prop_map(|(task, force)| Op::Start { task, force }),
        2 => nth().prop_map(|task| Op::Delete { task }),
        4 => (nth(), 1u32..9, any::<bool>()).prop_map(|(task, pause, hold)| Op::Hold { task, pause, hold }),
        6 => (nth(), seconds()).prop_map(|(task, seconds)| Op::Reprioritize { task, seconds }),
        8 => (queue(), config()).prop_map(|(queue, config)| Op::Configure { queue, config: Box::new(config) }),
        2 => (queue(), prop::option::of(1u64..6_000)).prop_map(|(queue, for_ms)| Op::Pause { queue, for_ms }),
        2 => queue().prop_map(|queue| Op::Resume { queue }),
        5 => (queue(), prop::option::weighted(0.7, (0..KEYS.len(), 0..VALUES.len())), seconds())
            .prop_map(|(queue, key, seconds)| Op::Boost { queue, key, seconds }),
        2 => (queue(), 0usize..5).prop_map(|(queue, how)| Op::Bulk { queue, how }),
        12 => time_ms().prop_map(|ms| Op::Pass { ms }),
        4 => time_ms().prop_map(|ms| Op::Sleep { ms }),
    ]
}

/// A walk through everything, or one through a crowd behind few keys: there lanes park, come back and lose their place.
pub(crate) fn walk() -> impl Strategy<Value = Vec<Op>> {
    let anything = prop::collection::vec(op(), 1..120);
    prop_oneof![1 => anything, 1 => crowd()]
}

fn crowd() -> impl Strategy<Value = Vec<Op>> {
    let config = || {
        config().prop_map(|config| {
            let config = QueueConfig { concurrency: None, rate: None, require_tag: None, ..config };
            Op::Configure { queue: 0, config: Box::new(config) }
        })
    };
    let add = || added_to_crowd().prop_map(|added| Op::Add(Box::new(added)));
    let nth = || 0usize..99;
    let next = prop_oneof![
        10 => add(),
        10 => (0usize..3).prop_map(|types| Op::Lease { types, queues: 0 }),
        12 => (nth(), 0usize..8).prop_map(|(nth, how)| Op::Finish { nth, how }),
        20 => (0usize..2, 0usize..6).prop_map(|(kind, how)| Op::Unseat { kind, how }),
        6 => (nth(), seconds()).prop_map(|(task, seconds)| Op::Reprioritize { task, seconds }),
        4 => (0..KEYS.len(), 0..VALUES.len(), seconds())
            .prop_map(|(name, value, seconds)| Op::Boost { queue: 0, key: Some((name, value)), seconds }),
        3 => config(),
        8 => time_ms().prop_map(|ms| Op::Pass { ms }),
        2 => time_ms().prop_map(|ms| Op::Sleep { ms }),
    ];
    (config(), prop::collection::vec(add(), 4..24), prop::collection::vec(next, 1..60))
        .prop_map(|(config, adds, next)| [vec![config], adds, next].concat())
}

pub(crate) fn cases(default: u32) -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(default);
    ProptestConfig { cases, failure_persistence: None, max_shrink_iters: 20_000, ..ProptestConfig::default() }
}

/// 0 and 1: that one; 2: both; 3: none named.
pub(crate) fn asked(names: &[&'static str; 2], which: usize) -> Vec<&'static str> {
    match which {
        2 => names.to_vec(),
        3 => Vec::new(),
        one => vec![names[one]],
    }
}

pub(crate) fn act(world: &mut World, op: &Op, watch: Watch<'_>) {
    let by = Actor::parse("ann").unwrap();
    let named = |queue: usize| QueueName::parse(QUEUES[queue]).unwrap();
    let command = match op.clone() {
        Op::Add(added) => return add(world, &added),
        Op::Lease { types, queues } => return lease(world, types, queues, watch),
        Op::Finish { nth, how } => return finish(world, nth, how),
        Op::Cancel { task } => Command::Cancel { task: one(world, task), by, reason: String::new() },
        Op::Requeue { task, reset: false } => Command::Retry { task: one(world, task), by },
        Op::Requeue { task, reset: true } => Command::Reset { task: one(world, task), by },
        Op::Start { task, force } => Command::Start { task: one(world, task), force, worker: None, by },
        Op::Delete { task } => Command::Delete { task: one(world, task), by },
        Op::Hold { task, pause, hold } => {
            let task = one(world, task);
            Command::Hear(Box::new(if hold { Message::Hold { task, pause } } else { Message::LetGo { task, pause } }))
        }
        Op::Reprioritize { task, seconds } => {
            let task = one(world, task);
            Command::Reprioritize {
                queue: queue_of(world, task),
                tasks: vec![task],
                priority: Priority::seconds(seconds).unwrap(),
                by,
            }
        }
        Op::Configure { queue, config } => Command::ConfigureQueue { queue: named(queue), config: Arc::new(*config), by },
        Op::Pause { queue, for_ms } => {
            let until = for_ms.map_or(PauseUntil::Resumed, |ms| PauseUntil::After { ms });
            Command::PauseQueue { queue: named(queue), until, reason: String::new(), by }
        }
        Op::Resume { queue } => Command::ResumeQueue { queue: named(queue), by },
        Op::Boost { queue, key, seconds } => {
            let key = key.map(|(name, value)| (KeyName::parse(KEYS[name]).unwrap(), KeyValue::parse(VALUES[value]).unwrap()));
            let boost = Priority::seconds(seconds).unwrap();
            Command::BoostQueue { queue: named(queue), on: BoostOn { key }, boost, by }
        }
        Op::Bulk { queue, how } => {
            let (queue, upto, filter) = (named(queue), TaskId::MAX, Default::default());
            let work = match how {
                0 => BulkWork::Clear { queue, upto, filter, reason: String::new() },
                1 => BulkWork::Drain { queue, upto, filter },
                2 => BulkWork::Reprioritize { queue, upto, filter, priority: Priority::seconds(3).unwrap() },
                3 => BulkWork::Redrive { queue, upto, filter, per_s: None },
                _ => BulkWork::Redrive { queue, upto, filter, per_s: Some(1) },
            };
            Command::StartBulk { work, by, reason: String::new() }
        }
        Op::Unseat { kind, how } => {
            world.quiesce();
            let Some(task) = world.state.pick(&[TypeName::parse(TYPES[kind]).unwrap()], &[]) else { return };
            match how {
                0 => Command::Cancel { task, by, reason: String::new() },
                1 => Command::Reset { task, by },
                2 => Command::Delete { task, by },
                3 => Command::Start { task, force: false, worker: None, by },
                _ => {
                    let priority = Priority::seconds(4 - 2 * how as i64).unwrap();
                    Command::Reprioritize { queue: queue_of(world, task), tasks: vec![task], priority, by }
                }
            }
        }
        Op::Pass { ms } => return pass(world, world.now.plus_ms(ms), watch),
        Op::Sleep { ms } => {
            world.now = world.now.plus_ms(ms);
            world.quiesce();
            watch(world, world.now);
            return pass(world, world.now, watch);
        }
    };
    _ = world.run(&command);
}

/// Nothing becomes free to run between the instants the state asks to be woken at.
fn pass(world: &mut World, to: Time, watch: Watch<'_>) {
    loop {
        world.quiesce();
        watch(world, world.now);
        match world.state.next_due(world.now) {
            Some(at) if at <= world.now => world.wake(),
            Some(at) if at <= to => {
                watch(world, at.plus_us(-1));
                world.now = at;
            }
            _ => break,
        }
    }
    watch(world, to);
    world.now = to;
}

fn add(world: &mut World, added: &Added) {
    let keys = KEYS
        .iter()
        .zip(added.keys)
        .filter_map(|(name, value)| Some((KeyName::parse(name).unwrap(), KeyValue::parse(VALUES[value?]).unwrap())));
    let spec = TaskSpec {
        queue: QueueName::parse(QUEUES[added.queue]).unwrap(),
        kind: TypeName::parse(TYPES[added.kind]).unwrap(),
        priority: Priority::seconds(added.seconds).unwrap(),
        keys: keys.collect(),
        tags: if added.tagged { vec![Tag::parse("x").unwrap()] } else { Vec::new() },
        blocked_by: added.blocker.map(|nth| one(world, nth)).filter(|id| *id != TaskId::MAX).into_iter().collect(),
        scheduled_for: None,
        idempotency_key: added.idempotency_key.map(|key| IdempotencyKey::parse(&format!("k{key}")).unwrap()),
        retry: None,
        budget_ms: added.budget_ms,
        idle: added.idle,
        node: None,
        generation: 0,
        start_by: None,
        trigger: None,
        input: None,
    };
    let window_ms = world.state.config(&spec.queue).idempotency_window_ms;
    let same_key = |card: &&Card| card.idempotency_key() == spec.idempotency_key.as_ref() && *card.route().queue() == spec.queue;
    let youngest = world.tasks().map(|task| task.card()).filter(same_key).max_by_key(|card| card.id());
    let made = youngest.filter(|card| spec.idempotency_key.is_some() && world.now < card.created_at().plus_ms(window_ms));
    let made = made.map(|card| card.id());
    let command = Command::Add { tasks: vec![NewTask { spec, delay_ms: added.delay_ms, input: Payload::null() }] };
    let Ok(Reply::Added(added)) = world.run(&command) else { panic!("nothing stands against this add") };
    assert_eq!(made, added[0].duplicate.then_some(added[0].task), "a key makes one task within its window");
}

/// Two, one after the other: the second is found by lanes that just gave up the first.
fn lease(world: &mut World, types: usize, queues: usize, watch: Watch<'_>) {
    let types: Vec<TypeName> = asked(&TYPES, types).into_iter().map(|kind| TypeName::parse(kind).unwrap()).collect();
    let queues: Vec<QueueName> = match queues {
        0 => asked(&QUEUES, 3),
        one => asked(&QUEUES, one - 1),
    }
    .into_iter()
    .map(|queue| QueueName::parse(queue).unwrap())
    .collect();
    for _ in 0..2 {
        world.quiesce();
        watch(world, world.now);
        let expected = world.state.pick(&types, &queues);
        let worker = WorkerName::parse("w").unwrap();
        let command = Command::Lease { worker, types: types.clone().into(), queues: queues.clone().into(), want: 1 };
        let Ok(Reply::Leased(grants)) = world.run(&command) else { panic!("a lease is granted or empty") };
        assert_eq!(grants.first().map(|grant| grant.task), expected);
        watch(world, world.now);
    }
}

fn finish(world: &mut World, nth: usize, how: usize) {
    let running: Vec<(TaskId, Fence)> =
        world.state.running().map(|task| (task.card().id(), task.lease().unwrap().fence())).collect();
    let Some((task, fence)) = (!running.is_empty()).then(|| running[nth % running.len()]) else { return };
    let failure = Failure { code: "oops".into(), message: String::new() };
    let outcome = match how {
        0..=2 => Outcome::Done { output: Payload::null() },
        3 => Outcome::Failed { failure, retryable: true, retry_after_ms: None },
        4 => Outcome::Failed { failure, retryable: false, retry_after_ms: None },
        _ => Outcome::Released,
    };
    let command = match how {
        6 => Command::Release { task, fence, cause: ReleaseCause::Undelivered },
        7 => Command::Lapse { task, fence, jitter: 0 },
        _ => Command::Finish { task, fence, outcome, jitter: 0 },
    };
    world.run(&command).expect("the lease is held");
}

/// Among all tasks there are, cold ones included.
fn queue_of(world: &World, task: TaskId) -> QueueName {
    let unknown = || QueueName::parse(QUEUES[0]).unwrap();
    world.state.task(task).map_or_else(unknown, |task| task.card().route().queue().clone())
}

fn one(world: &World, nth: usize) -> TaskId {
    let ids: Vec<TaskId> = world.tasks().map(|task| task.card().id()).collect();
    if ids.is_empty() { TaskId::MAX } else { ids[nth % ids.len()] }
}
