//! Cases about what the writer commits and gets back.

use super::sample::{key, sample};
use super::scribe::{Scribe, plain, queue, run, task};
use super::{Open, loaded, scanned};
use crate::store::{Batch, Store};
use kernel::ids::{RecordSeq, TaskId};
use kernel::names::IdempotencyKey;
use kernel::needs::Need;
use kernel::record::{KeyRef, Owner, Payload, Record, TaskSpec};
use kernel::row::{CONTROLS, EVENTS, KEYS, Kind, QUEUES, REGISTRIES, RUNS, Row, SHARDS, TABLES, TASKS, Table, Value, WORKFLOWS};
use kernel::run::Run;
use kernel::task::Task;
use kernel::time::Time;

pub(super) fn commit_sample(store: &mut dyn Store) -> Scribe {
    let (scribe, batches) = sample();
    batches.iter().for_each(|batch| store.commit(batch).expect("it commits"));
    scribe
}

/// Every row that the batches leave behind, by table and key.
fn images(batches: &[Batch]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for batch in batches {
        let touched = |row: &Row| {
            let is_put = batch.puts.iter().any(|put| put.table == row.table && put.key() == row.key());
            is_put || batch.deletes.iter().any(|(table, key)| *table == row.table && key == row.key())
        };
        rows.retain(|row| !touched(row));
        rows.extend(batch.puts.iter().cloned());
    }
    sorted(rows)
}

fn place_of(table: &'static Table) -> usize {
    TABLES.iter().position(|known| *known == table).expect("a table of the kernel")
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort_by(|a, b| (place_of(a.table), a.key()).cmp(&(place_of(b.table), b.key())));
    rows
}

pub(super) fn all_rows(store: &dyn Store) -> Vec<Row> {
    TABLES.iter().flat_map(|table| scanned(store, table)).collect()
}

fn found(store: &mut dyn Store, need: Need) -> Vec<TaskId> {
    let rows = store.rows(&[need]).expect("it finds rows");
    rows.iter().map(|row| Task::from_row(&row.values).expect("a task").card().id()).collect()
}

pub(super) fn an_empty_store_holds_nothing(open: &mut Open<'_>) {
    let mut store = open();
    assert_eq!(loaded(&mut *store), []);
    assert_eq!(store.last_at_us().unwrap(), 0);
    assert_eq!(store.rows(&[Need::Task(task(1))]).unwrap(), []);
    assert!(!store.describe().is_empty());
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.last_record().unwrap(), RecordSeq::NONE);
    assert_eq!(reader.records(RecordSeq::NONE, 10).unwrap(), []);
    assert_eq!(reader.history(RecordSeq(1), 10).unwrap(), []);
    assert_eq!(reader.task(task(1)).unwrap(), None);
    assert_eq!(reader.dead_counts().unwrap(), []);
    assert_eq!(reader.bulks(10).unwrap(), []);
    assert_eq!(reader.workflows().unwrap(), []);
    assert_eq!(reader.run(run(1)).unwrap(), None);
    assert_eq!(reader.run_history(run(1), RecordSeq::NONE, 10, true).unwrap(), []);
    assert_eq!(all_rows(&*store), []);
}

pub(super) fn what_is_live_is_loaded_and_nothing_else(open: &mut Open<'_>) {
    let mut store = open();
    commit_sample(&mut *store);
    let rows = loaded(&mut *store);
    assert!(rows.is_sorted_by_key(|row| (place_of(row.table), row.key().to_vec())), "by table, and by key");

    let (_, batches) = sample();
    let images = images(&batches);
    let runs: Vec<Run> =
        images.iter().filter(|row| row.table == &RUNS).map(|row| Run::from_row(&row.values).expect("a run")).collect();
    let is_whole = |id: &Value| {
        let run = runs.iter().find(|run| Value::Int(run.id().number()) == *id).expect("a part's run");
        run.is_live() && !run.is_deleting()
    };
    let is_live = |row: &Row| match row.table.name {
        "tasks" => !Task::from_row(&row.values).expect("a task").status().is_finished(),
        "bulks" => row.values[2] == Value::from("open"),
        "runs" => Run::from_row(&row.values).expect("a run").is_live(),
        "frames" | "nodes" => is_whole(&row.values[0]),
        "events" => false,
        _ => true,
    };
    let live: Vec<Row> = images.iter().filter(|row| is_live(row)).cloned().collect();
    assert_eq!(rows, live);
    // Of each kind some are live and some, but for those that always are, are not.
    for table in TABLES {
        let of = |rows: &[Row]| rows.iter().filter(|row| row.table == table).count();
        let is_always = [&SHARDS, &QUEUES, &KEYS, &WORKFLOWS, &REGISTRIES, &CONTROLS].contains(&table);
        let is_never = table == &EVENTS;
        assert!((of(&live) > 0) != is_never && (is_always || of(&live) < of(&images)), "{}", table.name);
    }
}

