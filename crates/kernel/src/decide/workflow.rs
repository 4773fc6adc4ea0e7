//! Put a workflow: a new version, or the one that is there already if its text is the same.

use crate::command::Reply;
use crate::ir::Ir;
use crate::limits::{WORKFLOW_TEXTS_BYTES_MAX, WORKFLOW_VERSIONS_MAX};
use crate::names::{Actor, WorkflowName};
use crate::record::{Owner, Record};
use crate::rejection::Rejection;
use crate::step::Step;
use crate::workflow::Workflow;
use std::sync::Arc;

/// A text that was compiled at the door. Without a version it gets the next one.
#[derive(Clone, Debug, PartialEq)]
pub struct NewWorkflow {
    pub name: WorkflowName,
    pub version: Option<u32>,
    pub text: Arc<str>,
    pub ir: Arc<Ir>,
}

pub(super) fn put(step: &mut Step<'_>, new: &NewWorkflow, by: &Actor) -> Result<Reply, Rejection> {
    let runs = &step.state().runs;
    let workflow = new.name.clone();
    let newest = runs.workflow(&workflow, None).map(|known| (known.workflow.version, known.workflow.text.clone()));
    let same = match new.version {
        Some(version) => runs.workflow(&workflow, Some(version)).map(|known| (version, known.workflow.text.clone())),
        None => newest.clone(),
    };
    if let Some((version, text)) = &same
        && *text == new.text
    {
        return Ok(Reply::Workflow { workflow, version: *version, unchanged: true });
    }
    let next = newest.as_ref().map_or(1, |(version, _)| version + 1);
    let version = match new.version {
        Some(version) if version < next => return Err(Rejection::VersionTaken { workflow, version, next }),
        Some(version) => version,
        None => next,
    };
    if runs.versions() >= WORKFLOW_VERSIONS_MAX {
        return Err(Rejection::WorkflowsTaken { max: WORKFLOW_VERSIONS_MAX });
    }
    if runs.texts_bytes() + new.text.len() > WORKFLOW_TEXTS_BYTES_MAX {
        return Err(Rejection::WorkflowTextsFull { max_bytes: WORKFLOW_TEXTS_BYTES_MAX });
    }
    let owner = Owner::Workflow(workflow.clone(), version);
    step.record_fresh(owner, Record::WorkflowPut { by: by.clone() }, Workflow::payload(&new.text));
    let ir = if new.ir.version == version { new.ir.clone() } else { Arc::new(Ir { version, ..(*new.ir).clone() }) };
    step.learn(&workflow, version, ir);
    Ok(Reply::Workflow { workflow, version, unchanged: false })
}
