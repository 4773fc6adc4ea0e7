//! Cases about what the writer commits of runs and gets back.

use super::scribe::{Scribe, actor, flow, node, path, plain, plain_run, queue, run, task};
use super::writes::{all_rows, commit_sample};
use super::{Open, scanned};
use crate::store::{Store, TaskQuery};
use kernel::ids::{RecordSeq, RunId, TaskId};
use kernel::names::IdempotencyKey;
use kernel::needs::{Begun, Need};
use kernel::node::Started;
use kernel::record::{Failure, Owner, Record};
use kernel::row::{FRAMES, NODES, RUNS, Row, TASKS, Table};
use kernel::run::{NodeAt, Run, RunSpec, ValueAt};
use kernel::task::{Status, Task};
use kernel::time::Time;

/// What a row is of, for people.
fn shown(rows: &[Row]) -> Vec<String> {
    rows.iter().map(|row| crate::fold::owner(row).expect("somebody's row").to_string()).collect()
}

fn found(store: &mut dyn Store, needs: &[Need]) -> Vec<String> {
    shown(&store.rows(needs).expect("it finds rows"))
}

pub(super) fn a_run_is_found_with_its_parts(open: &mut Open<'_>) {
    let mut store = open();
    let scribe = commit_sample(&mut *store);
    let row = |owner: Owner| scribe.row(&owner).expect("it is there");
    assert_eq!(store.rows(&[Need::Run(run(106))]).unwrap(), [row(Owner::Run(run(106)))]);
    assert_eq!(found(&mut *store, &[Need::Run(run(999)), Need::RunWhole(run(999)), Need::Run(run(109))]), [""; 0]);
    // 102: run, frames by path, nodes by frame and name.
    let whole = store.rows(&[Need::RunWhole(run(102))]).unwrap();
    let of = |table: &'static Table| scanned(&*store, table).into_iter().filter(|row| row.key()[0] == run(102).number().into());
    let expected: Vec<Row> = [&RUNS, &FRAMES, &NODES].into_iter().flat_map(of).collect();
    assert_eq!(whole, expected);
    assert_eq!(whole.len(), 1 + 6 + 7);

    let needs = [Need::Run(run(106)), Need::Task(task(106)), Need::Task(task(73)), Need::RunWhole(run(106)), Need::Run(run(105))];
    // In the order asked for, each once, whatever its table: a run and a task may have the same number.
    let expected = ["run-3a", "task-29", "run-3a//fix", "run-3a//late", "run-39"];
    assert_eq!(found(&mut *store, &needs), expected);
    assert_eq!(found(&mut *store, &[Need::RunWhole(RunId::new(7, 5))]), ["run-7.5"]);
}

pub(super) fn the_youngest_run_of_an_idempotency_key_is_found(open: &mut Open<'_>) {
    let mut store = open();
    let mut scribe = Scribe::new();
    let keyed = |key: &str| IdempotencyKey::parse(key).unwrap();
    for (id, name, key) in [(1, "refund", "a"), (2, "refund", "a"), (3, "refund", "b"), (4, "lint", "a"), (5, "lint", "größe")]
    {
        scribe.start(run(id), RunSpec { idempotency_key: Some(keyed(key)), ..plain_run(name) });
    }
    scribe.start(run(6), plain_run("refund"));
    scribe.record(Owner::Run(run(2)), Record::RunDone { output: ValueAt::Null, closed: true });
    store.commit(&scribe.batch()).unwrap();
    for (name, key, expected) in [
        ("refund", "a", vec!["run-2"]),
        ("refund", "b", vec!["run-3"]),
        ("lint", "a", vec!["run-4"]),
        ("lint", "größe", vec!["run-5"]),
        ("lint", "b", vec![]),
        ("x", "a", vec![]),
    ] {
        assert_eq!(found(&mut *store, &[Need::RunKey { workflow: flow(name), key: keyed(key) }]), expected, "{name} {key}");
    }
}

