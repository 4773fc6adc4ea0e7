use super::*;
use crate::tests::{compiled, examples};

fn ir(name: &str) -> Ir {
    compiled(&examples::text(name)).ir
}

#[test]
fn mermaid_shows_bodies_rules_and_detours() {
    let expected = r#"flowchart TD
  subgraph n0["rounds repeats, at most 5 times, until size(output) == 0"]
    subgraph n1["check for each of last, 8 at once, 2 may fail"]
      n2["lint<br/>function"]
      n3["fix<br/>agent<br/>when size(output.errors) #62; 0"]
    end
    n4["still<br/>transform"]
  end
  n5["publish<br/>http"]
  n6[/"escalate<br/>approval"/]
  n0 -.->|"at the most iterations"| n6
  n0 --> n5
  n1 --> n4
  n2 --> n3
"#;
    assert_eq!(mermaid(&ir("lint-until-clean.yaml")), expected);
    let refund = mermaid(&ir("refund.yaml"));
    for line in
        ["n1{\"route<br/>branch\"}", "n1 -->|\"input.amount #62; 100\"| n3", "n1 -->|\"else\"| n3", "n4 -.->|\"on error\"| n5"]
    {
        assert!(refund.contains(&format!("  {line}\n")), "{line}\n{refund}");
    }
}

#[test]
fn what_is_written_in_a_definition_cannot_break_the_picture() {
    let text = "{workflow: w, nodes: {a: {type: branch, rules: [{when: \"x == '\\\"] --> n9 `#<b>'\\n\", to: b}], default: []}, b: {type: x}}}";
    let picture = mermaid(&compiled(text).ir);
    assert!(picture.contains("|\"x == '#34;] --#62; n9 #96;#35;#60;b#62;'\"|"), "{picture}");
}

#[test]
fn a_small_graph_is_drawn_in_layers() {
    let expected = "
refund version 1

       ┌───────────────────────┐
       │ classify · classifier │
       └───────────┬───────────┘
                   ▼
          ┌────────────────┐
          │ route · branch │
          └────────┬───────┘
         ┌─────────┴────────┬──────────┐
         ▼                  ▼          │
┌────────────────┐   ┌─────────────┐   │
│ ask · approval │   │ hold · http │   │
└────────┬───────┘   └──────┬──────┘   │
         ├──────────┐       │          │
         │          ├───────┘          │
         │          ▼                  │
         │   ┌────────────┐            │
         │   │ pay · http │            │
         │   └──────┬─────┘            │
         └──────────┼─┐                │
                    └─┼────────────┐   │
                      ├────────────┼───┘
                      ▼            │
             ┌─────────────────┐   │
             │ deny · function │   │
             └────────┬────────┘   │
                      └─────┐      │
                            ├──────┘
                            ▼
                 ┌────────────────────┐
                 │ report · transform │
                 └────────────────────┘

route → deny  output.fraud
route → ask  input.amount > 100
route → hold  input.amount > 100
route → hold  else
ask ⇢ deny  if rejected
ask ⇢ deny  if not answered
pay ⇢ deny  on error
";
    let found = drawn(&ir("refund.yaml"), 80);
    assert_eq!(found.trim(), expected.trim(), "\n{found}");
}

#[test]
fn bodies_follow_under_their_own_headings() {
    let expected = "
lint-until-clean version 1

           ┌───────────────────┐
           │ rounds · loop ≤ 5 │
           └─────────┬─────────┘
         ┌───────────┴──────────┐
         ▼                      ▼
┌────────────────┐   ┌─────────────────────┐
│ publish · http │   │ escalate · approval │
└────────────────┘   └─────────────────────┘

rounds ⇢ escalate  at the most iterations

rounds repeats, at most 5 times, until size(output) == 0:

┌──────────────────┐
│ check · each × 8 │
└─────────┬────────┘
          ▼
┌───────────────────┐
│ still · transform │
└───────────────────┘

check for each of last, 8 at once, 2 may fail:

┌─────────────────┐
│ lint · function │
└────────┬────────┘
         ▼
  ┌─────────────┐
  │ fix · agent │
  └─────────────┘

fix  when size(output.errors) > 0
";
    let found = drawn(&ir("lint-until-clean.yaml"), 80);
    assert_eq!(found.trim(), expected.trim(), "\n{found}");
}

#[test]
fn where_there_is_no_room_it_is_a_tree() {
    let expected = "
refund version 1

classify · classifier
route · branch
├─ output.fraud: deny · function
│  report · transform
├─ input.amount > 100: ask · approval
│  ├─ if rejected or if not answered: → deny
│  └─ pay · http
│     ├─ on error: → deny
│     └─ → report
└─ input.amount > 100 or else: hold · http
   → pay
";
    let found = drawn(&ir("refund.yaml"), 30);
    assert_eq!(found.trim(), expected.trim(), "\n{found}");
}

#[test]
fn the_condition_of_a_node_is_shown() {
    let text = "{workflow: w, nodes: {a: {type: x}, b: {type: y, after: a, when: output > 1}, \
                l: {type: loop, after: b, when: input.l, max_iterations: 2, until: output, do: {nodes: {c: {type: x}}}}}}";
    let ir = compiled(text).ir;
    let picture = drawn(&ir, 80);
    assert!(picture.contains("\nb  when output > 1\nl  when input.l\n"), "{picture}");
    assert!(picture.contains("\nl repeats, at most 2 times, until output, when input.l:\n"), "{picture}");
    assert!(drawn(&ir, 5).contains("\nb · y, when output > 1\n"), "{}", drawn(&ir, 5));
    assert!(mermaid(&ir).contains("[\"b<br/>y<br/>when output #62; 1\"]"), "{}", mermaid(&ir));
}

#[test]
fn a_picture_keeps_to_its_width() {
    for (name, text) in examples::all() {
        let ir = compiled(&text).ir;
        for width in [20, 40, 60, 80, 120] {
            let picture = drawn(&ir, width);
            let boxes = picture.lines().filter(|line| line.contains(['┌', '┘', '▼']));
            boxes.for_each(|line| assert!(line.chars().count() <= width, "{name} in {width}:\n{picture}"));
        }
    }
}
