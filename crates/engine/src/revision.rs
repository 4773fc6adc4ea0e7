//! The texts of runs that follow one of their own: how they ride in a record, and what they compile to.

use kernel::ir::Ir;
use kernel::record::Payload;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::sync::Arc;
use store::BlobId;

/// What the record of a patch carries: the whole definition after it, and what changed it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Revision {
    pub text: String,
    /// As they were written: a number may have more digits than a value in memory.
    #[serde(default)]
    pub operations: Option<Box<RawValue>>,
}

/// A text of a run, and what it compiles to.
#[derive(Clone, Debug)]
pub struct Followed {
    pub text: Arc<str>,
    pub ir: Arc<Ir>,
    pub revision: u32,
}

impl Revision {
    pub fn payload(&self) -> Payload {
        Payload(serde_json::to_string(self).expect("a revision has a JSON form").into())
    }

    /// `None`: it is damaged.
    pub fn read(payload: &Payload) -> Option<Revision> {
        serde_json::from_str(payload.text()).ok()
    }

    /// By which a text is known: runs that were patched to the same share what it compiles to.
    pub fn digest(text: &str) -> u128 {
        BlobId::of(text.as_bytes()).digest()
    }
}
