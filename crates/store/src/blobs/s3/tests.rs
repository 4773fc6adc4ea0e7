//! A bucket that is slow, stands still or refuses, played by a server that speaks as little of S3 as that takes. All else is held
//! against a real one: see `tests/s3.rs`.

use super::*;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

const PATIENCE: Patience =
    Patience { answer: Duration::from_millis(400), body: Duration::from_millis(800), bytes_per_s: 256 * 1_024 };
/// Far beyond what any of it may take.
const LONG: Duration = Duration::from_secs(10);

/// How it behaves to all but its owner.
#[derive(Copy, Clone)]
enum Mood {
    Well,
    /// It answers a get with nothing.
    Mute,
    /// And with so many parts of the body, each after so long; less than all of it for `None`.
    Parts(Option<u32>, Duration),
    /// It takes so long for a put.
    SlowPuts(Duration),
    /// It takes no puts, and says so.
    Refuses(&'static str, &'static str),
    /// It takes nothing from anybody.
    RefusesAll(&'static str, &'static str),
}

#[derive(Default)]
struct Room {
    objects: HashMap<String, Vec<u8>>,
    mood: Option<Mood>,
}

#[derive(Clone, Default)]
struct Played(Arc<Mutex<Room>>);

impl Played {
    fn start() -> (Played, S3Options) {
        let (played, listener) = (Played::default(), TcpListener::bind("127.0.0.1:0").unwrap());
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let serves = played.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let serves = serves.clone();
                std::thread::spawn(move || serves.serve(stream));
            }
        });
        let (key, secret) = (Some("id".into()), Some("secret".into()));
        let place = S3Options { url: "s3://box".into(), endpoint: Some(endpoint), owner: "tests".into(), ..S3Options::default() };
        (played, S3Options { access_key_id: key, secret_access_key: secret, ..place })
    }

    fn set(&self, mood: Mood) {
        self.0.lock().unwrap().mood = Some(mood);
    }

    /// Until the other end hangs up.
    fn serve(&self, stream: TcpStream) -> Option<()> {
        let mut reader = BufReader::new(stream.try_clone().ok()?);
        loop {
            let mut head = Vec::new();
            loop {
                let mut line = String::new();
                if reader.read_line(&mut line).ok()? == 0 {
                    return None;
                }
                if line.trim().is_empty() {
                    break;
                }
                head.push(line.trim().to_lowercase());
            }
            let length = head.iter().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok()).unwrap_or(0);
            let mut body = vec![0; length];
            reader.read_exact(&mut body).ok()?;
            let mut asked = head[0].split(' ');
            let (method, path) = (asked.next()?, asked.next()?.to_owned());
            let is_new = head.iter().any(|line| line == "if-none-match: *");
            self.answer(&stream, method, path, body, is_new)?;
        }
    }

    fn answer(&self, stream: &TcpStream, method: &str, path: String, body: Vec<u8>, is_new: bool) -> Option<()> {
        let mood = self.0.lock().unwrap().mood.unwrap_or(Mood::Well);
        match (mood, method) {
            (Mood::RefusesAll(status, said), _) => return told(stream, status, said.as_bytes(), method),
            _ if path.ends_with("owner") => {}
            (Mood::Refuses(status, said), "put") => return told(stream, status, said.as_bytes(), method),
            (Mood::SlowPuts(time), "put") => std::thread::sleep(time),
            (Mood::Mute, "get") => return still(stream),
            (Mood::Parts(count, every), "get") => return in_parts(stream, &self.object(&path)?, count, every),
            _ => {}
        }
        let found = self.object(&path);
        match (method, found) {
            ("put", Some(_)) if is_new => told(stream, "412 Precondition Failed", b"", method),
            ("put", _) => {
                self.0.lock().unwrap().objects.insert(path, body);
                told(stream, "200 OK", b"", method)
            }
            (_, Some(found)) => told(stream, "200 OK", &found, method),
            _ => told(stream, "404 Not Found", b"<Error><Code>NoSuchKey</Code></Error>", method),
        }
    }

    fn object(&self, path: &str) -> Option<Vec<u8>> {
        self.0.lock().unwrap().objects.get(path).cloned()
    }
}

fn head(mut stream: &TcpStream, status: &str, length: usize) -> Option<()> {
    let rest = "etag: \"tag\"\r\nlast-modified: Tue, 17 Nov 2026 00:00:00 GMT";
    write!(stream, "HTTP/1.1 {status}\r\n{rest}\r\ncontent-length: {length}\r\n\r\n").ok()
}

fn told(mut stream: &TcpStream, status: &str, body: &[u8], method: &str) -> Option<()> {
    head(stream, status, body.len())?;
    if method == "head" { Some(()) } else { stream.write_all(body).ok() }
}

/// Nothing more comes of it until the other end has had enough.
fn still(mut stream: &TcpStream) -> Option<()> {
    _ = stream.read(&mut [0]);
    None
}

