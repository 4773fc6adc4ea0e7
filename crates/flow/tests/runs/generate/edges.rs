//! Edges between nodes that are being made: each is written into the text of one of its ends.

use super::{Draft, Kind, Maker};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeSet;

impl Maker {
    /// An edge or two from a node that is there to a new one. How many, and whether the one is on `done`.
    pub(super) fn lead(&mut self, from: &mut Draft, to: &str, fields: &mut Map<String, Json>) -> (usize, bool) {
        from.leads = true;
        let mut ways: BTreeSet<&str> = BTreeSet::new();
        let count = if self.chance.percent(12) { 2 } else { 1 };
        for _ in 0..count {
            let error = if from.fields.get("on_error").is_none_or(Json::is_object) { 14 } else { 0 };
            let way = match from.kind {
                Kind::Branch => ["rule", "default", "after", "error"][self.chance.weighted(&[60, 25, 15, error / 3])],
                Kind::Route => ["to", "after", "error"][self.chance.weighted(&[85, 8, error])],
                Kind::Approval => ["after", "on_reject", "on_timeout", "error"][self.chance.weighted(&[50, 25, 20, error])],
                Kind::Loop => ["after", "on_max", "error"][self.chance.weighted(&[70, 25, error])],
                _ => ["after", "error"][self.chance.weighted(&[100, error])],
            };
            // Whichever way it goes, and one of its ways: that is refused.
            let both = |one: &str, other: &str| ways.contains(one) && way == other;
            let refused = [("after", "rule"), ("after", "default"), ("after", "to")];
            if refused.into_iter().any(|(one, other)| both(one, other) || both(other, one)) || !ways.insert(way) {
                continue;
            }
            match way {
                "after" => push(fields, "after", &from.id),
                "rule" => self.rule(from, to),
                "to" => {
                    let route = from.fields.entry("route").or_insert_with(|| json!({"to": []}));
                    route["to"].as_array_mut().expect("a list").push(json!(to));
                    let before = from.fields["before"].as_str().expect("a route has one before it").to_owned();
                    let key = format!("{}/{before}", self.workflow);
                    let ways = &mut self.outcomes.nodes.entry(key).or_default().ways;
                    ways.extend([to.to_owned(), to.to_owned(), to.to_owned()]);
                }
                "error" => {
                    let then = from.fields.entry("on_error").or_insert_with(|| json!({"to": []}));
                    then["to"].as_array_mut().expect("a list").push(json!(to));
                }
                way => {
                    if way == "on_timeout" {
                        from.fields.insert("timeout".into(), json!("1h"));
                    }
                    push(&mut from.fields, way, to);
                }
            }
        }
        (ways.len(), ways.len() == 1 && ways.contains("after"))
    }

    fn rule(&mut self, from: &mut Draft, to: &str) {
        let when = self.flag(&from.sight);
        let rules = from.fields.entry("rules").or_insert_with(|| json!([])).as_array_mut().expect("a list");
        if !rules.is_empty() && (rules.len() > 2 || self.chance.percent(30)) {
            let at = self.chance.below(rules.len());
            rules[at]["to"].as_array_mut().expect("a list").push(json!(to));
        } else {
            rules.push(json!({"when": when, "to": [to]}));
        }
    }

    /// How it joins, and what it may read after that.
    pub(super) fn join(&mut self, draft: &mut Draft, drafts: &[Draft], from: &[usize], edges: usize) {
        let seen = |at: &usize| {
            let one = &drafts[*at];
            let own = one.sight.nodes.iter().filter(|node| !draft.sight.nodes.contains(node)).cloned();
            own.chain([(one.id.clone(), one.kind == Kind::Work)]).collect::<BTreeSet<(String, bool)>>()
        };
        let seen: Vec<BTreeSet<(String, bool)>> = from.iter().map(seen).collect();
        let mut all: BTreeSet<(String, bool)> = seen.iter().flatten().cloned().collect();
        if edges >= 2 {
            let wanted = match self.chance.weighted(&[40, 10, 30, 20]) {
                0 => None,
                1 => {
                    draft.fields.insert("join".into(), json!("all"));
                    None
                }
                2 => {
                    draft.fields.insert("join".into(), json!("any"));
                    Some(1)
                }
                _ => {
                    let wanted = self.chance.from(1, from.len());
                    draft.fields.insert("join".into(), json!({"n_of": wanted}));
                    Some(wanted)
                }
            };
            if wanted.is_some_and(|wanted| wanted < from.len()) {
                all.retain(|node| seen.iter().all(|seen| seen.contains(node)));
            }
        }
        draft.sight.nodes.extend(all);
    }
}

fn push(fields: &mut Map<String, Json>, name: &str, id: &str) {
    fields.entry(name).or_insert_with(|| json!([])).as_array_mut().expect("a list").push(json!(id));
}

/// A branch without a rule, and a route without a way, are refused: they become what they can be.
pub(super) fn mend(draft: &mut Draft) {
    draft.fields.remove("before");
    let default = draft.fields.get("default").cloned().unwrap_or_default();
    match draft.kind {
        Kind::Branch if !draft.fields.contains_key("rules") && default != json!([]) => {
            draft.fields.insert("rules".into(), json!([{"when": "input.flag", "to": default}]));
        }
        Kind::Branch if !draft.fields.contains_key("rules") => {
            draft.fields.remove("default");
            draft.fields.insert("type".into(), json!("transform"));
            draft.fields.insert("value".into(), json!("1"));
        }
        Kind::Route if !draft.fields.contains_key("route") => {
            draft.fields.insert("type".into(), json!("transform"));
            draft.fields.insert("value".into(), json!("2"));
        }
        _ => {}
    }
}
