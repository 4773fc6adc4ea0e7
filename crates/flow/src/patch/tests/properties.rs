//! Random documents and patches: ours against another's reading, the text round trip, and what lies between two documents.

use super::super::*;
use crate::tests::examples;
use crate::tests::fake::Fake;
use crate::tests::generated::{Chance, listed, native};

const KEYS: [&str; 8] = ["a", "b", "", "a/b", "m~n", "0", "-", "ü\u{2028}\u{85}\u{feff}\"\\\u{1f600}"];
const TEXTS: [&str; 7] = ["", "x", "${input.a}", "true", "12", "a: b # c\n- d", "\u{0}\u{7f}\u{2029}\u{fffe}"];

fn random(chance: &mut Chance, depth: usize) -> Json {
    let kind = match depth {
        // Mostly something to look into.
        0 if !chance.one_in(10) => 5 + chance.below(4),
        0..=3 => chance.below(9),
        _ => chance.below(5),
    };
    match kind {
        0 => Json::Null,
        1 => Json::Bool(chance.one_in(2)),
        2 => Json::Number(chance.below(3).to_string()),
        3 => Json::Number(["-1.5", "1e+30", "123456789012345678901234567890"][chance.below(3)].to_owned()),
        4 => Json::text(TEXTS[chance.below(TEXTS.len())]),
        5 | 6 => Json::List((0..chance.below(4)).map(|_| random(chance, depth + 1)).collect()),
        _ => {
            let keys = KEYS.iter().filter(|_| chance.one_in(2)).collect::<Vec<_>>();
            Json::Map(keys.into_iter().map(|key| ((*key).to_owned(), random(chance, depth + 1))).collect())
        }
    }
}

/// Mostly one that leads somewhere.
fn pointer(document: &Json, chance: &mut Chance) -> Pointer {
    let mut steps = Pointer::default();
    let mut here = document;
    while !chance.one_in(4) {
        let step = match here {
            Json::List(_) if chance.one_in(10) => ["-", "01", "x"][chance.below(3)].to_owned(),
            Json::List(values) => chance.below(values.len() + 1).to_string(),
            Json::Map(entries) if !entries.is_empty() && !chance.one_in(9) => entries[chance.below(entries.len())].0.clone(),
            _ => KEYS[chance.below(KEYS.len())].to_owned(),
        };
        steps.0.push(step.clone());
        match Pointer(vec![step]).find(here) {
            Some(next) => here = next,
            None => break,
        }
    }
    steps
}

fn random_operation(document: &Json, chance: &mut Chance) -> Operation {
    let path = pointer(document, chance);
    let act = match chance.below(6) {
        0 => Act::Add(random(chance, 2)),
        1 => Act::Remove,
        2 => Act::Replace(random(chance, 2)),
        3 => Act::Move { from: pointer(document, chance) },
        4 => Act::Copy { from: pointer(document, chance) },
        _ => Act::Test(path.find(document).filter(|_| !chance.one_in(3)).cloned().unwrap_or(Json::Null)),
    };
    Operation { path, act }
}

fn sorted(json: &Json) -> serde_json::Value {
    serde_json::from_str(&json.compact()).expect("it is JSON")
}

/// Its `patch` stops the process where it cannot undo what it did, so it is asked to leave it: what we leave is looked at elsewhere.
#[test]
fn patches_do_what_another_reading_of_the_rfc_does() {
    let (mut done, mut refused) = (0, 0);
    for seed in 0..20_000 {
        let chance = &mut Chance::new(seed);
        let document = Document(random(chance, 0));
        let mut operations = Operations::default();
        let mut ours = Ok(document.clone());
        for _ in 0..1 + chance.below(3) {
            let Ok(now) = &ours else { break };
            let operation = random_operation(now.json(), chance);
            // A document moved to where it is stays where it is; the library refuses it.
            if operation.path.0.is_empty() && operation.act == (Act::Move { from: Pointer::default() }) {
                continue;
            }
            operations.extend(Operations(vec![operation]));
            ours = document.apply(&operations);
        }
        let mut theirs = sorted(document.json());
        let patch: json_patch::Patch = serde_json::from_str(&operations.text()).expect("the library reads our operations");
        let verdict = json_patch::patch_unsafe(&mut theirs, &patch);
        match (&ours, &verdict) {
            (Ok(ours), Ok(())) => {
                assert_eq!(sorted(ours.json()), theirs, "seed {seed}: {} {}", document.json().compact(), operations.text());
                done += 1;
            }
            (Err(_), Err(_)) => refused += 1,
            _ => panic!("seed {seed}: {} {}: {ours:?}, {verdict:?}", document.json().compact(), operations.text()),
        }
    }
    assert!(done > 3_000 && refused > 3_000, "{done} done, {refused} refused");
}

