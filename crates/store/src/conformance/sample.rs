//! A history with every kind of record in it, that ends with every kind of row: what stores, `verify` and migrations
//! are tried on.

use super::scribe::{Scribe, actor, bulk, plain, queue, task};
use crate::store::Batch;
use kernel::bulk::{BulkWork, TaskFilter};
use kernel::ids::TaskId;
use kernel::names::{IdempotencyKey, KeyName, KeyValue, Pattern, Tag, TypeName, WorkerName};
use kernel::priority::Priority;
use kernel::queue::{BoostOn, Fairness, KeyLimit, QueueConfig};
use kernel::rate::Rate;
use kernel::record::{CancelCause, Failure, KeyRef, Owner, Record, ReleaseCause, TaskSpec};
use kernel::retry::RetryPolicy;
use kernel::time::Time;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The batches of the history, and the scribe that knows every row as it must be after the last of them.
pub fn sample() -> (Scribe, Vec<Batch>) {
    let mut scribe = Scribe::new();
    let mut batches = Vec::new();
    let spine = [shard, queues, keys, waiting_tasks, running_tasks, finished_tasks, bulks];
    for write in spine.into_iter().chain(super::sample_runs::WRITES).chain(super::sample_events::WRITES) {
        write(&mut scribe);
        batches.push(scribe.batch());
    }
    (scribe, batches)
}

fn shard(scribe: &mut Scribe) {
    scribe.record(Owner::Shard, Record::IdsReserved { ids: 1_025, records: 65_537 });
    scribe.record(Owner::Shard, Record::IdsReserved { ids: 2_049, records: 131_073 });
}

pub fn key(name: &str, value: &str) -> (KeyName, KeyValue) {
    (KeyName::parse(name).expect("a good name"), KeyValue::parse(value).expect("a good value"))
}

pub fn tag(text: &str) -> Tag {
    Tag::parse(text).expect("a good tag")
}

fn queues(scribe: &mut Scribe) {
    let by = actor("ada");
    let rate = Some(Rate { count: 10, per_ms: 1_000, burst: 3 });
    let weights = BTreeMap::from([(key("tenant", "acme").1, 5)]);
    let config = QueueConfig {
        concurrency: Some(8),
        rate,
        keys: BTreeMap::from([(key("tenant", "x").0, KeyLimit { concurrency: Some(2), rate })]),
        fairness: Some(Fairness { key: key("tenant", "x").0, step_ms: 1_000, weights }),
        backlog_max: Some(1_000),
        require_tag: Some(tag("go")),
        ..QueueConfig::default()
    };
    let ci = Owner::Queue(queue("ci"));
    scribe.record(ci.clone(), Record::QueueConfigured { config: Arc::new(config), by: by.clone() });
    let boost = |key, boost| Record::QueueBoosted { on: BoostOn { key }, boost, by: actor("ada") };
    scribe.record(ci.clone(), boost(None, Priority::HIGH));
    scribe.record(ci.clone(), boost(Some(key("tenant", "acme")), Priority::CRITICAL));
    scribe.record(ci, boost(None, Priority::NORMAL));

    let mail = Owner::Queue(queue("mail"));
    let until = Some(scribe.now().plus_ms(60_000));
    scribe.record(mail.clone(), Record::QueuePaused { until, reason: "flood".into(), by: by.clone() });
    scribe.record(mail, Record::QueueResumed { by: by.clone(), expired: true });
    let held = Owner::Queue(queue("held"));
    scribe.record(held, Record::QueuePaused { until, reason: "\"quoted\" & größer".into(), by });
}

