//! Rows: whatever a task goes through, its row reads back as the same task (World proves it after every command of
//! every script; here for tasks that carry everything at once). Whatever is written into a row, reading it never panics.

use super::{BULKS, CONTROLS, EVENTS, KEYS, Permits, QUEUES, REGISTRIES, Row, SHARDS, TABLES, TASKS, Value};
use crate::bulk::{Bulk, BulkWork, Refusal, RunVerb};
use crate::event::{Event, EventSpec, Handled, Outcome};
use crate::ids::{BulkId, RecordSeq, RunId};
use crate::names::Actor;
use crate::queue::Queue;
use crate::record::{Entry, Owner, Record, TaskSpec};
use crate::registry::{Control, Registry};
use crate::script::tell;
use crate::script::world::Memory;
use crate::shard::Shard;
use crate::task::Task;
use crate::time::Time;
use proptest::prelude::*;
use std::sync::Arc;

/// A world with a row of every kind in every state.
const EVERYTHING: &str = "
    queue q concurrency=5 rate=9/1s burst=4 key.k=3 keyrate.l=2/1s fair=k step=5s weight.x=2 tag=v backlog=99 jitter=7
    pause r until=1h because=of_the_deploy; pause q; resume q; boost q high; boost q -5 key.k=x
    add a key.k=x key.l=y tag=v,w prio=critical idem=order-1 attempts=4 budget=5s at=3s
    add b idle by=a at=9s key.k=ä; add c by=a,b tag=u; add d delay=1h
    advance 3s; lease w; finish a failed=http_503/try_later after=2s; advance 2s; lease w; cancel a because=enough
    add e tag=v budget=1s; lease w; advance 1s
    add f tag=v; lease w; finish f done; add g tag=v; lease w; finish g failed final; add l tag=v; lease w; finish l failed=other final; add h; cancel h; add i; start i; add j tag=v; drain q
    add m tag=v node=run-7/a[0]/pay generation=2; hold m 3
    registry r concurrency=2; pause_families a/* until=1h because=of_it; boost_families b high
    emit ev a/b id=x ts=1s + h debounce=k/5s/9s within=3s critical; emit ex b/c + h; emit ey b/c
    advance 0s; add k; start k worker=w; redrive_all q per_s=1 code=oops; proceed; clear r because=wrong
";

fn rows() -> Vec<Row> {
    let world = tell(Memory::Cools, EVERYTHING).world;
    world
        .rows()
        .cloned()
        .chain([bulk_over_runs().to_row(), handed_over().to_row(), event_in_full().to_row(), behind().to_row()])
        .collect()
}

/// No run is in these scripts.
fn behind() -> Shard {
    let record = Record::WaitsBehind { after: crate::ids::EventId::new(7, 0) };
    let (seq, prev, at) = (RecordSeq(2), RecordSeq(1), Time::from_ms(1));
    let reserved = Shard::resumed(0, RecordSeq(1), 9, 9, Time::from_ms(1));
    reserved.fold(&Entry { seq, prev, at, owner: Owner::Shard, record, payload: None })
}

fn bulk_over_runs() -> Bulk {
    let (id, run, by) = (BulkId::new(99, 0), RunId::new(7, 0), Actor::parse("ann").unwrap());
    let work = Box::new(BulkWork::Runs {
        verb: RunVerb::Patch { change: "{\"set\":[\"a=1\"]}".into() },
        filter: "paused".into(),
        upto: run,
        per_s: Some(3),
    });
    let refused = vec![Refusal { run, why: "it was paused already".into() }];
    let started = Record::BulkStarted { work, by, reason: "a look".into() };
    let advanced = Record::BulkRunsAdvanced { after: run, items: 1, skipped: 1, refused, resume_at: None };
    let entry = |seq: u64, record| {
        let (seq, prev, at) = (RecordSeq(seq), RecordSeq(seq - 1), Time::from_ms(1));
        Entry { seq, prev, at, owner: Owner::Bulk(id), record, payload: None }
    };
    let bulk = Bulk::fold(None, id, &entry(1, started));
    Bulk::fold(Some(bulk), id, &entry(2, advanced))
}

fn handed_over() -> Task {
    let id = crate::ids::TaskId::new(98, 0);
    let name = |text: &str| crate::names::QueueName::parse(text).unwrap();
    let spec = TaskSpec::new(name("q"), crate::names::TypeName::parse("@workflow").unwrap());
    let worker = crate::names::WorkerName::parse("signaller").unwrap();
    let leased = Record::TaskLeased { worker, attempt: 1, heartbeat_ms: 1_000, budget_until: Time::from_ms(9), run_now: false };
    let records = [Record::TaskAdded { spec: Box::new(spec) }, leased, Record::TaskHandedOver { run: RunId::new(7, 0) }];
    let mut task = None;
    for (seq, record) in (1..).zip(records) {
        let (seq, prev, at) = (RecordSeq(seq), RecordSeq(seq - 1), Time::from_ms(1));
        let entry = Entry { seq, prev, at, owner: Owner::Task(id), record, payload: None };
        task = Task::fold(task, id, &entry, |spec| Arc::new(crate::route::Route::for_spec(spec)));
    }
    task.unwrap()
}

fn event_in_full() -> Event {
    let id = crate::ids::EventId::new(97, 0);
    let spec = EventSpec {
        key: Some(crate::names::EventKey::parse("delivery 7").unwrap()),
        source: Some("hub".into()),
        ts: Some(Time::from_ms(5)),
        priority: Some(crate::priority::Priority::HIGH),
        dedup_key: Some(crate::names::KeyValue::parse("k").unwrap()),
        correlation_id: Some("c".into()),
        causation_id: Some("d".into()),
        ..EventSpec::named(crate::names::EventName::parse("a/b.c").unwrap())
    };
    let handled = vec![Handled {
        handler: crate::names::HandlerName::parse("h").unwrap(),
        queue: Some(crate::names::QueueName::parse("q").unwrap()),
        outcome: Outcome::Failed { message: "no \"such\" field".into() },
    }];
    let by = Actor::parse("ann").unwrap();
    let records = [
        Record::EventReceived { spec: Box::new(spec), handled: handled.clone() },
        Record::EventReplayed { handled, by },
        Record::EventHeard { run: RunId::new(7, 0), unhandled: false },
    ];
    let mut event = None;
    for (seq, record) in (1..).zip(records) {
        let (seq, prev, at) = (RecordSeq(seq), RecordSeq(seq - 1), Time::from_ms(1));
        event = Some(Event::fold(event, id, &Entry { seq, prev, at, owner: Owner::Event(id), record, payload: None }));
    }
    event.unwrap()
}

fn read_back(row: &Row) -> Option<Row> {
    let values = &row.values;
    let tables = TABLES.map(|table| table as *const _);
    assert!(tables.contains(&(row.table as *const _)));
    match row.table.name {
        "tasks" => Task::from_row(values).ok().map(|task| task.to_row()),
        "queues" => Queue::from_row(values).ok().map(|queue| queue.to_row()),
        "keys" => Permits::from_row(values).ok().map(|permits| permits.to_row()),
        "bulks" => Bulk::from_row(values).ok().map(|bulk| bulk.to_row()),
        "events" => Event::from_row(values).ok().map(|event| event.to_row()),
        "registries" => Registry::from_row(values).ok().map(|registry| registry.to_row(0)),
        "controls" => Control::from_row(values).ok().map(|control| control.to_row()),
        _ => Shard::from_row(values).ok().map(|shard| shard.to_row()),
    }
}

#[test]
fn a_row_of_every_kind_reads_back_as_it_was_written() {
    let rows = rows();
    for row in &rows {
        assert_eq!(read_back(row).as_ref(), Some(row));
    }
    let tables = [&TASKS, &QUEUES, &KEYS, &BULKS, &SHARDS, &EVENTS, &REGISTRIES, &CONTROLS];
    for table in tables {
        assert!(rows.iter().any(|row| row.table == table), "no row of {}", table.name);
    }
    // Every column of every table holds something somewhere, or the test above proves little.
    for table in tables {
        for (at, (column, _)) in table.columns.iter().enumerate() {
            let filled = rows.iter().filter(|row| row.table == table).any(|row| row.values[at] != Value::Null);
            assert!(filled, "{}.{column} is always null", table.name);
        }
    }
}

#[test]
fn a_row_that_does_not_fit_names_its_column() {
    let rows = rows();
    let task = |status: &str| rows.iter().find(|row| row.table == &TASKS && row.values[4] == Value::from(status)).unwrap();
    let at = |column: &str| TASKS.columns.iter().position(|(name, _)| *name == column).unwrap();
    for (status, column, value, blamed) in [
        ("queued", "status", Value::from("lost"), "status"),
        ("queued", "id", Value::Int(-1), "id"),
        ("queued", "queue", Value::from("a b"), "queue"),
        ("queued", "ready_at", Value::Null, "ready_at"),
        ("queued", "worker", Value::from("w"), "worker"),
        ("queued", "status", Value::from("running"), "fence"),
        ("running", "fence", Value::Null, "fence"),
        ("running", "cause", Value::from("hm"), "cause"),
        ("running", "attempt", Value::Int(70_000), "attempt"),
        ("done", "since", Value::Null, "since"),
        ("failed", "error_code", Value::Null, "error_message"),
        ("cancelled", "cause", Value::Null, "cause"),
        ("idle", "run_now", Value::Int(1), "run_now"),
        ("idle", "pause", Value::Int(1), "pause"),
        ("queued", "held", Value::Int(1), "pause"),
        ("done", "pause", Value::Int(1), "pause"),
        ("idle", "priority", Value::Int(i64::MAX), "priority"),
        ("idle", "keys", Value::from("[[\"b\",\"1\"],[\"a\",\"1\"]]"), "keys"),
    ] {
        let mut row = task(status).clone();
        row.values[at(column)] = value;
        let bad = Task::from_row(&row.values).unwrap_err();
        assert_eq!(bad.column, blamed, "{status}.{column}: {bad}");
    }
    assert_eq!(Task::from_row(&[]).unwrap_err().column, "*");
}

fn value() -> impl Strategy<Value = Value> {
    const TEXTS: &[&str] = &[
        "",
        "x",
        "queued",
        "running",
        "done",
        "cancel",
        "timed_out",
        "asked",
        "null",
        "[]",
        "{}",
        "[1]",
        "[[\"a\",\"b\"]]",
        "\u{0}",
        "1e999",
    ];
    prop_oneof![
        2 => Just(Value::Null),
        2 => prop_oneof![Just(0), Just(1), Just(-1), Just(i64::MAX), Just(i64::MIN), any::<i64>()].prop_map(Value::Int),
        2 => prop::sample::select(TEXTS).prop_map(Value::from),
        1 => ".{0,12}".prop_map(|text: String| Value::Text(Arc::from(text.as_str()))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    /// What is read without complaint is stable: writing and reading it once more changes nothing.
    #[test]
    fn no_row_is_so_broken_that_reading_it_panics(
        nth in 0usize..999, swaps in prop::collection::vec((0usize..99, value()), 1..4), from in 0usize..999,
    ) {
        thread_local!(static ROWS: Vec<Row> = rows());
        let mut row = ROWS.with(|rows| rows[nth % rows.len()].clone());
        for (at, value) in swaps {
            let at = at % row.values.len();
            // Half of the time a value from another row of the table: the likeliest to slip through.
            let other = ROWS.with(|rows| rows.iter().filter(|other| other.table == row.table).cycle().nth(from).cloned());
            row.values[at] = if from % 2 == 0 { value } else { other.unwrap().values[at].clone() };
        }
        if let Some(read) = read_back(&row) {
            let again = read_back(&read);
            prop_assert_eq!(again, Some(read));
        }
    }
}
