use super::fold::{ALIKE_MIN, folded};
use super::scene::{Card, PLACES_MAX, Scene, scene};
use super::*;
use crate::tests::{compiled, examples};
use kernel::ir::{EdgeIx, NodeIx, ROOT};
use std::collections::HashSet;

/// Everything that must be true of every picture, whatever the workflow.
pub(crate) fn sound(ir: &Ir, live: Option<&Live>) {
    laid_out(ir, &scene(ir, live, PLACES_MAX));
    well_formed(&svg(ir, live));
}

fn laid_out(ir: &Ir, scene: &Scene) {
    counted(ir, scene);
    apart(ir, scene);
    joined(ir, scene);
}

/// Every node is drawn once, or counted in what is drawn for many; every edge is drawn.
fn counted(ir: &Ir, scene: &Scene) {
    let mut drawn: Vec<NodeIx> = scene.cards.iter().chain(&scene.boxes).flat_map(|card| card.nodes.iter().copied()).collect();
    drawn.sort_unstable();
    assert_eq!(drawn, (0..ir.nodes.len() as u32).map(NodeIx).collect::<Vec<_>>());
    let edges: HashSet<EdgeIx> = scene.links.iter().flat_map(|link| link.edges.iter().copied()).collect();
    assert_eq!(edges.len(), ir.edges.len());
}

fn overlap(a: &Card, b: &Card) -> bool {
    a.x < b.x + b.width && b.x < a.x + a.width && a.y < b.y + b.height && b.y < a.y + a.height
}

fn within(inner: &Card, outer: &Card) -> bool {
    inner.x >= outer.x
        && inner.y >= outer.y
        && inner.x + inner.width <= outer.x + outer.width + 0.01
        && inner.y + inner.height <= outer.y + outer.height + 0.01
}

/// No card lies on another, nor half in a box; what stands in a body stands in its box.
fn apart(ir: &Ir, scene: &Scene) {
    let all: Vec<&Card> = scene.cards.iter().chain(&scene.boxes).collect();
    let is_in = |inner: &Card, outer: &Card| {
        let mut body = ir.node(inner.nodes[0]).body;
        while let Some(of) = ir.body(body).of {
            if outer.nodes.contains(&of) {
                return true;
            }
            body = ir.node(of).body;
        }
        false
    };
    for (at, a) in all.iter().enumerate() {
        assert!(
            a.x >= -0.01 && a.y >= -0.01 && a.x + a.width <= scene.width + 0.01 && a.y + a.height <= scene.height + 0.01,
            "{a:?}"
        );
        for b in &all[at + 1..] {
            match (is_in(a, b), is_in(b, a)) {
                (true, _) => assert!(within(a, b), "{a:?} {b:?}"),
                (_, true) => assert!(within(b, a), "{a:?} {b:?}"),
                _ => assert!(!overlap(a, b), "{a:?} {b:?}"),
            }
        }
    }
    for (at, a) in scene.labels.iter().enumerate() {
        for b in &scene.labels[at + 1..] {
            let clear = a.x + a.width <= b.x || b.x + b.width <= a.x || a.y + a.height <= b.y || b.y + b.height <= a.y;
            assert!(clear, "{a:?} {b:?}");
        }
    }
}

/// The stretches of each edge lead from the lower side of its one card to the upper side of its other.
fn joined(ir: &Ir, scene: &Scene) {
    let of = |node: NodeIx| scene.cards.iter().chain(&scene.boxes).find(|card| card.nodes.contains(&node));
    for (number, edge) in ir.edges.iter().enumerate() {
        let number = EdgeIx(number as u32);
        let mut links: Vec<_> = scene.links.iter().filter(|link| link.edges.contains(&number)).collect();
        links.sort_by(|a, b| a.from.1.total_cmp(&b.from.1));
        let (from, to) = (of(edge.from).expect("it is drawn"), of(edge.to).expect("it is drawn"));
        let (first, last) = (links[0], links[links.len() - 1]);
        let spans = |card: &Card, x: f64| x >= card.x && x <= card.x + card.width;
        assert!((first.from.1 - from.y - from.height).abs() < 0.01 && spans(from, first.from.0), "{first:?} {from:?}");
        if scene.cut && !last.arrow {
            continue;
        }
        assert!(last.arrow && (last.to.1 - to.y).abs() < 0.01 && spans(to, last.to.0), "{last:?} {to:?}");
        for pair in links.windows(2) {
            let label = scene.labels.iter().find(|label| (label.y - pair[0].to.1).abs() < 0.01 && label.edges.contains(&number));
            let height = label.map_or(0.0, |label| label.height);
            assert!((pair[0].to.1 + height - pair[1].from.1).abs() < 0.01, "{pair:?}");
        }
    }
}

