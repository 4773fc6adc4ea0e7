//! The registry as people meet it, on the real binary: its file, its warnings, and what is told of events and webhooks.

mod house;
mod server;
mod talk;

use house::{House, command, ran};
use serde_json::{Value, json};
use server::Server;
use std::path::Path;
use talk::until;

fn put(server: &Server, text: &str) -> Value {
    let put =
        talk::ask(server.port, "PUT", "/v1/registry", &[("content-type", "text/yaml")], text.as_bytes()).expect("an answer");
    assert_eq!(put.status, 200, "{}", put.json());
    put.json()
}

fn touch(path: &Path) {
    let file = std::fs::File::options().write(true).open(path).unwrap();
    file.set_modified(std::time::SystemTime::now() + std::time::Duration::from_secs(9)).unwrap();
}

#[test]
fn a_registry_that_was_named_has_to_be_there() {
    let folder = tempfile::tempdir().unwrap();
    for verb in ["serve", "dev"] {
        for (file, why) in [("nowhere.yaml", "No such file"), (".", "it is a folder")] {
            let refused = ran(command(folder.path(), "", &format!("{verb} --listen 0 --data-dir data --registry {file}")));
            let answer = refused.json();
            assert_eq!((refused.exit, &answer["error"]["code"]), (2, &json!("config")), "{answer}");
            let message = answer["error"]["message"].as_str().unwrap();
            assert!(message.contains(file) && message.contains(why), "{message}");
            assert!(answer["fix"].as_str().is_some_and(|fix| fix.contains("--registry")), "{answer}");
            assert!(!folder.path().join("data").exists(), "nothing is left behind");
        }
    }
}

#[test]
fn a_file_that_was_touched_and_says_the_same_is_not_put_again() {
    let folder = tempfile::tempdir().unwrap();
    let registry = folder.path().join("registry.yaml");
    let text = |name: &str| format!("handlers:\n  {name}: {{on: a/b, task: t}}\n");
    std::fs::write(&registry, text("one")).unwrap();
    let server = Server::start_with(&folder.path().join("data"), 0, &["--registry", registry.to_str().unwrap()], &[]);
    let warned = put(&server, &text("two"));
    let expected = format!("this server follows {}; its next change replaces this", registry.display());
    assert_eq!(warned["warnings"], json!([expected]), "{warned}");
    touch(&registry);
    // What is seen after it shows that the touch was looked at: a wrong text is refused, the right one in force.
    std::fs::write(&registry, "handlers: 7").unwrap();
    until("it is refused", || server.get("/v1/registry")["refused"].as_str().map(str::to_owned));
    std::fs::write(&registry, text("two")).unwrap();
    until("it says what is in force", || server.get("/v1/registry")["refused"].is_null().then_some(()));
    let view = server.get("/v1/registry");
    assert_eq!((&view["revision"], &view["handlers"]), (&json!(2), &json!(["two"])), "no revision for what is in force: {view}");
    assert_eq!(view["file"], json!(registry.to_str().unwrap()));
    // Touched alone, over what was put meanwhile.
    put(&server, &text("three"));
    touch(&registry);
    std::thread::sleep(std::time::Duration::from_millis(2_500));
    let view = server.get("/v1/registry");
    assert_eq!((&view["revision"], &view["handlers"]), (&json!(3), &json!(["three"])), "{view}");
    std::fs::write(&registry, text("four")).unwrap();
    until("a change is taken", || (server.get("/v1/registry")["handlers"] == json!(["four"])).then_some(()));
}

const NEEDS: &str = "
handlers:
  pay: {on: order/paid, workflow: payout}
  pass: {on: order/paid, forward: 'https://x.test/${env:NEEDS_KEY}'}
webhooks:
  hub: {provider: github, secret: '${env:NEEDS_HUB}'}
crons:
  nightly: {schedule: '0 3 * * *', zone: Europe/Berlin}
";

