//! Random definitions, as JSON text, from a seed: every kind of node, join, way and failure, nested. Expressions are made so
//! that most of them work out and few hang on who comes first; some fail on purpose.

mod edges;
mod expressions;

use crate::chance::Chance;
use crate::outcomes::{Likely, Outcomes};
use edges::mend;
use expressions::Sight;
use serde_json::{Map, Value as Json, json};
use std::collections::{BTreeMap, BTreeSet};

pub struct Made {
    pub workflows: BTreeMap<String, Json>,
    pub input: Json,
    pub outcomes: Outcomes,
}

/// Nodes of all workflows of a seed together, and those of one body.
const NODES_MAX: usize = 36;
const BODY_MAX: usize = 8;
const DEPTH_MAX: usize = 3;

pub fn generate(seed: u64) -> Made {
    let mut maker = Maker {
        chance: Chance::new(seed),
        made: 0,
        workflow: String::new(),
        callable: Vec::new(),
        outcomes: Outcomes { seed, ..Outcomes::default() },
    };
    let mut workflows = BTreeMap::new();
    // From the last to the first, so that each may call those after it.
    for number in (0..maker.chance.from(1, 3)).rev() {
        maker.workflow = format!("w{number}");
        let definition = maker.definition();
        workflows.insert(maker.workflow.clone(), definition);
        maker.callable.push(maker.workflow.clone());
    }
    let list: Vec<usize> = (0..maker.chance.from(0, 3)).map(|_| maker.chance.below(9)).collect();
    let input = json!({"n": maker.chance.below(9), "flag": maker.chance.percent(50), "list": list, "at": "2026-03-01T00:00:00Z"});
    Made { workflows, input, outcomes: maker.outcomes }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    Work,
    Transform,
    Branch,
    Route,
    Approval,
    Sleep,
    Join,
    Each,
    Loop,
    Call,
}

/// A node while its body is made: edges lead only to later ones, and are written into either end.
struct Draft {
    id: String,
    kind: Kind,
    fields: Map<String, Json>,
    leads: bool,
    /// What its expressions may read.
    sight: Sight,
}

struct Maker {
    chance: Chance,
    made: usize,
    workflow: String,
    callable: Vec<String>,
    outcomes: Outcomes,
}

impl Maker {
    fn definition(&mut self) -> Json {
        let size = self.chance.from(2, BODY_MAX);
        let (drafts, mut body) = self.body(size, 0, &Sight::default());
        body["workflow"] = json!(self.workflow);
        body["version"] = json!(1);
        // The house's clock leaps: what waits meanwhile has not stalled.
        body["limits"] = json!({"stall": "300d"});
        if self.chance.percent(50) {
            body["output"] = self.output(&drafts, &Sight::default());
        }
        body
    }

    /// Reads nodes of a frame that has ended.
    fn output(&mut self, drafts: &[Draft], around: &Sight) -> Json {
        let nodes = drafts.iter().map(|draft| (draft.id.clone(), draft.kind == Kind::Work));
        let sight = Sight { nodes: around.nodes.iter().cloned().chain(nodes).collect(), output: None, ..around.clone() };
        self.value(&sight)
    }

    /// A body below the workflow's own has one beginning and one end.
    fn body(&mut self, size: usize, depth: usize, around: &Sight) -> (Vec<Draft>, Json) {
        let mut drafts: Vec<Draft> = Vec::new();
        for at in 0..size {
            let entry = at == 0 || (depth == 0 && self.chance.percent(12));
            self.add(&mut drafts, entry, false, depth, around);
        }
        let open = drafts.iter().filter(|draft| !draft.leads).count();
        if depth > 0 && open > 1 {
            self.add(&mut drafts, false, true, depth, around);
        }
        drafts.iter_mut().for_each(mend);
        for draft in &drafts {
            self.likely(draft, depth);
        }
        let nodes: Map<String, Json> = drafts.iter().map(|draft| (draft.id.clone(), draft.fields.clone().into())).collect();
        (drafts, json!({"nodes": nodes}))
    }

