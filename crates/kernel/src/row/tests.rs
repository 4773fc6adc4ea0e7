//! Rows: whatever a task goes through, its row reads back as the same task (World proves it after every command of
//! every script; here for tasks that carry everything at once). Whatever is written into a row, reading it never panics.

use super::{BULKS, KEYS, Permits, QUEUES, Row, SHARDS, TABLES, TASKS, Value};
use crate::bulk::{Bulk, BulkWork, Refusal, RunVerb};
use crate::ids::{BulkId, RecordSeq, RunId};
use crate::names::Actor;
use crate::queue::Queue;
use crate::record::{Entry, Owner, Record};
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
    advance 0s; add k; start k worker=w; redrive_all q per_s=1 code=oops; proceed; clear r because=wrong
";

fn rows() -> Vec<Row> {
    let world = tell(Memory::Cools, EVERYTHING).world;
    world.rows().cloned().chain([bulk_over_runs().to_row()]).collect()
}

/// No run is in these scripts.
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

fn read_back(row: &Row) -> Option<Row> {
    let values = &row.values;
    let tables = TABLES.map(|table| table as *const _);
    assert!(tables.contains(&(row.table as *const _)));
    match row.table.name {
        "tasks" => Task::from_row(values).ok().map(|task| task.to_row()),
        "queues" => Queue::from_row(values).ok().map(|queue| queue.to_row()),
        "keys" => Permits::from_row(values).ok().map(|permits| permits.to_row()),
        "bulks" => Bulk::from_row(values).ok().map(|bulk| bulk.to_row()),
        _ => Shard::from_row(values).ok().map(|shard| shard.to_row()),
    }
}

#[test]
fn a_row_of_every_kind_reads_back_as_it_was_written() {
    let rows = rows();
    for row in &rows {
        assert_eq!(read_back(row).as_ref(), Some(row));
    }
    for table in [&TASKS, &QUEUES, &KEYS, &BULKS, &SHARDS] {
        assert!(rows.iter().any(|row| row.table == table), "no row of {}", table.name);
    }
    // Every column of every table holds something somewhere, or the test above proves little.
    for table in [&TASKS, &QUEUES, &KEYS, &BULKS, &SHARDS] {
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