pub(super) fn the_parts_of_runs_come_in_turn_and_tell_what_they_began(open: &mut Open<'_>) {
    let mut store = open();
    let mut scribe = Scribe::new();
    scribe.start(run(1), plain_run("lint"));
    for item in 0..2 {
        scribe.record(Owner::Frame(run(1), path(&format!("each[{item}]"))), Record::FrameOpened { revision: 0 });
    }
    // Started three times; the second task was deleted since.
    let fix = node(1, "", "fix");
    for id in [1, 2, 3] {
        scribe.work(&fix, task(id));
        if id < 3 {
            scribe.record(Owner::Node(fix.clone()), Record::NodeCancelled {});
            scribe.record(Owner::Node(fix.clone()), Record::NodeReopened { by: actor("ada"), only: false });
        }
    }
    scribe.record(Owner::Task(task(2)), Record::TaskDeleted { queue: queue("ci"), by: actor("ada") });
    scribe.record(Owner::Node(fix), Record::NodeCancelled {});
    scribe.record(Owner::Node(node(1, "", "skip")), Record::NodeSkipped { cause: kernel::frame::Cause::Untaken });
    scribe.worked(&node(1, "each[0]", "lint"), task(5));
    scribe.work(&node(1, "each[1]", "lint"), task(4));
    // It called another.
    scribe.record(Owner::Node(node(1, "each[1]", "sub")), Record::NodeStarted { at: Started::Calling { run: run(3), again: 0 } });
    let called = kernel::run::RunSpec { parent: Some(node(1, "each[1]", "sub")), ..plain_run("lint") };
    scribe.start(run(3), called);
    // Its neighbour is left alone.
    scribe.start(run(2), plain_run("lint"));
    scribe.work(&node(2, "", "fix"), task(6));
    store.commit(&scribe.batch()).unwrap();

    let parts = [
        "run-1/each[0]",
        "run-1/each[1]",
        "run-1//fix",
        "run-1//skip",
        "run-1/each[0]/lint",
        "run-1/each[1]/lint",
        "run-1/each[1]/sub",
    ];
    for limit in [0, 1, 2, 3, 4, 5, 6, usize::MAX] {
        let expected = &parts[..limit.min(parts.len())];
        assert_eq!(found(&mut *store, &[Need::RunParts { runs: vec![run(1)], limit }]), expected, "limit {limit}");
    }
    assert_eq!(found(&mut *store, &[Need::RunParts { runs: vec![run(9)], limit: 10 }]), [""; 0]);
    let several = |limit| Need::RunParts { runs: vec![run(9), run(2), run(1)], limit };
    let others = found(&mut *store, &[Need::RunParts { runs: vec![run(2)], limit: 100 }]);
    assert!(!others.is_empty());
    for room in [1, 3, 100] {
        let expected = [others.iter().map(String::as_str).collect(), parts[..room.min(parts.len())].to_vec()].concat();
        assert_eq!(found(&mut *store, &[several(others.len() + room)]), expected, "one after the other");
    }
    let rows = store.rows(&[several(100)]).unwrap();
    let nodes = rows.iter().filter(|row| row.table == &NODES);
    let lasts: Vec<RecordSeq> = nodes.map(|row| crate::chain::last_of(&NODES, &row.values).unwrap()).collect();
    let shown = |begun: Begun| match begun {
        Begun::Task(task) => task.to_string(),
        Begun::Run(run) => run.to_string(),
    };
    let begun: Vec<String> = store.begun(&lasts).unwrap().into_iter().flatten().map(shown).collect();
    assert!(begun.ends_with(&["task-1", "task-2", "task-3", "task-5", "task-4", "run-3"].map(String::from)), "{begun:?}");
}

