//! The registry: which events go to which handlers, and with which discipline; queues, webhooks and crons beside them. One YAML
//! text, compiled whole: every expression is checked, every mistake told with its line, and what comes out never changes.

mod read;
pub mod webhook;

use crate::problem::{Problem, Problems};
use crate::source;
use kernel::names::WebhookName;
use std::collections::BTreeMap;
use webhook::Webhook;

#[derive(Debug, Default)]
pub struct Registry {
    webhooks: BTreeMap<WebhookName, Webhook>,
}

impl Registry {
    /// All that is wrong is told at once, in the order of the file.
    pub fn compile(text: &[u8]) -> Result<Registry, Vec<Problem>> {
        let document = source::parse(text).map_err(|problem| vec![problem])?;
        let mut problems = Problems::default();
        let registry = read::registry(&document, &mut problems);
        crate::finish(registry, problems)
    }

    pub fn webhook(&self, name: &str) -> Option<&Webhook> {
        self.webhooks.get(name)
    }

    pub fn webhooks(&self) -> impl Iterator<Item = &Webhook> {
        self.webhooks.values()
    }
}
