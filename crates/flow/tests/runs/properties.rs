//! What must hold for every seed, and what must have occurred in all of them together.

use crate::chance::Chance;
use crate::generate::{Made, generate};
use crate::house::{Compiled, House, Ways};
use crate::outcomes::Outcomes;
use crate::reference::{Expected, Seen, expect};
use flow::Language;
use kernel::run::RunStatus;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

const SEEDS_DEFAULT: u64 = 300;

pub fn compiled(workflows: &BTreeMap<String, Json>) -> Vec<Compiled> {
    let compile = |definition: &Json| {
        let text = serde_json::to_string_pretty(definition).expect("a definition is JSON");
        let told =
            |problems: Vec<flow::Problem>| -> String { problems.iter().map(|problem| problem.shown("definition")).collect() };
        let compiled = flow::compile(text.as_bytes(), &Language).unwrap_or_else(|problems| panic!("{}\n{text}", told(problems)));
        Compiled { text: text.into(), ir: Arc::new(compiled.ir) }
    };
    workflows.values().map(compile).collect()
}

/// The run's end, each instance and its output are those of the reference, as far as these are certain. Of a run that was tried
/// again and broken off again, an instance may be left as it was the time `before`.
pub fn compare(house: &House<'_>, expected: &Expected, cancelled: bool, before: Option<&Expected>) {
    let (status, output) = house.result();
    let late = house.failure().is_some_and(|failure| ["deadline", "steps_spent"].contains(&failure.code.as_str()));
    if late || (cancelled && status == RunStatus::Cancelled) {
        // Whatever had come about by then is as it would have been.
    } else {
        assert_eq!(status, if expected.done { RunStatus::Done } else { RunStatus::Failed }, "the run's status");
        if let (true, Seen::Value(wanted)) = (expected.done, &expected.output) {
            assert_eq!(&output, wanted, "the run's output");
        }
    }
    let broken_off = status == RunStatus::Cancelled || late;
    let was = |instance: &String| before.and_then(|before| before.nodes.get(instance));
    let mut differ = Vec::new();
    for (instance, wanted) in &expected.nodes {
        match house.ledger.nodes.get(instance) {
            Some(became) if became.how == wanted.how => {
                if let (Some(at), Seen::Value(wanted)) = (became.output, &wanted.output) {
                    assert_eq!(&house.output(at), wanted, "the output of {instance}");
                }
            }
            Some(became) if (broken_off || !wanted.certain) && became.how == "cancelled" => {}
            None if broken_off || !wanted.certain || house.forked => {}
            Some(became) if !wanted.certain && was(instance).is_some_and(|was| was.how == became.how) => {}
            other => {
                let how = other.map_or("not there", |became| &became.how);
                differ.push(format!("{instance} is {how}, not {}", wanted.how));
            }
        }
    }
    assert!(differ.is_empty(), "{differ:#?}");
    for instance in house.ledger.nodes.keys() {
        assert!(expected.nodes.contains_key(instance), "{instance} came about and should not have");
    }
}

#[derive(Default)]
struct Sum {
    occurred: BTreeSet<String>,
    done: usize,
    failed: usize,
    cancelled: usize,
    vague: usize,
    commands: usize,
    replayed: usize,
    instances: usize,
}

fn run(seed: u64, made: &Made, sum: &mut Sum) {
    let expected = expect(&made.workflows, &made.outcomes, "w0", &made.input);
    let mut chance = Chance::new(seed ^ 0x5eed);
    // The reference knows of no such limit: what has come about by then is as it would have been.
    let steps = chance.percent(8).then(|| chance.from(1, 30) as u32);
    let mut workflows = made.workflows.clone();
    if let Some(steps) = steps {
        workflows.get_mut("w0").expect("the first")["limits"]["steps"] = steps.into();
    }
    let irs = compiled(&workflows);
    for apart in [false, true] {
        let cancels = chance.percent(10);
        let ways = Ways {
            apart,
            missing_percent: [0, 10, 60][chance.below(3)],
            dearer: [1, 1_000][chance.below(2)],
            restart_percent: [0, 3, 25][chance.below(3)],
            pause_percent: [0, 0, 3][chance.below(3)],
            cancel_after: cancels.then(|| chance.from(1, 40)),
            deadline_ms: if chance.percent(8) { Some(chance.from(1, 3_000) as u64) } else { None },
            change_percent: 0,
        };
        let mut house = House::new(&irs, &made.outcomes, expected.as_ref().ok(), ways, chance.next());
        house.start("w0", &made.input);
        house.live();
        match &expected {
            Ok(expected) => compare(&house, expected, cancels, None),
            Err(_) => sum.vague += 1,
        }
        // What failed it does so no more: then all is as if it had never failed.
        let fatal = expected.as_ref().map(|expected| expected.fatal.clone()).unwrap_or_default();
        let again = Outcomes { mended: fatal, ..made.outcomes.clone() };
        let wanted = expect(&made.workflows, &again, "w0", &made.input);
        if house.result().0 != RunStatus::Done && chance.percent(70) && house.retry(&again, wanted.as_ref().ok()) {
            house.live();
            if let Ok(wanted) = &wanted {
                compare(&house, wanted, false, expected.as_ref().ok());
            }
        }
        if house.failure().is_some_and(|failure| failure.code == "deadline") {
            sum.occurred.insert("too late".into());
        }
        if house.failure().is_some_and(|failure| failure.code == "steps_spent") {
            sum.occurred.insert("steps spent".into());
        }
        let begun = house.begun();
        assert!(steps.is_none_or(|steps| begun <= steps), "{begun} steps of {steps:?}");
        match house.result().0 {
            RunStatus::Done => sum.done += 1,
            RunStatus::Failed => sum.failed += 1,
            RunStatus::Cancelled => sum.cancelled += 1,
            RunStatus::Running => panic!("it ended"),
        }
        if house.missed() > 0 {
            sum.occurred.insert("missing".into());
        }
        sum.replayed += house.replays();
        sum.commands += house.commands;
        sum.instances += house.ledger.nodes.len();
        sum.occurred.append(&mut house.ledger.occurred);
        house.delete();
    }
}