pub(super) fn runs_that_have_ended_are_found_oldest_first(open: &mut Open<'_>) {
    let mut store = open();
    let mut scribe = Scribe::new();
    for id in 1..=9 {
        scribe.start(run(id), plain_run("lint"));
    }
    // One that was called goes with its caller.
    scribe.start(run(11), kernel::run::RunSpec { parent: Some(node(2, "", "sub")), ..plain_run("lint") });
    scribe.record(Owner::Run(run(11)), Record::RunDone { output: ValueAt::Null, closed: true });
    let second = |n: u64| Time::from_ms(1_700_000_100_000).plus_ms(n * 1_000);
    let mut end = |id, at, record| {
        scribe.advance(at * 100 + id, second(at));
        scribe.record(Owner::Run(run(id)), record);
    };
    let done = || Record::RunDone { output: ValueAt::Null, closed: true };
    end(5, 1, done());
    end(3, 2, Record::RunFailed { failure: Failure { code: "x".into(), message: String::new() }, node: None, closed: false });
    end(7, 3, done());
    end(1, 4, Record::RunCancelled { reason: String::new(), by: actor("ada"), closed: true });
    end(8, 5, done());
    end(6, 6, done());
    // 8 is being deleted, 6 goes on, 2, 4 and 9 never ended.
    end(8, 7, Record::RunDeleting { by: actor("ada"), expired: false });
    scribe.start(run(10), plain_run("lint"));
    scribe.record(
        Owner::Run(run(10)),
        Record::RunFailed { failure: Failure { code: "x".into(), message: String::new() }, node: None, closed: true },
    );
    scribe.record(
        Owner::Run(run(10)),
        Record::RunReopened { deadline: None, again: 1, reason: String::new(), by: actor("ada"), anew: true },
    );
    store.commit(&scribe.batch()).unwrap();
    // By their end: 5, 3, 7, 1, 6.
    let (never, always) = (Time::from_us(i64::MIN), Time::from_us(i64::MAX));
    for (before, keep, limit, expected) in [
        (always, 100, 100, vec![5, 3, 7, 1, 6]),
        (always, 0, 2, vec![5, 3]),
        (never, 100, 100, vec![]),
        (never, 5, 100, vec![]),
        (never, 4, 100, vec![5]),
        (never, 2, 100, vec![5, 3, 7]),
        (never, 2, 2, vec![5, 3]),
        (never, 0, 100, vec![5, 3, 7, 1, 6]),
        (never, usize::MAX, 100, vec![]),
        (second(3), 100, 100, vec![5, 3]),
        (second(3).plus_us(1), 100, 100, vec![5, 3, 7]),
        (second(3), 4, 100, vec![5, 3]),
        (second(3), 1, 100, vec![5, 3, 7, 1]),
        (second(3), 1, usize::MAX, vec![5, 3, 7, 1]),
        (second(3), 1, 0, vec![]),
    ] {
        let expected: Vec<String> = expected.into_iter().map(|id| run(id).to_string()).collect();
        let need = Need::RunsEnded { before, keep, limit };
        assert_eq!(found(&mut *store, std::slice::from_ref(&need)), expected, "{need:?}");
        let looked_for = store.reader().unwrap().runs_ended(before, keep, limit).unwrap();
        assert_eq!(shown(&looked_for), expected, "{need:?}");
    }
}

/// Runs that end at the same instant are told apart by their ids.
pub(super) fn runs_that_end_at_once_are_found_by_id(open: &mut Open<'_>) {
    let mut store = open();
    let mut scribe = Scribe::new();
    for id in 1..=4 {
        scribe.start(run(id), plain_run("lint"));
        scribe.record(Owner::Run(run(id)), Record::RunDone { output: ValueAt::Null, closed: true });
    }
    let mut batch = scribe.batch();
    let ended_at = RUNS.columns.iter().position(|(name, _)| *name == "ended_at").unwrap();
    batch.puts.iter_mut().for_each(|row| row.values[ended_at] = Time::from_us(5).into());
    store.commit(&batch).unwrap();
    for (keep, expected) in [(0, 4), (1, 3), (3, 1), (4, 0)] {
        let rows = store.rows(&[Need::RunsEnded { before: Time::from_us(5), keep, limit: 10 }]).unwrap();
        let ids: Vec<u64> = rows.iter().map(|row| Run::from_row(&row.values).unwrap().id().sequence()).collect();
        assert_eq!(ids, (1..=expected).collect::<Vec<_>>(), "keep {keep}");
    }
}