#[test]
fn what_lies_between_two_documents_makes_one_of_the_other() {
    for seed in 0..20_000 {
        let chance = &mut Chance::new(seed);
        let old = Document(random(chance, 0));
        // As often as not they are alike.
        let mut new = old.clone();
        for _ in 0..chance.below(4) {
            let operation = random_operation(new.json(), chance);
            new = new.apply(&Operations(vec![operation])).unwrap_or(new);
        }
        if chance.one_in(4) {
            new = Document(random(chance, 0));
        }
        let operations = between(&old, &new);
        assert_eq!(old.apply(&operations).as_ref(), Ok(&new), "seed {seed}: {}", operations.text());
        assert!(between(&new, &new).is_empty());
        let read = Operations::read(operations.text().as_bytes());
        assert_eq!(read.as_ref().map(Operations::text), Ok(operations.text()), "seed {seed}");
    }
}

#[test]
fn one_more_in_a_list_is_one_operation() {
    let operations = |old: &str, new: &str| {
        let read = |text: &str| Document::read(text.as_bytes()).expect("read");
        super::shown(&between(&read(old), &read(new)))
    };
    assert_eq!(operations("[a, b, c]", "[a, x, b, c]"), r#"add /1 "x""#);
    assert_eq!(operations("[a, b, c]", "[a, c]"), "remove /1");
    assert_eq!(operations("[a, {k: 1}, c]", "[a, {k: 2}, c]"), "replace /1/k 2");
    assert_eq!(operations("[a, b, c, d]", "[x]"), r#"replace /0 "x"; remove /3; remove /2; remove /1"#);
    assert_eq!(operations("{a: 1, b: 2}", "{b: 2, a: 1}"), "");
    assert_eq!(operations("{a: 1, b: 2, c: {d: 3}}", "{b: 3, c: {}, e: 5}"), "remove /a; replace /b 3; remove /c/d; add /e 5");
    assert_eq!(operations("1", "[1]"), "replace  [1]");
}

#[test]
fn a_text_is_read_again_as_it_was() {
    for seed in 0..5_000 {
        let document = Document(random(&mut Chance::new(seed), 0));
        let text = document.text();
        let again = Document::read(text.as_bytes()).unwrap_or_else(|problems| panic!("seed {seed}: {problems:?}\n{text}"));
        assert_eq!(again.text(), text, "seed {seed}");
        assert_eq!(again, document, "seed {seed}: {text}");
    }
}

#[test]
fn the_text_of_a_definition_compiles_to_the_same() {
    let mut texts: Vec<String> = examples::all().into_iter().map(|(_, text)| text).collect();
    texts.extend((0..500).map(native));
    texts.extend((0..500).map(|seed| listed(&mut Chance::new(seed))));
    let mut fine = 0;
    for text in texts {
        let Ok(compiled) = crate::compile(text.as_bytes(), &Fake) else { continue };
        let document = Document::read(text.as_bytes()).expect("what compiles can be read");
        let again = crate::compile(document.text().as_bytes(), &Fake).expect("it compiles again");
        assert_eq!(again.ir, compiled.ir, "{text}");
        assert!(difference(&compiled.ir, &again.ir).is_empty());
        fine += 1;
    }
    assert!(fine > 300, "{fine} compile");
}

#[test]
fn where_nodes_stand_makes_no_difference() {
    let mut fine = 0;
    for seed in 0..500 {
        let text = native(seed);
        let Ok(compiled) = crate::compile(text.as_bytes(), &Fake) else { continue };
        let Json::Map(mut entries) = Document::read(text.as_bytes()).expect("read").0 else { panic!("a map") };
        if let Json::Map(nodes) = &mut entries[1].1 {
            nodes.reverse();
        }
        let reversed = Document(Json::Map(entries)).text();
        let reversed = crate::compile(reversed.as_bytes(), &Fake).expect("the order of nodes means nothing");
        let difference = difference(&compiled.ir, &reversed.ir);
        assert!(difference.is_empty(), "{difference}\n{text}");
        fine += 1;
    }
    assert!(fine > 100, "{fine} compile");
}
