//! A scene written as SVG: a heading, a legend of what occurs, boxes, links, labels and cards, each with the whole of what it
//! stands for in its `<title>`.

use super::scene::*;
use super::{Carried, Live, Status};
use crate::graph::pen::{self, Face, N, Text, clipped, escaped};
use crate::graph::{is_detour, kind};
use kernel::ir::{EdgeIx, Ir, Node, NodeIx, NodeKind, On};
use std::fmt::Write;

const MARGIN: f64 = 24.0;
const WIDTH_MIN: f64 = 360.0;
/// Lines of a text that is shown when one looks closer, and characters of each.
const TITLE_LINES_MAX: usize = 24;
const TITLE_CHARS_MAX: usize = 400;
/// Nodes that are drawn as one and told by name.
const NAMED_MAX: usize = 12;
/// Edges that share a line and are told one by one.
const EDGES_MAX: usize = 8;

const STYLE: &str = ".card{fill:var(--card);stroke:var(--line);stroke-width:1.2}
.behind{fill:var(--card);stroke:var(--faint);stroke-width:1.2}
.box{fill:var(--tint);stroke:var(--faint);stroke-width:1.4}
.bar{fill:none;stroke:var(--line);stroke-width:1}
.link{fill:none;stroke:var(--line);stroke-width:1.3}
.head-of{fill:var(--line);stroke:none}
.detour{stroke-dasharray:6 4}
.taken{stroke:var(--strong);stroke-width:2.4}.head-of.taken{fill:var(--strong);stroke:none}
.untaken{stroke-dasharray:2 4;opacity:.55}
.label{fill:var(--ground);stroke:var(--faint);stroke-width:1}
.label.dim{stroke-dasharray:2 3}
.n-waiting .card,.n-waiting .bar{stroke:var(--line)}
.n-queued .card{fill:var(--queued-t);stroke:var(--queued)}
.n-running .card{fill:var(--running-t);stroke:var(--running);stroke-width:2}
.n-asking .card{fill:var(--asking-t);stroke:var(--asking);stroke-width:2}
.n-sleeping .card{fill:var(--sleeping-t);stroke:var(--sleeping)}
.n-done .card{fill:var(--done-t);stroke:var(--done)}
.n-failed .card{fill:var(--failed-t);stroke:var(--failed);stroke-width:2}
.n-cancelled .card{fill:var(--cancelled-t);stroke:var(--cancelled)}
.n-skipped .card{fill:var(--skipped-t);stroke:var(--skipped);stroke-dasharray:4 4}
.n-queued .box{stroke:var(--queued)}.n-running .box{stroke:var(--running)}.n-asking .box{stroke:var(--asking)}.n-sleeping .box{stroke:var(--sleeping)}
.n-done .box{stroke:var(--done)}.n-failed .box{stroke:var(--failed)}.n-cancelled .box{stroke:var(--cancelled)}.n-skipped .box{stroke:var(--skipped);stroke-dasharray:4 4}
";

pub fn paint(ir: &Ir, live: Option<&Live>, scene: &Scene) -> String {
    let legend = legend(ir, live, scene);
    let width = scene.width.max(WIDTH_MIN) + 2.0 * MARGIN;
    let room = width - 2.0 * MARGIN;
    let count = format!("{} nodes", ir.nodes.len());
    let about = lines(live.map_or(std::slice::from_ref(&count), |live| &live.about), room);
    let notes: Vec<String> = live.map_or(Vec::new(), |live| live.notes.iter().flat_map(|note| broken(note, room)).collect());
    let placed = flowed(&legend, room);
    let rows = placed.iter().map(|(_, row)| row + 1).max().unwrap_or(0);
    let keys = MARGIN + 31.0 + (about.len() + notes.len()) as f64 * ABOUT_ROW;
    let top = keys + rows as f64 * LEGEND_ROW + 14.0;
    let name = format!("{} version {}", ir.workflow, ir.version);
    let heading = live.map_or(name.as_str(), |live| &live.heading);
    let mut out = String::with_capacity(4_096 + 600 * (scene.cards.len() + scene.links.len()));
    pen::begin(&mut out, (width, top + scene.height + MARGIN), heading, STYLE);
    let mut left = MARGIN;
    if let Some(status) = live.and_then(|live| live.status) {
        pen::sign(&mut out, status, left, MARGIN, 18.0);
        left += 26.0;
    }
    let shown = clipped(heading, width - MARGIN - left, 17.0 * 1.06, Face::Plain);
    pen::text(&mut out, &Text { x: left, y: MARGIN + 15.0, class: "head", text: &shown });
    for (number, line) in about.iter().chain(&notes).enumerate() {
        let y = MARGIN + 36.0 + number as f64 * ABOUT_ROW;
        pen::text(&mut out, &Text { x: MARGIN, y, class: "about", text: line });
    }
    for (entry, (x, row)) in legend.iter().zip(&placed) {
        entry.paint(&mut out, MARGIN + x, keys + *row as f64 * LEGEND_ROW);
    }
    let aside = (width - scene.width) / 2.0;
    let _ = writeln!(out, "<g transform=\"translate({} {})\">", N(aside), N(top));
    scene.boxes.iter().for_each(|card| boxed(&mut out, ir, live, card));
    // What was taken lies over what was not.
    let taken = |link: &&Link| live.is_some_and(|live| carried(live, &link.edges).taken > 0);
    scene.links.iter().filter(|link| !taken(link)).for_each(|link| linked(&mut out, ir, live, link));
    scene.links.iter().filter(taken).for_each(|link| linked(&mut out, ir, live, link));
    scene.labels.iter().for_each(|label| labelled(&mut out, ir, live, label));
    scene.cards.iter().for_each(|card| carded(&mut out, ir, live, card));
    out.push_str("</g>\n</svg>\n");
    out
}

