//! A Redis server of its own, and a worker that speaks to it as any program would.

#![allow(dead_code, reason = "each file of tests uses some of it")]

use crate::house::{self, House};
use kernel::ids::TaskId;
use kernel::names::TypeName;
use kernel::record::{Owner, Record};
use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands, Value as Answer};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use workers::redis::{Address, Options, SIGNALS, run};

pub const STREAM: &str = "wf.tasks.t";

pub fn options(redis: &Redis) -> Options {
    let types = ["t", "u", "task"].map(|kind| TypeName::parse(kind).unwrap());
    let streams: BTreeMap<_, _> = types.into_iter().map(|kind| (kind.clone(), Options::stream_of(&kind))).collect();
    Options { url: Address::parse(&redis.url()).unwrap(), streams, signals: SIGNALS.into(), slots: 100, mirror: true }
}

pub fn bridge(house: &House, redis: &Redis) -> JoinHandle<()> {
    bridge_with(house, options(redis))
}

pub fn bridge_with(house: &House, options: Options) -> JoinHandle<()> {
    tokio::spawn(run(house.engine.clone(), options, std::future::pending()))
}

pub fn done(token: &Value, result: Value) -> Value {
    json!({"version": "1.0", "job_id": token["id"], "run_id": token["run_id"], "node_id": token["node_id"],
           "status": "completed", "result_data": result, "metadata": {"execution_time_ms": 3}})
}

