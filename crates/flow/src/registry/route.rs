//! What the handlers make of an event: every expression worked out, nothing decided. Pure, and on the way of every event: the
//! event is put together once for all handlers, and not at all if none of them reads it.

use super::Registry;
use super::event::{Arrival, BoundEvent, EventExpr, budget};
use super::handler::*;
use super::queue::single_key;
use super::reads::Reads;
use crate::expr::Budget;
use kernel::handler::{Dedup, DropRate, FORWARD_TYPE, Gather, Handling, Routed, Singleton, WORKFLOW_TYPE};
use kernel::names::{KeyName, KeyValue, TypeName, WorkflowName};
use kernel::priority::Priority;
use kernel::retry::RetryPolicy;
use std::cell::LazyCell;

/// A handler with all that can be worked out before an event comes.
#[derive(Debug)]
pub struct Route {
    pub handler: Handler,
    pub kind: TypeName,
    /// But for a singleton's; sorted by name.
    pub keys: Vec<(KeyName, KeyFrom)>,
    single: KeyName,
    all: KeyValue,
    pub reads: Reads,
}

/// What comes of being fired by a cron.
#[derive(Copy, Clone, Debug)]
pub struct Fired<'a> {
    /// What the tasks of one cron are told apart from others by.
    pub value: &'a KeyValue,
    /// `None`: they may overlap.
    pub replace: Option<bool>,
    pub critical: bool,
}

impl Route {
    pub fn new(handler: Handler, keys: Vec<(KeyName, KeyFrom)>) -> Route {
        let kind = match &handler.does {
            Does::Workflow(_) => TypeName::parse(WORKFLOW_TYPE).expect("a legal name"),
            Does::Forward(_) => TypeName::parse(FORWARD_TYPE).expect("a legal name"),
            Does::Task(kind) => kind.clone(),
        };
        let single = single_key(&handler.name);
        let all = KeyValue::parse(ALL_VALUE).expect("a legal value");
        let mut route = Route { handler, kind, keys, single, all, reads: Reads::default() };
        route.reads = route.exprs().fold(Reads::default(), |reads, expr| reads.and(expr.reads()));
        route
    }

    fn exprs(&self) -> impl Iterator<Item = &EventExpr> {
        let handler = &self.handler;
        let keys = self.keys.iter().filter_map(|(_, from)| if let KeyFrom::Expr(expr) = from { Some(&**expr) } else { None });
        let priority = match &handler.priority {
            Some(Urgency::Expr(expr)) => Some(expr),
            _ => None,
        };
        [
            handler.condition.as_ref(),
            priority,
            handler.drop_rate.as_ref().and_then(|drop_rate| drop_rate.key.as_ref()),
            handler.gather.as_ref().and_then(Gathering::key),
            handler.singleton.as_ref().and_then(|single| single.key.as_ref()),
            handler.dedup.as_ref().and_then(|dedup| dedup.key.as_ref()),
        ]
        .into_iter()
        .flatten()
        .chain(keys)
    }

    pub fn workflow(&self) -> Option<&WorkflowName> {
        if let Does::Workflow(workflow) = &self.handler.does { Some(workflow) } else { None }
    }

    /// `None`: its condition does not hold.
    pub fn handle(
        &self,
        arrival: &Arrival<'_>,
        event: &BoundEvent,
        fired: Option<Fired<'_>>,
    ) -> Option<Result<Handling, String>> {
        let mut working = Working { route: self, event, budget: budget() };
        match working.holds() {
            Ok(false) => None,
            Ok(true) => Some(working.handling(arrival, fired)),
            Err(why) => Some(Err(why)),
        }
    }
}

struct Working<'a> {
    route: &'a Route,
    event: &'a BoundEvent,
    /// One for all expressions of the handler.
    budget: Budget,
}

