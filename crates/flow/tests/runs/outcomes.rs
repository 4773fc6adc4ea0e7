//! What workers and people answer: a pure function of the seed and of which instance of which node asks, so that the
//! reference and the kernel are told the same, in whatever order they ask.

use crate::chance::{Chance, hash};
use serde_json::{Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, Default)]
pub struct Outcomes {
    pub seed: u64,
    /// By `workflow/node`.
    pub nodes: BTreeMap<String, Likely>,
    /// By instance: told by a table of corner cases rather than by chance.
    pub fixed: BTreeMap<String, Fixed>,
    /// Instances that failed and are tried again: now they do not.
    pub mended: BTreeSet<String>,
    /// Instances of which somebody said what they give.
    pub set: BTreeMap<String, Json>,
}

#[derive(Clone, Debug, Default)]
pub struct Likely {
    /// Of a worker: how often its first attempt fails.
    pub fail_percent: u64,
    /// And how often it falls silent.
    pub lost_percent: u64,
    /// Of a worker before a route: the nodes it may name.
    pub ways: Vec<String>,
    /// Of an approval.
    pub no_percent: u64,
    pub never_percent: u64,
}

#[derive(Clone, Debug)]
pub enum Fixed {
    Done(Json),
    Fails,
    Answer(Answer),
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    Yes,
    No,
    Never,
}

pub struct Work {
    /// Attempts whose worker falls silent, and then attempts that fail, before the one that does not.
    pub lost: u32,
    pub failing: u32,
    pub output: Json,
}

/// One node of one frame of one run: `w0/e[1].l[0]/a`, in a run that a node called: `w0/e[1]/call>w1//a`.
pub fn instance(run: &str, frame: &str, node: &str) -> String {
    format!("{run}/{frame}/{node}")
}

/// The run that a node called.
pub fn called(instance: &str, workflow: &str) -> String {
    format!("{instance}>{workflow}")
}

impl Outcomes {
    fn likely(&self, instance: &str) -> Likely {
        let run = instance.rsplit('>').next().expect("a text has a last part");
        let workflow = run.split('/').next().expect("it begins with the workflow");
        let node = run.rsplit('/').next().expect("it ends with the node");
        self.nodes.get(&format!("{workflow}/{node}")).cloned().unwrap_or_default()
    }

    pub fn work(&self, instance: &str) -> Work {
        let work = self.drawn_work(instance);
        if self.mended.contains(instance) { Work { lost: 0, failing: 0, ..work } } else { work }
    }

    fn drawn_work(&self, instance: &str) -> Work {
        match self.fixed.get(instance) {
            Some(Fixed::Done(output)) => return Work { lost: 0, failing: 0, output: output.clone() },
            Some(Fixed::Fails) => return Work { lost: 0, failing: u32::MAX, output: Json::Null },
            _ => {}
        }
        let likely = self.likely(instance);
        let mut chance = Chance::new(hash(self.seed, instance));
        let failing = match chance.percent(likely.fail_percent) {
            true if chance.percent(40) => chance.from(1, 3) as u32,
            true => u32::MAX,
            false => 0,
        };
        let list: Vec<usize> = (0..chance.from(0, 3)).map(|_| chance.below(9)).collect();
        let next = if likely.ways.is_empty() { "" } else { chance.one(&likely.ways) };
        let output = json!({"n": chance.below(10), "ok": chance.percent(60), "list": list, "next": next});
        let lost = if chance.percent(likely.lost_percent) { chance.from(1, 3) as u32 } else { 0 };
        Work { lost, failing, output }
    }

    pub fn answer(&self, instance: &str) -> Answer {
        if self.mended.contains(instance) {
            return Answer::Yes;
        }
        if let Some(Fixed::Answer(answer)) = self.fixed.get(instance) {
            return *answer;
        }
        let likely = self.likely(instance);
        let drawn = hash(self.seed ^ 1, instance) % 100;
        if drawn < likely.no_percent {
            Answer::No
        } else if drawn < likely.no_percent + likely.never_percent {
            Answer::Never
        } else {
            Answer::Yes
        }
    }
}
