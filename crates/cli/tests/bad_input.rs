//! Everything that should never be sent, sent to the real binary: each gets a clear coded error or is cut off, nothing
//! is lost, nothing hangs, and afterwards the server works and its store verifies.

mod server;
mod talk;

use serde_json::{Value, json};
use server::{Server, signaller_with};
use std::time::{Duration, Instant};
use talk::{Answer, Connection, ask, refusal, request, until, verified};

struct House {
    server: Server,
    folder: tempfile::TempDir,
}

impl House {
    fn start(args: &[&str]) -> House {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let server = Server::start_with(&data, 0, &[&["--stop-limit", "100ms"], args].concat(), &[]);
        House { server, folder }
    }

    #[track_caller]
    fn check(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8], expected: &str) {
        let shown = || format!("{method} {path} {headers:?} {}", String::from_utf8_lossy(&body[..body.len().min(200)]));
        let began = Instant::now();
        let answer = ask(self.server.port, method, path, headers, body).unwrap_or_else(|| panic!("no answer: {}", shown()));
        assert_eq!(told(&answer, &shown()), expected, "{}: {}", shown(), String::from_utf8_lossy(&answer.body));
        assert!(began.elapsed() < Duration::from_secs(8), "{}: {:?}", shown(), began.elapsed());
    }

    /// It still takes work and gives it out, it holds what it acknowledged and nothing else, and its store is sound.
    #[track_caller]
    fn ends_well(mut self, tasks: usize) {
        let task = self.server.post("/v1/tasks", &json!({"type": "well"}))["task"].clone();
        let leased = talk::lease(&self.server, "well", "well");
        assert_eq!(leased["task"], task);
        assert_eq!(talk::report(&self.server, "well", &leased, json!({"status": "done"}))["ok"], true);
        let (mut found, mut cursor) = (0, String::new());
        loop {
            let page = self.server.get(&format!("/v1/tasks?limit=1000{cursor}"));
            found += page["tasks"].as_array().unwrap().len();
            match page["next"].as_str() {
                Some(next) => cursor = format!("&cursor={next}"),
                None => break,
            }
        }
        assert_eq!(found, tasks + 1, "what was refused left something behind");
        assert_eq!(self.server.terminate(), Some(0));
        verified(&self.folder.path().join("data"));
    }
}

/// `201`, or `400 invalid`.
fn told(answer: &Answer, of: &str) -> String {
    match answer.status {
        status @ 200..400 => status.to_string(),
        status => format!("{status} {}", refusal(status, &answer.json(), of)),
    }
}