fn begin_group(out: &mut String, ir: &Ir, live: Option<&Live>, card: &Card) {
    let class = live.map_or(String::new(), |live| format!(" class=\"n-{}\"", live.status(&card.nodes).as_str()));
    let _ = writeln!(out, "<g{class}>");
    pen::title(out, &told(ir, live, &card.nodes));
}

fn rect(out: &mut String, class: &str, (x, y): (f64, f64), (width, height): (f64, f64), round: f64) {
    let (x, y, width, height, round) = (N(x), N(y), N(width), N(height), N(round));
    let _ = writeln!(out, "<rect class=\"{class}\" x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"{round}\"/>");
}

fn boxed(out: &mut String, ir: &Ir, live: Option<&Live>, card: &Card) {
    begin_group(out, ir, live, card);
    let size = (card.width, card.height);
    if matches!(ir.node(card.nodes[0]).kind, NodeKind::Each { .. }) {
        // There are several of it, one behind the other.
        rect(out, "box", (card.x + 5.0, card.y + 5.0), size, 12.0);
    }
    rect(out, "box", (card.x, card.y), size, 12.0);
    words(out, live, card, card.x + PAD, card.width - 2.0 * PAD);
    out.push_str("</g>\n");
}

fn carded(out: &mut String, ir: &Ir, live: Option<&Live>, card: &Card) {
    begin_group(out, ir, live, card);
    let (x, y, width, height) = (card.x, card.y, card.width, card.height);
    let node = ir.node(card.nodes[0]);
    if card.nodes.len() > 1 {
        [6.0, 3.0].iter().for_each(|by| rect(out, "behind", (x + by, y + by), (width, height), 7.0));
    }
    let mut aside = PAD;
    match &node.kind {
        _ if is_choice(node) => {
            aside += SLANTED;
            let (x, y, right, bottom, middle) = (N(x), N(y), N(x + width), N(y + height), N(y + height / 2.0));
            let (near, far) = (N(card.x + SLANTED), N(card.x + width - SLANTED));
            let _ = writeln!(
                out,
                "<path class=\"card\" d=\"M{near} {y}H{far}L{right} {middle}L{far} {bottom}H{near}L{x} {middle}Z\"/>"
            );
        }
        NodeKind::Join | NodeKind::Sleep(_) | NodeKind::Wait { .. } => rect(out, "card", (x, y), (width, height), 20.0),
        _ => rect(out, "card", (x, y), (width, height), 7.0),
    }
    if matches!(node.kind, NodeKind::Workflow { .. }) {
        let (left, right, top, bottom) = (N(x + 5.0), N(x + width - 5.0), N(y), N(y + height));
        let _ = writeln!(out, "<path class=\"bar\" d=\"M{left} {top}V{bottom}M{right} {top}V{bottom}\"/>");
    }
    words(out, live, card, x + aside, width - 2.0 * aside);
    out.push_str("</g>\n");
}

