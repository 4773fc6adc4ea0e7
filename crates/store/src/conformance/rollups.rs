//! Cases about roll-ups.

use super::Open;
use super::scribe::{Scribe, plain, queue, task};
use crate::rollups::{FAILURES_KEPT, RollupBatch, RollupCursor, RollupQuery, RollupRow};
use crate::store::{Reader, Store};
use kernel::ids::RecordSeq;
use kernel::record::{Owner, Record};
use kernel::rollup::{FailedAt, Minute, Projection, Rollup, RollupKey};
use kernel::time::Time;

fn key(minute: i64, name: &str, family: &str) -> RollupKey {
    RollupKey { minute: Minute(minute), queue: queue(name), family: family.into() }
}

fn row(started: u64, wait: u64) -> Rollup {
    let mut row = Rollup { started, ..Rollup::default() };
    row.wait.add(wait);
    row
}

fn batch(after: u64, upto: u64, rows: Vec<(RollupKey, Rollup)>) -> RollupBatch {
    let projection = Projection { rows: rows.into_iter().collect(), failures: Vec::new() };
    RollupBatch { after: RecordSeq(after), upto: RecordSeq(upto), at: Time::from_ms(1_000), projection, keep_from: None }
}

fn all() -> RollupQuery {
    RollupQuery { limit: 1_000, ..RollupQuery::default() }
}

/// What is found, as `minute queue family started`.
fn told(reader: &mut dyn Reader, query: &RollupQuery) -> String {
    let mut rows = Vec::new();
    let mut each = |(key, row): RollupRow| rows.push(format!("{} {} {} {}", key.minute.0, key.queue, key.family, row.started));
    let found = reader.rollups(query, &mut each).unwrap();
    format!("{found}: {}", rows.join(", "))
}

pub(super) fn roll_ups_add_up_and_are_found_by_minute_queue_and_family(open: &mut Open<'_>) {
    let store = open();
    let (mut rollups, mut reader) = (store.rollups().unwrap(), store.reader().unwrap());
    assert_eq!((rollups.cursor().unwrap(), told(&mut *reader, &all()).as_str()), (RollupCursor::default(), "0: "));
    let first = vec![(key(5, "b", "x"), row(1, 10)), (key(5, "a", "y"), row(2, 20)), (key(6, "a", "x"), row(4, 30))];
    rollups.add(&batch(0, 7, first)).unwrap();
    rollups.add(&batch(7, 9, vec![(key(6, "a", "x"), row(8, 5)), (key(7, "a", "x"), row(16, 1))])).unwrap();
    rollups.add(&batch(9, 12, Vec::new())).unwrap();
    let at = RollupCursor { seq: RecordSeq(12), at: Time::from_ms(1_000), ..RollupCursor::default() };
    assert_eq!((rollups.cursor().unwrap(), reader.rollup_cursor().unwrap()), (at, at));
    let (from, to) = (Some(Minute(6)), Some(Minute(6)));
    for (query, expected) in [
        (all(), "4: 7 a x 16, 6 a x 12, 5 a y 2, 5 b x 1"),
        (RollupQuery { limit: 2, ..all() }, "4: 7 a x 16, 6 a x 12"),
        (RollupQuery { from, ..all() }, "2: 7 a x 16, 6 a x 12"),
        (RollupQuery { to, ..all() }, "3: 6 a x 12, 5 a y 2, 5 b x 1"),
        (RollupQuery { from, to, ..all() }, "1: 6 a x 12"),
        (RollupQuery { queue: Some(queue("b")), ..all() }, "1: 5 b x 1"),
        (RollupQuery { family: Some("y".into()), ..all() }, "1: 5 a y 2"),
        (RollupQuery { family: Some("y".into()), queue: Some(queue("b")), ..all() }, "0: "),
    ] {
        assert_eq!(told(&mut *reader, &query), expected, "{query:?}");
    }
    let mut waits = Vec::new();
    let mut each = |(_, row): RollupRow| waits.push((row.wait.total(), row.wait.max()));
    reader.rollups(&RollupQuery { from, to, ..all() }, &mut each).unwrap();
    assert_eq!(waits, [(2, Some(30))]);
    drop((rollups, reader, store));
    let store = open();
    assert_eq!(told(&mut *store.reader().unwrap(), &all()), "4: 7 a x 16, 6 a x 12, 5 a y 2, 5 b x 1");
    let mut rollups = store.rollups().unwrap();
    assert_eq!(rollups.cursor().unwrap(), at);
    let families = ["g", "g.h", "g/h", "g/h/i", "gh"].map(|family| (key(8, "c", family), row(1, 1)));
    rollups.add(&batch(12, 13, families.to_vec())).unwrap();
    let mut reader = store.reader().unwrap();
    for (family, expected) in [
        ("g", "1: 8 c g 1"),
        ("g/*", "3: 8 c g 1, 8 c g/h 1, 8 c g/h/i 1"),
        ("g.*", "2: 8 c g 1, 8 c g.h 1"),
        ("*", "5: 8 c g 1, 8 c g.h 1, 8 c g/h 1, 8 c g/h/i 1, 8 c gh 1"),
    ] {
        let query = RollupQuery { family: Some(family.into()), from: Some(Minute(8)), ..all() };
        assert_eq!(told(&mut *reader, &query), expected, "{family}");
    }
}