pub(super) fn the_last_image_wins(open: &mut Open<'_>) {
    let mut store = open();
    let mut scribe = Scribe::new();
    for id in 1..=3 {
        scribe.add(task(id), plain("ci"));
    }
    store.commit(&scribe.batch()).unwrap();
    scribe.lease(task(2));
    store.commit(&scribe.batch()).unwrap();
    scribe.record(Owner::Task(task(2)), Record::TaskDone { digest: 1 });
    scribe.failed(task(3), "oops");
    store.commit(&scribe.batch()).unwrap();
    let expected: Vec<Row> = (1..=3).map(|id| scribe.task_row(task(id))).collect();
    assert_eq!(scanned(&*store, &TASKS), expected);
}

pub(super) fn deleted_rows_are_gone_and_may_come_back(open: &mut Open<'_>) {
    let mut store = open();
    let mut scribe = Scribe::new();
    let permits = Owner::Key(KeyRef::new(queue("ci"), Some(key("tenant", "acme"))));
    let keyed = TaskSpec { idempotency_key: Some(IdempotencyKey::parse("k").unwrap()), ..plain("ci") };
    scribe.add(task(1), keyed.clone());
    scribe.add(task(2), keyed);
    scribe.failed(task(2), "oops");
    scribe.record(permits.clone(), Record::PermitTaken { arrival: Time::from_us(5) });
    store.commit(&scribe.batch()).unwrap();

    scribe.record(Owner::Task(task(2)), Record::TaskDeleted { queue: queue("ci"), by: super::scribe::actor("ada") });
    scribe.record(permits.clone(), Record::PermitsForgotten {});
    let batch = scribe.batch();
    assert_eq!(batch.deletes.len(), 2);
    store.commit(&batch).unwrap();
    assert_eq!(scanned(&*store, &TASKS), [scribe.task_row(task(1))]);
    assert_eq!(scanned(&*store, &KEYS), []);
    let youngest = Need::Idempotency { queue: queue("ci"), key: IdempotencyKey::parse("k").unwrap(), before: TaskId::MAX };
    assert_eq!(found(&mut *store, youngest), [task(1)]);
    assert_eq!(store.reader().unwrap().dead_counts().unwrap(), []);
    // What is not there can be deleted too: a row may come and go within one batch.
    store.commit(&Batch { deletes: batch.deletes, ..Batch::default() }).unwrap();

    scribe.record(permits.clone(), Record::PermitTaken { arrival: Time::from_us(6) });
    store.commit(&scribe.batch()).unwrap();
    assert_eq!(scanned(&*store, &KEYS), [scribe.row(&permits).unwrap()]);
}

pub(super) fn a_history_that_is_pruned_is_gone_and_no_other(open: &mut Open<'_>) {
    let mut store = open();
    let mut scribe = Scribe::new();
    for id in 1..=3 {
        scribe.add(task(id), plain("ci"));
    }
    store.commit(&scribe.batch()).unwrap();
    for id in 1..=3 {
        scribe.done(task(id), "1");
    }
    store.commit(&scribe.batch()).unwrap();
    let seqs = |store: &dyn Store| -> Vec<u64> {
        let records = store.reader().unwrap().records(RecordSeq::NONE, 100).unwrap();
        records.iter().map(|entry| entry.seq.0).collect()
    };
    let before = seqs(&*store);
    let last = scribe.last(&Owner::Task(task(2)));
    // One that is written and forgotten in the same batch is gone too.
    scribe.add(task(4), plain("ci"));
    scribe.record(Owner::Task(task(4)), Record::TaskDeleted { queue: queue("ci"), by: super::scribe::actor("ada") });
    scribe.record(Owner::Task(task(2)), Record::TaskDeleted { queue: queue("ci"), by: super::scribe::actor("ada") });
    let mut batch = scribe.batch();
    let deleted: Vec<u64> = batch.entries[1..].iter().map(|entry| entry.seq.0).collect();
    batch.prunes = vec![last, batch.entries[1].prev, RecordSeq::NONE];
    let forgotten = store.reader().unwrap().history(last, 10).unwrap();
    store.commit(&batch).unwrap();
    let mut expected: Vec<u64> = before.into_iter().filter(|seq| forgotten.iter().all(|entry| entry.seq.0 != *seq)).collect();
    expected.extend(deleted);
    assert_eq!(seqs(&*store), expected);
    assert!(forgotten.len() >= 2);
    assert_eq!(store.reader().unwrap().history(last, 10).unwrap(), []);
    drop(store);
    assert_eq!(seqs(&*open()), expected);
}

