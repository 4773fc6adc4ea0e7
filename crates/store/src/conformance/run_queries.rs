//! Cases about what readers see of workflows and runs.

use super::queries::with_sample;
use super::sample::tag;
use super::scribe::{Scribe, flow, node, path, plain_run, run, task};
use super::{Open, scanned};
use crate::store::{ApprovalQuery, NodeQuery, Reader, RunQuery, Stamp};
use kernel::ids::{RecordSeq, RunId};
use kernel::names::{IdempotencyKey, NodeId};
use kernel::node::Started;
use kernel::record::{Entry, Failure, Owner, Record, TaskSpec};
use kernel::row::{FRAMES, NODES, NodeRow, RUNS, Row, Value};
use kernel::run::{Run, RunSpec, RunStatus, ValueAt};
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) fn workflows_are_found_by_version_and_name(open: &mut Open<'_>) {
    let mut store = open();
    let mut scribe = Scribe::new();
    // Versions are numbers: 10 comes after 9.
    for (name, version) in [("refund", 9), ("refund", 10), ("a", 1), ("refund", 2), ("refund-not", 3), ("refund", u32::MAX - 1)] {
        scribe.put(name, version, &format!("{name} {version}"));
    }
    store.commit(&scribe.batch()).unwrap();
    let mut reader = store.reader().unwrap();
    let row = |name: &str, version| scribe.row(&Owner::Workflow(flow(name), version)).expect("it was put");
    let top = u32::MAX - 1;
    assert_eq!(reader.workflow(&flow("refund"), None).unwrap(), Some(row("refund", top)));
    assert_eq!(reader.workflow(&flow("refund"), Some(9)).unwrap(), Some(row("refund", 9)));
    assert_eq!(reader.workflow(&flow("refund"), Some(3)).unwrap(), None);
    assert_eq!(reader.workflow(&flow("refun"), None).unwrap(), None);
    assert_eq!(reader.workflows().unwrap(), [row("a", 1), row("refund", top), row("refund-not", 3)]);
    let versions = [top, 10, 9, 2].map(|version| row("refund", version));
    assert_eq!(reader.workflow_versions(&flow("refund")).unwrap(), versions);
    assert_eq!(reader.workflow_versions(&flow("none")).unwrap(), []);
}

fn listed(reader: &mut dyn Reader, query: &RunQuery) -> Vec<u64> {
    let rows = reader.runs(query).expect("it lists");
    rows.iter().map(|row| Run::from_row(&row.values).expect("a run").id().sequence()).collect()
}