fn words(out: &mut String, live: Option<&Live>, card: &Card, x: f64, room: f64) {
    let words = &card.words;
    let mut y = card.y + 7.0 + ID_ROW;
    let mut left = x;
    if let Some(live) = live {
        pen::sign(out, live.status(&card.nodes), left, y - 14.0, SIGN);
        left += SIGN_ROOM;
    }
    // The last bit is for rounding, so that a name never loses its last sign.
    let id = clipped(&words.id, room - (left - x) + 1.0, ID_SIZE, Face::Mono);
    pen::text(out, &Text { x: left, y: y - 3.0, class: "id", text: &id });
    y += ROW;
    let kind = clipped(&words.kind, room + 1.0, TEXT_SIZE, Face::Plain);
    pen::text(out, &Text { x, y: y - 3.0, class: "kind", text: &kind });
    if let Some(when) = &words.when {
        y += ROW;
        pen::text(out, &Text { x, y: y - 3.0, class: "mono", text: &clipped(when, room + 1.0, MONO_SIZE, Face::Mono) });
    }
    if let (Some(state), Some(live)) = (&words.state, live) {
        y += ROW;
        let class = format!("state s-{}", live.status(&card.nodes).as_str());
        pen::text(out, &Text { x, y: y - 3.0, class: &class, text: &clipped(state, room + 1.0, TEXT_SIZE, Face::Plain) });
    }
}

fn carried(live: &Live, edges: &[EdgeIx]) -> Carried {
    let of = edges.iter().filter_map(|edge| live.edges.get(edge.at()));
    of.fold(Carried::default(), |sum, one| Carried { taken: sum.taken + one.taken, untaken: sum.untaken + one.untaken })
}

fn link_class(live: Option<&Live>, edges: &[EdgeIx], detour: bool) -> &'static str {
    let carried = live.map(|live| carried(live, edges)).unwrap_or_default();
    match (carried.taken, carried.untaken, detour) {
        (1.., _, false) => " taken",
        (1.., _, true) => " taken detour",
        (0, 1.., _) => " untaken",
        (0, 0, true) => " detour",
        (0, 0, false) => "",
    }
}

fn linked(out: &mut String, ir: &Ir, live: Option<&Live>, link: &Link) {
    let class = link_class(live, &link.edges, link.detour);
    out.push_str("<g>\n");
    pen::title(out, &told_of(ir, live, &link.edges));
    let _ = writeln!(out, "<path class=\"link{class}\" d=\"{}\"/>", link.path());
    if link.arrow {
        let (x, y) = link.to;
        let (left, right, high, x, y) = (N(x - 4.0), N(x + 4.0), N(y - 8.0), N(x), N(y));
        let _ = writeln!(out, "<path class=\"head-of{class}\" d=\"M{left} {high}H{right}L{x} {y}Z\"/>");
    }
    out.push_str("</g>\n");
}

fn labelled(out: &mut String, ir: &Ir, live: Option<&Live>, label: &Label) {
    let class = link_class(live, &label.edges, label.detour);
    // What is written stays legible.
    let dim = if class == " untaken" { "label dim" } else { "label" };
    out.push_str("<g>\n");
    pen::title(out, &told_of(ir, live, &label.edges));
    rect(out, dim, (label.x, label.y), (label.width, label.height), 8.0);
    let text = clipped(&label.text, label.width - 11.0, MONO_SIZE, Face::Mono);
    pen::text(out, &Text { x: label.x + label.width / 2.0, y: label.y + 12.0, class: "mono mid", text: &text });
    out.push_str("</g>\n");
}

/// So many lines of it, and of each so many characters.
fn bounded(lines: Vec<String>) -> String {
    let more = lines.len().saturating_sub(TITLE_LINES_MAX);
    let cut = |line: String| match line.char_indices().nth(TITLE_CHARS_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    };
    let mut shown: Vec<String> = lines.into_iter().take(TITLE_LINES_MAX).map(cut).collect();
    if more > 0 {
        shown.push(format!("… and {more} more"));
    }
    shown.join("\n")
}

