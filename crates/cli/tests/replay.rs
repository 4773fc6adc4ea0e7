//! A run looked back at, through the real binary: what was shown while it went on is what its records make of it afterwards.

mod house;
mod server;
mod talk;

use house::House;
use serde_json::{Value, json};
use talk::until;

const CALLED: &str = "workflow: called\nnodes:\n  deep: {type: deep, with: {n: \"${input.n}\"}}\n";

const ALL: &str = "workflow: all\nnodes:\n  \
    shaky: {type: shaky, retry: {attempts: 3, backoff: 300ms}}\n  \
    rounds:\n    type: loop\n    after: shaky\n    max_iterations: 3\n    until: 'iteration >= 1'\n    do:\n      nodes:\n        turn: {type: turn}\n  \
    each:\n    type: each\n    after: rounds\n    items: '[1, 2, 3]'\n    do:\n      nodes:\n        item: {type: item, with: '${item}'}\n  \
    sub: {type: workflow, run: called, after: each, with: {n: 1}}\n  \
    ask: {type: approval, after: sub, who: [ana], message: 'go on?'}\n  \
    end: {type: end, after: ask}\n";

fn last_of(house: &House, run: &str) -> String {
    let mut last = String::new();
    let mut cursor = String::new();
    loop {
        let page = house.server.get(&format!("/v1/runs/{run}/history?limit=1000{cursor}"));
        if let Some(record) = page["records"].as_array().and_then(|records| records.last()) {
            last = record["seq"].as_str().unwrap().to_owned();
        }
        match page["next"].as_str() {
            Some(next) => cursor = format!("&cursor={next}"),
            None => return last,
        }
    }
}

/// The run as it is shown, and its last record then.
fn picture(house: &House, run: &str) -> Option<(String, Value)> {
    let before = last_of(house, run);
    let view = house.ok(&format!("run show {run}"));
    (last_of(house, run) == before).then_some((before, view))
}