/// Elements are closed in order, attributes quoted, and nothing stands in the text that XML does not know.
pub(crate) fn well_formed(svg: &str) {
    let (mut rest, mut open) = (svg, Vec::new());
    while let Some((text, tail)) = rest.split_once('<') {
        assert!(!text.contains('>') || text.trim().is_empty() || open.last() == Some(&"style"), "{text}");
        for entity in text.split('&').skip(1) {
            let name = entity.split_once(';').map_or("", |(name, _)| name);
            assert!(["amp", "lt", "gt", "quot", "#39"].contains(&name), "&{entity}");
        }
        assert!(text.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()), "{text:?}");
        let (tag, tail) = tail.split_once('>').expect("a tag ends");
        assert_eq!(tag.matches('"').count() % 2, 0, "{tag}");
        assert!(!tag.contains('<'), "{tag}");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().unwrap_or_default();
        match (tag.starts_with('/'), tag.ends_with('/')) {
            (true, _) => assert_eq!(open.pop(), Some(name), "{tag}"),
            (false, true) => {}
            (false, false) => open.push(name),
        }
        rest = tail;
    }
    assert!(open.is_empty() && rest.trim().is_empty(), "{open:?} {rest}");
    for never in ["<script", "<image", "@import", "url(", "http://", "onload", "<foreignObject"] {
        let found = svg.matches(never).count();
        let namespace = usize::from(never == "http://");
        assert_eq!(found, namespace, "{never}");
    }
}

#[test]
fn the_examples_are_drawn() {
    for (name, text) in examples::all() {
        let ir = compiled(&text).ir;
        sound(&ir, None);
        let picture = svg(&ir, None);
        for node in &ir.nodes {
            assert!(picture.contains(&format!(">{}</text>", node.id)), "{name}: {}", node.id);
        }
    }
    let refund = svg(&compiled(&examples::text("refund.yaml")).ir, None);
    for text in
        [">output.fraud</text>", ">if rejected or if not answered</text>", "route → deny, rules[0]: output.fraud", "link detour"]
    {
        assert!(refund.contains(text), "{text}\n{refund}");
    }
    let lint = svg(&compiled(&examples::text("lint-until-clean.yaml")).ir, None);
    assert!(lint.contains("loop ≤ 5, until size(output) == 0</text>"), "{lint}");
}

#[test]
fn what_is_written_in_a_definition_cannot_break_out() {
    let text = "{workflow: w, nodes: {a: {type: branch, rules: [{when: \"x == '</title><script>\\u0001\\u202e\\\"&'\", to: b}], default: []}, b: {type: x}}}";
    let ir = compiled(text).ir;
    sound(&ir, None);
    let picture = svg(&ir, None);
    assert!(picture.contains("rules[0]: x == &#39;&lt;/title&gt;&lt;script&gt;"), "{picture}");
    let hostile = Stand { note: "<b>".into(), details: vec!["\u{0}\u{1b}]]>".into()], ..Stand::default() };
    let live = Live {
        heading: "<run>".into(),
        about: vec!["&".into()],
        notes: vec!["<note>".into()],
        nodes: vec![hostile; 2],
        ..Live::default()
    };
    well_formed(&svg(&ir, Some(&live)));
}

fn wide(count: usize, kind: impl Fn(usize) -> String) -> String {
    let nodes: Vec<String> = (0..count).map(|at| format!("w{at}: {{type: {}, after: first}}", kind(at))).collect();
    let names: Vec<String> = (0..count).map(|at| format!("w{at}")).collect();
    format!(
        "{{workflow: w, nodes: {{first: {{type: x}}, {}, last: {{type: join, after: [{}]}}}}}}",
        nodes.join(", "),
        names.join(", ")
    )
}