/// All that is known of a node, or of those that are drawn as one.
fn told(ir: &Ir, live: Option<&Live>, nodes: &[NodeIx]) -> String {
    let mut lines = Vec::new();
    if let [node] = nodes {
        lines = about(ir, ir.node(*node));
    } else {
        lines.push(format!("{} nodes of type {} that are alike", nodes.len(), kind(ir.node(nodes[0]))));
        lines.extend(live.map(|live| live.state(nodes)));
    }
    let Some(live) = live else {
        let names: Vec<&str> = nodes.iter().take(NAMED_MAX).map(|node| ir.node(*node).id.as_str()).collect();
        let more = if nodes.len() > names.len() { ", …" } else { "" };
        lines.extend(Some(format!("{}{more}", names.join(", "))).filter(|_| nodes.len() > 1));
        return bounded(lines);
    };
    // Of many: what went wrong, and what goes on.
    let mut of_each: Vec<(Status, NodeIx)> = nodes.iter().map(|node| (live.status(&[*node]), *node)).collect();
    of_each.sort_by_key(|(status, _)| match status {
        Status::Failed => 0,
        Status::Running | Status::Asking | Status::Queued | Status::Sleeping | Status::Awaiting => 1,
        _ => 2,
    });
    for (_, node) in of_each.into_iter().take(NAMED_MAX) {
        let name = if nodes.len() > 1 { format!("{}: ", ir.node(node).id) } else { String::new() };
        lines.push(format!("{name}{}", live.state(&[node])));
        lines.extend(live.nodes.get(node.at()).into_iter().flat_map(|stand| stand.details.iter().cloned()));
    }
    bounded(lines)
}

/// What the definition says of a node, whole.
fn about(ir: &Ir, node: &Node) -> Vec<String> {
    let source = |at: &kernel::ir::ExprIx| ir.expr(*at).source.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut lines = vec![format!("{}: {}", node.id, kind(node))];
    match &node.kind {
        NodeKind::Work { queue, .. } => lines.push(format!("queue {queue}")),
        NodeKind::Branch { rules } => {
            lines.extend(rules.iter().enumerate().map(|(at, rule)| format!("rules[{at}]: {}", source(rule))));
        }
        NodeKind::Route { by } => lines.push(format!("by {}", source(by))),
        NodeKind::Loop { until, .. } => lines.push(format!("until {}", source(until))),
        NodeKind::Each { items, .. } => lines.push(format!("items {}", source(items))),
        NodeKind::Wait { matches: Some(matches), .. } => lines.push(format!("match {}", source(matches))),
        NodeKind::Approval { who, .. } if !who.is_empty() => lines.push(format!("answered by {}", who.join(", "))),
        _ => {}
    }
    lines.extend(node.when.as_ref().map(|when| format!("when {}", source(when))));
    lines
}

/// The edges of a line, each with its whole condition.
fn told_of(ir: &Ir, live: Option<&Live>, edges: &[EdgeIx]) -> String {
    let mut lines = Vec::new();
    for edge in edges.iter().take(EDGES_MAX) {
        let of = ir.edge(*edge);
        let (from, to) = (ir.node(of.from), ir.node(of.to));
        let on = match (of.on, &from.kind) {
            (On::Done, _) => String::new(),
            (On::Rule(at), NodeKind::Branch { rules }) => {
                format!(
                    ", rules[{at}]: {}",
                    ir.expr(rules[usize::from(at)]).source.split_whitespace().collect::<Vec<_>>().join(" ")
                )
            }
            _ => crate::graph::label(ir, of).map_or_else(String::new, |label| format!(", {label}")),
        };
        lines.push(format!("{} → {}{on}", from.id, to.id));
    }
    if edges.len() > EDGES_MAX {
        lines.push(format!("… and {} more", edges.len() - EDGES_MAX));
    }
    if let Some(live) = live {
        let sum = carried(live, edges);
        lines.push(match (sum.taken, sum.untaken) {
            (0, 0) => "not decided yet".to_owned(),
            (0, _) => "not taken".to_owned(),
            (1, 0) => "taken".to_owned(),
            (taken, 0) => format!("taken {taken} times"),
            (taken, untaken) => format!("taken {taken} times, {untaken} times not"),
        });
    }
    bounded(lines)
}

const ABOUT_ROW: f64 = 15.0;
/// Lines that one note may have.
const NOTE_LINES_MAX: usize = 3;

/// Parts side by side, in as many lines as that takes.
fn lines(parts: &[String], room: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for part in parts {
        match lines.last_mut().map(|line| (format!("{line} · {part}"), line)) {
            Some((longer, line)) if pen::width(&longer, TEXT_SIZE, Face::Plain) <= room => *line = longer,
            _ => lines.push(clipped(part, room, TEXT_SIZE, Face::Plain).into_owned()),
        }
    }
    lines
}

