//! Which handlers take an event, by its name: one look for a name that is stated, one for each of its parts otherwise. What is
//! found is complete: at each stem stand the handlers of all shorter ones too.

use super::handler::Handler;
use super::reads::Reads;
use kernel::names::EventName;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

#[derive(Debug, Default)]
pub struct Index {
    exact: FxHashMap<Box<str>, Taken>,
    /// By the part before the `*`, divider and all.
    stems: FxHashMap<Box<str>, Taken>,
}

/// The handlers that take an event, in the order of the file, and what they read of it all together.
#[derive(Clone, Debug, Default)]
pub struct Taken {
    pub handlers: Vec<u32>,
    pub reads: Reads,
}

impl Index {
    /// `reads` tells what each handler reads; those that are left out are given to nobody.
    pub fn new<'a>(handlers: impl Iterator<Item = &'a Handler>, reads: impl Fn(usize) -> Option<&'a Reads>) -> Index {
        let mut index = Index::default();
        let mut stated: BTreeMap<&str, Vec<u32>> = BTreeMap::new();
        for (at, handler) in handlers.enumerate().filter(|(at, _)| reads(*at).is_some()) {
            handler.on.iter().for_each(|pattern| stated.entry(pattern.as_str()).or_default().push(at as u32));
        }
        for pattern in stated.keys() {
            let stem = pattern.strip_suffix('*');
            let mut handlers: Vec<u32> = stems(stem.unwrap_or(pattern))
                .filter_map(|stem| stated.get(format!("{stem}*").as_str()))
                .chain(stated.get(pattern))
                .flatten()
                .copied()
                .collect();
            handlers.sort_unstable();
            handlers.dedup();
            let reads = handlers.iter().filter_map(|at| reads(*at as usize)).fold(Reads::default(), Reads::and);
            let taken = Taken { handlers, reads };
            match stem {
                Some(stem) => index.stems.insert(stem.into(), taken),
                None => index.exact.insert((*pattern).into(), taken),
            };
        }
        index
    }

    pub fn find(&self, name: &EventName) -> Option<&Taken> {
        let name = name.as_str();
        self.exact.get(name).or_else(|| stems(name).find_map(|stem| self.stems.get(stem)))
    }

    /// The most that one event may be given to.
    pub fn handlers_max(&self) -> usize {
        self.exact.values().chain(self.stems.values()).map(|taken| taken.handlers.len()).max().unwrap_or(0)
    }
}

/// `a/b.`, `a/` and the empty one for `a/b.c`: the longest first.
fn stems(name: &str) -> impl Iterator<Item = &str> {
    let dividers = name.rmatch_indices(['/', '.']).map(|(at, divider)| &name[..at + divider.len()]);
    dividers.chain([""])
}
