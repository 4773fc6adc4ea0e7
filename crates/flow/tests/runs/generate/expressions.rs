//! Random expressions over what a node may read.

use super::{Draft, Maker};
use serde_json::{Value as Json, json};

/// What an expression may read where it stands.
#[derive(Clone, Debug)]
pub struct Sight {
    pub item: bool,
    pub turn: bool,
    /// There is an `output`; whether it is that of one worker.
    pub output: Option<bool>,
    /// `output` does not hang on who came first.
    pub whole: bool,
    /// With whether it is a worker's.
    pub nodes: Vec<(String, bool)>,
}

impl Default for Sight {
    fn default() -> Sight {
        Sight { item: false, turn: false, output: None, whole: true, nodes: Vec::new() }
    }
}

impl Maker {
    fn node<'a>(&mut self, sight: &'a Sight, work: bool) -> Option<&'a str> {
        let nodes: Vec<&str> = sight.nodes.iter().filter(|(_, is)| *is || !work).map(|(id, _)| id.as_str()).collect();
        if nodes.is_empty() { None } else { Some(*self.chance.one(&nodes)) }
    }

    /// True or false.
    pub(super) fn flag(&mut self, sight: &Sight) -> String {
        // One that fails where its node has no output: only alone, for what `&&` makes of errors is not the same everywhere.
        if let (true, Some(id)) = (self.chance.percent(4), self.node(sight, true)) {
            return format!("nodes.{id}.output.ok");
        }
        match self.chance.below(8) {
            0 => format!("!({})", self.sure(sight)),
            1 => format!("{} && {}", self.sure(sight), self.sure(sight)),
            2 => format!("({} || {})", self.sure(sight), self.sure(sight)),
            _ => self.sure(sight),
        }
    }

    /// One that never fails.
    fn sure(&mut self, sight: &Sight) -> String {
        for _ in 0..4 {
            let drawn = match self.chance.below(11) {
                0 => Some("input.flag".to_owned()),
                1 => Some(format!("input.n > {}", self.chance.below(9))),
                2 if sight.item => Some(format!("index > {}", self.chance.below(2))),
                3 if sight.item => Some(format!("item > {}", self.chance.below(5))),
                4 if sight.turn => Some(format!("iteration > {}", self.chance.below(2))),
                5 if sight.turn => Some("last == null".to_owned()),
                6 => self.node(sight, false).map(|id| format!("nodes.{id}.status == 'done'")),
                7 => self.node(sight, false).map(|id| format!("has(nodes.{id}.output)")),
                8 => self.node(sight, false).map(|id| format!("has(nodes.{id}.error)")),
                9 => self.node(sight, true).map(|id| format!("(nodes.{id}.status == 'done' && nodes.{id}.output.ok)")),
                10 if sight.output == Some(true) && sight.whole => Some("(output != null && output.ok)".to_owned()),
                _ => None,
            };
            if let Some(drawn) = drawn {
                return drawn;
            }
        }
        ["true", "false"][self.chance.below(2)].to_owned()
    }

    /// A number, without braces, so that it may stand in a text.
    pub(super) fn number(&mut self, sight: &Sight) -> String {
        for _ in 0..3 {
            let drawn = match self.chance.below(8) {
                0 => Some("input.n".to_owned()),
                1 => Some("input.n + 1".to_owned()),
                2 => Some("size(input.list)".to_owned()),
                3 if sight.item => Some("item".to_owned()),
                4 if sight.item => Some("index".to_owned()),
                5 if sight.turn => Some("iteration".to_owned()),
                6 => self.node(sight, true).map(|id| format!("nodes.{id}.status == 'done' ? nodes.{id}.output.n : 0")),
                _ => None,
            };
            if let Some(drawn) = drawn {
                return drawn;
            }
        }
        self.chance.below(9).to_string()
    }

    /// A value of any kind, as an expression or a template.
    pub(super) fn value(&mut self, sight: &Sight) -> Json {
        match self.chance.below(9) {
            0 => json!(self.number(sight)),
            1 => json!(self.flag(sight)),
            2 => json!(format!("[{}, {}]", self.number(sight), self.number(sight))),
            3 => json!(format!("{{'n': {}, 'ok': {}}}", self.number(sight), self.flag(sight))),
            4 if sight.output.is_some() => json!("output"),
            5 => json!("input"),
            6 if sight.turn => json!("last"),
            7 => self.template(sight),
            _ => match self.node(sight, false) {
                Some(id) => json!(format!("has(nodes.{id}.output) ? nodes.{id}.output : null")),
                None => json!("run.workflow"),
            },
        }
    }

    /// A list or a map with expressions in it.
    pub(super) fn template(&mut self, sight: &Sight) -> Json {
        let number = self.number(sight);
        let typed = format!("${{{number}}}");
        match self.chance.below(4) {
            0 => json!({"n": typed, "text": format!("n is {typed}, {typed}")}),
            1 => json!([typed, 1, {"deep": [typed]}]),
            2 => match self.node(sight, false) {
                Some(id) => json!({"status": format!("${{nodes.{id}.status}}"), "n": typed}),
                None => json!([]),
            },
            _ => json!({"input": "${input}", "n": typed}),
        }
    }

    /// A list of numbers; now and then it is none.
    pub(super) fn list(&mut self, sight: &Sight) -> Json {
        match self.chance.below(10) {
            0 | 1 => json!("input.list"),
            2 => json!([]),
            3 => json!("[]"),
            4 | 5 => {
                let number = self.number(sight);
                json!([3, format!("${{{number}}}"), 1])
            }
            6 | 7 => match self.node(sight, true) {
                Some(id) => json!(format!("nodes.{id}.status == 'done' ? nodes.{id}.output.list : []")),
                None => json!([1, 2]),
            },
            8 if self.chance.percent(25) => json!("input.n"),
            _ => json!([1, 2, 3]),
        }
    }

    /// What is worked out in the engine: a value, or one of the two that stand for an expression.
    pub(super) fn transform(&mut self, draft: &mut Draft, sight: &Sight) {
        let mut set = |name: &str, value: Json| draft.fields.insert(name.into(), value);
        match self.chance.below(5) {
            0 => {
                set("type", json!("filter"));
                set("items", json!("input.list"));
                set("where", json!(["item > 3", "item != 1", "true"][self.chance.below(3)]));
            }
            1 => {
                set("type", json!("aggregate"));
                set("items", json!("input.list"));
                let op = ["count", "sum", "min", "max", "collect", "first", "last"][self.chance.below(7)];
                set("op", json!(op));
                if op != "count" && self.chance.percent(50) {
                    set("of", json!("item + 1"));
                }
            }
            _ => {
                set("type", json!("transform"));
                let value = self.value(sight);
                set("value", value);
            }
        }
    }
}
