//! The text of a registry, decoded: one file for each thing it may state. Decoding goes on after a mistake, so that several are
//! told at once.

mod cron;
mod discipline;
mod expression;
mod forward;
mod handler;
mod limit;
mod queue;
mod webhook;

use super::cron::{Cron, Overlap};
use super::handler::{Handler, Mode};
use super::index::Index;
use super::queue::merge;
use super::route::Route;
use super::{Clocked, Registry};
use crate::define::fields::Fields;
use crate::limits::*;
use crate::problem::{At, Problem, Problems};
use crate::source::{Data, Entry, Value};
use kernel::limits::{EVENT_HANDLERS_MAX, REGISTRY_HANDLERS_MAX, REGISTRY_QUEUES_MAX};

pub fn registry(document: &Value, problems: &mut Problems) -> Option<Registry> {
    let mut fields = Fields::of(document, "a registry", problems)?;
    let mut stated = |key, most| fields.take(key).map_or(&[][..], |entry| entries(entry, most, problems));
    let handlers = stated("handlers", REGISTRY_HANDLERS_MAX);
    let queues = stated("queues", REGISTRY_QUEUES_MAX);
    let webhooks = stated("webhooks", WEBHOOKS_MAX);
    let stated_crons = stated("crons", CRONS_MAX);
    fields.finish(problems);
    let handlers: Vec<(Handler, At)> =
        handlers.iter().filter_map(|entry| Some((handler::handler(entry, problems)?, entry.key_at.clone()))).collect();
    let rules = queues.iter().filter_map(|entry| queue::queue(entry, problems)).collect();
    let crons: Vec<(Cron, &Entry)> =
        stated_crons.iter().filter_map(|entry| Some((cron::cron(entry, problems)?, entry))).collect();
    let takes = |handler: &Handler, cron: &Cron| handler.on.iter().any(|pattern| pattern.matches(&cron.event));
    for (cron, entry) in crons.iter().filter(|(cron, _)| !handlers.iter().any(|(handler, _)| takes(handler, cron))) {
        let told = format!("cron `{}` emits `{}`, and no handler takes that", cron.name, cron.event);
        problems.warn(Problem::new(&entry.key_at, told));
    }
    let may_not_overlap: Vec<&Cron> = crons.iter().map(|(cron, _)| cron).filter(|cron| cron.overlap != Overlap::Queue).collect();
    let is_single = |handler: &Handler| handler.singleton.is_some() || may_not_overlap.iter().any(|cron| takes(handler, cron));
    let queues = merge(rules, &handlers, is_single, problems);
    let crons = crons.into_iter().map(|(cron, _)| (cron.name.clone(), Clocked::new(cron))).collect();
    let webhooks = webhooks.iter().filter_map(|entry| webhook::webhook(entry, problems));
    let webhooks = webhooks.map(|webhook| (webhook.name.clone(), webhook)).collect();
    let routes: Vec<Route> = handlers
        .into_iter()
        .map(|(handler, _)| {
            let keys = queues.get(&handler.queue).map(|queue| queue.keys_of(&handler)).unwrap_or_default();
            Route::new(handler, keys)
        })
        .collect();
    // Those in shadow are asked, too: what they would have taken is told.
    let live = |at: usize| (routes[at].handler.mode != Mode::Off).then_some(&routes[at].reads);
    if queues.len() > REGISTRY_QUEUES_MAX {
        let told = format!("{} queues are stated or fed; at most {REGISTRY_QUEUES_MAX} may be", queues.len());
        problems.say(&document.at, told);
    }
    let index = Index::new(routes.iter().map(|route| &route.handler), live);
    if index.handlers_max() > EVENT_HANDLERS_MAX {
        let told = format!("{} handlers take the same event; at most {EVENT_HANDLERS_MAX} may", index.handlers_max());
        problems.say(&document.at, told);
    }
    let warnings = problems.take_warnings();
    let by_name = routes.iter().enumerate().map(|(at, route)| (route.handler.name.clone(), at)).collect();
    Some(Registry { routes, by_name, index, queues, webhooks, crons, warnings })
}

/// Things by their names.
fn entries<'a>(entry: &'a Entry, most: usize, problems: &mut Problems) -> &'a [Entry] {
    match &entry.value.data {
        Data::Map(entries) if entries.len() > most => {
            problems.say(&entry.key_at, format!("there are {} {}; at most {most} are read", entries.len(), entry.key));
            &[]
        }
        Data::Map(entries) => entries,
        Data::Null => &[],
        _ => {
            let told = format!("`{}` is a map from names to what they stand for, not {}", entry.key, entry.value.kind());
            problems.say(&entry.value.at, told);
            &[]
        }
    }
}
