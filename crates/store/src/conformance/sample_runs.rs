//! The part of the sample that is about workflows and their runs.

use super::sample::tag;
use super::scribe::{Scribe, actor, bulk, flow, node, path, plain_run, run, task};
use crate::blobs::BlobId;
use kernel::bulk::{BulkWork, Refusal, RunVerb};
use kernel::frame::Cause;
use kernel::ids::{EventId, RecordSeq, RunId};
use kernel::ir::OnError;
use kernel::names::{EventName, IdempotencyKey, NodeId};
use kernel::node::{Awaiting, Started, Told, Went};
use kernel::priority::Priority;
use kernel::record::{CancelCause, Failure, Owner, Payload, Record};
use kernel::run::{NodeAt, Origin, RunSpec, ValueAt};
use kernel::watchdog::Standstill;

/// Batch by batch. Runs 100 to 104 and 111 are live, 105 to 107 have ended, 108 is being deleted, 109 is gone.
pub(super) const WRITES: [fn(&mut Scribe); 6] =
    [workflows, a_run_with_every_node, a_run_with_frames, runs_that_end, runs_that_go, a_bulk_over_runs];

fn a_bulk_over_runs(scribe: &mut Scribe) {
    let owner = || Owner::Bulk(bulk(45));
    let work = BulkWork::Runs { verb: RunVerb::Retry, filter: "status == 'failed'".into(), upto: run(109), per_s: Some(10) };
    scribe.record(owner(), Record::BulkStarted { work: Box::new(work), by: actor("ada"), reason: "a bad day".into() });
    let refused = vec![Refusal { run: run(103), why: "it runs".into() }];
    let resume_at = Some(scribe.now().plus_ms(1_000));
    scribe.record(owner(), Record::BulkRunsAdvanced { after: run(103), items: 2, skipped: 1, refused, resume_at });
}

fn workflows(scribe: &mut Scribe) {
    scribe.put("refund", 1, "workflow: refund\nversion: 1\n");
    scribe.put("refund", 2, "workflow: refund\nversion: 2 # \"größer\" \\ 'besser'\n");
    scribe.disable("refund", 1);
    scribe.enable("refund", 1);
    scribe.disable("refund", 2);
    scribe.put("lint", 1, "{\"workflow\":\"lint\"}");
}

fn failure(code: &str) -> Failure {
    Failure { code: code.into(), message: "wörse".into() }
}

fn note(scribe: &mut Scribe, at: &NodeAt, record: Record) {
    scribe.record(Owner::Node(at.clone()), record);
}

fn begin(scribe: &mut Scribe, at: &NodeAt, started: Started) {
    note(scribe, at, Record::NodeStarted { at: started });
}

fn payload(text: &str) -> Option<Payload> {
    Some(Payload(text.into()))
}