#[test]
fn what_a_registry_needs_and_is_not_there_is_told() {
    let house = House::start();
    let file = house.file("registry.yaml", NEEDS);
    let here = [
        "line 8: cron `nightly` emits `cron/nightly`, and no handler takes that".to_owned(),
        "webhook `hub` refuses every request: variable NEEDS_HUB is not set".to_owned(),
        "handler `pass` cannot forward: variable NEEDS_KEY is not set".to_owned(),
    ];
    let elsewhere = " in this environment; it has to be where the server runs";
    let checked = house.ok(&format!("registry check {file}"));
    assert_eq!(checked["warnings"], json!([here[0], here[1].clone() + elsewhere, here[2].clone() + elsewhere]), "{checked}");
    assert_eq!((&checked["workflows"], &checked["crons"][0]["cron"]), (&json!(["payout"]), &json!("nightly")), "{checked}");
    let told = house.told(&format!("registry check {file}"));
    assert!(told.contains("2 handlers, 2 queues, 1 webhook, 1 cron"), "{told}");
    assert!(told.contains("cron nightly: 0 3 * * * (Europe/Berlin) emits cron/nightly, next in "), "{told}");
    assert!(told.contains("warning: webhook `hub` refuses every request"), "{told}");
    let workflow = "handler `pay` starts workflow `payout`, and there is none of that name".to_owned();
    let all = [here.as_slice(), &[workflow]].concat();
    assert_eq!(house.ok(&format!("registry put {file}"))["warnings"], json!(all));
    assert_eq!(house.ok("status")["registry"]["warnings"], json!(all));
    assert!(house.told("status").contains("there is none of that name"), "told");
    house.put("workflow: payout\nnodes:\n  pay: {type: pay}\n");
    assert_eq!(house.ok("registry show")["warnings"], json!(here), "it is there now");
    house.ok("workflow disable payout");
    let disabled = "handler `pay` starts workflow `payout`, which is disabled".to_owned();
    assert_eq!(house.ok("registry show")["warnings"], json!([here.as_slice(), &[disabled]].concat()));
    let told = house.told("registry show");
    assert!(told.contains("\n# cron nightly: 0 3 * * * (Europe/Berlin) emits cron/nightly, next in "), "{told}");
    assert!(told.contains("\n# warning: handler `pay` starts workflow `payout`, which is disabled"), "{told}");
}

#[test]
fn a_task_says_which_event_and_handler_made_it() {
    let house = House::start();
    let text = "handlers:\n  greet: {on: user/came, task: greet, start_within: 1h, queue: q, require_tag: vip}\n";
    let file = house.file("registry.yaml", text);
    house.ok(&format!("registry put {file}"));
    let emitted = house.ok("emit user/came --trace story-7 --cause req-9 -d 1");
    let (event, task) = (emitted["event"].as_str().unwrap(), emitted["handled"][0]["task"].as_str().unwrap());
    let trace = house.ok(&format!("event show {event}"))["trace"].clone();
    assert_eq!(trace, json!({"correlation_id": "story-7", "causation_id": "req-9"}));
    assert!(house.told(&format!("event show {event}")).contains("story-7"), "shown");
    let shown = house.told(&format!("task show {task}"));
    for part in [&format!("event     {event} (user/came)"), "handler   greet", "start by  in "] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let history = house.told(&format!("task history {task}"));
    assert!(history.contains(&format!("made by handler greet of {event} (user/came)")), "{history}");
    assert!(history.contains("cancelled unless it starts before"), "{history}");
    // What the registry states is not changed with `queue set`.
    let explained = house.run(&format!("task explain {task}")).json();
    let advised = explained["next_actions"].to_string();
    assert!(advised.contains("signaller registry put FILE") && !advised.contains("queue set"), "{advised}");
    assert!(explained["result"]["sentence"].as_str().unwrap().contains("as the registry states"), "{explained}");
    for since in ["1h", "0", "2026-01-01T00:00:00Z"] {
        assert_eq!(house.ok(&format!("event list --since {since}"))["events"].as_array().unwrap().len(), 1, "{since}");
    }
    let wrong = house.refused("event list --since soon", 2, "usage");
    assert!(wrong["error"]["message"].as_str().unwrap().contains("a while ago such as 30m"), "{wrong}");
}

