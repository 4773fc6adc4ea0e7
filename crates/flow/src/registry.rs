//! The registry: which events go to which handlers, and with which discipline; queues, webhooks and crons beside them. One YAML
//! text, compiled whole: every expression is checked, every mistake told with its line, and what comes out never changes.
//!
//! `read` decodes the text; `handler`, `queue`, `webhook` and `forward` say what may be stated; `index` finds who takes an event,
//! `event` is what expressions see of it, `route` works out what each makes of it.

mod event;
mod forward;
mod handler;
mod index;
mod queue;
mod read;
mod route;
#[cfg(test)]
mod tests;
pub mod webhook;

pub use event::{Arrival, EVENT_KEYS};
pub use forward::{Filled, Forward, Method, Shape};
pub use handler::{Bounds, Mode};

use crate::problem::{Problem, Problems};
use crate::source;
use handler::Does;
use index::Index;
use kernel::limits::REGISTRY_BYTES_MAX;
use kernel::names::{HandlerName, Pattern, QueueName, WebhookName};
use kernel::queue::QueueConfig;
use queue::Queue;
use route::Route;
use std::collections::BTreeMap;
use std::sync::Arc;
use webhook::Webhook;

/// Compiled: checked, immutable, shared between threads.
#[derive(Debug, Default)]
pub struct Registry {
    /// In the order of the file.
    routes: Vec<Route>,
    /// Of those that are live.
    index: Index,
    queues: BTreeMap<QueueName, Queue>,
    webhooks: BTreeMap<WebhookName, Webhook>,
}

impl Registry {
    /// All that is wrong is told at once, in the order of the file.
    pub fn compile(text: &[u8]) -> Result<Registry, Vec<Problem>> {
        if text.len() > REGISTRY_BYTES_MAX {
            let told = format!("the file has {} bytes; at most {REGISTRY_BYTES_MAX} are read", text.len());
            return Err(vec![Problem::new(&crate::problem::At { line: 1, column: 1, ..Default::default() }, told)]);
        }
        let document = source::parse(text).map_err(|problem| vec![problem])?;
        let mut problems = Problems::default();
        let registry = read::registry(&document, &mut problems);
        crate::finish(registry, problems)
    }

    /// The configuration of every queue that is stated or fed.
    pub fn queues(&self) -> BTreeMap<QueueName, Arc<QueueConfig>> {
        self.queues.iter().map(|(name, queue)| (name.clone(), queue.config.clone())).collect()
    }

    /// Every handler, in the order of the file.
    pub fn handlers(&self) -> impl Iterator<Item = &HandlerName> {
        self.routes.iter().map(|route| &route.handler.name)
    }

    fn handler(&self, name: &HandlerName) -> Option<&handler::Handler> {
        self.routes.iter().map(|route| &route.handler).find(|handler| handler.name == *name)
    }

    pub fn patterns(&self, handler: &HandlerName) -> &[Pattern] {
        self.handler(handler).map_or(&[], |handler| &handler.on)
    }

    pub fn mode(&self, handler: &HandlerName) -> Option<Mode> {
        self.handler(handler).map(|handler| handler.mode)
    }

    /// How far the operator may go with a handler.
    pub fn bounds(&self, handler: &HandlerName) -> Option<&Bounds> {
        self.handler(handler).map(|handler| &handler.bounds)
    }

    /// Where a handler passes its events on to.
    pub fn forward(&self, handler: &HandlerName) -> Option<&Forward> {
        match &self.handler(handler)?.does {
            Does::Forward(forward) => Some(forward),
            Does::Workflow(_) | Does::Task(_) => None,
        }
    }

    pub fn webhook(&self, name: &str) -> Option<&Webhook> {
        self.webhooks.get(name)
    }

    pub fn webhooks(&self) -> impl Iterator<Item = &Webhook> {
        self.webhooks.values()
    }
}