pub(super) fn a_batch_is_all_or_nothing(open: &mut Open<'_>) {
    let mut store = open();
    let mut scribe = Scribe::new();
    scribe.add(task(1), plain("ci"));
    let first = scribe.batch();
    store.commit(&first).unwrap();

    scribe.add(task(2), plain("ci"));
    scribe.lease(task(1));
    let mut second = scribe.batch();
    // A record's number is given once: with this one the batch cannot be written.
    second.entries.push(first.entries[0].clone());
    second.deletes.push((&TASKS, vec![Value::Int(task(1).number())]));
    assert!(store.commit(&second).is_err());
    assert_eq!(scanned(&*store, &TASKS), first.puts);
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.last_record().unwrap(), first.entries[0].seq);
    assert_eq!(reader.history(first.entries[0].seq, 10).unwrap(), first.entries);

    // The store goes on after it.
    second.entries.pop();
    second.deletes.clear();
    store.commit(&second).unwrap();
    assert_eq!(scanned(&*store, &TASKS), second.puts);
}

pub(super) fn an_empty_batch_changes_nothing(open: &mut Open<'_>) {
    let mut store = open();
    store.commit(&Batch::default()).unwrap();
    commit_sample(&mut *store);
    let before = all_rows(&*store);
    store.commit(&Batch::default()).unwrap();
    assert_eq!(all_rows(&*store), before);
}

pub(super) fn a_store_opened_again_holds_what_was_committed(open: &mut Open<'_>) {
    let (_, batches) = sample();
    for batch in &batches {
        // A store of its own for every batch.
        open().commit(batch).unwrap();
    }
    let store = open();
    assert_eq!(all_rows(&*store), images(&batches));
    let mut entries = Vec::new();
    let mut reader = store.reader().unwrap();
    reader.scan_records(&mut |entry| entries.push(entry.expect("it decodes"))).unwrap();
    let expected: Vec<_> = batches.iter().flat_map(|batch| batch.entries.clone()).collect();
    assert_eq!(entries, expected);
}

pub(super) fn the_newest_records_time_is_known(open: &mut Open<'_>) {
    let mut store = open();
    let mut scribe = commit_sample(&mut *store);
    assert_eq!(store.last_at_us().unwrap(), scribe.now().us());
    scribe.advance(1_000_000, scribe.now().plus_ms(5));
    scribe.add(task(90), plain("ci"));
    store.commit(&scribe.batch()).unwrap();
    assert_eq!(store.last_at_us().unwrap(), scribe.now().us());
    assert_eq!(store.reader().unwrap().last_record().unwrap(), RecordSeq(1_000_000));
}

pub(super) fn cold_tasks_are_found_by_id(open: &mut Open<'_>) {
    let mut store = open();
    let scribe = commit_sample(&mut *store);
    let needs = [Need::Task(task(21)), Need::Task(task(999)), Need::Task(task(20)), Need::Task(task(21)), Need::Task(task(25))];
    // In the order asked for, each once, without what is not there (999) or no longer (25).
    assert_eq!(store.rows(&needs).unwrap(), [scribe.task_row(task(21)), scribe.task_row(task(20))]);
    assert_eq!(found(&mut *store, Need::Task(TaskId::new(7, 5))), [TaskId::new(7, 5)]);
    assert_eq!(store.rows(&[]).unwrap(), []);
}

pub(super) fn the_youngest_task_of_an_idempotency_key_is_found(open: &mut Open<'_>) {
    let mut store = open();
    let mut scribe = Scribe::new();
    let keyed = |key: &str| Some(IdempotencyKey::parse(key).unwrap());
    for (id, name, key) in [(1, "ci", "a"), (2, "ci", "a"), (3, "ci", "b"), (4, "mail", "a"), (5, "ci", "größe")] {
        scribe.add(task(id), TaskSpec { idempotency_key: keyed(key), ..plain(name) });
    }
    scribe.add(task(6), plain("ci"));
    scribe.done(task(2), "null");
    store.commit(&scribe.batch()).unwrap();
    for (name, key, expected) in [
        ("ci", "a", vec![2]),
        ("ci", "b", vec![3]),
        ("mail", "a", vec![4]),
        ("ci", "größe", vec![5]),
        ("mail", "b", vec![]),
        ("x", "a", vec![]),
    ] {
        let expected: Vec<TaskId> = expected.into_iter().map(task).collect();
        let need = Need::Idempotency { queue: queue(name), key: keyed(key).unwrap(), before: TaskId::MAX };
        assert_eq!(found(&mut *store, need), expected, "{name} {key}");
    }
    for (before, expected) in [(task(3), vec![task(2)]), (task(2), vec![task(1)]), (task(1), vec![])] {
        let need = Need::Idempotency { queue: queue("ci"), key: keyed("a").unwrap(), before };
        assert_eq!(found(&mut *store, need), expected, "before {before}");
    }
}