pub(super) fn runs_are_listed_by_every_filter(open: &mut Open<'_>) {
    let mut store = open();
    let mut scribe = Scribe::new();
    let keyed = |key: &str| Some(IdempotencyKey::parse(key).unwrap());
    let by = || super::scribe::actor("ada");
    scribe.start(run(1), RunSpec { tags: vec![tag("a"), tag("größe \"7\"")], ..plain_run("refund") });
    scribe.start(run(2), RunSpec { tags: vec![tag("ab")], idempotency_key: keyed("k"), ..plain_run("refund") });
    scribe.start(run(3), RunSpec { parent: Some(node(1, "each[0]", "sub")), idempotency_key: keyed("k"), ..plain_run("lint") });
    scribe.start(run(4), RunSpec { parent: Some(node(1, "", "sub")), ..plain_run("lint") });
    scribe.start(run(5), RunSpec { parent: Some(node(11, "", "sub")), ..plain_run("lint") });
    scribe.start(run(6), RunSpec { tags: vec![tag("a")], ..plain_run("refund") });
    scribe.start(run(7), plain_run("refund"));
    scribe.start(run(8), plain_run("refund"));
    let failure = Failure { code: "x".into(), message: String::new() };
    scribe.record(Owner::Run(run(2)), Record::RunDone { output: ValueAt::Null, closed: true });
    scribe.record(Owner::Run(run(3)), Record::RunFailed { failure, node: None, closed: false });
    scribe.record(Owner::Run(run(4)), Record::RunPaused { reason: String::new(), by: by(), told: true });
    scribe.record(Owner::Run(run(7)), Record::RunCancelled { reason: String::new(), by: by(), closed: true });
    // Being deleted, so not listed.
    scribe.record(Owner::Run(run(8)), Record::RunDone { output: ValueAt::Null, closed: true });
    scribe.record(Owner::Run(run(8)), Record::RunDeleting { by: by(), expired: false });
    store.commit(&scribe.batch()).unwrap();

    let all = || RunQuery { limit: 100, ..RunQuery::default() };
    let status = |status| RunQuery { status: Some(status), ..all() };
    let tagged = |text: &str| RunQuery { tag: Some(tag(text)), ..all() };
    let called = |id| RunQuery { parent: Some(run(id)), ..all() };
    let cases: &[(RunQuery, &[u64])] = &[
        (all(), &[7, 6, 5, 4, 3, 2, 1]),
        (RunQuery { workflow: Some(flow("refund")), ..all() }, &[7, 6, 2, 1]),
        (RunQuery { workflow: Some(flow("ref")), ..all() }, &[]),
        (status(RunStatus::Running), &[6, 5, 4, 1]),
        (status(RunStatus::Done), &[2]),
        (status(RunStatus::Failed), &[3]),
        (status(RunStatus::Cancelled), &[7]),
        (RunQuery { workflow: Some(flow("lint")), ..status(RunStatus::Running) }, &[5, 4]),
        (RunQuery { before: Some(run(5)), ..status(RunStatus::Running) }, &[4, 1]),
        (RunQuery { limit: 2, ..status(RunStatus::Running) }, &[6, 5]),
        (RunQuery { paused: Some(true), ..all() }, &[4]),
        (RunQuery { paused: Some(false), ..status(RunStatus::Running) }, &[6, 5, 1]),
        (RunQuery { paused: Some(true), ..status(RunStatus::Done) }, &[]),
        (tagged("a"), &[6, 1]),
        (tagged("b"), &[]),
        (tagged("größe \"7\""), &[1]),
        (called(1), &[4, 3]),
        (called(11), &[5]),
        (called(2), &[]),
        (RunQuery { called: Some(true), ..all() }, &[5, 4, 3]),
        (RunQuery { called: Some(false), ..all() }, &[7, 6, 2, 1]),
        (RunQuery { called: Some(false), ..status(RunStatus::Running) }, &[6, 1]),
        (RunQuery { idempotency_key: keyed("k"), ..all() }, &[3, 2]),
        (RunQuery { idempotency_key: keyed("k"), workflow: Some(flow("refund")), ..all() }, &[2]),
        (RunQuery { idempotency_key: keyed("K"), ..all() }, &[]),
        (RunQuery { before: Some(run(6)), ..tagged("a") }, &[1]),
        (RunQuery { oldest_first: true, ..all() }, &[1, 2, 3, 4, 5, 6, 7]),
        (RunQuery { oldest_first: true, after: Some(run(2)), before: Some(run(7)), limit: 3, ..all() }, &[3, 4, 5]),
        (RunQuery { oldest_first: true, after: Some(run(1)), ..status(RunStatus::Running) }, &[4, 5, 6]),
        (RunQuery { after: Some(run(4)), workflow: Some(flow("refund")), ..all() }, &[7, 6]),
        (RunQuery { oldest_first: true, after: Some(run(7)), ..all() }, &[]),
    ];
    let mut reader = store.reader().unwrap();
    for (query, expected) in cases {
        assert_eq!(listed(&mut *reader, query), *expected, "{query:?}");
    }
    assert_eq!(reader.run(run(8)).unwrap(), scribe.row(&Owner::Run(run(8))), "by its id it is found");
    assert_eq!(reader.run(run(9)).unwrap(), None);
}

