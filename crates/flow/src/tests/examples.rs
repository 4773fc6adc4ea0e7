//! Every file under `examples/workflows`, and what becomes of it.

use super::summary::summary;
use super::{compiled, promises};
use std::path::Path;

pub fn text(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workflows").join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

pub fn all() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workflows");
    let entries = std::fs::read_dir(folder).expect("the examples are there");
    let mut names: Vec<String> =
        entries.map(|entry| entry.expect("and can be listed").file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names.into_iter().map(|name| (name.clone(), text(&name))).collect()
}

#[test]
fn every_example_compiles_and_keeps_the_promises() {
    let all = all();
    assert!(all.len() >= 6);
    for (_, text) in all {
        promises::validate(&compiled(&text).ir);
    }
}

#[track_caller]
fn golden(name: &str, expected: &str) {
    let found = summary(&compiled(&text(name)).ir);
    assert_eq!(found.trim(), expected.trim(), "\n{found}");
}

#[test]
fn the_references_become_what_they_say() {
    golden(
        "refund.yaml",
        r#"
refund v1
from classify to report gives ⟨nodes.report.output⟩(report)
classify: classifier@classifier with $⟨{"text":"refund ${input.amount}"}⟩(input) -> route
route: branch ⟨output.fraud⟩(output) ⟨input.amount > 100⟩(input) -Rule(0)> deny -Rule(1)> ask -Rule(1)> hold -Default> hold
ask: approval ["finance"] $⟨"Refund ${input.amount}?"⟩(input) timeout 172800000ms -Reject> deny -Timeout> deny -> pay
hold: http@payments with $⟨{"url":"https://pay.test/hold"}⟩() -> pay
pay: http@http with $⟨{"url":"https://pay.test/pay"}⟩() on_error To -Error> deny -> report
deny: function@function with $⟨{"order":"${input.order}"}⟩(input) join 1 -> report
report: transform ⟨{'paid': nodes.pay.status == 'done'}⟩(pay) join 1
"#,
    );
    golden(
        "lint-until-clean.yaml",
        r#"
lint-until-clean v1
from rounds to publish escalate
rounds: loop 5 init ⟨input.files⟩(input) until ⟨size(output) == 0⟩(output) -Max> escalate -> publish
  from check to still gives ⟨nodes.still.output⟩(still)
  check: each ⟨last⟩(last) by 8 Tolerate(2) -> still
    from lint to fix gives ⟨{'file': item, 'open': nodes.fix.status == 'done' ? nodes.fix.output.open : 0}⟩(item fix)
    lint: function@function with $⟨{"file":"${item}","round":"${iteration}"}⟩(item last) -> fix
    fix: agent@agent with $⟨{"file":"${item}"}⟩(item) when ⟨size(output.errors) > 0⟩(output)
  still: transform ⟨output.filter(r, r != null && r.open > 0).map(r, r.file)⟩(output)
publish: http@http with $⟨{"url":"https://ci.test/ok"}⟩()
escalate: approval [] $⟨"Open: ${nodes.rounds.output}"⟩(rounds)
"#,
    );
}

#[test]
fn the_seeds_flows_become_the_same_ir() {
    golden(
        "sequential.json",
        r#"
sequential v1
from fetch to store
fetch: http@http with $⟨{"url":"https://api.test/orders"}⟩() timeout 30000ms -> enrich
enrich: function@function with $⟨{"orders":"$nodes.fetch.orders","source":"fetched by ${$nodes.fetch.server}"}⟩(fetch) retry 5x500..3600000ms -> store
store: task@task with $⟨{"rows":"$nodes.enrich"}⟩(enrich)
"#,
    );
    golden(
        "parallel.json",
        r#"
parallel v1
from A to D
A: function@function with - -> fan
fan: parallel ⟨output⟩(output) -> B -> C
B: search@search with $⟨{"query":"$nodes.A.query"}⟩(A) -> D
C: classifier@classifier with $⟨{"text":"$nodes.A.text"}⟩(A) -> D
D: function@function with $⟨{"found":"$nodes.B","label":"$nodes.C.label"}⟩(B C)
"#,
    );
    golden(
        "agent-routed.json",
        r#"
agent-routed v1
from intake to refund answer escalate
intake: function@function with $⟨{"ticket":"${input.ticket}"}⟩(input) -> triage
triage: agent@agent with $⟨{"prompt":"Where does this go? $nodes.intake.text"}⟩(intake) -> triage-route
triage-route: route -Named> refund -Named> answer -Named> escalate
refund: http@http with $⟨{"url":"https://pay.test/refund"}⟩()
answer: agent@agent with $⟨{"prompt":"Answer $nodes.intake.text"}⟩(intake)
escalate: approval ["support"] $⟨"Please look at this"⟩() timeout 86400000ms
"#,
    );
    golden(
        "refine-until-good.json",
        r#"
refine-until-good v1
from outline to publish
outline: agent@agent with $⟨{"prompt":"Outline ${input.topic}"}⟩(input) -> again
again: loop 4 init - until ⟨!(nodes.score.output.value < 80)⟩(score) -Max> ask -> publish
  from draft to score
  draft: agent@agent with $⟨{"prompt":"Write","outline":"$nodes.outline"}⟩(outline) -> check
  check: branch ⟨output.words > 500⟩(output) -Rule(0)> review -Default> score
  review: agent@agent with $⟨{"draft":"$nodes.draft.text"}⟩(draft) -> score
  score: function@function with $⟨{"draft":"$nodes.draft.text"}⟩(draft)
ask: approval [] $⟨"Good enough?"⟩() -> publish
publish: http@http with $⟨{"url":"https://cms.test/publish"}⟩()
"#,
    );
}