fn a_run_with_every_node(scribe: &mut Scribe) {
    let of = |name: &str| node(100, "", name);
    let full = RunSpec {
        version: 2,
        priority: Some(Priority::HIGH),
        tags: vec![tag("vip"), tag("größe \"7\"")],
        idempotency_key: Some(IdempotencyKey::parse("order/7").expect("a good key")),
        deadline: Some(scribe.now().plus_ms(3_600_000)),
        asked_ms: Some(3_600_000),
        ..plain_run("refund")
    };
    scribe.start(run(100), full);
    scribe.worked(&of("classify"), task(60));
    note(scribe, &of("route"), Record::NodeDone { output: Told::Passed, went: Went::Rule(1) });
    note(scribe, &of("tidy"), Record::NodeSkipped { cause: Cause::Untaken });
    let until = scribe.now().plus_ms(60_000);
    let asks = Record::NodeStarted { at: Started::Asking { until: Some(until) } };
    scribe.record_with(Owner::Node(of("ask")), asks, payload("\"Refund?\""));
    begin(scribe, &of("nap"), Started::Sleeping { until });
    let awaits = |key: Option<(&str, &str)>, until, looking| {
        let key = key.map(|(of, value)| (of.into(), value.into()));
        let event = EventName::parse("billing/paid").expect("a good name");
        Started::Awaiting(Box::new(Awaiting { event, key, until, after: EventId::new(100, 0), looking }))
    };
    begin(scribe, &of("paid"), awaits(Some(("event.data.order", "\"größe 7\"")), Some(until), true));
    note(scribe, &of("paid"), Record::NodeLooked {});
    begin(scribe, &of("any"), awaits(None, None, true));
    begin(scribe, &of("heard"), awaits(None, None, false));
    note(scribe, &of("heard"), Record::NodeDone { output: Told::Own, went: Went::Heard(EventId::new(50, 0)) });
    scribe.work(&of("hold"), task(61));
    scribe.lease(task(61));
    // Tried three times; its run is paused during the second, which is then cancelled, and the third fails.
    for id in [62, 63, 64] {
        scribe.work(&of("pay"), task(id));
        if id == 63 {
            scribe.record(Owner::Run(run(100)), Record::RunPaused { reason: "night".into(), by: actor("ada"), told: false });
            scribe.record(Owner::Task(task(61)), Record::TaskHeld { pause: 1 });
            scribe.record(Owner::Task(task(62)), Record::TaskHeld { pause: 1 });
            scribe.record(Owner::Task(task(id)), Record::TaskHeld { pause: 1 });
            scribe.record(Owner::Run(run(100)), Record::RunTold {});
            scribe.record(Owner::Run(run(100)), Record::RunResumed { by: actor("ada"), told: false });
            scribe.record(Owner::Task(task(62)), Record::TaskLetGo { pause: 1 });
            let (cause, reason) = (CancelCause::Asked, "not needed".into());
            scribe.record(Owner::Task(task(id)), Record::TaskCancelled { cause, by: actor("ada"), reason, digest: None });
        }
        if id != 64 {
            note(scribe, &of("pay"), Record::NodeCancelled {});
            note(scribe, &of("pay"), Record::NodeReopened { by: actor("ada"), only: false });
        }
    }
    scribe.failed(task(64), "http_503");
    note(scribe, &of("pay"), Record::NodeFailed { failure: failure("http_503"), then: OnError::Ignore });
    begin(scribe, &of("sub"), Started::Calling { run: run(101), again: 0 });
    let parent = Some(of("sub"));
    scribe.start(run(101), RunSpec { parent, depth: 1, ..plain_run("lint") });
    scribe.record(Owner::Run(run(101)), Record::RunHeld { pause: 2, told: true });
    scribe.record(Owner::Run(run(101)), Record::RunLetGo { pause: 2, told: true });
    scribe.record(Owner::Run(run(101)), Record::RunHeld { pause: 3, told: true });
    begin(scribe, &node(101, "", "ask"), Started::Asking { until: None });
    scribe.start(RunId::new(7, 5), plain_run("lint"));
    scribe.record(Owner::Run(RunId::new(7, 5)), Record::RunPaused { reason: "\"quoted\"".into(), by: actor("ada"), told: true });
}

fn a_run_with_frames(scribe: &mut Scribe) {
    scribe.start(run(102), RunSpec { tags: vec![tag("vip")], ..plain_run("lint") });
    let rounds = node(102, "", "rounds");
    let turning = Record::NodeStarted { at: Started::Turning { init: ValueAt::Own, kept: 0, generation: 0 } };
    scribe.record_with(Owner::Node(rounds), turning, payload("[1,2]"));
    let frame = |text: &str| Owner::Frame(run(102), path(text));
    let open = |scribe: &mut Scribe, text: &str| scribe.record(frame(text), Record::FrameOpened { revision: 0 });
    open(scribe, "rounds[0]");
    let still = Record::NodeDone { output: Told::Own, went: Went::Default };
    scribe.record_with(Owner::Node(node(102, "rounds[0]", "still")), still, payload("[2]"));
    scribe.record_with(frame("rounds[0]"), Record::FrameDone { output: ValueAt::Own }, payload("[2]"));
    let items = open(scribe, "rounds[1]");
    let check = node(102, "rounds[1]", "check");
    begin(scribe, &check, Started::Spreading { items: ValueAt::Record(items), count: 4, again: false, generation: 0 });
    for item in 0..4 {
        let text = format!("rounds[1].check[{item}]");
        open(scribe, &text);
        scribe.work(&node(102, &text, "lint"), task(65 + item));
    }
    let done = Record::NodeDone { output: Told::At(ValueAt::Item(items, 3)), went: Went::Max };
    note(scribe, &node(102, "rounds[1].check[0]", "lint"), done);
    scribe.record(frame("rounds[1].check[0]"), Record::FrameDone { output: ValueAt::Item(items, 0) });
    note(scribe, &node(102, "rounds[1].check[1]", "lint"), Record::NodeFailed { failure: failure("x"), then: OnError::Fail });
    scribe.record(frame("rounds[1].check[1]"), Record::FrameFailed { failure: failure("x") });
    note(scribe, &node(102, "rounds[1].check[2]", "lint"), Record::NodeCancelled {});
    scribe.record(frame("rounds[1].check[2]"), Record::FrameDropped {});
    scribe.record(frame("rounds[1].check[3]"), Record::FrameDropped {});
    scribe.record(frame("rounds[1].check[3]"), Record::FrameReopened { revision: 0 });
    // Patched, restarted, and told what one of its nodes gives.
    let (by, description) = (actor("ada"), "lint more".into());
    let at = node(102, "rounds[1].check[3]", "lint");
    let patched =
        Record::RunPatched { revision: 1, description, node: Some(at), only: None, deadline: None, by: by.clone(), more: true };
    scribe.record_with(Owner::Run(run(102)), patched, payload("{\"text\":\"{}\",\"operations\":[]}"));
    scribe.record(frame("rounds[1]"), Record::FramePatched { revision: 1 });
    scribe.record(Owner::Run(run(102)), Record::RunFollowed {});
    let at = node(102, "rounds[1].check[0]", "lint");
    let (generation, reason) = (1, "wrong file".into());
    let restarted = Record::RunRestarted { node: at.clone(), generation, deadline: None, reason, by: by.clone(), anew: false };
    scribe.record(Owner::Run(run(102)), restarted);
    note(scribe, &node(102, "", "rounds"), Record::NodeRewound { turns: 2, generation });
    note(scribe, &at, Record::NodeReset {});
    scribe.record(frame("rounds[1].check[0]"), Record::FrameReset {});
    let set = Record::NodeSet { reason: "by hand".into(), by };
    scribe.record_with(Owner::Node(node(102, "rounds[1].check[2]", "lint")), set, payload("{}"));
}