pub(super) fn runs_are_listed_in_pages(open: &mut Open<'_>) {
    let (store, ..) = with_sample(open);
    let mut reader = store.reader().unwrap();
    let run_of = |row: &Row| Run::from_row(&row.values).unwrap();
    let newest_first: Vec<Row> = scanned(&*store, &RUNS).into_iter().rev().collect();
    for status in [None, Some(RunStatus::Running), Some(RunStatus::Failed)] {
        let fits = |row: &&Row| !run_of(row).is_deleting() && status.is_none_or(|status| run_of(row).status() == status);
        let expected: Vec<Row> = newest_first.iter().filter(fits).cloned().collect();
        assert!(!expected.is_empty());
        for limit in [1, 2, 5, 100] {
            let (mut pages, mut before) = (Vec::new(), None);
            loop {
                let page = reader.runs(&RunQuery { status, before, limit, ..RunQuery::default() }).unwrap();
                assert!(page.len() <= limit);
                let Some(last) = page.last() else { break };
                before = Some(run_of(last).id());
                pages.extend(page);
            }
            assert_eq!(pages, expected, "{status:?} by {limit}");
        }
    }
    assert_eq!(reader.runs(&RunQuery::default()).unwrap(), [], "a limit of 0");
    assert_eq!(reader.runs(&RunQuery { before: Some(run(0)), limit: 10, ..RunQuery::default() }).unwrap(), []);
}

pub(super) fn frames_and_nodes_are_listed_by_key(open: &mut Open<'_>) {
    let (store, scribe, _) = with_sample(open);
    let mut reader = store.reader().unwrap();
    let of = |table, id: u64| -> Vec<Row> {
        scanned(&*store, table).into_iter().filter(|row| row.key()[0] == run(id).number().into()).collect()
    };
    let frames = of(&FRAMES, 102);
    assert_eq!(frames.len(), 6);
    assert_eq!(reader.frames(run(102), 100).unwrap(), frames);
    assert_eq!(reader.frames(run(102), 2).unwrap(), frames[..2]);
    assert_eq!(reader.frames(run(100), 100).unwrap(), []);

    for id in [100, 102, 109] {
        let nodes = of(&NODES, id);
        assert_eq!(reader.nodes(&NodeQuery::of(run(id), 100)).unwrap(), nodes);
        for status in [None, Some("done"), Some("started"), Some("asking")] {
            let fits = |row: &&Row| status.is_none_or(|status| row.values[5] == Value::from(status));
            let expected: Vec<Row> = nodes.iter().filter(fits).cloned().collect();
            for limit in [1, 3, 100] {
                let mut query = NodeQuery { status: status.map(Into::into), ..NodeQuery::of(run(id), limit) };
                let mut pages = Vec::new();
                loop {
                    let page = reader.nodes(&query).unwrap();
                    assert!(page.len() <= limit);
                    let Some(last) = page.last() else { break };
                    let at = NodeRow::from_row(&last.values).unwrap().at;
                    query.after = Some((at.frame, at.node));
                    pages.extend(page);
                }
                assert_eq!(pages, expected, "{id} {status:?} by {limit}");
            }
        }
    }
    let names = |query: &NodeQuery, reader: &mut dyn Reader| -> Vec<String> {
        let rows = reader.nodes(query).unwrap();
        rows.iter().map(|row| NodeRow::from_row(&row.values).unwrap().at.show()).collect()
    };
    let framed = |text: &str| NodeQuery { frame: Some(path(text)), ..NodeQuery::of(run(102), 100) };
    assert_eq!(names(&framed(""), &mut *reader), ["run-36/rounds"]);
    assert_eq!(names(&framed("rounds[1]"), &mut *reader), ["run-36/rounds[1]/check"]);
    assert_eq!(names(&framed("rounds[9]"), &mut *reader), [""; 0]);
    let after = Some((path("rounds[1]"), NodeId::parse("check").unwrap()));
    assert_eq!(names(&NodeQuery { after: after.clone(), ..framed("rounds[1]") }, &mut *reader), [""; 0]);
    assert_eq!(names(&NodeQuery { after, ..NodeQuery::of(run(102), 1) }, &mut *reader), ["run-36/rounds[1].check[0]/lint"]);

    let at = node(102, "rounds[1]", "check");
    assert_eq!(reader.node(&at).unwrap(), scribe.row(&Owner::Node(at)));
    assert_eq!(reader.node(&node(102, "", "check")).unwrap(), None);
}

