//! Requests over real connections: what peers answer, where they lead, where nothing may go, and what they never tell.

mod house;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method, StatusCode, Uri, header};
use axum::response::{IntoResponse, Response};
use futures_util::StreamExt;
use house::{House, within};
use kernel::ids::TaskId;
use kernel::names::TypeName;
use kernel::record::Record;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::AsyncReadExt;
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use workers::http::{Http, Preset};
use workers::secrets::{From, Secret, Secrets};
use workers::{Client, Gate, Lookup, system};

const KEY: &str = "k3y-\"that\" nobody/may see";
const BYTES_MAX: usize = 1_024 * 1_024;
/// How long a slow peer takes for one redirect.
const HOP: Duration = Duration::from_millis(25);

/// What came in, one line for each request.
type Came = Arc<Mutex<Vec<String>>>;

/// A peer that answers as its path says.
async fn peer(listen: &str) -> (SocketAddr, Came) {
    let came = Came::default();
    let app = Router::new().route("/{how}", axum::routing::any(answer)).with_state(came.clone());
    let listener = TcpListener::bind(listen).await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (address, came)
}

async fn answer(
    State(came): State<Came>,
    Path(how): Path<String>,
    uri: Uri,
    method: Method,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let said = |name: &str| headers.get(name).map_or("-", |value| value.to_str().unwrap()).to_owned();
    let line = ["content-type", "authorization", "idempotency-key"].map(said).join(" ");
    came.lock().unwrap().push(format!("{method} {uri} {line} {}", String::from_utf8_lossy(&body)));
    let first = came.lock().unwrap().len() == 1;
    let to = |status: u16, place: &str| (StatusCode::from_u16(status).unwrap(), [(header::LOCATION, place.to_owned())]);
    let json = |text: String| ([(header::CONTENT_TYPE, "application/json")], text).into_response();
    match how.as_str() {
        "json" => {
            (StatusCode::CREATED, [(header::CONTENT_TYPE, "application/json"), (header::SET_COOKIE, "a=b")], r#"{"n":1.50}"#)
                .into_response()
        }
        "text" => "hello \"you\"".into_response(),
        "lie" => json("{".into()),
        "bytes" => ([(header::CONTENT_TYPE, "image/png")], vec![0x89, 0xff, 0]).into_response(),
        "large" => ([(header::CONTENT_TYPE, "text/plain")], "x".repeat(300_000)).into_response(),
        "huge" => "x".repeat(BYTES_MAX + 1).into_response(),
        "list" => json(list()),
        "packed" => ([(header::CONTENT_ENCODING, "gzip")], "x").into_response(),
        "echo" => {
            let escaped = KEY.replace('k', "\\u006b").replace('"', "\\\"");
            let told = json!({"plain": said("authorization"), "body": String::from_utf8_lossy(&body), "escaped": "HERE"});
            json(told.to_string().replace("HERE", &escaped))
        }
        "scold" => (StatusCode::FORBIDDEN, format!("no such key: {}", said("authorization"))).into_response(),
        "later" if first => (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "1")], "busy").into_response(),
        "later" => "now".into_response(),
        "hop" => to(302, "/json").into_response(),
        "round" => to(307, "/round").into_response(),
        "down" => match uri.query().unwrap().strip_prefix("n=").unwrap().parse::<u8>().unwrap() {
            0 => "there".into_response(),
            n => to(302, &format!("/down?n={}", n - 1)).into_response(),
        },
        "slowly" => {
            tokio::time::sleep(HOP).await;
            to(307, "/slowly").into_response()
        }
        "abroad" => to(307, &uri.query().unwrap_or_default().replace("to=", "")).into_response(),
        "never" => std::future::pending().await,
        // Half of what was promised, and then nothing, or no connection any more.
        "half" | "cut" => {
            let rest = async move {
                tokio::time::sleep(HOP).await;
                if how == "cut" { Err("gone") } else { std::future::pending().await }
            };
            let parts = futures_util::stream::once(async { Ok("{\"n\":") }).chain(futures_util::stream::once(rest));
            ([(header::CONTENT_TYPE, "application/json")], axum::body::Body::from_stream(parts)).into_response()
        }
        code => (StatusCode::from_u16(code.parse().unwrap()).unwrap(), "no: ü").into_response(),
    }
}

/// JSON that is more than fits into an output.
fn list() -> String {
    json!({"first": "one", "all": vec!["x".repeat(1_000); 400]}).to_string()
}

