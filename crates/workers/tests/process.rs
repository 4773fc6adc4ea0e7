//! Commands as real processes: what they are given and what they give, and that nothing of them stays.

mod house;

use house::{House, Working, within};
use kernel::ids::{Fence, TaskId};
use kernel::names::TypeName;
use kernel::record::{Entry, Owner, Record};
use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use workers::process::{Configured, Guard, Process};
use workers::secrets::{From, Secret, Secrets};

const KEY: &str = "k3y-that-nobody/may see";
/// Tests that do not wait for it have it long, others short.
const GRACE: Duration = Duration::from_millis(200);

struct Shop {
    house: House,
    folder: tempfile::TempDir,
    commands: BTreeMap<String, Configured>,
}

impl Shop {
    fn open() -> Shop {
        Shop { house: House::open(), folder: tempfile::tempdir().unwrap(), commands: BTreeMap::new() }
    }

    /// A command by this name that runs a script.
    fn with(mut self, name: &str, script: &str, set: impl FnOnce(&mut Configured)) -> Shop {
        let mut configured = Configured {
            command: ["sh", "-c", script].map(Into::into).to_vec(),
            types: Vec::new(),
            folder: Some(self.folder.path().to_owned()),
            env: Vec::new(),
            memory_mb: None,
            time_max: Duration::from_secs(60),
            concurrency: 2,
        };
        set(&mut configured);
        self.commands.insert(name.to_owned(), configured);
        self
    }

    fn work(&self, grace: Duration, stop_limit: Duration) -> Working {
        let key = self.folder.path().join("key");
        std::fs::write(&key, KEY).unwrap();
        let long = self.folder.path().join("long");
        let lines: Vec<String> = (0..40).map(|number| format!("{number:03}-of-a-key-that-has-many-lines-to-it")).collect();
        std::fs::write(&long, lines.join("\n")).unwrap();
        let secret = |file| Secret { from: From::File(file), hosts: Vec::new() };
        let secrets = Arc::new(Secrets::new([("KEY".to_owned(), secret(key)), ("LONG".to_owned(), secret(long))]));
        let process = Process::new(self.commands.clone(), secrets, Guard::none(), grace);
        let place = process.place(stop_limit);
        self.house.work(process, place)
    }

    async fn add(&self, input: &Value) -> TaskId {
        self.house.add("process", &input.to_string(), Some("k-1")).await
    }

