//! Queues as the registry makes them: what is stated under `queues:`, and what the handlers say that feed them. A handler's own
//! limits become limits by keys that only its tasks carry, so handlers that share a queue do not disturb one another.

use super::event::EventExpr;
use super::handler::*;
use super::shown::{self, Shown};
use crate::problem::{At, Problem, Problems};
use kernel::handler::SINGLE_KEY;
use kernel::limits::HANDLED_KEYS_MAX;
use kernel::names::{HandlerName, KeyName, QueueName};
use kernel::queue::{Fairness, KeyLimit, QueueConfig};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is stated under `queues:`.
#[derive(Debug)]
pub struct QueueRule {
    pub name: QueueName,
    pub at: At,
    /// Without keys and without `states`.
    pub config: QueueConfig,
    pub keys: Vec<QueueKey>,
    pub states: Statements,
}

#[derive(Debug)]
pub struct QueueKey {
    pub name: KeyName,
    /// `None`: tasks that are added carry it themselves.
    pub from: Option<Arc<EventExpr>>,
    pub limit: KeyLimit,
}

#[derive(Debug)]
pub struct Queue {
    pub config: Arc<QueueConfig>,
    /// What is stated under `queues:`, in words.
    pub stated: Option<Shown>,
    /// The keys that events are counted by, whoever takes them.
    keys: Vec<(KeyName, Arc<EventExpr>)>,
    /// What fairness goes by where a handler does not say.
    fair: Option<Arc<EventExpr>>,
}

/// The key there is one task of at a time.
pub fn single_key(handler: &HandlerName) -> KeyName {
    KeyName::parse(&format!("{handler}{SINGLE_KEY}")).expect("a handler's name leaves room")
}

impl Queue {
    /// The keys of a handler's tasks, but for a singleton's; sorted by name.
    pub fn keys_of(&self, handler: &Handler) -> Vec<(KeyName, KeyFrom)> {
        let own = handler.limits.iter().map(|limit| (limit.name.clone(), limit.key.clone().map_or(KeyFrom::All, KeyFrom::Expr)));
        let queues = self.keys.iter().map(|(name, expr)| (name.clone(), KeyFrom::Expr(expr.clone())));
        let fair = match &handler.states.fairness {
            Some(Stated { value: FairRule { by: FairBy::Expr(expr), .. }, .. }) => Some(expr),
            _ => self.fair.as_ref(),
        };
        let fair = fair.map(|expr| (KeyName::parse(FAIR_KEY).expect("a legal name"), KeyFrom::Expr(expr.clone())));
        let mut keys: Vec<(KeyName, KeyFrom)> = own.chain(queues).chain(fair).collect();
        keys.sort_by(|(a, _), (b, _)| a.cmp(b));
        keys
    }
}

/// Every queue that is stated or fed. `is_single` tells who may have one task at a time only.
pub fn merge(
    rules: Vec<QueueRule>,
    handlers: &[(Handler, At)],
    is_single: impl Fn(&Handler) -> bool,
    problems: &mut Problems,
) -> BTreeMap<QueueName, Queue> {
    let mut rules: BTreeMap<QueueName, QueueRule> = rules.into_iter().map(|rule| (rule.name.clone(), rule)).collect();
    let mut feeders: BTreeMap<QueueName, Vec<&(Handler, At)>> = BTreeMap::new();
    for rule in rules.keys() {
        feeders.entry(rule.clone()).or_default();
    }
    for fed in handlers {
        feeders.entry(fed.0.queue.clone()).or_default().push(fed);
    }
    let mut queues = BTreeMap::new();
    for (name, feeders) in feeders {
        let rule = rules.remove(&name);
        let at = rule.as_ref().map(|rule| rule.at.clone()).or_else(|| feeders.first().map(|(_, at)| at.clone()));
        let before = problems.count();
        let queue = one(&name, rule, &feeders, &is_single, problems);
        if let (Err(why), true, Some(at)) = (queue.config.check(), problems.count() == before, &at) {
            problems.say(at, format!("queue `{name}`: {why}"));
        }
        for (handler, at) in &feeders {
            let keys = queue.keys_of(handler).len() + usize::from(is_single(handler));
            if keys > HANDLED_KEYS_MAX {
                let told =
                    format!("tasks of handler `{}` are counted by {keys} keys; they may be by {HANDLED_KEYS_MAX}", handler.name);
                problems.say(at, told);
            }
        }
        queues.insert(name, queue);
    }
    queues
}

