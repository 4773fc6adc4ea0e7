//! Words of scripts: what they mean, and how tasks and instants are shown in answers.

use super::world::START;
use crate::lease::Ending;
use crate::names::*;
use crate::priority::Priority;
use crate::task::Task;
use crate::time::Time;
use std::collections::{BTreeMap, VecDeque};

/// The words of one statement: `name=value` are options, the others plain. Whatever nobody asked for is a mistake.
pub(crate) struct Words {
    plain: VecDeque<&'static str>,
    options: BTreeMap<&'static str, &'static str>,
}

impl Words {
    pub(crate) fn new(text: &str) -> Words {
        // Scripts are few and short: leaking their words keeps every signature free of lifetimes.
        let text: &'static str = Box::leak(text.to_owned().into_boxed_str());
        let mut words = Words { plain: VecDeque::new(), options: BTreeMap::new() };
        for word in text.split_whitespace() {
            match word.split_once('=') {
                None => words.plain.push_back(word),
                Some((name, value)) => assert!(words.options.insert(name, value).is_none(), "{name} is given twice"),
            }
        }
        words
    }

    pub(crate) fn word(&mut self) -> &'static str {
        self.plain.pop_front().expect("a word is missing")
    }

    pub(crate) fn word_or(&mut self, default: &'static str) -> &'static str {
        self.plain.pop_front().unwrap_or(default)
    }

    pub(crate) fn flag(&mut self, word: &str) -> bool {
        let at = self.plain.iter().position(|plain| *plain == word);
        at.map(|at| self.plain.remove(at)).is_some()
    }

    pub(crate) fn option(&mut self, name: &str) -> Option<&'static str> {
        self.options.remove(name)
    }

    pub(crate) fn set(&mut self, name: &str, set: impl FnOnce(&str)) {
        if let Some(text) = self.option(name) {
            set(text);
        }
    }

    pub(crate) fn prefixed(&mut self, prefix: &str) -> Vec<(String, String)> {
        let names: Vec<&str> = self.options.keys().copied().filter(|name| name.starts_with(prefix)).collect();
        names.into_iter().map(|name| (name[prefix.len()..].to_owned(), self.options.remove(name).unwrap().to_owned())).collect()
    }

    pub(crate) fn keys(&mut self) -> Vec<(KeyName, KeyValue)> {
        let keys = self.prefixed("key.").into_iter();
        keys.map(|(name, value)| (KeyName::parse(&name).unwrap(), KeyValue::parse(&value).unwrap())).collect()
    }

    /// `because=the_deploy`
    pub(crate) fn reason(&mut self) -> String {
        self.option("because").unwrap_or_default().replace('_', " ")
    }

    pub(crate) fn end(self, statement: &str) {
        assert!(self.plain.is_empty() && self.options.is_empty(), "{statement}: what are {:?} {:?}?", self.plain, self.options);
    }
}

pub(crate) fn list(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').filter(|part| !part.is_empty())
}

pub(crate) fn queue(text: &str) -> QueueName {
    QueueName::parse(text).unwrap()
}

pub(crate) fn kind(text: &str) -> TypeName {
    TypeName::parse(text).unwrap()
}

pub(crate) fn priority(text: &str) -> Priority {
    Priority::parse(text).unwrap_or_else(|| panic!("`{text}` is not a priority"))
}

const UNITS: [(&str, u64); 4] = [("ms", 1), ("s", 1_000), ("min", 60_000), ("h", 3_600_000)];

pub(crate) fn ms(text: &str) -> u64 {
    let digits = text.trim_end_matches(|c: char| c.is_alphabetic());
    let (_, unit) =
        UNITS.iter().find(|(unit, _)| *unit == &text[digits.len()..]).unwrap_or_else(|| panic!("`{text}`: ms, s, min or h?"));
    digits.parse::<u64>().unwrap() * unit
}

/// An instant as its distance from the start, exact to the microsecond.
pub(crate) fn instant(at: Time) -> String {
    let us = at.us() - START.us();
    match us {
        us if us % 1_000_000 == 0 => format!("{}s", us / 1_000_000),
        us if us % 1_000 == 0 => format!("{}ms", us / 1_000),
        us => format!("{us}us"),
    }
}

/// What there is to say about a task beyond its defaults.
pub(crate) fn task(task: &Task, now: Time) -> String {
    let card = task.card();
    let mut said = vec![task.status().to_string()];
    let mut say = |word: String| said.push(word);
    if card.attempt() > 0 {
        say(format!("attempt={}", card.attempt()));
    }
    if card.priority() != Priority::NORMAL {
        say(format!("prio={}", card.priority().head_start_s()));
    }
    if !card.blocked_by().is_empty() {
        let ids: Vec<String> = card.blocked_by().iter().map(|id| id.to_string()).collect();
        say(format!("by={}", ids.join(",")));
    }
    if let Some(at) = card.scheduled_for() {
        say(format!("at={}", instant(at)));
    }
    match task {
        Task::Queued(queued) => {
            if queued.ready_at() > now {
                say(format!("ready={}", instant(queued.ready_at())));
            }
            queued.is_run_now().then(|| say("run_now".into()));
            queued.is_expedited().then(|| say("expedited".into()));
        }
        Task::Running(running) => {
            running.lease().is_run_now().then(|| say("override".into()));
            match running.lease().ending() {
                None => {}
                Some(Ending::Cancel { .. }) => say("cancelling".into()),
                Some(Ending::TimedOut) => say("timed_out".into()),
            }
        }
        Task::Cancelled(_) => {
            let (cause, by, reason) = task.cancelled_why().unwrap();
            say(format!("{} by {by}", cause.as_str()));
            (!reason.is_empty()).then(|| say(format!("because {reason}")));
        }
        Task::Idle(_) | Task::Done(_) | Task::Failed(_) => {}
    }
    if let Some(failure) = card.failure() {
        say(format!("error={}", failure.code));
    }
    said.join(" ")
}

pub(crate) fn depth(depth: &crate::state::Depth) -> String {
    let counts = [
        ("queued", depth.queued),
        ("blocked", depth.blocked),
        ("scheduled", depth.scheduled),
        ("held", depth.held),
        ("running", depth.running),
        ("overrides", depth.overrides),
        ("in runs", depth.in_runs),
    ];
    let shown: Vec<String> = counts.iter().filter(|(_, n)| *n > 0).map(|(what, n)| format!("{n} {what}")).collect();
    if shown.is_empty() { "empty".into() } else { shown.join(" ") }
}
