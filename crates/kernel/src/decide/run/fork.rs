//! Fork: a new run that goes on from how another was. What had ended there is told again as this one's own, values and all, so
//! that it hangs on nothing of the other; then it goes on like any run.

use super::NewRun;
use super::patch::{self, NewRevision};
use crate::command::Reply;
use crate::frame::FramePath;
use crate::ir::Ir;
use crate::limits::{FORK_PARTS_MAX, RUN_REVISIONS_MAX};
use crate::names::{Actor, NodeId};
use crate::record::{Payload, Record};
use crate::rejection::Rejection;
use crate::run::RunSpec;
use crate::runs::Spot;
use crate::step::Step;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq)]
pub struct NewFork {
    pub new: NewRun,
    /// The texts that the other followed.
    pub texts: Vec<NewText>,
    pub parts: Vec<Part>,
    /// One more, by which it goes on: what is in `parts` is a part of it as it was ([`Live::against`](crate::runs::Live::against)).
    pub change: Option<NewText>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct NewText {
    pub ir: Arc<Ir>,
    pub payload: Payload,
    pub description: String,
    /// The turn or item that follows it alone.
    pub only: Option<FramePath>,
}

/// One record of it, as [`Replay::copied`](crate::replay::Replay::copied) tells them, with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    pub frame: FramePath,
    pub node: Option<NodeId>,
    pub record: Record,
    pub payload: Option<Payload>,
}

/// All of it is one step.
pub fn too_many_parts(many: usize) -> Option<Rejection> {
    let why = format!("it would take {many} nodes, turns and items along; at most {FORK_PARTS_MAX} are allowed");
    if many > FORK_PARTS_MAX { Some(Rejection::Invalid { why }) } else { None }
}

pub(in crate::decide) fn decide(step: &mut Step<'_>, fork: &NewFork, by: &Actor) -> Result<Reply, Rejection> {
    let NewFork { new, texts, parts, change } = fork;
    let (workflow, version) = (new.workflow.clone(), new.version);
    if let Some(key) = &new.spec.idempotency_key
        && let Some(run) = step.state().runs.by_key(&workflow, key)
    {
        return Ok(Reply::Started { run, duplicate: true });
    }
    if let Some(rejection) = crate::decide::workflow::refuses(step, &workflow) {
        return Err(rejection);
    }
    if let Some(rejection) = too_many_parts(parts.len()) {
        return Err(rejection);
    }
    if texts.len() + usize::from(change.is_some()) > RUN_REVISIONS_MAX as usize {
        let why = format!("it would be at revision {}; at most {RUN_REVISIONS_MAX} are allowed", texts.len() + 1);
        return Err(Rejection::Invalid { why });
    }
    let (version, ir) = match step.ir(&workflow, version) {
        None => return Err(Rejection::WorkflowNotFound { workflow, version }),
        Some(Err(why)) => return Err(Rejection::Invalid { why }),
        Some(Ok(found)) => found,
    };
    let limits = texts.iter().rfind(|text| text.only.is_none()).map_or(&ir.limits, |text| &text.ir.limits);
    let deadline = new.spec.deadline.into_iter().chain(limits.deadline_ms.map(|ms| step.now().plus_ms(ms))).min();
    let asked_ms = new.spec.deadline.map(|deadline| deadline.ms_since(step.now()));
    let run = step.new_run();
    let spec = RunSpec { workflow, version, deadline, asked_ms, parent: None, depth: 0, ..new.spec.clone() };
    step.record_run(run, Record::RunStarted { spec: Box::new(spec), by: by.clone() }, Some(new.input.clone()));
    for (at, text) in texts.iter().enumerate() {
        let revision = at as u32 + 1;
        step.learn_revision(run, revision, text.ir.clone());
        let (description, only, by) = (text.description.clone(), text.only.clone(), by.clone());
        let patched = Record::RunPatched { revision, description, node: None, only, deadline, by, more: false };
        step.record_run(run, patched, Some(text.payload.clone()));
    }
    for part in parts {
        match &part.node {
            None => _ = step.record_frame(run, &part.frame, part.record.clone(), part.payload.clone()),
            Some(id) => {
                let live = step.state().runs.get(run).expect("it was just started");
                let node = live.find(&part.frame, id).expect("what was copied is in the text");
                let spot = Spot { run, frame: part.frame.clone(), node };
                step.record_node(&spot, part.record.clone(), part.payload.clone());
            }
        }
    }
    if let Some(NewText { ir, payload, description, .. }) = change.clone() {
        let base = texts.len() as u32;
        patch::record(step, run, &NewRevision { base, ir, payload, description, alone: false }, None, by);
    }
    patch::go_on(step, run);
    Ok(Reply::Started { run, duplicate: false })
}
