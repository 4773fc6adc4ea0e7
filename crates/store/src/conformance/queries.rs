//! Cases about what readers see.

use super::sample::{key, sample, tag};
use super::sample_events::made_by;
use super::scribe::{Scribe, bulk, node, path, plain, queue, run, task};
use super::{Open, scanned};
use crate::store::{Reader, Store, TaskQuery};
use kernel::bulk::TaskFilter;
use kernel::ids::{RecordSeq, TaskId};
use kernel::names::{Pattern, TypeName};
use kernel::record::{Entry, Owner, Record, TaskSpec};
use kernel::row::{BULKS, KEYS, QUEUES, Row, TABLES, TASKS};
use kernel::task::{Status, Task};
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) fn with_sample(open: &mut Open<'_>) -> (Box<dyn Store>, Scribe, Vec<Entry>) {
    let mut store = open();
    let (scribe, batches) = sample();
    batches.iter().for_each(|batch| store.commit(batch).expect("it commits"));
    (store, scribe, batches.into_iter().flat_map(|batch| batch.entries).collect())
}

pub(super) fn a_history_is_a_chain(open: &mut Open<'_>) {
    let (store, scribe, entries) = with_sample(open);
    let mut reader = store.reader().unwrap();
    let tasks = [3, 26].map(|id| Owner::Task(task(id)));
    let runs = [Owner::Run(run(104)), Owner::Frame(run(102), path("rounds[1].check[3]")), Owner::Node(node(100, "", "pay"))];
    let others = [Owner::Shard, Owner::Queue(queue("ci")), Owner::Bulk(bulk(40))];
    for owner in tasks.into_iter().chain(runs).chain(others) {
        let all: Vec<Entry> = entries.iter().rev().filter(|entry| entry.owner == owner).cloned().collect();
        let last = scribe.last(&owner);
        assert_eq!(reader.history(last, 100).unwrap(), all, "{owner}");
        assert_eq!(reader.history(last, 2).unwrap(), all[..2], "{owner}");
        assert_eq!(reader.history(all[1].seq, 100).unwrap(), all[1..], "{owner}");
        assert_eq!(reader.history(last, 0).unwrap(), [], "{owner}");
    }
    assert_eq!(reader.history(RecordSeq::NONE, 10).unwrap(), []);
    assert_eq!(reader.history(RecordSeq(999_999), 10).unwrap(), []);
}

pub(super) fn payloads_come_in_the_order_asked_for(open: &mut Open<'_>) {
    let (store, _, entries) = with_sample(open);
    let mut reader = store.reader().unwrap();
    let mut asked: Vec<RecordSeq> = entries.iter().rev().map(|entry| entry.seq).collect();
    let mut expected: Vec<_> = entries.iter().rev().map(|entry| entry.payload.clone()).collect();
    asked.extend([RecordSeq(999_999), RecordSeq::NONE, asked[0]]);
    expected.extend([None, None, expected[0].clone()]);
    assert!(expected.contains(&None) && expected.iter().any(Option::is_some));
    assert_eq!(reader.payloads(&asked).unwrap(), expected);
    assert_eq!(reader.payloads(&[]).unwrap(), []);
}

pub(super) fn records_follow_a_number(open: &mut Open<'_>) {
    let (store, _, entries) = with_sample(open);
    let mut reader = store.reader().unwrap();
    let bare: Vec<Entry> = entries.into_iter().map(|entry| Entry { payload: None, ..entry }).collect();
    let last = reader.last_record().unwrap();
    assert_eq!(last, bare.last().unwrap().seq);
    for (after, limit, expected) in [
        (RecordSeq::NONE, 1_000, &bare[..]),
        (RecordSeq::NONE, 3, &bare[..3]),
        (bare[4].seq, 3, &bare[5..8]),
        (last, 10, &[]),
        (RecordSeq(999_999), 10, &[]),
        (RecordSeq::NONE, 0, &[]),
    ] {
        assert_eq!(reader.records(after, limit).unwrap(), expected, "after {after:?} limit {limit}");
        for owners in [&["task-"][..], &["queue:", "key:"], &["none"], &[]] {
            let fits = |entry: &&Entry| owners.iter().any(|begins| entry.owner.to_string().starts_with(begins));
            let stretch = reader.stretch(after, limit, owners).unwrap();
            assert!(stretch.entries.iter().eq(expected.iter().filter(fits)), "after {after:?} limit {limit} of {owners:?}");
            let end = expected.last().map(|last| (last.seq, last.at));
            assert_eq!((stretch.passed, stretch.end), (expected.len(), end), "after {after:?} limit {limit} of {owners:?}");
        }
    }
}

