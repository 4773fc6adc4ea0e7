//! What is checked. Each check gives a sentence when the worker does not do as it should.

use super::yard::{Done, HEARTBEAT_MS, Yard, still_worked_at};
use doors::wire::{RecordBody, RecordView};
use rustix::process::Signal;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

pub struct Check {
    pub name: &'static str,
    pub what: &'static str,
    pub run: fn(&mut Yard) -> Done,
}

pub const CHECKS: [Check; 11] = [
    Check { name: "echo", what: "values of every kind come back as they went", run: echo },
    Check { name: "many", what: "many tasks are done, each by its first attempt", run: many },
    Check { name: "fail", what: "a failure is told with its code and message, and that it is final", run: fail },
    Check { name: "retry", what: "a failure that may pass is tried again, and not before it was asked for", run: retry },
    Check { name: "large", what: "a large output arrives; one that is too large fails its task alone", run: large },
    Check { name: "heartbeat", what: "work that takes longer than a heartbeat keeps its lease", run: heartbeat },
    Check { name: "cancel", what: "a cancelled task is stopped, and that is told", run: cancel },
    Check { name: "fence", what: "a result that comes too late is dropped, and the worker goes on", run: fence },
    Check { name: "server-restart", what: "a server that dies and comes back loses no result", run: server_restart },
    Check { name: "worker-restart", what: "a worker that dies and comes back finds its work again", run: worker_restart },
    Check { name: "stop", what: "told to stop, it finishes or hands back what it does, and ends", run: stop },
];

fn echo(yard: &mut Yard) -> Done {
    let values = [
        json!(null),
        json!(true),
        json!(0),
        json!(-7),
        json!(1.5),
        json!(9_007_199_254_740_991i64),
        json!(""),
        json!("größe \u{1F980} \"quoted\"\n\\ \u{7f}"),
        json!([]),
        json!({}),
        json!({"a": [1, {"b": null}], "": "empty key", "ключ": ["значение"]}),
        json!("x".repeat(20_000)),
    ];
    let mut tasks = Vec::new();
    for value in &values {
        tasks.push(yard.add(&json!({"do": "echo", "value": value}))?);
    }
    for (task, value) in tasks.into_iter().zip(&values) {
        yard.gives(task, value)?;
    }
    Ok(())
}

fn first_attempt(shown: &Value) -> Done {
    if shown["attempt"] == 1 {
        return Ok(());
    }
    Err(format!("{} took {} attempts, and should have taken one", shown["task"], shown["attempt"]))
}

fn many(yard: &mut Yard) -> Done {
    let mut tasks = Vec::new();
    for number in 0..200 {
        tasks.push((number, yard.add(&json!({"do": "echo", "value": number}))?));
    }
    for (number, task) in tasks {
        first_attempt(&yard.gives(task, &json!(number))?)?;
    }
    Ok(())
}

fn fail(yard: &mut Yard) -> Done {
    let input = json!({"do": "fail", "code": "no_such_file", "message": "größe.txt is not there", "retryable": false});
    let task = yard.add(&input)?;
    let ended = yard.ends(task)?;
    first_attempt(&ended)?;
    let error = &ended["error"];
    if ended["status"] != "failed" || error["code"] != "no_such_file" || error["message"] != "größe.txt is not there" {
        return Err(format!(
            "{task} should have failed with `no_such_file: größe.txt is not there`, and is {}: {error}",
            ended["status"]
        ));
    }
    Ok(())
}

fn retry(yard: &mut Yard) -> Done {
    let task = yard.add_with(&json!({"do": "fail", "code": "busy", "message": "not now", "retryable": true}), 3)?;
    let ended = yard.ends(task)?;
    if ended["status"] != "failed" || ended["attempt"] != 3 || ended["error"]["code"] != "busy" {
        return Err(format!(
            "{task} should have failed with `busy` at its third attempt, and is {} at attempt {}: {}",
            ended["status"], ended["attempt"], ended["error"]
        ));
    }
    let input = json!({"do": "fail", "code": "limited", "message": "later", "retryable": true, "retry_after_ms": 1_200});
    let task = yard.add_with(&input, 2)?;
    yard.ends(task)?;
    let history = yard.history(task)?;
    let failed = history.records.iter().find(|record| matches!(record.record, RecordBody::TaskRetried { .. }));
    let again = history.records.iter().rfind(|record| matches!(record.record, RecordBody::TaskLeased { .. }));
    let (Some(failed), Some(again)) = (failed, again) else {
        return Err(format!("{task} should have been tried twice"));
    };
    let waited = again.at.0.ms_since(failed.at.0);
    if waited < 1_200 {
        Err(format!("{task} was tried again after {waited} ms; `retry_after_ms` 1200 was not handed on"))
    } else {
        Ok(())
    }
}

fn large(yard: &mut Yard) -> Done {
    let task = yard.add(&json!({"do": "grow", "bytes": 200_000}))?;
    yard.gives(task, &json!("x".repeat(200_000)))?;
    let task = yard.add_with(&json!({"do": "grow", "bytes": 2_000_000}), 1)?;
    let ended = yard.ends(task)?;
    if ended["status"] != "failed" {
        return Err(format!("{task} gave more than an output may have, and is {}", ended["status"]));
    }
    let task = yard.add(&json!({"do": "echo", "value": "still here"}))?;
    yard.gives(task, &json!("still here")).map(|_| ())
}