#[test]
fn the_same_id_with_other_data_is_told() {
    let house = House::start();
    house.ok("emit a/b --id x -d '{\"n\":1,\"m\":[2]}'");
    assert_eq!(house.ok("emit a/b --id x -d '{\"m\":[2],\"n\":1}'").get("differs"), None, "written otherwise");
    assert_eq!(house.ok("emit a/b --id x -d '{\"n\":2}'")["differs"], json!(true));
    assert!(house.told("emit a/b --id x -d '{\"n\":2}'").contains("with another name or other data"), "told");
    assert_eq!(house.ok("event list --id x")["events"].as_array().unwrap().len(), 1, "nothing happens twice");
    let file = house.file("many.ndjson", "{\"name\":\"a/b\",\"id\":\"x\",\"data\":3}\n{\"name\":\"a/b\",\"id\":\"y\"}\n");
    let tally = house.ok(&format!("emit --ndjson {file}"));
    assert_eq!((&tally["duplicates"], &tally["differing"]), (&json!(1), &json!(1)), "{tally}");
}

#[test]
fn webhooks_are_listed_with_what_came_to_them_and_never_their_secret() {
    let folder = tempfile::tempdir().unwrap();
    let registry = folder.path().join("registry.yaml");
    let text = "webhooks:\n  hook: {provider: secret, secret: '${env:LIST_SET}', header: x-secret, event: hook/came}\n  \
                bare: {provider: github, secret: '${env:LIST_UNSET}'}\n";
    std::fs::write(&registry, text).unwrap();
    let args = ["--registry", registry.to_str().unwrap()];
    let server = Server::start_with(&folder.path().join("data"), 0, &args, &[("LIST_SET", "hush-hush")]);
    let deliver = |secret: &str| {
        let headers = [("content-type", "application/json"), ("x-secret", secret)];
        talk::ask(server.port, "POST", "/webhooks/hook", &headers, b"{}").expect("an answer").status
    };
    assert_eq!([deliver("hush-hush"), deliver("wrong"), deliver("hush-hush"), deliver("wrong")], [202, 401, 202, 401]);
    let list = server.get("/v1/webhooks");
    let (bare, hook) = (&list["webhooks"][0], &list["webhooks"][1]);
    assert_eq!((&hook["accepted"], &hook["refused"], &hook["secret_set"]), (&json!(2), &json!(2), &json!(true)), "{list}");
    assert_eq!(hook["last_refusal"]["why"], "header x-secret does not hold this webhook's secret");
    assert_eq!((&bare["secret_set"], &bare["unset"]), (&json!(false), &json!(["LIST_UNSET"])), "{list}");
    assert!(!list.to_string().contains("hush"), "{list}");
    let told = ran(command(folder.path(), &server.url, "webhook list --human")).out;
    assert!(told.contains("/webhooks/hook") && told.contains("not set: LIST_UNSET") && !told.contains("hush"), "{told}");
    let missing = talk::ask(server.port, "POST", "/webhooks/bare", &[], b"{}").expect("an answer");
    assert_eq!(missing.status, 503);
    assert_eq!(server.get("/v1/webhooks")["webhooks"][0]["refused"], json!(1));
}

#[test]
fn a_list_where_one_event_goes_is_told_where_many_go() {
    let house = House::start();
    let (status, answer) = house.server.ask("POST", "/v1/events", Some(&json!([{"name": "a/b"}])));
    assert_eq!((status, &answer["error"]["message"]), (400, &json!("/v1/events takes one object, not a list")));
    assert_eq!(answer["error"]["fix"], "post several at once to /v1/events/batch, as {\"events\": […]}");
    let (_, answer) = house.server.ask("POST", "/v1/tasks", Some(&json!([{"type": "t"}])));
    assert_eq!(answer["error"]["fix"], "post several at once to /v1/tasks/batch, as {\"tasks\": […]}");
    let headers = [("content-type", "application/json")];
    let broken = talk::ask(house.server.port, "POST", "/v1/events", &headers, b"{\"name\":").expect("an answer").json();
    assert!(broken["error"]["fix"].as_str().unwrap().contains("{\"name\":\"github/push\""), "{broken}");
}
