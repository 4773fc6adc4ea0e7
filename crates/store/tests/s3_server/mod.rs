//! A real S3 server of its own for a test, on a port of its own, which looks at the signature of every request (`signed.py`). It
//! comes with `make s3`.

#![allow(dead_code, reason = "each test file uses a part of this")]

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use store::blobs::s3::S3Options;

pub struct S3Server {
    child: Child,
    pub port: u16,
}

impl S3Server {
    pub fn start() -> S3Server {
        // Free a moment ago; if somebody else took it meanwhile, the server says so and ends.
        let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        (0..10).find_map(|_| S3Server::try_start_at(free())).expect("it comes up")
    }

    pub fn start_at(port: u16) -> S3Server {
        S3Server::try_start_at(port).expect("it comes up")
    }

    fn try_start_at(port: u16) -> Option<S3Server> {
        let python = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/moto/bin/python3");
        assert!(python.exists(), "the S3 server of the tests is missing: run `make s3` once");
        let mut child = Command::new(python)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../store/tests/s3_server/signed.py"))
            .arg(port.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut lines = lines.map_while(Result::ok);
        if !lines.any(|line| line.contains("Running on http")) {
            _ = child.wait();
            return None;
        }
        // Read on, or it would wait for somebody to.
        std::thread::spawn(move || lines.for_each(drop));
        Some(S3Server { child, port })
    }

    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// As who makes a bucket would.
    pub fn make_bucket(&self, name: &str) {
        self.curl(&["-X", "PUT", &format!("{}/{name}", self.endpoint())]);
    }

    /// Behind the back of whoever uses it.
    pub fn curl(&self, args: &[&str]) {
        // It wants to know who asks, and not that it is true.
        let known = ["--aws-sigv4", "aws:amz:us-east-1:s3", "--user", "id:secret", "-H", "x-unsigned: tests"];
        let asked = Command::new("curl").args(["-sf", "--noproxy", "*"]).args(known).args(args).output().unwrap();
        assert!(asked.status.success(), "{args:?}");
    }

    pub fn options(&self, url: &str) -> S3Options {
        S3Options {
            url: url.into(),
            endpoint: Some(self.endpoint()),
            access_key_id: Some("id".into()),
            secret_access_key: Some("secret".into()),
            owner: "tests".into(),
            ..S3Options::default()
        }
    }

    pub fn kill(&mut self) {
        _ = self.child.kill();
        _ = self.child.wait();
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.kill();
    }
}