pub(super) fn dead_letters_are_counted_per_queue(open: &mut Open<'_>) {
    let (mut store, mut scribe, _) = with_sample(open);
    assert_eq!(store.reader().unwrap().dead_counts().unwrap(), [(queue("ci"), 2)]);
    scribe.add(task(80), plain("a-queue"));
    scribe.failed(task(80), "oops");
    scribe.record(Owner::Task(task(21)), Record::TaskReset { by: super::scribe::actor("ada") });
    store.commit(&scribe.batch()).unwrap();
    assert_eq!(store.reader().unwrap().dead_counts().unwrap(), [(queue("a-queue"), 1), (queue("ci"), 1)]);
    let plain = [(queue("a-queue"), "a-queue".into(), 1), (queue("ci"), "ci".into(), 1)];
    assert_eq!(store.reader().unwrap().dead_families().unwrap(), plain);
    for (id, name) in [(81, "github/push"), (82, "github/a.opened"), (83, "github/pull")] {
        scribe.add(task(id), TaskSpec { queue: queue("ci"), ..made_by(name) });
        scribe.failed(task(id), "oops");
    }
    store.commit(&scribe.batch()).unwrap();
    let [a, ci] = plain;
    let made = |family: &str, count| (queue("ci"), family.into(), count);
    assert_eq!(store.reader().unwrap().dead_families().unwrap(), [a, ci, made("github", 2), made("github/a", 1)]);
}

fn listed(reader: &mut dyn Reader, query: &TaskQuery) -> Vec<u64> {
    let rows = reader.tasks(query).expect("it lists");
    rows.iter().map(|row| Task::from_row(&row.values).expect("a task").card().id().sequence()).collect()
}