impl Working<'_> {
    fn holds(&mut self) -> Result<bool, String> {
        let condition = self.route.handler.condition.as_ref();
        condition.map_or(Ok(true), |condition| condition.flag(self.event, &mut self.budget))
    }

    /// The value of a key; without an expression all events are alike.
    fn key(&mut self, key: Option<&EventExpr>) -> Result<Option<KeyValue>, String> {
        match key {
            Some(key) => key.key(self.event, &mut self.budget),
            None => Ok(Some(self.route.all.clone())),
        }
    }

    fn handling(&mut self, arrival: &Arrival<'_>, fired: Option<Fired<'_>>) -> Result<Handling, String> {
        let route = self.route;
        let handler = &route.handler;
        let priority = match &handler.priority {
            Some(Urgency::Fixed(priority)) => *priority,
            Some(Urgency::Expr(expr)) => expr.priority(self.event, &mut self.budget)?,
            None => arrival.spec.priority.unwrap_or(Priority::NORMAL),
        };
        let mut keys = Vec::with_capacity(route.keys.len() + 1);
        for (name, from) in &route.keys {
            let value = match from {
                KeyFrom::All => Some(route.all.clone()),
                KeyFrom::Expr(expr) => expr.key(self.event, &mut self.budget)?,
            };
            keys.extend(value.map(|value| (name.clone(), value)));
        }
        let singleton = self.singleton(fired)?;
        if let Some(singleton) = &singleton {
            let at = keys.partition_point(|(name, _)| *name < route.single);
            keys.insert(at, (route.single.clone(), singleton.key.clone()));
        }
        Ok(Handling {
            queue: handler.queue.clone(),
            kind: route.kind.clone(),
            workflow: route.workflow().cloned(),
            whole: handler.whole,
            priority,
            keys,
            tags: handler.tags.clone(),
            // A run retries its nodes itself: begun anew as a whole, it would do again what is done.
            retry: handler.retry.or(route.workflow().map(|_| RetryPolicy { attempts: 1, ..RetryPolicy::default() })),
            budget_ms: handler.budget_ms,
            delay_ms: handler.delay_ms,
            start_within_ms: handler.start_within_ms,
            critical: handler.critical || fired.is_some_and(|fired| fired.critical),
            dedup: self.dedup(arrival)?,
            drop_rate: self.drop_rate()?,
            singleton,
            gather: self.gather()?,
        })
    }

    /// Its own, or that of the cron that fired it.
    fn singleton(&mut self, fired: Option<Fired<'_>>) -> Result<Option<Singleton>, String> {
        if let Some(single) = &self.route.handler.singleton {
            return Ok(self.key(single.key.as_ref())?.map(|key| Singleton { key, replace: single.replace }));
        }
        let fired = fired.and_then(|fired| fired.replace.map(|replace| (fired.value, replace)));
        Ok(fired.map(|(value, replace)| Singleton { key: value.clone(), replace }))
    }

    fn dedup(&mut self, arrival: &Arrival<'_>) -> Result<Option<Dedup>, String> {
        let Some(dedup) = &self.route.handler.dedup else { return Ok(None) };
        let key = match (&dedup.key, &arrival.spec.dedup_key) {
            (Some(key), _) => key.key(self.event, &mut self.budget)?,
            (None, Some(key)) => Some(key.clone()),
            (None, None) => KeyValue::parse(arrival.id()).ok(),
        };
        Ok(key.map(|key| Dedup { key, window_ms: dedup.window_ms }))
    }

    fn drop_rate(&mut self) -> Result<Option<DropRate>, String> {
        let Some(drop_rate) = &self.route.handler.drop_rate else { return Ok(None) };
        Ok(self.key(drop_rate.key.as_ref())?.map(|key| DropRate { rate: drop_rate.rate, key }))
    }

    fn gather(&mut self) -> Result<Option<Gather>, String> {
        let Some(gather) = &self.route.handler.gather else { return Ok(None) };
        let Some(key) = self.key(gather.key())? else { return Ok(None) };
        Ok(Some(match gather {
            Gathering::Debounce { period_ms, max_wait_ms, .. } => {
                Gather::Debounce { key, period_ms: *period_ms, max_wait_ms: *max_wait_ms }
            }
            Gathering::Batch { size, timeout_ms, .. } => Gather::Batch { key, size: *size, timeout_ms: *timeout_ms },
        }))
    }
}

impl Registry {
    /// What each handler that takes the event makes of it, in the order of the file. An expression that fails fails its own
    /// handler only. Handlers in shadow are marked: they
    /// make nothing.
    pub fn route(&self, arrival: &Arrival<'_>) -> Vec<Routed> {
        let Some(taken) = self.index.find(&arrival.spec.name) else { return Vec::new() };
        let event = BoundEvent::bind(arrival, &taken.reads);
        // Whoever fails is told with all that is there.
        let whole = LazyCell::new(|| BoundEvent::bind(arrival, &taken.reads.clone().widened()));
        let fired = self.fired(arrival.spec);
        let routes = taken.handlers.iter().map(|at| &self.routes[*at as usize]);
        let made = routes.filter_map(|route| {
            let handling = match route.handle(arrival, &event, fired)? {
                Ok(handling) => Ok(handling),
                Err(_) => route.handle(arrival, &whole, fired)?,
            };
            let Handler { name, queue, mode, .. } = &route.handler;
            let (handler, queue, shadow) = (name.clone(), queue.clone(), *mode == Mode::Shadow);
            Some(Routed { handler, queue, shadow, handling: handling.map(Box::new).map_err(Into::into) })
        });
        made.collect()
    }
}
