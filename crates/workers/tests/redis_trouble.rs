//! The bridge to Redis when something is wrong there: one signal, one stream or one half holds up no other, nothing counts twice, and
//! what is wrong is told.

#[path = "../../store/tests/far/mod.rs"]
mod far;
mod house;
#[path = "house/redis.rs"]
mod server;

use far::{Far, Mood};
use house::{House, within};
use kernel::command::{Command, Outcome};
use kernel::ids::{Fence, TaskId};
use kernel::queue::QueueConfig;
use kernel::record::Record;
use kernel::row::{TASKS, Value as Cell};
use redis::AsyncCommands;
use serde_json::{Value, json};
use server::{Redis, STREAM, bridge, bridge_with, done, leases, nothing_is_left, options, refused, until};
use std::sync::Arc;
use std::time::Duration;
use store::memory::MemoryDisk;
use store::{BlobId, BlobStore};
use workers::redis::{Options, SIGNALS};

fn trouble(house: &House) -> Option<String> {
    house.engine.outside().get("redis")?.told()
}

/// As a worker says it that makes ids of its own.
fn own(token: &Value, status: &str) -> Value {
    json!({"version": "1.0", "job_id": "5f3b6c1e-6a3e-4b7e-9c2d-1f2e3d4c5b6a", "run_id": token["run_id"], "node_id": token["node_id"],
           "status": status, "result_data": 1, "metadata": {}})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_result_that_redis_does_not_give_holds_up_no_other() {
    let (mut house, redis) = (House::open(), Redis::start().await);
    let _bridge = bridge(&house, &redis);
    let (one, two) = (house.add("t", "1", None).await, house.add("t", "2", None).await);
    let tokens = redis.tokens(STREAM, 2).await;
    let of = |task: TaskId| tokens.iter().find(|token| token["metadata"]["task"] == task.to_string()).unwrap();
    redis.push("cas:r-1", "a list").await;
    redis.signal(&json!({"job_id": of(one)["id"], "status": "completed", "result_ref": "r-1"})).await;
    redis.signal(&done(of(two), json!(2))).await;
    assert_eq!(house.end(two).await, "done");
    house.until(one, |record| matches!(record, Record::TaskRetried { .. })).await;
    assert!(house.story(one).contains("retried result_unread: its result r-1 could not be read: "), "{}", house.story(one));
    assert_eq!(trouble(&house), None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_something_else_holds_up_no_other() {
    let (mut house, redis) = (House::open(), Redis::start().await);
    let _bridge = bridge(&house, &redis);
    let first = house.add("t", "0", None).await;
    let token = redis.tokens(STREAM, 1).await.remove(0);
    redis.tell(&format!("DEL {STREAM}")).await;
    redis.tell(&format!("SET {STREAM} text")).await;
    // What is out on it is heard of all the same.
    redis.signal(&done(&token, json!(0))).await;
    assert_eq!(house.end(first).await, "done");
    let (here, there) = (house.add("t", "1", None).await, house.add("u", "2", None).await);
    let token = redis.tokens("wf.tasks.u", 1).await.remove(0);
    redis.signal(&done(&token, json!(2))).await;
    assert_eq!(house.end(there).await, "done");
    let told = until("it is told", async || trouble(&house)).await;
    let names = "tasks of type `t` wait: the stream `wf.tasks.t` cannot be written: WRONGTYPE";
    assert!(told.starts_with(names), "{told}");
    let outside = &house.engine.outside()["redis"];
    let of = |kind| outside.trouble_of(&kernel::names::TypeName::parse(kind).unwrap()).is_some();
    assert_eq!((of("t"), of("u")), (true, false), "of others nothing is told");
    redis.tell(&format!("DEL {STREAM}")).await;
    let token = redis.tokens(STREAM, 1).await.remove(0);
    assert_eq!(token["metadata"]["attempt"], 1, "nothing is burnt");
    redis.signal(&done(&token, json!(1))).await;
    assert_eq!(house.end(here).await, "done");
    assert!(leases(&house, here) <= 3, "it is left alone for a while: {}", house.story(here));
    until("all is well again", async || trouble(&house).is_none().then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn it_is_told_when_nothing_can_be_heard() {
    let (mut house, redis) = (House::open(), Redis::start().await);
    redis.tell(&format!("SET {SIGNALS} text")).await;
    let _bridge = bridge(&house, &redis);
    until("it is told", async || trouble(&house).filter(|told| told.contains("WRONGTYPE"))).await;
    let task = house.add("t", "1", None).await;
    let token = redis.tokens(STREAM, 1).await.remove(0);
    // What is sent meanwhile does not make it well.
    for _ in 0..40 {
        assert!(trouble(&house).is_some_and(|told| told.contains("WRONGTYPE")));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    redis.tell(&format!("DEL {SIGNALS}")).await;
    redis.signal(&done(&token, json!(1))).await;
    assert_eq!(house.end(task).await, "done");
    until("all is well again", async || trouble(&house).is_none().then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_worker_of_the_seed_told_meanwhile_is_understood_after_a_start() {
    let (house, redis) = (House::stopping_within(Duration::ZERO), Redis::start().await);
    let first = bridge(&house, &redis);
    let (other, task) = (house.add("t", "1", None).await, house.add("t", "2", None).await);
    let tokens = redis.tokens(STREAM, 2).await;
    first.abort();
    let disk = house.disk.clone();
    within(house.engine.stop()).await;
    drop(house);
    let token = tokens.iter().find(|token| token["metadata"]["task"] == task.to_string()).unwrap();
    redis.signal(&own(token, "completed")).await;
    let mut house = House::over(disk.clone());
    // What was out cannot be read yet: until it can, nothing is heard.
    let key = disk.read(|durable| durable.rows(&TASKS).next().unwrap()[0].clone());
    let mut status = Cell::from("nonsense");
    disk.spoil(&TASKS, std::slice::from_ref(&key), |values| std::mem::swap(&mut values[4], &mut status));
    let _second = bridge(&house, &redis);
    for _ in 0..40 {
        assert_eq!(redis.left(STREAM).await, (2, 2, 1), "{:?}", refused(&house));
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    disk.spoil(&TASKS, &[key], |values| std::mem::swap(&mut values[4], &mut status));
    assert_eq!((house.end(task).await, refused(&house)), ("done".into(), vec![]));
    let token = redis.tokens(STREAM, 1).await.remove(0);
    redis.signal(&own(&token, "completed")).await;
    assert_eq!(house.end(other).await, "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn types_do_not_take_each_others_room() {
    let (mut house, redis) = (House::open(), Redis::start().await);
    let _bridge = bridge_with(&house, Options { slots: 4, ..options(&redis) });
    for number in 0..20 {
        house.add("t", &number.to_string(), None).await;
    }
    redis.tokens(STREAM, 4).await;
    // Its workers are gone; those of the other are not.
    for number in 0..10 {
        let task = house.add("u", &number.to_string(), None).await;
        let token = redis.tokens("wf.tasks.u", 1).await.remove(0);
        redis.signal(&done(&token, json!(number))).await;
        assert_eq!(house.end(task).await, "done");
        nothing_is_left_of(&redis, "wf.tasks.u").await;
    }
    assert_eq!(redis.tokens(STREAM, 4).await.len(), 4);
}

async fn nothing_is_left_of(redis: &Redis, stream: &str) {
    until("nothing is left on the stream", async || (redis.left(stream).await.1 == 0).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_that_ends_makes_room_for_one() {
    let (mut house, redis) = (House::open(), Redis::start().await);
    let _bridge = bridge_with(&house, Options { slots: 8, ..options(&redis) });
    let mut tasks = Vec::new();
    for number in 0..9 {
        tasks.push(house.add("t", &number.to_string(), None).await);
    }
    let token = redis.tokens(STREAM, 8).await.remove(0);
    redis.signal(&done(&token, json!(1))).await;
    let ended = TaskId::parse(token["metadata"]["task"].as_str().unwrap()).unwrap();
    assert_eq!(house.end(ended).await, "done");
    let last = tasks.last().unwrap().to_string();
    until("the last one is out", async || {
        let out = redis.tokens(STREAM, 1).await;
        (out.len() == 8 && out.iter().any(|token| token["metadata"]["task"] == last)).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_to_stop_ends_whatever_else_is_heard() {
    let (mut house, redis) = (House::open(), Redis::start().await);
    let _bridge = bridge_with(&house, Options { slots: 1, ..options(&redis) });
    let task = house.add("t", "1", None).await;
    redis.tokens(STREAM, 1).await;
    house.cancel(task).await;
    let noise = async {
        loop {
            redis.push(SIGNALS, "noise").await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let ended = tokio::select! {
        ended = house.end(task) => ended,
        () = noise => unreachable!(),
    };
    assert_eq!(ended, "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_that_names_no_token_counts_once_though_it_is_heard_again() {
    let keeps = ["--appendonly", "yes", "--appendfsync", "always"];
    let (mut house, mut redis) = (House::open(), Redis::start_with(&keeps).await);
    let first = bridge(&house, &redis);
    let task = house.add("t", "1", None).await;
    let token = redis.tokens(STREAM, 1).await.remove(0);
    // Nothing can be let go: what is heard stays, and is heard again.
    redis.tell("RENAME completion_signals:out kept").await;
    redis.tell("SET completion_signals:out text").await;
    redis.signal(&own(&token, "failed")).await;
    house.until(task, |record| matches!(record, Record::TaskRetried { .. })).await;
    until("the next attempt is on its way", async || {
        let records = house.engine.read(|reader| reader.records(kernel::ids::RecordSeq(0), 100_000)).unwrap();
        let leased = records.iter().filter(|entry| matches!(entry.record, Record::TaskLeased { .. })).count();
        (leased == 2).then_some(())
    })
    .await;
    until("it was heard again", async || (!refused(&house).is_empty()).then_some(())).await;
    first.abort();
    redis.kill();
    redis.again().await;
    redis.tell("DEL completion_signals:out").await;
    redis.tell("RENAME kept completion_signals:out").await;
    assert_eq!(redis.left(STREAM).await.2, 1, "it is still there");
    let _second = bridge(&house, &redis);
    until("it is let go", async || (redis.left(STREAM).await.2 == 0).then_some(())).await;
    let token = until("the next attempt is out", async || {
        let token = redis.tokens(STREAM, 1).await.remove(0);
        (token["metadata"]["attempt"] == 2).then_some(token)
    })
    .await;
    redis.signal(&own(&token, "completed")).await;
    assert_eq!(house.end(task).await, "done");
    assert_eq!(house.story(task).matches("retried").count(), 1, "{}", house.story(task));
    let is_fenced = |reason: &str| reason.starts_with("duplicate: ") || reason.starts_with("late: ");
    assert!(refused(&house).iter().all(|(_, reason)| is_fenced(reason)), "{:?}", refused(&house));
    nothing_is_left(&redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mirrored_input_stays_as_long_as_a_token_has_it() {
    let (mut house, mut redis) = (House::open(), Redis::start().await);
    let _bridge = bridge(&house, &redis);
    let large = json!({"text": "x".repeat(100_000)}).to_string();
    let (one, two) = (house.add("t", &large, None).await, house.add("t", &large, None).await);
    let reference = redis.tokens(STREAM, 2).await.remove(0)["payload_ref"].as_str().unwrap().to_owned();
    redis.kill();
    redis.again().await;
    // One that forgets is given it again.
    let tokens = redis.tokens(STREAM, 2).await;
    let mirror = format!("cas:{reference}");
    let mut line = redis.line().await;
    let text: String = line.get(&mirror).await.unwrap();
    assert_eq!(text, large);
    let left_ms: u64 = line.pttl(&mirror).await.unwrap();
    let budget_ms = tokens[0]["metadata"]["budget_ms"].as_u64().unwrap();
    assert!((budget_ms..=budget_ms + 3_600_000).contains(&left_ms), "{left_ms} of {budget_ms}");
    let of = |task: TaskId| tokens.iter().find(|token| token["metadata"]["task"] == task.to_string()).unwrap();
    redis.signal(&done(of(one), json!(1))).await;
    assert_eq!(house.end(one).await, "done");
    until("one is out", async || (redis.left(STREAM).await == (1, 1, 0)).then_some(())).await;
    assert!(line.exists::<_, bool>(&mirror).await.unwrap());
    redis.signal(&done(of(two), json!(2))).await;
    assert_eq!(house.end(two).await, "done");
    nothing_is_left(&redis).await;
    let keys: Vec<String> = line.keys("*").await.unwrap();
    assert_eq!(keys, [STREAM], "but for the stream, which is empty");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_without_memory_is_drained_and_written_to_when_it_has_some() {
    let (mut house, redis) = (House::open(), Redis::start().await);
    let first = bridge(&house, &redis);
    let (one, two) = (house.add("t", "1", None).await, house.add("t", "2", None).await);
    let tokens = redis.tokens(STREAM, 2).await;
    first.abort();
    redis.signal(&done(&tokens[0], json!(1))).await;
    redis.signal(&own(&tokens[1], "completed")).await;
    redis.push(SIGNALS, "nonsense").await;
    redis.tell("CONFIG SET maxmemory 1").await;
    let _second = bridge(&house, &redis);
    assert_eq!((house.end(one).await, house.end(two).await), ("done".into(), "done".into()));
    nothing_is_left(&redis).await;
    let waiting = house.add("t", "3", None).await;
    until("it is told", async || trouble(&house).filter(|told| told.contains("OOM"))).await;
    redis.tell("CONFIG SET maxmemory 0").await;
    let token = redis.tokens(STREAM, 1).await.remove(0);
    assert_eq!(token["metadata"]["attempt"], 1, "nothing is burnt");
    redis.signal(&done(&token, json!(3))).await;
    assert_eq!(house.end(waiting).await, "done");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_not_everyone_can_read_is_no_result() {
    let (mut house, redis) = (House::open(), Redis::start().await);
    let _bridge = bridge(&house, &redis);
    let task = house.add("t", "1", None).await;
    let token = redis.tokens(STREAM, 1).await.remove(0);
    let id = token["id"].as_str().unwrap();
    redis.push(SIGNALS, &format!(r#"{{"job_id":"{id}","status":"completed","result_data":["\ud800"]}}"#)).await;
    assert!(house.end(task).await.starts_with("failed output_unreadable: "), "{}", house.story(task));
    nothing_is_left(&redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn much_at_once_is_heard_in_parts() {
    let (mut house, redis) = (House::open(), Redis::start().await);
    let _bridge = bridge(&house, &redis);
    let mut tasks = Vec::new();
    for number in 0..40 {
        tasks.push(house.add("t", &number.to_string(), None).await);
    }
    let tokens = redis.tokens(STREAM, 40).await;
    let signals: Vec<String> = tokens.iter().map(|token| done(token, json!("y".repeat(250_000))).to_string()).collect();
    let _: usize = redis.line().await.rpush(SIGNALS, signals).await.unwrap();
    for task in tasks {
        assert_eq!((house.end(task).await, house.output(task).len()), ("done".into(), 250_002));
    }
    nothing_is_left(&redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn large_inputs_are_held_again_after_a_start_and_nothing_waits_for_it() {
    for mood in [Mood::Still, Mood::Away] {
        let (blobs, redis) = (Arc::<Far>::default(), Redis::start().await);
        let house = House::with(MemoryDisk::default(), blobs.clone(), Duration::ZERO);
        let first = bridge(&house, &redis);
        let text = json!({"text": "x".repeat(100_000)}).to_string();
        let (large, small) = (house.add("t", &text, None).await, house.add("t", "1", None).await);
        let tokens = redis.tokens(STREAM, 2).await;
        let of = |task: TaskId| tokens.iter().find(|token| token["metadata"]["task"] == task.to_string()).unwrap();
        let id = BlobId::parse(of(large)["payload_ref"].as_str().unwrap()).unwrap();
        let is_held = || blobs.holds().is_held(&id);
        assert!(is_held());
        first.abort();
        let disk = house.disk.clone();
        within(house.engine.stop()).await;
        drop(house);
        until("nobody holds it", async || (!is_held()).then_some(())).await;
        blobs.set(mood);
        let mut house = House::with(disk, blobs.clone(), Duration::ZERO);
        let _second = bridge(&house, &redis);
        redis.signal(&done(of(small), json!(1))).await;
        assert_eq!(house.end(small).await, "done");
        blobs.set(Mood::Well);
        until("it is held again", async || is_held().then_some(())).await;
        for _ in 0..10 {
            tokio::time::sleep(Duration::from_millis(20)).await;
            assert!(is_held(), "as long as it is out");
        }
        redis.signal(&done(of(large), json!(2))).await;
        assert_eq!(house.end(large).await, "done");
        until("nobody holds it", async || (!is_held()).then_some(())).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_large_inputs_are_asked_for_than_fit_into_an_answer() {
    let (mut house, redis) = (House::open(), Redis::start().await);
    let mut tasks = Vec::new();
    for number in 0..60 {
        let input = json!({"number": number, "text": "x".repeat(1_000_000)}).to_string();
        tasks.push(house.add("t", &input, None).await);
    }
    let _bridge = bridge(&house, &redis);
    for token in redis.tokens(STREAM, 60).await {
        redis.signal(&done(&token, json!(1))).await;
    }
    let mut gave_back = 0;
    for task in &tasks {
        assert_eq!(house.end(*task).await, "done");
        gave_back += house.story(*task).matches("released").count();
    }
    // What did not fit when it was not known yet what does, and one or another by which it is tried again.
    assert!((1..75).contains(&gave_back), "{gave_back} went back");
}

/// Some of a batch were to be told to the engine when the line broke, and Redis forgot all of it.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_heard_and_not_told_goes_out_again_where_redis_has_forgotten_it() {
    let (blobs, mut redis) = (Arc::<Far>::default(), Redis::start().await);
    let mut house = House::keeping(blobs.clone());
    let _bridge = bridge(&house, &redis);
    let mut tasks = Vec::new();
    for number in 0..3 {
        tasks.push(house.add("t", &number.to_string(), None).await);
    }
    let tokens = redis.tokens(STREAM, 3).await;
    blobs.set(Mood::Full);
    let asked = blobs.asked();
    let by_reference = json!({"job_id": tokens[2]["id"], "status": "completed", "result_ref": "r-1"});
    let signals = [done(&tokens[0], json!(0)), done(&tokens[1], json!("y".repeat(50_000))), by_reference];
    let _: usize = redis.line().await.rpush(SIGNALS, signals.map(|signal| signal.to_string()).to_vec()).await.unwrap();
    assert!(blobs.was_asked(asked + 1).await);
    redis.kill();
    redis.again().await;
    blobs.set(Mood::Well);
    for token in redis.tokens(STREAM, 3).await {
        assert_eq!(token["metadata"]["attempt"], 1);
        redis.signal(&done(&token, json!(1))).await;
    }
    for task in tasks {
        assert_eq!(house.end(task).await, "done");
    }
    nothing_is_left(&redis).await;
}

/// What this process has used, in hundredths of a second.
fn used() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let fields: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_over_while_redis_is_away_is_waited_with_at_rest() {
    let (mut house, mut redis) = (House::open(), Redis::start().await);
    house.configure(QueueConfig { heartbeat_ms: 1_000, ..QueueConfig::default() }).await;
    let _bridge = bridge_with(&house, Options { slots: 1, ..options(&redis) });
    let task = house.add("t", "1", None).await;
    let token = redis.tokens(STREAM, 1).await.remove(0);
    redis.kill();
    // Somebody else ends it, and the bridge finds that its next heartbeat is in vain.
    let fence = Fence::parse(token["metadata"]["fence"].as_str().unwrap()).unwrap();
    house.command(Command::Finish { task, fence, outcome: Outcome::Released, jitter: 0 }).await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let before = used();
    tokio::time::sleep(Duration::from_secs(1)).await;
    let used = used() - before;
    assert!(used < 30, "{used} hundredths of a second of one");
    redis.again().await;
    // Its place is free at once, as soon as the line is there: it rests five seconds at most in between.
    let back = std::time::Instant::now();
    let token = redis.tokens(STREAM, 1).await.remove(0);
    assert!(back.elapsed() < Duration::from_secs(9), "a free place is not taken");
    redis.signal(&done(&token, json!(1))).await;
    assert_eq!(house.end(task).await, "done");
    nothing_is_left(&redis).await;
}
