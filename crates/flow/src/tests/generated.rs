//! Random definitions, most of them right: whatever compiles keeps the promises and can be drawn.

use super::fake::Fake;
use super::promises::validate;
use crate::graph::svg::tests::sound;
use crate::graph::{drawn, mermaid};
use crate::{Problem, compile};

/// A small generator of numbers: the same seed, the same text.
pub struct Chance(u64);

impl Chance {
    pub fn new(seed: u64) -> Chance {
        Chance(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound.max(1)
    }

    pub fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }
}

/// Compiles, and if that works looks at everything that comes of it.
pub fn look(text: &str, chance: &mut Chance) -> Result<(), Vec<Problem>> {
    let compiled = compile(text.as_bytes(), &Fake)?;
    validate(&compiled.ir);
    let picture = drawn(&compiled.ir, chance.below(140));
    assert!(!picture.contains('\u{1b}') && mermaid(&compiled.ir).starts_with("flowchart TD\n"));
    sound(&compiled.ir, None);
    Ok(())
}

struct Writer {
    chance: Chance,
    count: usize,
}

impl Writer {
    /// Nodes of one body, in a flow map. `inside`: with one beginning and one end.
    fn nodes(&mut self, depth: usize, inside: bool) -> String {
        let count = 1 + self.chance.below(if depth == 0 { 8 } else { 4 });
        let ids: Vec<String> = (0..count).map(|at| format!("n{}", self.count + at)).collect();
        self.count += count;
        // Those a way out of a branch leads to.
        let mut led = vec![Vec::new(); count];
        let mut texts = Vec::new();
        for at in 0..count {
            let mut after: Vec<usize> = match at {
                0 => Vec::new(),
                // In a body, what comes next comes after all that is open: one end.
                _ if inside => vec![at - 1],
                _ => (0..at).filter(|_| self.chance.one_in(3)).collect(),
            };
            after.retain(|from| !led[at].contains(from));
            let (kind, to) = self.kind(depth, at, count, &ids);
            to.iter().for_each(|to| led[*to].push(at));
            let mut text =
                format!("{kind}, after: [{}]", after.iter().map(|at| ids[*at].as_str()).collect::<Vec<_>>().join(", "));
            if after.len() > 1 && led[at].is_empty() {
                text += ["", ", join: any", ", join: all", ", join: {n_of: 2}"][self.chance.below(4)];
            }
            if let (Some(from), true) = (after.first(), self.chance.one_in(2)) {
                text += &format!(", when: nodes.{}.output && output", ids[*from]);
            }
            texts.push(format!("{}: {{{text}}}", ids[at]));
        }
        texts.join(", ")
    }

    fn kind(&mut self, depth: usize, at: usize, count: usize, ids: &[String]) -> (String, Vec<usize>) {
        let later: Vec<usize> = (at + 1..count).collect();
        let next = later.first().copied();
        match (self.chance.below(12), next) {
            (0, Some(next)) => {
                let last = later[self.chance.below(later.len())];
                (
                    format!(
                        "type: branch, rules: [{{when: input.a, to: {}}}, {{when: input.b, to: {}}}], default: []",
                        ids[next], ids[last]
                    ),
                    vec![next, last],
                )
            }
            (1, Some(next)) => (format!("type: approval, timeout: 1h, on_reject: {0}, on_timeout: {0}", ids[next]), Vec::new()),
            (2, Some(next)) => (format!("type: x, on_error: {{to: {}}}", ids[next]), Vec::new()),
            (3, Some(next)) if depth < 3 => {
                let nodes = self.nodes(depth + 1, true);
                (
                    format!(
                        "type: loop, max_iterations: 3, until: output == last, on_max: {}, do: {{nodes: {{{nodes}}}}}",
                        ids[next]
                    ),
                    Vec::new(),
                )
            }
            (4, _) if depth < 3 => {
                let nodes = self.nodes(depth + 1, true);
                (
                    format!("type: each, items: input.rows, do: {{nodes: {{{nodes}}}, output: \"{{'i': index, 'v': item}}\"}}"),
                    Vec::new(),
                )
            }
            (9, Some(next)) => {
                (format!("type: wait, event: a/b, match: event.a == input.b, timeout: 1h, on_timeout: {}", ids[next]), Vec::new())
            }
            (5, _) => ("type: sleep, for: 5s".to_owned(), Vec::new()),
            (6, _) => ("type: transform, value: input.x".to_owned(), Vec::new()),
            (7, _) => ("type: workflow, run: other, on_error: ignore".to_owned(), Vec::new()),
            (8, _) if depth > 0 => ("type: x, with: ['${input}', 1]".to_owned(), Vec::new()),
            _ => ("type: x".to_owned(), Vec::new()),
        }
    }
}

/// A random definition as a map of nodes.
pub fn native(seed: u64) -> String {
    let mut writer = Writer { chance: Chance::new(seed), count: 0 };
    format!("{{workflow: w, nodes: {{{}}}}}", writer.nodes(0, false))
}

#[test]
fn what_compiles_keeps_the_promises_and_fits_the_schema() {
    let validator = jsonschema::validator_for(&crate::schema::schema()).expect("the schema is one");
    let mut fine = 0;
    for seed in 0..3_000 {
        let mut writer = Writer { chance: Chance::new(seed), count: 0 };
        let text = format!("{{workflow: w, nodes: {{{}}}}}", writer.nodes(0, false));
        if look(&text, &mut writer.chance).is_ok() {
            fine += 1;
            let document = crate::source::parse(text.as_bytes()).expect("it was read before").to_json();
            assert!(seed % 10 > 0 || validator.is_valid(&document), "{text}");
        }
    }
    println!("{fine} of 3000 random definitions compile");
    assert!(fine > 1_000, "only {fine} of 3000 random definitions compile");
}

/// Random edges, some back into a loop.
pub fn listed(chance: &mut Chance) -> String {
    let count = 2 + chance.below(9);
    let mut nodes = Vec::new();
    let mut edges = Vec::new();
    for at in 0..count {
        let kind = match chance.below(8) {
            0 if at > 0 => {
                let back = at - 1 - chance.below(at.min(3));
                format!("type: loop, config: {{condition: output.again, max_iterations: 2, loop_back_to: n{back}}}")
            }
            1 if at + 1 < count => "type: conditional".to_owned(),
            2 => "type: parallel".to_owned(),
            3 => "type: hitl".to_owned(),
            _ => "type: x".to_owned(),
        };
        for to in at + 1..count {
            if to == at + 1 && !chance.one_in(5) || chance.one_in(8) {
                let condition = if kind.contains("conditional") || chance.one_in(8) { ", condition: output.n > 1" } else { "" };
                edges.push(format!("{{from: n{at}, to: n{to}{condition}}}"));
            }
        }
        nodes.push(format!("{{id: n{at}, {kind}}}"));
    }
    format!("{{metadata: {{name: w}}, nodes: [{}], edges: [{}]}}", nodes.join(", "), edges.join(", "))
}

#[test]
fn lists_of_edges_keep_them_too() {
    let (mut fine, mut loops) = (0, 0);
    for seed in 0..5_000 {
        let mut chance = Chance::new(seed);
        let text = listed(&mut chance);
        if look(&text, &mut chance).is_ok() {
            fine += 1;
            loops += usize::from(text.contains("loop_back_to"));
        }
    }
    println!("{fine} of 5000 random lists of edges compile, {loops} with loops");
    assert!(fine > 1_000 && loops > 200, "only {fine} of 5000 compile, {loops} with loops");
}