pub(super) fn approvals_are_listed_oldest_first(open: &mut Open<'_>) {
    let mut store = open();
    let mut scribe = Scribe::new();
    for (id, workflow) in [(1, "refund"), (2, "lint"), (3, "refund")] {
        scribe.start(run(id), plain_run(workflow));
    }
    let asked = [node(2, "", "ask"), node(1, "", "late"), node(1, "each[0]", "ask"), node(3, "", "ask"), node(1, "", "first")];
    for at in &asked {
        scribe.record(Owner::Node(at.clone()), Record::NodeStarted { at: Started::Asking { until: None } });
    }
    scribe.record(Owner::Node(node(1, "", "late")), Record::NodeCancelled {});
    let until = scribe.now();
    scribe.record(Owner::Node(node(3, "", "nap")), Record::NodeStarted { at: Started::Sleeping { until } });
    store.commit(&scribe.batch()).unwrap();
    let mut reader = store.reader().unwrap();
    let mut listed = |workflow: Option<&str>, after: Option<&NodeRow>, limit| -> Vec<NodeRow> {
        let after = after.map(|row| (row.slot.work().unwrap().0, row.at.clone()));
        let rows = reader.approvals(&ApprovalQuery { workflow: workflow.map(flow), after, limit }).unwrap();
        rows.iter().map(|row| NodeRow::from_row(&row.values).unwrap()).collect()
    };
    // Page by page it is the same.
    for workflow in [None, Some("refund")] {
        let all = listed(workflow, None, 100);
        for at in 0..all.len() {
            assert_eq!(listed(workflow, Some(&all[at]), 100), all[at + 1..]);
            assert_eq!(listed(workflow, Some(&all[at]), 1), all[at + 1..(at + 2).min(all.len())]);
        }
    }
    let mut shown = |workflow: Option<&str>, limit| -> Vec<String> {
        listed(workflow, None, limit).iter().map(|row| row.at.show()).collect()
    };
    assert_eq!(shown(None, 100), ["run-2/ask", "run-1/each[0]/ask", "run-3/ask", "run-1/first"]);
    assert_eq!(shown(None, 2), ["run-2/ask", "run-1/each[0]/ask"]);
    assert_eq!(shown(Some("refund"), 100), ["run-1/each[0]/ask", "run-3/ask", "run-1/first"]);
    assert_eq!(shown(Some("refund"), 1), ["run-1/each[0]/ask"]);
    assert_eq!(shown(Some("none"), 100), [""; 0]);
    assert_eq!(shown(None, 0), [""; 0]);
}

fn belongs(entry: &Entry, id: RunId, tasks: &[u64]) -> bool {
    match &entry.owner {
        Owner::Run(run) | Owner::Frame(run, _) => *run == id,
        Owner::Node(at) => at.run == id,
        Owner::Task(of) => tasks.iter().any(|id| task(*id) == *of),
        _ => false,
    }
}

pub(super) fn a_runs_history_is_all_its_chains(open: &mut Open<'_>) {
    let (mut store, mut scribe, mut entries) = with_sample(open);
    // A task goes on after its node has ended, and one that its node has left behind.
    scribe.lease(task(62));
    scribe.record(Owner::Task(task(61)), Record::TaskTimedOut {});
    let batch = scribe.batch();
    store.commit(&batch).unwrap();
    entries.extend(batch.entries);
    let mut reader = store.reader().unwrap();
    let whole: Vec<u64> = (60..=68).collect();
    for (id, tasks) in [(100, &whole[..5]), (102, &whole[5..]), (101, &[]), (106, &[73]), (109, &[]), (999, &[])] {
        for with_tasks in [false, true] {
            let mine = |entry: &&Entry| belongs(entry, run(id), if with_tasks { tasks } else { &[] });
            let gone = id == 109;
            let all: Vec<Entry> = entries.iter().filter(mine).filter(|_| !gone).cloned().collect();
            let mut afters: Vec<RecordSeq> = all.iter().map(|entry| entry.seq).collect();
            afters.extend([RecordSeq::NONE, RecordSeq(3), RecordSeq(999_999)]);
            for after in afters {
                let rest: Vec<Entry> = all.iter().filter(|entry| entry.seq > after).cloned().collect();
                for limit in [0, 1, 4, 1_000, usize::MAX] {
                    let found = reader.run_history(run(id), after, limit, with_tasks).unwrap();
                    assert_eq!(found, rest[..limit.min(rest.len())], "{id} after {after:?} limit {limit} {with_tasks}");
                }
            }
            assert!(all.iter().any(|entry| entry.payload.is_some()) || all.is_empty());
        }
    }
}