/// A text broken between its words.
fn broken(text: &str, room: f64) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.len() - 1;
        let space = if lines[last].is_empty() { "" } else { " " };
        let longer = format!("{}{space}{word}", lines[last]);
        if lines[last].is_empty() || lines.len() == NOTE_LINES_MAX || pen::width(&longer, TEXT_SIZE, Face::Plain) <= room {
            lines[last] = longer;
        } else {
            lines.push(word.to_owned());
        }
    }
    lines.iter().map(|line| clipped(line, room, TEXT_SIZE, Face::Plain).into_owned()).collect()
}

const LEGEND_ROW: f64 = 20.0;

enum Entry {
    Status(Status),
    Line(&'static str, &'static str),
    Stack(&'static str),
    Box(&'static str),
}

/// Only what occurs.
fn legend(ir: &Ir, live: Option<&Live>, scene: &Scene) -> Vec<Entry> {
    let mut entries = Vec::new();
    if let Some(live) = live {
        let shown = |status: &Status| scene.cards.iter().chain(&scene.boxes).any(|card| live.status(&card.nodes) == *status);
        entries.extend(Status::ALL.into_iter().filter(shown).map(Entry::Status));
        let classes: Vec<&str> = scene.links.iter().map(|link| link_class(Some(live), &link.edges, link.detour)).collect();
        let ways = [(" taken", "way taken"), (" untaken", "way not taken"), ("", "not decided yet")];
        for (class, text) in ways {
            let occurs = |of: &&str| *of == class || (of.ends_with(" detour") && of.trim_end_matches(" detour") == class);
            entries.extend(Some(Entry::Line(class, text)).filter(|_| classes.iter().any(occurs)));
        }
    }
    if ir.edges.iter().any(|edge| is_detour(edge.on)) {
        entries.push(Entry::Line(" detour", "on error, refusal, timeout or limit"));
    }
    if scene.cards.iter().any(|card| card.nodes.len() > 1) {
        entries.push(Entry::Stack("many that are alike"));
    }
    if !scene.boxes.is_empty() {
        entries.push(Entry::Box("repeats what is in it"));
    }
    if scene.cut {
        entries.push(Entry::Line("", "→ name: leads there, too far to draw"));
    }
    entries
}

impl Entry {
    fn text(&self) -> &'static str {
        match self {
            Entry::Status(status) => status.as_str(),
            Entry::Line(_, text) | Entry::Stack(text) | Entry::Box(text) => text,
        }
    }

    /// What stands before the text.
    fn lead(&self) -> f64 {
        match self {
            Entry::Status(_) => 18.0,
            Entry::Line(..) => 34.0,
            Entry::Stack(_) | Entry::Box(_) => 26.0,
        }
    }

    fn width(&self) -> f64 {
        self.lead() + pen::width(self.text(), TEXT_SIZE, Face::Plain) + 14.0
    }

    fn paint(&self, out: &mut String, x: f64, y: f64) {
        let middle = N(y + 10.0);
        match self {
            Entry::Status(status) => pen::sign(out, *status, x, y + 3.0, SIGN),
            Entry::Line(class, _) => {
                let _ = writeln!(out, "<path class=\"link{class}\" d=\"M{} {middle}H{}\"/>", N(x), N(x + 28.0));
            }
            Entry::Stack(_) => {
                rect(out, "behind", (x + 3.0, y + 6.0), (16.0, 10.0), 2.0);
                rect(out, "card", (x, y + 4.0), (16.0, 10.0), 2.0);
            }
            Entry::Box(_) => rect(out, "box", (x, y + 3.0), (20.0, 13.0), 3.0),
        }
        let class = match self {
            Entry::Status(status) => format!("key s-{}", status.as_str()),
            _ => "key".to_owned(),
        };
        pen::text(out, &Text { x: x + self.lead(), y: y + 14.0, class: &escaped(&class), text: self.text() });
    }
}

/// One after the other, in as many rows as that takes: where each begins, and in which row.
fn flowed(entries: &[Entry], room: f64) -> Vec<(f64, usize)> {
    let (mut x, mut row) = (0.0, 0);
    let place = |entry: &Entry| {
        if x > 0.0 && x + entry.width() > room {
            (x, row) = (0.0, row + 1);
        }
        let at = (x, row);
        x += entry.width();
        at
    };
    entries.iter().map(place).collect()
}
