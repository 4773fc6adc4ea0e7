//! Tables over the wire: what is read is written again, what is not known is refused by name.

use super::*;
use serde::de::DeserializeOwned;

/// Reads `text` as a `T` and writes it again.
fn again<T: DeserializeOwned + Serialize>(text: &str) -> Result<String, String> {
    let value: T = serde_json::from_str(text).map_err(|error| error.to_string())?;
    Ok(serde_json::to_string(&value).unwrap())
}

fn check<T: DeserializeOwned + Serialize>(rows: &[&str]) {
    for row in rows {
        assert_eq!(again::<T>(row).as_deref(), Ok(*row));
    }
}

#[track_caller]
fn refused<T: DeserializeOwned + Serialize>(text: &str, why: &str) {
    let error = again::<T>(text).expect_err(text);
    assert!(error.contains(why), "{text}: {error}");
}

#[test]
fn requests_read_back_as_they_were_written() {
    check::<TaskAdd>(&[
        r#"{"type":"lint"}"#,
        r#"{"type":"lint","queue":"ci","input":{"b" : 1,"a":[1.50, "ü"]},"priority":600,"keys":{"tenant":"acme"},"tags":["x"],"blocked_by":["task-1","task-2.5"],"scheduled_for":"2026-11-15T08:57:00.250000Z","idempotency_key":"k 1","retry":{"attempts":5,"backoff_ms":1,"backoff_max_ms":2,"jitter_percent":3},"budget_ms":1000,"idle":true}"#,
        r#"{"type":"lint","delay_ms":5}"#,
    ]);
    check::<QueueConfig>(&[
        r#"{"concurrency":4,"rate":{"count":100,"per_ms":1000,"burst":20},"keys":{"tenant":{"concurrency":2}},"fairness":{"key":"tenant","step_ms":60000,"weights":{"acme":3}},"retry":{"attempts":3,"backoff_ms":1000,"backoff_max_ms":3600000,"jitter_percent":10},"heartbeat_ms":30000,"budget_ms":86400000,"backlog_max":10,"require_tag":"ok","override_slots":2,"idempotency_window_ms":86400000}"#,
    ]);
    check::<WorkPoll>(&[
        r#"{"worker":"py-1","types":["lint"],"want":32,"wait_ms":20000,"results":[{"task":"task-9m2","fence":"k7","status":"done","output":{}},{"task":"task-9m3","fence":"k8","status":"failed","error":{"code":"http_503","message":"…"},"retryable":true,"retry_after_ms":3000},{"task":"task-9m4","fence":"k9","status":"released"}],"holding":[{"task":"task-9m5","fence":"ka","progress":0.4}]}"#,
    ]);
    check::<QueuePause>(&["{}", r#"{"for_ms":1000,"reason":"deploy","by":"ana"}"#]);
    check::<QueueReprioritize>(&[
        r#"{"priority":600,"tasks":["task-1"]}"#,
        r#"{"priority":0,"boost":true,"key":{"name":"tenant","value":"acme"}}"#,
        r#"{"priority":-5,"filter":{"type":"lint","tag":"x"}}"#,
    ]);
}

#[test]
fn answers_read_back_as_they_were_written() {
    check::<TaskView>(&[
        r#"{"task":"task-9m2","queue":"ci","type":"lint","status":"running","priority":0,"attempt":1,"created_at":"2026-11-15T08:57:00.000000Z","keys":{},"tags":[],"blocked_by":[],"lease":{"worker":"py-1","fence":"k7","since":"2026-11-15T08:57:00.000000Z","heartbeat_ms":30000,"budget_until":"2026-11-16T08:57:00.000000Z","ending":"timed_out"},"input":{"a":  1}}"#,
    ]);
    check::<RecordView>(&[
        r#"{"seq":"r7","at":"2026-11-15T08:57:00.000000Z","owner":"task-9m2","record":{"record":"task_done"}}"#,
        r#"{"seq":"r8","at":"2026-11-15T08:57:00.000000Z","owner":"queue:ci","record":{"record":"queue_boosted","key":{"name":"a","value":"b"},"seconds":5,"by":"ana"}}"#,
    ]);
    check::<BulkAnswer>(&[r#"{"bulk":"bulk-3"}"#, r#"{"changed":2,"skipped":1}"#, "{}"]);
    check::<ErrorBody>(&[r#"{"error":{"code":"limited","message":"m","fix":"f","retryable":true,"retry_after_ms":20}}"#]);
    check::<WorkAnswer>(&[
        r#"{"results":[{"task":"task-9m2","ok":true},{"task":"task-9m3","ok":false,"code":"lease_lost","message":"…"}],"holding":[{"task":"task-9m5","ok":true,"cancel":false,"heartbeat_ms":30000}],"tasks":[{"task":"task-9m6","fence":"kb","type":"lint","queue":"lint","attempt":1,"input":{},"heartbeat_ms":30000,"budget_ms":120000,"idempotency_key":"task-9m6"}],"stopping":false}"#,
    ]);
}

#[test]
fn what_a_client_sends_wrong_is_refused_by_name() {
    refused::<TaskAdd>(r#"{"type":"a","inptu":1}"#, "unknown field `inptu`, expected one of `type`, `queue`, `input`");
    refused::<TaskAdd>(r#"{"queue":"a"}"#, "missing field `type`");
    refused::<TaskAdd>(r#"{"type":"a b"}"#, "type `a b` may hold only letters");
    refused::<TaskAdd>(r#"{"type":"a","priority":"urgent"}"#, "expected critical, high, normal, background");
    refused::<TaskAdd>(r#"{"type":"a","priority":99999999999}"#, "at most ten years");
    refused::<TaskAdd>(r#"{"type":"a","blocked_by":["run-1"]}"#, "expected a task id");
    refused::<TaskAdd>(r#"{"type":"a","scheduled_for":"2026-11-15T08:57"}"#, "names no offset");
    refused::<TaskAdd>(r#"{"type":"a","scheduled_for":"12026-11-15T08:57Z"}"#, "is not a time");
    refused::<TaskAdd>(r#"{"type":"a","delay_ms":-1}"#, "invalid value: integer `-1`");
    refused::<TaskAdd>(r#"{"type":"a","retry":{"tries":1}}"#, "unknown field `tries`");
    refused::<TaskAdd>("{\"type\":\"a\",\"type\":\"b\"}", "duplicate field `type`");
    refused::<QueuePut>(r#"{"config":{"concurency":1}}"#, "unknown field `concurency`");
    refused::<QueueRedrive>(r#"{"filter":{"status":"dead"}}"#, "unknown field `status`");
    refused::<WorkPoll>(
        r#"{"worker":"w","types":["a"],"results":[{"task":"task-1","fence":"u","status":"done"}]}"#,
        "`u` is not a fence",
    );
    refused::<WorkPoll>(
        r#"{"worker":"w","types":["a"],"holding":[{"task":"task-1","fence":"1","pogress":1}]}"#,
        "unknown field `pogress`",
    );
    refused::<Signed>(r#"{"from":"me"}"#, "unknown field `from`");
    refused::<TaskQuery>(r#"{"status":"dead"}"#, "unknown variant `dead`");
    refused::<TaskQuery>(r#"{"key":"tenant"}"#, "`tenant` is not name=value");
}

#[test]
fn objects_are_named_field_by_field_at_every_depth() {
    refused::<TaskAdd>(r#"["lint"]"#, "invalid type: sequence, expected an object");
    refused::<TasksAdd>(r#"[[{"type":"a"}]]"#, "expected an object");
    refused::<TasksAdd>(r#"{"tasks":[["lint"]]}"#, "expected an object");
    refused::<Signed>(r#"["ana"]"#, "expected an object");
    refused::<Signed>("null", "invalid type: null, expected an object");
    refused::<TaskAdd>(r#"{"type":"a","retry":[3,1,2,3]}"#, "expected an object");
    refused::<WorkPoll>(r#"["w",["a"],[],1,0,[],[]]"#, "expected an object");
    refused::<WorkPoll>(r#"{"worker":"w","types":["a"],"holding":[["task-1","1",null]]}"#, "expected an object");
    refused::<WorkPoll>(
        r#"{"worker":"w","types":["a"],"results":[["task-1","1","done",null,null,null,null]]}"#,
        "expected an object",
    );
    refused::<WorkResult>(r#"{"task":"task-1","fence":"1","status":"failed","error":["e","m"]}"#, "expected an object");
    refused::<QueuePut>(r#"{"config":{"rate":[1,1000,1]}}"#, "expected an object");
    refused::<QueuePut>(r#"{"config":{"keys":{"k":[1,null]}}}"#, "expected an object");
    refused::<QueuePut>(r#"{"config":{"fairness":["k",1,{}]}}"#, "expected an object");
    refused::<QueuePut>(r#"{"config":[]}"#, "expected an object");
    refused::<QueueReprioritize>(r#"{"priority":1,"boost":true,"key":["a","b"]}"#, "expected an object");
    refused::<QueueRedrive>(r#"{"filter":[]}"#, "expected an object");
}

#[test]
fn what_does_not_fit_is_said_without_the_names_of_types() {
    for (body, said) in [
        (r#"{"worker":"w","types":["a"],"want":"3"}"#, "invalid type: string \"3\", expected a whole number in range, 0 or more"),
        (r#"{"worker":"w","types":["a"],"want":-1}"#, "invalid value: integer `-1`, expected a whole number in range, 0 or more"),
        (r#"{"worker":"w","types":{}}"#, "invalid type: object, expected a list"),
        (r#"{"worker":", expected u64","types":1}"#, "worker `, expected u64` may hold only"),
        (r#"{"worker":"w","types":["a"],"holding":[{"task":"task-1","fence":"1","progress":"x"}]}"#, "expected a number at"),
        (r#"["w"]"#, "invalid type: list, expected an object at line 1"),
    ] {
        let problem = Problem::from(serde_json::from_str::<WorkPoll>(body).unwrap_err());
        assert!(problem.message.contains(said), "{body}: {}", problem.message);
        assert!(problem.fix.contains("/openapi.json"), "{}", problem.fix);
    }
    let problem = Problem::from(serde_json::from_str::<WorkPoll>("{").unwrap_err());
    assert!(problem.message.starts_with("this is not JSON") && problem.fix.contains("/openapi.json"), "{problem:?}");
}

#[test]
fn a_task_is_checked_whole_before_it_becomes_a_command() {
    let many = |entry: &str, count: usize| vec![entry; count].join(",");
    let keys = (0..9).map(|n| format!("\"k{n}\":\"v\"")).collect::<Vec<_>>().join(",");
    for (body, why) in [
        (format!(r#""keys":{{{keys}}}"#), "keys holds 9 entries"),
        (format!(r#""tags":[{}]"#, many("\"t\"", 17)), "tags holds 17 entries"),
        (format!(r#""blocked_by":[{}]"#, many("\"task-1\"", 65)), "blocked_by holds 65 entries"),
        (r#""scheduled_for":"2026-11-15T08:57:00Z","delay_ms":1"#.into(), "exclude each other"),
        (r#""delay_ms":18446744073709551615"#.into(), "beyond the year 9999"),
        (r#""budget_ms":0"#.into(), "budget_ms must lie between"),
        (r#""retry":{"attempts":0}"#.into(), "retry.attempts must lie between"),
        (format!(r#""input":"{}""#, "x".repeat(256 * 1024)), "input is 262146 bytes"),
    ] {
        let add: TaskAdd = serde_json::from_str(&format!(r#"{{"type":"a",{body}}}"#)).unwrap();
        let problem = add.into_new_task().expect_err(why);
        assert!(problem.message.contains(why), "{why}: {}", problem.message);
    }
    let add: TaskAdd = serde_json::from_str(r#"{"type":"lint","tags":["b","a","b"],"input":{"x": 1},"delay_ms":7}"#).unwrap();
    let task = add.into_new_task().unwrap();
    assert_eq!((task.spec.queue.as_str(), task.delay_ms, task.input.text()), ("lint", 7, r#"{"x": 1}"#));
    assert_eq!(task.spec.tags.iter().map(|tag| tag.as_str()).collect::<Vec<_>>(), ["b", "a"]);
}

#[test]
fn a_result_says_one_thing_only() {
    for (body, outcome) in [
        (r#""status":"done""#, "Done { output: Payload(\"null\") }"),
        (r#""status":"done","output":[1]"#, "Done { output: Payload(\"[1]\") }"),
        (r#""status":"done","retryable":true"#, "a task that is done has an output and no error"),
        (
            r#""status":"failed""#,
            "Failed { failure: Failure { code: \"failed\", message: \"\" }, retryable: true, retry_after_ms: None }",
        ),
        (r#""status":"failed","output":1"#, "a task that failed has an error and no output"),
        (r#""status":"failed","retry_after_ms":604800001"#, "retry_after_ms may be at most 604800000"),
        (r#""status":"released""#, "Released"),
        (r#""status":"released","output":1"#, "a task that is released has neither output nor error"),
    ] {
        let result: WorkResult = serde_json::from_str(&format!(r#"{{"task":"task-1","fence":"1",{body}}}"#)).unwrap();
        let said = result.outcome().map_or_else(|problem| problem.message, |outcome| format!("{outcome:?}"));
        assert_eq!(said, outcome);
    }
}

#[test]
fn commands_over_many_say_which_exactly_once() {
    for (body, legal) in [
        (r#"{"priority":1}"#, false),
        (r#"{"priority":1,"tasks":[]}"#, false),
        (r#"{"priority":1,"tasks":["task-1"],"boost":true}"#, false),
        (r#"{"priority":1,"key":{"name":"a","value":"b"}}"#, false),
        (r#"{"priority":"high","boost":true}"#, true),
        (r#"{"priority":1,"filter":{}}"#, true),
    ] {
        assert_eq!(serde_json::from_str::<QueueReprioritize>(body).unwrap().on().is_ok(), legal, "{body}");
    }
    for (body, legal) in [
        ("{}", false),
        (r#"{"filter":{}}"#, true),
        (r#"{"filter":{},"per_s":0}"#, false),
        (r#"{"tasks":["task-1"],"per_s":1}"#, false),
        (r#"{"tasks":["task-1"]}"#, true),
    ] {
        assert_eq!(serde_json::from_str::<QueueRedrive>(body).unwrap().on().is_ok(), legal, "{body}");
    }
}

#[test]
fn the_mirrored_shapes_agree_with_the_kernels() {
    let kernel = kernel::queue::QueueConfig::default();
    assert_eq!(serde_json::to_value(QueueConfig::default()).unwrap(), serde_json::to_value(&kernel).unwrap());
    assert_eq!(QueueConfig::default().into_kernel().unwrap(), kernel);
    for status in kernel::task::Status::ALL {
        assert_eq!(serde_json::to_value(Status::from(status)).unwrap(), status.as_str());
    }
    for code in kernel::rejection::Rejection::CODES {
        assert!(CODES.iter().any(|(known, _)| *known == code), "{code} has no HTTP status");
    }
}

#[test]
fn every_record_keeps_its_kind_on_the_wire() {
    use kernel::names::Actor;
    use kernel::record::Record;
    let by = Actor::parse("ana").unwrap();
    for record in [
        Record::TaskReset { by: by.clone() },
        Record::TaskDone { digest: u64::MAX },
        Record::QueueResumed { by, expired: true },
        Record::PermitsForgotten {},
        Record::BulkFinished { items: 1, skipped: 2 },
    ] {
        let body = serde_json::to_value(RecordBody::from(&record)).unwrap();
        assert_eq!(body["record"], record.kind());
        assert!(!body.to_string().contains("digest"));
    }
    let newer = r#"{"seq":"r1","at":"2026-11-15T08:57:00Z","owner":"run-1","record":{"record":"run_dreamt","x":1}}"#;
    assert!(matches!(serde_json::from_str::<RecordView>(newer).unwrap().record, RecordBody::Unknown));
}

#[test]
fn a_stream_filter_names_what_it_does_not_know() {
    let query = |queue: &str, task: &str, record: &str| {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        StreamQuery { queue: given(queue), task: given(task), record: given(record), run: None, logs: false }.filter()
    };
    assert_eq!(query("", "", "").unwrap(), StreamFilter::default());
    assert_eq!(query("ci,lint", "task-1,task-2", "task_done").unwrap().tasks.len(), 2);
    assert!(query("a b", "", "").unwrap_err().message.contains("queue `a b`"));
    assert!(query("", "task-1,", "").unwrap_err().message.contains("`` is not a task id"));
    let of_run = |run: &str| StreamQuery { run: Some(run.into()), ..StreamQuery::default() }.filter();
    assert_eq!(of_run("run-1,run-2").unwrap().runs.len(), 2);
    assert!(of_run("task-1").unwrap_err().message.contains("`task-1` is not a run id"));
    assert!(query("", "", "task_dnoe").unwrap_err().message.contains("task_done"));
}

#[test]
fn a_place_that_is_nearly_one_is_written_as_it_would_be() {
    for (text, meant) in [
        ("rounds/step", Some("rounds[0]/step")),
        ("rounds[1]/check[2]/lint", Some("rounds[1].check[2]/lint")),
        ("rounds[1@2].check/lint", Some("rounds[1@2].check[0]/lint")),
        ("rounds[1].check[2]/lint", None),
        ("pay", None),
        ("rounds[x]/lint", None),
        ("a b/lint", None),
        ("/", None),
    ] {
        assert_eq!(place_meant(text).as_deref(), meant, "{text}");
    }
}
