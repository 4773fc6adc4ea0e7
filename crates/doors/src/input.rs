//! The inputs of runs are held against the schemas of their workflows. A version's schema never changes, so it is made ready
//! once.

use crate::wire::ProblemAt;
use flow::input::{InputSchema, Misfit};
use kernel::names::WorkflowName;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

impl From<Misfit> for ProblemAt {
    fn from(Misfit { path, message }: Misfit) -> ProblemAt {
        ProblemAt { path, line: None, column: None, message, suggestion: None }
    }
}

/// Those that were needed so far: as many as there are versions of workflows, which are bounded.
#[derive(Default)]
pub struct InputSchemas(Mutex<HashMap<(WorkflowName, u32), Arc<InputSchema>>>);

impl InputSchemas {
    pub fn get(&self, workflow: &WorkflowName, version: u32, schema: &str) -> Result<Arc<InputSchema>, String> {
        let key = (workflow.clone(), version);
        let known = self.0.lock().expect("no holder panics").get(&key).cloned();
        if let Some(known) = known {
            return Ok(known);
        }
        let made = Arc::new(InputSchema::new(schema).map_err(|why| why.message)?);
        self.0.lock().expect("as above").insert(key, made.clone());
        Ok(made)
    }
}
