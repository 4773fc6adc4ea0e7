//! The workers that start with the server, on the real binary: `http` and commands, their secrets, their ends, and that they take
//! nothing that is not theirs.

mod server;
mod talk;

use serde_json::{Value, json};
use server::{Server, signaller, signaller_with};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use talk::{lease, report, until, verified};

const SECRET: &str = "swordfish-7f3a-never-told";

/// What came to it, each request whole.
type Came = Arc<Mutex<Vec<String>>>;

/// A peer that answers every request with `answer`; `{said}` in it is what the request had as its authorization.
fn peer(answer: &'static str) -> (SocketAddr, Came) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (address, came) = (listener.local_addr().unwrap(), Came::default());
    let theirs = came.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let mut stream = BufReader::new(stream);
            let (mut head, mut line) = (String::new(), String::new());
            while stream.read_line(&mut line).unwrap_or(0) > 2 {
                head.push_str(&line);
                line.clear();
            }
            let field = |name: &str| {
                let mut lines = head.lines().filter_map(|line| line.split_once(": "));
                lines.find(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value.to_owned())
            };
            let mut body = vec![0; field("content-length").map_or(0, |bytes| bytes.parse().unwrap())];
            stream.read_exact(&mut body).unwrap();
            theirs.lock().unwrap().push(format!("{head}\n{}", String::from_utf8_lossy(&body)));
            let answer = answer.replace("{said}", &field("authorization").unwrap_or_default());
            let kind = "content-type: application/json\r\nconnection: close";
            _ = write!(stream.get_mut(), "HTTP/1.1 200 OK\r\n{kind}\r\ncontent-length: {}\r\n\r\n{answer}", answer.len());
        }
    });
    (address, came)
}