fn keys(scribe: &mut Scribe) {
    let taken = |scribe: &Scribe| Record::PermitTaken { arrival: scribe.now().plus_ms(100) };
    let total = Owner::Key(KeyRef::new(queue("ci"), None));
    let of = |value: &str| Owner::Key(KeyRef::new(queue("ci"), Some(key("tenant", value))));
    for owner in [&total, &total, &of("acme"), &of("Müller & Söhne"), &of("a=b|c"), &of("gone"), &of("back")] {
        scribe.record(owner.clone(), taken(scribe));
    }
    scribe.record(of("gone"), Record::PermitsForgotten {});
    scribe.record(of("back"), Record::PermitsForgotten {});
    // A key that was forgotten begins a new chain.
    scribe.record(of("back"), taken(scribe));
}

fn waiting_tasks(scribe: &mut Scribe) {
    let by = || actor("ada");
    let at = scribe.now();
    let idle = TaskSpec { idle: true, scheduled_for: Some(at.plus_ms(5_000)), ..plain("ci") };
    scribe.add(task(1), TaskSpec { blocked_by: vec![task(2)], ..idle.clone() });
    scribe.record(Owner::Task(task(1)), Record::TaskReprioritized { priority: Priority::HIGH, by: by() });
    scribe.add(task(2), plain("ci"));

    let full = TaskSpec {
        priority: Priority::CRITICAL,
        keys: vec![key("region", "eu"), key("tenant", "acme")],
        tags: vec![tag("go"), tag("größe \"7\"")],
        blocked_by: vec![task(1), task(2), TaskId::new(3, 5)],
        scheduled_for: Some(at.plus_ms(9_000)),
        idempotency_key: Some(IdempotencyKey::parse("order/7").expect("a good key")),
        retry: Some(RetryPolicy::default()),
        budget_ms: Some(5_000),
        ..plain("ci")
    };
    scribe.add(task(3), full);
    scribe.record(Owner::Task(task(3)), Record::TaskUnblocked { blocker: task(2) });
    scribe.record(Owner::Task(task(3)), Record::TaskBlockersChanged { blocked_by: vec![task(1)], deleted: TaskId::new(3, 5) });

    scribe.add(task(4), plain("mail"));
    scribe.record(Owner::Task(task(4)), Record::TaskRunNow { by: by() });
    scribe.add(task(5), TaskSpec { scheduled_for: Some(at.plus_ms(70_000)), ..plain("mail") });
    scribe.record(Owner::Task(task(5)), Record::TaskExpedited { bulk: bulk(40) });
    scribe.add(task(6), idle);
    let queued = Record::TaskQueued { ready_at: scribe.now(), run_now: false, by: by(), bulk: None };
    scribe.record(Owner::Task(task(6)), queued);

    scribe.add(TaskId::new(7, 5), plain("mail"));
    scribe.add(task(8), plain("mail"));
    scribe.lease(task(8));
    scribe.record(Owner::Task(task(8)), Record::TaskReleased { cause: ReleaseCause::Undelivered });
    scribe.add(task(9), plain("mail"));
    scribe.lease(task(9));
    let failure = Failure { code: "http_503".into(), message: "wörse".into() };
    let retried = Record::TaskRetried { failure, retry_at: scribe.now().plus_ms(1_000), digest: u64::MAX };
    scribe.record(Owner::Task(task(9)), retried);
}

fn running_tasks(scribe: &mut Scribe) {
    for id in 10..=12 {
        scribe.add(task(id), TaskSpec { keys: vec![key("tenant", "acme")], ..plain("ci") });
        scribe.lease(task(id));
    }
    let cancel = Record::TaskCancelRequested { by: actor("ada"), reason: "too late".into() };
    scribe.record(Owner::Task(task(11)), cancel);
    scribe.record(Owner::Task(task(12)), Record::TaskTimedOut {});
    scribe.add(task(13), TaskSpec { idle: true, ..plain("ci") });
    let (worker, budget_until) = (WorkerName::parse("w2").expect("a good name"), Time::from_us(i64::MAX));
    let run_now = Record::TaskLeased { worker, attempt: 1, heartbeat_ms: 1_000, budget_until, run_now: true };
    scribe.record(Owner::Task(task(13)), run_now);
}

