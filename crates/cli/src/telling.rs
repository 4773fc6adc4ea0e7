//! A record, told in a line.

use crate::plain::plain;
use crate::table::priority_text;
use crate::units::{show_between, show_exact_ms};
use crate::{telling_events, telling_runs};
use doors::wire::{BulkWorkView, CancelCause, Instant, RecordBody, RecordView, ReleasedCause, TaskFilter, TaskSpecView};
use kernel::ids::RunId;

/// The kind of record, as its tag says it.
pub fn kind(record: &RecordBody) -> String {
    let value = serde_json::to_value(record).ok();
    value.and_then(|value| value["record"].as_str().map(str::to_owned)).unwrap_or_else(|| "unknown".into())
}

/// `08:57:00.250Z  task-9m2  task_done  done`
pub fn line(view: &RecordView, kind: &str) -> String {
    let at = view.at.to_string();
    let time = at.get(11..23).unwrap_or(&at);
    format!("{time}Z  {:<12}  {:<16}  {}", view.owner, kind, in_a_line(view))
}

/// The same of a run, as it is called there: `08:57:00.250Z  rounds[1]/pay  node_done  done`
pub fn line_of_run(view: &RecordView, run: RunId) -> String {
    const OWNER_CHARS: usize = 24;
    let at = view.at.to_string();
    let time = at.get(11..23).unwrap_or(&at);
    let owner = view.owner.strip_prefix(&format!("{run}/")).unwrap_or(&view.owner);
    format!("{time}Z  {owner:<OWNER_CHARS$}  {:<14}  {}", kind(&view.record), in_a_line(view))
}

/// In one line, whatever it tells.
fn in_a_line(view: &RecordView) -> String {
    let told = sentence(&view.record, view.at);
    let lines: Vec<&str> = told.lines().map(str::trim).collect();
    plain(&lines.join("; ")).into_owned()
}

