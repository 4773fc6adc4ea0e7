//! How long it takes: definitions of 5,000 nodes, in the shapes that are hard for something in here. `cargo nextest run
//! --release -p flow speed --no-capture` prints the figures; what takes for ever meets the runner's own limit.

use super::fake::Fake;
use super::promises::validate;
use crate::graph::svg::svg;
use crate::graph::svg::tests::well_formed;
use crate::graph::{drawn, mermaid};
use crate::{check, compile, define, problem::Problems, source};
use std::fmt::Write;
use std::time::Instant;

const NODES: usize = 5_000;

fn shapes() -> Vec<(&'static str, String)> {
    let mut chain = "workflow: w\nnodes:\n  n0: {type: x}\n".to_owned();
    let mut fan = "workflow: w\nnodes:\n  n0: {type: x}\n".to_owned();
    let mut nested = "workflow: w\nnodes:\n".to_owned();
    let mut rungs = "workflow: w\nnodes:\n  n0: {type: x}\n  n1: {type: x}\n".to_owned();
    let mut listed = "metadata: {name: w}\nnodes:\n".to_owned();
    for at in 1..NODES {
        let before = at - 1;
        let _ = writeln!(
            chain,
            "  n{at}: {{type: x, after: n{before}, with: {{a: \"${{nodes.n{before}.output.x}}\", b: \"${{nodes.n0.output}}\"}}}}"
        );
        if at < NODES - 1 {
            let _ = writeln!(fan, "  n{at}: {{type: x, after: n0, when: output.x > {at}, with: {{a: \"${{output.x}}\"}}}}");
        }
        if at > 1 {
            let _ =
                writeln!(rungs, "  n{at}: {{type: x, after: [n{}, n{before}], when: nodes.n{}.output.x > 1}}", at - 2, at / 2);
        }
    }
    let all: Vec<String> = (1..NODES - 1).map(|at| format!("n{at}")).collect();
    let _ = writeln!(fan, "  last: {{type: join, after: [{}]}}", all.join(", "));
    for at in 0..NODES / 5 {
        let after = if at == 0 { String::new() } else { format!(", after: e{}", at - 1) };
        let _ = writeln!(
            nested,
            "  e{at}: {{type: each, items: input.x{after}, do: {{nodes: {{a{at}: {{type: x}}, l{at}: {{type: loop, after: a{at}, max_iterations: 3, until: output.done, do: {{nodes: {{b{at}: {{type: x, with: \"${{nodes.a{at}.output}}\"}}, c{at}: {{type: x, after: b{at}, when: last.ok}}}}}}}}}}}}}}"
        );
    }
    for at in 0..NODES {
        let config = if at == 0 { String::new() } else { format!(", config: {{a: \"$nodes.n{}\"}}", at - 1) };
        let _ = writeln!(listed, "  - {{id: n{at}, type: x{config}}}");
    }
    listed += "edges:\n";
    for at in 1..NODES {
        let _ = writeln!(listed, "  - {{from: n{}, to: n{at}}}", at - 1);
    }
    vec![("chain", chain), ("fan-out and join", fan), ("nested", nested), ("rungs", rungs), ("edge list", listed)]
}