fn one(
    name: &QueueName,
    rule: Option<QueueRule>,
    feeders: &[&(Handler, At)],
    is_single: &impl Fn(&Handler) -> bool,
    problems: &mut Problems,
) -> Queue {
    let stated = rule.as_ref().map(shown::queue);
    let (mut config, stated_keys, own) = match rule {
        Some(rule) => (rule.config, rule.keys, rule.states),
        None => (QueueConfig::default(), Vec::new(), Statements::default()),
    };
    let said = Said { queue: name, own: &own, feeders };
    let fairness = said.agreed("fairness", |states| states.fairness.as_ref(), problems);
    if let Some(rule) = fairness {
        config.fairness = Some(Fairness { key: rule.by.name(), step_ms: rule.step_ms, weights: rule.weights.clone() });
    }
    if let Some(backlog) = said.agreed("backlog", |states| states.backlog.as_ref(), problems) {
        (config.backlog_max, config.backlog_full) = (Some(backlog.max), backlog.full);
    }
    if let Some(heartbeat_ms) = said.agreed("heartbeat", |states| states.heartbeat_ms.as_ref(), problems) {
        config.heartbeat_ms = *heartbeat_ms;
    }
    config.require_tag = said.agreed("require_tag", |states| states.require_tag.as_ref(), problems).cloned();
    let fair = match &own.fairness {
        Some(Stated { value: FairRule { by: FairBy::Expr(expr), .. }, .. }) => Some(expr.clone()),
        _ => None,
    };
    let mut keys = Vec::new();
    for key in stated_keys {
        if key.limit != KeyLimit::default() {
            config.keys.insert(key.name.clone(), key.limit);
        }
        if let Some((handler, at)) = feeders.iter().find(|(handler, _)| handler.name.as_str() == key.name.as_str()) {
            let told = format!("handler `{}` is called as a key of its queue `{name}`: rename one of them", handler.name);
            problems.say(at, told);
        }
        keys.extend(key.from.map(|from| (key.name, from)));
    }
    for (handler, _) in feeders {
        for limit in &handler.limits {
            config.keys.insert(limit.name.clone(), KeyLimit { concurrency: limit.concurrency, rate: limit.rate });
        }
        if is_single(handler) {
            config.keys.insert(single_key(&handler.name), KeyLimit { concurrency: Some(1), rate: None });
        }
    }
    Queue { config: Arc::new(config), stated, keys, fair }
}

/// All who say something of one queue.
struct Said<'a> {
    queue: &'a QueueName,
    own: &'a Statements,
    feeders: &'a [&'a (Handler, At)],
}

impl<'a> Said<'a> {
    /// What all of them say who say anything; the first, if they do not agree.
    fn agreed<T: PartialEq>(
        &self,
        what: &str,
        of: impl Fn(&'a Statements) -> Option<&'a Stated<T>>,
        problems: &mut Problems,
    ) -> Option<&'a T> {
        let own = of(self.own).map(|stated| (None, stated));
        let said = self.feeders.iter().filter_map(|(handler, _)| of(&handler.states).map(|stated| (Some(&handler.name), stated)));
        let mut said = own.into_iter().chain(said);
        let (first, agreed) = said.next()?;
        for (who, stated) in said.filter(|(_, stated)| stated.value != agreed.value) {
            let first = first.map_or_else(|| "the queue itself".to_owned(), |name| format!("handler `{name}`"));
            let who = who.map_or_else(String::new, |name| format!("handler `{name}`"));
            let told =
                format!("of queue `{}`, {who} says another `{what}` than {first} does in line {}", self.queue, agreed.at.line);
            let problem = Problem::new(&stated.at, told);
            problems.add(problem.suggest(format!("say it once, under queues.{}", self.queue)));
        }
        Some(&agreed.value)
    }
}