    fn add(&mut self, drafts: &mut Vec<Draft>, entry: bool, end: bool, depth: usize, around: &Sight) {
        let id = format!("n{}", self.made);
        self.made += 1;
        let from: Vec<usize> = if entry {
            Vec::new()
        } else if end {
            (0..drafts.len()).filter(|at| !drafts[*at].leads).collect()
        } else {
            let wanted = [1, 1, 1, 2, 2, 3][self.chance.below(6)].min(drafts.len());
            let mut from = BTreeSet::new();
            while from.len() < wanted {
                // Late ones more often, so that chains grow.
                let at = self.chance.below(drafts.len()).max(self.chance.below(drafts.len()));
                from.insert(at);
            }
            from.into_iter().collect()
        };
        let mut fields = Map::new();
        let mut edges = 0;
        let mut plain = false;
        for at in &from {
            let (count, done) = self.lead(&mut drafts[*at], &id, &mut fields);
            edges += count;
            plain = done;
        }
        let mut draft = Draft { id, kind: Kind::Work, fields, leads: false, sight: around.clone() };
        self.join(&mut draft, drafts, &from, edges);
        let single = if let ([one], true) = (from.as_slice(), plain) { Some(&drafts[*one]) } else { None };
        let after_work = single.is_some_and(|one| one.kind == Kind::Work);
        draft.sight.output = if entry { None } else { Some(after_work) };
        draft.sight.whole &= from.len() < 2 || draft.fields.get("join").is_none_or(|join| join == "all");
        let kind = self.kind(edges, after_work, end, depth);
        if let (Kind::Route, Some(one)) = (kind, single) {
            let key = format!("{}/{}", self.workflow, one.id);
            self.outcomes.nodes.entry(key).or_default().ways.push("nowhere".into());
            draft.fields.insert("before".into(), json!(one.id));
        }
        draft.kind = kind;
        self.fill(&mut draft, depth);
        if self.chance.percent(10) {
            let when = self.flag(&draft.sight);
            draft.fields.insert("when".into(), json!(when));
        }
        if !matches!(kind, Kind::Branch | Kind::Route) && self.chance.percent(14) {
            draft.fields.insert("on_error".into(), json!("ignore"));
        }
        drafts.push(draft);
    }

    fn kind(&mut self, edges: usize, after_work: bool, end: bool, depth: usize) -> Kind {
        const KINDS: [Kind; 10] = [
            Kind::Work,
            Kind::Transform,
            Kind::Branch,
            Kind::Route,
            Kind::Approval,
            Kind::Sleep,
            Kind::Join,
            Kind::Each,
            Kind::Loop,
            Kind::Call,
        ];
        let roomy = self.made < NODES_MAX;
        let if_so = |so: bool, weight: usize| if so { weight } else { 0 };
        let nest = if_so(roomy && depth < DEPTH_MAX, if depth == 0 { 11 } else { 9 });
        let weights = [
            36,
            10,
            if_so(!end, 16),
            if_so(!end && after_work, 14),
            9,
            5,
            if_so(edges >= 2, 25),
            nest,
            nest,
            if_so(!self.callable.is_empty() && depth < 2, 9),
        ];
        KINDS[self.chance.weighted(&weights)]
    }

