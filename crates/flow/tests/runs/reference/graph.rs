//! The graph of a body as its text has it: edges, their order, and what lies on them.

use super::{Cause, Edge, How, On, Policy, Way};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

/// Why the token on an edge is dead; `None`: it is live.
pub(super) fn dead(how: &How, on: &On, to: &str) -> Option<Cause> {
    let live = match (how, on) {
        (How::Done(Way::Done), On::Done) => true,
        (How::Done(Way::Rule(_) | Way::Default | Way::Named(_)), On::Done) => true,
        (How::Done(Way::Rule(took)), On::Rule(rule)) => took == rule,
        (How::Done(Way::Default), On::Default) => true,
        (How::Done(Way::Named(named)), On::Named) => named == to,
        (How::Done(Way::Reject), On::Reject) => true,
        (How::Done(Way::Timeout), On::Timeout) => true,
        (How::Done(Way::Max), On::Max) => true,
        (How::Failed(Policy::To), On::Error) => true,
        (How::Failed(Policy::Ignore), On::Done) => true,
        _ => false,
    };
    if live {
        return None;
    }
    Some(match (how, on) {
        (How::Skipped(cause), _) => *cause,
        (How::Failed(Policy::Ignore), _) => Cause::Untaken,
        (How::Failed(_), _) => Cause::Failed,
        // Whoever waits for a yes takes a no for a failure.
        (How::Done(Way::Reject | Way::Timeout), On::Done) => Cause::Failed,
        (How::Done(_), _) => Cause::Untaken,
    })
}

pub(super) fn shown(how: &How) -> String {
    match how {
        How::Done(Way::Done) => "done".into(),
        How::Done(Way::Rule(rule)) => format!("done rule {rule}"),
        How::Done(Way::Default) => "done default".into(),
        How::Done(Way::Named(id)) => format!("done named {id}"),
        How::Done(Way::Reject) => "done reject".into(),
        How::Done(Way::Timeout) => "done timeout".into(),
        How::Done(Way::Max) => "done max".into(),
        How::Failed(Policy::Fail) => "failed fail".into(),
        How::Failed(Policy::To) => "failed to".into(),
        How::Failed(Policy::Ignore) => "failed ignore".into(),
        How::Skipped(Cause::Untaken) => "skipped untaken".into(),
        How::Skipped(Cause::Failed) => "skipped failed".into(),
    }
}

pub(super) fn policy(definition: &Json) -> Policy {
    match definition.get("on_error") {
        None => Policy::Fail,
        Some(Json::String(text)) if text == "ignore" => Policy::Ignore,
        Some(Json::Object(_)) => Policy::To,
        Some(_) => Policy::Fail,
    }
}

pub(super) fn ids(value: Option<&Json>) -> Vec<String> {
    match value {
        Some(Json::String(id)) => vec![id.clone()],
        Some(Json::Array(list)) => list.iter().map(|id| id.as_str().expect("an id is a text").to_owned()).collect(),
        _ => Vec::new(),
    }
}

/// The edges that lead to each node.
pub(super) fn edges(definitions: &Map<String, Json>) -> BTreeMap<String, Vec<Edge>> {
    let mut ins: BTreeMap<String, Vec<Edge>> = definitions.keys().map(|id| (id.clone(), Vec::new())).collect();
    let mut lead = |from: &str, to: Vec<String>, on: On| {
        let edge = Edge { from: from.to_owned(), on };
        to.iter().for_each(|to| ins.get_mut(to).expect("an edge leads to a node").push(edge.clone()));
    };
    for (id, node) in definitions {
        ids(node.get("after")).iter().for_each(|from| lead(from, vec![id.clone()], On::Done));
        let rules = node.get("rules").and_then(Json::as_array).into_iter().flatten();
        rules.enumerate().for_each(|(rule, written)| lead(id, ids(written.get("to")), On::Rule(rule)));
        lead(id, ids(node.get("default")), On::Default);
        lead(id, ids(node.get("route").and_then(|route| route.get("to"))), On::Named);
        lead(id, ids(node.get("on_error").and_then(|then| then.get("to"))), On::Error);
        lead(id, ids(node.get("on_reject")), On::Reject);
        lead(id, ids(node.get("on_timeout")), On::Timeout);
        lead(id, ids(node.get("on_max")), On::Max);
    }
    ins
}

/// The nodes so that every edge leads forward.
pub(super) fn in_order(definitions: &Map<String, Json>, ins: &BTreeMap<String, Vec<Edge>>) -> Vec<String> {
    let mut order: Vec<String> = Vec::new();
    while order.len() < definitions.len() {
        let ready = definitions.keys().find(|id| !order.contains(id) && ins[*id].iter().all(|edge| order.contains(&edge.from)));
        order.push(ready.expect("there is no circle").clone());
    }
    order
}