/// What happened, in words; times as they were then. `at`: when it was recorded.
pub fn sentence(record: &RecordBody, at: Instant) -> String {
    let said = |reason: &str| if reason.is_empty() { String::new() } else { format!(": {reason}") };
    match record {
        RecordBody::IdsReserved { ids, records } => format!("ids up to {ids} and records up to {records} reserved"),
        RecordBody::WatchdogTripped { reason } => format!("something stands still: {reason}"),
        RecordBody::WatchdogRecovered { reason, lasted_ms } => {
            format!("it moves again after {}: {reason}", show_exact_ms(*lasted_ms))
        }
        RecordBody::WaitsBehind { after } => format!("those who wait for events have yet to see what came after {after}"),
        RecordBody::WaitsCaughtUp {} => "those who wait for events have seen all that came".into(),
        RecordBody::TaskAdded { spec } => added(spec),
        RecordBody::TaskQueued { by, bulk: Some(bulk), .. } => format!("queued again by {by} with {bulk}"),
        RecordBody::TaskQueued { by, run_now: true, .. } => format!("queued by {by}, to run now"),
        RecordBody::TaskQueued { by, .. } => format!("queued by {by}"),
        RecordBody::TaskRunNow { by } => format!("to run now, says {by}"),
        RecordBody::TaskUnblocked { blocker } => format!("no longer blocked by {blocker}"),
        RecordBody::TaskBlockersChanged { blocked_by, deleted } if blocked_by.is_empty() => {
            format!("no longer blocked by {deleted}, which was deleted")
        }
        RecordBody::TaskBlockersChanged { blocked_by, deleted } => {
            let blockers = blocked_by.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            format!("{deleted} was deleted; blocked by {blockers}")
        }
        RecordBody::TaskReprioritized { priority, by } => format!("priority {} by {by}", priority_text(*priority)),
        RecordBody::TaskExpedited { bulk } => format!("past rate and schedule with {bulk}"),
        RecordBody::TaskLeased { worker, attempt, run_now, .. } => {
            format!("attempt {attempt} by {worker}{}", if *run_now { ", run now" } else { "" })
        }
        RecordBody::TaskReleased { cause: ReleasedCause::Worker } => "handed back by its worker, no attempt burnt".into(),
        RecordBody::TaskReleased { cause: ReleasedCause::Undelivered } => "never reached its worker, no attempt burnt".into(),
        RecordBody::TaskCancelRequested { by, reason } => format!("cancel asked for by {by}{}", said(reason)),
        RecordBody::TaskTimedOut {} => "its time budget is spent".into(),
        RecordBody::TaskHeld { .. } => "held: its run is paused".into(),
        RecordBody::TaskLetGo { .. } => "let go: its run goes on".into(),
        RecordBody::TaskRetried { error, retry_at } => {
            format!("failed with {}{}; again after {}", error.code, said(&error.message), show_between(at, *retry_at))
        }
        RecordBody::TaskDone {} => "done".into(),
        RecordBody::TaskFailed { error } => format!("failed with {}{}", error.code, said(&error.message)),
        RecordBody::TaskCancelled { cause: CancelCause::Expired, .. } => "cancelled: it did not start in time".into(),
        RecordBody::TaskCancelled { cause: CancelCause::Replaced, reason, .. } => format!("cancelled{}", said(reason)),
        RecordBody::TaskCancelled { cause: CancelCause::Shed, by, reason, .. } if by.as_str() == "signaller" => {
            format!("cancelled{}", said(reason))
        }
        RecordBody::TaskCancelled { cause: CancelCause::Shed, by, reason, .. } => format!("shed by {by}{}", said(reason)),
        RecordBody::TaskCancelled { by, reason, .. } => format!("cancelled by {by}{}", said(reason)),
        RecordBody::TaskReset { by } => format!("reset to idle by {by}"),
        RecordBody::TaskDeleted { by, .. } => format!("deleted by {by}"),
        RecordBody::QueueConfigured { by, .. } => format!("configured by {by}"),
        RecordBody::QueuePaused { until: Some(until), reason, by } => format!("paused by {by} until {until}{}", said(reason)),
        RecordBody::QueuePaused { until: None, reason, by } => format!("paused by {by}{}", said(reason)),
        RecordBody::QueueResumed { expired: true, .. } => "resumed: the pause is over".into(),
        RecordBody::QueueResumed { by, .. } => format!("resumed by {by}"),
        RecordBody::QueueBoosted { key, seconds, by } => {
            let on = key.as_ref().map_or_else(|| "the whole queue".to_owned(), ToString::to_string);
            format!("boost {} on {on} by {by}", priority_text(*seconds))
        }
        RecordBody::PermitTaken { arrival } => format!("a permit taken; counts to {arrival}"),
        RecordBody::PermitsForgotten {} => "all permits are back".into(),
        RecordBody::BulkStarted { work, by, .. } => format!("{} started by {by}", bulk_work(work)),
        RecordBody::BulkAdvanced { items, skipped, resume_at, .. } => {
            let rest = resume_at.map_or_else(String::new, |then| format!("; goes on after {}", show_between(at, then)));
            format!("{items} more changed, {skipped} skipped{rest}")
        }
        RecordBody::BulkFinished { items, skipped } => format!("finished with {items} more changed, {skipped} skipped"),
        RecordBody::BulkCancelled { by } => format!("cancelled by {by}"),
        RecordBody::BulkRunsAdvanced { items, skipped, resume_at, .. } => {
            let rest = resume_at.map_or_else(String::new, |then| format!("; goes on after {}", show_between(at, then)));
            format!("{items} more runs changed, {skipped} left as they are{rest}")
        }
        RecordBody::Unknown => "a record this version does not know".into(),
        of_event @ (RecordBody::EventReceived { .. }
        | RecordBody::EventReplayed { .. }
        | RecordBody::EventHeard { .. }
        | RecordBody::EventsExpired { .. }
        | RecordBody::RequestsRefused { .. }
        | RecordBody::SignalsRefused { .. }
        | RecordBody::TaskDebounced { .. }
        | RecordBody::TaskBatched { .. }
        | RecordBody::TaskHandedOver { .. }
        | RecordBody::FamilyPaused { .. }
        | RecordBody::FamilyResumed { .. }
        | RecordBody::FamilyBoosted { .. }
        | RecordBody::RegistryPut { .. }) => telling_events::sentence(of_event, at),
        of_run => telling_runs::sentence(of_run, at),
    }
}

