//! A workflow laid out: cards for nodes, boxes around the bodies of loops and eaches, links between them. Everything has its place
//! here, in one system for the whole picture; how it is painted is not known.
//!
//! **Invariant**: no two cards overlap, nor does a card a box that it does not stand in; a link ends at its cards.

use super::Live;
use super::fold::folded;
use super::place::{Standing, stand};
use crate::graph::layers::{Layers, Line, What};
use crate::graph::pen::{Face, N, width};
use crate::graph::{is_detour, kind, label, one_line, when};
use kernel::ir::{BodyIx, EdgeIx, Ir, Node, NodeIx, NodeKind, ROOT};
use std::collections::BTreeMap;
use std::fmt::Write;

pub const ID_SIZE: f64 = 13.0;
pub const TEXT_SIZE: f64 = 11.0;
pub const MONO_SIZE: f64 = 10.5;
pub const PAD: f64 = 12.0;
/// For the sign of a status before a name.
pub const SIGN: f64 = 14.0;
pub const SIGN_ROOM: f64 = SIGN + 6.0;
pub const ID_ROW: f64 = 18.0;
pub const ROW: f64 = 15.0;
const CARD_WIDTH_MIN: f64 = 92.0;
const CARD_WIDTH_MAX: f64 = 236.0;
/// A branch has slanted sides.
pub const SLANTED: f64 = 12.0;
const BOX_PAD: f64 = 18.0;
const BOX_WIDTH_MIN: f64 = 210.0;
const LABEL_HEIGHT: f64 = 17.0;
const LABEL_WIDTH_MAX: f64 = 280.0;
const PORT_STEP: f64 = 16.0;
/// Places of one body that lines run through; longer lines than there is room for are cut.
pub const PLACES_MAX: usize = 60_000;

/// What is written in a card, not yet cut to its width.
#[derive(Clone, Debug, Default)]
pub struct Words {
    pub id: String,
    pub kind: String,
    pub when: Option<String>,
    pub state: Option<String>,
}

/// A node, or several that are alike; or the box around a body.
#[derive(Clone, Debug)]
pub struct Card {
    pub nodes: Vec<NodeIx>,
    pub words: Words,
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
}

/// A point where a line leaves or enters a place.
pub type Port = (f64, f64);

/// A stretch of line between two layers, for one edge or for all that share it.
#[derive(Debug)]
pub struct Link {
    pub from: Port,
    /// Where the layer that it leaves ends, and the next begins: between them is its curve.
    pub low: f64,
    pub high: f64,
    pub to: Port,
    /// It leads into a card.
    pub arrow: bool,
    pub detour: bool,
    pub edges: Vec<EdgeIx>,
}

/// What is written on a line.
#[derive(Debug)]
pub struct Label {
    pub text: String,
    pub x: f64,
    pub y: f64,
    pub width: f64,
    pub height: f64,
    pub detour: bool,
    pub edges: Vec<EdgeIx>,
}

#[derive(Debug, Default)]
pub struct Scene {
    pub width: f64,
    pub height: f64,
    /// Outer ones before those in them.
    pub boxes: Vec<Card>,
    pub cards: Vec<Card>,
    pub links: Vec<Link>,
    pub labels: Vec<Label>,
    /// There are lines that were too long to draw.
    pub cut: bool,
}

pub fn scene(ir: &Ir, live: Option<&Live>, places_max: usize) -> Scene {
    let plan = plan(ir, live, ROOT, places_max);
    let mut scene = Scene { width: plan.standing.width, height: plan.standing.height, ..Scene::default() };
    plan.emit((0.0, 0.0), &mut scene);
    scene
}

struct Item {
    nodes: Vec<NodeIx>,
    words: Words,
    size: (f64, f64),
    inner: Option<Plan>,
}

/// Edges between the same two items that are of the same sort.
struct Joined {
    detour: bool,
    label: Option<String>,
    edges: Vec<EdgeIx>,
}

struct Plan {
    items: Vec<Item>,
    joined: Vec<Joined>,
    layers: Layers,
    sizes: Vec<(f64, f64)>,
    standing: Standing,
}