fn finished_tasks(scribe: &mut Scribe) {
    let by = || actor("ada");
    for id in 20..=28 {
        let kind = TypeName::parse(if id % 2 == 0 { "lint" } else { "test" }).expect("a good name");
        scribe.add(task(id), TaskSpec { kind, tags: vec![tag("go")], ..plain("ci") });
    }
    scribe.done(task(20), r#"{"errors":[]}"#);
    scribe.failed(task(21), "http_503");
    let cancelled = |cause, digest| Record::TaskCancelled { cause, by: actor("ada"), reason: "cleared".into(), digest };
    scribe.record(Owner::Task(task(22)), cancelled(CancelCause::Cleared, None));
    scribe.lease(task(23));
    scribe.record(Owner::Task(task(23)), cancelled(CancelCause::Asked, Some(9)));
    scribe.done(task(24), "null");
    scribe.record(Owner::Task(task(24)), Record::TaskReset { by: by() });
    scribe.record(Owner::Task(task(25)), Record::TaskDeleted { queue: queue("ci"), by: by() });
    scribe.failed(task(26), "exit_1");
    let redriven = Record::TaskQueued { ready_at: scribe.now(), run_now: true, by: by(), bulk: Some(bulk(43)) };
    scribe.record(Owner::Task(task(26)), redriven);
    scribe.failed(task(27), "exit_1");
    scribe.done(task(28), "[1,2,3]");
}

fn bulks(scribe: &mut Scribe) {
    let (upto, reason) = (task(28), String::from("spring cleaning"));
    let filter = TaskFilter { key: Some(key("tenant", "acme")), error_code: Some("exit_1".into()), ..TaskFilter::default() };
    let pattern = Pattern::parse("github/*").expect("a good pattern");
    let of_family = TaskFilter { family: Some(pattern.clone()), ..TaskFilter::default() };
    let works = [
        BulkWork::Drain { queue: queue("mail"), upto, filter: TaskFilter::default() },
        BulkWork::Clear { queue: queue("ci"), upto, reason: reason.clone(), filter: of_family },
        BulkWork::Reprioritize { queue: queue("ci"), upto, filter: filter.clone(), priority: Priority::BACKGROUND },
        BulkWork::Redrive { queue: queue("ci"), upto, filter, per_s: Some(10) },
        BulkWork::Unblock { blocker: task(20) },
    ];
    let shed = BulkWork::Shed { families: vec![pattern], priority: Priority::NORMAL, upto, reason: reason.clone() };
    for (number, work) in (40..).zip(works).chain([(39, shed)]) {
        let started = Record::BulkStarted { work: Box::new(work), by: actor("ada"), reason: reason.clone() };
        scribe.record(Owner::Bulk(bulk(number)), started);
    }
    let resume_at = Some(scribe.now().plus_ms(1_000));
    for number in [40, 41, 43] {
        let advanced = Record::BulkAdvanced { after: task(10), items: 7, skipped: 2, resume_at };
        scribe.record(Owner::Bulk(bulk(number)), advanced);
    }
    scribe.record(Owner::Bulk(bulk(40)), Record::BulkFinished { items: 1, skipped: 0 });
    scribe.record(Owner::Bulk(bulk(41)), Record::BulkCancelled { by: actor("bob") });
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::row::TABLES;
    use std::collections::BTreeSet;

    #[test]
    fn the_sample_has_every_record_and_every_table() {
        let (_, batches) = sample();
        let kinds: BTreeSet<&str> = batches.iter().flat_map(|batch| &batch.entries).map(|entry| entry.record.kind()).collect();
        assert_eq!(kinds, BTreeSet::from(Record::KINDS));
        let tables: BTreeSet<&str> = batches.iter().flat_map(|batch| &batch.puts).map(|row| row.table.name).collect();
        assert_eq!(tables, TABLES.iter().map(|table| table.name).collect());
    }
}
