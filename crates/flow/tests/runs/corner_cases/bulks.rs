//! Bulks over runs, chunk by chunk: what is done to each, what is left, where it is, and what a restart changes: nothing.

use crate::house::{self, Desk, actor};
use crate::properties::compiled;
use kernel::bulk::{Bulk, BulkWork, Meant, Refusal, RunVerb};
use kernel::command::{Command, NewRevision, Reply};
use kernel::ids::{BulkId, RunId};
use kernel::limits::{BULK_FILTER_BYTES_MAX, BULK_PATCH_BYTES_MAX, BULK_REFUSALS_MAX, BULK_RUNS_MAX};
use kernel::record::Payload;
use kernel::time::Time;
use serde_json::{Value as Json, json};

fn desk() -> Desk {
    let chain = json!({"workflow": "w", "version": 1, "limits": {"stall": "300d"},
        "nodes": {"a": {"type": "x"}, "b": {"type": "x", "after": "a"}}});
    let caller = json!({"workflow": "c", "version": 1, "limits": {"stall": "300d"},
        "nodes": {"call": {"type": "workflow", "run": "w"}}});
    let named = [("w".to_owned(), chain), ("c".to_owned(), caller)];
    Desk::new(&compiled(&named.into_iter().collect()), |_| false)
}

/// So many runs that failed at their first node.
fn failed(desk: &mut Desk, many: usize) -> Vec<RunId> {
    let runs: Vec<RunId> = (0..many).map(|_| desk.start("w", &json!(null), None)).collect();
    for grant in desk.lease(many) {
        desk.fail(&grant, false);
    }
    desk.settle(None);
    runs
}

fn work(verb: RunVerb, per_s: Option<u32>) -> BulkWork {
    BulkWork::Runs { verb, filter: "true".into(), upto: RunId::MAX, per_s }
}

fn begin(desk: &mut Desk, work: BulkWork) -> BulkId {
    let reply = desk.ask(Command::StartBulk { work, by: actor(), reason: "a bad day".into() });
    let Reply::Bulk(bulk) = reply else { panic!("{reply:?} is no bulk") };
    bulk
}

fn command(bulk: BulkId, from: Option<RunId>, runs: &[RunId], done: bool) -> Command {
    Command::AdvanceBulk { bulk, from, runs: runs.iter().copied().map(Meant::Run).collect(), done }
}

fn bulk(desk: &Desk, bulk: BulkId) -> Bulk {
    desk.shard.state.bulk(bulk).expect("it is under way").clone()
}

fn counted(bulk: &Bulk) -> (u64, u64, Option<RunId>) {
    (bulk.items(), bulk.skipped(), bulk.after_run())
}