pub(super) fn a_runs_records_are_found_by_where_they_stand(open: &mut Open<'_>) {
    let (store, _, entries) = with_sample(open);
    let mut reader = store.reader().unwrap();
    let whole: Vec<u64> = (60..=68).collect();
    let bare = |entry: &Entry| Entry { payload: None, ..entry.clone() };
    for (id, tasks) in [(100, &whole[..5]), (102, &whole[5..]), (101, &[]), (106, &[73]), (109, &[]), (999, &[])] {
        let mine = entries.iter().filter(|entry| id != 109 && belongs(entry, run(id), tasks));
        let mine: Vec<Entry> = mine.map(bare).collect();
        let stamps = reader.run_stamps(run(id)).unwrap();
        let expected: Vec<Stamp> = mine.iter().map(|entry| Stamp { seq: entry.seq, at: entry.at }).collect();
        assert_eq!(stamps, expected, "{id}");
        let seqs: Vec<RecordSeq> = stamps.iter().map(|stamp| stamp.seq).collect();
        let found: Vec<Entry> = reader.entries(&seqs).unwrap().into_iter().map(Result::unwrap).collect();
        assert_eq!(found, mine, "{id}");
    }
    // Close together or far apart, and with some that are not there.
    let all: Vec<RecordSeq> = entries.iter().map(|entry| entry.seq).collect();
    let far = [all[0], all[all.len() / 2], *all.last().unwrap(), RecordSeq(999_999)];
    let close = [all[2], all[3], all[5]];
    for wanted in [&far[..], &close[..], &far[3..], &[]] {
        let found: Vec<Entry> = reader.entries(wanted).unwrap().into_iter().map(Result::unwrap).collect();
        let expected: Vec<Entry> = entries.iter().filter(|entry| wanted.contains(&entry.seq)).map(bare).collect();
        assert_eq!(found, expected, "{wanted:?}");
    }
}

pub(super) fn no_record_of_a_run_is_missed_while_commits_go_on(open: &mut Open<'_>) {
    let mut store = open();
    let mut scribe = Scribe::new();
    scribe.start(run(1), plain_run("lint"));
    store.commit(&scribe.batch()).unwrap();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let mut reader = store.reader().unwrap();
        let is_over = &is_over;
        let follower = scope.spawn(move || {
            let (mut seen, mut after) = (Vec::new(), RecordSeq::NONE);
            loop {
                let over = is_over.load(Ordering::Acquire);
                let page = reader.run_history(run(1), after, 50, true).unwrap();
                if over && page.is_empty() {
                    return seen;
                }
                after = page.last().map_or(after, |entry| entry.seq);
                seen.extend(page.into_iter().map(|entry| entry.seq));
            }
        });
        let mut written = vec![RecordSeq(1)];
        // In the end more than chains are walked for: the later pages come in the order of the records.
        for ids in (1..=750).collect::<Vec<u64>>().chunks(5) {
            for id in ids {
                // Of all four kinds in turn, so that a reader between two of its steps would see some without the others.
                scribe.record(Owner::Frame(run(1), path(&format!("each[{id}]"))), Record::FrameOpened { revision: 0 });
                scribe.work(&node(1, &format!("each[{id}]"), "lint"), task(*id));
                scribe.record(
                    Owner::Run(run(1)),
                    Record::RunPaused { reason: String::new(), by: super::scribe::actor("ada"), told: true },
                );
                // One that is not of the run.
                scribe.add(task(10_000 + id), TaskSpec { idle: true, ..super::scribe::plain("ci") });
            }
            let batch = scribe.batch();
            store.commit(&batch).unwrap();
            written.extend(batch.entries.iter().filter(|entry| belongs(entry, run(1), ids)).map(|entry| entry.seq));
        }
        is_over.store(true, Ordering::Release);
        assert_eq!(follower.join().unwrap(), written);
    });
}