pub(super) fn tasks_are_listed_by_every_filter(open: &mut Open<'_>) {
    let mut store = open();
    let mut scribe = Scribe::new();
    let kind = |name: &str| TypeName::parse(name).unwrap();
    // Tags and values that trip a search by substring.
    scribe.add(task(1), TaskSpec { tags: vec![tag("a"), tag("b")], ..plain("ci") });
    scribe.add(task(2), TaskSpec { tags: vec![tag(","), tag("ab")], kind: kind("test"), ..plain("ci") });
    scribe.add(task(3), TaskSpec { keys: vec![key("tenant", "acme")], ..plain("ci") });
    scribe.add(task(4), TaskSpec { keys: vec![key("region", "acme"), key("tenant", "acme\",\"x")], ..plain("ci") });
    scribe.add(task(5), TaskSpec { keys: vec![key("tenant", "größe \"7\"")], tags: vec![tag("größe \"7\"")], ..plain("mail") });
    scribe.add(task(6), TaskSpec { keys: vec![key("tenant", "acme")], tags: vec![tag("a")], ..plain("mail") });
    scribe.add(task(7), TaskSpec { idle: true, ..plain("mail") });
    let names = ["hub/push", "hub/a.opened", "hub", "hub.x", "hubs/a", "a/hub/b", "hub/a.b.c"];
    for (id, name) in (20..).zip(names) {
        scribe.add(task(id), TaskSpec { tags: vec![tag("made")], ..made_by(name) });
    }
    scribe.failed(task(3), "http_503");
    scribe.failed(task(6), "http_503");
    scribe.failed(task(4), "http_50");
    scribe.done(task(1), "null");
    scribe.lease(task(5));
    store.commit(&scribe.batch()).unwrap();

    let all = || TaskQuery { limit: 100, ..TaskQuery::default() };
    let filtered = |filter: TaskFilter| TaskQuery { filter, ..all() };
    let none = TaskFilter::default;
    let keyed = |name: &str, value: &str| filtered(TaskFilter { key: Some(key(name, value)), ..none() });
    let tagged = |text: &str| filtered(TaskFilter { tag: Some(tag(text)), ..none() });
    let family = |text: &str| filtered(TaskFilter { family: Some(Pattern::parse(text).unwrap()), ..none() });
    let status = |status| TaskQuery { status: Some(status), ..all() };
    let coded = |code: &str| filtered(TaskFilter { error_code: Some(code.into()), ..none() });
    let cases: &[(TaskQuery, &[u64])] = &[
        (TaskQuery { before: Some(task(8)), ..all() }, &[7, 6, 5, 4, 3, 2, 1]),
        (family("hub"), &[23, 22, 20]),
        (family("hub/*"), &[26, 23, 22, 21, 20]),
        (family("hub.*"), &[23, 22, 20]),
        (family("hub/a"), &[21]),
        (family("hub/a.*"), &[26, 21]),
        (family("hub/a.b"), &[26]),
        (family("a/hub"), &[25]),
        (family("push"), &[]),
        (family("*"), &[26, 25, 24, 23, 22, 21, 20]),
        (tagged("made"), &[26, 25, 24, 23, 22, 21, 20]),
        (TaskQuery { queue: Some(queue("ci")), ..all() }, &[4, 3, 2, 1]),
        (TaskQuery { queue: Some(queue("c")), ..all() }, &[]),
        (status(Status::Idle), &[7]),
        (TaskQuery { before: Some(task(8)), ..status(Status::Queued) }, &[2]),
        (status(Status::Running), &[5]),
        (status(Status::Done), &[1]),
        (status(Status::Failed), &[6, 4, 3]),
        (status(Status::Cancelled), &[]),
        (TaskQuery { queue: Some(queue("ci")), ..status(Status::Failed) }, &[4, 3]),
        (filtered(TaskFilter { kind: Some(kind("test")), ..none() }), &[2]),
        (keyed("tenant", "acme"), &[6, 3]),
        (keyed("region", "acme"), &[4]),
        (keyed("tenant", "acme\",\"x"), &[4]),
        (keyed("tenant", "größe \"7\""), &[5]),
        (keyed("acme", "tenant"), &[]),
        (tagged("a"), &[6, 1]),
        (tagged("b"), &[1]),
        (tagged(","), &[2]),
        (tagged("größe \"7\""), &[5]),
        (tagged("A"), &[]),
        (TaskQuery { tag: Some(tag("a")), ..all() }, &[6, 1]),
        (TaskQuery { tag: Some(tag("a")), ..tagged("b") }, &[1]),
        (TaskQuery { tag: Some(tag("a")), ..keyed("tenant", "acme") }, &[6]),
        (coded("http_503"), &[6, 3]),
        (coded("http_5"), &[]),
        (TaskQuery { queue: Some(queue("mail")), status: Some(Status::Failed), ..coded("http_503") }, &[6]),
        (TaskQuery { before: Some(task(4)), ..keyed("tenant", "acme") }, &[3]),
    ];
    let mut reader = store.reader().unwrap();
    for (query, expected) in cases {
        assert_eq!(listed(&mut *reader, query), *expected, "{query:?}");
    }
}

pub(super) fn tasks_are_listed_in_pages(open: &mut Open<'_>) {
    let (store, ..) = with_sample(open);
    let mut reader = store.reader().unwrap();
    let newest_first: Vec<Row> = scanned(&*store, &TASKS).into_iter().rev().collect();
    for status in [None, Some(Status::Failed)] {
        let fits = |row: &&Row| status.is_none_or(|status| Task::from_row(&row.values).unwrap().status() == status);
        let expected: Vec<Row> = newest_first.iter().filter(fits).cloned().collect();
        for limit in [1, 2, 5, 100] {
            let (mut pages, mut before) = (Vec::new(), None);
            loop {
                let page = reader.tasks(&TaskQuery { status, before, limit, ..TaskQuery::default() }).unwrap();
                assert!(page.len() <= limit);
                let Some(last) = page.last() else { break };
                before = Some(Task::from_row(&last.values).unwrap().card().id());
                pages.extend(page);
            }
            assert_eq!(pages, expected, "{status:?} by {limit}");
        }
    }
    assert_eq!(reader.tasks(&TaskQuery::default()).unwrap(), [], "a limit of 0");
    let first = TaskQuery { before: Some(task(0)), limit: 10, ..TaskQuery::default() };
    assert_eq!(reader.tasks(&first).unwrap(), []);
}