#[test]
fn each_run_is_changed_once_and_a_restart_changes_nothing() {
    for restarts in [false, true] {
        let mut desk = desk();
        let runs = failed(&mut desk, 5);
        let id = begin(&mut desk, work(RunVerb::Retry, None));
        let BulkWork::Runs { upto, .. } = bulk(&desk, id).work().clone() else { panic!("over runs") };
        assert!(runs[4] < upto && upto < desk.start("w", &json!(null), None), "what comes later is not meant");
        assert_eq!(desk.ask(command(id, None, &runs[..2], false)), Reply::Items { changed: 2, skipped: 0 });
        if restarts {
            desk.restart();
        }
        assert_eq!(counted(&bulk(&desk, id)), (2, 0, Some(runs[1])));
        // What was found from where it is no more is not done a second time.
        let no = desk.try_to(command(id, None, &runs[..2], false)).expect_err("it has moved on");
        assert_eq!(no.to_string(), format!("{id} has moved on"));
        assert_eq!(desk.ask(command(id, Some(runs[1]), &runs[2..], true)), Reply::Items { changed: 3, skipped: 0 });
        assert_eq!(desk.owners("run_reopened"), runs.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(desk.owners("bulk_finished"), [id.to_string()]);
        assert_eq!(desk.lease(99).len(), 5 + 1, "they go on, beside the one that came later");
        let no = desk.try_to(command(id, Some(runs[4]), &[], true)).expect_err("it is over");
        assert!(["bulk_not_found", "bulk_closed"].contains(&no.code()), "{no}");
    }
}

#[test]
fn what_refuses_is_left_and_told() {
    let mut desk = desk();
    let runs = failed(&mut desk, 2);
    let running = desk.start("w", &json!(null), None);
    let caller = desk.start("c", &json!(null), None);
    let called = RunId::parse(desk.owners("run_started").last().expect("one")).expect("a run");
    let nobody = RunId::new(9_999, 0);
    let id = begin(&mut desk, work(RunVerb::Retry, None));
    let unclear = Refusal { run: caller, why: "the filter gives no answer".into() };
    let mut meant: Vec<Meant> = [runs[0], running].into_iter().map(Meant::Run).collect();
    meant.extend([Meant::Left(unclear), Meant::Run(called), Meant::Run(nobody)]);
    let reply = desk.ask(Command::AdvanceBulk { bulk: id, from: None, runs: meant, done: false });
    assert_eq!(reply, Reply::Items { changed: 1, skipped: 4 });
    let told: Vec<String> = bulk(&desk, id).refused().iter().map(|one| format!("{}: {}", one.run, one.why)).collect();
    let expected = [
        format!("{running}: {running} is running"),
        format!("{caller}: the filter gives no answer"),
        format!("{called}: {called} is running"),
        format!("{nobody}: there is no {nobody}"),
    ];
    assert!(told.iter().zip(&expected).all(|(told, expected)| told.starts_with(expected.as_str())), "{told:#?}");
    assert_eq!(told.len(), 4);
    // The first are kept; the rest is counted.
    for round in 0..5 {
        let from = bulk(&desk, id).after_run();
        desk.ask(command(id, from, &[running, nobody, running], false));
        assert_eq!(bulk(&desk, id).skipped(), 4 + 3 * (round + 1));
    }
    assert_eq!(bulk(&desk, id).refused().len(), BULK_REFUSALS_MAX);
    desk.restart();
    assert_eq!(bulk(&desk, id).refused().len(), BULK_REFUSALS_MAX);
}

#[test]
fn every_verb_does_what_it_does_to_one_run() {
    let mut desk = desk();
    let runs: Vec<RunId> = (0..3).map(|_| desk.start("w", &json!(null), None)).collect();
    let all = |desk: &mut Desk, verb| {
        let id = begin(desk, work(verb, None));
        let reply = desk.ask(command(id, None, &runs, false));
        (reply, bulk(desk, id))
    };
    let (reply, _) = all(&mut desk, RunVerb::Pause);
    assert_eq!(reply, Reply::Items { changed: 3, skipped: 0 });
    let (reply, again) = all(&mut desk, RunVerb::Pause);
    assert_eq!(reply, Reply::Items { changed: 0, skipped: 3 });
    assert_eq!(again.refused()[0].why, "it was paused already");
    assert_eq!(desk.lease(9), []);
    let (reply, _) = all(&mut desk, RunVerb::Resume);
    assert_eq!(reply, Reply::Items { changed: 3, skipped: 0 });
    let (reply, again) = all(&mut desk, RunVerb::Resume);
    assert_eq!(reply, Reply::Items { changed: 0, skipped: 3 });
    assert_eq!(again.refused()[0].why, "it was not paused");
    let (reply, _) = all(&mut desk, RunVerb::Cancel);
    assert_eq!(reply, Reply::Items { changed: 3, skipped: 0 });
    assert_eq!(desk.lease(9), []);
    assert_eq!(desk.owners("run_cancelled").len(), 3);
    let why = desk.entries.iter().rev().find_map(|entry| match &entry.record {
        kernel::record::Record::RunCancelled { reason, .. } => Some(reason.clone()),
        _ => None,
    });
    assert_eq!(why.as_deref(), Some("a bad day"));
    desk.settle(None);
    let (reply, _) = all(&mut desk, RunVerb::Retry);
    assert_eq!(reply, Reply::Items { changed: 3, skipped: 0 });
    assert_eq!(desk.lease(9).len(), 3);
}

/// A text of `w` in which `b` is another.
fn revised(base: u32, b: &Json) -> Box<NewRevision> {
    let text = json!({"workflow": "w", "version": 1, "limits": {"stall": "300d"},
        "nodes": {"a": {"type": "x"}, "b": b}});
    let payload = Payload(json!({"text": text.to_string(), "operations": []}).to_string().into());
    let ir = house::revised(1, &payload);
    Box::new(NewRevision { base, ir, payload, description: "not told".into(), alone: false })
}

#[test]
fn each_run_is_patched_with_the_text_that_comes_with_it() {
    for restarts in [false, true] {
        let mut desk = desk();
        let runs: Vec<RunId> = (0..6).map(|_| desk.start("w", &json!(null), None)).collect();
        let id = begin(&mut desk, work(RunVerb::Patch { change: "{}".into() }, None));
        let later = json!({"type": "x", "after": "a", "timeout": "9s"});
        let with = |run: RunId, base| Meant::Revised(run, revised(base, &later));
        // One that was cancelled takes it, too; then two for which there is no text, and one whose text was changed meanwhile.
        desk.ask(Command::PatchRun { run: runs[4], new: revised(0, &later), node: None, dry: false, by: actor() });
        desk.cancel(runs[1]);
        let left = Refusal { run: runs[2], why: "no text fits".into() };
        let meant = vec![with(runs[0], 0), with(runs[1], 0), Meant::Left(left), Meant::Run(runs[3]), with(runs[4], 0)];
        let rest = vec![with(runs[4], 1), with(runs[5], 0)];
        let reply = desk.ask(Command::AdvanceBulk { bulk: id, from: None, runs: meant, done: true });
        assert_eq!(reply, Reply::Items { changed: 2, skipped: 2 }, "it stops before the one whose text is another by now");
        let at = bulk(&desk, id);
        assert_eq!((at.after_run(), at.status()), (Some(runs[3]), kernel::bulk::BulkStatus::Open));
        let told: Vec<&str> = at.refused().iter().map(|one| one.why.as_str()).collect();
        assert!(told.contains(&"no text fits") && told.contains(&"there is no text for it"), "{told:?}");
        if restarts {
            desk.restart();
        }
        // Nothing is done while the first of a chunk is for another text, however often it is asked.
        for _ in 0..2 {
            let stale = vec![with(runs[4], 0), with(runs[5], 0)];
            let reply = desk.ask(Command::AdvanceBulk { bulk: id, from: Some(runs[3]), runs: stale, done: true });
            assert_eq!(reply, Reply::Items { changed: 0, skipped: 0 });
            assert_eq!(bulk(&desk, id).after_run(), Some(runs[3]));
        }
        let reply = desk.ask(Command::AdvanceBulk { bulk: id, from: Some(runs[3]), runs: rest, done: true });
        assert_eq!(reply, Reply::Items { changed: 2, skipped: 0 });
        // The first was somebody else's.
        let patched = [4, 0, 1, 4, 5].map(|index: usize| runs[index].to_string());
        assert_eq!(desk.owners("run_patched"), patched);
        let described = desk.entries.iter().filter_map(|entry| match &entry.record {
            kernel::record::Record::RunPatched { description, .. } => Some(description.as_str()),
            _ => None,
        });
        assert_eq!(described.filter(|text| *text == "a bad day").count(), 4, "why is the bulk's to say");
        assert_eq!(desk.owners("bulk_finished"), [id.to_string()]);
    }
}

#[test]
fn a_bulk_over_runs_keeps_to_its_pace_and_to_its_chunk() {
    let mut desk = desk();
    let runs = failed(&mut desk, BULK_RUNS_MAX + 5);
    let id = begin(&mut desk, work(RunVerb::Retry, Some(20)));
    assert_eq!(bulk(&desk, id).allowance(), 2);
    assert_eq!(
        desk.ask(command(id, None, &runs[..4], true)),
        Reply::Items { changed: 2, skipped: 0 },
        "a tenth of a second's worth"
    );
    let now = desk.now;
    assert_eq!(bulk(&desk, id).resume_at(), Some(now.plus_ms(100)));
    let no = desk.try_to(command(id, Some(runs[1]), &runs[2..4], false)).expect_err("it rests");
    assert_eq!(no.to_string(), format!("{id} rests, to keep its rate"));
    // It does not go on by itself, and nobody is woken for it.
    assert!(desk.shard.state.bulk_due(Time::from_ms(i64::MAX / 2_000)).is_none());
    assert!(desk.shard.state.next_due(now).is_none_or(|due| due > now.plus_ms(1_000)));
    desk.now = now.plus_ms(100);
    assert_eq!(desk.ask(command(id, Some(runs[1]), &runs[2..3], false)), Reply::Items { changed: 1, skipped: 0 });
    let id = begin(&mut desk, work(RunVerb::Cancel, None));
    let reply = desk.ask(command(id, None, &runs, true));
    let Reply::Items { changed, skipped } = reply else { panic!("{reply:?}") };
    assert_eq!(changed + skipped, runs.len(), "what is passed over costs nothing");
    let many = begin(&mut desk, work(RunVerb::Retry, None));
    desk.settle(None);
    assert_eq!(desk.ask(command(many, None, &runs, true)), Reply::Items { changed: BULK_RUNS_MAX, skipped: 0 });
    assert_eq!(counted(&bulk(&desk, many)), (BULK_RUNS_MAX as u64, 0, Some(runs[BULK_RUNS_MAX - 1])), "and goes on behind it");
}

#[test]
fn a_bulk_over_runs_that_makes_no_sense_is_refused() {
    let mut desk = desk();
    let mut refused = |work: BulkWork| {
        let no = desk.try_to(Command::StartBulk { work, by: actor(), reason: String::new() });
        no.expect_err("it is refused").to_string()
    };
    assert_eq!(refused(work(RunVerb::Cancel, Some(0))), "0 runs a second would never end");
    let long =
        BulkWork::Runs { verb: RunVerb::Cancel, filter: "x".repeat(BULK_FILTER_BYTES_MAX + 1), upto: RunId::MAX, per_s: None };
    assert_eq!(refused(long), "the filter has 4097 bytes; there may be 4096");
    let change = "x".repeat(BULK_PATCH_BYTES_MAX + 1);
    assert_eq!(refused(work(RunVerb::Patch { change }, None)), "the patch has 65537 bytes; one of many runs may have 65536");
    let id = begin(&mut desk, work(RunVerb::Cancel, None));
    desk.ask(Command::CancelBulk { bulk: id, by: actor() });
    let no = desk.try_to(command(id, None, &[], true)).expect_err("it was cancelled");
    assert!(["bulk_not_found", "bulk_closed"].contains(&no.code()), "{no}");
}