fn added(spec: &TaskSpecView) -> String {
    let mut text = format!("{} added to queue {}", spec.kind, spec.queue);
    if spec.priority.0.head_start_s() != 0 {
        text.push_str(&format!(", {}", priority_text(spec.priority)));
    }
    for (name, value) in &spec.keys {
        text.push_str(&format!(", {name}={value}"));
    }
    if let Some(at) = spec.scheduled_for {
        text.push_str(&format!(", for {at}"));
    }
    if !spec.blocked_by.is_empty() {
        text.push_str(&format!(
            ", blocked by {}",
            spec.blocked_by.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
        ));
    }
    if let Some(budget_ms) = spec.budget_ms {
        text.push_str(&format!(", at most {}", show_exact_ms(budget_ms)));
    }
    if let Some(start_by) = spec.start_by {
        text.push_str(&format!(", cancelled unless it starts before {start_by}"));
    }
    if spec.idle {
        text.push_str(", idle");
    }
    if let Some(trigger) = &spec.trigger {
        text.push_str(&format!("; made by handler {} of {} ({})", trigger.handler, trigger.event, trigger.name));
    }
    text
}

fn bulk_work(work: &BulkWorkView) -> String {
    match work {
        BulkWorkView::Clear { queue, filter, .. } => format!("clear of queue {queue}{}", some_text(filter)),
        BulkWorkView::Drain { queue, filter } => format!("drain of queue {queue}{}", some_text(filter)),
        BulkWorkView::Shed { families, upto, .. } => {
            let families: Vec<String> = families.iter().map(ToString::to_string).collect();
            format!("shed of families {} up to {}", families.join(", "), priority_text(*upto))
        }
        BulkWorkView::Reprioritize { queue, filter, priority } => {
            format!("priority {} for queue {queue}{}", priority_text(*priority), of_these(filter))
        }
        BulkWorkView::Redrive { queue, filter, .. } => format!("redrive of queue {queue}{}", of_these(filter)),
        BulkWorkView::Unblock { blocker } => format!("unblocking of those that wait for {blocker}"),
        BulkWorkView::Runs { verb, r#where, .. } => format!("{verb} of runs where {}", plain(r#where)),
        BulkWorkView::Unknown => "work this version does not know".into(),
    }
}

fn some_text(filter: &Option<TaskFilter>) -> String {
    filter.as_ref().map_or_else(String::new, of_these)
}

fn of_these(filter: &TaskFilter) -> String {
    let text = filter_text(filter);
    if text.is_empty() { text } else { format!(" ({text})") }
}

/// Which tasks, in words.
pub fn filter_text(filter: &TaskFilter) -> String {
    let parts = [
        filter.kind.as_ref().map(|kind| format!("type {kind}")),
        filter.key.as_ref().map(ToString::to_string),
        filter.tag.as_ref().map(|tag| format!("tag {tag}")),
        filter.error_code.as_ref().map(|code| format!("error {code}")),
        filter.family.as_ref().map(|family| format!("family {family}")),
    ];
    plain(&parts.into_iter().flatten().collect::<Vec<_>>().join(", ")).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_told_in_a_line() {
        for (body, told) in [
            (
                r#"{"record":"task_added","spec":{"queue":"ci","type":"lint","priority":600,"keys":{"tenant":"acme"},"blocked_by":["task-1"]}}"#,
                "lint added to queue ci, high, tenant=acme, blocked by task-1",
            ),
            (
                r#"{"record":"task_added","spec":{"queue":"mail","type":"mail","priority":0,"start_by":"2026-11-15T09:57:00Z","trigger":{"event":"event-7","name":"user/came","handler":"greet","events":1}}}"#,
                "mail added to queue mail, cancelled unless it starts before 2026-11-15T09:57:00.000000Z; made by handler greet of event-7 \
                 (user/came)",
            ),
            (
                r#"{"record":"task_leased","worker":"w-1","attempt":2,"heartbeat_ms":1,"budget_until":"2026-11-15T08:57:00Z","run_now":false}"#,
                "attempt 2 by w-1",
            ),
            (r#"{"record":"task_failed","error":{"code":"exit_1","message":"boom"}}"#, "failed with exit_1: boom"),
            (r#"{"record":"queue_paused","reason":"","by":"ana"}"#, "paused by ana"),
            (
                r#"{"record":"bulk_started","work":{"work":"redrive","queue":"ci","filter":{"type":"lint","error_code":"e"}},"by":"ana","reason":""}"#,
                "redrive of queue ci (type lint, error e) started by ana",
            ),
            (r#"{"record":"run_dreamt","run":"run-1"}"#, "a record this version does not know"),
            (
                r#"{"record":"run_started","spec":{"workflow":"refund","version":2,"tags":["x"]},"by":"ana"}"#,
                "refund version 2 started by ana",
            ),
            // Told as it was then, however long ago that is.
            (
                r#"{"record":"run_started","spec":{"workflow":"w","version":1,"deadline":"2026-11-15T10:57:00Z"},"by":"ana"}"#,
                "w version 1 started by ana, to be over within 2 h",
            ),
            (
                r#"{"record":"task_retried","error":{"code":"e","message":"m"},"retry_at":"2026-11-15T08:57:01.5Z"}"#,
                "failed with e: m; again after 1.5 s",
            ),
            (r#"{"record":"node_started","work":"sleeping","until":"2026-11-15T08:57:30Z"}"#, "sleeps for 30 s"),
            (r#"{"record":"node_started","work":"asking","until":"2026-11-17T08:57:00Z"}"#, "asks, for 2 d at most"),
            (
                r#"{"record":"node_done","answer":{"approved":true,"by":"finance","comment":"fine"}}"#,
                "done: finance said yes: fine",
            ),
            (
                r#"{"record":"node_done","way":"rejected","answer":{"approved":false,"by":"finance"}}"#,
                "done, by rejected: finance said no",
            ),
            (
                r#"{"record":"node_skipped","cause":"untaken","why":"its `when` was false: input.x > 1"}"#,
                "skipped: its `when` was false: input.x > 1",
            ),
            (r#"{"record":"workflow_disabled","reason":"audit","by":"ana"}"#, "disabled by ana: audit"),
            (r#"{"record":"node_started","work":"working","task":"task-9"}"#, "task-9 is its work"),
            (r#"{"record":"node_started","work":"spreading","items":3}"#, "goes over 3 items"),
            (r#"{"record":"node_done","way":"rules[1]"}"#, "done, by rules[1]"),
            (
                r#"{"record":"node_failed","error":{"code":"e","message":"m"},"then":"ignore"}"#,
                "failed with e: m; that is ignored",
            ),
        ] {
            assert_eq!(sentence(&serde_json::from_str(body).unwrap(), "2026-11-15T08:57:00Z".parse().unwrap()), told);
        }
        let view = r#"{"seq":"r7","at":"2026-11-15T08:57:00.25Z","owner":"task-9m2","record":{"record":"task_done"}}"#;
        let view = serde_json::from_str::<RecordView>(view).unwrap();
        assert_eq!(line(&view, &kind(&view.record)), "08:57:00.250Z  task-9m2      task_done         done");
        let view = r#"{"seq":"r7","at":"2026-11-15T08:57:00.25Z","owner":"run-7/rounds[1]/pay","record":{"record":"node_done"}}"#;
        let view = serde_json::from_str::<RecordView>(view).unwrap();
        let told = line_of_run(&view, RunId::parse("run-7").unwrap());
        assert_eq!(told, "08:57:00.250Z  rounds[1]/pay             node_done       done");
    }
}
