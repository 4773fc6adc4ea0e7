//! What is another in a new registry: added, removed or changed, field by field, as data and in words.

use super::Registry;
use super::shown::{self, Shown};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize)]
pub struct Difference {
    pub handlers: Vec<Change>,
    pub queues: Vec<Change>,
    pub crons: Vec<Change>,
    pub webhooks: Vec<Change>,
}

/// One thing that is not as it was.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    Added { name: String, fields: BTreeMap<String, String> },
    Removed { name: String, fields: BTreeMap<String, String> },
    Changed { name: String, fields: Vec<FieldChange> },
}

/// `None`: it says nothing.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct FieldChange {
    pub field: String,
    pub was: Option<String>,
    pub is: Option<String>,
}

/// From one registry to another. What means the same is no difference.
pub fn difference(old: &Registry, new: &Registry) -> Difference {
    Difference {
        handlers: changes(handlers(old), handlers(new)),
        queues: changes(queues(old), queues(new)),
        crons: changes(crons(old), crons(new)),
        webhooks: changes(webhooks(old), webhooks(new)),
    }
}

type Named = BTreeMap<String, Shown>;

fn handlers(registry: &Registry) -> Named {
    let handlers = registry.routes.iter().map(|route| &route.handler);
    handlers.map(|handler| (handler.name.to_string(), shown::handler(handler))).collect()
}

fn queues(registry: &Registry) -> Named {
    registry.queues.iter().filter_map(|(name, queue)| Some((name.to_string(), queue.stated.clone()?))).collect()
}

fn crons(registry: &Registry) -> Named {
    registry.crons().map(|cron| (cron.name.to_string(), shown::cron(cron))).collect()
}

fn webhooks(registry: &Registry) -> Named {
    registry.webhooks().map(|webhook| (webhook.name.to_string(), shown::webhook(webhook))).collect()
}

fn changes(mut old: Named, new: Named) -> Vec<Change> {
    let mut found = Vec::new();
    for (name, is) in new {
        match old.remove(&name) {
            None => found.push(Change::Added { name, fields: is.into_iter().collect() }),
            Some(was) => {
                let fields = fields(was, is);
                if !fields.is_empty() {
                    found.push(Change::Changed { name, fields });
                }
            }
        }
    }
    found.extend(old.into_iter().map(|(name, was)| Change::Removed { name, fields: was.into_iter().collect() }));
    found.sort_by(|a, b| a.name().cmp(b.name()));
    found
}

/// In the order of the new one; what it does not say any more comes last.
fn fields(was: Shown, is: Shown) -> Vec<FieldChange> {
    let mut was: BTreeMap<String, String> = was.into_iter().collect();
    let mut found: Vec<FieldChange> =
        is.into_iter().map(|(field, is)| FieldChange { was: was.remove(&field), field, is: Some(is) }).collect();
    found.retain(|change| change.was != change.is);
    found.extend(was.into_iter().map(|(field, was)| FieldChange { field, was: Some(was), is: None }));
    found
}

impl Change {
    pub fn name(&self) -> &str {
        match self {
            Change::Added { name, .. } | Change::Removed { name, .. } | Change::Changed { name, .. } => name,
        }
    }
}

impl Difference {
    pub fn is_empty(&self) -> bool {
        self.each().next().is_none()
    }

    fn each(&self) -> impl Iterator<Item = (&'static str, &Change)> {
        let all = [("handler", &self.handlers), ("queue", &self.queues), ("cron", &self.crons), ("webhook", &self.webhooks)];
        all.into_iter().flat_map(|(what, changes)| changes.iter().map(move |change| (what, change)))
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return writeln!(f, "nothing is another");
        }
        for (what, change) in self.each() {
            match change {
                Change::Added { name, fields } => {
                    writeln!(f, "{what} {name} is new")?;
                    fields.iter().try_for_each(|(field, is)| writeln!(f, "  {field}: {is}"))?;
                }
                Change::Removed { name, .. } => writeln!(f, "{what} {name} is gone")?,
                Change::Changed { name, fields } => {
                    writeln!(f, "{what} {name} is changed")?;
                    for FieldChange { field, was, is } in fields {
                        match (was, is) {
                            (Some(was), Some(is)) => writeln!(f, "  {field}: {was} -> {is}")?,
                            (None, Some(is)) => writeln!(f, "  {field}: {is} (new)")?,
                            (Some(was), None) => writeln!(f, "  {field}: {was} (gone)")?,
                            (None, None) => {}
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::tests::compiled;

    #[test]
    fn what_is_another_is_told_in_words() {
        let old = compiled(
            "
handlers:
  mail: {on: user/*, task: mail, concurrency: 5, rate: 10/s, if: event.data.a}
  same: {on: [a], task: t, retry: {attempts: 3}, rate: 60/1m}
  gone: {on: b, task: t}
queues:
  bulk: {concurrency: 2, keys: {tenant: {key: event.data.t, concurrency: 1}}}
crons:
  nightly: {schedule: '0 2 * * *', zone: Europe/Berlin}
webhooks:
  gh: {provider: github, secret: '${env:A}'}
",
        );
        let new = compiled(
            "
handlers:
  same: {on: a, task: t, rate: {count: 60, per: 60s}, retry: {attempts: 3, jitter: 10}, mode: live, queue: same}
  mail: {on: user/*, task: mail, concurrency: 8, debounce: {period: 5s, key: event.data.u}, if: event.data.a}
  fresh: {on: c, forward: {url: 'https://x.test/${env:KEY}', headers: {Authorization: 'Bearer ${env:T}'}}, critical: true}
queues:
  bulk: {concurrency: 2, keys: {tenant: {key: event.data.t, concurrency: 3}}, backlog: 9}
crons:
  nightly: {schedule: '0 3 * * *', zone: Europe/Berlin, overlap: skip}
webhooks:
  gh: {provider: github, secrets: ['${env:B}', '${env:A}']}
",
        );
        let found = difference(&old, &new);
        assert_eq!(
            found.to_string(),
            "\
handler fresh is new
  critical: true
  forward.headers: authorization: Bearer ${env:T}
  forward.shape: event
  forward.timeout: 30s
  forward.url: POST https://x.test/${env:KEY}
  input: event
  mode: live
  on: c
  priority: critical
  queue: fresh
handler gone is gone
handler mail is changed
  concurrency: 5 -> 8
  debounce: 5s by event.data.u (new)
  rate: 10/1s (gone)
queue bulk is changed
  keys.tenant.concurrency: 1 -> 3
  backlog: 9, then refuse (new)
cron nightly is changed
  schedule: 0 2 * * * -> 0 3 * * *
  overlap: queue -> skip
webhook gh is changed
  secrets: ${env:A} -> ${env:B}, ${env:A}
"
        );
        assert_eq!(difference(&new, &new).to_string(), "nothing is another\n");
        let json = serde_json::to_value(&found).expect("it can be shown");
        assert_eq!(json["handlers"][2]["fields"][0], serde_json::json!({"field": "concurrency", "was": "5", "is": "8"}));
        assert_eq!(json["handlers"][1]["change"], "removed");
    }
}