pub(super) fn roll_ups_are_added_where_the_last_ended_or_not_at_all(open: &mut Open<'_>) {
    let store = open();
    let mut rollups = store.rollups().unwrap();
    rollups.add(&batch(0, 7, vec![(key(5, "a", "a"), row(1, 1))])).unwrap();
    for after in [0, 6, 8] {
        let why = rollups.add(&batch(after, 9, vec![(key(5, "a", "a"), row(1, 1))])).unwrap_err().to_string();
        assert!(why.contains("at record 7"), "{why}");
    }
    assert_eq!(told(&mut *store.reader().unwrap(), &all()), "1: 5 a a 1");
    rollups.add(&batch(7, 9, Vec::new())).unwrap();
}

pub(super) fn old_minutes_are_forgotten_and_so_are_old_failures(open: &mut Open<'_>) {
    let store = open();
    let (mut rollups, mut reader) = (store.rollups().unwrap(), store.reader().unwrap());
    let rows = (1..=4).map(|minute| (key(minute, "a", "a"), row(1, 1))).collect();
    rollups.add(&batch(0, 1, rows)).unwrap();
    rollups.add(&RollupBatch { keep_from: Some(Minute(3)), ..batch(1, 2, Vec::new()) }).unwrap();
    assert_eq!(told(&mut *reader, &all()), "2: 4 a a 1, 3 a a 1");

    let failed = |name: &str, seq: u64| {
        let at = Minute(seq as i64).start();
        FailedAt { queue: queue(name), family: name.into(), seq: RecordSeq(seq), at }
    };
    let kept = FAILURES_KEPT as u64;
    let mut failing = batch(2, 3, Vec::new());
    failing.projection.failures = [failed("b", 1)].into_iter().chain((2..=kept + 3).map(|seq| failed("a", seq))).collect();
    rollups.add(&failing).unwrap();
    let mut seqs =
        |query: &RollupQuery| -> Vec<u64> { reader.rollup_failures(query).unwrap().iter().map(|failed| failed.seq.0).collect() };
    let expected: Vec<u64> = (4..=kept + 3).rev().chain([1]).collect();
    assert_eq!(seqs(&all()), expected);
    assert_eq!(seqs(&RollupQuery { limit: 2, ..all() }), expected[..2]);
    assert_eq!(seqs(&RollupQuery { queue: Some(queue("b")), ..all() }), [1]);
    assert_eq!(seqs(&RollupQuery { family: Some("c".into()), ..all() }), [0; 0]);
    assert_eq!(seqs(&RollupQuery { from: Some(Minute(5)), to: Some(Minute(6)), ..all() }), [6, 5]);
}

pub(super) fn what_is_deleted_before_it_was_folded_is_told(open: &mut Open<'_>) {
    let (mut store, mut scribe) = (open(), Scribe::new());
    for id in [1, 2] {
        scribe.add(task(id), plain("ci"));
        store.commit(&scribe.batch()).unwrap();
    }
    let folded = scribe.last(&Owner::Task(task(1)));
    let mut rollups = store.rollups().unwrap();
    rollups.add(&batch(0, folded.0, Vec::new())).unwrap();
    let mut delete = |store: &mut dyn Store, id| {
        let last = scribe.last(&Owner::Task(task(id)));
        let by = super::scribe::actor("ada");
        scribe.record(Owner::Task(task(id)), Record::TaskDeleted { queue: queue("ci"), by });
        let mut batch = scribe.batch();
        batch.prunes = vec![last];
        store.commit(&batch).unwrap();
    };
    delete(&mut *store, 1);
    assert_eq!(rollups.cursor().unwrap().lost, 0);
    delete(&mut *store, 2);
    let cursor = rollups.cursor().unwrap();
    assert_eq!((cursor.lost, cursor.seq), (1, folded));
    assert!(cursor.lost_at > Time::ZERO);
}