/// Waits until this holds.
pub async fn until<T>(what: &str, mut holds: impl AsyncFnMut() -> Option<T>) -> T {
    let seen = async {
        loop {
            if let Some(seen) = holds().await {
                return seen;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(house::PATIENCE, seen).await.unwrap_or_else(|_| panic!("{what}"))
}

pub async fn nothing_is_left(redis: &Redis) {
    until("nothing is left in Redis", async || (redis.left(STREAM).await == (0, 0, 0)).then_some(())).await;
}

pub fn refused(house: &House) -> Vec<(u32, String)> {
    let records = house.engine.read(|reader| reader.records(kernel::ids::RecordSeq(0), 100_000)).unwrap();
    let refused = records.into_iter().filter(|entry| entry.owner == Owner::Shard).filter_map(|entry| match entry.record {
        Record::SignalsRefused { signals, reason } => Some((signals, reason)),
        _ => None,
    });
    refused.collect()
}

pub fn leases(house: &House, task: TaskId) -> usize {
    house.story(task).matches("leased").count()
}

/// A certificate for 127.0.0.1, its key, and what signed it.
pub fn tls(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/tls").join(name)
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

pub struct Redis {
    server: Child,
    pub port: u16,
    folder: TempDir,
    args: Vec<String>,
}

impl Redis {
    pub async fn start() -> Redis {
        Redis::start_with(&[]).await
    }

    pub async fn start_with(args: &[&str]) -> Redis {
        let port = free_port();
        let folder = tempfile::tempdir().unwrap();
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let server = spawn(port, &folder, &args);
        let redis = Redis { server, port, folder, args };
        redis.line().await;
        redis
    }

    /// One that speaks TLS, too, on this port.
    pub async fn start_tls() -> (Redis, u16) {
        let port = free_port();
        let [roots, certificate, key] = ["ca.pem", "server.pem", "server.key"].map(|name| tls(name).display().to_string());
        let mut args = vec!["--tls-auth-clients", "no", "--tls-ca-cert-file", &roots, "--tls-cert-file", &certificate];
        let text = port.to_string();
        args.extend(["--tls-key-file", &key, "--tls-port", &text]);
        (Redis::start_with(&args).await, port)
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    pub fn kill(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }

    /// At the same address, knowing nothing but what it keeps in files.
    pub async fn again(&mut self) {
        self.server = spawn(self.port, &self.folder, &self.args);
        self.line().await;
    }

    pub async fn line(&self) -> MultiplexedConnection {
        let client = redis::Client::open(self.url()).unwrap();
        for _ in 0..200 {
            if let Ok(line) = client.get_multiplexed_async_connection().await {
                return line;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("redis-server does not answer");
    }

    /// Does as it is told: `SET key value`.
    pub async fn tell(&self, command: &str) {
        let mut words = command.split(' ');
        let mut asked = redis::cmd(words.next().unwrap());
        words.for_each(|word| _ = asked.arg(word));
        let _: Answer = asked.query_async(&mut self.line().await).await.unwrap();
    }

    /// The tokens of a stream, oldest first: at least so many.
    pub async fn tokens(&self, stream: &str, count: usize) -> Vec<Value> {
        self.entries(stream, count).await.iter().map(token).collect()
    }

    /// The fields of the entries of a stream, oldest first, as plain `XREAD` gives them: at least so many.
    pub async fn entries(&self, stream: &str, count: usize) -> Vec<BTreeMap<String, String>> {
        let mut line = self.line().await;
        for _ in 0..600 {
            let mut read = redis::cmd("XREAD");
            let found: Answer = read.arg("STREAMS").arg(stream).arg("0").query_async(&mut line).await.unwrap();
            let entries = entries(&found);
            if entries.len() >= count {
                return entries;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("{count} tokens did not come on {stream}");
    }

    pub async fn signal(&self, signal: &Value) {
        self.push("completion_signals", &signal.to_string()).await;
    }

    pub async fn push(&self, list: &str, text: &str) {
        let _: usize = self.line().await.rpush(list, text).await.unwrap();
    }

    /// How many are out, as far as it knows, how many stand on a stream, and how many signals are there.
    pub async fn left(&self, stream: &str) -> (usize, usize, usize) {
        let mut line = self.line().await;
        let out: usize = line.hlen("completion_signals:out").await.unwrap();
        let tokens: usize = redis::cmd("XLEN").arg(stream).query_async(&mut line).await.unwrap();
        let waiting: usize = line.llen("completion_signals").await.unwrap();
        let hearing: usize = line.llen("completion_signals:hearing").await.unwrap();
        (out, tokens, waiting + hearing)
    }
}

/// Stands between a bridge and Redis.
pub struct Between {
    port: u16,
    /// What Redis answers goes no further.
    keeps: Arc<AtomicBool>,
    /// Lines are cut when it changes.
    cuts: watch::Sender<()>,
}

impl Between {
    pub async fn start(redis: u16) -> Between {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (keeps, cuts) = (Arc::<AtomicBool>::default(), watch::Sender::new(()));
        let between = Between { port, keeps: keeps.clone(), cuts: cuts.clone() };
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let far = TcpStream::connect(("127.0.0.1", redis)).await.unwrap();
                let (keeps, mut cut) = (keeps.clone(), cuts.subscribe());
                tokio::spawn(async move {
                    let ((mut from_near, mut to_near), (mut from_far, mut to_far)) = (near.into_split(), far.into_split());
                    let answers = async {
                        let mut bytes = [0; 4_096];
                        while let Ok(read @ 1..) = from_far.read(&mut bytes).await {
                            if keeps.load(Ordering::Relaxed) {
                                std::future::pending::<()>().await;
                            }
                            if to_near.write_all(&bytes[..read]).await.is_err() {
                                return;
                            }
                        }
                    };
                    tokio::select! {
                        _ = tokio::io::copy(&mut from_near, &mut to_far) => {}
                        () = answers => {}
                        _ = cut.changed() => {}
                    }
                });
            }
        });
        between
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    pub fn keep_answers(&self, keep: bool) {
        self.keeps.store(keep, Ordering::Relaxed);
    }

    /// All lines, and those that come are let through.
    pub fn cut(&self) {
        self.keep_answers(false);
        self.cuts.send_replace(());
    }
}

fn spawn(port: u16, folder: &TempDir, args: &[String]) -> Child {
    let port = port.to_string();
    Command::new("redis-server")
        .args(["--port", &port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"])
        .args(args)
        .current_dir(folder.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("redis-server is there: `make test` installs it")
}

impl Drop for Redis {
    fn drop(&mut self) {
        _ = self.server.kill();
        _ = self.server.wait();
    }
}

pub fn tokens(found: &Answer) -> Vec<Value> {
    entries(found).iter().map(token).collect()
}

fn token(fields: &BTreeMap<String, String>) -> Value {
    serde_json::from_str(&fields["token"]).unwrap()
}

/// `[[stream, [[id, [field, value, …]], …]]]`
fn entries(found: &Answer) -> Vec<BTreeMap<String, String>> {
    let list = |answer: &Answer| match answer {
        Answer::Array(items) => items.clone(),
        _ => Vec::new(),
    };
    let mut entries = Vec::new();
    for stream in list(found) {
        for entry in list(list(&stream).last().unwrap_or(&Answer::Nil)) {
            let fields = list(list(&entry).last().unwrap_or(&Answer::Nil));
            let texts: Vec<String> = fields.iter().map(|field| redis::from_redis_value_ref(field).unwrap()).collect();
            entries.push(texts.chunks(2).map(|pair| (pair[0].clone(), pair[1].clone())).collect());
        }
    }
    entries
}
