//! A Redis server of its own, and a worker that speaks to it as any program would.

use redis::aio::MultiplexedConnection;
use redis::{AsyncCommands, Value as Answer};
use serde_json::Value;
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

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
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let folder = tempfile::tempdir().unwrap();
        let args: Vec<String> = args.iter().map(ToString::to_string).collect();
        let server = spawn(port, &folder, &args);
        let redis = Redis { server, port, folder, args };
        redis.line().await;
        redis
    }

    pub fn url(&self) -> String {
        format!("redis://127.0.0.1:{}/0", self.port)
    }

    pub fn kill(&mut self) {
        self.server.kill().unwrap();
        self.server.wait().unwrap();
    }

    /// At the same address, knowing nothing.
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

    /// The tokens of a stream, oldest first, as plain `XREAD` gives them: at least so many.
    pub async fn tokens(&self, stream: &str, count: usize) -> Vec<Value> {
        let mut line = self.line().await;
        for _ in 0..600 {
            let mut read = redis::cmd("XREAD");
            let found: Answer = read.arg("STREAMS").arg(stream).arg("0").query_async(&mut line).await.unwrap();
            let tokens = tokens(&found);
            if tokens.len() >= count {
                return tokens;
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

/// `[[stream, [[id, [field, value, …]], …]]]`
pub fn tokens(found: &Answer) -> Vec<Value> {
    let list = |answer: &Answer| match answer {
        Answer::Array(items) => items.clone(),
        _ => Vec::new(),
    };
    let mut tokens = Vec::new();
    for stream in list(found) {
        for entry in list(list(&stream).last().unwrap_or(&Answer::Nil)) {
            let fields = list(list(&entry).last().unwrap_or(&Answer::Nil));
            let texts: Vec<String> = fields.iter().map(|field| redis::from_redis_value_ref(field).unwrap()).collect();
            let token = texts.chunks(2).find(|pair| pair[0] == "token").expect("a token has its text");
            tokens.push(serde_json::from_str(&token[1]).unwrap());
        }
    }
    tokens
}
