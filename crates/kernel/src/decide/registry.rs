//! Put a registry: its revision and the rules of its queues change in one batch, so no event is handled half by one and
//! half by the other.

use super::queue;
use crate::command::Reply;
use crate::limits::{QUEUES_MAX, REGISTRY_BYTES_MAX, REGISTRY_QUEUES_MAX};
use crate::names::{Actor, QueueName, WebhookName};
use crate::queue::QueueConfig;
use crate::record::{Payload, Record};
use crate::rejection::Rejection;
use crate::step::Step;
use std::collections::BTreeMap;
use std::sync::Arc;

pub(super) fn put(
    step: &mut Step<'_>,
    text: &Payload,
    queues: &BTreeMap<QueueName, Arc<QueueConfig>>,
    by: &Actor,
) -> Result<Reply, Rejection> {
    let invalid = |why: String| Err(Rejection::Invalid { why });
    if queues.len() > REGISTRY_QUEUES_MAX {
        return invalid(format!("it states {} queues; there may be {REGISTRY_QUEUES_MAX}", queues.len()));
    }
    if text.text().len() > REGISTRY_BYTES_MAX {
        return invalid(format!("it has {} bytes; there may be {REGISTRY_BYTES_MAX}", text.text().len()));
    }
    for (name, config) in queues {
        if let Err(why) = config.check() {
            return invalid(format!("queue `{name}`: {why}"));
        }
    }
    let fresh = queues.keys().filter(|name| step.state().queue(name).is_none()).count();
    if step.state().queues_stated() + fresh > QUEUES_MAX {
        return Err(Rejection::QueuesTaken { max: QUEUES_MAX });
    }
    let before = step.state().registry().clone();
    let revision = before.revision() + 1;
    let names = queues.keys().cloned().collect();
    step.record_registry(Record::RegistryPut { revision, queues: names, by: by.clone() }, text.clone());
    for (name, config) in queues {
        queue::set(step, name, config, by);
    }
    for gone in before.queues().iter().filter(|name| !queues.contains_key(*name)) {
        queue::set(step, gone, &Arc::default(), by);
    }
    Ok(Reply::Registry { revision })
}

pub(super) fn note_refused(step: &mut Step<'_>, webhook: &WebhookName, requests: u32, reason: &str) -> Reply {
    step.record_shard(Record::RequestsRefused { webhook: webhook.clone(), requests, reason: reason.to_owned() });
    Reply::Done
}

pub(super) fn note_signals(step: &mut Step<'_>, signals: u32, reason: &str) -> Reply {
    step.record_shard(Record::SignalsRefused { signals, reason: reason.to_owned() });
    Reply::Done
}

#[cfg(test)]
mod tests;
