//! The fields of one map, taken by name: those nobody asked for are refused, with the one that was probably meant.

use super::Doubt;
use crate::problem::{At, Problem, Problems, did_you_mean, nearest};
use crate::source::{Data, Entry, Value, short};

/// Fields that name where to go.
const WAYS: [&str; 8] = ["on_error", "to", "rules", "default", "route", "on_max", "on_reject", "on_timeout"];

pub struct Fields<'a> {
    what: String,
    pub at: &'a At,
    entries: &'a [Entry],
    taken: Vec<bool>,
    asked: Vec<&'static str>,
}

impl<'a> Fields<'a> {
    /// `what` as in "a branch has no field `x`".
    pub fn of(value: &'a Value, what: impl Into<String>, problems: &mut Problems) -> Option<Fields<'a>> {
        let what = what.into();
        match &value.data {
            Data::Map(entries) => {
                Some(Fields { what, at: &value.at, entries, taken: vec![false; entries.len()], asked: Vec::new() })
            }
            _ => {
                problems.say(&value.at, format!("{what} is a map, not {}", value.kind()));
                None
            }
        }
    }

    pub fn take(&mut self, key: &'static str) -> Option<&'a Entry> {
        self.asked.push(key);
        let at = self.entries.iter().position(|entry| &*entry.key == key)?;
        self.taken[at] = true;
        Some(&self.entries[at])
    }

    /// As `take`, and its absence is a problem.
    pub fn require(&mut self, key: &'static str, problems: &mut Problems) -> Option<&'a Entry> {
        let entry = self.take(key);
        if entry.is_none() {
            // One that is nearly it was probably meant.
            let untaken = self.entries.iter().zip(&self.taken).filter(|(_, taken)| !**taken).map(|(entry, _)| entry);
            let meant = untaken.into_iter().find(|entry| nearest(&entry.key, [key]).is_some());
            let problem = Problem::new(self.at, format!("{} needs `{key}`", self.what));
            problems.add(match meant {
                Some(entry) => problem.suggest(format!("`{}` is probably meant as `{key}`", short(&entry.key))),
                None => problem,
            });
        }
        entry
    }

    /// What it is called, now that more is known about it.
    pub fn rename(&mut self, what: impl Into<String>) {
        self.what = what.into();
    }

    /// Keys that nobody has asked for yet.
    pub fn left(&self) -> impl Iterator<Item = &'a str> {
        self.entries.iter().zip(&self.taken).filter(|(_, taken)| !**taken).map(|(entry, _)| &*entry.key)
    }

    pub fn what(&self) -> &str {
        &self.what
    }

    /// What is left over may have been meant as an edge.
    pub fn finish(self, problems: &mut Problems) -> Doubt {
        let mut doubt = Doubt::default();
        for (entry, taken) in self.entries.iter().zip(&self.taken) {
            if !taken {
                let problem = Problem::new(&entry.key_at, format!("{} has no field `{}`", self.what, short(&entry.key)));
                doubt.and(match nearest(&entry.key, self.asked.iter().copied()) {
                    None => Doubt::BOTH,
                    Some("after") => Doubt { ins: true, outs: false },
                    Some(near) => Doubt { ins: false, outs: WAYS.contains(&near) },
                });
                let suggestion = did_you_mean(&entry.key, self.asked.iter().copied()).unwrap_or_else(|| {
                    if self.asked.is_empty() {
                        "it has none".to_owned()
                    } else {
                        format!("it may have {}", self.asked.join(", "))
                    }
                });
                problems.add(problem.suggest(suggestion));
            }
        }
        doubt
    }
}
