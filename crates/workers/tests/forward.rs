//! Events passed on over a real connection, to peers that are well, slow, full, gone or lying.

mod house;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use flow::registry::Registry;
use house::{House, within};
use kernel::handler::FORWARD_TYPE;
use kernel::names::HandlerName;
use kernel::record::{Entry, Failure, Owner, Record};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use workers::Client;
use workers::forward::{Forward, Target, place};
use workers::inside::Job;

const EVENT: &str = r#"{"id":"d-1","name":"github/push","ts":"2026-11-16T10:00:00Z","data":{"n":1.50}}"#;
const LONG: Duration = Duration::from_secs(20);

/// What came in, one line for each request.
type Came = Arc<Mutex<Vec<String>>>;

/// A well-behaved peer that answers as its path says, and the same to every request.
async fn peer() -> (SocketAddr, Came) {
    let came = Came::default();
    let app = Router::new().route("/{how}", axum::routing::any(answer)).with_state(came.clone());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, app).await.unwrap() });
    (address, came)
}

async fn answer(State(came): State<Came>, Path(how): Path<String>, method: Method, headers: HeaderMap, body: Bytes) -> Response {
    let said = |name: &str| headers.get(name).map_or("-", |value| value.to_str().unwrap()).to_owned();
    let line = ["content-type", "x-key", "idempotency-key", "signaller-attempt"].map(said).join(" ");
    came.lock().unwrap().push(format!("{method} {line} {}", String::from_utf8_lossy(&body)));
    let first = came.lock().unwrap().len() == 1;
    let status = |code| StatusCode::from_u16(code).unwrap();
    match how.as_str() {
        "json" => (status(202), [(header::CONTENT_TYPE, "application/json; charset=utf-8")], r#"{"ids":[1.50]}"#).into_response(),
        "text" => "thanks \"you\"".into_response(),
        "lie" => ([(header::CONTENT_TYPE, "application/json")], "{").into_response(),
        "empty" => StatusCode::NO_CONTENT.into_response(),
        "huge" => "x".repeat(50 * 1_024 * 1_024).into_response(),
        "moved" => (StatusCode::FOUND, [(header::LOCATION, "/json")]).into_response(),
        "second" if first => StatusCode::BAD_GATEWAY.into_response(),
        "second" => "now".into_response(),
        "later" if first => (StatusCode::TOO_MANY_REQUESTS, [(header::RETRY_AFTER, "1")], "busy").into_response(),
        "later" => "now".into_response(),
        code => (status(code.parse().unwrap()), "no: ü").into_response(),
    }
}

fn forward(target: Target) -> Forward<impl Fn(&Job) -> Result<Target, Failure> + Send + Sync + 'static> {
    Forward::new(Client::new(None).unwrap(), move |_| Ok(target.clone()))
}

/// As a registry says it.
fn target(fields: &str) -> Target {
    let text = format!("handlers:\n  audit: {{on: a, forward: {{{fields}}}}}\n");
    let registry = Registry::compile(text.as_bytes()).unwrap_or_else(|problems| panic!("{text}\n{problems:#?}"));
    Target::of(&registry, &HandlerName::parse("audit").unwrap(), |_| Some("s".into())).unwrap()
}

fn to(address: SocketAddr, path: &str, time_max: Duration) -> Target {
    target(&format!("url: 'http://{address}/{path}', timeout: {}ms", time_max.as_millis()))
}

