//! Every operation of the HTTP API at its best and at its worst, on the real binary. A row is a request and what must
//! come back; every row is also held against the server's own description.

mod described;
mod server;
mod talk;

use described::Described;
use serde_json::Value;
use server::Server;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

struct Api {
    server: Server,
    described: Described,
    /// Names that rows gave to values (`$task`), for later rows.
    names: RefCell<BTreeMap<String, Value>>,
    /// Operations that were answered well, and refused.
    seen: RefCell<(BTreeSet<String>, BTreeSet<String>)>,
    folder: tempfile::TempDir,
}

impl Api {
    fn start() -> Api {
        let folder = tempfile::tempdir().unwrap();
        // Rows leave leases open; nobody is going to finish them.
        let server =
            Server::start_with(&folder.path().join("data"), 0, &["--stop-limit", "100ms"], &[("HTTP_TEST_SECRET", "hush")]);
        let described = Described::new(server.get("/openapi.json"));
        Api { server, described, names: RefCell::default(), seen: RefCell::default(), folder }
    }

    /// `METHOD path [^header=value] [body] -> status [code] [/pointer=json …]`. `$name` stands for a value: the first one to meet it
    /// gives it its meaning. `-` is nothing there. `~>` instead of `->`: sooner or later.
    #[track_caller]
    fn check(&self, row: &str) {
        let (sent, expected, patient) = match (row.split_once(" -> "), row.split_once(" ~> ")) {
            (Some((sent, expected)), _) => (sent, expected, false),
            (None, Some((sent, expected))) => (sent, expected, true),
            (None, None) => panic!("`{row}` expects nothing"),
        };
        let deadline = Instant::now() + talk::PATIENCE;
        while let Err(wrong) = self.row(&self.named(sent), expected) {
            assert!(patient && Instant::now() < deadline, "{row}\n{wrong}");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    #[track_caller]
    fn rows(&self, rows: &[&str]) {
        rows.iter().for_each(|row| self.check(row));
    }

    fn named(&self, text: &str) -> String {
        let names = self.names.borrow();
        let mut names: Vec<_> = names.iter().collect();
        names.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        names.iter().fold(text.to_owned(), |text, (name, value)| text.replace(&format!("${name}"), &plain(value)))
    }

    #[track_caller]
    fn row(&self, sent: &str, expected: &str) -> Result<(), String> {
        let mut words = sent.splitn(3, ' ');
        let (method, path, rest) = (words.next().unwrap(), words.next().unwrap(), words.next());
        let with = rest.and_then(|rest| rest.strip_prefix('^')).map(|rest| rest.split_once(' ').expect("a header and a body"));
        let header = with.map(|(header, _)| header.split_once('=').expect("name=value"));
        let body = with.map(|(_, body)| body).or(rest);
        let body: Option<Value> = body.map(|body| serde_json::from_str(body).unwrap_or_else(|_| panic!("`{body}`")));
        let (status, answer) = match header {
            None => self.server.ask(method, path, body.as_ref()),
            Some(header) => {
                let text = body.as_ref().map(Value::to_string).unwrap_or_default();
                let headers = [("content-type", "application/json"), header];
                let answer = talk::ask(self.server.port, method, path, &headers, text.as_bytes()).expect("an answer");
                (answer.status, answer.json())
            }
        };
        let refused = status >= 400;
        let code = if refused { talk::refusal(status, &answer, sent) } else { String::new() };
        if let Some(operation) = self.described.operation(method, path) {
            if let Some(body) = body.as_ref().filter(|_| !refused) {
                self.described.check_request(&operation, body);
            }
            self.described.check_answer(&operation, status, &answer);
            let name = format!("{} {}", operation.method, operation.template);
            let mut seen = self.seen.borrow_mut();
            if refused {
                seen.1.insert(name)
            } else {
                seen.0.insert(name)
            };
        }
        let mut wanted = expected.split(' ');
        let wrong = |what: &str| Err(format!("{what}, but: {status} {answer}"));
        if wanted.next().unwrap() != status.to_string() {
            return wrong("another status is expected");
        }
        for wanted in wanted {
            match wanted.split_once('=').filter(|_| wanted.starts_with('/')) {
                None if wanted == code => {}
                None => return wrong(wanted),
                Some((pointer, value)) if !self.holds(&answer, pointer, value) => return wrong(wanted),
                Some(_) => {}
            }
        }
        Ok(())
    }

    fn holds(&self, answer: &Value, pointer: &str, value: &str) -> bool {
        let found = answer.pointer(pointer);
        if value == "-" {
            return found.is_none();
        }
        let Some(found) = found else { return false };
        if let Some(name) = value.strip_prefix('$')
            && !self.names.borrow().contains_key(name)
        {
            self.names.borrow_mut().insert(name.to_owned(), found.clone());
            return true;
        }
        let value = if value.starts_with('$') { format!("\"{value}\"") } else { value.to_owned() };
        let value = self.named(&value);
        *found == serde_json::from_str::<Value>(&value).unwrap_or_else(|_| panic!("`{value}` is not JSON"))
    }

    /// A new task of a type of its own, brought into this state; its name is `$task`.
    fn task_in(&self, state: &str, number: usize) {
        self.names.borrow_mut().remove("task");
        self.names.borrow_mut().remove("fence");
        let add = format!(r#"POST /v1/tasks {{"type":"state-{number}","idle":{}}} -> 201 /task=$task"#, state == "idle");
        self.check(&add);
        if ["running", "done", "failed"].contains(&state) {
            let poll = format!(r#"{{"worker":"state-{number}","types":["state-{number}"],"want":1}}"#);
            self.check(&format!("POST /v1/work {poll} -> 200 /tasks/0/task=$task /tasks/0/fence=$fence"));
        }
        let result = match state {
            "done" => r#""status":"done","output":[1]"#,
            "failed" => r#""status":"failed","retryable":false,"error":{"code":"boom","message":"m"}"#,
            "cancelled" => {
                return self.check(r#"POST /v1/tasks/$task/cancel {"by":"ana","reason":"enough"} -> 200 /status="cancelled""#);
            }
            _ => return,
        };
        let result = format!(r#"{{"task":"$task","fence":"$fence",{result}}}"#);
        self.check(&format!(
            r#"POST /v1/work {{"worker":"state-{number}","types":[],"results":[{result}]}} -> 200 /results/0/ok=true"#
        ));
    }
}

const STATES: [&str; 6] = ["idle", "queued", "running", "done", "failed", "cancelled"];

/// What becomes of a task in each state: its new status, or 409 where the verb does not fit.
const VERBS: [(&str, [&str; 6]); 5] = [
    ("POST /v1/tasks/$task/cancel", ["409", "cancelled", "running", "409", "409", "cancelled"]),
    ("POST /v1/tasks/$task/retry", ["queued", "409", "409", "409", "queued", "queued"]),
    ("POST /v1/tasks/$task/reset", ["idle", "idle", "409", "idle", "idle", "idle"]),
    ("POST /v1/tasks/$task/start", ["queued", "queued", "409", "409", "409", "409"]),
    ("DELETE /v1/tasks/$task?by=ana", ["idle", "cancelled", "409", "done", "failed", "cancelled"]),
];

fn verbs_fit_states(api: &Api) {
    let mut number = 0;
    for (verb, ends) in VERBS {
        for (state, end) in STATES.into_iter().zip(ends) {
            number += 1;
            api.task_in(state, number);
            api.check(&format!(r#"GET /v1/tasks/$task -> 200 /status="{state}""#));
            api.check(&format!(r#"GET /v1/tasks/$task/explain -> 200 /task=$task /status="{state}""#));
            api.check(r#"GET /v1/tasks/$task/history -> 200 /records/0/record/record="task_added" /records/0/owner=$task"#);
            api.check("GET /v1/tasks/$task/log -> 200 /lines=[] /dropped=0");
            match end {
                "409" => api.check(&format!("{verb} -> 409 wrong_state")),
                end => api.check(&format!(r#"{verb} -> 200 /task=$task /status="{end}""#)),
            }
            match verb.starts_with("DELETE") && end != "409" {
                true => api.check("GET /v1/tasks/$task -> 404 task_not_found"),
                false => {
                    api.check(&format!(r#"GET /v1/tasks/$task -> 200 /status="{}""#, if end == "409" { state } else { end }))
                }
            }
        }
    }
    for id in ["task-zzz", "task-zzz.5", "task-01", "bulk-1", "nonsense", "%00"] {
        for (verb, _) in VERBS {
            api.check(&format!("{} -> 404 task_not_found", verb.replace("$task", id)));
        }
        for look in ["", "/explain", "/history", "/log"] {
            api.check(&format!("GET /v1/tasks/{id}{look} -> 404 task_not_found"));
        }
    }
}

const ADDING: &[&str] = &[
    r#"POST /v1/tasks {"type":"plain"} -> 201 /task=$plain /duplicate=false"#,
    r#"GET /v1/tasks/$plain -> 200 /queue="plain" /type="plain" /status="queued" /priority=0 /attempt=0 /keys={} /tags=[] /input=null /output=-"#,
    r#"POST /v1/tasks {"type":"lint","queue":"ci","input":{"b":1,"a":[1.5,"ü"]},"priority":"high","keys":{"tenant":"acme","repo":"x"},"tags":["x","y","x"],"blocked_by":["$plain"],"scheduled_for":"2099-01-01T00:00:00+02:00","idempotency_key":"k-1","retry":{"attempts":5,"backoff_ms":1,"backoff_max_ms":2,"jitter_percent":0},"budget_ms":60000} -> 201 /task=$full"#,
    r#"GET /v1/tasks/$full -> 200 /queue="ci" /priority=600 /keys={"repo":"x","tenant":"acme"} /tags=["x","y"] /blocked_by=["$plain"] /ready_at="2098-12-31T22:00:00.000000Z" /idempotency_key="k-1" /input={"b":1,"a":[1.5,"ü"]}"#,
    r#"GET /v1/tasks/$full/history -> 200 /records/0/record/spec/retry/attempts=5 /records/0/record/spec/budget_ms=60000 /records/1=-"#,
    r#"GET /v1/tasks/$full/explain -> 200 /blocked_on/0/code="blocked_by""#,
    // The same key in the same queue is the same task, whatever else is said; in another queue it is another.
    r#"POST /v1/tasks {"type":"other","queue":"ci","idempotency_key":"k-1"} -> 200 /task=$full /duplicate=true"#,
    r#"POST /v1/tasks {"type":"same","input":{"a":1,"b":[2]},"idempotency_key":"k-2"} -> 201 /task=$same /input_differs=-"#,
    r#"POST /v1/tasks {"type":"same","input":{"b":[2],"a":1},"idempotency_key":"k-2"} -> 200 /task=$same /duplicate=true /input_differs=-"#,
    r#"POST /v1/tasks {"type":"same","input":{"a":2},"idempotency_key":"k-2"} -> 200 /task=$same /duplicate=true /input_differs=true"#,
    r#"POST /v1/tasks/batch {"tasks":[{"type":"same"},{"type":"same","idempotency_key":"k-2"},{"type":"same","input":{"a":1,"b":[2]},"idempotency_key":"k-2"},{"type":"same","input":3,"idempotency_key":"k-3"},{"type":"same","input":4,"idempotency_key":"k-3"}]} -> 201 /tasks/0/input_differs=- /tasks/1/input_differs=true /tasks/2/duplicate=true /tasks/2/input_differs=- /tasks/3/duplicate=false /tasks/4/input_differs=true"#,
    r#"POST /v1/tasks {"type":"lint","queue":"cj","idempotency_key":"k-1"} -> 201 /duplicate=false"#,
    r#"POST /v1/tasks {"type":"later","delay_ms":3600000} -> 201 /task=$later"#,
    r#"GET /v1/tasks/$later/explain -> 200 /status="queued" /blocked_on/0/code="scheduled" /blocked_on/1=-"#,
    r#"POST /v1/tasks {"type":"last","priority":-31536000,"input":null} -> 201 /task=$last"#,
    r#"GET /v1/tasks/$last -> 200 /priority=-31536000 /input=null"#,
    r#"POST /v1/tasks/batch {"tasks":[{"type":"b"},{"type":"b","idempotency_key":"k"},{"type":"b","idempotency_key":"k","idle":true}]} -> 201 /tasks/0/duplicate=false /tasks/1/task=$twin /tasks/2/task=$twin /tasks/2/duplicate=true /tasks/3=-"#,
    // All of them or none.
    r#"POST /v1/tasks/batch {"tasks":[{"type":"none"},{"type":"none","blocked_by":["task-zzz"]}]} -> 409 blocker_not_found"#,
    r#"POST /v1/tasks/batch {"tasks":[{"type":"none"},{"type":"none","delay_ms":-1}]} -> 400 invalid"#,
    r#"GET /v1/tasks?type=none -> 200 /tasks=[] /next=null"#,
    r#"POST /v1/tasks/batch {"tasks":[]} -> 400 invalid"#,
    r#"POST /v1/tasks {} -> 400 invalid"#,
    r#"POST /v1/tasks -> 400 invalid"#,
    r#"POST /v1/tasks {"type":"a","blocked_by":["task-zzz"]} -> 409 blocker_not_found"#,
    r#"PUT /v1/queues/full {"config":{"backlog_max":1}} -> 200 /config/backlog_max=1"#,
    r#"POST /v1/tasks {"type":"full","idle":true} -> 201 /task=$spare"#,
    r#"POST /v1/tasks {"type":"full"} -> 201 /duplicate=false"#,
    r#"POST /v1/tasks {"type":"full"} -> 429 backlog_full"#,
    r#"POST /v1/tasks/$spare/retry -> 429 backlog_full"#,
];

const LISTING: &[&str] = &[
    r#"POST /v1/tasks/batch {"tasks":[{"type":"l-a","queue":"list","tags":["red"],"keys":{"tenant":"a=b"}},{"type":"l-b","queue":"list","tags":["red","blue"],"keys":{"tenant":"c"}},{"type":"l-b","queue":"list2","idle":true}]} -> 201 /tasks/0/task=$la /tasks/1/task=$lb /tasks/2/task=$lc"#,
    r#"GET /v1/tasks?queue=list -> 200 /tasks/0/task=$lb /tasks/0/input=- /tasks/1/task=$la /tasks/2=- /next=null"#,
    r#"GET /v1/tasks?type=l-b -> 200 /tasks/0/task=$lc /tasks/1/task=$lb /tasks/2=-"#,
    r#"GET /v1/tasks?queue=list2&status=idle -> 200 /tasks/0/task=$lc /tasks/1=-"#,
    r#"GET /v1/tasks?queue=list2&status=queued -> 200 /tasks=[]"#,
    r#"GET /v1/tasks?tag=red&queue=list -> 200 /tasks/0/task=$lb /tasks/1/task=$la /tasks/2=-"#,
    r#"GET /v1/tasks?tag=blue -> 200 /tasks/0/task=$lb /tasks/1=-"#,
    r#"GET /v1/tasks?key=tenant=c -> 200 /tasks/0/task=$lb /tasks/1=-"#,
    r#"GET /v1/tasks?key=tenant%3Da%3Db -> 200 /tasks/0/task=$la /tasks/1=-"#,
    r#"GET /v1/tasks?queue=list&limit=1 -> 200 /tasks/0/task=$lb /tasks/1=- /next=$page2"#,
    r#"GET /v1/tasks?queue=list&limit=1&cursor=$page2 -> 200 /tasks/0/task=$la /tasks/1=- /next=null"#,
    r#"GET /v1/tasks?queue=nowhere -> 200 /tasks=[] /next=null"#,
    r#"GET /v1/tasks?limit=1000 -> 200"#,
    r#"GET /v1/tasks?limit=0 -> 400 invalid"#,
    r#"GET /v1/tasks?limit=1001 -> 400 invalid"#,
    r#"GET /v1/tasks?limit=-1 -> 400 invalid"#,
    r#"GET /v1/tasks?limit=1e3 -> 400 invalid"#,
    r#"GET /v1/tasks?cursor=r7 -> 400 invalid"#,
    r#"GET /v1/tasks?status=dead -> 400 invalid"#,
    r#"GET /v1/tasks?key=tenant -> 400 invalid"#,
    r#"GET /v1/tasks?queue= -> 400 invalid"#,
    r#"GET /v1/tasks?queue=%FF -> 400 invalid"#,
    r#"GET /v1/tasks?queue=a&queue=b -> 400 invalid"#,
    r#"GET /v1/tasks?quque=list -> 400 invalid"#,
];

const STARTING: &[&str] = &[
    r#"PUT /v1/queues/now {"config":{"override_slots":1,"concurrency":1}} -> 200 /config/override_slots=1"#,
    r#"POST /v1/tasks/batch {"tasks":[{"type":"now"},{"type":"now"}]} -> 201 /tasks/0/task=$n1 /tasks/1/task=$n2"#,
    r#"POST /v1/tasks {"type":"now","blocked_by":["$n1"]} -> 201 /task=$n3"#,
    r#"POST /v1/tasks/$n3/start {"by":"ana"} -> 409 blocked"#,
    r#"POST /v1/tasks/$n3/start {"force":true} -> 200 /status="queued""#,
    r#"GET /v1/tasks/$n3 -> 200 /run_now=true"#,
    r#"POST /v1/tasks/$n2/start -> 429 overrides_taken"#,
    // First in line, past the one that came before it.
    r#"POST /v1/work {"worker":"now-1","types":["now"],"want":1} -> 200 /tasks/0/task=$n3 /tasks/1=-"#,
    r#"POST /v1/tasks/$n2/start {"forse":true} -> 400 invalid"#,
];

const CONFIGURING: &[&str] = &[
    // A queue nobody used yet is shown with its defaults.
    r#"GET /v1/queues/fresh -> 200 /queue="fresh" /config/retry/attempts=3 /config/heartbeat_ms=30000 /counts/queued=0 /pause=-"#,
    r#"PUT /v1/queues/team%2Fci {"config":{"concurrency":4,"rate":{"count":100,"per_ms":1000,"burst":20},"keys":{"tenant":{"concurrency":2,"rate":{"count":1,"per_ms":60000}}},"fairness":{"key":"tenant","step_ms":1000,"weights":{"acme":3}},"retry":{"attempts":9,"backoff_ms":1,"backoff_max_ms":2,"jitter_percent":3},"heartbeat_ms":1000,"budget_ms":1000,"backlog_max":10,"require_tag":"ok","override_slots":0,"idempotency_window_ms":0},"by":"ana"} -> 200 /queue="team/ci" /config/keys/tenant/rate/burst=1 /config/fairness/weights={"acme":3} /config/require_tag="ok""#,
    r#"GET /v1/queues/team%2Fci -> 200 /config/rate={"count":100,"per_ms":1000,"burst":20} /config/retry/jitter_percent=3"#,
    // The whole configuration is replaced.
    r#"PUT /v1/queues/team%2Fci {"config":{}} -> 200 /config/concurrency=- /config/retry/attempts=3"#,
    r#"PUT /v1/queues/team%2Fci {"config":{"concurrency":0}} -> 400 invalid"#,
    r#"PUT /v1/queues/team%2Fci {"config":{"heartbeat_ms":99}} -> 400 invalid"#,
    r#"PUT /v1/queues/team%2Fci {"config":{"rate":{"count":0,"per_ms":1}}} -> 400 invalid"#,
    r#"PUT /v1/queues/team%2Fci {} -> 400 invalid"#,
    r#"PUT /v1/queues/team%2Fci -> 400 invalid"#,
    r#"PUT /v1/queues/a%20b {"config":{}} -> 400 invalid"#,
    r#"GET /v1/queues/a%0Ab -> 400 invalid"#,
    r#"GET /v1/queues/%FF -> 400 invalid"#,
    r#"GET /v1/queues/team/ci -> 404 not_found"#,
    r#"GET /v1/queues -> 200"#,
];

const PAUSING: &[&str] = &[
    r#"POST /v1/tasks {"type":"p"} -> 201 /task=$p"#,
    r#"POST /v1/queues/p/pause {"for_ms":3600000,"reason":"deploy","by":"ana"} -> 200 /pause/reason="deploy" /pause/by="ana" /pause/until=$until"#,
    r#"GET /v1/tasks/$p/explain -> 200 /blocked_on/0/code="queue_paused" /eta=$until"#,
    r#"POST /v1/work {"worker":"p-1","types":["p"],"want":1} -> 200 /tasks=[]"#,
    r#"POST /v1/queues/p/pause {"until":"2099-01-01T00:00:00Z"} -> 200 /pause/until="2099-01-01T00:00:00.000000Z" /pause/by="api""#,
    r#"POST /v1/queues/p/pause -> 200 /pause/until=-"#,
    r#"POST /v1/queues/p/resume {"by":"ana"} -> 200 /pause=-"#,
    r#"POST /v1/queues/p/resume -> 200 /pause=-"#,
    r#"POST /v1/queues/p/pause {"for_ms":200} -> 200"#,
    r#"GET /v1/queues/p ~> 200 /pause=-"#,
    r#"POST /v1/queues/p/pause {"until":"2001-01-01T00:00:00Z"} -> 400 invalid"#,
    r#"POST /v1/queues/p/pause {"until":"2099-01-01"} -> 400 invalid"#,
    r#"POST /v1/queues/p/pause {"until":"2099-01-01T00:00:00Z","for_ms":1} -> 400 invalid"#,
    r#"POST /v1/queues/p/pause {"for_ms":0} -> 400 invalid"#,
    r#"POST /v1/queues/p/pause {"for_ms":18446744073709551615} -> 400 invalid"#,
    r#"POST /v1/queues/p/resume {"reason":"x"} -> 400 invalid"#,
];

const REORDERING: &[&str] = &[
    r#"POST /v1/tasks/batch {"tasks":[{"type":"r"},{"type":"r","keys":{"tenant":"acme"}},{"type":"r","tags":["vip"]}]} -> 201 /tasks/0/task=$r1 /tasks/1/task=$r2 /tasks/2/task=$r3"#,
    r#"POST /v1/queues/r/reprioritize {"priority":"critical","tasks":["$r1","$r2"],"by":"ana"} -> 200 /changed=2 /skipped=0"#,
    r#"POST /v1/queues/r/reprioritize {"priority":3600,"tasks":["$r1"]} -> 200 /changed=0 /skipped=1"#,
    r#"GET /v1/tasks/$r2 -> 200 /priority=3600"#,
    r#"POST /v1/queues/r/reprioritize {"priority":90,"boost":true} -> 200 /bulk=- /changed=-"#,
    r#"POST /v1/queues/r/reprioritize {"priority":-5,"boost":true,"key":{"name":"tenant","value":"acme"}} -> 200"#,
    r#"GET /v1/queues/r -> 200 /boosts=[{"seconds":90},{"key":{"name":"tenant","value":"acme"},"seconds":-5}]"#,
    r#"POST /v1/queues/r/reprioritize {"priority":"normal","boost":true} -> 200"#,
    r#"GET /v1/queues/r -> 200 /boosts=[{"key":{"name":"tenant","value":"acme"},"seconds":-5}]"#,
    r#"POST /v1/queues/r/reprioritize {"priority":7,"filter":{"tag":"vip","type":"r"}} -> 200 /bulk=$raised"#,
    r#"GET /v1/bulks/$raised ~> 200 /status="done" /work="reprioritize" /queue="r" /items=1"#,
    r#"GET /v1/tasks/$r3 -> 200 /priority=7"#,
    r#"GET /v1/tasks/$r1 -> 200 /priority=3600"#,
    r#"POST /v1/queues/r/reprioritize {"priority":1,"tasks":["task-zzz"]} -> 404 task_not_found"#,
    r#"POST /v1/queues/r/reprioritize {"priority":1,"tasks":[]} -> 400 invalid"#,
    r#"POST /v1/queues/r/reprioritize {"priority":1} -> 400 invalid"#,
    r#"POST /v1/queues/r/reprioritize {"priority":"urgent","boost":true} -> 400 invalid"#,
    r#"POST /v1/queues/r/reprioritize {"priority":1,"boost":true,"filter":{}} -> 400 invalid"#,
];

const SWEEPING: &[&str] = &[
    r#"PUT /v1/queues/d {"config":{"rate":{"count":1,"per_ms":3600000}}} -> 200"#,
    r#"POST /v1/tasks/batch {"tasks":[{"type":"d","delay_ms":3600000},{"type":"d","delay_ms":3600000},{"type":"d"}]} -> 201 /tasks/0/task=$d1"#,
    r#"POST /v1/queues/d/drain {"by":"ana"} -> 200 /bulk=$drained"#,
    r#"GET /v1/bulks/$drained ~> 200 /status="done" /work="drain" /items=3 /by="ana""#,
    // Past the schedule and past the rate.
    r#"POST /v1/work {"worker":"d-1","types":["d"],"want":9} -> 200 /tasks/2/type="d" /tasks/3=-"#,
    r#"POST /v1/queues/d/drain {"reason":"no"} -> 400 invalid"#,
    r#"POST /v1/tasks/batch {"tasks":[{"type":"c"},{"type":"c"}]} -> 201 /tasks/1/task=$c2"#,
    r#"POST /v1/queues/c/clear {"reason":"over","by":"ana"} -> 200 /bulk=$cleared"#,
    r#"GET /v1/bulks/$cleared ~> 200 /status="done" /work="clear" /items=2 /reason="over""#,
    r#"GET /v1/tasks/$c2 -> 200 /status="cancelled" /cancelled={"cause":"cleared","by":"ana","reason":"over"}"#,
    r#"POST /v1/queues/c/clear {"all":true} -> 400 invalid"#,
];

const DYING: &[&str] = &[
    r#"PUT /v1/queues/die {"config":{"retry":{"attempts":1}}} -> 200"#,
    r#"POST /v1/tasks/batch {"tasks":[{"type":"die","tags":["x"]},{"type":"die"},{"type":"die2","queue":"die"},{"type":"die2","queue":"die"}]} -> 201 /tasks/0/task=$k1 /tasks/1/task=$k2 /tasks/2/task=$k3"#,
    r#"POST /v1/work {"worker":"die-1","types":["die","die2"],"want":4} -> 200 /tasks/0/fence=$f1 /tasks/1/fence=$f2 /tasks/2/fence=$f3 /tasks/3/task=$k4 /tasks/3/fence=$f4"#,
    r#"POST /v1/work {"worker":"die-1","types":[],"results":[{"task":"$k1","fence":"$f1","status":"failed","error":{"code":"boom","message":"broken"}},{"task":"$k2","fence":"$f2","status":"failed","error":{"code":"boom"}},{"task":"$k3","fence":"$f3","status":"failed"},{"task":"$k4","fence":"$f4","status":"failed"}]} -> 200 /results/3/ok=true"#,
    r#"GET /v1/tasks/$k1 -> 200 /status="failed" /error={"code":"boom","message":"broken"} /attempt=1"#,
    r#"GET /v1/queues/die -> 200 /counts/dead=4 /counts/queued=0"#,
    r#"GET /v1/queues/die/dead -> 200 /tasks/0/task=$k4 /tasks/3/task=$k1 /tasks/4=-"#,
    r#"GET /v1/queues/die/dead?error_code=boom&tag=x -> 200 /tasks/0/task=$k1 /tasks/1=-"#,
    r#"GET /v1/queues/die/dead?type=die2&limit=1 -> 200 /tasks/0/task=$k4 /tasks/1=- /next=$dead2"#,
    r#"GET /v1/queues/die/dead?type=die2&limit=1&cursor=$dead2 -> 200 /tasks/0/task=$k3 /next=null"#,
    r#"GET /v1/tasks?error_code=boom&status=failed&queue=die -> 200 /tasks/1/task=$k1 /tasks/2=-"#,
    // The path says which queue and that they are dead: to say it again, or otherwise, is a mistake.
    r#"GET /v1/queues/die/dead?queue=other -> 400 invalid"#,
    r#"GET /v1/queues/die/dead?status=done -> 400 invalid"#,
    r#"POST /v1/queues/die/redrive {"tasks":["$k1","$plain"],"by":"ana"} -> 200 /changed=1 /skipped=1"#,
    r#"GET /v1/tasks/$k1 -> 200 /status="queued" /attempt=0"#,
    r#"POST /v1/queues/die/redrive {"filter":{"error_code":"boom"}} -> 200 /bulk=$driven"#,
    r#"GET /v1/bulks/$driven ~> 200 /status="done" /work="redrive" /items=1"#,
    r#"GET /v1/tasks/$k2 -> 200 /status="queued""#,
    r#"POST /v1/bulks/$driven/cancel -> 409 bulk_closed"#,
    r#"POST /v1/bulks/$driven/cancel {"bye":1} -> 400 invalid"#,
    r#"POST /v1/bulks/bulk-zzz/cancel -> 404 bulk_not_found"#,
    r#"GET /v1/bulks/bulk-zzz -> 404 bulk_not_found"#,
    r#"GET /v1/bulks/task-1 -> 404 bulk_not_found"#,
    r#"POST /v1/queues/die/redrive {"tasks":["task-zzz"]} -> 404 task_not_found"#,
    r#"POST /v1/queues/die/redrive {"filter":{},"per_s":0} -> 400 invalid"#,
    r#"POST /v1/queues/die/redrive {"tasks":["$k3"],"filter":{}} -> 400 invalid"#,
    r#"POST /v1/queues/die/redrive -> 400 invalid"#,
];

const WORKING: &[&str] = &[
    r#"POST /v1/tasks {"type":"w","input":[1],"idempotency_key":"mine"} -> 201 /task=$w"#,
    r#"POST /v1/work {"worker":"w-1","types":["w"],"queues":["elsewhere"],"want":1} -> 200 /tasks=[]"#,
    r#"POST /v1/work {"worker":"w-1","types":["w"],"queues":["w"],"want":1,"wait_ms":0} -> 200 /tasks/0/task=$w /tasks/0/fence=$fw /tasks/0/input=[1] /tasks/0/attempt=1 /tasks/0/heartbeat_ms=30000 /tasks/0/idempotency_key="mine" /stopping=false"#,
    r#"GET /v1/tasks/$w -> 200 /status="running" /lease/worker="w-1" /lease/fence=$fw /attempt=1"#,
    r#"POST /v1/work {"worker":"w-1","types":["w"],"holding":[{"task":"$w","fence":"$fw","progress":0.5},{"task":"task-zzz","fence":"1"}]} -> 200 /holding/0/ok=true /holding/0/cancel=false /holding/0/heartbeat_ms=30000 /holding/1/ok=false /holding/1/code="lease_lost" /holding/1/cancel=true"#,
    r#"POST /v1/work {"worker":"w-1","types":["w"],"results":[{"task":"$w","fence":"$fw","status":"done","output":{"n":1}},{"task":"task-zzz","fence":"1","status":"done"}]} -> 200 /results/0={"task":"$w","ok":true} /results/1/ok=false /results/1/code="task_not_found""#,
    r#"GET /v1/tasks/$w?wait_ms=60000 -> 200 /status="done" /output={"n":1} /lease=-"#,
    r#"GET /v1/tasks/$w?wait=1 -> 400 invalid"#,
    r#"POST /v1/work {"worker":"w-1","types":[],"want":1} -> 400 invalid"#,
    r#"POST /v1/work {"worker":"w-1","types":["w"],"want":1001} -> 400 invalid"#,
    r#"POST /v1/work {"worker":"w-1","types":["w"],"want":1,"wait_ms":60001} -> 400 invalid"#,
    r#"POST /v1/work {"worker":"w 1","types":["w"]} -> 400 invalid"#,
    r#"POST /v1/work {"worker":"w-1","types":["w"],"holding":[{"task":"$w","fence":"$fw","progress":1.5}]} -> 400 invalid"#,
    r#"POST /v1/work {"worker":"w-1","types":["w"],"patience":1} -> 400 invalid"#,
    r#"POST /v1/work -> 400 invalid"#,
];

const RUNNING: &[&str] = &[
    r#"GET /v1/workflows -> 200 /workflows=[]"#,
    r#"POST /v1/workflows {"workflow":"flow/a","version":1,"input":{"type":"object","required":["n"]},"nodes":{"ask":{"type":"approval","who":["ana"],"message":"ok?"},"work":{"type":"of-run","after":"ask"}}} -> 200 /workflows/0={"workflow":"flow/a","version":1,"unchanged":false}"#,
    r#"POST /v1/workflows {"workflow":"flow/a","version":1,"nodes":{"x":{"type":"t"}}} -> 409 version_taken"#,
    r#"POST /v1/workflows {"workflow":"a"} -> 400 invalid_workflow /error/problems/0/line=1"#,
    r#"POST /v1/workflows/check {"workflow":"b","nodes":{"x":{"type":"t"}}} -> 200 /workflows/0={"workflow":"b","nodes":1}"#,
    r#"POST /v1/workflows/check {"workflow":"b","nodes":{"x":{"type":"t","after":"y"}}} -> 400 invalid_workflow /error/problems/0/path="nodes.x.after""#,
    r#"GET /v1/workflows -> 200 /workflows/0/workflow="flow/a" /workflows/0/text=- /workflows/1=-"#,
    r#"GET /v1/workflows/flow%2Fa -> 200 /version=1 /nodes/0={"node":"ask","type":"approval"} /nodes/1/after=["ask"] /versions/0/version=1"#,
    r#"GET /v1/workflows/flow%2Fa?version=9 -> 404 workflow_not_found"#,
    r#"GET /v1/workflows/flow%2Fa/graph?format=mermaid -> 200"#,
    r#"GET /v1/workflows/flow%2Fa/graph?format=png -> 400 invalid"#,
    r#"GET /v1/workflows/flow%2Fa/graph.svg?version=1 -> 200"#,
    r#"GET /v1/workflows/flow%2Fa/graph.svg?version=9 -> 404 workflow_not_found"#,
    r#"GET /v1/workflow.schema.json -> 200 /type="object""#,
    r#"POST /v1/runs {"workflow":"flow/a","input":{}} -> 400 invalid_input /error/problems/0/path="""#,
    r#"POST /v1/runs {"workflow":"flow/b"} -> 404 workflow_not_found"#,
    r#"POST /v1/runs {"workflow":"flow/a","input":{"n":1},"deadline_ms":1,"deadline":"2099-01-01T00:00:00Z"} -> 400 invalid"#,
    r#"POST /v1/runs {"workflow":"flow/a","input":{"n":1},"idempotency_key":"k","tags":["t"],"priority":"high","deadline_ms":3600000,"by":"ana"} -> 201 /run=$run /duplicate=false"#,
    r#"POST /v1/runs {"workflow":"flow/a","input":{"n":2},"idempotency_key":"k"} -> 200 /run=$run /duplicate=true /input_differs=true"#,
    r#"POST /v1/runs {"workflow":"flow/a","input":{"n":1},"idempotency_key":"k"} -> 200 /run=$run /duplicate=true /input_differs=-"#,
    r#"POST /v1/workflows/flow%2Fa/disable {"reason":"audit","by":"ana"} -> 200 /workflow="flow/a" /disabled=true /unchanged=false"#,
    r#"POST /v1/workflows/flow%2Fa/disable -> 200 /disabled=true /unchanged=true"#,
    r#"POST /v1/workflows/flow%2Fb/disable -> 404 workflow_not_found"#,
    r#"GET /v1/workflows/flow%2Fa -> 200 /disabled/by="ana" /disabled/reason="audit""#,
    r#"POST /v1/runs {"workflow":"flow/a","input":{"n":1}} -> 409 workflow_disabled"#,
    r#"POST /v1/workflows/flow%2Fa/enable {"by":"ana"} -> 200 /disabled=false /unchanged=false"#,
    r#"POST /v1/workflows/flow%2Fb/enable -> 404 workflow_not_found"#,
    r#"GET /v1/runs?called=true -> 200 /runs=[]"#,
    r#"GET /v1/runs?called=false -> 200 /runs/0/run=$run"#,
    r#"GET /v1/runs?workflow=flow%2Fa&tag=t -> 200 /runs/0/run=$run /runs/0/input=- /runs/1=- /next=null"#,
    r#"GET /v1/runs?status=dead -> 400 invalid"#,
    r#"POST /v1/runs/bulk {"verb":"pause","where":"'t' in tags && idempotency_key == 'k'","dry_run":true} -> 200 /count=1 /sample/0=$run /sample/1=- /bulk=-"#,
    r#"POST /v1/runs/bulk {"verb":"retry","where":"status=='cancelled'","per_s":5,"reason":"none","by":"ana"} -> 200 /bulk=$runs_bulk /count=-"#,
    r#"GET /v1/bulks/$runs_bulk -> 200 /work="retry_runs" /where="status=='cancelled'" /items=0"#,
    r#"POST /v1/runs/bulk {"verb":"retry","where":"stat"} -> 400 invalid /error/problems/0/path="where""#,
    r#"GET /v1/runs?cursor=task-1 -> 400 invalid"#,
    r#"GET /v1/runs/$run -> 200 /status="running" /input={"n":1} /priority=600 /nodes/0/status="asking" /nodes/1/status="waiting" /counts/asking=1"#,
    r#"GET /v1/runs/run-zzz -> 404 run_not_found"#,
    r#"GET /v1/runs/$run/nodes?status=asking&frame= -> 200 /nodes/0/node="ask" /nodes/1=- /next=null"#,
    r#"GET /v1/runs/$run/nodes?frame=x -> 400 invalid"#,
    r#"GET /v1/runs/$run/node?node=ask -> 200 /node="ask" /type="approval" /status="asking" /input="ok?""#,
    r#"GET /v1/runs/$run/node?node=work -> 200 /status="waiting" /waits_for=["ask"]"#,
    r#"GET /v1/runs/$run/node?node=nobody -> 404 node_not_found"#,
    r#"GET /v1/runs/$run/node -> 400 invalid"#,
    r#"GET /v1/runs/$run/history?limit=1 -> 200 /records/0/record/record="run_started" /records/1=- /next=$after"#,
    r#"GET /v1/runs/$run/graph.svg -> 200"#,
    r#"GET /v1/runs/$run/timeline -> 200 /rows/0/node="ask" /rows/0/spans/0/what="asking""#,
    r#"GET /v1/runs/$run/timeline?node=nobody -> 404 node_not_found"#,
    r#"GET /v1/runs/$run/timeline?limit=0 -> 400 invalid"#,
    r#"GET /v1/runs/$run/timeline.svg?all=true -> 200"#,
    r#"GET /v1/runs/$run/timeline.svg?all=perhaps -> 400 invalid"#,
    r#"GET /v1/runs/run-zzz/graph.svg -> 404 run_not_found"#,
    r#"GET /v1/runs/$run/history?cursor=$after -> 200 /records/0/owner="$run/ask" /next=null"#,
    r#"GET /v1/runs/$run/history?cursor=5 -> 400 invalid"#,
    r#"GET /v1/runs/$run/explain -> 200 /waits/0/node="ask" /waits/0/code="approval" /waits/0/who=["ana"] /waits/0/message="ok?" /waits/1=-"#,
    r#"GET /v1/runs/task-1/explain -> 404 run_not_found"#,
    r#"GET /v1/runs/$run/replay -> 200 /run/status="running" /run/nodes/0/status="asking" /place=2 /records=2 /after=null /note=- /explanation/waits/0/message="ok?""#,
    r#"GET /v1/runs/$run/replay?at=start -> 200 /run/nodes/0/status="waiting" /place=1 /before=null /record/record/record="run_started" /explanation/waits=[]"#,
    r#"GET /v1/runs/$run/replay?at=0 -> 400 invalid"#,
    r#"GET /v1/runs/$run/replay?at=5ms -> 400 invalid"#,
    r#"GET /v1/runs/$run/replay?at=noon -> 400 invalid"#,
    r#"GET /v1/runs/$run/replay?at=99999999 -> 200 /place=2 /after=null"#,
    r#"GET /v1/runs/run-zzz/replay -> 404 run_not_found"#,
    r#"POST /v1/runs/$run/replay {} -> 405 method_not_allowed"#,
    r#"GET /v1/approvals?workflow=flow%2Fa -> 200 /approvals/0/node="$run/ask" /approvals/0/message="ok?" /approvals/0/who=["ana"]"#,
    r#"GET /v1/approvals?limit=0 -> 400 invalid"#,
    r#"GET /v1/approvals?cursor=x -> 400 invalid"#,
    r#"POST /v1/runs/$run/pause {"reason":"rest","by":"ana"} -> 200 /run=$run /status="running""#,
    r#"GET /v1/runs?paused=true -> 200 /runs/0/run=$run /runs/0/pause/reason="rest""#,
    r#"POST /v1/approvals {"node":"$run/ask","approved":true,"by":"bob"} -> 403 not_asked"#,
    r#"POST /v1/approvals {"node":"$run","approved":true} -> 404 node_not_found"#,
    r#"POST /v1/approvals {"node":"$run/ask","approved":true,"by":"ana","comment":"fine"} -> 200 /approved=true /by="ana""#,
    r#"POST /v1/approvals {"node":"$run/ask","approved":true,"by":"ana"} -> 409 not_asking"#,
    r#"POST /v1/runs/$run/resume -> 200 /status="running""#,
    r#"POST /v1/runs/$run/retry -> 409 not_to_retry"#,
    r#"DELETE /v1/runs/$run -> 409 run_not_ended"#,
    r#"GET /v1/tasks?type=of-run ~> 200 /tasks/0/task=$ofrun /tasks/0/run=$run /tasks/0/node="work""#,
    r#"DELETE /v1/tasks/$ofrun -> 409 of_run"#,
    r#"POST /v1/runs/$run/cancel {"reason":"enough"} -> 200 /status="cancelled""#,
    r#"GET /v1/runs/$run ~> 200 /status="cancelled" /cancelled={"by":"api","reason":"enough"} /stopping=-"#,
    r#"POST /v1/runs/$run/cancel {"reason":"once more"} -> 200 /status="cancelled" /changed=false"#,
    r#"POST /v1/runs/run-zzz/cancel -> 404 run_not_found"#,
    r#"GET /v1/runs/$run -> 200 /cancelled={"by":"api","reason":"enough"}"#,
    r#"POST /v1/runs/$run/pause -> 409 run_ended"#,
    r#"POST /v1/runs/$run/resume -> 409 run_ended"#,
    r#"POST /v1/runs/$run/retry {"node":"nobody"} -> 404 node_not_found"#,
    r#"POST /v1/runs/$run/retry {"by":"ana"} -> 200 /status="running""#,
    r#"GET /v1/runs/$run/definition -> 200 /revision=0 /newest=0"#,
    r#"GET /v1/runs/$run/definition?revision=9 -> 404 not_found"#,
    r#"POST /v1/runs/$run/patch {"operations":[{"op":"add","path":"/nodes/more","value":{"type":"more","after":["work"]}}]} -> 200 /revision=1 /added/0/node="more""#,
    r#"POST /v1/runs/$run/patch {"operations":7} -> 400 invalid_patch"#,
    r#"POST /v1/runs/$run/patch {"operations":[],"expected_revision":0} -> 409 revision_conflict"#,
    r#"POST /v1/runs/$run/skip {"node":"more","output":1,"reason":"no need"} -> 200 /status="running""#,
    r#"POST /v1/runs/$run/skip {"node":"more"} -> 409 not_to_skip"#,
    r#"POST /v1/runs/$run/skip {"node":"nobody"} -> 404 node_not_found"#,
    r#"POST /v1/runs/$run/restart {"node":"ask","by":"ana"} -> 200 /status="running" /generation=1"#,
    r#"POST /v1/runs/$run/restart {"node":"more"} -> 409 not_begun"#,
    r#"POST /v1/runs/$run/fork {"dry_run":true} -> 200 /run=null /revision=1"#,
    r#"POST /v1/runs/$run/fork {"at":"r1"} -> 400 invalid"#,
    r#"POST /v1/runs/$run/nodes/ask/replay -> 409 wrong_state"#,
    r#"POST /v1/runs/$run/nodes/ask/replay {"force_replay":true,"reason":"so"} -> 200 /generation=2"#,
    r#"POST /v1/runs/$run/cancel -> 200 /status="cancelled""#,
    r#"DELETE /v1/runs/$run ~> 200 /status="cancelled""#,
    r#"GET /v1/runs/$run ~> 404 run_not_found"#,
    r#"GET /v1/stream?run=task-1 -> 400 invalid"#,
];

/// Webhooks prove who sends by a signature over the bytes in tests of their own, and here by a shared secret.
const HAPPENING: &[&str] = &[
    r#"GET /v1/registry -> 200 /revision=0 /text="""#,
    r#"POST /v1/events {"name":"a/b","data":{"n":1}} -> 201 /event=$lonely /duplicate=false /handled=[]"#,
    r#"GET /v1/events?unhandled=true -> 200 /events/0/event=$lonely /events/0/data=-"#,
    r#"PUT /v1/registry {"handlers":{"h":{"on":"a/*"}}} -> 400 invalid_registry /error/problems/0/line=1"#,
    r#"POST /v1/registry/check {"handlers":{"h":{"on":"a/*","task":"of-event","queue":"eq"}},"queues":{"eq":{"concurrency":5}}} -> 200 /handlers=["h"] /queues=["eq"]"#,
    r#"POST /v1/registry/check {"handlers":7} -> 400 invalid_registry"#,
    r#"POST /v1/registry/diff {"handlers":{"h":{"on":"a/*","task":"of-event"}}} -> 200 /same=false /revision=0 /changes/handlers/0/change="added""#,
    r#"POST /v1/registry/diff {"handlers":7} -> 400 invalid_registry"#,
    r#"PUT /v1/registry?by=ana {"handlers":{"h":{"on":"a/*","task":"of-event","queue":"eq"}},"crons":{"yearly":{"schedule":"0 0 1 1 *"}},"webhooks":{"hook":{"provider":"secret","secret":"${env:HTTP_TEST_SECRET}","header":"x-secret","event":"hook/came"}}} -> 200 /revision=1 /unchanged=false /handlers=1"#,
    r#"GET /v1/registry -> 200 /revision=1 /by="ana" /handlers=["h"] /webhooks=["hook"] /crons/0/cron="yearly" /crons/0/event="cron/yearly" /refused=- /file=- /warnings/1=-"#,
    r#"PUT /v1/queues/eq {"config":{}} -> 409 queue_in_registry"#,
    r#"POST /v1/registry/simulate {"name":"a/b","data":{}} -> 200 /handlers/0/outcome="taken" /unhandled=false"#,
    r#"POST /v1/registry/simulate {"name":"a b"} -> 400 invalid"#,
    r#"POST /v1/events {"name":"a/b","id":"x1","source":"me","ts":"2026-11-15T08:57:00Z","data":{"n":1},"priority":"high","dedup_key":"d","trace":{"correlation_id":"c"}} -> 201 /event=$event /handled/0/handler="h" /handled/0/outcome="queued" /handled/0/task=$made"#,
    r#"POST /v1/events {"name":"a/b","id":"x1"} -> 200 /event=$event /duplicate=true /differs=true /handled/0/task=$made"#,
    r#"POST /v1/events {"name":"a/b","id":"x1","data":{"n":1}} -> 200 /event=$event /duplicate=true /differs=-"#,
    r#"POST /v1/events {"name":"a/c","id":"x1","data":{"n":1}} -> 200 /event=$event /duplicate=true /differs=true"#,
    r#"POST /v1/events/batch {"events":[{"name":"a/b","id":"x1","data":{"n":2}},{"name":"a/b","id":"x1","data":{"n":1}}]} -> 201 /events/0/differs=true /events/1/duplicate=true"#,
    r#"POST /v1/events [{"name":"a/b"}] -> 400 invalid"#,
    r#"POST /v1/events {"name":"a//b"} -> 400 invalid"#,
    r#"POST /v1/events {"name":"a/b","source":"cron:x"} -> 400 invalid"#,
    r#"POST /v1/events {"nmae":"a/b"} -> 400 invalid"#,
    r#"POST /v1/events/batch {"events":[{"name":"a/b"},{"name":"c/d"}]} -> 201 /events/0/handled/0/outcome="queued" /events/1/handled=[]"#,
    r#"POST /v1/events/batch {"events":[]} -> 400 invalid"#,
    r#"GET /v1/events?name=a/*&limit=1 -> 200 /events/1=- /next=$cursor"#,
    r#"GET /v1/events?id=x1 -> 200 /events/0/event=$event /events/0/source="me" /events/0/trace/correlation_id="c""#,
    r#"GET /v1/events?outcome=queued&handler=h&limit=1 -> 200 /events/0/handled/0/handler="h" /events/1=-"#,
    r#"GET /v1/events?outcome=unhandled -> 200 /events/0/name="c/d" /events/1/name="a/b" /events/2=-"#,
    r#"GET /v1/events?handler=none -> 200 /events=[]"#,
    r#"GET /v1/events?outcome=lost -> 400 invalid"#,
    r#"GET /v1/events?cursor=task-1 -> 400 invalid"#,
    r#"GET /v1/events/$event -> 200 /data={"n":1} /family="a" /handled/0/status="queued" /handled/0/run=- /ts="2026-11-15T08:57:00.000000Z""#,
    r#"GET /v1/events/event-zzzz -> 404 event_not_found"#,
    r#"GET /v1/events/x -> 404 event_not_found"#,
    r#"GET /v1/tasks/$made -> 200 /input={"n":1} /trigger/event=$event /trigger/handler="h" /priority=600"#,
    r#"POST /v1/events/$event/replay {"by":"ana"} -> 200 /event=$event /handled/0/outcome="queued""#,
    r#"GET /v1/events/$event -> 200 /replays=1"#,
    r#"POST /v1/events/event-zzzz/replay -> 404 event_not_found"#,
    r#"GET /v1/families -> 200 /said=[] /families/0/family="a" /families/0/counts/ready=3 /families/0/queues=["eq"] /families/0/paused=false /families/1=-"#,
    r#"GET /v1/queues?family=a -> 200 /queues/0/queue="eq" /queues/0/counts/ready=3 /queues/1=-"#,
    r#"GET /v1/queues?family=none/* -> 200 /queues=[]"#,
    r#"GET /v1/queues?family=*a -> 400 invalid"#,
    r#"GET /v1/tasks?family=a/*&limit=1 -> 200 /tasks/0/queue="eq" /tasks/1=-"#,
    r#"GET /v1/stats?family=a -> 200 /current_depth/ready=3"#,
    r#"POST /v1/families/pause {"families":"a","reason":"storm","for_ms":60000,"by":"ana"} -> 200 /said/0/families="a" /said/0/pause/reason="storm" /said/0/counts/queued=3 /families/0/paused=true /note=-"#,
    r#"POST /v1/families/pause {"families":"a/late"} -> 200 /note=-"#,
    r#"POST /v1/families/resume {"families":"a/late"} -> 200 /note=-"#,
    r#"POST /v1/families/pause {"families":"nobody","for_ms":60000} -> 200 /said/1/families="nobody" /said/1/counts/queued=0 /note=$note"#,
    r#"POST /v1/families/resume {"families":"nobody"} -> 200 /said/1=-"#,
    r#"POST /v1/families/pause {"families":"*x"} -> 400 invalid"#,
    r#"POST /v1/work {"worker":"ew","types":["of-event"],"want":1} -> 200 /tasks=[]"#,
    r#"GET /v1/tasks/$made/explain -> 200 /blocked_on/0/code="family_paused""#,
    r#"POST /v1/families/resume {"families":"a"} -> 200 /said=[]"#,
    r#"POST /v1/families/resume {} -> 400 invalid"#,
    r#"POST /v1/families/boost {"families":"a/*","boost":"high"} -> 200 /said/0/boost=600"#,
    r#"POST /v1/families/boost {"families":"a/*","boost":0} -> 200 /said=[]"#,
    r#"POST /v1/families/boost {"families":"a/*"} -> 400 invalid"#,
    r#"POST /v1/families/shed {"families":["a"],"upto":"normal","dry_run":true} -> 200 /would_change=1 /at_least=- /bulk=-"#,
    r#"POST /v1/queues/eq/clear {"filter":{"family":"a"},"dry_run":true} -> 200 /would_change=3"#,
    r#"POST /v1/queues/eq/clear {"filter":{"family":"b/*"},"dry_run":true} -> 200 /would_change=0"#,
    r#"POST /v1/families/shed {"families":["a","b/*"],"upto":"normal","reason":"storm","by":"ana"} -> 200 /bulk=$shed"#,
    r#"GET /v1/bulks/$shed ~> 200 /status="done" /work="shed" /families=["a","b/*"] /upto=0 /items=1 /skipped=2 /reason="storm" /queue=-"#,
    r#"GET /v1/tasks?family=a&status=cancelled -> 200 /tasks/0/cancelled={"cause":"shed","by":"ana","reason":"storm"} /tasks/1=-"#,
    r#"POST /v1/families/shed {"families":["a"],"upto":"critical"} -> 400 invalid"#,
    r#"POST /v1/families/shed {"families":[],"upto":"normal"} -> 400 invalid"#,
    r#"POST /v1/families/shed {"families":["a"],"upto":"critical","dry_run":true} -> 400 invalid"#,
    r#"POST /v1/queues/eq/drain {"filter":{"family":"b"}} -> 200 /bulk=$ran"#,
    r#"GET /v1/bulks/$ran ~> 200 /status="done" /items=0 /filter={"family":"b"}"#,
    r#"POST /v1/queues/eq/reprioritize {"priority":7,"filter":{"family":"b"}} -> 200 /bulk=$put_back"#,
    r#"GET /v1/bulks/$put_back ~> 200 /status="done" /items=0"#,
    r#"POST /v1/work {"worker":"ew","types":["of-event"],"want":1} -> 200 /tasks/0/task=$made /tasks/0/input={"n":1} /tasks/0/trigger/name="a/b""#,
    r#"GET /v1/registry.schema.json -> 200 /type="object""#,
    r#"GET /v1/crons -> 200 /crons/0/cron="yearly" /crons/0/event="cron/yearly" /crons/0/last=-"#,
    r#"GET /v1/crons/yearly/next?count=2 -> 200 /zone="UTC" /at/2=-"#,
    r#"GET /v1/crons/yearly/next?count=0 -> 400 invalid"#,
    r#"POST /v1/crons/yearly/run -> 201 /duplicate=false /handled=[]"#,
    r#"POST /v1/crons/daily/run -> 404 cron_not_found"#,
    r#"POST /webhooks/hook {"n":1} -> 401 unauthorized"#,
    r#"POST /webhooks/hook ^x-secret=hush {"n":1} -> 202 /queued=0 /duplicate=false /event=$hooked"#,
    r#"GET /v1/events/$hooked -> 200 /name="hook/came" /source="hook" /data={"n":1}"#,
    r#"POST /webhooks/hook ^x-secret=hash {"n":1} -> 401 unauthorized"#,
    r#"GET /v1/webhooks -> 200 /webhooks/0/webhook="hook" /webhooks/0/provider="secret" /webhooks/0/path="/webhooks/hook" /webhooks/0/secret_set=true /webhooks/0/accepted=1 /webhooks/0/refused=2 /webhooks/1=-"#,
    r#"POST /webhooks/none {} -> 404 webhook_not_found"#,
];

const KEEPING: &[&str] = &[
    r#"PUT /v1/blobs {"n":1} -> 200 /ref=$blob /size=7 /grace_ms=86400000"#,
    r#"POST /v1/blobs {"n":1} -> 200 /ref=$blob"#,
    r#"GET /v1/blobs/$blob -> 200 /n=1"#,
    r#"GET /v1/blobs/blob:sha256-1 -> 400 invalid"#,
    r#"GET /v1/blobs/blob:sha256-0000000000000000000000000000000000000000000000000000000000000000 -> 404 blob_not_found"#,
    r#"POST /v1/blobs/sweep?dry_run=true -> 200 /removed=0 /next=-"#,
    r#"POST /v1/blobs/sweep -> 200 /removed=0"#,
    r#"POST /v1/blobs/sweep?after=x -> 400 invalid"#,
    r#"POST /v1/blobs/sweep?wet=true -> 400 invalid"#,
    r#"DELETE /v1/blobs/$blob -> 405 method_not_allowed"#,
];

const SERVING: &[&str] = &[
    r#"GET /v1/stats?since=1&queue=none -> 200 /window/truncated=true /dispatches/started=0 /dispatches/success_rate=null /families=[] /recent_failures=[]"#,
    r#"GET /v1/stats?for_ms=60000&target_p95_ms=7&failures=0 -> 200 /queue_latency_ms/target_p95_ms=7 /recent_failures=[]"#,
    r#"GET /v1/stats?since=soon -> 400 invalid"#,
    r#"GET /v1/stats?since=99999999999999 -> 400 invalid"#,
    r#"GET /v1/stats?failures=101 -> 400 invalid"#,
    r#"GET /v1/stats?sicne=1 -> 400 invalid"#,
    r#"GET /v1/status -> 200 /stopping=false /version="0.1.0""#,
    r#"GET /health -> 200 /ok=true"#,
    r#"GET /ready -> 200 /ok=true"#,
    r#"GET /openapi.json -> 200 /info/title="Signaller""#,
    r#"GET /v1/stream?record=task_dnoe -> 400 invalid"#,
    r#"GET / -> 404 not_found"#,
    r#"GET /v1 -> 404 not_found"#,
    r#"GET /v1/ -> 404 not_found"#,
    r#"GET /v1/tasks/ -> 404 not_found"#,
    r#"GET /v2/tasks -> 404 not_found"#,
    r#"PUT /v1/tasks {} -> 405 method_not_allowed"#,
    r#"DELETE /v1/queues/q -> 405 method_not_allowed"#,
    r#"GET /v1/work -> 405 method_not_allowed"#,
    r#"POST /health -> 405 method_not_allowed"#,
    r#"POST /openapi.json -> 405 method_not_allowed"#,
];

#[test]
fn every_operation_at_its_best_and_at_its_worst() {
    let mut api = Api::start();
    for rows in [
        ADDING,
        LISTING,
        STARTING,
        CONFIGURING,
        PAUSING,
        REORDERING,
        SWEEPING,
        DYING,
        WORKING,
        RUNNING,
        HAPPENING,
        KEEPING,
        SERVING,
    ] {
        api.rows(rows);
    }
    verbs_fit_states(&api);
    slots_for_bulks_and_boosts_run_out(&api);
    let (well, refused) = &*api.seen.borrow();
    let all: BTreeSet<String> = api.described.operations().iter().map(|op| format!("{} {}", op.method, op.template)).collect();
    let missing = all.difference(well).filter(|name| name.as_str() != "get /v1/stream");
    let missing: Vec<&String> = missing.collect();
    assert!(missing.is_empty(), "never answered well: {missing:?}");
    // These cannot be asked wrongly, or only by what is too much for here.
    let safe = [
        "put /v1/blobs",
        "post /v1/blobs",
        "get /v1/bulks",
        "get /v1/crons",
        "get /v1/webhooks",
        "get /v1/families",
        "get /v1/registry",
        "get /v1/registry.schema.json",
        "get /v1/status",
        "get /v1/workflows",
        "get /v1/workflow.schema.json",
        "get /health",
        "get /ready",
        "get /openapi.json",
    ];
    let missing: Vec<&String> = all.difference(refused).filter(|name| !safe.contains(&name.as_str())).collect();
    assert!(missing.is_empty(), "never refused: {missing:?}");
    assert_eq!(api.server.terminate(), Some(0));
    talk::verified(&api.folder.path().join("data"));
}

fn slots_for_bulks_and_boosts_run_out(api: &Api) {
    for n in 0..256 {
        let key = format!(r#"{{"name":"tenant","value":"t{n}"}}"#);
        api.check(&format!(r#"POST /v1/queues/many/reprioritize {{"priority":1,"boost":true,"key":{key}}} -> 200"#));
    }
    api.check(r#"POST /v1/queues/many/reprioritize {"priority":1,"boost":true} -> 409 boosts_taken"#);

    // Bulks that rest a second after each item: each keeps its slot.
    let tasks = vec![r#"{"type":"mortal"}"#; 400].join(",");
    api.check(&format!(r#"POST /v1/tasks/batch {{"tasks":[{tasks}]}} -> 201"#));
    let leased = api.server.post("/v1/work", &serde_json::json!({"worker": "m", "types": ["mortal"], "want": 400}));
    let failed =
        |task: &Value| serde_json::json!({"task": task["task"], "fence": task["fence"], "status": "failed", "retryable": false});
    let results: Vec<Value> = leased["tasks"].as_array().unwrap().iter().map(failed).collect();
    api.server.post("/v1/work", &serde_json::json!({"worker": "m", "types": [], "results": results}));
    api.rows(&[
        r#"POST /v1/queues/mortal/redrive {"filter":{},"per_s":1} -> 200 /bulk=$slow"#,
        r#"GET /v1/queues/mortal -> 200 /bulks/0/bulk=$slow /bulks/1=-"#,
        r#"GET /v1/bulks/$slow -> 200 /status="open" /work="redrive""#,
        r#"POST /v1/bulks/$slow/cancel {"by":"ana"} -> 200 /bulk=$slow /status="cancelled""#,
        r#"POST /v1/bulks/$slow/cancel {"by":"bob"} -> 200 /bulk=$slow /status="cancelled""#,
        r#"GET /v1/bulks -> 200 /bulks/0/bulk=$slow"#,
        r#"GET /v1/queues/mortal -> 200 /bulks=[]"#,
    ]);
    for _ in 0..64 {
        api.check(r#"POST /v1/queues/mortal/redrive {"filter":{},"per_s":1} -> 200"#);
    }
    api.check(r#"POST /v1/queues/mortal/redrive {"filter":{},"per_s":1} -> 429 bulks_taken"#);
    api.check(r#"POST /v1/queues/mortal/clear -> 429 bulks_taken"#);
}

/// Pages hang together while tasks come and go, and hold each task once.
#[test]
fn pages_hold_every_task_once() {
    let api = Api::start();
    let tasks = vec![r#"{"type":"page"}"#; 95].join(",");
    api.check(&format!(r#"POST /v1/tasks/batch {{"tasks":[{tasks}]}} -> 201"#));
    let (mut seen, mut cursor, mut pages) = (Vec::new(), None::<String>, 0);
    loop {
        let after = cursor.map(|cursor| format!("&cursor={cursor}")).unwrap_or_default();
        let page = api.server.get(&format!("/v1/tasks?type=page&limit=10{after}"));
        seen.extend(page["tasks"].as_array().unwrap().iter().map(|task| task["task"].as_str().unwrap().to_owned()));
        pages += 1;
        match page["next"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
        // One is added before the first page, which nobody looks at again, and the cursor itself is taken away.
        api.check(r#"POST /v1/tasks {"type":"page"} -> 201"#);
        api.check(&format!("DELETE /v1/tasks/{} -> 200", cursor.as_deref().unwrap()));
    }
    assert_eq!((seen.len(), pages), (95, 10));
    assert_eq!(seen.iter().collect::<BTreeSet<_>>().len(), 95, "none twice");
}