    fn fill(&mut self, draft: &mut Draft, depth: usize) {
        let sight = draft.sight.clone();
        let set = |draft: &mut Draft, name: &str, value: Json| draft.fields.insert(name.into(), value);
        match draft.kind {
            Kind::Work => {
                set(draft, "type", json!(["x", "y"][self.chance.below(2)]));
                if self.chance.percent(45) {
                    let with = self.template(&sight);
                    set(draft, "with", with);
                }
                if self.chance.percent(25) {
                    let backoff = ["1ms", "200ms", "30s"][self.chance.below(3)];
                    set(draft, "retry", json!({"attempts": self.chance.from(1, 4), "backoff": backoff}));
                }
                if self.chance.percent(6) {
                    set(draft, "key", json!({"tenant": "${input.n}"}));
                }
            }
            Kind::Transform => self.transform(draft, &sight),
            Kind::Branch => {
                set(draft, "type", json!("branch"));
                set(draft, "default", json!([]));
            }
            Kind::Route => _ = set(draft, "type", json!("branch")),
            Kind::Approval => {
                set(draft, "type", json!("approval"));
                if self.chance.percent(40) {
                    let number = self.number(&sight);
                    set(draft, "message", json!(format!("is ${{{number}}} right?")));
                }
                if self.chance.percent(15) {
                    set(draft, "timeout", json!("10m"));
                }
            }
            Kind::Sleep => {
                set(draft, "type", json!("sleep"));
                match self.chance.below(4) {
                    0 => set(draft, "for", json!("5ms")),
                    1 => set(draft, "for", json!("input.n")),
                    2 => set(draft, "until", json!("2026-02-01T00:00:00Z")),
                    _ => set(draft, "until", json!("input.at")),
                };
            }
            Kind::Join => _ = set(draft, "type", json!("join")),
            Kind::Call => {
                set(draft, "type", json!("workflow"));
                let callable = self.chance.one(&self.callable).clone();
                let run = if self.chance.percent(4) { "nobody".to_owned() } else { callable };
                set(draft, "run", json!(run));
                if self.chance.percent(85) {
                    let (n, flag) = (self.number(&sight), self.flag(&sight));
                    let text =
                        |source: String| if source.contains(['{', '}']) { "${1}".to_owned() } else { format!("${{{source}}}") };
                    let flag = if flag.contains(['{', '}']) { json!(true) } else { json!(text(flag)) };
                    set(draft, "with", json!({"n": text(n), "flag": flag, "list": [1, 2], "at": "2026-04-01T00:00:00Z"}));
                }
            }
            Kind::Each | Kind::Loop => self.nested(draft, depth, &sight),
        }
    }

    fn nested(&mut self, draft: &mut Draft, depth: usize, sight: &Sight) {
        let is_each = draft.kind == Kind::Each;
        let inner = Sight { item: sight.item || is_each, turn: sight.turn || !is_each, output: None, ..sight.clone() };
        let size = self.chance.from(1, 4 - depth.min(2));
        let (drafts, mut body) = self.body(size, depth + 1, &inner);
        if self.chance.percent(50) {
            body["output"] = self.output(&drafts, &inner);
        }
        let fields = &mut draft.fields;
        if is_each {
            fields.insert("type".into(), json!("each"));
            let items = self.list(sight);
            fields.insert("items".into(), items);
            if self.chance.percent(50) {
                fields.insert("concurrency".into(), json!(self.chance.from(1, 3)));
            }
            match self.chance.below(4) {
                0 => _ = fields.insert("on_failure".into(), json!("wait_all")),
                1 => _ = fields.insert("on_failure".into(), json!({"tolerate": self.chance.from(0, 2)})),
                2 => _ = fields.insert("on_failure".into(), json!("fail_fast")),
                _ => {}
            }
        } else {
            fields.insert("type".into(), json!("loop"));
            fields.insert("max_iterations".into(), json!(self.chance.from(1, 3)));
            let until = match self.chance.below(6) {
                0 => "true".to_owned(),
                1 => "false".to_owned(),
                2 => "output == null".to_owned(),
                3 => format!("nodes.{}.status == 'done'", self.chance.one(&drafts).id),
                _ => format!("iteration >= {}", self.chance.below(3)),
            };
            fields.insert("until".into(), json!(until));
            if self.chance.percent(50) {
                let init = self.value(sight);
                fields.insert("init".into(), init);
            }
        }
        fields.insert("do".into(), body);
    }

    /// How workers and people will answer, now that all its edges are known.
    fn likely(&mut self, draft: &Draft, depth: usize) {
        let handled = draft.fields.contains_key("on_error");
        let has = |field: &str| draft.fields.contains_key(field);
        let likely = self.outcomes.nodes.entry(format!("{}/{}", self.workflow, draft.id)).or_default();
        *likely = Likely {
            // Items and turns fail more often than runs: what they belong to may be told to bear it.
            fail_percent: if handled { 40 } else { [4, 10, 12, 12][depth] },
            lost_percent: 6,
            ways: std::mem::take(&mut likely.ways),
            no_percent: if has("on_reject") || handled { 35 } else { 5 },
            never_percent: if has("on_timeout") || handled { 40 } else { 5 },
        };
    }
}