pub(super) fn the_work_of_a_run_is_no_dead_letter(open: &mut Open<'_>) {
    let mut store = open();
    let mut scribe = Scribe::new();
    scribe.start(run(1), plain_run("lint"));
    scribe.work(&node(1, "", "fix"), task(1));
    scribe.work(&node(1, "", "mend"), task(2));
    scribe.add(task(3), plain("ci"));
    scribe.add(task(4), plain("ci"));
    for id in [1, 3, 4] {
        scribe.failed(task(id), "oops");
    }
    store.commit(&scribe.batch()).unwrap();
    let dead = || Need::Dead { queue: queue("ci"), after: None, upto: TaskId::MAX, limit: 10 };
    assert_eq!(found(&mut *store, &[dead()]), ["task-3", "task-4"]);
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.dead_counts().unwrap(), [(queue("ci"), 2)]);
    let all = TaskQuery { queue: Some(queue("ci")), limit: 10, ..TaskQuery::default() };
    for (query, expected) in [
        (TaskQuery { dead: true, ..all.clone() }, vec!["task-4", "task-3"]),
        (TaskQuery { dead: true, queue: None, ..all.clone() }, vec!["task-4", "task-3"]),
        (TaskQuery { dead: true, status: Some(Status::Queued), ..all.clone() }, vec![]),
        (TaskQuery { dead: true, before: Some(task(4)), ..all.clone() }, vec!["task-3"]),
        (TaskQuery { status: Some(Status::Failed), ..all.clone() }, vec!["task-4", "task-3", "task-1"]),
    ] {
        assert_eq!(shown(&reader.tasks(&query).unwrap()), expected, "{query:?}");
    }
    let row = reader.task(task(1)).unwrap().unwrap();
    let expected: NodeAt = node(1, "", "fix");
    assert_eq!(Task::from_row(&row.values).unwrap().card().node(), Some(&expected));
}

pub(super) fn the_parts_of_a_run_are_deleted_with_their_histories(open: &mut Open<'_>) {
    let mut store = open();
    let mut scribe = Scribe::new();
    for id in [1, 2] {
        scribe.start(run(id), plain_run("lint"));
        scribe.record(Owner::Frame(run(id), path("each[0]")), Record::FrameOpened { revision: 0 });
        scribe.worked(&node(id, "each[0]", "lint"), task(id));
        scribe.record(Owner::Frame(run(id), path("each[0]")), Record::FrameDone { output: ValueAt::Null });
        scribe.record(Owner::Run(run(id)), Record::RunDone { output: ValueAt::Null, closed: true });
    }
    store.commit(&scribe.batch()).unwrap();
    scribe.record(Owner::Run(run(1)), Record::RunDeleting { by: actor("ada"), expired: false });
    store.commit(&scribe.batch()).unwrap();
    // In two chunks: the frame, then the rest; of the run itself one record stays.
    scribe.forget(&Owner::Frame(run(1), path("each[0]")));
    store.commit(&scribe.batch()).unwrap();
    let parts = [Need::RunParts { runs: vec![run(1)], limit: 10 }];
    assert_eq!(found(&mut *store, &parts), ["run-1/each[0]/lint"]);
    scribe.forget(&Owner::Node(node(1, "each[0]", "lint")));
    scribe.forget(&Owner::Task(task(1)));
    let last = scribe.last(&Owner::Run(run(1)));
    scribe.record(Owner::Run(run(1)), Record::RunDeleted { workflow: flow("lint"), by: actor("ada") });
    let mut batch = scribe.batch();
    batch.prunes.push(last);
    store.commit(&batch).unwrap();

    assert_eq!(found(&mut *store, &parts), [""; 0]);
    assert!(all_rows(&*store).iter().all(|row| row.key()[0] == 2.into()));
    assert_eq!((scanned(&*store, &TASKS).len(), scanned(&*store, &NODES).len()), (1, 1));
    let mut reader = store.reader().unwrap();
    let kept = reader.records(RecordSeq::NONE, 100).unwrap();
    let (gone, other): (Vec<_>, Vec<_>) = kept.into_iter().partition(|entry| entry.owner == Owner::Run(run(1)));
    assert_eq!(gone.iter().map(|entry| entry.record.kind()).collect::<Vec<_>>(), ["run_deleted"]);
    assert_eq!(other.len(), 9);
    assert_eq!(crate::verify::verify(&mut *reader, &mut |_| {}).unwrap().differences, []);
}