/// Every operation that takes a body, with one that would be fine.
const TAKING: [(&str, &str, &str); 22] = [
    ("POST", "/v1/tasks", r#"{"type":"t"}"#),
    ("POST", "/v1/tasks/batch", r#"{"tasks":[{"type":"t"}]}"#),
    ("POST", "/v1/tasks/task-1/cancel", "{}"),
    ("POST", "/v1/tasks/task-1/retry", "{}"),
    ("POST", "/v1/tasks/task-1/reset", "{}"),
    ("POST", "/v1/tasks/task-1/start", "{}"),
    ("PUT", "/v1/queues/q", r#"{"config":{}}"#),
    ("POST", "/v1/queues/q/pause", "{}"),
    ("POST", "/v1/queues/q/resume", "{}"),
    ("POST", "/v1/queues/q/drain", "{}"),
    ("POST", "/v1/queues/q/clear", "{}"),
    ("POST", "/v1/queues/q/reprioritize", r#"{"priority":1,"boost":true}"#),
    ("POST", "/v1/queues/q/redrive", r#"{"filter":{}}"#),
    ("POST", "/v1/bulks/bulk-1/cancel", "{}"),
    ("POST", "/v1/work", r#"{"worker":"w","types":["t"]}"#),
    ("POST", "/v1/runs", r#"{"workflow":"w"}"#),
    ("POST", "/v1/runs/run-1/cancel", "{}"),
    ("POST", "/v1/runs/run-1/pause", "{}"),
    ("POST", "/v1/runs/run-1/resume", "{}"),
    ("POST", "/v1/runs/run-1/retry", "{}"),
    ("POST", "/v1/approvals", r#"{"node":"run-1/ask","approved":true}"#),
    // Also where it is not looked at, a body is read.
    ("POST", "/nowhere", "{}"),
];

fn nested(open: &str, close: &str, depth: usize) -> Vec<u8> {
    format!("{}1{}", open.repeat(depth), close.repeat(depth)).into_bytes()
}

#[test]
fn bodies_that_are_no_json_or_the_wrong_one_are_refused_everywhere() {
    let house = House::start(&[]);
    let deep_unknown = [br#"{"unknown":"#, &nested("[", "]", 100_000)[..], b"}"].concat();
    let bad: Vec<Vec<u8>> = vec![
        b"{".into(),
        b"}".into(),
        b"null".into(),
        b"true".into(),
        b"1".into(),
        b"\"x\"".into(),
        b"NaN".into(),
        b"[1]".into(),
        b"{]}".into(),
        b"{}x".into(),
        b"{} {}".into(),
        b"{'type':'t'}".into(),
        b"{\"unknown\":NaN}".into(),
        b"{\"unknown\":1}".into(),
        b"{\"by\":5}".into(),
        b"{\"by\":\"\"}".into(),
        b"{\"by\":\"a\\u0000b\"}".into(),
        b"{\"by\":\"ana\",\"by\":\"bob\"}".into(),
        b"{\"by\":\"\\ud800\"}".into(),
        b"\xff\xfe{\x00}\x00".into(),
        b"{\"by\":\"\xff\"}".into(),
        b"\xef\xbb\xbf{}".into(),
        b"\0".into(),
        b"   ".into(),
        nested("[", "]", 100_000),
        nested("[", "", 100_000),
        nested("{\"a\":", "}", 100_000),
        deep_unknown,
    ];
    for (method, path, good) in TAKING {
        let expected = if path == "/nowhere" { "404 not_found" } else { "400 invalid" };
        for body in &bad {
            house.check(method, path, &[], body, expected);
        }
        if path != "/nowhere" {
            for kind in [
                "text/plain",
                "application/x-www-form-urlencoded",
                "multipart/form-data; boundary=x",
                "application/jsonx",
                "",
                "\u{fc}",
            ] {
                house.check(method, path, &[("content-type", kind)], good.as_bytes(), "415 unsupported_media_type");
            }
        }
    }
    for kind in ["application/json; charset=utf-8", "APPLICATION/JSON", "application/json;"] {
        house.check("POST", "/v1/work", &[("content-type", kind)], br#"{"worker":"w","types":["t"]}"#, "200");
    }
    house.ends_well(0);
}

#[test]
fn texts_that_are_no_definitions_are_refused_with_a_place() {
    let house = House::start(&[]);
    let bad: Vec<Vec<u8>> = vec![
        b"".into(),
        b"\xff\xfe".into(),
        b"\0".into(),
        b"null".into(),
        b"[1]".into(),
        b"{".into(),
        b"{\"unknown\":1}".into(),
        b"a: &x 1\nb: *x\n".into(),
        b"---\n---\n".into(),
        b"workflow: w\nworkflow: w\n".into(),
        nested("[", "]", 100_000),
        nested("{\"a\":", "}", 100_000),
        b"x".repeat(2 * 1024 * 1024),
        format!("workflow: w\nnodes: {{{}}}\n", "n: {type: t}, ".repeat(20_000)).into_bytes(),
    ];
    for path in ["/v1/workflows", "/v1/workflows/check"] {
        for body in &bad {
            house.check("POST", path, &[("content-type", "text/yaml")], body, "400 invalid_workflow");
        }
        for kind in ["", "image/png", "application/xml", "text/yamlx"] {
            house.check("POST", path, &[("content-type", kind)], b"workflow: w", "415 unsupported_media_type");
        }
    }
    house.check("GET", "/v1/workflows/%00", &[], b"", "400 invalid");
    house.check("GET", "/v1/workflows/nobody/graph", &[], b"", "404 workflow_not_found");
    house.check("GET", "/v1/runs/%FF", &[], b"", "400 invalid");
    house.check("GET", "/v1/runs/task-1", &[], b"", "404 run_not_found");
    house.ends_well(0);
}

#[test]
fn absurd_numbers_are_refused_by_name() {
    let house = House::start(&[]);
    let max = u64::MAX.to_string();
    let absurd = ["-1", "1e400", "-1e400", "1.5", "18446744073709551616", "\"1\"", "[1]", "{}", "true"];
    let config = |field: &str| format!(r#"{{"config":{{{field}}}}}"#);
    let fields = [
        ("POST", "/v1/tasks", r#"{"type":"t","delay_ms":#}"#.to_owned()),
        ("POST", "/v1/tasks", r#"{"type":"t","budget_ms":#}"#.to_owned()),
        ("POST", "/v1/tasks", r#"{"type":"t","retry":{"attempts":#}}"#.to_owned()),
        ("POST", "/v1/tasks", r#"{"type":"t","retry":{"backoff_ms":#}}"#.to_owned()),
        ("POST", "/v1/tasks", r#"{"type":"t","retry":{"jitter_percent":#}}"#.to_owned()),
        ("PUT", "/v1/queues/q", config(r#""concurrency":#"#)),
        ("PUT", "/v1/queues/q", config(r#""rate":{"count":#,"per_ms":1}"#)),
        ("PUT", "/v1/queues/q", config(r#""rate":{"count":1,"per_ms":#}"#)),
        ("PUT", "/v1/queues/q", config(r#""rate":{"count":1,"per_ms":1,"burst":#}"#)),
        ("PUT", "/v1/queues/q", config(r#""keys":{"k":{"concurrency":#}}"#)),
        ("PUT", "/v1/queues/q", config(r#""fairness":{"key":"k","step_ms":#}"#)),
        ("PUT", "/v1/queues/q", config(r#""fairness":{"key":"k","weights":{"a":#}}"#)),
        ("PUT", "/v1/queues/q", config(r#""heartbeat_ms":#"#)),
        ("PUT", "/v1/queues/q", config(r#""budget_ms":#"#)),
        ("PUT", "/v1/queues/q", config(r#""backlog_max":#"#)),
        ("PUT", "/v1/queues/q", config(r#""override_slots":#"#)),
        ("PUT", "/v1/queues/q", config(r#""idempotency_window_ms":#"#)),
        ("POST", "/v1/queues/q/pause", r#"{"for_ms":#}"#.to_owned()),
        ("POST", "/v1/queues/q/redrive", r#"{"filter":{},"per_s":#}"#.to_owned()),
        ("POST", "/v1/work", r#"{"worker":"w","types":["t"],"want":#}"#.to_owned()),
        ("POST", "/v1/work", r#"{"worker":"w","types":["t"],"wait_ms":#}"#.to_owned()),
        (
            "POST",
            "/v1/work",
            r#"{"worker":"w","types":["t"],"results":[{"task":"task-1","fence":"1","status":"failed","retry_after_ms":#}]}"#
                .to_owned(),
        ),
    ];
    for (method, path, body) in &fields {
        for number in absurd {
            house.check(method, path, &[], body.replace('#', number).as_bytes(), "400 invalid");
        }
        // The largest there is: never a crash, and taken only where it is answered on its own.
        let expected = if body.contains("retry_after_ms") { "200" } else { "400 invalid" };
        house.check(method, path, &[], body.replace('#', &max).as_bytes(), expected);
    }
    for priority in ["99999999999", "-99999999999", "1e400", "1.5", "18446744073709551615", "\"urgent\"", "\"\"", "null,", "[]"] {
        let body = format!(r#"{{"type":"t","priority":{priority}}}"#);
        house.check("POST", "/v1/tasks", &[], body.as_bytes(), "400 invalid");
    }
    for progress in ["1e400", "-0.1", "1.0001", "\"NaN\"", "NaN"] {
        let body = format!(r#"{{"worker":"w","types":["t"],"holding":[{{"task":"task-1","fence":"1","progress":{progress}}}]}}"#);
        house.check("POST", "/v1/work", &[], body.as_bytes(), "400 invalid");
    }
    for when in
        ["", "0", "tomorrow", "2026-13-01T00:00:00Z", "9999-12-31T23:59:59-01:00", "1969-12-31T23:59:59Z", "2026-11-15T08:57:00"]
    {
        house.check("POST", "/v1/tasks", &[], format!(r#"{{"type":"t","scheduled_for":"{when}"}}"#).as_bytes(), "400 invalid");
        house.check("POST", "/v1/queues/q/pause", &[], format!(r#"{{"until":"{when}"}}"#).as_bytes(), "400 invalid");
    }
    // The furthest there is may be asked for, and comes back as it went in.
    house.check(
        "POST",
        "/v1/tasks",
        &[],
        br#"{"type":"t","scheduled_for":"9999-12-31T23:59:59.999999Z","priority":-316224000}"#,
        "201",
    );
    house.check(
        "POST",
        "/v1/tasks",
        &[],
        br#"{"type":"t","delay_ms":251000000000000,"budget_ms":1,"priority":316224000}"#,
        "201",
    );
    assert_eq!(house.server.get("/v1/tasks/task-1")["ready_at"], "9999-12-31T23:59:59.999999Z");
    house.check("GET", "/v1/tasks/task-2/explain", &[], b"", "200");
    house.check(
        "PUT",
        "/v1/queues/q",
        &[],
        br#"{"config":{"budget_ms":31622400000,"rate":{"count":1000000,"per_ms":1,"burst":1000000}}}"#,
        "200",
    );
    house.ends_well(2);
}

#[test]
fn what_is_too_large_is_refused_and_what_just_fits_is_taken() {
    let house = House::start(&[]);
    let input = |bytes: usize| format!(r#"{{"type":"t","input":"{}"}}"#, "x".repeat(bytes - 2));
    house.check("POST", "/v1/tasks", &[], input(256 * 1024).as_bytes(), "201");
    assert_eq!(house.server.get("/v1/tasks/task-1")["input"].as_str().unwrap().len(), 256 * 1024 - 2);
    house.check("POST", "/v1/tasks", &[], input(256 * 1024 + 1).as_bytes(), "413 too_large");
    let batch = |count: usize, task: &str| format!(r#"{{"tasks":[{}]}}"#, vec![task; count].join(","));
    house.check("POST", "/v1/tasks/batch", &[], batch(1_000, r#"{"type":"t"}"#).as_bytes(), "201");
    house.check("POST", "/v1/tasks/batch", &[], batch(1_001, r#"{"type":"t"}"#).as_bytes(), "400 invalid");
    house.check("POST", "/v1/tasks/batch", &[], batch(0, "").as_bytes(), "400 invalid");
    // 31 inputs of the largest size fit a body, 32 do not.
    house.check("POST", "/v1/tasks/batch", &[], batch(31, &input(256 * 1024)).as_bytes(), "201");
    house.check("POST", "/v1/tasks/batch", &[], batch(32, &input(256 * 1024)).as_bytes(), "413 too_large");
    // A client that sends all of it before it reads still gets to see why, wherever it was sent.
    for (mib, path) in [(9, "/v1/tasks"), (30, "/v1/tasks"), (30, "/nowhere"), (60, "/v1/work")] {
        house.check("POST", path, &[], &vec![b' '; mib << 20], "413 too_large");
    }
    // Nobody reads for ever: this one is refused before it is sent.
    let mut endless = Connection::open(house.server.port);
    endless.send(&request("POST", "/v1/tasks", &[("content-length", "9999999999999")], b""));
    let answer = endless.answer().expect("an answer");
    assert_eq!((told(&answer, "endless").as_str(), answer.header("connection")), ("413 too_large", Some("close")));
    assert!(endless.is_over());
    let chunk = [b"100000\r\n", &vec![b' '; 1 << 20][..], b"\r\n"].concat();
    let mut chunked = Connection::open(house.server.port);
    chunked.send(&request("POST", "/v1/tasks", &[("transfer-encoding", "chunked")], b""));
    (0..20).for_each(|_| _ = chunked.send(&chunk));
    assert_eq!(told(&chunked.send(b"0\r\n\r\n").answer().expect("an answer"), "chunked"), "413 too_large");

    let word = |bytes: usize| "n".repeat(bytes);
    let many = |count: usize| (0..count).map(|n| format!("\"{n}\"")).collect::<Vec<_>>().join(",");
    for (body, expected) in [
        (format!(r#"{{"type":"{}"}}"#, word(128)), "201"),
        (format!(r#"{{"type":"{}"}}"#, word(129)), "400 invalid"),
        (format!(r#"{{"type":"t","queue":"{}"}}"#, word(129)), "400 invalid"),
        (format!(r#"{{"type":"t","idempotency_key":"{}"}}"#, word(257)), "400 invalid"),
        (format!(r#"{{"type":"t","keys":{{"k":"{}"}}}}"#, word(257)), "400 invalid"),
        (format!(r#"{{"type":"t","tags":[{}]}}"#, many(16)), "201"),
        (format!(r#"{{"type":"t","tags":[{}]}}"#, many(17)), "400 invalid"),
        (
            format!(r#"{{"type":"t","keys":{{{}}}}}"#, (0..9).map(|n| format!("\"k{n}\":\"v\"")).collect::<Vec<_>>().join(",")),
            "400 invalid",
        ),
        (format!(r#"{{"type":"t","blocked_by":[{}]}}"#, vec!["\"task-1\""; 65].join(",")), "400 invalid"),
        (r#"{"type":"a b"}"#.to_owned(), "400 invalid"),
        (r#"{"type":"ü"}"#.to_owned(), "400 invalid"),
        (r#"{"type":"t","tags":["a\nb"]}"#.to_owned(), "400 invalid"),
    ] {
        house.check("POST", "/v1/tasks", &[], body.as_bytes(), expected);
    }
    let ids = vec!["\"task-1\""; 1_001].join(",");
    house.check("POST", "/v1/queues/t/redrive", &[], format!(r#"{{"tasks":[{ids}]}}"#).as_bytes(), "400 invalid");
    house.check(
        "POST",
        "/v1/queues/t/reprioritize",
        &[],
        format!(r#"{{"priority":1,"tasks":[{ids}]}}"#).as_bytes(),
        "400 invalid",
    );
    let types = many(65);
    house.check("POST", "/v1/work", &[], format!(r#"{{"worker":"w","types":[{types}]}}"#).as_bytes(), "400 invalid");
    // A reason is kept as it was said, or refused.
    let said = |letters: usize| json!({"reason": "ü".repeat(letters)}).to_string();
    house.check("POST", "/v1/queues/t/pause", &[], said(251).as_bytes(), "400 invalid");
    house.check("POST", "/v1/queues/t/pause", &[], said(250).as_bytes(), "200");
    assert_eq!(house.server.get("/v1/queues/t")["pause"]["reason"].as_str().unwrap().len(), 500);
    house.ends_well(1 + 1_000 + 31 + 2);
}

/// Inputs that only some parsers can read would poison every answer they ride in.
#[test]
fn inputs_that_not_everyone_can_read_are_refused() {
    let house = House::start(&[]);
    for (input, expected) in [
        (nested("[", "]", 100), "201"),
        (nested("[", "]", 101), "400 invalid"),
        (nested("[", "]", 100_000), "400 invalid"),
        (nested("{\"a\":", "}", 40_000), "400 invalid"),
        (b"1e400".into(), "400 invalid"),
        (b"\"\\ud800\"".into(), "400 invalid"),
        (b"\"\\ud83d\\ude00 \\u0000\"".into(), "201"),
        (b"123456789012345678901234567890".into(), "201"),
        (b"{\"a\":1,\"a\":2}".into(), "201"),
    ] {
        let body = [br#"{"type":"t","input":"#, &input[..], b"}"].concat();
        house.check("POST", "/v1/tasks", &[], &body, expected);
    }
    let leased = house.server.post("/v1/work", &json!({"worker": "w", "types": ["t"], "want": 9}));
    assert_eq!(leased["tasks"].as_array().unwrap().len(), 4, "all that was taken can be read");
    house.ends_well(4);
}

/// Bytes that are hardly HTTP: an answer with this status, or the end of the connection, and soon.
#[test]
fn bytes_that_are_hardly_http_are_answered_or_cut_off() {
    let house = House::start(&[]);
    let long = "y".repeat(1 << 20);
    let many: String = (0..200).map(|n| format!("x-{n}: y\r\n")).collect();
    let rows: Vec<(String, &[u16])> = vec![
        ("GARBAGE\r\n\r\n".into(), &[400]),
        ("GET\r\n\r\n".into(), &[400]),
        ("\u{16}\u{3}\u{1}\0\u{1}TLS".into(), &[400]),
        ("GET /health HTTP/9.9\r\n\r\n".into(), &[400]),
        ("GET /health HTTP/1.1\r\nhost localhost\r\n\r\n".into(), &[400]),
        ("GET /health HTTP/1.1\r\nho\0st: localhost\r\n\r\n".into(), &[400]),
        ("GET /hea\u{7}lth HTTP/1.1\r\nhost: localhost\r\n\r\n".into(), &[400]),
        (format!("GET /health HTTP/1.1\r\nhost: localhost\r\n{many}\r\n"), &[431]),
        (format!("GET /health HTTP/1.1\r\nhost: localhost\r\nx: {long}\r\n\r\n"), &[431]),
        (format!("GET /{long} HTTP/1.1\r\nhost: localhost\r\n\r\n"), &[414, 431]),
        ("POST /v1/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n".into(), &[400]),
        ("POST /v1/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-length: 99999999999999999999\r\n\r\n".into(), &[400]),
        ("POST /v1/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n".into(), &[400]),
        ("POST /v1/tasks HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n".into(), &[400]),
        ("GET /health HTTP/1.0\r\n\r\n".into(), &[200]),
        ("GET /health HTTP/1.1\r\n\r\n".into(), &[200]),
        ("\r\n\r\nGET /health HTTP/1.1\r\nhost: localhost\r\n\r\n".into(), &[200]),
        ("GET http://localhost/health HTTP/1.1\r\nhost: localhost\r\n\r\n".into(), &[200]),
        ("get /health HTTP/1.1\r\nhost: localhost\r\n\r\n".into(), &[405]),
        ("BREW /health HTTP/1.1\r\nhost: localhost\r\n\r\n".into(), &[405]),
        ("OPTIONS * HTTP/1.1\r\nhost: localhost\r\n\r\n".into(), &[404]),
    ];
    for (bytes, expected) in rows {
        let shown = &bytes[..bytes.len().min(80)];
        let began = Instant::now();
        let answer = Connection::open(house.server.port).send(bytes.as_bytes()).answer();
        let status = answer.unwrap_or_else(|| panic!("no answer: {shown:?}")).status;
        assert!(expected.contains(&status), "{shown:?}: {status}");
        assert!(began.elapsed() < Duration::from_secs(5), "{shown:?}: {:?}", began.elapsed());
    }
    // The preface of HTTP/2, which this is not: the connection ends.
    assert!(
        Connection::open(house.server.port)
            .send(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
            .answer()
            .is_none_or(|answer| answer.status >= 400)
    );
    // Both lengths at once: whatever it is taken for, what follows is not smuggled in as a second request.
    let both = "POST /v1/work HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\nPOST /v1/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 12\r\n\r\n{\"type\":\"t\"}";
    let mut smuggler = Connection::open(house.server.port);
    assert!(smuggler.send(both.as_bytes()).answer().is_none_or(|answer| answer.status == 400));
    house.ends_well(usize::from(smuggler.answer().is_some_and(|answer| answer.status == 201)));
}

#[test]
fn pipelined_requests_are_answered_in_order_also_after_a_refusal() {
    let house = House::start(&[]);
    let mut bytes = Vec::new();
    for n in 0..50 {
        bytes.extend(match n % 5 {
            0 => request("POST", "/v1/tasks", &[], br#"{"type":"t"}"#),
            1 => request("POST", "/v1/tasks", &[], br#"{"type":1}"#),
            2 => request("POST", "/v1/queues/a%20b/pause", &[], &vec![b' '; 100_000]),
            3 => request("PUT", "/v1/tasks", &[], br#"{"type":"t"}"#),
            _ => request("GET", "/v1/nothing", &[("host", "evil.test")], b"body"),
        });
    }
    let mut connection = Connection::open(house.server.port);
    // In pieces that end anywhere.
    bytes.chunks(7_777).for_each(|piece| _ = connection.send(piece));
    for n in 0..50 {
        let answer = connection.answer().unwrap_or_else(|| panic!("the connection ended at {n}"));
        let expected = ["201", "400 invalid", "400 invalid", "405 method_not_allowed", "403 forbidden"][n % 5];
        assert_eq!(told(&answer, "pipelined"), expected, "{n}");
    }
    house.ends_well(10);
}

/// Peers that begin and do not go on, and peers that leave in the middle, hold nobody up and leave nothing behind.
#[test]
fn peers_that_stop_half_way_hold_nobody_up() {
    let house = House::start(&[]);
    let whole = request("POST", "/v1/tasks", &[], br#"{"type":"half"}"#);
    let poll = request("POST", "/v1/work", &[], br#"{"worker":"w","types":["never"],"want":1,"wait_ms":60000}"#);
    let mut stalled = Vec::new();
    for n in 0..400 {
        let mut connection = Connection::open(house.server.port);
        match n % 5 {
            0 => {}
            1 => _ = connection.send(&whole[..n % 60]),
            2 => _ = connection.send(&whole[..whole.len() - 1]),
            3 => _ = connection.send(&poll),
            // All of it, and then never reads.
            _ => _ = connection.send(&request("GET", "/v1/tasks", &[], b"").repeat(5)),
        }
        stalled.push(connection);
    }
    for _ in 0..20 {
        let began = Instant::now();
        house.server.get("/v1/status");
        assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    }
    // Some leave in the middle of a body or of the headers.
    for (n, mut connection) in stalled.into_iter().enumerate() {
        if n % 2 == 0 {
            connection.send_no_more();
        }
    }
    // A whole request from one that then says it sends no more is answered, and then the connection ends.
    let chunked = request("POST", "/v1/tasks", &[("transfer-encoding", "chunked"), ("content-type", "application/json")], b"");
    let chunked = [&chunked[..], b"8\r\n{\"type\":\r\n7\r\n\"half\"}\r\n0\r\n\r\n"].concat();
    let get = request("GET", "/v1/tasks?type=half", &[], b"");
    let several = [&get[..], &whole, &get].concat();
    for _ in 0..10 {
        for (bytes, expected) in
            [(&whole, &["201"][..]), (&chunked, &["201"]), (&get, &["200"]), (&several, &["200", "201", "200"])]
        {
            let mut half = Connection::open(house.server.port);
            half.send(bytes).send_no_more();
            for expected in expected {
                assert_eq!(told(&half.answer().expect("an answer"), "half-closed"), *expected);
            }
            assert!(half.is_over());
        }
    }
    // Half a body and then no more is not a request.
    for bytes in [&whole[..whole.len() - 3], &chunked[..chunked.len() - 5], &chunked[..chunked.len() - 15]] {
        let mut half = Connection::open(house.server.port);
        let answer = half.send(bytes).send_no_more().answer().expect("an answer");
        assert_eq!(told(&answer, "half a body"), "400 invalid");
        assert!(half.is_over());
    }
    // Who may wait for long must be there for it: the poll ends. (There is nothing to grant: who is gone may be noticed only after
    // the answer is on its way.)
    for wait_ms in [0, 60_000] {
        let poll = format!(r#"{{"worker":"half","types":["none"],"want":1,"wait_ms":{wait_ms}}}"#);
        let mut half = Connection::open(house.server.port);
        half.send(&request("POST", "/v1/work", &[], poll.as_bytes())).send_no_more();
        let answer = half.answer().expect("an answer");
        if answer.status == 200 {
            assert_eq!(answer.json()["tasks"], json!([]));
        } else {
            assert_eq!(told(&answer, "half-closed"), "400 invalid");
        }
        assert!(half.is_over());
    }
    until("what they were granted is given back", || (house.server.get("/v1/status")["counts"]["running"] == 0).then_some(()));
    let leased = house.server.post("/v1/work", &json!({"worker": "whole", "types": ["half"], "want": 50}));
    assert_eq!(leased["tasks"].as_array().unwrap().len(), 30);
    assert!(leased["tasks"].as_array().unwrap().iter().all(|task| task["attempt"] == 1));
    // Its results count all the same.
    let result = json!({"task": leased["tasks"][0]["task"], "fence": leased["tasks"][0]["fence"], "status": "done"});
    let poll = json!({"worker": "whole", "types": [], "results": [result]}).to_string();
    let mut half = Connection::open(house.server.port);
    let answer = half.send(&request("POST", "/v1/work", &[], poll.as_bytes())).send_no_more().answer().expect("an answer");
    assert_eq!(answer.json()["results"][0]["ok"], true);
    house.ends_well(30);
}

#[test]
fn a_token_is_asked_of_everyone() {
    let house = House::start(&["--token", "sesame-1"]);
    let no = "401 unauthorized";
    for (authorization, expected) in [
        (None, no),
        (Some(""), no),
        (Some("Bearer"), no),
        (Some("Bearer "), no),
        (Some("Bearer sesame-2"), no),
        (Some("Bearer sesame-11"), no),
        (Some("Bearer  sesame-1"), no),
        (Some("Basic sesame-1"), no),
        (Some("sesame-1"), no),
        (Some("Bearer \u{fc}"), no),
        (Some("Bearer sesame-1"), "200"),
        (Some("bearer sesame-1"), "200"),
    ] {
        let headers: Vec<(&str, &str)> = authorization.map(|text| ("authorization", text)).into_iter().collect();
        for path in ["/v1/status", "/v1/tasks", "/openapi.json"] {
            house.check("GET", path, &headers, b"", expected);
        }
        house.check("POST", "/v1/work", &headers, br#"{"worker":"w","types":["t"]}"#, expected);
        let unknown = if expected == "200" { "404 not_found" } else { no };
        house.check("GET", "/nowhere", &headers, b"", unknown);
        // Whether it is there may be known to all; a name or a web page is no matter with a token.
        house.check("GET", "/health", &headers, b"", "200");
        house.check("GET", "/ready", &headers, b"", "200");
    }
    let token = ("authorization", "Bearer sesame-1");
    house.check("GET", "/v1/status", &[token, ("host", "box.example")], b"", "200");
    let answer = ask(house.server.port, "GET", "/v1/status", &[], b"").unwrap();
    assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    let shown = String::from_utf8(answer.body).unwrap();
    assert!(!shown.contains("sesame"), "{shown}");
}

#[test]
fn a_server_beyond_loopback_needs_a_token() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let data = data.to_str().unwrap();
    for (args, sentence) in [
        (&["--json", "serve", "--listen", "0.0.0.0:0", "--data-dir", data][..], "needs a token"),
        (&["--json", "serve", "--listen", "[::]:0", "--data-dir", data], "needs a token"),
        (&["--json", "--token", "", "serve", "--listen", "0.0.0.0:0", "--data-dir", data], "token"),
        (&["--json", "--token", "", "serve", "--listen", "127.0.0.1:0", "--data-dir", data], "token"),
    ] {
        let (exit, answer) = signaller_with(args, None, "");
        assert_eq!((exit, &answer["ok"]), (2, &json!(false)), "{args:?}: {answer}");
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(sentence), "{args:?}: {message}");
    }
    assert!(!std::path::Path::new(data).exists(), "it was refused before anything was opened");
}

/// Without a token the server is for programs on this machine, not for the web pages a person looks at on it.
#[test]
fn a_web_page_cannot_reach_a_server_without_a_token() {
    let house = House::start(&[]);
    let (no, clear) = ("403 forbidden", "/v1/queues/q/clear");
    let port = house.server.port;
    let (own, rebound) = (format!("http://localhost:{port}"), format!("evil.test:{port}"));
    let local = format!("localhost:{port}");
    type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], &'a str, &'a str);
    let rows: [Row<'_>; 17] = [
        ("GET", &[("host", "evil.test")], "/v1/status", no),
        ("GET", &[("host", &rebound)], "/v1/status", no),
        ("GET", &[("host", "localhost.evil.test")], "/health", no),
        ("GET", &[("host", "0.0.0.0")], "/v1/status", no),
        ("GET", &[("host", "")], "/v1/status", no),
        ("POST", &[("host", &rebound)], clear, no),
        ("GET", &[("host", "[::1]")], "/v1/status", "200"),
        ("GET", &[("host", "LOCALHOST")], "/v1/status", "200"),
        ("POST", &[("sec-fetch-site", "cross-site")], clear, no),
        ("POST", &[("sec-fetch-site", "same-site")], clear, no),
        ("DELETE", &[("sec-fetch-site", "cross-site")], "/v1/tasks/task-1", no),
        // Too old to say where it comes from, but not too old to name its page.
        ("POST", &[("origin", "http://evil.test")], clear, no),
        ("POST", &[("origin", "null")], clear, no),
        ("POST", &[("origin", "http://localhost:1")], clear, no),
        ("POST", &[("origin", &own), ("host", &local)], clear, "200"),
        ("POST", &[("sec-fetch-site", "same-origin"), ("origin", &own), ("host", &local)], clear, "200"),
        // What another page asks for it cannot read, for want of a header that would let it.
        ("GET", &[("sec-fetch-site", "cross-site"), ("origin", "http://evil.test")], "/v1/status", "200"),
    ];
    for (method, headers, path, expected) in rows {
        house.check(method, path, headers, b"", expected);
    }
    let answer = ask(port, "GET", "/v1/status", &[("origin", "http://evil.test")], b"").unwrap();
    assert!(answer.headers.iter().all(|(name, _)| !name.starts_with("access-control-")), "{:?}", answer.headers);
    let preflight = ask(port, "OPTIONS", "/v1/tasks", &[("origin", "http://evil.test")], b"").unwrap();
    assert!(preflight.status >= 400, "{}", preflight.status);
    // A form can be sent without asking, but not as JSON.
    house.check("POST", "/v1/tasks", &[("content-type", "text/plain")], br#"{"type":"t"}"#, "415 unsupported_media_type");
    house.ends_well(0);
}

/// Ids that were never given out, and names that are none, wherever a path takes one.
#[test]
fn names_in_paths_are_checked_everywhere() {
    let house = House::start(&[]);
    for (id, expected) in [
        ("task-zzzzzzzzzz", "404 task_not_found"),
        ("task-1.32768", "404 task_not_found"),
        ("task-zzzzzzzzzzzzz", "404 task_not_found"),
        ("TASK-1", "404 task_not_found"),
        ("-", "404 task_not_found"),
        ("%2e%2e%2fetc", "404 task_not_found"),
        ("task-1%00", "404 task_not_found"),
        ("%ff", "400 invalid"),
        ("%", "404 task_not_found"),
        ("%zz", "404 task_not_found"),
    ] {
        for (method, verb) in [("GET", ""), ("DELETE", ""), ("POST", "/cancel"), ("POST", "/start"), ("GET", "/history")] {
            house.check(method, &format!("/v1/tasks/{id}{verb}"), &[], b"", expected);
        }
    }
    for (name, expected) in
        [("a%2Fb", "200"), ("a%20b", "400 invalid"), ("%C3%BC", "400 invalid"), ("%00", "400 invalid"), ("a%0Ab", "400 invalid")]
    {
        for (method, verb) in [("GET", ""), ("POST", "/pause"), ("POST", "/resume"), ("POST", "/clear"), ("GET", "/dead")] {
            house.check(method, &format!("/v1/queues/{name}{verb}"), &[], b"", expected);
        }
    }
    let queues = house.server.get("/v1/queues")["queues"].clone();
    let names: Vec<&Value> = queues.as_array().unwrap().iter().map(|queue| &queue["queue"]).collect();
    assert_eq!(names, [&json!("a/b")]);
    house.ends_well(0);
}