fn runs_that_end(scribe: &mut Scribe) {
    let end = |scribe: &mut Scribe, id, record| scribe.record(Owner::Run(run(id)), record);
    let fail = |closed| Record::RunFailed { failure: failure("node_failed"), node: Some(node(103, "", "fix")), closed };
    for id in 103..=107 {
        scribe.start(run(id), plain_run("lint"));
        scribe.work(&node(id, "", "fix"), task(id - 33));
    }
    // Ended, with frames to close.
    end(scribe, 103, fail(false));
    // Failed, and on its way again.
    note(scribe, &node(104, "", "fix"), Record::NodeFailed { failure: failure("exit_1"), then: OnError::Fail });
    end(scribe, 104, fail(true));
    end(
        scribe,
        104,
        Record::RunReopened {
            deadline: Some(scribe.now().plus_ms(5)),
            again: 1,
            reason: "the bank answers".into(),
            by: actor("bob"),
            anew: true,
        },
    );
    note(scribe, &node(104, "", "fix"), Record::NodeReopened { by: actor("bob"), only: false });

    let named = Went::Named(NodeId::parse("x").expect("a good name"));
    note(scribe, &node(105, "", "fix"), Record::NodeDone { output: Told::Own, went: named });
    let done = Record::RunDone { output: ValueAt::Own, closed: false };
    // Too large for a record.
    let blob = Payload::blob(&BlobId::of(b"[]").to_string());
    scribe.record_with(Owner::Run(run(105)), done, Some(blob));
    end(scribe, 105, Record::RunClosed {});
    note(scribe, &node(106, "", "fix"), Record::NodeFailed { failure: failure("exit_1"), then: OnError::To });
    note(scribe, &node(106, "", "late"), Record::NodeSkipped { cause: Cause::Failed });
    end(scribe, 106, fail(true));
    note(scribe, &node(107, "", "fix"), Record::NodeCancelled {});
    end(scribe, 107, Record::RunCancelled { reason: "too \"late\"".into(), by: actor("ada"), closed: true });
}

fn runs_that_go(scribe: &mut Scribe) {
    scribe.record(Owner::Shard, Record::RunsExpired { runs: vec![run(108), run(109)] });
    let reason = Standstill::TickHung;
    scribe.record(Owner::Shard, Record::WatchdogTripped { reason });
    scribe.record(Owner::Shard, Record::WatchdogRecovered { reason, lasted_ms: 31_000 });
    scribe.record(Owner::Shard, Record::WaitsBehind { after: EventId::new(7, 0) });
    scribe.record(Owner::Shard, Record::WaitsCaughtUp {});
    scribe.record(Owner::Shard, Record::WaitsBehind { after: EventId::new(9, 0) });
    let reject = Record::NodeDone { output: Told::At(ValueAt::Null), went: Went::Reject };
    for id in [108, 109] {
        scribe.start(run(id), plain_run("lint"));
        if id == 108 {
            note(scribe, &node(id, "", "ask"), reject.clone());
            scribe.record(Owner::Frame(run(id), path("rounds[0]")), Record::FrameOpened { revision: 0 });
        }
        scribe.record(Owner::Run(run(id)), Record::RunDone { output: ValueAt::Null, closed: true });
        scribe.record(Owner::Run(run(id)), Record::RunDeleting { by: actor("ada"), expired: id == 108 });
    }
    scribe.record(Owner::Run(run(109)), Record::RunDeleted { workflow: flow("lint"), by: actor("ada") });
    let origin = Some(Box::new(Origin { run: run(100), record: RecordSeq(9), node: Some(node(100, "", "pay")), since: None }));
    scribe.start(run(111), RunSpec { version: 2, origin, ..plain_run("refund") });
    let timeout = Record::NodeDone { output: Told::At(ValueAt::Null), went: Went::Timeout };
    note(scribe, &node(111, "", "ask"), timeout);
}