struct Sender {
    house: House,
    presets: BTreeMap<TypeName, Arc<Preset>>,
    _folder: tempfile::TempDir,
    secrets: Arc<Secrets>,
    lookup: Lookup,
    allow: Vec<&'static str>,
    last: Option<TaskId>,
}

impl Sender {
    fn open() -> Sender {
        let folder = tempfile::tempdir().unwrap();
        let secret = |name: &str, value: &str, hosts: &[&str]| {
            let file = folder.path().join(name);
            std::fs::write(&file, format!("{value}\n")).unwrap();
            (name.to_owned(), Secret { from: From::File(file), hosts: hosts.iter().map(ToString::to_string).collect() })
        };
        let secrets = Arc::new(Secrets::new([
            secret("KEY", KEY, &["127.0.0.1"]),
            secret("ELSEWHERE", KEY, &["api.test"]),
            secret("SMALL", "sm4ll-one", &[]),
            secret("HOOK", "https://h1dden.test/T0/B0", &["api.test"]),
        ]));
        let presets = BTreeMap::new();
        Sender { house: House::open(), presets, _folder: folder, secrets, lookup: system(), allow: vec!["127.0.0.1"], last: None }
    }

    /// One task of this type with this input: its story, and its output if it is done.
    async fn story(&mut self, kind: &str, input: &Value) -> String {
        let gate = Gate::new(self.allow.iter().map(|allowed| allowed.parse().unwrap()).collect());
        let client = Client::gated(None, gate, self.lookup.clone()).unwrap();
        let http = Http::new(self.house.engine.clone(), client, self.secrets.clone(), self.presets.clone(), BYTES_MAX);
        let place = http.place(4, Duration::ZERO);
        let mut working = self.house.work(http, place);
        let task = self.house.add(kind, &input.to_string(), Some(&format!("k-{}", self.house.told().len()))).await;
        let end = self.house.end(task).await;
        let output = if end == "done" { format!(" {}", self.house.output(task)) } else { String::new() };
        working.stop();
        working.ended().await;
        self.last = Some(task);
        self.house.story(task) + &output
    }
}

