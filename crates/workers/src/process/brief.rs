//! A task as a command gets it: one JSON document on stdin, and the same in variables of its environment.

use kernel::ids::{EventId, Fence, RunId, TaskId};
use kernel::names::{EventName, HandlerName, QueueName, TypeName};
use serde::Serialize;
use serde_json::value::RawValue;
use std::ffi::OsString;

#[derive(Clone, Debug, Serialize)]
pub struct Brief<'a> {
    pub task: TaskId,
    #[serde(rename = "type")]
    pub kind: &'a TypeName,
    pub queue: &'a QueueName,
    pub attempt: u16,
    pub idempotency_key: &'a str,
    pub budget_ms: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<&'a str>,
    pub input: &'a RawValue,
    #[serde(skip)]
    pub fence: Fence,
    /// What it was made of.
    #[serde(skip)]
    pub made_of: Option<(EventId, &'a EventName, &'a HandlerName)>,
}

impl Brief<'_> {
    pub fn stdin(&self) -> Vec<u8> {
        let mut text = serde_json::to_vec(self).expect("a task is JSON");
        text.push(b'\n');
        text
    }

    pub fn env(&self) -> Vec<(OsString, OsString)> {
        let mut env = vec![
            ("SIGNALLER_TASK", self.task.to_string()),
            ("SIGNALLER_TYPE", self.kind.to_string()),
            ("SIGNALLER_QUEUE", self.queue.to_string()),
            ("SIGNALLER_ATTEMPT", self.attempt.to_string()),
            ("SIGNALLER_IDEMPOTENCY_KEY", self.idempotency_key.to_owned()),
            ("SIGNALLER_FENCE", self.fence.to_string()),
        ];
        env.extend(self.run.map(|run| ("SIGNALLER_RUN", run.to_string())));
        env.extend(self.node.map(|node| ("SIGNALLER_NODE", node.to_owned())));
        if let Some((event, name, handler)) = self.made_of {
            env.extend([
                ("SIGNALLER_EVENT", event.to_string()),
                ("SIGNALLER_EVENT_NAME", name.to_string()),
                ("SIGNALLER_HANDLER", handler.to_string()),
            ]);
        }
        env.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
    }
}
