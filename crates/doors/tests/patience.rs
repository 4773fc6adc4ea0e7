//! How long the server waits for a peer, and for how many: over real sockets, on a server in this process.

mod talk;

use doors::http::{Door, DoorOptions, serve};
use engine::{Answer, Engine, EngineOptions, Report, Request, Work};
use kernel::command::Outcome;
use std::sync::Arc;
use store::blobs::MemoryBlobs;
use store::memory::MemoryDisk;
use talk::answered;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{Duration, Instant};

async fn start(engine: &Engine) -> std::net::SocketAddr {
    start_with(engine, DoorOptions::default()).await
}

async fn start_with(engine: &Engine, options: DoorOptions) -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let door = Door::new(engine.clone(), options);
    tokio::spawn(serve(listener, door, std::future::pending()));
    address
}

fn engine(readers: usize) -> Engine {
    let options = EngineOptions { readers, ..EngineOptions::default() };
    Engine::open(Box::new(MemoryDisk::new().open()), Arc::new(MemoryBlobs::default()), options).unwrap()
}

/// Sends the pieces, five seconds apart, and tells what came back and after how many seconds the connection ended.
async fn check(address: std::net::SocketAddr, pieces: &[&str], answer: &str, seconds: std::ops::RangeInclusive<u64>) {
    let began = Instant::now();
    let mut stream = TcpStream::connect(address).await.unwrap();
    for (n, piece) in pieces.iter().enumerate() {
        if n > 0 {
            tokio::time::sleep(Duration::from_secs(5)).await;
        }
        if stream.write_all(piece.as_bytes()).await.is_err() {
            break;
        }
    }
    let mut text = Vec::new();
    _ = stream.read_to_end(&mut text).await;
    let text = String::from_utf8(text).unwrap();
    let took = began.elapsed().as_secs();
    assert!(text.contains(answer) && text.is_empty() == answer.is_empty(), "{pieces:?}: {text}");
    assert!(seconds.contains(&took), "{pieces:?}: {took} s");
}

#[tokio::test(start_paused = true)]
async fn nobody_is_waited_for_for_ever() {
    let address = start(&engine(2)).await;
    let head = "POST /v1/work HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n";
    let late = "did not arrive within 30 s";
    check(address, &[], "", 14..=16).await;
    check(address, &["GET /health HT"], "", 14..=16).await;
    check(address, &["G", "E", "T", " "], "", 14..=16).await;
    check(address, &[head], late, 29..=31).await;
    check(address, &[&head[..20], &head[20..], "{", "\"", "w", "o", "r", "k", "e", "r"], late, 34..=46).await;
    // One that was served and asks for nothing more is let go.
    check(address, &["GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"], "{\"ok\":true}", 14..=16).await;
}