#[test]
fn many_that_are_alike_are_drawn_once() {
    let ir = compiled(&wide(300, |_| "http".to_owned())).ir;
    sound(&ir, None);
    assert_eq!(folded(&ir, ROOT).iter().map(Vec::len).collect::<Vec<_>>(), [1, 300, 1]);
    assert!(svg(&ir, None).contains(">300 × http</text>"));
    // With how each of them stands.
    let mut live = Live { nodes: vec![Stand::default(); ir.nodes.len()], ..Live::default() };
    for (at, stand) in live.nodes.iter_mut().enumerate() {
        let status = [Status::Done, Status::Failed, Status::Running][usize::from(at % 50 == 7) + usize::from(at % 100 == 7)];
        stand.add(status, 1);
        stand.details.extend(Some(format!("boom {at}")).filter(|_| status == Status::Failed));
    }
    let picture = svg(&ir, Some(&live));
    assert!(picture.contains("3 running, 3 failed, 294 done"), "{picture}");
    assert!(picture.contains(&format!("{}: failed\nboom 57", ir.nodes[57].id)), "{picture}");
    // Fewer, or of two types, or with another beside them.
    let few = compiled(&wide(ALIKE_MIN - 1, |_| "http".to_owned())).ir;
    assert!(folded(&few, ROOT).iter().all(|item| item.len() == 1));
    let two = compiled(&wide(40, |at| if at % 2 == 0 { "a" } else { "b" }.to_owned())).ir;
    assert_eq!(folded(&two, ROOT).iter().map(Vec::len).max(), Some(20));
}

#[test]
fn rows_that_are_alike_are_drawn_once() {
    let rows: Vec<String> = (0..20)
        .map(|at| format!("a{at}: {{type: a, after: first}}, b{at}: {{type: b, after: a{at}, on_error: {{to: last}}}}"))
        .collect();
    let names: Vec<String> = (0..20).map(|at| format!("b{at}")).collect();
    let text = format!(
        "{{workflow: w, nodes: {{first: {{type: x}}, {}, last: {{type: x, join: any, after: [{}]}}}}}}",
        rows.join(", "),
        names.join(", ")
    );
    let ir = compiled(&text).ir;
    sound(&ir, None);
    let mut sizes: Vec<usize> = folded(&ir, ROOT).iter().map(Vec::len).collect();
    sizes.sort_unstable();
    assert_eq!(sizes, [1, 1, 20, 20]);
}

#[test]
fn a_run_is_seen_in_its_picture() {
    let ir = compiled(&examples::text("lint-until-clean.yaml")).ir;
    let mut live = Live { heading: "run-7".into(), about: vec!["running".into()], ..Live::default() };
    live.nodes = vec![Stand::default(); ir.nodes.len()];
    live.edges = vec![Carried::default(); ir.edges.len()];
    let at = |id: &str| ir.nodes.iter().position(|node| node.id.as_str() == id).expect("it is there");
    live.nodes[at("rounds")] = Stand { note: "turn 3 of 5".into(), took: "2 min".into(), ..Stand::default() };
    live.nodes[at("rounds")].add(Status::Running, 1);
    live.nodes[at("lint")].add(Status::Done, 12);
    live.nodes[at("lint")].add(Status::Failed, 2);
    live.nodes[at("escalate")].add(Status::Skipped, 1);
    let edge = |from: &str, to: &str| {
        ir.edges
            .iter()
            .position(|edge| ir.node(edge.from).id.as_str() == from && ir.node(edge.to).id.as_str() == to)
            .expect("an edge")
    };
    live.edges[edge("lint", "fix")] = Carried { taken: 3, untaken: 1 };
    live.edges[edge("rounds", "escalate")] = Carried { taken: 0, untaken: 1 };
    sound(&ir, Some(&live));
    let picture = svg(&ir, Some(&live));
    for text in [
        ">turn 3 of 5 · running · 2 min</text>",
        ">2 failed, 12 done</text>",
        "<g class=\"n-skipped\">\n<title>escalate: approval",
        "lint → fix\ntaken 3 times, 1 times not</title>\n<path class=\"link taken\"",
        "not taken</title>\n<path class=\"link untaken\"",
        "href=\"#running\"",
        ">way not taken</text>",
    ] {
        assert!(picture.contains(text), "{text}\n{picture}");
    }
    // What does not occur is not in the legend.
    assert!(!picture.contains("class=\"key s-asking\""), "{picture}");
}

#[test]
fn a_line_that_is_too_long_to_draw_says_where_it_leads() {
    let mut text = "workflow: w\nnodes:\n  n0: {type: x}\n  n1: {type: x, after: n0}\n".to_owned();
    for at in 2..60usize {
        text += &format!("  n{at}: {{type: x, after: [n{}, n{}]}}\n", at - 1, at / 3);
    }
    let ir = compiled(&text).ir;
    sound(&ir, None);
    assert!(!scene(&ir, None, PLACES_MAX).cut);
    let scene = scene(&ir, None, 100);
    laid_out(&ir, &scene);
    assert!(scene.cut && scene.labels.iter().any(|label| label.text == "→ n59"), "{:?}", scene.labels);
    assert!(paint::paint(&ir, None, &scene).contains("too far to draw"));
}