/// What stands in an output beside what the peer's library adds.
fn plain(story: &str, address: SocketAddr) -> String {
    let Some((before, output)) = story.split_once("done {") else { return story.replace(&address.to_string(), "PEER") };
    let mut output: Value = serde_json::from_str(&format!("{{{output}")).unwrap();
    output.as_object_mut().unwrap().remove("headers");
    format!("{before}done {output}")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_peer_answers_is_the_output_or_the_failure() {
    let retried = |why: &str| format!("leased; retried {why}; leased; retried {why}; leased; failed {why}");
    for (path, fields, told) in [
        ("json", json!({}), r#"leased; done {"body":{"n":1.5},"status":201}"#.to_owned()),
        ("json", json!({"response": "text"}), r#"leased; done {"body":"{\"n\":1.50}","status":201}"#.to_owned()),
        ("text", json!({}), r#"leased; done {"body":"hello \"you\"","status":200}"#.to_owned()),
        ("lie", json!({}), r#"leased; done {"body":"{","status":200}"#.to_owned()),
        (
            "lie",
            json!({"response": "json"}),
            "leased; failed unfit_response: the answer cannot be kept as it should be: it is no JSON".to_owned(),
        ),
        ("404", json!({"expect": [404, "2xx"]}), r#"leased; done {"body":"no: ü","status":404}"#.to_owned()),
        ("404", json!({}), "leased; failed http_404: GET PEER/404 answered 404 Not Found: no: ü".to_owned()),
        ("200", json!({"expect": 204}), "leased; failed http_200: GET PEER/200 answered 200 OK: no: ü".to_owned()),
        ("503", json!({}), retried("http_503: GET PEER/503 answered 503 Service Unavailable: no: ü")),
        ("never", json!({"timeout": "50ms"}), retried("timed_out: GET PEER/never: it did not answer within 50 ms")),
        ("half", json!({"timeout": "500ms"}), retried("broken_off: GET PEER/half did not send all of its answer")),
        ("cut", json!({}), retried("broken_off: GET PEER/cut did not send all of its answer")),
        ("huge", json!({}), format!("leased; failed response_too_large: GET PEER/huge answered with more than {BYTES_MAX} bytes")),
        (
            "packed",
            json!({}),
            "leased; failed unfit_response: the answer cannot be kept as it should be: it is packed as gzip, which was not asked for"
                .to_owned(),
        ),
        ("hop", json!({}), r#"leased; done {"body":{"n":1.5},"status":201}"#.to_owned()),
        ("hop", json!({"expect": 302}), r#"leased; done {"body":"","status":302}"#.to_owned()),
        ("down?n=5", json!({}), r#"leased; done {"body":"there","status":200}"#.to_owned()),
        (
            "down?n=6",
            json!({}),
            "leased; failed redirected: PEER redirects to /down?n=0: no more than 5 redirects are followed; name the final address".to_owned(),
        ),
        (
            "round",
            json!({"redirects": 3}),
            "leased; failed redirected: PEER redirects to /round: no more than 3 redirects are followed; name the final address".to_owned(),
        ),
        (
            "round",
            json!({"redirects": 0}),
            "leased; failed redirected: GET PEER/round redirects to /round: no more than 0 redirects are followed; name the final address".to_owned(),
        ),
    ] {
        let (address, _) = peer("127.0.0.1:0").await;
        let mut input = fields;
        input["url"] = json!(format!("http://{address}/{path}"));
        assert_eq!(plain(&Sender::open().story("http", &input).await, address), told, "{input}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_for_is_sent_with_the_key_of_the_work() {
    let (address, came) = peer("127.0.0.1:0").await;
    let mut sender = Sender::open();
    let input = json!({"url": format!("http://{address}/text"), "method": "PUT", "query": {"q": "a b"}, "body": {"n": 1},
        "headers": {"Authorization": "Bearer secret://KEY"}});
    sender.story("http", &input).await;
    assert_eq!(came.lock().unwrap()[0], format!("PUT /text?q=a%20b application/json Bearer {KEY} k-0 {{\"n\":1}}"));
    // Its headers are kept, but for cookies.
    let story = sender.story("http", &json!({"url": format!("http://{address}/json")})).await;
    assert!(story.contains("\"content-type\":\"application/json\"") && !story.contains("a=b"), "{story}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_peer_is_asked_again_when_it_says() {
    let (address, _) = peer("127.0.0.1:0").await;
    let mut sender = Sender::open();
    let story = sender.story("http", &json!({"url": format!("http://{address}/later")})).await;
    assert!(story.starts_with("leased; retried http_429") && story.contains("leased; done"), "{story}");
    let waited = |record: &Record| matches!(record, Record::TaskRetried { .. });
    let entry = sender.house.told().iter().find(|entry| waited(&entry.record)).unwrap();
    let Record::TaskRetried { retry_at, .. } = &entry.record else { unreachable!() };
    assert!(*retry_at >= entry.at.plus_ms(1_000), "{entry:?}");
}

/// A time for each of them would not be over before the redirects are.
#[tokio::test(flavor = "multi_thread")]
async fn all_redirects_have_one_time_together() {
    let (address, came) = peer("127.0.0.1:0").await;
    let input = json!({"url": format!("http://{address}/slowly"), "redirects": 20, "timeout": "250ms"});
    let story = Sender::open().story("http", &input).await;
    let ends: Vec<&str> = story.split("; ").filter(|word| *word != "leased").collect();
    let why = "it did not answer within 250 ms";
    assert!(ends.len() == 3 && ends.iter().all(|end| end.contains(" timed_out: ") && end.ends_with(why)), "{story}");
    assert!(came.lock().unwrap().len() > 3, "it was redirected");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_large_or_no_text_or_is_to_lie_there_lies_in_the_blob_store() {
    let (address, _) = peer("127.0.0.1:0").await;
    let large = || vec![b'x'; 300_000];
    for (path, response, bytes, kind) in [
        ("bytes", "auto", vec![0x89, 0xff, 0], "image/png"),
        ("large", "auto", large(), "text/plain"),
        ("large", "text", large(), "text/plain"),
        ("list", "auto", list().into_bytes(), "application/json"),
        ("list", "json", list().into_bytes(), "application/json"),
        ("json", "blob", br#"{"n":1.50}"#.to_vec(), "application/json"),
        ("text", "blob", br#"hello "you""#.to_vec(), "text/plain; charset=utf-8"),
    ] {
        let mut sender = Sender::open();
        let story = sender.story("http", &json!({"url": format!("http://{address}/{path}"), "response": response})).await;
        let output: Value = serde_json::from_str(story.strip_prefix("leased; done ").unwrap()).unwrap();
        let told = (&output["bytes"], &output["type"], output.get("body"));
        assert_eq!(told, (&json!(bytes.len()), &json!(kind), None), "{path} as {response}");
        let id = store::BlobId::parse(output["blob"].as_str().unwrap().strip_prefix("blob:").unwrap()).unwrap();
        assert_eq!(sender.house.engine.blobs().get(&id).unwrap(), Some(bytes), "{path} as {response}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_secret_goes_where_it_may_and_never_comes_back() {
    let (address, came) = peer("127.0.0.1:0").await;
    let (other, unwanted) = peer("127.0.0.1:0").await;
    let url = |path: &str| format!("http://{address}/{path}");
    let bearer = json!({"Authorization": "Bearer secret://KEY"});
    for (input, told) in [
        (json!({"url": url("echo"), "headers": bearer, "body": {"token": "secret://KEY"}}), "Bearer secret://KEY"),
        (
            json!({"url": url("scold"), "headers": bearer}),
            "failed http_403: GET PEER/scold answered 403 Forbidden: no such key: Bearer secret://KEY",
        ),
        (
            json!({"url": url("text"), "headers": {"x": "secret://ELSEWHERE"}}),
            "failed no_secret: secret `ELSEWHERE` may not go to 127.0.0.1",
        ),
        (json!({"url": url("text"), "headers": {"x": "secret://NONE"}}), "failed no_secret: there is no secret `NONE`"),
        (
            json!({"url": url(&format!("abroad?to=http://{other}/text")), "headers": bearer}),
            "failed redirected: GET PEER/abroad redirects to http://OTHER/text: it leads to another host, and a secret is not sent on; name the final address",
        ),
        (json!({"url": format!("http://127.0.0.1:1/?k={}", "secret://KEY")}), "failed bad_request"),
        (json!({"url": "http://secret://SMALL.x.test/"}), "failed no_secret: secret `SMALL` cannot be a part of a host"),
        (json!({"url": "http://x.test:secret://SMALL/"}), "failed no_secret: secret `SMALL` cannot be a part of a host"),
        // The whole address is one, and goes elsewhere than it may.
        (json!({"url": "secret://HOOK"}), "failed no_secret: secret `HOOK` may not go to secret://HOOK: name that host"),
    ] {
        let mut sender = Sender::open();
        let story = sender.story("http", &input).await.replace(&address.to_string(), "PEER").replace(&other.to_string(), "OTHER");
        assert!(story.contains(told), "{input}: {story}");
        let everything = format!("{story} {:?}", sender.house.told());
        for piece in ["k3y-", "nobody/may", "nobody%2Fmay", "sm4ll", "h1dden"] {
            assert!(!everything.contains(piece), "{input}: {everything}");
        }
    }
    let came = came.lock().unwrap().join("\n");
    assert!(came.contains(&format!("Bearer {KEY}")) && came.contains(r#"{"token":"k3y-\"that\" nobody/may see"}"#), "{came}");
    assert!(unwanted.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn addresses_that_are_not_public_are_refused_however_they_are_written() {
    let (address, came) = peer("127.0.0.1:0").await;
    let port = address.port();
    let mut sender = Sender { allow: vec!["127.0.0.7", "127.0.0.1:1"], ..Sender::open() };
    for host in
        ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "0177.0.0.1", "127.1", "0.0.0.0", "0"]
    {
        let story = sender.story("http", &json!({"url": format!("http://{host}:{port}/text"), "timeout": "5s"})).await;
        let unknown = story.contains("retried unreachable") && story.contains("lookup");
        assert!(story.starts_with("leased; failed address_refused: ") || unknown, "{host}: {story}");
    }
    let story = sender.story("http", &json!({"url": "http://169.254.169.254/latest/meta-data"})).await;
    assert_eq!(
        story,
        "leased; failed address_refused: 169.254.169.254:80 is not public: if it is meant, allow it \
         with --allow, or under [workers] in signaller.toml"
    );
    assert!(came.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_redirect_is_held_against_the_same_gate() {
    let (address, _) = peer("127.0.0.1:0").await;
    let (inside, came) = peer("127.0.0.2:0").await;
    let mut sender = Sender::open();
    let story = sender.story("http", &json!({"url": format!("http://{address}/abroad?to=http://{inside}/text")})).await;
    assert!(story.starts_with(&format!("leased; failed address_refused: {inside} is not public")), "{story}");
    assert!(came.lock().unwrap().is_empty());
    sender.allow.push("127.0.0.2");
    let story = sender.story("http", &json!({"url": format!("http://{address}/abroad?to=http://{inside}/text")})).await;
    assert!(story.starts_with("leased; done"), "{story}");
}

/// A name that is one thing when it is looked at and another when it is connected to.
#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_looked_up_once_and_what_was_looked_at_is_connected_to() {
    let (good, came_good) = peer("127.0.0.1:0").await;
    let bad = peer(&format!("127.0.0.2:{}", good.port())).await;
    let looked = Arc::new(AtomicUsize::new(0));
    let count = looked.clone();
    let lookup: Lookup = Arc::new(move |host, port| {
        assert_eq!(host, "rebinding.test");
        let ip = if count.fetch_add(1, Ordering::SeqCst) == 0 { [127, 0, 0, 1] } else { [127, 0, 0, 2] };
        Box::pin(async move { Ok(vec![SocketAddr::from((ip, port))]) })
    });
    let mut sender = Sender { lookup, ..Sender::open() };
    let input = json!({"url": format!("http://rebinding.test:{}/text", good.port())});
    let story = sender.story("http", &input).await;
    assert!(story.starts_with("leased; done"), "{story}");
    assert_eq!(looked.load(Ordering::SeqCst), 1);
    // The next one finds the other, and is refused before anything is sent.
    let story = sender.story("http", &input).await;
    assert!(story.starts_with("leased; failed address_refused: rebinding.test is 127.0.0.2"), "{story}");
    assert_eq!((came_good.lock().unwrap().len(), bad.1.lock().unwrap().len()), (1, 0));
}

/// Of several addresses only those are tried that may be.
#[tokio::test(flavor = "multi_thread")]
async fn addresses_that_may_not_be_are_left_out() {
    let (good, came) = peer("127.0.0.1:0").await;
    let lookup: Lookup = Arc::new(|_, port| {
        let found = [[127, 0, 0, 2], [10, 0, 0, 1], [127, 0, 0, 1]].map(|ip| SocketAddr::from((ip, port))).to_vec();
        Box::pin(async move { Ok(found) })
    });
    let mut sender = Sender { lookup, ..Sender::open() };
    let story = sender.story("http", &json!({"url": format!("http://mixed.test:{}/text", good.port())})).await;
    assert!(story.starts_with("leased; done"), "{story}");
    assert_eq!(came.lock().unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_preset_makes_requests_of_a_type_of_its_own() {
    let (address, came) = peer("127.0.0.1:0").await;
    let request = json!({"url": format!("http://{address}/json"), "query": {"q": "${input.text}", "n": "${input.count}"}});
    let mut sender = Sender::open();
    let preset = Preset::new(&request, Some("output.body.n")).unwrap();
    sender.presets.insert(TypeName::parse("search").unwrap(), Arc::new(preset));
    assert_eq!(sender.story("search", &json!({"text": "a&b", "count": 3})).await, "leased; done 1.5");
    assert!(came.lock().unwrap()[0].starts_with("GET /json?n=3&q=a%26b "), "{came:?}");
    let story = sender.story("search", &json!({"text": "a"})).await;
    assert!(story.starts_with("leased; failed bad_request: its preset cannot be filled in"), "{story}");
    assert!(Preset::new(&json!({"url": "${nodes.a.output}"}), None).is_err());
    // However large the answer is, what is picked counts.
    let request = json!({"url": format!("http://{address}/list")});
    for (pick, told) in [
        ("output.body.first", "leased; done \"one\""),
        ("output.body.all", "leased; failed output_too_large: its output is 401201 bytes"),
    ] {
        let preset = Preset::new(&request, Some(pick)).unwrap();
        sender.presets.insert(TypeName::parse("search").unwrap(), Arc::new(preset));
        let story = sender.story("search", &json!({})).await;
        assert!(story.starts_with(told), "{story}");
    }
}

/// The connection is closed when the task is cancelled: the worker goes on, and the peer has not answered.
#[tokio::test(flavor = "multi_thread")]
async fn a_request_ends_with_its_task() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (asked, was_asked) = oneshot::channel();
    let peer = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut piece = [0; 4_096];
        assert!(stream.read(&mut piece).await.unwrap() > 0);
        asked.send(()).unwrap();
        while stream.read(&mut piece).await.is_ok_and(|bytes| bytes > 0) {}
    });
    let mut sender = Sender::open();
    let client = Client::gated(None, Gate::new(vec!["127.0.0.1".parse().unwrap()]), system()).unwrap();
    let http = Http::new(sender.house.engine.clone(), client, sender.secrets.clone(), BTreeMap::new(), BYTES_MAX);
    let place = http.place(4, Duration::ZERO);
    let mut working = sender.house.work(http, place);
    let task = sender.house.add("http", &json!({"url": format!("http://{address}/never")}).to_string(), None).await;
    within(was_asked).await.unwrap();
    assert!(!peer.is_finished());
    sender.house.cancel(task).await;
    within(peer).await.expect("it sees the end of the connection");
    assert_eq!(sender.house.end(task).await, "cancelled");
    working.stop();
    working.ended().await;
}