#[test]
fn what_was_shown_while_it_went_on_is_what_replay_shows() {
    let house = House::start();
    house.put(CALLED);
    house.put(ALL);
    let shaky = house.folder.path().join("shaky");
    let script = format!(
        "sleep 0.05; if [ \"$SIGNALLER_TYPE\" = shaky ] && [ ! -e {0} ]; then touch {0}; exit 1; fi; echo '{{\"ok\":true}}'",
        shaky.display()
    );
    let run = house.start_run("all", &json!({"n": 7}));
    let mut pictures: Vec<(String, Value)> = vec![until("a first picture", || picture(&house, &run))];
    let _worker = house.worker("shaky,turn,item,deep,end", &script);
    let mut answered = false;
    until("it ends", || {
        pictures.extend(picture(&house, &run));
        let view = house.view(&run);
        if !answered && view["counts"]["asking"] == 1 {
            house.ok(&format!("approval answer {run}/ask --yes --by ana --comment fine"));
            answered = true;
        }
        (view["status"] != "running").then_some(())
    });
    pictures.push(until("a last picture", || picture(&house, &run)));
    pictures.dedup_by(|a, b| a.0 == b.0);
    assert!(pictures.len() >= 5, "{} pictures", pictures.len());
    for (at, view) in &pictures {
        let replay = house.ok(&format!("run replay {run} --at {at}"));
        assert_eq!(&replay["run"], view, "at {at}");
        assert_eq!(&replay["record"]["seq"], &json!(at));
        assert!(replay["unread"].is_null() && replay["lost"].is_null(), "{replay}");
    }
    let last = &pictures.last().unwrap().1;
    assert_eq!(last["status"], "done", "{last}");
    let end = house.ok(&format!("run replay {run}"));
    assert_eq!((&end["run"], &end["after"], &end["place"]), (last, &Value::Null, &end["records"]));

    // Any record, by its number, by its time and in between.
    let trace = house.ok(&format!("run trace {run}"))["records"].as_array().unwrap().clone();
    assert_eq!(json!(trace.len()), end["records"]);
    for (place, record) in trace.iter().enumerate().step_by(7) {
        let seq = record["seq"].as_str().unwrap();
        let replay = house.ok(&format!("run replay {run} --at {}", &seq[1..]));
        assert_eq!(replay["place"], json!(place + 1));
        assert_eq!(replay["record"]["owner"], record["owner"]);
        let by_time = house.ok(&format!("run replay {run} --at {}", record["at"].as_str().unwrap()));
        assert!(by_time["place"].as_u64() >= replay["place"].as_u64(), "{seq}");
        assert_eq!(by_time["record"]["at"], record["at"]);
    }
    let first = trace[0]["seq"].as_str().unwrap();
    let start = house.ok(&format!("run replay {run} --at start"));
    assert_eq!((&start["record"]["seq"], &start["before"]), (&json!(first), &Value::Null));
    // Where it is not that record itself, it is said.
    let number: u64 = first[1..].parse().unwrap();
    let before = house.refused(&format!("run replay {run} --at {}", number - 1), 2, "invalid");
    assert!(before["error"]["message"].as_str().unwrap().contains("began with"), "{before}");
    for (at, part) in [("99999999", "how it is now"), ("2999-01-01T00:00:00Z", "lies ahead")] {
        let note = house.ok(&format!("run replay {run} --at {at}"))["note"].clone();
        assert!(note.as_str().is_some_and(|note| note.contains(part)), "{at}: {note}");
    }
    let other = house.start_run("called", &json!({"n": 2}));
    let foreign = house.ok(&format!("run replay {other} --at start"))["record"]["seq"].as_str().unwrap().to_owned();
    assert!(house.refused(&format!("run replay {other} --at {first}"), 2, "invalid")["fix"].is_string());
    assert_eq!(house.ok(&format!("run replay {run} --at {foreign}"))["run"], *last);
    house.refused("run replay run-zz9", 3, "run_not_found");
    assert_eq!(house.run(&format!("run replay {run} --at noon")).exit, 2);

    // Step by step, off a terminal.
    let steps = house.run(&format!("run replay {run} --step --limit 12"));
    assert_eq!(steps.exit, 0, "{}", steps.err);
    let lines: Vec<Value> = steps.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 13, "{}", steps.out);
    let seqs: Vec<&Value> = lines[..12].iter().map(|line| &line["record"]["seq"]).collect();
    assert_eq!(seqs, trace[..12].iter().map(|record| &record["seq"]).collect::<Vec<_>>());
    assert!(lines[..12].iter().any(|line| line["changed"].to_string().contains("shaky: waiting → queued")), "{}", steps.out);
    let told = house.told(&format!("run replay {run} --at {}", trace[3]["seq"].as_str().unwrap()));
    assert!(told.contains("record 4 of") && told.contains(&run), "{told}");
    assert!(house.told(&format!("run trace {run}")).contains(first), "records have their numbers");
}

#[test]
fn a_blob_that_is_gone_is_told_and_the_rest_is_shown() {
    let house = House::start();
    house.put("workflow: big\nnodes:\n  a: {type: a}\n  b: {type: b, after: a}\n");
    let _worker = house.worker("a,b", "printf '\"%08000d\"' 7");
    let run = house.start_run("big", &json!({"n": 1}));
    assert_eq!(house.ended(&run)["status"], "done");
    let whole = house.ok(&format!("run replay {run} --outputs"));
    assert!(whole["unread"].is_null() && whole["run"]["nodes"][0]["output"].is_string(), "{whole}");
    let mut removed = 0;
    let mut folders = vec![house.data().join("blobs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if std::fs::metadata(&path).unwrap().len() > 4096 {
                std::fs::remove_file(&path).unwrap();
                removed += 1;
            }
        }
    }
    assert!(removed > 0, "the blobs were found");
    let replay = house.ok(&format!("run replay {run} --outputs"));
    assert_eq!((&replay["run"]["status"], &replay["run"]["input"]), (&json!("done"), &json!({"n": 1})), "{replay}");
    let unread = replay["unread"].as_array().expect("it is told");
    assert!(unread.iter().any(|unread| unread["of"] == "a"), "{unread:?}");
    assert!(unread.iter().any(|unread| unread["of"] == "output"), "{unread:?}");
    assert!(unread.iter().all(|unread| unread["sentence"].as_str().unwrap().contains("gone")), "{unread:?}");
    assert!(house.told(&format!("run replay {run}")).contains("is gone"), "people are told, too");
}