pub(super) fn bulks_are_listed_newest_first(open: &mut Open<'_>) {
    let (store, scribe, _) = with_sample(open);
    let mut reader = store.reader().unwrap();
    let expected: Vec<Row> = (39..=45).rev().map(|id| scribe.row(&Owner::Bulk(bulk(id))).unwrap()).collect();
    assert_eq!(reader.bulks(10).unwrap(), expected);
    assert_eq!(reader.bulks(2).unwrap(), expected[..2]);
    assert_eq!(reader.bulk(bulk(41)).unwrap().as_ref(), Some(&expected[4]));
    assert_eq!(reader.bulk(bulk(1)).unwrap(), None);
    let task_row = reader.task(task(3)).unwrap();
    assert_eq!(task_row, Some(scribe.task_row(task(3))));
    assert_eq!(reader.task(task(25)).unwrap(), None);
}

pub(super) fn scans_go_by_key(open: &mut Open<'_>) {
    let (store, scribe, _) = with_sample(open);
    for table in TABLES {
        let rows = scanned(&*store, table);
        assert!(rows.is_sorted_by(|a, b| a.key() < b.key()), "{}", table.name);
        assert!(!rows.is_empty(), "{}", table.name);
    }
    let names: Vec<String> = scanned(&*store, &QUEUES).iter().map(|row| row.key()[0].to_string()).collect();
    assert_eq!(names, [r#""ci""#, r#""held""#, r#""mail""#]);
    assert_eq!((scanned(&*store, &KEYS).len(), scanned(&*store, &BULKS).len()), (5, 7));
    let ids = scanned(&*store, &TASKS);
    assert_eq!(ids.last(), Some(&scribe.task_row(TaskId::new(7, 5))), "ids of other shards come last");
}

pub(super) fn readers_see_whole_batches_while_commits_go_on(open: &mut Open<'_>) {
    const BATCHES: u64 = 40;
    const TASKS_EACH: u64 = 10;
    let mut store = open();
    let mut scribe = Scribe::new();
    scribe.add(task(1_000_000), plain("other"));
    store.commit(&scribe.batch()).unwrap();
    let everything = TaskQuery { queue: Some(queue("ci")), limit: usize::MAX, ..TaskQuery::default() };
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let mut reader = store.reader().unwrap();
            let (everything, is_over) = (&everything, &is_over);
            scope.spawn(move || {
                let mut seen = 0;
                // Looks once more after the last commit, so that it must see everything.
                loop {
                    let over = is_over.load(Ordering::Acquire);
                    let rows = reader.tasks(everything).unwrap().len() as u64;
                    assert!(rows.is_multiple_of(TASKS_EACH), "{rows} rows are no whole number of batches");
                    assert!(rows >= seen, "nothing is unseen again");
                    seen = rows;
                    let last = reader.last_record().unwrap().0;
                    assert!(last > rows, "a row's records are there with it");
                    if over {
                        break;
                    }
                }
                assert_eq!(seen, BATCHES * TASKS_EACH);
            });
        }
        for batch in 0..BATCHES {
            for at in 0..TASKS_EACH {
                scribe.add(task(1 + batch * TASKS_EACH + at), plain("ci"));
            }
            store.commit(&scribe.batch()).unwrap();
        }
        is_over.store(true, Ordering::Release);
    });
}

pub(super) fn a_held_moment_stays_as_it_was(open: &mut Open<'_>) {
    let (mut store, mut scribe, entries) = with_sample(open);
    let mut reader = store.reader().unwrap();
    let all = TaskQuery { limit: 100, ..TaskQuery::default() };
    let before = listed(&mut *reader, &all);
    reader.hold().unwrap();
    for id in 200..220 {
        scribe.add(task(id), plain("ci"));
        store.commit(&scribe.batch()).unwrap();
        assert_eq!(listed(&mut *reader, &all), before);
        assert_eq!(reader.last_record().unwrap(), entries.last().unwrap().seq);
    }
    reader.release().unwrap();
    assert_eq!(listed(&mut *reader, &all).len(), before.len() + 20);
}
