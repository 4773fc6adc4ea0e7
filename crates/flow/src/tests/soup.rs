//! Texts that are nearly right: examples with parts removed, doubled, exchanged. No text makes the compiler panic. `FLOW_SEEDS`
//! says how many are tried.

use super::examples;
use super::generated::{Chance, look};

const SCRAPS: [&str; 28] = [
    "after",
    "type",
    "loop",
    "each",
    "nodes",
    "{}",
    "[]",
    "null",
    "-1",
    "99999999999",
    "\"",
    "'",
    ": ",
    "\n",
    "  ",
    "to",
    "branch",
    "join: any",
    "ü",
    "\u{1F600}",
    "${",
    "}",
    "max_iterations: 1",
    "do:",
    "output",
    "1.5",
    "true",
    "n_of",
];

pub fn mutated(text: &str, scraps: &[&str], chance: &mut Chance) -> String {
    let mut text = text.to_owned();
    let place = |text: &str, chance: &mut Chance| {
        let at = chance.below(text.len() + 1);
        (at..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
    };
    for _ in 0..1 + chance.below(4) {
        let from = place(&text, chance);
        let to = (from + chance.below(40)).min(text.len());
        let to = (to..=text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len());
        match chance.below(4) {
            0 => text.replace_range(from..to, ""),
            1 => text.replace_range(from..to, scraps[chance.below(scraps.len())]),
            2 => {
                let mut words: Vec<String> = text.split_inclusive([' ', ',', ':', '\n']).map(str::to_owned).collect();
                let (a, b) = (chance.below(words.len()), chance.below(words.len()));
                if a != b && !words.is_empty() {
                    words.swap(a, b);
                }
                text = words.concat();
            }
            _ => {
                let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
                if !lines.is_empty() {
                    let line = lines[chance.below(lines.len())].clone();
                    let at = chance.below(lines.len());
                    if chance.one_in(2) { lines.insert(at, line) } else { lines[at] = line }
                }
                text = lines.concat();
            }
        }
    }
    text
}

#[test]
fn nothing_that_is_nearly_right_makes_it_panic() {
    let examples = examples::all();
    let validator = jsonschema::validator_for(&crate::schema::schema()).expect("the schema is one");
    let mut fine = 0;
    let seeds = std::env::var("FLOW_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(6_000);
    for seed in 0..seeds {
        let mut chance = Chance::new(seed);
        let (_, text) = &examples[chance.below(examples.len())];
        let text = mutated(text, &SCRAPS, &mut chance);
        if let Err(problems) = look(&text, &mut chance) {
            assert!(!problems.is_empty() && problems.iter().all(|problem| problem.line > 0), "{problems:?}\n{text}");
        } else {
            fine += 1;
            let document = crate::source::parse(text.as_bytes()).expect("it was read before").to_json();
            let fits = document["nodes"].is_array() || validator.is_valid(&document);
            assert!(fits, "compiles, but does not fit the schema:\n{text}");
        }
    }
    println!("{fine} of {seeds} mutated examples still compile");
    assert!(fine > 100);
}