/// A seed that fails is shown with its definitions and what the reference makes of them.
pub fn show(seed: u64, made: &Made) {
    eprintln!("seed {seed}, input {}", made.input);
    for definition in made.workflows.values() {
        eprintln!("{}", lines(definition, 0));
    }
    match catch_unwind(|| expect(&made.workflows, &made.outcomes, "w0", &made.input)) {
        Err(_) => eprintln!("the reference has no answer"),
        Ok(Err(vague)) => eprintln!("{vague:?}"),
        Ok(Ok(expected)) => {
            let ended = if expected.done { "done" } else { "failed" };
            eprintln!("expected: {ended} {:?}", expected.output);
            for (instance, node) in &expected.nodes {
                let certain = if node.certain { "" } else { ", if it comes about" };
                eprintln!("  {instance}: {}{certain}, {:?}", node.how, node.output);
            }
        }
    }
}

/// A node a line.
fn lines(body: &Json, indent: usize) -> String {
    let pad = " ".repeat(indent);
    let mut shown = String::new();
    for (field, value) in body.as_object().expect("a body is a map").iter().filter(|(field, _)| *field != "nodes") {
        shown += &format!("{pad}{field}: {value}\n");
    }
    for (id, node) in body["nodes"].as_object().expect("a body has nodes") {
        let mut own = node.clone();
        let inner = own.as_object_mut().expect("a node is a map").remove("do");
        shown += &format!("{pad}  {id}: {own}\n");
        shown += &inner.map_or(String::new(), |inner| lines(&inner, indent + 4));
    }
    shown
}

fn try_seed(seed: u64, sum: &mut Sum) -> bool {
    let made = generate(seed);
    let well = catch_unwind(AssertUnwindSafe(|| run(seed, &made, sum))).is_ok();
    if !well {
        show(seed, &made);
    }
    well
}

#[test]
fn runs_come_to_what_the_reference_says() {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let mut sum = Sum::default();
    if let Some(seed) = number("SEED") {
        show(seed, &generate(seed));
        assert!(try_seed(seed, &mut sum), "seed {seed} fails");
        return;
    }
    let (first, seeds) = (number("FROM").unwrap_or(0), number("SEEDS").unwrap_or(SEEDS_DEFAULT));
    for seed in first..first + seeds {
        assert!(try_seed(seed, &mut sum), "seed {seed} fails: SEED={seed} runs it alone");
    }
    let Sum { done, failed, cancelled, vague, commands, replayed, instances, occurred } = sum;
    println!(
        "{done} done, {failed} failed, {cancelled} cancelled, {vague} vague; {instances} nodes ended in {commands} commands, replayed \
         {replayed} times"
    );
    if seeds >= SEEDS_DEFAULT {
        covered(&occurred);
        assert!(vague * 10 < (done + failed + cancelled), "{vague} hang on the order of things");
        assert!(done > failed, "{failed} fail");
        assert!(replayed > 50 * (done + failed + cancelled), "only {replayed} moments were replayed");
    }
}

/// That nothing fails means little unless everything occurs.
fn covered(occurred: &BTreeSet<String>) {
    let wanted = "kind work, kind branch, kind route, kind loop, kind each, kind join, kind approval, kind sleep, \
        kind workflow, kind transform, join all, join any, join n_of, each fail_fast, each wait_all, each tolerate, \
        done, done rule, done default, done named, done reject, done timeout, done max, failed fail, failed to, \
        failed ignore, skipped untaken, skipped failed, cancelled, run_started, run_done, run_failed, run_cancelled, \
        run_closed, run_paused, run_resumed, frame_opened, frame_done, frame_failed, frame_dropped, missing, restart, \
        heard twice, late result, task_held, task_let_go, run_held, run_let_go, tried again, run_reopened, call taken up, \
        worker lost, too late, steps spent";
    let missing: Vec<&str> = wanted.split(", ").map(str::trim).filter(|wanted| !occurred.contains(*wanted)).collect();
    assert!(missing.is_empty(), "never occurred: {missing:?}");
}