    /// One task for this command: its story, and its output if it is done.
    async fn story(&mut self, kind: &str, input: &Value) -> String {
        let mut working = self.work(GRACE, Duration::ZERO);
        let task = self.house.add(kind, &input.to_string(), Some("k-1")).await;
        let end = self.house.end(task).await;
        let output = if end == "done" { format!(" {}", self.house.output(task)) } else { String::new() };
        working.stop();
        working.ended().await;
        self.house.story(task) + &output
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// What a file says once it is there.
async fn written(path: &Path) -> String {
    within(async {
        loop {
            match std::fs::read_to_string(path) {
                Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
                _ => tokio::time::sleep(Duration::from_millis(5)).await,
            }
        }
    })
    .await
}

/// It may be what the server died of, so it is an attempt.
#[tokio::test(flavor = "multi_thread")]
async fn what_ran_when_the_server_was_killed_has_lost_its_worker() {
    let script = "if [ -e begun ]; then echo '\"again\"'; else echo 1 > begun; sleep 60; fi";
    let mut shop = Shop::open().with("once", script, |_| {});
    let killed = shop.work(GRACE, Duration::ZERO);
    let task = shop.add(&json!({"command": "once"})).await;
    written(&shop.file("begun")).await;
    killed.kill();
    let _working = shop.work(GRACE, Duration::ZERO);
    assert_eq!(shop.house.end(task).await, "done");
    let lost = "retried worker_lost: the server was killed while it had this task";
    assert_eq!((shop.house.story(task), shop.house.output(task)), (format!("leased; {lost}; leased; done"), "\"again\"".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_task_says_that_it_waits_for_a_place_of_its_command() {
    let single = |configured: &mut Configured| configured.concurrency = 1;
    let mut shop =
        Shop::open().with("one", "echo 1 >> begun; until [ -e go ]; do sleep 0.05; done", single).with("other", "true", single);
    let _working = shop.work(GRACE, Duration::ZERO);
    let input = json!({"command": "one"}).to_string();
    let mut tasks = Vec::new();
    for _ in 0..2 {
        let task = shop.house.add("process", &input, None).await;
        shop.house.until(task, |record| matches!(record, Record::TaskLeased { .. })).await;
        let leased = |entry: &&Entry| entry.owner == Owner::Task(task) && matches!(entry.record, Record::TaskLeased { .. });
        tasks.push((task, Fence(shop.house.told().iter().find(leased).unwrap().seq)));
    }
    let engine = shop.house.engine.clone();
    let said =
        |logs: &engine::Logs| tasks.iter().filter_map(|(task, fence)| logs.progress(*task, *fence)?.message).collect::<Vec<_>>();
    within(async {
        while said(engine.logs()) != ["it waits for one of 1 places of its command"] {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    std::fs::write(shop.file("go"), "").unwrap();
    for (task, _) in &tasks {
        assert_eq!(shop.house.end(*task).await, "done");
    }
    assert!(said(engine.logs()).is_empty());
}

/// Waits until no such process is there.
async fn gone(pid: &str) {
    let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
    within(async {
        while test_kill_process(pid).is_ok() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_gets_its_input_and_gives_its_output() {
    let retried = |why: &str| format!("leased; retried {why}; leased; retried {why}; leased; failed {why}");
    for (script, told) in [
        ("cat | tr -d ' ' | sed 's/.*\"input\"://; s/}$//'", r#"leased; done {"a":[1,2.50]}"#.to_owned()),
        ("echo working; echo '{\"ok\":true}'", r#"leased; done {"ok":true}"#.to_owned()),
        ("echo one; echo two", r#"leased; done "two""#.to_owned()),
        ("printf '%s %s' $SIGNALLER_TYPE $SIGNALLER_IDEMPOTENCY_KEY", r#"leased; done "process k-1""#.to_owned()),
        ("echo oh >&2; exit 65", "leased; failed exit_65: oh".to_owned()),
        ("echo busy >&2; exit 75", retried("exit_75: busy")),
        ("exit 3", retried("exit_3: the command ended with 3")),
        ("kill -9 $$", retried("signal_9: signal 9 ended the command")),
        ("yes", "leased; failed output_too_large: the command wrote more than 262144 bytes of output".to_owned()),
    ] {
        let mut shop = Shop::open().with("it", script, |_| {});
        assert_eq!(
            shop.story("process", &json!({"command": "it", "input": {"a": [1, 2.50]}})).await.replace("2.5]", "2.50]"),
            told,
            "{script}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_set_up_is_run() {
    for (input, told) in [
        (
            json!({"command": "sh"}),
            "failed unknown_command: there is no command `sh`: set it up as [process.NAME] in signaller.toml",
        ),
        (json!({"command": "it", "args": ["x"]}), "failed bad_input: the input of a process task is"),
        (json!("it"), "failed bad_input"),
    ] {
        let mut shop = Shop::open().with("it", "echo 1", |_| {});
        let story = shop.story("process", &input).await;
        assert!(story.starts_with(&format!("leased; {told}")), "{input}: {story}");
    }
    let mut shop = Shop::open().with("it", "echo 1", |one| one.command = vec!["/nowhere/at/all".into()]);
    let story = shop.story("process", &json!({"command": "it"})).await;
    assert!(story.starts_with("leased; failed not_started: `/nowhere/at/all` cannot be started"), "{story}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_serves_the_types_that_are_its_own_and_gets_their_whole_input() {
    let set = |one: &mut Configured| one.types = ["classifier", "function"].map(|kind| TypeName::parse(kind).unwrap()).to_vec();
    let mut shop = Shop::open().with("it", "sed 's/.*\"input\"://; s/}$//'", set);
    for kind in ["classifier", "function"] {
        assert_eq!(shop.story(kind, &json!({"command": "x", "n": 1})).await, r#"leased; done {"command":"x","n":1}"#);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_sees_nothing_of_the_servers_environment_and_no_secret_comes_back() {
    let set = |one: &mut Configured| {
        one.env = vec![("TOKEN".into(), "secret://KEY".into()), ("MODE".into(), "fast".into())];
        one.memory_mb = Some(256);
    };
    let script = "env | sort | cut -d= -f1 | tr '\\n' ' '; echo; echo \"$MODE $TOKEN $(printf %s \"$TOKEN\" | base64)\"";
    let mut shop = Shop::open().with("it", script, set);
    let story = shop.story("process", &json!({"command": "it"})).await;
    assert!(story.starts_with(r#"leased; done "fast secret://KEY secret://KEY"#), "{story}");
    let names = "env | grep -v '^SIGNALLER_\\|^PWD\\|^SHLVL\\|^_=\\|^OLDPWD' | cut -d= -f1 | sort | tr '\\n' ' '";
    let mut shop = Shop::open().with("it", names, set);
    assert_eq!(shop.story("process", &json!({"command": "it"})).await, r#"leased; done "MODE PATH TOKEN""#);
    let mut shop = Shop::open().with("it", "echo \"wrong: $TOKEN\" >&2; exit 65", set);
    let story = shop.story("process", &json!({"command": "it"})).await;
    assert_eq!(story, "leased; failed exit_65: wrong: secret://KEY");
    assert!(!format!("{:?}", shop.house.told()).contains("k3y"));
    // Cut in two by the end that is kept, and line by line.
    let mut shop = Shop::open().with("it", "echo \"$TOKEN\" >&2; exit 65", |one| {
        one.env = vec![("TOKEN".into(), "secret://LONG".into())];
    });
    let story = shop.story("process", &json!({"command": "it"})).await;
    assert_eq!(story, "leased; failed exit_65: secret://LONG");
    let mut shop = Shop::open().with("it", "echo 1", |one| one.env = vec![("TOKEN".into(), "secret://NONE".into())]);
    assert!(
        shop.story("process", &json!({"command": "it"})).await.starts_with("leased; failed no_secret: there is no secret `NONE`")
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_has_no_more_memory_than_it_may() {
    let fill = "dd if=/dev/zero of=/dev/null bs=200M count=1 2>/dev/null && echo '\"had it\"' || exit 65";
    for (memory_mb, told) in [(Some(32), "leased; failed exit_65"), (None, "leased; done \"had it\"")] {
        let mut shop = Shop::open().with("it", fill, |one| one.memory_mb = memory_mb);
        let story = shop.story("process", &json!({"command": "it"})).await;
        assert!(story.starts_with(told), "{memory_mb:?}: {story}");
    }
}

/// It ignores SIGTERM, and so does what it started.
const STUBBORN: &str =
    "trap '' TERM; (trap '' TERM; while :; do sleep 1; done) & echo \"$!\" > child; echo \"$$\" > leader; wait";

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_takes_too_long_is_ended_with_all_it_started() {
    let mut shop = Shop::open().with("it", STUBBORN, |one| one.time_max = Duration::from_millis(300));
    let story = shop.story("process", &json!({"command": "it"})).await;
    assert!(story.starts_with("leased; retried timed_out: the command took longer than 300 ms and was ended"), "{story}");
    gone(&written(&shop.file("leader")).await).await;
    gone(&written(&shop.file("child")).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_task_ends_its_command_and_all_it_started() {
    let mut shop = Shop::open().with("it", STUBBORN, |_| {});
    let mut working = shop.work(GRACE, Duration::ZERO);
    let task = shop.add(&json!({"command": "it"})).await;
    let (child, leader) = (written(&shop.file("child")).await, written(&shop.file("leader")).await);
    shop.house.cancel(task).await;
    assert_eq!(shop.house.end(task).await, "cancelled");
    gone(&leader).await;
    gone(&child).await;
    working.stop();
    working.ended().await;
}

/// It is asked first: what it has to put in order it can.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_stops_hands_its_tasks_back_and_leaves_no_process() {
    // Whether it then says that all is well makes no difference: it was not let finish.
    for exit in ["exit 1", "echo 7; exit 0"] {
        let script = format!("trap 'echo asked > asked; {exit}' TERM; echo $$ > leader; while :; do sleep 0.05; done");
        let mut shop = Shop::open().with("it", &script, |_| {});
        let mut working = shop.work(Duration::from_secs(20), Duration::ZERO);
        let task = shop.add(&json!({"command": "it"})).await;
        let leader = written(&shop.file("leader")).await;
        working.stop();
        working.ended().await;
        gone(&leader).await;
        assert_eq!(written(&shop.file("asked")).await, "asked");
        shop.house.until(task, |record| matches!(record, Record::TaskReleased { .. })).await;
        assert_eq!(shop.house.story(task), "leased; released", "{exit}");
    }
}

/// As when its runtime goes down with it.
#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_is_dropped_takes_its_processes_along() {
    let shop = Shop::open().with("it", STUBBORN, |_| {});
    let working = shop.work(GRACE, Duration::ZERO);
    shop.add(&json!({"command": "it"})).await;
    let (child, leader) = (written(&shop.file("child")).await, written(&shop.file("leader")).await);
    working.kill();
    gone(&leader).await;
    gone(&child).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_more_of_a_command_run_at_a_time_than_may() {
    // Each makes a folder that another would find.
    let script = "mkdir alone || exit 65; sleep 0.1; rmdir alone; echo 1";
    let mut shop = Shop::open().with("it", script, |one| one.concurrency = 1).with("other", "echo 2", |_| {});
    let mut working = shop.work(GRACE, Duration::from_secs(30));
    let mut tasks = Vec::new();
    for _ in 0..4 {
        tasks.push(shop.house.add("process", &json!({"command": "it"}).to_string(), None).await);
    }
    for task in tasks {
        assert_eq!(shop.house.end(task).await, "done", "{}", shop.house.story(task));
    }
    working.stop();
    working.ended().await;
}
