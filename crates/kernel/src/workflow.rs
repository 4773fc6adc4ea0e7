//! A workflow as it was put: one version of its text, which never changes. Texts are few and stay in memory; what they
//! compile to is made when it is first needed.

use crate::ids::RecordSeq;
use crate::names::{Actor, WorkflowName};
use crate::record::{Entry, Payload, Record};
use crate::time::Time;
use std::sync::Arc;

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Workflow {
    pub(crate) name: WorkflowName,
    pub(crate) version: u32,
    pub(crate) last: RecordSeq,
    pub(crate) put_at: Time,
    pub(crate) put_by: Actor,
    pub(crate) text: Arc<str>,
}

impl Workflow {
    pub fn fold(workflow: Option<Workflow>, name: &WorkflowName, version: u32, entry: &Entry) -> Workflow {
        match (workflow, &entry.record, &entry.payload) {
            (None, Record::WorkflowPut { by }, Some(payload)) => {
                let text: String = serde_json::from_str(payload.text()).expect("a definition's text is a JSON string");
                let (put_at, put_by) = (entry.at, by.clone());
                Workflow { name: name.clone(), version, last: entry.seq, put_at, put_by, text: text.into() }
            }
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

    pub fn text(&self) -> &Arc<str> {
        &self.text
    }
}
