//! The bridge to Redis, against a real server: tokens out once, signals in without loss, whatever breaks.

mod house;
#[path = "house/redis.rs"]
mod server;

use house::{House, within};
use kernel::ids::TaskId;
use kernel::record::Record;
use redis::AsyncCommands;
use serde_json::{Value, json};
use server::{Between, Redis, STREAM, bridge, bridge_with, done, leases, nothing_is_left, options, refused, tls, until};
use std::time::Duration;
use store::memory::Fault;
use workers::redis::{Address, Options, SIGNALS};

#[tokio::test(flavor = "multi_thread")]
async fn a_token_goes_out_and_its_signal_ends_the_task() {
    let (mut house, redis) = (House::open(), Redis::start().await);
    let _bridge = bridge(&house, &redis);
    let task = house.add("t", r#"{"file":"größe.rs"}"#, Some("k-1")).await;
    let entry = redis.entries(STREAM, 1).await.remove(0);
    let fields: Vec<(&str, &str)> = entry.iter().map(|(name, value)| (&**name, &**value)).collect();
    let text = &*entry["token"];
    assert_eq!(fields, [("run_id", &*task.to_string()), ("to_node", "t"), ("token", text)]);
    let token: Value = serde_json::from_str(text).unwrap();
    assert_eq!((&token["payload"], &token["config"]), (&json!({"file": "größe.rs"}), &json!({"file": "größe.rs"})));
    assert_eq!((&token["run_id"], &token["to_node"]), (&json!(task.to_string()), &json!("t")));
    let told = &token["metadata"];
    assert_eq!((&told["task"], &told["attempt"], &told["type"]), (&json!(task.to_string()), &json!(1), &json!("t")));
    assert_eq!(told["idempotency_key"], "k-1");
    let names: Vec<&str> = token.as_object().unwrap().keys().map(String::as_str).collect();
    let all = "config created_at from_node id metadata node_id payload run_id sent_at to_node workflow_owner";
    assert_eq!(names.join(" "), all);
    assert_eq!((&token["from_node"], &token["workflow_owner"]), (&Value::Null, &Value::Null));
    redis.signal(&done(&token, json!({"errors": []}))).await;
    assert_eq!((house.end(task).await, house.output(task)), ("done".into(), r#"{"errors":[]}"#.into()));
    nothing_is_left(&redis).await;
    let outside = &house.engine.outside()["redis"];
    assert_eq!((outside.trouble.as_deref(), outside.address.contains("127.0.0.1")), (None, true));
    // The generic type has a stream of another name.
    house.add("task", "{}", None).await;
    redis.tokens("wf.tasks.default", 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_of_the_seed_alone_is_understood() {
    let (mut house, redis) = (House::open(), Redis::start().await);
    let _bridge = bridge(&house, &redis);
    for reference in ["r-1", "cas:r-1"] {
        let task = house.add("t", "1", None).await;
        let token = redis.tokens(STREAM, 1).await.remove(0);
        // An id of its own making, and the result where the seed says.
        let mut line = redis.line().await;
        let () = line.set("cas:r-1", r#"{"n":2}"#).await.unwrap();
        redis
            .signal(&json!({"version": "1.0", "job_id": "5f3b6c1e-6a3e-4b7e-9c2d-1f2e3d4c5b6a", "run_id": token["run_id"],
                "node_id": token["node_id"], "status": "completed", "result_ref": reference, "metadata": {}}))
            .await;
        assert_eq!((house.end(task).await, house.output(task)), ("done".into(), r#"{"n":2}"#.into()));
        nothing_is_left(&redis).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn large_values_go_by_reference() {
    let (mut house, redis) = (House::open(), Redis::start().await);
    let _bridge = bridge(&house, &redis);
    let large = json!({"text": "x".repeat(100_000)});
    let task = house.add("t", &large.to_string(), None).await;
    let token = redis.tokens(STREAM, 1).await.remove(0);
    let reference = token["payload_ref"].as_str().unwrap();
    assert_eq!((token.get("payload"), token.to_string().len() < 2_000), (None, true));
    let mirrored: String = redis.line().await.get(format!("cas:{reference}")).await.unwrap();
    assert_eq!(serde_json::from_str::<Value>(&mirrored).unwrap(), large);
    let result = json!({"big": "y".repeat(50_000)});
    let blob = house.engine.blobs().put(result.to_string().as_bytes()).unwrap().id();
    redis.signal(&json!({"job_id": token["id"], "status": "completed", "result_ref": blob.to_string()})).await;
    assert_eq!(house.end(task).await, "done");
    assert_eq!(serde_json::from_str::<Value>(&house.output(task)).unwrap(), result);
    nothing_is_left(&redis).await;
    // One that lies nowhere is a failure that may pass.
    let task = house.add("t", "2", None).await;
    let token = redis.tokens(STREAM, 1).await.remove(0);
    redis.signal(&json!({"job_id": token["id"], "status": "completed", "result_ref": "nowhere"})).await;
    house.until(task, |record| matches!(record, Record::TaskRetried { .. })).await;
    assert!(house.story(task).contains("retried result_missing: its result nowhere lies neither"), "{}", house.story(task));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_fails_is_tried_again() {
    let (mut house, redis) = (House::open(), Redis::start().await);
    let _bridge = bridge(&house, &redis);
    let task = house.add("t", "1", None).await;
    let at = |token: &Value, name: &str| token[name].as_str().unwrap().parse::<jiff::Timestamp>().unwrap();
    let mut times = Vec::new();
    for attempt in 1..=2 {
        let token = until("the next attempt is out", async || {
            let token = redis.tokens(STREAM, 1).await.remove(0);
            (token["metadata"]["attempt"] == attempt).then_some(token)
        });
        let token = token.await;
        times.push((at(&token, "created_at"), at(&token, "sent_at")));
        redis.signal(&json!({"job_id": token["id"], "status": "failed", "error": {"code": "busy", "message": "not now"}})).await;
    }
    let token = until("the last attempt is out", async || {
        let token = redis.tokens(STREAM, 1).await.remove(0);
        (token["metadata"]["attempt"] == 3).then_some(token)
    });
    redis.signal(&done(&token.await, json!(7))).await;
    assert_eq!((house.end(task).await, house.output(task)), ("done".into(), "7".into()));
    assert_eq!(house.story(task).matches("retried busy: not now").count(), 2);
    assert!(times[0].0 == times[1].0 && times[0].1 < times[1].1, "{times:?}");
    nothing_is_left(&redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn signals_that_fit_nothing_are_recorded_and_change_nothing() {
    let (mut house, redis) = (House::open(), Redis::start().await);
    let _bridge = bridge(&house, &redis);
    let task = house.add("t", "1", None).await;
    let token = redis.tokens(STREAM, 1).await.remove(0);
    let id = token["id"].as_str().unwrap();
    let stale = format!("{}:1", id.split(':').next().unwrap());
    redis.push(SIGNALS, "nonsense \u{1F980}").await;
    let _: usize = redis.line().await.rpush(SIGNALS, &b"\xff\xfe"[..]).await.unwrap();
    // Who comes too late takes nothing from the attempt that goes on, not even how far it is.
    redis.signal(&json!({"job_id": id, "status": "running", "progress": 0.5})).await;
    redis.signal(&json!({"job_id": stale, "status": "failed"})).await;
    until("it is too late", async || refused(&house).iter().any(|(_, why)| why.starts_with("late")).then_some(())).await;
    let fence = kernel::ids::Fence::parse(id.split_once(':').unwrap().1).unwrap();
    assert_eq!(house.engine.logs().progress(task, fence).map(|progress| progress.permille), Some(500));
    for signal in [
        json!({"job_id": stale, "status": "completed"}),
        json!({"job_id": "task-zzz:k7", "status": "completed"}),
        json!({"job_id": "else", "run_id": "run-99", "node_id": "x", "status": "completed"}),
        done(&token, json!(1)),
        done(&token, json!(1)),
        done(&token, json!("another")),
    ] {
        redis.signal(&signal).await;
    }
    assert_eq!((house.end(task).await, house.output(task)), ("done".into(), "1".into()));
    nothing_is_left(&redis).await;
    // Heard together with its end, it would still be in time.
    redis.signal(&json!({"job_id": id, "status": "running", "progress": 0.5})).await;
    nothing_is_left(&redis).await;
    // They are recorded before they are let go.
    let count = |why: &str| refused(&house).iter().filter(|(_, reason)| reason.starts_with(why)).map(|(n, _)| *n).sum::<u32>();
    assert_eq!(["garbled", "late", "unknown", "duplicate"].map(count), [2, 4, 2, 1], "{:?}", refused(&house));
    assert_eq!(house.engine.outside()["redis"].trouble, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_being_heard_is_heard_again() {
    let (mut house, redis) = (House::open(), Redis::start().await);
    let first = bridge(&house, &redis);
    let (one, two) = (house.add("t", "1", None).await, house.add("t", "2", None).await);
    let tokens = redis.tokens(STREAM, 2).await;
    first.abort();
    // It ended when it had taken one and not yet told of it.
    let of = |task: TaskId| tokens.iter().find(|token| token["metadata"]["task"] == task.to_string()).unwrap();
    redis.push("completion_signals:hearing", &done(of(one), json!("a")).to_string()).await;
    redis.signal(&done(of(two), json!("b"))).await;
    let _second = bridge(&house, &redis);
    assert_eq!((house.end(one).await, house.end(two).await), ("done".into(), "done".into()));
    assert_eq!((leases(&house, one), leases(&house, two)), (1, 1));
    nothing_is_left(&redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_out_stays_out_when_the_server_starts_again() {
    let (house, redis) = (House::stopping_within(Duration::from_secs(3_600)), Redis::start().await);
    let first = bridge(&house, &redis);
    let task = house.add("t", "1", None).await;
    let token = redis.tokens(STREAM, 1).await.remove(0);
    let disk = house.disk.clone();
    assert_eq!(within(house.engine.stop()).await, engine::Stopped::Drained, "it is not waited for");
    first.abort();
    drop(house);
    let mut house = House::over(disk);
    let _second = bridge(&house, &redis);
    until("it is held again", async || {
        let outside = house.engine.outside();
        (outside.get("redis")?.counts.get("out") == Some(&1) && outside["redis"].trouble.is_none()).then_some(())
    })
    .await;
    assert_eq!(redis.tokens(STREAM, 1).await, std::slice::from_ref(&token), "no second token");
    redis.signal(&done(&token, json!(1))).await;
    assert_eq!(house.end(task).await, "done");
    nothing_is_left(&redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_forgets_is_told_again() {
    let (mut house, mut redis) = (House::open(), Redis::start().await);
    let _bridge = bridge(&house, &redis);
    let task = house.add("t", "1", None).await;
    redis.tokens(STREAM, 1).await;
    redis.kill();
    let trouble = async || house.engine.outside()["redis"].trouble.clone();
    until("it is said", trouble).await;
    let waiting = house.add("t", "2", None).await;
    redis.again().await;
    let tokens = redis.tokens(STREAM, 2).await;
    assert_eq!(tokens.len(), 2);
    for token in &tokens {
        assert_eq!(token["metadata"]["attempt"], 1, "nothing is burnt");
        redis.signal(&done(token, token["payload"].clone())).await;
    }
    assert_eq!((house.end(task).await, house.end(waiting).await), ("done".into(), "done".into()));
    assert_eq!((house.output(task), house.output(waiting)), ("1".into(), "2".into()));
    nothing_is_left(&redis).await;
    until("all is well again", async || house.engine.outside()["redis"].trouble.is_none().then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_keeps_what_it_has_is_told_nothing_twice() {
    let keeps = ["--appendonly", "yes", "--appendfsync", "always"];
    let (mut house, mut redis) = (House::open(), Redis::start_with(&keeps).await);
    let _bridge = bridge(&house, &redis);
    let mut tasks = Vec::new();
    for number in 0..5 {
        tasks.push(house.add("t", &number.to_string(), None).await);
    }
    let tokens = redis.tokens(STREAM, 5).await;
    redis.kill();
    let trouble = async || house.engine.outside()["redis"].trouble.clone();
    until("it is said", trouble).await;
    redis.again().await;
    until("all is well again", async || house.engine.outside()["redis"].trouble.is_none().then_some(())).await;
    // What comes after that came after all that the bridge made up for.
    let last = house.add("t", "5", None).await;
    let after = redis.tokens(STREAM, 6).await;
    assert_eq!((&after[..5], after.len()), (&tokens[..], 6));
    for token in &after {
        redis.signal(&done(token, token["payload"].clone())).await;
    }
    for (number, task) in tasks.into_iter().chain([last]).enumerate() {
        assert_eq!((house.end(task).await, house.output(task)), ("done".into(), number.to_string()));
        assert_eq!(house.story(task), "leased; done");
    }
    nothing_is_left(&redis).await;
}

/// The script has run and its answer is lost with the line: nobody can tell that from one that has not.
#[tokio::test(flavor = "multi_thread")]
async fn a_line_that_breaks_before_its_answer_doubles_nothing() {
    let (mut house, redis) = (House::open(), Redis::start().await);
    let between = Between::start(redis.port).await;
    let _bridge = bridge_with(&house, Options { url: Address::parse(&between.url()).unwrap(), ..options(&redis) });
    let engine = house.engine.clone();
    let is_connected = async || (engine.outside().get("redis")?.trouble.is_none()).then_some(());
    let cut = async || {
        between.cut();
        until("it is noticed", async || engine.outside()["redis"].trouble.clone()).await;
        until("it is connected again", is_connected).await;
    };
    until("it is connected", is_connected).await;
    for number in 0..3 {
        // Not of the first: Redis is told the scripts with it.
        between.keep_answers(number > 0);
        let task = house.add("t", &number.to_string(), None).await;
        let tokens = redis.tokens(STREAM, 1).await;
        cut().await;
        // And so it is with a signal that is moved from the list.
        between.keep_answers(true);
        redis.signal(&done(&tokens[0], tokens[0]["payload"].clone())).await;
        let mut line = redis.line().await;
        until("it is moved", async || (line.llen::<_, usize>(SIGNALS).await.unwrap() == 0).then_some(())).await;
        cut().await;
        assert_eq!((house.end(task).await, house.output(task)), ("done".into(), number.to_string()));
        assert_eq!((house.story(task).as_str(), tokens.len()), ("leased; done", 1));
        nothing_is_left(&redis).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_whose_commit_failed_is_told_again_and_counts_once() {
    for fault in [Fault::CommitLost, Fault::CommitKept] {
        let (mut house, redis) = (House::open(), Redis::start().await);
        let _bridge = bridge(&house, &redis);
        let task = house.add("t", "1", None).await;
        let token = redis.tokens(STREAM, 1).await.remove(0);
        house.until(task, |record| matches!(record, Record::TaskLeased { .. })).await;
        house.disk.inject(fault);
        redis.signal(&done(&token, json!(2))).await;
        assert_eq!((house.end(task).await, house.output(task)), ("done".into(), "2".into()), "{fault:?}");
        assert_eq!((house.disk.hits(fault), house.story(task).as_str()), (1, "leased; done"), "{fault:?}");
        nothing_is_left(&redis).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_token_is_called_off() {
    let (mut house, redis) = (House::open(), Redis::start().await);
    let _bridge = bridge(&house, &redis);
    let task = house.add("t", "1", None).await;
    let token = redis.tokens(STREAM, 1).await.remove(0);
    let client = redis::Client::open(redis.url()).unwrap();
    let (told, mut heard) = tokio::sync::mpsc::unbounded_channel();
    let listener = std::thread::spawn(move || {
        let mut line = client.get_connection().unwrap();
        let mut channel = line.as_pubsub();
        channel.subscribe("wf.cancelled").unwrap();
        told.send(String::new()).unwrap();
        told.send(channel.get_message().unwrap().get_payload::<String>().unwrap()).unwrap();
    });
    assert_eq!(within(heard.recv()).await, Some(String::new()));
    house.cancel(task).await;
    assert_eq!(within(heard.recv()).await.as_deref(), token["id"].as_str());
    listener.join().unwrap();
    redis.signal(&json!({"job_id": token["id"], "status": "failed", "error": "stopped"})).await;
    assert_eq!(house.end(task).await, "cancelled");
    nothing_is_left(&redis).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_a_token_is_can_be_asked() {
    let (house, redis) = (House::open(), Redis::start().await);
    let _bridge = bridge(&house, &redis);
    house.add("t", "1", None).await;
    let token = redis.tokens(STREAM, 1).await.remove(0);
    let mut line = redis.line().await;
    let (task, fence) = token["id"].as_str().unwrap().split_once(':').unwrap();
    let (task, fence) = (TaskId::parse(task).unwrap(), kernel::ids::Fence::parse(fence).unwrap());
    let outside = house.engine.outside()["redis"].clone();
    let place = async || outside.where_is.ask(task, fence).await.unwrap();
    let stands = format!("token stands on the Redis stream `{STREAM}`");
    assert_eq!(
        place().await,
        format!("{stands}, which no consumer group reads; whether a plain XREAD has read it, Redis does not know")
    );
    let mut entry = String::new();
    for (command, sentence) in [
        ("XGROUP CREATE wf.tasks.t g 0", "; group `g` has not come to it, and has no consumers"),
        ("XGROUP CREATECONSUMER wf.tasks.t g c", "; group `g` has not come to it"),
        ("XREADGROUP GROUP g c STREAMS wf.tasks.t >", "; consumer `c` of group `g` took it * ago"),
        ("XCLAIM wf.tasks.t g d 0 ENTRY", "; consumer `d` of group `g` took it * ago (2 times given out)"),
        ("XACK wf.tasks.t g ENTRY", "; group `g` has acknowledged it, and no signal has counted"),
    ] {
        if entry.is_empty() {
            let known: String = line.hget("completion_signals:out", token["id"].as_str().unwrap()).await.unwrap();
            known.split_once(' ').unwrap().0.clone_into(&mut entry);
        }
        let command = command.replace("ENTRY", &entry);
        let mut words = command.split(' ');
        let mut asked = redis::cmd(words.next().unwrap());
        words.for_each(|word| _ = asked.arg(word));
        let _: redis::Value = asked.query_async(&mut line).await.unwrap();
        let place = place().await;
        let (before, after) = sentence.split_once('*').unwrap_or((sentence, ""));
        assert!(place.starts_with(&format!("{stands}{before}")) && place.ends_with(after), "{command}: {place}");
    }
    let _: usize = redis::cmd("XDEL").arg(STREAM).arg(&entry).query_async(&mut line).await.unwrap();
    let gone =
        format!("token was taken off the Redis stream `{STREAM}`; group `g` has acknowledged it, and no signal has counted");
    assert_eq!(place().await, gone);
    let _: usize = line.del(STREAM).await.unwrap();
    let gone = format!("token is no longer on the Redis stream `{STREAM}`: who took it off has not told how it went");
    assert_eq!(place().await, gone);
    assert_eq!(outside.where_is.ask(TaskId::new(99, 0), fence).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_older_server_will_do() {
    let (mut house, redis) = (House::open(), Redis::start_with(&["--rename-command", "BLMOVE", ""]).await);
    let _bridge = bridge(&house, &redis);
    for number in 0..3 {
        let task = house.add("t", &number.to_string(), None).await;
        let token = redis.tokens(STREAM, 1).await.remove(0);
        redis.signal(&done(&token, json!(number))).await;
        assert_eq!(house.end(task).await, "done");
        nothing_is_left(&redis).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redis_behind_tls_is_trusted_by_its_own_root_alone() {
    let (redis, port) = Redis::start_tls().await;
    for (host, roots, told) in [
        ("127.0.0.1", None, Some("UnknownIssuer")),
        // What it says of itself is not what signed it.
        ("127.0.0.1", Some("server.pem"), Some("certificate")),
        // That is not its name.
        ("localhost", Some("ca.pem"), Some("not valid for name")),
        ("127.0.0.1", Some("ca.pem"), None),
    ] {
        let mut house = House::open();
        let url = Address::parse(&format!("rediss://{host}:{port}/0")).unwrap();
        let url = roots.map_or(Ok(url.clone()), |roots| url.trusting(&tls(roots))).unwrap();
        let bridge = bridge_with(&house, Options { url, ..options(&redis) });
        let trouble = || house.engine.outside().get("redis").and_then(|outside| outside.trouble.clone());
        let task = house.add("t", "1", None).await;
        if let Some(told) = told {
            until("it is told", async || trouble().filter(|trouble| trouble.contains(told))).await;
            assert_eq!(redis.left(STREAM).await, (0, 0, 0), "nothing goes there");
        } else {
            let token = redis.tokens(STREAM, 1).await.remove(0);
            until("all is well", async || trouble().is_none().then_some(())).await;
            redis.signal(&done(&token, json!(7))).await;
            assert_eq!((house.end(task).await, house.output(task)), ("done".into(), "7".into()));
            nothing_is_left(&redis).await;
        }
        bridge.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn more_than_there_is_room_for_waits_its_turn() {
    let (mut house, redis) = (House::open(), Redis::start().await);
    let _bridge = bridge(&house, &redis);
    let mut tasks = Vec::new();
    for number in 0..500 {
        tasks.push(house.add("t", &number.to_string(), None).await);
    }
    let worker = {
        let url = redis.url();
        tokio::spawn(async move {
            let mut line = redis::Client::open(url).unwrap().get_multiplexed_async_connection().await.unwrap();
            let mut most = 0usize;
            loop {
                let length: usize = redis::cmd("XLEN").arg(STREAM).query_async(&mut line).await.unwrap();
                most = most.max(length);
                assert!(most <= 100, "{most} are out");
                let mut read = redis::cmd("XREAD");
                read.arg("COUNT").arg(50).arg("STREAMS").arg(STREAM).arg("0");
                let found: redis::Value = read.query_async(&mut line).await.unwrap();
                for token in server::tokens(&found) {
                    let signal = done(&token, token["payload"].clone()).to_string();
                    let _: usize = line.rpush(SIGNALS, signal).await.unwrap();
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        })
    };
    for (number, task) in tasks.iter().enumerate() {
        assert_eq!((house.end(*task).await, house.output(*task)), ("done".into(), number.to_string()));
        assert_eq!(leases(&house, *task), 1);
    }
    worker.abort();
}
