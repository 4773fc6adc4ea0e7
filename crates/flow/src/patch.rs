//! RFC 6902 over the text of a definition, in either written form. A patch is done as a whole or not at all; keys stay in the
//! order in which they were written, new ones follow, and numbers keep their digits. Whether what comes of it is a workflow is
//! not asked here: it is text again, to be compiled.
//!
//! The operations are our own and not a library's: those work on maps that are sorted, and hold 1 and 1.0 for different.

mod apply;
mod between;
mod difference;
mod find;
mod json;
mod operation;
mod pointer;
mod set;
mod written;

pub use difference::{Added, Change, Changed, Difference, difference};
pub use find::NodeText;
pub use json::Json;
pub use operation::{Act, Operation, Operations, PatchError};
pub use pointer::Pointer;

use crate::limits::SOURCE_BYTES_MAX;
use crate::problem::Problem;

/// One definition as JSON.
#[derive(Clone, PartialEq, Debug)]
pub struct Document(Json);

impl Document {
    /// YAML or JSON; whether it is a workflow is not looked at.
    pub fn read(text: &[u8]) -> Result<Document, Vec<Problem>> {
        Json::read(text).map(Document).map_err(|problem| vec![problem])
    }

    /// Indented JSON, which compiles to what the original does.
    pub fn text(&self) -> String {
        self.0.pretty()
    }

    pub fn json(&self) -> &Json {
        &self.0
    }

    /// The document with all of it done. If one operation fails, none was.
    pub fn apply(&self, operations: &Operations) -> Result<Document, PatchError> {
        let mut patched = self.0.clone();
        let mut budget = apply::Budget::new();
        for (index, operation) in operations.0.iter().enumerate() {
            apply::apply(&mut patched, operation, &mut budget).map_err(|error| error.of(index, operation))?;
        }
        let patched = Document(patched);
        let bytes = patched.text().len();
        if bytes > SOURCE_BYTES_MAX && bytes > self.text().len() {
            let why = format!("the definition would have {bytes} bytes; there may be {SOURCE_BYTES_MAX}");
            return Err(PatchError::whole(why));
        }
        Ok(patched)
    }
}

/// What makes `new` of `old`.
pub fn between(old: &Document, new: &Document) -> Operations {
    between::between(&old.0, &new.0)
}

#[cfg(test)]
mod tests;
