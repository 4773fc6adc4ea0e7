//! Runs that wait for events, through the engine: definitions as text, the real expressions.

mod house;

use engine::Request;
use house::{House, actor, at, echo};
use kernel::command::{Command, NewEvent, Reply};
use kernel::event::EventSpec;
use kernel::explain::{Facts, Queues, explain, explain_run, likeness};
use kernel::ids::{EventId, RunId};
use kernel::limits::{CHUNK_ITEMS_MAX, WAITS_UNKEYED_MAX};
use kernel::names::EventName;
use kernel::node::{Started, Went};
use kernel::record::{Owner, Payload, Record};
use kernel::run::RunStatus;
use serde_json::{Value, json};

const ORDER: &str = "
workflow: order
nodes:
  paid: {type: wait, event: pay/paid, match: event.data.order == input.order, timeout: 1h, on_timeout: late}
  ship: {type: t, after: paid, with: {receipt: '${output.receipt}'}}
  late: {type: transform, value: \"'late'\"}
output: \"has(nodes.ship.output) ? nodes.ship.output : nodes.late.output\"
";

impl House {
    fn emit(&mut self, name: &str, data: Value) -> EventId {
        self.emit_all(vec![(name, data)])[0]
    }

    fn emit_all(&mut self, events: Vec<(&str, Value)>) -> Vec<EventId> {
        let event = |(name, data): (&str, Value)| NewEvent {
            spec: EventSpec::named(EventName::parse(name).unwrap()),
            data: Payload(data.to_string().into()),
            routed: Vec::new(),
        };
        match self.ask(Command::Emit { events: events.into_iter().map(event).collect(), revision: 0 }) {
            Ok(Reply::Emitted(emitted)) => emitted.iter().map(|one| one.event).collect(),
            other => panic!("{other:?}"),
        }
    }

    fn heard(&self, run: RunId) -> Vec<EventId> {
        let of_run = |owner: &Owner| matches!(owner, Owner::Node(at) if at.run == run);
        let entries = self.entries.iter().filter(|entry| of_run(&entry.owner));
        let heard = entries.filter_map(|entry| match &entry.record {
            Record::NodeDone { went: Went::Heard(event), .. } => Some(*event),
            _ => None,
        });
        heard.collect()
    }

    fn looked(&self) -> usize {
        self.entries.iter().filter(|entry| matches!(entry.record, Record::NodeLooked {})).count()
    }

    fn told(&self, run: RunId) -> String {
        let state = self.core.state();
        let facts = Facts { up_since: self.now, ..Facts::default() };
        let told_of = |task| Some(explain(state, state.task(task)?, &facts, self.now));
        let queues = Queues { told: &told_of, likeness: &|task| likeness(state, task, self.now) };
        explain_run(state, run, &queues, self.now).unwrap().sentence
    }
}

#[test]
fn the_one_that_matches_goes_on_and_no_other() {
    let mut house = House::new(&["t"]);
    house.put(ORDER);
    let runs: Vec<RunId> = (0..50).map(|order| house.start("order", json!({"order": order}))).collect();
    assert_eq!(
        house.told(runs[7]),
        format!("{} waits for paid: it waits for an event `pay/paid` whose `event.data.order` is 7, for another 1 h.", runs[7])
    );
    // Others of the name, and what lacks the field, wake nobody.
    let before = house.entries.len();
    house.emit_all(vec![("pay/paid", json!({"order": 99})), ("pay/paid", json!("x")), ("pay/sent", json!({"order": 7}))]);
    assert_eq!(house.entries.len() - before, 3, "only the events are recorded");
    let event = house.emit("pay/paid", json!({"order": 7, "receipt": "r-7"}));
    house.work(echo);
    assert_eq!((house.status(runs[7]), house.output(runs[7])), (RunStatus::Done, json!({"receipt": "r-7"})));
    assert_eq!(house.heard(runs[7]), [event]);
    assert!(runs.iter().filter(|run| **run != runs[7]).all(|run| house.status(*run) == RunStatus::Running));
    // A second one finds nobody.
    house.emit("pay/paid", json!({"order": 7, "receipt": "again"}));
    house.verify();
}

#[test]
fn numbers_are_equal_however_they_are_written() {
    let mut house = House::new(&["t"]);
    house.put(ORDER);
    let run = house.start("order", json!({"order": 5.0}));
    house.emit("pay/paid", json!({"order": "5"}));
    assert_eq!(house.status(run), RunStatus::Running);
    house.emit("pay/paid", json!({"order": 5, "receipt": 1}));
    house.work(echo);
    assert_eq!(house.status(run), RunStatus::Done);
    // So is what is no single value, and what does not fit a key.
    for value in [json!({"a": [1, 2]}), json!("x".repeat(1_000)), json!(1u64 << 60), json!(null), json!(true), json!(1.5)] {
        let run = house.start("order", json!({"order": value}));
        house.emit("pay/paid", json!({"order": "other", "receipt": 0}));
        assert_eq!(house.status(run), RunStatus::Running, "{value}");
        house.emit("pay/paid", json!({"order": value, "receipt": 2}));
        house.work(echo);
        assert_eq!((house.status(run), house.output(run)), (RunStatus::Done, json!({"receipt": 2})), "{value}");
    }
    house.verify();
}

#[test]
fn what_came_since_the_run_began_is_not_lost() {
    let mut house = House::new(&["t"]);
    house.put(
        "workflow: slow\nnodes:\n  a: {type: t}\n  w: {type: wait, after: a, event: pay/paid, match: event.data.order == input.order}\n",
    );
    house.emit("pay/paid", json!({"order": 1, "n": "before"}));
    let run = house.start("slow", json!({"order": 1}));
    let mut last = None;
    // More than one page of others, and the one among them, before the node is reached.
    for n in 0..150 {
        let event = house.emit("pay/paid", json!({"order": if n % 60 == 59 { 1 } else { 2 }, "n": n}));
        last = last.or((n == 59).then_some(event));
    }
    house.restart();
    house.work(echo);
    assert_eq!((house.status(run), house.output(run)["n"].clone()), (RunStatus::Done, json!(59)));
    assert_eq!(house.heard(run), [last.unwrap()]);
    // One that finds none waits on, also after a restart, and has looked once.
    let run = house.start("slow", json!({"order": 3}));
    house.emit("pay/paid", json!({"order": 4}));
    house.work(echo);
    assert_eq!((house.status(run), house.looked()), (RunStatus::Running, 1));
    house.restart();
    house.tick(None);
    assert_eq!(house.looked(), 1);
    house.emit("pay/paid", json!({"order": 3, "n": "late"}));
    assert_eq!((house.status(run), house.output(run)["n"].clone()), (RunStatus::Done, json!("late")));
    // Where none of the name came, there is nothing to look at.
    let run = house.start("slow", json!({"order": 5}));
    house.work(echo);
    assert_eq!((house.status(run), house.looked()), (RunStatus::Running, 1));
    house.verify();
}

#[test]
fn each_turn_waits_for_one_of_its_own_and_loses_none() {
    let text = "
workflow: talk
nodes:
  l:
    type: loop
    max_iterations: 5
    until: iteration == 2
    do:
      nodes:
        w: {type: wait, event: chat/said, match: event.data.room == input.room}
        a: {type: t, after: w, with: '${output.text}'}
  twice: {type: wait, event: chat/said, match: event.data.room == input.room, after: l}
output: nodes.l.output
";
    let mut house = House::new(&["t"]);
    house.put(text);
    let run = house.start("talk", json!({"room": "r"}));
    let said = |house: &mut House, text: &str| house.emit("chat/said", json!({"room": "r", "text": text}));
    let first = said(&mut house, "one");
    // Two come while the first is answered.
    let second = said(&mut house, "two");
    let third = said(&mut house, "three");
    house.restart();
    (0..4).for_each(|_| house.work(echo));
    assert_eq!((house.status(run), house.output(run)), (RunStatus::Done, json!("three")));
    // Another node may hear the first of them again.
    assert_eq!(house.heard(run), [first, second, third, first]);
    // A restart of a turn hears again what came, from there on.
    let restart = Command::RestartRun { at: at(&format!("{run}/l[1]/w")), new: None, reason: String::new(), by: actor() };
    house.ask(restart).unwrap();
    (0..4).for_each(|_| house.work(echo));
    assert_eq!(house.heard(run), [first, second, third, first, second, third, first]);
    house.verify();
}

#[test]
fn nothing_comes_in_time() {
    let mut house = House::new(&["t"]);
    house.put(ORDER);
    house.put("workflow: hard\nnodes:\n  w: {type: wait, event: pay/paid, timeout: 1h}\n");
    let (soft, hard) = (house.start("order", json!({"order": 1})), house.start("hard", json!(null)));
    house.restart();
    house.now = house.now.plus_ms(3_600_000);
    house.tick(None);
    assert_eq!((house.status(soft), house.output(soft)), (RunStatus::Done, json!("late")));
    assert_eq!(house.status(hard), RunStatus::Failed);
    house.emit("pay/paid", json!({"order": 1}));
    assert!(house.heard(soft).is_empty() && house.heard(hard).is_empty());
    house.verify();
}

#[test]
fn what_came_in_time_counts_though_it_is_looked_at_late() {
    let mut house = House::new(&["t"]);
    house.put("workflow: w\nnodes:\n  w: {type: wait, event: go, match: event.data.n > input.n, timeout: 1h}\n");
    let (heard, late) = (house.start("w", json!({"n": 1})), house.start("w", json!({"n": 9})));
    house.restart();
    let event = NewEvent {
        spec: EventSpec::named(EventName::parse("go").unwrap()),
        data: Payload("{\"n\":5}".into()),
        routed: Vec::new(),
    };
    let emit = Request::Command(Command::Emit { events: vec![event], revision: 0 });
    // What they were given has left memory, and is slow to come.
    let mut missing = Vec::new();
    for (at, request) in [Some(emit), None, None].into_iter().enumerate() {
        house.now = house.now.plus_ms(if at == 1 { 3_600_000 } else { 1 });
        let requests = request.map(|request| (engine::Ticket(1 << 40), request)).into_iter().collect();
        let ticked = house.core.tick(house.now, 1, requests, true);
        house.entries.extend(ticked.entries);
        missing.extend(ticked.missing);
    }
    assert!(!missing.is_empty());
    assert_eq!((house.status(heard), house.status(late)), (RunStatus::Running, RunStatus::Running));
    let values = {
        let mut reader = house.core.reader().unwrap();
        missing.into_iter().map(|seq| (seq, engine::payload(&mut *reader, &*house.blobs, seq).unwrap())).collect()
    };
    house.tick(Some(Request::Values(values)));
    assert_eq!((house.status(heard), house.status(late)), (RunStatus::Done, RunStatus::Failed));
    house.verify();
}

#[test]
fn many_runs_hear_one_event_batch_by_batch() {
    const RUNS: usize = 3 * CHUNK_ITEMS_MAX;
    let mut house = House::new(&["t"]);
    house.put("workflow: w\nnodes:\n  w: {type: wait, event: go, match: event.data.round == input.round}\n");
    for _ in 0..RUNS {
        house.start("w", json!({"round": 1}));
    }
    let done = |house: &House| house.entries.iter().filter(|entry| matches!(entry.record, Record::RunDone { .. })).count();
    // One batch of it, then the process ends: the rest is found again.
    let event = NewEvent {
        spec: EventSpec::named(EventName::parse("go").unwrap()),
        data: Payload("{\"round\":1}".into()),
        routed: Vec::new(),
    };
    let emit = Request::Command(Command::Emit { events: vec![event], revision: 0 });
    house.now = house.now.plus_ms(1);
    let ticked = house.core.tick(house.now, 1, vec![(engine::Ticket(1 << 40), emit)], true);
    house.entries.extend(ticked.entries);
    let first = done(&house);
    assert_eq!(first, CHUNK_ITEMS_MAX);
    house.restart();
    house.tick(None);
    assert_eq!(done(&house), RUNS);
    let caught_up = house.entries.iter().filter(|entry| matches!(entry.record, Record::WaitsCaughtUp {})).count();
    assert_eq!(caught_up, 1);
    assert_eq!(house.core.state().runs_live(), 0);
    house.verify();
}

#[test]
fn waits_that_nothing_tells_apart_are_bounded() {
    let mut house = House::new(&["t"]);
    house.put("workflow: any\nnodes:\n  w: {type: wait, event: go, match: event.data.n > input.n}\n");
    let runs: Vec<RunId> = (0..WAITS_UNKEYED_MAX).map(|n| house.start("any", json!({"n": n}))).collect();
    let one_more = house.start("any", json!({"n": 0}));
    assert_eq!(house.status(one_more), RunStatus::Failed);
    let failed = house.entries.iter().rev().find_map(|entry| match &entry.record {
        Record::RunFailed { failure, .. } => Some(failure.code.clone()),
        _ => None,
    });
    assert_eq!(failed.as_deref(), Some("too_many_waits"));
    // Each is asked, with values that have left memory.
    house.restart();
    house.emit("go", json!({"n": 500}));
    let done = runs.iter().filter(|run| house.status(**run) == RunStatus::Done).count();
    assert_eq!(done, 500);
    house.verify();
}

#[test]
fn a_comparison_that_need_not_work_out_fails_nobody() {
    let mut house = House::new(&["t"]);
    house.put("workflow: w\nnodes:\n  w: {type: wait, event: go, match: has(input.n) && event.data.n == input.n, timeout: 1h}\n");
    let (without, with) = (house.start("w", json!({})), house.start("w", json!({"n": 1})));
    house.emit("go", json!({"n": 1}));
    assert_eq!((house.status(without), house.status(with)), (RunStatus::Running, RunStatus::Done));
    house.put("workflow: bare\nnodes:\n  w: {type: wait, event: go, match: event.data.n == input.n}\n");
    let bare = house.start("bare", json!({}));
    assert_eq!(house.status(bare), RunStatus::Failed);
    house.verify();
}

#[test]
fn a_cancelled_wait_hears_nothing_and_a_paused_one_stays() {
    let mut house = House::new(&["t"]);
    house.put(ORDER);
    let (gone, held) = (house.start("order", json!({"order": 1})), house.start("order", json!({"order": 1})));
    house.ask(Command::CancelRun { run: gone, by: actor(), reason: String::new() }).unwrap();
    house.ask(Command::PauseRun { run: held, by: actor(), reason: String::new() }).unwrap();
    let event = house.emit("pay/paid", json!({"order": 1, "receipt": 1}));
    house.work(echo);
    // It has heard; what follows waits for the run to be resumed.
    assert_eq!((house.heard(gone), house.heard(held)), (vec![], vec![event]));
    assert_eq!(house.status(held), RunStatus::Running);
    house.ask(Command::ResumeRun { run: held, by: actor() }).unwrap();
    house.work(echo);
    assert_eq!(house.status(held), RunStatus::Done);
    house.verify();
}

#[test]
fn a_patched_text_keeps_who_waits() {
    let mut house = House::new(&["t"]);
    house.put(ORDER);
    let run = house.start("order", json!({"order": 1}));
    let started = house.entries.iter().rev().find_map(|entry| match &entry.record {
        Record::NodeStarted { at: Started::Awaiting(awaiting) } => Some(awaiting.clone()),
        _ => None,
    });
    assert_eq!(started.unwrap().key, Some(("event.data.order".into(), "1".into())));
    // Another node before it in the text: the numbers of nodes change.
    let text = ORDER.replace("nodes:\n", "nodes:\n  extra: {type: transform, value: '1'}\n");
    let revision = engine::Revision { text: text.clone(), operations: None };
    let compiled = flow::compile(text.as_bytes(), &flow::Language).unwrap();
    let digest = engine::Revision::digest(&text);
    let ir = std::sync::Arc::new(kernel::ir::Ir { revised: Some(digest), ..compiled.ir });
    let (payload, description) = (revision.payload(), String::new());
    let new = kernel::decide::NewRevision { base: 0, ir, payload, description, alone: false };
    house.ask(Command::PatchRun { run, new: Box::new(new), node: None, dry: false, by: actor() }).unwrap();
    house.emit("pay/paid", json!({"order": 1, "receipt": 9}));
    house.work(echo);
    assert_eq!((house.status(run), house.output(run)), (RunStatus::Done, json!({"receipt": 9})));
    house.verify();
}