/// The connection goes away after the lease was committed and before its input was read: the lease goes back.
#[tokio::test]
async fn a_grant_that_cannot_be_delivered_goes_back() {
    let engine = engine(2);
    let address = start(&engine).await;
    let status = async || match engine.ask(Request::Status).await {
        Ok(Answer::Status(status)) => (status.counts.queued, status.counts.running),
        other => panic!("{other:?}"),
    };
    let text = r#"POST /v1/tasks HTTP/1.1
host: localhost
connection: close
content-type: application/json
content-length: 12

{"type":"t"}"#;
    check(address, &[&text.replace('\n', "\r\n")], "201 Created", 0..=5).await;
    // A task that was leased before is no longer kept in memory with its input, so that it has to be read.
    let work = |want| Work {
        worker: kernel::names::WorkerName::parse("before").unwrap(),
        types: vec![kernel::names::TypeName::parse("t").unwrap()].into(),
        queues: Vec::new().into(),
        want,
        wait_ms: 0,
        results: Vec::new(),
        holding: Vec::new(),
    };
    let Ok(Answer::Worked(worked)) = engine.work(work(1)).await else { panic!("no answer") };
    let grant = &worked.deliveries[0].grant;
    let released = Report { task: grant.task, fence: grant.fence, outcome: Outcome::Released };
    engine.work(Work { results: vec![released], ..work(0) }).await.unwrap();
    assert_eq!(status().await, (1, 0));

    // Both readers are busy elsewhere, so the answer waits for one.
    let mut readers = Vec::new();
    for _ in 0..2 {
        let (free, busy) = std::sync::mpsc::channel::<()>();
        let (hold, held) = std::sync::mpsc::channel::<()>();
        let reading = engine.clone();
        let reader = std::thread::spawn(move || {
            let holding = |_: &mut dyn store::Reader| {
                hold.send(()).expect("the test waits");
                Ok(busy.recv())
            };
            reading.read_first(holding).map(|_| ())
        });
        held.recv().unwrap();
        readers.push((reader, free));
    }
    let body = r#"{"worker":"w","types":["t"],"want":1}"#;
    let head = format!(
        "POST /v1/work HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    for reset in [false, true] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all((head.clone() + body).as_bytes()).await.unwrap();
        while status().await != (0, 1) {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        if reset {
            // Ends with a reset instead of a farewell.
            stream.set_zero_linger().unwrap();
        }
        drop(stream);
        let deadline = Instant::now() + Duration::from_secs(10);
        while status().await != (1, 0) {
            assert!(Instant::now() < deadline, "the grant is lost");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }
    for (reader, free) in readers {
        free.send(()).unwrap();
        reader.join().unwrap().unwrap();
    }
    let Ok(Answer::Worked(worked)) = engine.work(work(1)).await else { panic!("no answer") };
    assert_eq!(worked.deliveries[0].grant.attempt, 1, "no attempt is burnt");
}

/// However many lists are being read, a worker gets its input.
#[tokio::test]
async fn lists_leave_a_reader_to_workers() {
    let engine = engine(2);
    let (free, busy) = std::sync::mpsc::channel::<()>();
    let (hold, held) = std::sync::mpsc::channel::<()>();
    let lists: Vec<_> = [(); 3]
        .map(|()| {
            let (reading, hold) = (engine.clone(), hold.clone());
            std::thread::spawn(move || reading.read(|_| Ok(hold.send(()))).map(|_| ()))
        })
        .into();
    (0..3).for_each(|_| held.recv().unwrap());
    let slow = {
        let reading = engine.clone();
        std::thread::spawn(move || reading.read(|_| Ok((hold.send(()), busy.recv()))).map(|_| ()))
    };
    held.recv().unwrap();
    assert!(engine.read_first(|reader| reader.last_record()).is_ok());
    free.send(()).unwrap();
    lists.into_iter().chain([slow]).for_each(|list| list.join().unwrap().unwrap());
}

/// Whoever only looks on finds a bound, and takes no place from whoever works.
#[tokio::test]
async fn onlookers_are_so_many_and_no_more() {
    let engine = engine(2);
    let address = start_with(&engine, DoorOptions { onlookers_max: 3, ..DoorOptions::default() }).await;
    let (status, added) = answered(address, "POST", "/v1/tasks", r#"{"type":"t"}"#).await;
    assert_eq!(status, 201, "{added}");
    let task = format!("/v1/tasks/{}", added["task"].as_str().unwrap());
    let (show, log) = (format!("{task}?wait_ms=60000"), format!("{task}/log?wait_ms=60000"));
    let stream = async || {
        let (mut stream, mut first) = (TcpStream::connect(address).await.unwrap(), [0; 12]);
        stream.write_all(b"GET /v1/stream HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        stream.read_exact(&mut first).await.unwrap();
        assert_eq!(&first, b"HTTP/1.1 200");
        stream
    };
    let mut looking = vec![stream().await];
    // Of three who come then one finds no place; which of them is anybody's guess.
    let (told, mut answers) = tokio::sync::mpsc::unbounded_channel();
    for path in [&show, &log, &show] {
        let (told, path) = (told.clone(), path.clone());
        tokio::spawn(async move { told.send(answered(address, "GET", &path, "").await.0) });
    }
    assert_eq!(answers.recv().await, Some(429));
    for path in [&show, &log, "/v1/stream"] {
        let (status, refused) = answered(address, "GET", path, "").await;
        let error = &refused["error"];
        assert_eq!((status, &error["code"], &error["retry_after_ms"]), (429, &"limited".into(), &1_000.into()), "{refused}");
    }
    // Who asks how it is now, and who works, does not look on.
    assert_eq!(answered(address, "GET", &task, "").await.0, 200);
    let poll = r#"{"worker":"w","types":["t"],"want":1,"wait_ms":5000}"#;
    let (_, leased) = answered(address, "POST", "/v1/work", poll).await;
    let task = &leased["tasks"][0];
    let results = format!(r#"[{{"task":{},"fence":{},"status":"done"}}]"#, task["task"], task["fence"]);
    let told = answered(address, "POST", "/v1/work", &format!(r#"{{"worker":"w","types":["t"],"results":{results}}}"#)).await;
    assert_eq!(told.1["results"][0]["ok"], true, "{told:?}");
    // Both have heard the end, and others take their places. Whoever need not wait is told all the same.
    for _ in 0..2 {
        assert_eq!(answers.recv().await, Some(200));
    }
    for _ in 0..2 {
        looking.push(stream().await);
    }
    assert_eq!(answered(address, "GET", "/v1/stream", "").await.0, 429);
    for path in [&show, &log] {
        assert_eq!(answered(address, "GET", path, "").await.0, 200, "{path}");
    }
    // Places come free, by an end as by a farewell.
    drop(looking);
    let (_, added) = answered(address, "POST", "/v1/tasks", r#"{"type":"t"}"#).await;
    let path = format!("/v1/tasks/{}?wait_ms=1", added["task"].as_str().unwrap());
    let deadline = Instant::now() + talk::PATIENCE;
    while answered(address, "GET", &path, "").await.0 != 200 {
        assert!(Instant::now() < deadline, "no place comes free");
    }
}