/// As deep as bodies lie in each other, which is bounded.
fn plan(ir: &Ir, live: Option<&Live>, body: BodyIx, places_max: usize) -> Plan {
    let items: Vec<Item> = folded(ir, body).into_iter().map(|nodes| item(ir, live, nodes, places_max)).collect();
    let mut place = BTreeMap::new();
    items.iter().enumerate().for_each(|(at, item)| item.nodes.iter().for_each(|node| _ = place.insert(*node, at)));
    let mut ends: BTreeMap<(usize, usize, bool), Vec<EdgeIx>> = BTreeMap::new();
    for edge in ir.body(body).nodes.iter().flat_map(|node| &ir.node(*node).outs) {
        let ir_edge = ir.edge(*edge);
        ends.entry((place[&ir_edge.from], place[&ir_edge.to], is_detour(ir_edge.on))).or_default().push(*edge);
    }
    let (mut lines, mut joined) = (Vec::new(), Vec::new());
    for ((from, to, detour), edges) in ends {
        let label = written(ir, &edges);
        lines.push(Line { from, to, labelled: label.is_some(), trunk: Some(detour.into()) });
        joined.push(Joined { detour, label, edges });
    }
    let mut layers = Layers::new(items.len(), &lines, places_max);
    for (way, (line, joined)) in layers.ways.iter().zip(lines.iter().zip(&mut joined)) {
        // One that was cut says where it leads.
        if way.last() != Some(&line.to) {
            let before = joined.label.take().map(|label| format!("{label} ")).unwrap_or_default();
            joined.label = Some(format!("{before}→ {}", items[line.to].words.id));
        }
    }
    layers.arrange();
    let size = |what: What| match what {
        What::Node(at) => items[at].size,
        What::Label(at) => (label_width(joined[at].label.as_deref().unwrap_or_default()), LABEL_HEIGHT),
        What::Through => (1.0, 0.0),
    };
    let sizes: Vec<(f64, f64)> = layers.places.iter().map(|place| size(place.what)).collect();
    let standing = stand(&layers, &sizes);
    Plan { items, joined, layers, sizes, standing }
}

fn label_width(text: &str) -> f64 {
    (width(text, MONO_SIZE, Face::Mono) + 12.0).min(LABEL_WIDTH_MAX)
}

/// What is written on edges that are drawn as one: nothing if one of them is plain.
fn written(ir: &Ir, edges: &[EdgeIx]) -> Option<String> {
    let mut texts: Vec<String> = Vec::new();
    for edge in edges {
        let text = label(ir, ir.edge(*edge))?;
        if !texts.contains(&text) {
            texts.push(text);
        }
    }
    Some(texts.join(" or "))
}

fn item(ir: &Ir, live: Option<&Live>, nodes: Vec<NodeIx>, places_max: usize) -> Item {
    let first = ir.node(nodes[0]);
    let state = live.map(|live| live.state(&nodes));
    match ir.body_of(nodes[0]) {
        Some(body) => {
            let words = Words { id: first.id.to_string(), kind: about(ir, first), when: when(ir, first), state };
            let inner = plan(ir, live, body, places_max);
            let text = texts_width(&words, live.is_some()).min(inner.standing.width.max(BOX_WIDTH_MIN) + 120.0);
            let width = (inner.standing.width + 2.0 * BOX_PAD).max(text).max(BOX_WIDTH_MIN);
            let height = head_height(&words) + inner.standing.height + BOX_PAD;
            Item { nodes, words, size: (width, height), inner: Some(inner) }
        }
        None => {
            let mut words = Words { id: first.id.to_string(), kind: kind(first), when: when(ir, first), state };
            if nodes.len() > 1 {
                words.id = format!("{} … {}", first.id, ir.node(nodes[nodes.len() - 1]).id);
                words.kind = format!("{} × {}", nodes.len(), words.kind);
                let alike = nodes.iter().all(|node| when(ir, ir.node(*node)) == words.when);
                words.when = if alike { words.when } else { Some("each on a condition of its own".to_owned()) };
            }
            let slanted = if is_choice(first) { 2.0 * SLANTED } else { 0.0 };
            let width = (texts_width(&words, live.is_some()) + slanted).clamp(CARD_WIDTH_MIN, CARD_WIDTH_MAX);
            let size = (width.ceil(), card_height(&words));
            Item { nodes, words, size, inner: None }
        }
    }
}

/// What a loop or an each does, on one line.
fn about(ir: &Ir, node: &Node) -> String {
    match &node.kind {
        NodeKind::Loop { until, .. } => format!("{}, until {}", kind(node), one_line(&ir.expr(*until).source)),
        NodeKind::Each { items, .. } => format!("{}, of {}", kind(node), one_line(&ir.expr(*items).source)),
        _ => kind(node),
    }
}

pub fn is_choice(node: &Node) -> bool {
    matches!(node.kind, NodeKind::Branch { .. } | NodeKind::Route { .. })
}

fn texts_width(words: &Words, live: bool) -> f64 {
    let id = width(&words.id, ID_SIZE, Face::Mono) * 1.02 + if live { SIGN_ROOM } else { 0.0 };
    let kind = width(&words.kind, TEXT_SIZE, Face::Plain);
    let when = words.when.as_deref().map_or(0.0, |text| width(text, MONO_SIZE, Face::Mono));
    let state = words.state.as_deref().map_or(0.0, |text| width(text, TEXT_SIZE, Face::Plain));
    id.max(kind).max(when).max(state) + 2.0 * PAD
}

fn rows_height(words: &Words) -> f64 {
    let rows = 1 + usize::from(words.when.is_some()) + usize::from(words.state.is_some());
    ID_ROW + ROW * rows as f64
}

fn card_height(words: &Words) -> f64 {
    rows_height(words) + 14.0
}

/// Down to where the body of a box begins.
fn head_height(words: &Words) -> f64 {
    rows_height(words) + 24.0
}

