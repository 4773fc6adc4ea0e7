//! A workflow as it was put: one version of its text, which never changes; and whether new runs of it may start. Texts are few
//! and stay in memory; what they compile to is made when it is first needed.

use crate::ids::RecordSeq;
use crate::names::{Actor, WorkflowName};
use crate::record::{Entry, Payload, Record};
use crate::time::Time;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workflow {
    pub(crate) name: WorkflowName,
    pub(crate) version: u32,
    pub(crate) last: RecordSeq,
    pub(crate) put_at: Time,
    pub(crate) put_by: Actor,
    pub(crate) text: Arc<str>,
    /// Only that of the newest version counts: it is the workflow's.
    pub(crate) disabled: Option<Box<Disabled>>,
}

/// No new runs start.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Disabled {
    pub since: Time,
    pub reason: String,
    pub by: Actor,
}

impl Workflow {
    pub fn fold(workflow: Option<Workflow>, name: &WorkflowName, version: u32, entry: &Entry) -> Workflow {
        match (workflow, &entry.record, &entry.payload) {
            (None, Record::WorkflowPut { by }, Some(payload)) => {
                let text: String = serde_json::from_str(payload.text()).expect("a definition's text is a JSON string");
                let (put_at, put_by) = (entry.at, by.clone());
                Workflow { name: name.clone(), version, last: entry.seq, put_at, put_by, text: text.into(), disabled: None }
            }
            (Some(workflow), Record::WorkflowDisabled { reason, by }, _) => {
                let disabled = Disabled { since: entry.at, reason: reason.clone(), by: by.clone() };
                Workflow { last: entry.seq, disabled: Some(Box::new(disabled)), ..workflow }
            }
            (Some(workflow), Record::WorkflowEnabled { .. }, _) => Workflow { last: entry.seq, disabled: None, ..workflow },
            (_, record, _) => panic!("{}: {} does not fit its history", entry.owner, record.kind()),
        }
    }

    /// The text as a record carries it.
    pub fn payload(text: &str) -> Payload {
        Payload(serde_json::to_string(text).expect("text has a JSON form").into())
    }

    pub fn name(&self) -> &WorkflowName {
        &self.name
    }

    pub fn version(&self) -> u32 {
        self.version
    }

    pub fn last(&self) -> RecordSeq {
        self.last
    }

    pub fn put_at(&self) -> Time {
        self.put_at
    }

    pub fn put_by(&self) -> &Actor {
        &self.put_by
    }

    pub fn disabled(&self) -> Option<&Disabled> {
        self.disabled.as_deref()
    }

    pub fn text(&self) -> &Arc<str> {
        &self.text
    }
}
