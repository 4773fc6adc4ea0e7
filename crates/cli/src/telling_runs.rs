//! The records of workflows, runs, turns, items and nodes, told in a line.

use crate::units::{count_of, show_between};
use doors::wire::{AnswerView, Instant, NodeWork, RecordBody, RunOrigin, RunSpecView, TaskError};

pub fn sentence(record: &RecordBody, at: Instant) -> String {
    let said = |reason: &str| if reason.is_empty() { String::new() } else { format!(": {reason}") };
    let stopping = |closed: bool| if closed { "" } else { "; what is under way in it is being stopped" };
    match record {
        RecordBody::RunsExpired { runs } => format!("{} had grown old and will be deleted", count_of(runs.len() as u64, "run")),
        RecordBody::WorkflowPut { by } => format!("put by {by}"),
        RecordBody::WorkflowDisabled { reason, by } => format!("disabled by {by}{}", said(reason)),
        RecordBody::WorkflowEnabled { by } => format!("enabled by {by}"),
        RecordBody::RunStarted { spec, by } => started(spec, by.as_str(), at),
        RecordBody::RunPaused { reason, by, .. } => format!("paused by {by}{}", said(reason)),
        RecordBody::RunResumed { by, .. } => format!("resumed by {by}"),
        RecordBody::RunHeld { .. } => "paused with the run that called it".into(),
        RecordBody::RunLetGo { .. } => "the run that called it goes on".into(),
        RecordBody::RunTold {} => "all that it works on has heard of that".into(),
        RecordBody::RunDone { closed } => format!("done{}", stopping(*closed)),
        RecordBody::RunFailed { error, node, closed } => {
            let at = node.as_ref().map_or_else(String::new, |node| format!(" at {node}"));
            format!("failed{at}{}{}", with(error), stopping(*closed))
        }
        RecordBody::RunCancelled { reason, by, closed } => format!("cancelled by {by}{}{}", said(reason), stopping(*closed)),
        RecordBody::RunClosed {} => "all that was under way in it has ended".into(),
        RecordBody::RunReopened { deadline, reason, by, .. } => {
            let deadline = deadline.map_or_else(String::new, |then| format!(", to be over within {}", show_between(at, then)));
            format!("tried again by {by}{deadline}{}", said(reason))
        }
        RecordBody::RunRestarted { node, generation, reason, by, .. } => {
            format!("restarted from {node} by {by}, generation {generation}{}", said(reason))
        }
        RecordBody::RunPatched { revision, description, node, only, by, changes, .. } => {
            let node = node.as_ref().map_or_else(String::new, |node| format!(", at work on {node}"));
            let only = only.as_ref().map_or_else(String::new, |only| format!(", for {only} alone"));
            let mut text = format!("patched by {by}{node}{only}, revision {revision}{}", said(description));
            changes.iter().for_each(|line| text.push_str(&format!("\n  {line}")));
            text
        }
        RecordBody::RunFollowed {} => "what was under way and can follow that text does".into(),
        RecordBody::RunDeleting { expired: true, .. } => "being deleted: it has grown old".into(),
        RecordBody::RunDeleting { by, .. } => format!("being deleted by {by}"),
        RecordBody::RunDeleted { workflow, by } => format!("a run of {workflow}, deleted by {by}"),
        RecordBody::FrameOpened { .. } => "begun".into(),
        RecordBody::FrameDone {} => "done".into(),
        RecordBody::FrameFailed { error } => format!("failed{}", with(error)),
        RecordBody::FrameDropped {} => "dropped: nobody waits for it any more".into(),
        RecordBody::FrameReopened { .. } => "taken up again".into(),
        RecordBody::FramePatched { revision } => format!("follows revision {revision} from here on"),
        RecordBody::FrameReset {} => "something in it begins anew: it is taken up again when there is room".into(),
        RecordBody::NodeStarted { work } => at_work(work, at),
        RecordBody::NodeDone { heard: Some(event), .. } => format!("done: it heard {event}"),
        RecordBody::NodeDone { way, answer, .. } => {
            let way = way.as_ref().map_or_else(String::new, |way| format!(", by {way}"));
            format!("done{way}{}", answer.as_ref().map_or_else(String::new, |answer| format!(": {}", answered(answer))))
        }
        RecordBody::NodeFailed { error, then } => {
            let then = match then.as_str() {
                "to" => "; another way is taken",
                "ignore" => "; that is ignored",
                _ => "",
            };
            format!("failed{}{then}", with(error))
        }
        RecordBody::NodeSkipped { why: Some(why), .. } => format!("skipped: {why}"),
        RecordBody::NodeSkipped { cause, .. } if cause == "failed" => "skipped: what it needs has failed".into(),
        RecordBody::NodeSkipped { .. } => "skipped: its way was not taken".into(),
        RecordBody::NodeCancelled {} => "cancelled".into(),
        RecordBody::NodeReopened { by } => format!("open again, by {by}"),
        RecordBody::NodeReset {} => "undone: it begins anew".into(),
        RecordBody::NodeLooked {} => "looked back: none of the events that had come is the one".into(),
        RecordBody::NodeRewound { .. } => "goes on: something in it was restarted".into(),
        RecordBody::NodeSet { reason, by } => format!("done, by the word of {by}{}", said(reason)),
        _ => "a record this version does not know".into(),
    }
}

fn with(error: &TaskError) -> String {
    let colon = if error.message.is_empty() { "" } else { ": " };
    format!(" with {}{colon}{}", error.code, error.message)
}

/// `finance said yes: fine`
pub fn answered(answer: &AnswerView) -> String {
    let word = if answer.approved { "yes" } else { "no" };
    let colon = if answer.comment.is_empty() { "" } else { ": " };
    format!("{} said {word}{colon}{}", answer.by, answer.comment)
}

fn started(spec: &RunSpecView, by: &str, at: Instant) -> String {
    let mut text = format!("{} version {} started by {by}", spec.workflow, spec.version);
    if let Some(parent) = &spec.parent {
        text.push_str(&format!(", called by {parent}"));
    }
    if let Some(RunOrigin { run, record, node }) = &spec.origin {
        let before = node.as_ref().map_or_else(String::new, |node| format!(", from before {node}"));
        text.push_str(&format!(", forked from {run} as it was after {record}{before}"));
    }
    if let Some(deadline) = spec.deadline {
        text.push_str(&format!(", to be over within {}", show_between(at, deadline)));
    }
    text
}

fn at_work(work: &NodeWork, at: Instant) -> String {
    match work {
        NodeWork::Working { task } => format!("{task} is its work"),
        NodeWork::Calling { run } => format!("calls {run}"),
        NodeWork::Asking { until: Some(until) } => format!("asks, for {} at most", show_between(at, *until)),
        NodeWork::Asking { until: None } => "asks".into(),
        NodeWork::Awaiting { event, key, until } => {
            let asked = key.as_ref().map_or_else(String::new, |key| format!(" whose {} is {}", key.of, key.is));
            let limit = until.map_or_else(String::new, |until| format!(", for {} at most", show_between(at, until)));
            format!("waits for an event {event}{asked}{limit}")
        }
        NodeWork::Sleeping { until } => format!("sleeps for {}", show_between(at, *until)),
        NodeWork::Turning {} => "begins its turns".into(),
        NodeWork::Spreading { items } => format!("goes over {}", count_of((*items).into(), "item")),
        NodeWork::Unknown => "started".into(),
    }
}