impl Plan {
    fn emit(self, (left, top): (f64, f64), scene: &mut Scene) {
        self.links((left, top), scene);
        for (at, place) in self.layers.places.iter().enumerate() {
            let What::Label(number) = place.what else { continue };
            let joined = &self.joined[number];
            let ((width, height), (x, y)) = (self.sizes[at], self.corner(at));
            let text = joined.label.clone().unwrap_or_default();
            scene.cut |= place.next.is_empty();
            let (detour, edges) = (joined.detour, joined.edges.clone());
            scene.labels.push(Label { text, x: left + x, y: top + y, width, height, detour, edges });
        }
        let corners: Vec<(f64, f64)> = (0..self.items.len()).map(|at| self.corner(at)).collect();
        for (item, (x, y)) in self.items.into_iter().zip(corners) {
            let ((width, height), x, y) = (item.size, left + x, top + y);
            let head = head_height(&item.words);
            let card = Card { nodes: item.nodes, words: item.words, x, y, width, height };
            match item.inner {
                Some(inner) => {
                    scene.boxes.push(card);
                    let aside = (width - inner.standing.width) / 2.0;
                    inner.emit((x + aside, y + head), scene);
                }
                None => scene.cards.push(card),
            }
        }
    }

    /// The left upper corner of a place: in the middle of its layer.
    fn corner(&self, at: usize) -> (f64, f64) {
        let (width, height) = self.sizes[at];
        let (top, bottom) = self.standing.layers[self.layers.places[at].layer];
        (self.standing.x[at] - width / 2.0, f64::midpoint(top, bottom) - height / 2.0)
    }

    fn links(&self, (left, top): (f64, f64), scene: &mut Scene) {
        let mut stretches: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (line, way) in self.layers.ways.iter().enumerate() {
            way.windows(2).for_each(|pair| stretches.entry((pair[0], pair[1])).or_default().push(line));
        }
        let (outs, ins) = (self.ports(true), self.ports(false));
        for ((from, to), lines) in stretches {
            let port = |ports: &BTreeMap<(usize, usize), f64>, key: (usize, usize), place: usize| {
                ports.get(&key).copied().unwrap_or(self.standing.x[place]) + left
            };
            let a = (port(&outs, (from, to), from), self.side(from, true) + top);
            let b = (port(&ins, (to, from), to), self.side(to, false) + top);
            let low = self.standing.layers[self.layers.places[from].layer].1 + top;
            let high = self.standing.layers[self.layers.places[to].layer].0 + top;
            scene.links.push(Link {
                from: a,
                low,
                high,
                to: b,
                arrow: matches!(self.layers.places[to].what, What::Node(_)),
                detour: lines.iter().all(|line| self.joined[*line].detour),
                edges: lines.iter().flat_map(|line| self.joined[*line].edges.iter().copied()).collect(),
            });
        }
    }

    /// The height at which lines leave a place, or enter it. One that runs through takes the whole layer with it.
    fn side(&self, at: usize, leaving: bool) -> f64 {
        let place = &self.layers.places[at];
        let (top, bottom) = self.standing.layers[place.layer];
        match place.what {
            What::Through => top,
            _ => f64::midpoint(top, bottom) + if leaving { self.sizes[at].1 / 2.0 } else { -self.sizes[at].1 / 2.0 },
        }
    }

    /// Where the lines of a node leave or enter it, side by side in the order of where they lead. By (place, other place).
    fn ports(&self, leaving: bool) -> BTreeMap<(usize, usize), f64> {
        let mut ports = BTreeMap::new();
        for at in 0..self.items.len() {
            let place = &self.layers.places[at];
            let mut others: Vec<usize> = if leaving { place.next.clone() } else { place.before.clone() };
            others.sort_by(|a, b| self.standing.x[*a].total_cmp(&self.standing.x[*b]));
            let gaps = others.len().saturating_sub(1).max(1) as f64;
            let room = (self.sizes[at].0 * 0.7).min(gaps * PORT_STEP);
            for (number, other) in others.iter().enumerate() {
                let aside = if others.len() < 2 { 0.0 } else { number as f64 / gaps - 0.5 };
                ports.insert((at, *other), self.standing.x[at] + aside * room);
            }
        }
        ports
    }
}

impl Link {
    /// Straight down to the end of the layer, in a curve to the next, straight down to its end.
    pub fn path(&self) -> String {
        let Link { from: a, low, high, to: b, .. } = self;
        let mut path = format!("M{} {}", N(a.0), N(a.1));
        if *low > a.1 {
            let _ = write!(path, "V{}", N(*low));
        }
        if (a.0 - b.0).abs() < 0.5 {
            let _ = write!(path, "L{} {}", N(b.0), N(b.1));
            return path;
        }
        let middle = N(f64::midpoint(*low, *high));
        let _ = write!(path, "C{} {middle} {} {middle} {} {}", N(a.0), N(b.0), N(b.0), N(*high));
        if b.1 > *high {
            let _ = write!(path, "V{}", N(b.1));
        }
        path
    }
}
