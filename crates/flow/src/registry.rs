//! The registry: which events go to which handlers, and with which discipline; queues, webhooks and crons beside them. One YAML
//! text, compiled whole: every expression is checked, every mistake told with its line, and what comes out never changes.
//!
//! `read` decodes the text; `handler`, `queue`, `webhook`, `cron` and `forward` say what may be stated; `index` finds who takes an event,
//! `event` is what expressions see of it (and `reads` how much), `route` works out what each makes of it, and `trace` tells why.
//! `difference` compares two registries in the words of `shown`.

pub mod cron;
mod difference;
mod event;
mod forward;
mod handler;
mod index;
mod needs;
mod queue;
mod read;
mod reads;
mod route;
mod schema;
mod shown;
#[cfg(test)]
mod tests;
mod trace;
pub mod webhook;

pub use difference::{Change, Difference, FieldChange, difference};
pub(crate) use event::said;
pub use event::{Arrival, EVENT_KEYS};
pub use forward::{Filled, Forward, Method, Shape};
pub use handler::{Bounds, Mode};
pub use schema::registry_schema;
pub use trace::{HandlerTrace, KeyTrace, Outcome, TaskTrace, Trace};

use crate::problem::{Problem, Problems};
use crate::source;
use cron::{Cron, Overlap};
use handler::Does;
use index::Index;
use kernel::event::EventSpec;
use kernel::limits::REGISTRY_BYTES_MAX;
use kernel::names::{CronName, HandlerName, KeyValue, Pattern, QueueName, WebhookName};
use kernel::queue::QueueConfig;
use queue::Queue;
use route::{Fired, Route};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::sync::Arc;
use webhook::Webhook;

/// Compiled: checked, immutable, shared between threads.
#[derive(Debug, Default)]
pub struct Registry {
    /// In the order of the file.
    routes: Vec<Route>,
    by_name: FxHashMap<HandlerName, usize>,
    /// Of those that are live.
    index: Index,
    queues: BTreeMap<QueueName, Queue>,
    webhooks: BTreeMap<WebhookName, Webhook>,
    crons: BTreeMap<CronName, Clocked>,
    warnings: Vec<Problem>,
}

#[derive(Debug)]
struct Clocked {
    cron: Cron,
    value: KeyValue,
}

impl Clocked {
    fn new(cron: Cron) -> Clocked {
        Clocked { value: cron.value(), cron }
    }
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
        self.by_name.get(name).map(|at| &self.routes[*at].handler)
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

    pub fn cron(&self, name: &str) -> Option<&Cron> {
        self.crons.get(name).map(|clocked| &clocked.cron)
    }

    pub fn crons(&self) -> impl Iterator<Item = &Cron> {
        self.crons.values().map(|clocked| &clocked.cron)
    }

    /// What comes of an event being a cron's.
    fn fired(&self, spec: &EventSpec) -> Option<Fired<'_>> {
        let Clocked { cron, value } = self.crons.get(cron::source_name(spec)?)?;
        let replace = match cron.overlap {
            Overlap::Queue => None,
            Overlap::Skip => Some(false),
            Overlap::Replace => Some(true),
        };
        (cron.event == spec.name).then_some(Fired { value, replace, critical: cron.critical })
    }

    /// What is right and yet may not be what was meant.
    pub fn warnings(&self) -> &[Problem] {
        &self.warnings
    }

    pub fn webhook(&self, name: &str) -> Option<&Webhook> {
        self.webhooks.get(name)
    }

    pub fn webhooks(&self) -> impl Iterator<Item = &Webhook> {
        self.webhooks.values()
    }
}