pub(super) fn dead_letters_are_paged(open: &mut Open<'_>) {
    let mut store = open();
    let mut scribe = Scribe::new();
    for id in 1..=12 {
        scribe.add(task(id), plain(if id == 6 { "mail" } else { "ci" }));
        if id != 8 {
            scribe.failed(task(id), "oops");
        }
    }
    scribe.record(Owner::Task(task(3)), Record::TaskReset { by: super::scribe::actor("ada") });
    store.commit(&scribe.batch()).unwrap();
    // 3 was reset, 6 is of another queue, 8 never failed.
    for (after, upto, limit, expected) in [
        (None, 100, 100, vec![1, 2, 4, 5, 7, 9, 10, 11, 12]),
        (None, 100, 3, vec![1, 2, 4]),
        (Some(4), 100, 3, vec![5, 7, 9]),
        (Some(4), 7, 3, vec![5, 7]),
        (Some(9), 11, 100, vec![10, 11]),
        (Some(12), 100, 100, vec![]),
        (Some(12), 12, 100, vec![]),
        (Some(12), 4, 100, vec![]),
        (None, 100, 0, vec![]),
    ] {
        let need = Need::Dead { queue: queue("ci"), after: after.map(task), upto: task(upto), limit };
        let expected: Vec<TaskId> = expected.into_iter().map(task).collect();
        assert_eq!(found(&mut *store, need), expected, "after {after:?} upto {upto} limit {limit}");
    }
    let everything = Need::Dead { queue: queue("mail"), after: None, upto: TaskId::MAX, limit: usize::MAX };
    assert_eq!(found(&mut *store, everything), [task(6)]);
}

pub(super) fn the_ends_of_the_number_line_fit(open: &mut Open<'_>) {
    let extreme = |table: &'static Table, int: i64| {
        let value = |(_, kind): &(&str, Kind)| if *kind == Kind::Int { Value::Int(int) } else { Value::from("x") };
        Row { table, values: table.columns.iter().map(value).collect() }
    };
    let puts: Vec<Row> = TABLES.iter().flat_map(|table| [extreme(table, i64::MAX), extreme(table, i64::MIN)]).collect();
    let mut scribe = Scribe::new();
    scribe.advance(i64::MAX as u64, Time::from_us(i64::MAX));
    scribe.add(task(1), plain("ci"));
    let entries = scribe.batch().entries;
    open().commit(&Batch { entries: entries.clone(), puts: puts.clone(), ..Batch::default() }).unwrap();

    let mut store = open();
    assert_eq!(store.last_at_us().unwrap(), i64::MAX);
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.last_record().unwrap(), RecordSeq(i64::MAX as u64));
    assert_eq!(reader.history(RecordSeq(i64::MAX as u64), 10).unwrap(), entries);
    assert_eq!(reader.task(TaskId::MAX).unwrap().as_ref(), puts.iter().find(|row| row.table == &TASKS));
    // Where the keys of both rows are the same, as they are of queues, the last one won.
    let places: Vec<_> = puts.iter().map(|row| (row.table.name, row.key().to_vec())).collect();
    let last = puts.iter().enumerate().filter(|(at, _)| !places[at + 1..].contains(&places[*at]));
    assert_eq!(all_rows(&*store), sorted(last.map(|(_, row)| row.clone()).collect()));
}

pub(super) fn any_text_and_large_payloads_fit(open: &mut Open<'_>) {
    let texts = ["", "ü", "日本語 🚂", "'; DROP TABLE tasks; --", "\"\\\n\t\u{1}", "%_*?", "\u{feff}x\u{fffd}", " \u{202e}"];
    let mut scribe = Scribe::new();
    for (id, text) in (1..).zip(texts) {
        scribe.add(task(id), plain("ci"));
        scribe.failed(task(id), text);
    }
    let large = format!("\"{}\"", "ä".repeat(kernel::limits::PAYLOAD_BYTES_MAX / 2 - 1));
    assert_eq!(large.len(), kernel::limits::PAYLOAD_BYTES_MAX);
    scribe.add(task(100), plain("ci"));
    let output = scribe.done(task(100), &large);
    let batch = scribe.batch();
    open().commit(&batch).unwrap();

    let store = open();
    assert_eq!(scanned(&*store, &TASKS), batch.puts);
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.payloads(&[output]).unwrap(), [Some(Payload(large.as_str().into()))]);
    let mut entries = Vec::new();
    reader.scan_records(&mut |entry| entries.push(entry.expect("it decodes"))).unwrap();
    assert_eq!(entries, batch.entries);
}
