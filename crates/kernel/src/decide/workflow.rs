//! Put workflows: each becomes a new version, or is the one that is there already if its text is the same; all or none. And
//! whether new runs of one may start, which is the newest version's affair.

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

/// What became of one that was put. Unchanged: this version has the same text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    pub workflow: WorkflowName,
    pub version: u32,
    pub unchanged: bool,
}

pub(super) fn put(step: &mut Step<'_>, new: &NewWorkflow, by: &Actor) -> Result<Reply, Rejection> {
    let mut put = put_all(step, std::slice::from_ref(new), by)?;
    let Put { workflow, version, unchanged } = put.pop().expect("one was put");
    Ok(Reply::Workflow { workflow, version, unchanged })
}

pub(super) fn put_all(step: &mut Step<'_>, all: &[NewWorkflow], by: &Actor) -> Result<Vec<Put>, Rejection> {
    let mut planned: Vec<Put> = Vec::with_capacity(all.len());
    for (at, new) in all.iter().enumerate() {
        let put = plan(step, new, &all[..at], &planned)?;
        planned.push(put);
    }
    let fresh = planned.iter().filter(|put| !put.unchanged).count();
    if fresh > 0 && step.state().runs.versions() + fresh > WORKFLOW_VERSIONS_MAX {
        return Err(Rejection::WorkflowsTaken { max: WORKFLOW_VERSIONS_MAX });
    }
    let bytes: usize = all.iter().zip(&planned).filter(|(_, put)| !put.unchanged).map(|(new, _)| new.text.len()).sum();
    if bytes > 0 && step.state().runs.texts_bytes() + bytes > WORKFLOW_TEXTS_BYTES_MAX {
        return Err(Rejection::WorkflowTextsFull { max_bytes: WORKFLOW_TEXTS_BYTES_MAX });
    }
    for (new, put) in all.iter().zip(&planned).filter(|(_, put)| !put.unchanged) {
        let disabled = newest(step, &put.workflow).and_then(|known| known.disabled.clone());
        let owner = Owner::Workflow(put.workflow.clone(), put.version);
        step.record_fresh(owner, Record::WorkflowPut { by: by.clone() }, Workflow::payload(&new.text));
        let version = put.version;
        let ir = if new.ir.version == version { new.ir.clone() } else { Arc::new(Ir { version, ..(*new.ir).clone() }) };
        step.learn(&put.workflow, version, ir);
        // Putting is not enabling: whoever disabled it may not know of the new version.
        if let Some(disabled) = disabled {
            step.record_workflow(&put.workflow, version, Record::WorkflowDisabled { reason: disabled.reason, by: disabled.by });
        }
    }
    Ok(planned)
}

/// Which version one becomes, after those before it in the same command.
fn plan(step: &Step<'_>, new: &NewWorkflow, before: &[NewWorkflow], planned: &[Put]) -> Result<Put, Rejection> {
    let runs = &step.state().runs;
    let workflow = new.name.clone();
    let here = || before.iter().zip(planned).filter(|(_, put)| put.workflow == workflow);
    let known = runs.workflow(&workflow, None).map(|known| (known.workflow.version, known.workflow.text.clone()));
    let newest = here().map(|(new, put)| (put.version, new.text.clone())).chain(known).max_by_key(|(version, _)| *version);
    let same = match new.version {
        Some(version) => {
            let known = runs.workflow(&workflow, Some(version)).map(|known| known.workflow.text.clone());
            let known = known.or_else(|| here().find(|(_, put)| put.version == version).map(|(new, _)| new.text.clone()));
            known.map(|text| (version, text))
        }
        None => newest.clone(),
    };
    if let Some((version, text)) = &same
        && *text == new.text
    {
        return Ok(Put { workflow, version: *version, unchanged: true });
    }
    let next = newest.as_ref().map_or(1, |(version, _)| version + 1);
    match new.version {
        Some(version) if version < next => {
            Err(Rejection::VersionTaken { workflow, version, newest: next - 1, taken: same.is_some() })
        }
        version => Ok(Put { workflow, version: version.unwrap_or(next), unchanged: false }),
    }
}

fn newest<'a>(step: &'a Step<'_>, workflow: &WorkflowName) -> Option<&'a Workflow> {
    step.state().runs.workflow(workflow, None).map(|known| &known.workflow)
}

fn found<'a>(step: &'a Step<'_>, workflow: &WorkflowName) -> Result<&'a Workflow, Rejection> {
    newest(step, workflow).ok_or_else(|| Rejection::WorkflowNotFound { workflow: workflow.clone(), version: None })
}

/// Done twice, the first stays.
pub(super) fn disable(step: &mut Step<'_>, workflow: &WorkflowName, reason: &str, by: &Actor) -> Result<Reply, Rejection> {
    let newest = found(step, workflow)?;
    let (version, unchanged) = (newest.version, newest.disabled.is_some());
    if !unchanged {
        let record = Record::WorkflowDisabled { reason: reason.to_owned(), by: by.clone() };
        step.record_workflow(workflow, version, record);
    }
    Ok(Reply::Workflow { workflow: workflow.clone(), version, unchanged })
}

pub(super) fn enable(step: &mut Step<'_>, workflow: &WorkflowName, by: &Actor) -> Result<Reply, Rejection> {
    let newest = found(step, workflow)?;
    let (version, unchanged) = (newest.version, newest.disabled.is_none());
    if !unchanged {
        step.record_workflow(workflow, version, Record::WorkflowEnabled { by: by.clone() });
    }
    Ok(Reply::Workflow { workflow: workflow.clone(), version, unchanged })
}

/// Why no run of it may start now.
pub(super) fn refuses(step: &Step<'_>, workflow: &WorkflowName) -> Option<Rejection> {
    let disabled = newest(step, workflow)?.disabled.as_deref()?.clone();
    Some(Rejection::WorkflowDisabled { workflow: workflow.clone(), by: disabled.by, reason: disabled.reason })
}

#[cfg(test)]
mod tests;
