//! A real S3 server of its own for a test, on a port of its own. It comes with `make s3`.

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
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/moto/bin/moto_server");
        assert!(program.exists(), "the S3 server of the tests is missing: run `make s3` once");
        let mut child = Command::new(program)
            .args(["-H", "127.0.0.1", "-p", &port.to_string()])
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

    /// As who makes a bucket would: with a plain request, which this server takes unsigned.
    pub fn make_bucket(&self, name: &str) {
        let made = Command::new("curl")
            .args(["-sf", "--noproxy", "*", "-X", "PUT", &format!("{}/{name}", self.endpoint())])
            .status()
            .unwrap();
        assert!(made.success(), "the bucket is made");
    }

    /// From here on every request has to be signed by the one user there is, which is held against what Amazon's own library
    /// makes of it; before, none is.
    pub fn want_signatures(&self, url: &str) -> S3Options {
        let iam = |form: &[&str]| {
            // Who asks is read off the signature, and nothing more.
            let mut curl = Command::new("curl");
            curl.args(["-sf", "--noproxy", "*", "--aws-sigv4", "aws:amz:us-east-1:iam", "--user", "id:secret", &self.endpoint()]);
            for field in form {
                curl.args(["--data-urlencode", field]);
            }
            let output = curl.output().unwrap();
            assert!(output.status.success(), "{form:?}");
            String::from_utf8(output.stdout).unwrap()
        };
        let all = r#"PolicyDocument={"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"s3:*","Resource":"*"}]}"#;
        iam(&["Action=CreateUser", "UserName=tests"]);
        iam(&["Action=PutUserPolicy", "UserName=tests", "PolicyName=all", all]);
        let key = iam(&["Action=CreateAccessKey", "UserName=tests"]);
        let within = |name: &str| key.split(['<', '>']).skip_while(|part| *part != name).nth(1).map(str::to_owned);
        let strict = ["-sf", "--noproxy", "*", "-H", "content-type: text/plain", "--data", "0"];
        let told = Command::new("curl").args(strict).arg(format!("{}/moto-api/reset-auth", self.endpoint())).output().unwrap();
        assert!(told.status.success(), "it looks at signatures");
        S3Options { access_key_id: within("AccessKeyId"), secret_access_key: within("SecretAccessKey"), ..self.options(url) }
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