fn heartbeat(yard: &mut Yard) -> Done {
    let task = yard.add_with(&json!({"do": "sleep", "ms": 5_000, "value": "slept"}), 1)?;
    first_attempt(&yard.gives(task, &json!("slept"))?)
}

fn cancel(yard: &mut Yard) -> Done {
    let task = yard.add_with(&json!({"do": "wait"}), 1)?;
    yard.runs(task)?;
    // One that falls silent would seem to have heard of it.
    let known = Instant::now() + Duration::from_millis(2 * HEARTBEAT_MS);
    let stands = yard.until(task, "", |task| task["status"] != "running" || Instant::now() >= known)?;
    if stands["error"]["code"] == "worker_lost" {
        return Err(format!("{task} was not kept alive until it is cancelled: {}", stands["error"]["message"]));
    }
    still_worked_at(task, &stands)?;
    yard.post(&format!("/v1/tasks/{task}/cancel"), &json!({"by": "worker-check", "reason": "a check"}))?;
    yard.until(task, "was cancelled, and the worker did not say that it stopped", |task| task["status"] == "cancelled")?;
    // By the worker, not because it was silent for too long.
    let silent = |record: &RecordView| format!("{:?}", record.record).contains("worker_lost");
    if yard.history(task)?.records.iter().any(silent) {
        return Err(format!("{task} was cancelled, and the worker fell silent"));
    }
    let task = yard.add(&json!({"do": "echo", "value": 1}))?;
    yard.gives(task, &json!(1)).map(|_| ())
}

fn fence(yard: &mut Yard) -> Done {
    let task = yard.add(&json!({"do": "sleep", "ms": 800, "value": "late"}))?;
    yard.runs(task)?;
    yard.signal_worker(Signal::STOP);
    let lost = yard.until(task, "kept its lease though its worker was frozen", |task| task["status"] == "queued");
    yard.signal_worker(Signal::CONT);
    lost?;
    let ended = yard.gives(task, &json!("late"))?;
    if ended["attempt"] != 2 {
        return Err(format!("{task} should be done at its second attempt, and took {}", ended["attempt"]));
    }
    let task = yard.add(&json!({"do": "echo", "value": "alive"}))?;
    yard.gives(task, &json!("alive")).map(|_| ())
}

fn server_restart(yard: &mut Yard) -> Done {
    let mut tasks = Vec::new();
    for number in 0..60 {
        tasks.push((number, yard.add(&json!({"do": "sleep", "ms": 30, "value": number}))?));
    }
    yard.ends(tasks[5].1)?;
    yard.kill_server();
    std::thread::sleep(Duration::from_millis(400));
    yard.start_server()?;
    for (number, task) in tasks {
        first_attempt(&yard.gives(task, &json!(number))?)?;
    }
    // One that ends while the server is away. It runs for so long that the worker has surely got it and named it: given out a second
    // time, it was forgotten, even if that burns no attempt, because a server that comes back believes it was never delivered.
    let task = yard.add(&json!({"do": "sleep", "ms": HEARTBEAT_MS + 500, "value": "meanwhile"}))?;
    yard.runs(task)?;
    std::thread::sleep(Duration::from_millis(HEARTBEAT_MS + 100));
    yard.kill_server();
    // So long that one who waits longer and longer between its tries would now be late.
    std::thread::sleep(Duration::from_millis(2 * HEARTBEAT_MS));
    yard.start_server()?;
    yard.gives(task, &json!("meanwhile"))?;
    let leased =
        yard.history(task)?.records.iter().filter(|record| matches!(record.record, RecordBody::TaskLeased { .. })).count();
    if leased > 1 {
        return Err(format!(
            "{task} was done while the server was away, and done again: its result was not told until it was answered"
        ));
    }
    if yard.is_working() { Ok(()) } else { Err("the worker ended when its server did".into()) }
}

fn worker_restart(yard: &mut Yard) -> Done {
    let task = yard.add(&json!({"do": "sleep", "ms": 500, "value": "again"}))?;
    yard.runs(task)?;
    yard.kill_worker();
    yard.start_worker()?;
    yard.gives(task, &json!("again")).map(|_| ())
}

fn stop(yard: &mut Yard) -> Done {
    let task = yard.add(&json!({"do": "sleep", "ms": 1_000, "value": "done"}))?;
    yard.runs(task)?;
    yard.signal_worker(Signal::TERM);
    let status = yard.worker_ends()?;
    if status.code() != Some(0) {
        return Err(format!("told to stop (SIGTERM), it ended with {status}, and should end with 0"));
    }
    let shown = yard.task(task)?;
    let kept = (shown["status"] == "done" && shown["attempt"] == 1) || shown["status"] == "queued";
    if !kept {
        return Err(format!("{task} should be done, or handed back, when the worker has ended, and is {}", shown["status"]));
    }
    yard.start_worker()?;
    first_attempt(&yard.gives(task, &json!("done"))?).map_err(|why| format!("{why}: handing back burns none"))
}