#[test]
fn definitions_of_five_thousand_nodes_compile() {
    for (name, text) in shapes() {
        let start = Instant::now();
        let document = source::parse(text.as_bytes()).expect("it can be read");
        let read = start.elapsed();
        let mut problems = Problems::default();
        let definition = define::decode(&document, &mut problems);
        let decoded = start.elapsed() - read;
        let flat = check::flatten(&definition, &mut problems);
        let checked = start.elapsed() - read - decoded;
        assert!(flat.sound, "{:?}", problems.into_sorted());
        let start = Instant::now();
        let compiled = compile(text.as_bytes(), &Fake).unwrap_or_else(|problems| panic!("{name}: {}", problems[0]));
        let whole = start.elapsed();
        assert!(compiled.ir.nodes.len() >= NODES - 1);
        println!(
            "{name}: {} nodes, {} KiB: {:.1} ms in all (read {:.1}, decode {:.1}, check {:.1})",
            compiled.ir.nodes.len(),
            text.len() / 1024,
            whole.as_secs_f64() * 1e3,
            read.as_secs_f64() * 1e3,
            decoded.as_secs_f64() * 1e3,
            checked.as_secs_f64() * 1e3
        );
        let start = Instant::now();
        let pictures = mermaid(&compiled.ir).len() + drawn(&compiled.ir, 100).len();
        println!("  pictures of {} KiB: {:.1} ms", pictures / 1024, start.elapsed().as_secs_f64() * 1e3);
        let start = Instant::now();
        let picture = svg(&compiled.ir, None);
        println!("  SVG of {} KiB: {:.1} ms", picture.len() / 1024, start.elapsed().as_secs_f64() * 1e3);
        well_formed(&picture);
        // Far above what it takes, far below what something quadratic would.
        if name != "chain" && name != "rungs" && name != "edge list" {
            validate(&compiled.ir);
        }
    }
}

/// Files within the limits, written to be slow.
#[test]
fn hostile_files_are_answered() {
    let mut dense = "workflow: w\nnodes:\n".to_owned();
    for at in 0..9_000usize {
        let after: Vec<String> = (1..=9).filter(|back| *back <= at).map(|back| format!("n{}", at - back)).collect();
        let _ = writeln!(dense, "  n{at}: {{type: x, after: [{}]}}", after.join(","));
    }
    let unknown: String =
        (0..9_000).map(|at| format!("  n{at}: {{type: x, after: m{at}, when: nodes.q{at}.output}}\n")).collect();
    let mut loops = "metadata: {name: w}\nnodes:\n".to_owned();
    let mut edges = "edges:\n".to_owned();
    for at in 0..250usize {
        let _ = writeln!(loops, "  - {{id: b{at}, type: x}}");
        let _ = writeln!(
            loops,
            "  - {{id: l{at}, type: loop, config: {{condition: output.x, max_iterations: 2, loop_back_to: b{at}}}}}"
        );
        let _ = writeln!(edges, "  - {{from: b{at}, to: l{at}}}\n  - {{from: l{at}, to: b{}}}", at + 1);
    }
    loops += "  - {id: b250, type: x}\n";
    loops += &(0..8_000).map(|at| format!("  - {{id: x{at}, type: x}}\n")).collect::<String>();
    let circle: String = (0..9_000).map(|at| format!("  n{at}: {{type: x, after: n{}}}\n", (at + 1) % 9_000)).collect();
    let laughs: String = (1..1_000).map(|at| format!("a{at}: &a{at} [*a{}, *a{}]\n", at - 1, at - 1)).collect();
    for (name, text, fine) in [
        ("dense", dense, true),
        ("unknown", format!("workflow: w\nnodes:\n{unknown}"), false),
        ("loops", loops + &edges, true),
        ("circle", format!("workflow: w\nnodes:\n{circle}"), false),
        ("laughs", format!("a0: &a0 x\n{laughs}"), false),
        ("deep", "[".repeat(1_000_000), false),
        ("nested", "{a: ".repeat(250_000), false),
        ("dashes", "- ".repeat(500_000), false),
        ("long", format!("workflow: {}", "w".repeat(1_000_000)), false),
        ("keys", (0..100_000).map(|at| format!("k{at}: 1\n")).collect(), false),
    ] {
        let start = Instant::now();
        let answer = compile(text.as_bytes(), &Fake);
        let took = start.elapsed();
        println!("{name}: {} KiB, {:.1} ms", text.len() / 1024, took.as_secs_f64() * 1e3);
        assert_eq!(answer.is_ok(), fine, "{name}: {:?}", answer.err().map(|problems| problems[0].to_string()));
    }
}