fn example(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

struct House {
    folder: tempfile::TempDir,
    server: Server,
}

impl House {
    fn start(config: &str, env: &[(&str, &str)]) -> House {
        let folder = tempfile::tempdir().unwrap();
        let server = House::serve(folder.path(), config, env);
        House { folder, server }
    }

    fn serve(folder: &Path, config: &str, env: &[(&str, &str)]) -> Server {
        let file = folder.join("signaller.toml");
        std::fs::write(&file, config.replace("FOLDER", folder.to_str().unwrap())).unwrap();
        let log = std::fs::File::create(folder.join("server.log")).unwrap();
        Server::start_telling(&folder.join("data"), 0, &["--config", file.to_str().unwrap(), "--stop-limit", "2s"], env, log)
    }

    fn add(&self, kind: &str, input: Value) -> String {
        let task = json!({"type": kind, "input": input, "retry": {"attempts": 2, "backoff_ms": 0, "jitter_percent": 0}});
        self.server.post("/v1/tasks", &task)["task"].as_str().unwrap().to_owned()
    }

    fn ended(&self, task: &str) -> Value {
        until("it ends", || {
            let view = self.server.get(&format!("/v1/tasks/{task}"));
            view["finished_at"].is_string().then_some(view)
        })
    }

    /// What a process wrote into its file.
    fn written(&self, name: &str) -> String {
        until("it is written", || {
            let text = std::fs::read_to_string(self.folder.path().join(name)).ok()?;
            text.ends_with('\n').then(|| text.trim().to_owned())
        })
    }

    fn verified(mut self) {
        self.server.terminate();
        verified(&self.folder.path().join("data"));
    }
}

fn is_there(pid: &str) -> bool {
    Path::new("/proc").join(pid).join("cmdline").exists()
        && !std::fs::read_to_string(Path::new("/proc").join(pid).join("stat")).unwrap_or_default().contains(") Z ")
}

/// Every file of a folder that holds these bytes.
fn holding(folder: &Path, bytes: &[u8]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().flatten() {
        if entry.path().is_dir() {
            found.extend(holding(&entry.path(), bytes));
        } else if std::fs::read(entry.path()).unwrap().windows(bytes.len()).any(|window| window == bytes) {
            found.push(entry.path());
        }
    }
    found
}

#[test]
fn the_example_of_the_page_runs() {
    let page = std::fs::read_to_string(example("../docs/workers.md")).unwrap();
    let config = std::fs::read_to_string(example("signaller.toml")).unwrap();
    let workflow = std::fs::read_to_string(example("workflows/built-in.yaml")).unwrap();
    assert!(page.contains(&format!("```yaml\n{workflow}```\n")), "the workflow is shown as it is");
    let blocks = page.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let redis = std::fs::read_to_string(example("redis.toml")).unwrap();
    for block in blocks {
        assert!(config.contains(block) || redis.contains(block), "it is in an example:\n{block}");
    }

    let (address, came) = peer(r#"["other",["One","Two"],[],[]]"#);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("deploy"), "a-key-to-deploy-with\n").unwrap();
    let config = config
        .replace("127.0.0.1:8080", &address.to_string())
        .replace("https://en.wikipedia.org", &format!("http://{address}"))
        .replace("\"examples/", &format!("\"{}/", example("").display()))
        .replace("/run/secrets/deploy", folder.path().join("deploy").to_str().unwrap());
    let house = House::start(&config, &[("HOOK_KEY", SECRET)]);
    let workflow = workflow.replace("127.0.0.1:8080", &address.to_string());
    let file = house.folder.path().join("built-in.yaml");
    std::fs::write(&file, workflow).unwrap();
    let put = signaller(&["--json", "workflow", "put", file.to_str().unwrap()], Some(&house.server.url));
    assert!(put["error"].is_null(), "{put}");
    let run = house.server.post("/v1/runs", &json!({"workflow": "built-in", "input": {"text": "Is it DOWN again?"}}));
    let run = run["run"].as_str().unwrap().to_owned();
    let ended = until("the run ends", || {
        let view = house.server.get(&format!("/v1/runs/{run}"));
        (view["status"] != "running").then_some(view)
    });
    assert_eq!((&ended["status"], &ended["output"]), (&json!("done"), &json!({"label": "outage", "status": 200})), "{ended}");
    let came = came.lock().unwrap();
    assert!(came[0].starts_with("GET /w/api.php?action=opensearch&format=json&limit=5&search=outage "), "{}", came[0]);
    assert!(came[1].contains(&format!("authorization: Bearer {SECRET}")), "{}", came[1]);
    assert!(came[1].contains(&format!("idempotency-key: {run}/0/tell")), "{}", came[1]);
    house.verified();
}

#[test]
fn no_secret_is_in_the_data_the_history_or_what_is_told() {
    let (address, came) = peer(r#"{"you_said": "{said}"}"#);
    let config = format!(
        "[workers]\nallow = [\"{address}\"]\n[secrets]\nNONE = {{env = \"NOT_SET\"}}\n\
         KEY = {{env = \"THE_KEY\", hosts = [\"127.0.0.1\"]}}\nHOOK = {{env = \"THE_HOOK\", hosts = [\"127.0.0.1\"]}}\n\
         [process.leak]\ncommand = [\"sh\", \"-c\", \"echo log $KEY >&2; echo $KEY > FOLDER/proof; echo got $KEY\"]\nenv = {{KEY = \"secret://KEY\"}}\n"
    );
    let hook = format!("http://{address}/{SECRET}");
    let house = House::start(&config, &[("THE_KEY", SECRET), ("THE_HOOK", &hook), ("SIGNALLER_LOG", "trace")]);
    let echoed =
        house.add("http", json!({"url": format!("http://{address}/"), "headers": {"authorization": "Bearer secret://KEY"}}));
    let echoed = house.ended(&echoed);
    assert_eq!(echoed["output"]["body"], json!({"you_said": "Bearer secret://KEY"}), "{echoed}");
    assert!(came.lock().unwrap()[0].contains(SECRET), "it was sent");
    let hooked = house.add("http", json!({"url": "secret://HOOK"}));
    assert_eq!(house.ended(&hooked)["status"], "done");
    assert!(came.lock().unwrap()[1].contains(SECRET), "it was sent there");
    let leaked = house.add("process", json!({"command": "leak"}));
    assert_eq!(house.ended(&leaked)["output"], "got secret://KEY");
    assert_eq!(house.written("proof"), SECRET, "it was there");
    let history = house.server.get(&format!("/v1/tasks/{leaked}/history")).to_string();
    assert!(!history.contains(SECRET), "{history}");
    let log = std::fs::read_to_string(house.folder.path().join("server.log")).unwrap();
    assert!(log.contains("NOT_SET"), "the log is there: {log}");
    assert!(!log.contains(SECRET) && !log.contains(&address.to_string()), "{log}");
    let data = house.folder.path().join("data");
    assert!(!holding(&data, b"you_said").is_empty(), "what came back is kept");
    assert_eq!(holding(&data, SECRET.as_bytes()), Vec::<PathBuf>::new());
    house.verified();
}

#[test]
fn private_addresses_are_refused_unless_they_are_allowed() {
    let (address, came) = peer("{}");
    let mut house = House::start("", &[]);
    let input = json!({"url": format!("http://{address}/")});
    let task = house.add("http", input.clone());
    let ended = house.ended(&task);
    assert_eq!(
        (&ended["status"], &ended["attempt"], &ended["error"]["code"]),
        (&json!("failed"), &json!(1), &json!("address_refused"))
    );
    assert!(came.lock().unwrap().is_empty());
    house.server.terminate();
    house.server = Server::start_with(&house.folder.path().join("data"), 0, &["--allow", &address.to_string()], &[]);
    let task = house.add("http", input);
    assert_eq!(house.ended(&task)["status"], "done");
    house.verified();
}

#[test]
fn what_is_switched_off_or_not_set_up_is_left_to_others() {
    for (config, kind) in [
        ("[workers]\nhttp = false\n", "http"),
        ("", "process"),
        ("[workers]\nprocess = false\n[process.it]\ncommand = [\"cat\"]\ntypes = [\"function\"]\n", "process"),
        ("[workers]\nprocess = false\n[process.it]\ncommand = [\"cat\"]\ntypes = [\"function\"]\n", "function"),
        // A command serves the types it names, and no other.
        ("[process.it]\ncommand = [\"cat\"]\n", "function"),
    ] {
        let house = House::start(config, &[]);
        let task = house.add(kind, json!({"url": "http://127.0.0.1:1/", "command": "it"}));
        let explained = house.server.get(&format!("/v1/tasks/{task}/explain"));
        assert!(explained.to_string().contains("no worker has asked for type"), "{config}{kind}: {explained}");
        assert_eq!(explained.to_string().contains("signaller work --type"), kind == "function", "{config}{kind}: {explained}");
        let leased = lease(&house.server, "mine", kind);
        assert_eq!((&leased["task"], &leased["attempt"]), (&json!(task), &json!(1)), "{config}{kind}");
        assert_eq!(report(&house.server, "mine", &leased, json!({"status": "done"}))["ok"], true);
        house.verified();
    }
}

const STUBBORN: &str = "[process.stubborn]\n\
    command = [\"sh\", \"-c\", \"trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & echo $! > FOLDER/child; echo $$ > FOLDER/leader; wait\"]\n";

/// Nobody is left to end them but the process that watches.
#[test]
fn a_killed_server_leaves_no_process_behind_and_its_task_is_tried_again() {
    let mut house = House::start(STUBBORN, &[]);
    house.server.put("/v1/queues/process", &json!({"config": {"heartbeat_ms": 1000}}));
    let task = house.add("process", json!({"command": "stubborn"}));
    let (leader, child) = (house.written("leader"), house.written("child"));
    assert!(is_there(&leader) && is_there(&child));
    house.server.kill_9();
    until("they are ended", || (!is_there(&leader) && !is_there(&child)).then_some(()));
    std::fs::remove_file(house.folder.path().join("leader")).unwrap();
    // The next server's command is a mild one.
    let mild = "[process.stubborn]\ncommand = [\"echo\", \"7\"]\n";
    house.server = House::serve(house.folder.path(), mild, &[]);
    let ended = house.ended(&task);
    assert_eq!((&ended["status"], &ended["output"]), (&json!("done"), &json!(7)), "{ended}");
    let history = house.server.get(&format!("/v1/tasks/{task}/history")).to_string();
    assert_eq!(history.matches("\"task_leased\"").count(), 2, "{history}");
    house.verified();
}

/// The process that watches, among the children of the server.
fn watching(server: u32) -> Option<u32> {
    let all = std::fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let read = |pid: &str, file: &str| std::fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let is_it = |pid: &String| {
        let stat = read(pid, "stat");
        let parent = stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1));
        parent == Some(&server.to_string()) && read(pid, "cmdline").contains("work-guard")
    };
    all.into_iter().find(is_it)?.parse().ok()
}

#[test]
fn a_guard_that_was_killed_is_replaced() {
    let mut house = House::start(&format!("{STUBBORN}[process.mild]\ncommand = [\"echo\", \"7\"]\n"), &[]);
    house.add("process", json!({"command": "stubborn"}));
    let (leader, child) = (house.written("leader"), house.written("child"));
    let guard = until("it watches", || watching(house.server.pid()));
    server::signal(guard, "KILL");
    until("it is gone", || (watching(house.server.pid()) != Some(guard)).then_some(()));
    // It is missed when the next command begins, and told of those that run.
    let mild = house.add("process", json!({"command": "mild"}));
    assert_eq!(house.ended(&mild)["status"], "done");
    assert!(watching(house.server.pid()).is_some());
    house.server.kill_9();
    until("they are ended", || (!is_there(&leader) && !is_there(&child)).then_some(()));
}

#[test]
fn a_server_that_stops_ends_its_commands_and_hands_their_tasks_back() {
    let mut house = House::start(STUBBORN, &[]);
    let task = house.add("process", json!({"command": "stubborn"}));
    let (leader, child) = (house.written("leader"), house.written("child"));
    assert_eq!(house.server.terminate(), Some(0));
    until("they are ended", || (!is_there(&leader) && !is_there(&child)).then_some(()));
    house.server = House::serve(house.folder.path(), "[process.stubborn]\ncommand = [\"echo\", \"7\"]\n", &[]);
    let ended = house.ended(&task);
    assert_eq!((&ended["status"], &ended["attempt"]), (&json!("done"), &json!(1)), "no attempt is burnt: {ended}");
    house.verified();
}

#[test]
fn a_cancelled_task_ends_its_command() {
    let house = House::start(STUBBORN, &[]);
    let task = house.add("process", json!({"command": "stubborn"}));
    let (leader, child) = (house.written("leader"), house.written("child"));
    house.server.post(&format!("/v1/tasks/{task}/cancel"), &json!({}));
    until("they are ended", || (!is_there(&leader) && !is_there(&child)).then_some(()));
    assert_eq!(house.ended(&task)["status"], "cancelled");
    house.verified();
}

#[test]
fn a_wrong_file_is_refused_before_anything_starts() {
    let folder = tempfile::tempdir().unwrap();
    for (config, told) in [
        ("[process.it]\ncommand = [\"no-such-program\"]\n", "`no-such-program` is not on PATH"),
        ("[process.it]\ncomand = [\"cat\"]\n", "comand"),
        ("[workers]\nallow = [\"localhost\"]\n", "`localhost` is no address to allow"),
        ("[http.it]\nurl = \"http://h.test\"\n", "http.it serves no type"),
    ] {
        let file = folder.path().join("signaller.toml");
        std::fs::write(&file, config).unwrap();
        let data = folder.path().join("data");
        let args = [
            "--json",
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--config",
            file.to_str().unwrap(),
            "--data-dir",
            data.to_str().unwrap(),
        ];
        let (exit, answer) = signaller_with(&args, None, "");
        assert_eq!((exit, &answer["error"]["code"]), (2, &json!("config")), "{config}: {answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(told), "{config}: {answer}");
        assert!(!data.exists());
    }
}
