//! Whose history a record belongs to, and how that is written in a word.

use crate::frame::FramePath;
use crate::ids::{BulkId, EventId, RunId, TaskId};
use crate::names::*;
use crate::run::NodeAt;
use rustc_hash::FxHasher;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::Deref;
use std::sync::Arc;

/// One limit key of one queue: `queue/name=value`; without name and value, the queue's own total. Every start under a rate
/// names it in its record, its row and several lists, so it is shared, and hashed once.
#[derive(Clone)]
pub struct KeyRef(Arc<KeyParts>);

#[derive(Debug)]
pub struct KeyParts {
    hash: u64,
    pub queue: QueueName,
    pub key: Option<(KeyName, KeyValue)>,
}

impl KeyRef {
    pub fn new(queue: QueueName, key: Option<(KeyName, KeyValue)>) -> KeyRef {
        let mut hasher = FxHasher::default();
        (&queue, &key).hash(&mut hasher);
        KeyRef(Arc::new(KeyParts { hash: hasher.finish(), queue, key }))
    }
}

impl Deref for KeyRef {
    type Target = KeyParts;

    fn deref(&self) -> &KeyParts {
        &self.0
    }
}

impl PartialEq for KeyRef {
    fn eq(&self, other: &KeyRef) -> bool {
        let alike = || self.hash == other.hash && self.queue == other.queue && self.key == other.key;
        Arc::ptr_eq(&self.0, &other.0) || alike()
    }
}

impl Eq for KeyRef {}

impl PartialOrd for KeyRef {
    fn partial_cmp(&self, other: &KeyRef) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for KeyRef {
    fn cmp(&self, other: &KeyRef) -> Ordering {
        (&self.queue, &self.key).cmp(&(&other.queue, &other.key))
    }
}

impl Hash for KeyRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

impl fmt::Debug for KeyRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.key {
            None => write!(f, "{}", self.queue),
            Some((name, value)) => write!(f, "{}/{name}={value}", self.queue),
        }
    }
}

/// Whose history a record belongs to. Its row is the fold of its records and of nothing else.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Owner {
    Shard,
    Task(TaskId),
    Queue(QueueName),
    Key(KeyRef),
    Bulk(BulkId),
    Workflow(WorkflowName, u32),
    Run(RunId),
    /// A frame below the run's own, which has no history but the run's.
    Frame(RunId, FramePath),
    Node(NodeAt),
    Event(EventId),
    Registry,
    /// The families that this pattern covers.
    Families(Pattern),
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Owner::Shard => f.write_str("shard"),
            Owner::Task(task) => write!(f, "{task}"),
            Owner::Queue(queue) => write!(f, "queue:{queue}"),
            Owner::Key(of) => match &of.key {
                None => write!(f, "rate:{}", of.queue),
                Some((name, value)) => write!(f, "key:{}|{name}={value}", of.queue),
            },
            Owner::Bulk(bulk) => write!(f, "{bulk}"),
            Owner::Event(event) => write!(f, "{event}"),
            Owner::Registry => f.write_str("registry"),
            Owner::Families(pattern) => write!(f, "family:{pattern}"),
            Owner::Workflow(workflow, version) => write!(f, "workflow:{version}:{workflow}"),
            Owner::Run(run) => write!(f, "{run}"),
            Owner::Frame(run, frame) => write!(f, "{run}/{frame}"),
            Owner::Node(NodeAt { run, frame, node }) => write!(f, "{run}/{frame}/{node}"),
        }
    }
}

impl Owner {
    pub fn parse(text: &str) -> Option<Owner> {
        if text == "shard" {
            return Some(Owner::Shard);
        }
        if text == "registry" {
            return Some(Owner::Registry);
        }
        if let Some(pattern) = text.strip_prefix("family:") {
            return Pattern::parse(pattern).ok().map(Owner::Families);
        }
        if let Some(name) = text.strip_prefix("queue:") {
            return QueueName::parse(name).ok().map(Owner::Queue);
        }
        if let Some(name) = text.strip_prefix("rate:") {
            return QueueName::parse(name).ok().map(|queue| Owner::Key(KeyRef::new(queue, None)));
        }
        if let Some(rest) = text.strip_prefix("key:") {
            // Neither a queue's nor a key's name can hold `|` or `=`, so the first of each is the divider.
            let (queue, rest) = rest.split_once('|')?;
            let (name, value) = rest.split_once('=')?;
            let key = Some((KeyName::parse(name).ok()?, KeyValue::parse(value).ok()?));
            return Some(Owner::Key(KeyRef::new(QueueName::parse(queue).ok()?, key)));
        }
        if let Some(name) = text.strip_prefix("workflow:") {
            let (version, name) = name.split_once(':')?;
            let number = version.parse().ok().filter(|number: &u32| number.to_string() == version)?;
            return WorkflowName::parse(name).ok().map(|name| Owner::Workflow(name, number));
        }
        if text.starts_with("run-") {
            let mut parts = text.splitn(3, '/');
            let run = RunId::parse(parts.next()?)?;
            let Some(frame) = parts.next() else { return Some(Owner::Run(run)) };
            let frame = FramePath::parse(frame)?;
            return match parts.next() {
                Some(node) => NodeId::parse(node).ok().map(|node| Owner::Node(NodeAt { run, frame, node })),
                None => Some(Owner::Frame(run, frame)).filter(|_| !text.ends_with('/')),
            };
        }
        let task = || TaskId::parse(text).map(Owner::Task);
        let event = || EventId::parse(text).map(Owner::Event);
        task().or_else(event).or_else(|| BulkId::parse(text).map(Owner::Bulk))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_read_back_as_they_are_shown() {
        for text in [
            "shard",
            "task-9m2",
            "task-9m2.5",
            "queue:ci",
            "rate:ci",
            "key:ci|tenant=a=b|c",
            "bulk-3",
            "event-9m2",
            "registry",
            "family:github/*",
            "workflow:3:refund",
            "run-7",
            "run-7/a[0].b[12]",
            "run-7//pay",
            "run-7/a[0]/b",
        ] {
            assert_eq!(Owner::parse(text).map(|owner| owner.to_string()).as_deref(), Some(text));
        }
        for text in [
            "",
            "queue:",
            "family:",
            "event-",
            "key:ci",
            "key:ci|tenant",
            "task-",
            "rate:a b",
            "run-7/",
            "run-7/a[01]",
            "run-7/a",
            "run-7//a b",
        ] {
            assert_eq!(Owner::parse(text), None, "{text}");
        }
    }
}