fn in_parts(mut stream: &TcpStream, body: &[u8], count: Option<u32>, every: Duration) -> Option<()> {
    head(stream, "200 OK", body.len())?;
    let Some(count) = count else {
        stream.write_all(&body[..body.len() / 2]).ok()?;
        return still(stream);
    };
    for part in body.chunks(body.len().div_ceil(count as usize)) {
        std::thread::sleep(every);
        stream.write_all(part).ok()?;
    }
    Some(())
}

/// The same, with a clock beside it.
fn within<T>(time: Duration, ask: impl FnOnce() -> T) -> T {
    let began = Instant::now();
    let answer = ask();
    assert!(began.elapsed() < time, "{:?}", began.elapsed());
    answer
}

fn unreached<T>(answer: Result<T, StoreError>, part: &str) {
    let Err(StoreError::Unreached(why)) = answer else { panic!("it is taken for something else") };
    assert!(why.contains(part), "{why}");
}

/// The next may ask.
fn rested(blobs: &S3Blobs) {
    blobs.note(None);
}

#[test]
fn an_answer_that_stops_or_trickles_is_given_up_and_one_that_is_only_long_is_not() {
    let (played, options) = Played::start();
    let blobs = S3Blobs::open_with(options, PATIENCE).unwrap();
    let (small, large) = (blobs.put(&[1; 64]).unwrap().id(), blobs.put(&[2; 1 << 20]).unwrap().id());
    let every = Duration::from_millis(100);
    for (mood, id, part) in [
        (Mood::Mute, small, "no answer within"),
        (Mood::Parts(None, every), large, "nothing more came"),
        // Never silent for long, and never whole.
        (Mood::Parts(Some(64), every), small, "was not whole after"),
    ] {
        played.set(mood);
        unreached(within(LONG, || blobs.get(&id)), part);
        assert!(blobs.trouble().is_some());
        rested(&blobs);
    }
    // Longer than a small one may take, and it keeps coming.
    played.set(Mood::Parts(Some(15), every));
    assert_eq!(blobs.get(&large).unwrap(), Some(vec![2; 1 << 20]));
    assert_eq!(blobs.trouble(), None);
}

#[test]
fn a_large_blob_has_longer_to_be_put_than_a_small_one() {
    let (played, options) = Played::start();
    let blobs = S3Blobs::open_with(options, PATIENCE).unwrap();
    played.set(Mood::SlowPuts(PATIENCE.body * 2));
    unreached(within(LONG, || blobs.put(&[1; 64])), "no answer within");
    rested(&blobs);
    blobs.put(&[2; 1 << 20]).unwrap();
    assert_eq!(blobs.trouble(), None);
    let usual = Patience::USUAL;
    assert!(usual.for_body(64 << 20) > usual.for_body(1) * 10 && usual.whole() > usual.for_body(64 << 20));
}

#[test]
fn what_is_refused_for_its_own_sake_is_no_outage() {
    let (played, options) = Played::start();
    let blobs = S3Blobs::open_with(options, PATIENCE).unwrap();
    let there = blobs.put(b"there").unwrap().id();
    for (status, said) in [("413 Payload Too Large", ""), ("400 Bad Request", "<Error><Code>EntityTooLarge</Code></Error>")] {
        played.set(Mood::Refuses(status, said));
        for put in [blobs.put(b"too much"), blobs.put_anew(b"too much")] {
            let Err(StoreError::Refused(why)) = put else { panic!("{status}") };
            assert!(why.starts_with("s3://box does not take a blob of 8 bytes: ") && why.contains(status), "{why}");
            assert!(why.ends_with(if said.is_empty() { "Large" } else { said }), "{why}");
        }
        assert_eq!(blobs.trouble(), None);
        assert!(blobs.get(&there).unwrap().is_some(), "others go on");
    }
    for mood in [
        // Whatever is asked for is refused: it is not for the sake of what was put.
        Mood::RefusesAll("400 Bad Request", "<Error><Code>ExpiredToken</Code></Error>"),
        Mood::Refuses("400 Bad Request", "<Error><Code>RequestTimeout</Code></Error>"),
        Mood::Refuses("403 Forbidden", "<Error><Code>AccessDenied</Code></Error>"),
        Mood::Refuses("503 Slow Down", "<Error><Code>SlowDown</Code></Error>"),
    ] {
        played.set(mood);
        let (Mood::RefusesAll(_, said) | Mood::Refuses(_, said)) = mood else { unreachable!() };
        let code = said.trim_start_matches("<Error><Code>").trim_end_matches("</Code></Error>");
        unreached(within(LONG, || blobs.put(b"something")), code);
        assert!(blobs.trouble().is_some_and(|trouble| trouble.contains(code)));
        rested(&blobs);
    }
    played.set(Mood::Well);
    blobs.put(b"too much").unwrap();
}