/// One event to this target: the story of its task, and its output if it is done.
async fn story(target: Target, address: SocketAddr) -> String {
    let mut house = House::open();
    let mut working = house.work(forward(target), place(4, Duration::ZERO));
    let task = house.add(FORWARD_TYPE, EVENT, Some("k-1")).await;
    let end = house.end(task).await;
    let output = if end == "done" { format!(" {}", house.output(task)) } else { String::new() };
    working.stop();
    working.ended().await;
    (house.story(task) + &output).replace(&address.to_string(), "PEER")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_peer_answers_decides_about_the_task() {
    let retried = |why: &str| format!("leased; retried {why}; leased; retried {why}; leased; failed {why}");
    for (path, told) in [
        ("json", r#"leased; done {"status":202,"body":{"ids":[1.50]}}"#.to_owned()),
        ("text", r#"leased; done {"status":200,"body":"thanks \"you\""}"#.to_owned()),
        ("lie", r#"leased; done {"status":200,"body":"{"}"#.to_owned()),
        ("empty", r#"leased; done {"status":204,"body":""}"#.to_owned()),
        ("huge", format!(r#"leased; done {{"status":200,"body":"{}","clipped":true}}"#, "x".repeat(2_048))),
        (
            "second",
            r#"leased; retried http_502: PEER answered 502 Bad Gateway; leased; done {"status":200,"body":"now"}"#.to_owned(),
        ),
        ("400", "leased; failed http_400: PEER answered 400 Bad Request: no: ü".to_owned()),
        ("401", "leased; failed http_401: PEER answered 401 Unauthorized: no: ü".to_owned()),
        ("404", "leased; failed http_404: PEER answered 404 Not Found: no: ü".to_owned()),
        ("408", retried("http_408: PEER answered 408 Request Timeout: no: ü")),
        ("425", retried("http_425: PEER answered 425 Too Early: no: ü")),
        ("429", retried("http_429: PEER answered 429 Too Many Requests: no: ü")),
        ("500", retried("http_500: PEER answered 500 Internal Server Error: no: ü")),
        ("503", retried("http_503: PEER answered 503 Service Unavailable: no: ü")),
        (
            "moved",
            "leased; failed redirected: PEER answered 302 Found: redirects are not followed, name the final \
             address in the registry"
                .to_owned(),
        ),
    ] {
        let (address, came) = peer().await;
        assert_eq!(story(to(address, path, LONG), address).await, told, "{path}");
        if path == "moved" {
            assert_eq!(came.lock().unwrap().len(), 1);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_attempt_carries_the_same_key_and_the_event_as_it_is() {
    let (address, came) = peer().await;
    let put = target(&format!("url: 'http://{address}/second', method: PUT, headers: {{X-Key: '${{env:S}}'}}"));
    story(put, address).await;
    let sent = came.lock().unwrap().clone();
    assert_eq!(sent, [format!("PUT application/json s k-1 1 {EVENT}"), format!("PUT application/json s k-1 2 {EVENT}")]);

    let (address, came) = peer().await;
    let kind = "headers: {Content-Type: application/cloudevents+json}";
    story(target(&format!("url: 'http://{address}/json', shape: inngest, {kind}")), address).await;
    let body = r#"{"name":"github/push","data":{"n":1.50},"id":"d-1","ts":1794823200000}"#;
    assert_eq!(came.lock().unwrap().concat(), format!("POST application/cloudevents+json - k-1 1 {body}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_that_the_peer_asks_for_is_waited() {
    let (address, _) = peer().await;
    let mut house = House::open();
    let _working = house.work(forward(to(address, "later", LONG)), place(1, Duration::ZERO));
    let task = house.add(FORWARD_TYPE, EVENT, None).await;
    assert_eq!(house.end(task).await, "done");
    let waits: Vec<u64> = house.told().iter().filter_map(wait_ms).collect();
    assert_eq!(waits, [1_000]);
}

fn wait_ms(entry: &Entry) -> Option<u64> {
    if let Record::TaskRetried { retry_at, .. } = &entry.record { Some(retry_at.ms_since(entry.at)) } else { None }
}

/// A peer that does with each connection what it is told.
async fn rude<F: Future<Output = ()> + Send + 'static>(with: impl Fn(TcpStream) -> F + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(with(stream));
        }
    });
    address
}

/// Reads until the peer hangs up.
async fn silent(mut stream: TcpStream) {
    let mut bytes = [0; 4_096];
    while stream.read(&mut bytes).await.is_ok_and(|read| read > 0) {}
}

async fn saying(mut stream: TcpStream, text: &'static str) {
    _ = stream.read(&mut [0; 4_096]).await;
    _ = stream.write_all(text.as_bytes()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_does_not_answer_is_tried_again() {
    let gone = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    let quick = Duration::from_millis(100);
    for (address, time_max, code) in [
        (gone, LONG, "unreachable: PEER: it cannot be reached: "),
        (rude(silent).await, quick, "timed_out: PEER: it did not answer within 100 ms"),
        (rude(|stream| async move { drop(stream) }).await, LONG, "broken_off: PEER: it hung up before it answered: "),
        (rude(|stream| saying(stream, "nonsense\r\n\r\n")).await, LONG, "broken_off: PEER: it hung up before it answered: "),
        (rude(|stream| saying(stream, "HTTP/1.1 200 OK\r\ncontent-")).await, LONG, "broken_off: PEER: "),
    ] {
        let told = story(to(address, "x", time_max), address).await;
        assert_eq!(told.matches("leased").count(), 3, "{told}");
        assert!(told.rsplit("; ").next().unwrap().starts_with(&format!("failed {code}")), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_counts_whatever_becomes_of_the_rest_of_the_answer() {
    let cut = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf";
    let drips = rude(|mut stream| async move {
        _ = stream.read(&mut [0; 4_096]).await;
        _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf").await;
        silent(stream).await;
    });
    for (address, time_max) in
        [(rude(move |stream| saying(stream, cut)).await, LONG), (drips.await, Duration::from_millis(1_500))]
    {
        let told = story(to(address, "x", time_max), address).await;
        assert_eq!(told, r#"leased; done {"status":200,"body":"half","clipped":true}"#);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_event_closes_its_connection() {
    let (said, mut heard) = mpsc::unbounded_channel();
    let address = rude(move |mut stream| {
        let said = said.clone();
        async move {
            _ = stream.read(&mut [0; 4_096]).await;
            _ = said.send("here");
            silent(stream).await;
            _ = said.send("gone");
        }
    })
    .await;
    let mut house = House::open();
    let _working = house.work(forward(to(address, "x", LONG)), place(4, Duration::ZERO));
    let task = house.add(FORWARD_TYPE, EVENT, None).await;
    assert_eq!(within(heard.recv()).await, Some("here"));
    house.cancel(task).await;
    assert_eq!(within(heard.recv()).await, Some("gone"));
    assert_eq!(house.end(task).await, "cancelled");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_was_under_way_when_the_server_was_killed_is_sent_again_with_its_key() {
    let (said, mut heard) = mpsc::unbounded_channel();
    let address = rude(move |mut stream| {
        let said = said.clone();
        async move {
            let mut bytes = [0; 4_096];
            let read = stream.read(&mut bytes).await.unwrap();
            let text = String::from_utf8_lossy(&bytes[..read]).into_owned();
            let key = text.lines().find(|line| line.starts_with("idempotency-key")).unwrap_or_default().to_owned();
            _ = said.send(key);
            silent(stream).await;
        }
    })
    .await;
    let before = House::stopping_within(Duration::from_millis(50));
    let killed = before.work(forward(to(address, "x", LONG)), place(1, Duration::ZERO));
    let task = before.add(FORWARD_TYPE, EVENT, None).await;
    let key = within(heard.recv()).await;
    killed.kill();
    assert_eq!(before.engine.stop().await, engine::Stopped::Limit);

    let (well, came) = peer().await;
    let mut after = House::over(before.disk.clone());
    let _working = after.work(forward(to(well, "json", LONG)), place(1, Duration::ZERO));
    assert_eq!(after.end(task).await, "done");
    assert_eq!(key, Some(format!("idempotency-key: {task}")));
    assert_eq!(came.lock().unwrap().concat(), format!("POST application/json - {task} 1 {EVENT}"));
    let burnt = |entry: &&Entry| entry.owner == Owner::Task(task) && matches!(entry.record, Record::TaskRetried { .. });
    assert_eq!(after.told().iter().filter(burnt).count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_with_a_certificate_of_its_own_is_trusted_by_its_root_alone() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/tls");
    let address = secure(&folder).await;
    for (roots, told) in [(Some(folder.join("ca.pem")), "done"), (None, "failed unreachable")] {
        let client = Client::new(roots.as_deref()).unwrap();
        let target = target(&format!("url: 'https://{address}/x'"));
        let mut house = House::open();
        let _working = house.work(Forward::new(client, move |_| Ok(target.clone())), place(1, Duration::ZERO));
        let task = house.add(FORWARD_TYPE, EVENT, None).await;
        let end = house.end(task).await;
        assert!(end.starts_with(told), "{end}");
        assert!(roots.is_some() || end.contains("certificate"), "{end}");
    }
}

/// A peer behind TLS that says yes.
async fn secure(folder: &std::path::Path) -> SocketAddr {
    use tokio_rustls::rustls::pki_types::pem::PemObject;
    use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
    use tokio_rustls::rustls::{ServerConfig, crypto::ring};
    let chain = CertificateDer::pem_file_iter(folder.join("server.pem")).unwrap().map(Result::unwrap).collect();
    let key = PrivateKeyDer::from_pem_file(folder.join("server.key")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config.with_single_cert(chain, key).unwrap()));
    rude(move |stream| {
        let acceptor = acceptor.clone();
        async move {
            let Ok(mut stream) = acceptor.accept(stream).await else { return };
            _ = stream.read(&mut [0; 4_096]).await;
            _ = stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
            _ = stream.shutdown().await;
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_goes_nowhere_is_a_dead_letter_at_once() {
    let mut house = House::open();
    let nowhere = |_: &Job| Target::of(&Registry::default(), &HandlerName::parse("audit").unwrap(), |_| None);
    let _working = house.work(Forward::new(Client::new(None).unwrap(), nowhere), place(1, Duration::ZERO));
    let task = house.add(FORWARD_TYPE, EVENT, None).await;
    assert!(house.end(task).await.starts_with("failed no_target: handler `audit`"));

    let (address, came) = peer().await;
    let target = target(&format!("url: 'http://{address}/json', shape: inngest"));
    let mut house = House::open();
    let _working = house.work(forward(target), place(1, Duration::ZERO));
    let task = house.add(FORWARD_TYPE, r#"{"name":"a","data":[1]}"#, None).await;
    assert!(house.end(task).await.starts_with("failed unfit_event: the data of a is not an object"));
    assert!(came.lock().unwrap().is_empty());
}
