//! A body drawn in layers, for a terminal: an edge over several layers runs through empty places, and between two layers each
//! node's edges share a line of their own. Small bodies only: nothing here is clever.

use super::kind;
use super::layers::{self, Layers, Line, What};
use kernel::ir::{BodyIx, Ir, NodeIx};
use std::collections::{BTreeMap, BTreeSet};

const GAP: usize = 3;
const BOX_ROWS: usize = 3;
/// Places in all, those that edges run through included.
const PLACES_MAX: usize = 400;

const UP: u8 = 1;
const RIGHT: u8 = 2;
const DOWN: u8 = 4;
const LEFT: u8 = 8;

/// A node, or an edge on its way through a layer.
struct Place {
    layer: usize,
    /// None: an edge runs through.
    label: Option<String>,
    next: Vec<usize>,
    before: Vec<usize>,
    left: usize,
}

impl Place {
    fn width(&self) -> usize {
        self.label.as_ref().map_or(1, |label| label.chars().count() + 4)
    }

    fn center(&self) -> usize {
        self.left + self.width() / 2
    }
}

/// None if it does not fit.
pub fn draw(ir: &Ir, body: BodyIx, width: usize) -> Option<String> {
    let (mut places, layers) = places(ir, body);
    if places.len() > PLACES_MAX {
        return None;
    }
    let widest = layers.iter().map(|layer| row_width(&places, layer)).max()?;
    if widest > width {
        return None;
    }
    layers.iter().for_each(|layer| set(&mut places, layer, widest));
    Some(paint(&places, &layers, widest))
}

/// The body's nodes are in an order in which every edge leads forward.
fn places(ir: &Ir, body: BodyIx) -> (Vec<Place>, Vec<Vec<usize>>) {
    let nodes = &ir.body(body).nodes;
    let ends = |node: &NodeIx| {
        let from = ir.node(*node).place as usize;
        let to: BTreeSet<usize> = ir.node(*node).outs.iter().map(|edge| ir.node(ir.edge(*edge).to).place as usize).collect();
        to.into_iter().map(move |to| Line { from, to, labelled: false, trunk: None })
    };
    let lines: Vec<Line> = nodes.iter().flat_map(ends).collect();
    let mut layers = Layers::new(nodes.len(), &lines, usize::MAX);
    layers.arrange();
    let shown = |place: layers::Place| {
        let label = match place.what {
            What::Node(at) => Some(ir.node(nodes[at])).map(|node| format!("{} · {}", node.id, kind(node))),
            What::Label(_) | What::Through => None,
        };
        Place { layer: place.layer, label, next: place.next, before: place.before, left: 0 }
    };
    (layers.places.into_iter().map(shown).collect(), layers.rows)
}

fn row_width(places: &[Place], layer: &[usize]) -> usize {
    layer.iter().map(|place| places[*place].width() + GAP).sum::<usize>().saturating_sub(GAP)
}

/// Each below the mean of those before it, as far as its neighbours let it.
fn set(places: &mut [Place], layer: &[usize], width: usize) {
    let mut free = (width - row_width(places, layer)) / 2;
    let first = places[layer[0]].layer == 0;
    let mut end = 0;
    for at in layer {
        let centers: Vec<usize> = places[*at].before.iter().map(|before| places[*before].center()).collect();
        let wanted = match centers.len() {
            0 if first => free,
            0 => end,
            count => (centers.iter().sum::<usize>() / count).saturating_sub(places[*at].width() / 2),
        };
        places[*at].left = wanted.max(end);
        end = places[*at].left + places[*at].width() + GAP;
        free = end;
    }
    let mut bound = width;
    for at in layer.iter().rev() {
        let most = bound - places[*at].width();
        places[*at].left = places[*at].left.min(most);
        bound = places[*at].left.saturating_sub(GAP);
    }
}

struct Canvas {
    lines: Vec<Vec<u8>>,
    texts: Vec<(usize, usize, String)>,
    width: usize,
}

impl Canvas {
    fn line(&mut self, row: usize, column: usize, ways: u8) {
        while self.lines.len() <= row {
            self.lines.push(vec![0; self.width]);
        }
        self.lines[row][column] |= ways;
    }

    fn down(&mut self, column: usize, from: usize, to: usize) {
        (from..=to).for_each(|row| self.line(row, column, UP | DOWN));
    }

    fn text(&mut self, row: usize, column: usize, text: impl Into<String>) {
        self.texts.push((row, column, text.into()));
    }

    fn shown(self) -> String {
        const LINES: [char; 16] = [' ', '│', '─', '└', '│', '│', '┌', '├', '─', '┘', '─', '┴', '┐', '┤', '┬', '┼'];
        let mut rows: Vec<Vec<char>> =
            self.lines.iter().map(|row| row.iter().map(|ways| LINES[usize::from(*ways)]).collect()).collect();
        for (row, column, text) in self.texts {
            text.chars().enumerate().for_each(|(at, c)| rows[row][column + at] = c);
        }
        rows.into_iter().map(|row| row.into_iter().collect::<String>() + "\n").collect()
    }
}

fn paint(places: &[Place], layers: &[Vec<usize>], width: usize) -> String {
    let mut canvas = Canvas { lines: Vec::new(), texts: Vec::new(), width };
    let mut top = 0;
    for layer in layers {
        for place in layer.iter().map(|at| &places[*at]) {
            match &place.label {
                Some(label) => boxed(&mut canvas, place, label, top),
                None => canvas.down(place.center(), top, top + BOX_ROWS - 1),
            }
        }
        top = channel(&mut canvas, places, layer, top + BOX_ROWS);
    }
    canvas.shown()
}

fn boxed(canvas: &mut Canvas, place: &Place, label: &str, top: usize) {
    let (left, right) = (place.left, place.left + place.width() - 1);
    let bottom = top + BOX_ROWS - 1;
    for row in [top, bottom] {
        (left + 1..right).for_each(|column| canvas.line(row, column, LEFT | RIGHT));
    }
    canvas.line(top, left, RIGHT | DOWN);
    canvas.line(top, right, LEFT | DOWN);
    canvas.line(bottom, left, RIGHT | UP);
    canvas.line(bottom, right, LEFT | UP);
    for row in top + 1..bottom {
        canvas.line(row, left, UP | DOWN);
        canvas.line(row, right, UP | DOWN);
    }
    if !place.next.is_empty() {
        canvas.line(bottom, place.center(), DOWN);
    }
    canvas.text(top + 1, left + 2, label);
}

/// The lines below a layer; the row at which the next begins.
fn channel(canvas: &mut Canvas, places: &[Place], layer: &[usize], top: usize) -> usize {
    if layer.iter().all(|at| places[*at].next.is_empty()) {
        return top;
    }
    let tracks = tracks(places, layer);
    let rows = tracks.values().max().map_or(0, |most| most + 1);
    let arrow = top + rows;
    for at in layer {
        let from = places[*at].center();
        if places[*at].next.is_empty() {
            continue;
        }
        let Some(track) = tracks.get(at).map(|track| top + track) else {
            canvas.down(from, top, arrow);
            head(canvas, places, places[*at].next[0], arrow);
            continue;
        };
        if track > top {
            canvas.down(from, top, track - 1);
        }
        canvas.line(track, from, UP);
        for next in &places[*at].next {
            let to = places[*next].center();
            let (low, high) = (from.min(to), from.max(to));
            for column in low..=high {
                let ways = if column > low { LEFT } else { 0 } | if column < high { RIGHT } else { 0 };
                canvas.line(track, column, ways);
            }
            canvas.line(track, to, DOWN);
            canvas.down(to, track + 1, arrow);
            head(canvas, places, *next, arrow);
        }
    }
    arrow + 1
}

fn head(canvas: &mut Canvas, places: &[Place], to: usize, row: usize) {
    if places[to].label.is_some() {
        canvas.text(row, places[to].center(), "▼");
    }
}

/// A row for each node whose edges do not go straight down, so that no two share a stretch of line: neither across, nor
/// where one comes down in the column in which another starts.
fn tracks(places: &[Place], layer: &[usize]) -> BTreeMap<usize, usize> {
    let bent = |at: usize| places[at].next.iter().any(|next| places[*next].center() != places[at].center());
    let mut open: Vec<usize> = layer.iter().copied().filter(|at| bent(*at)).collect();
    let columns = |at: usize| places[at].next.iter().map(|next| places[*next].center());
    let span = |at: usize| {
        let low = columns(at).chain([places[at].center()]).min().unwrap_or(0);
        let high = columns(at).chain([places[at].center()]).max().unwrap_or(0);
        (low, high)
    };
    // It must turn off before another comes down in its column.
    let first = |a: usize, b: usize| a != b && columns(b).any(|column| column == places[a].center());
    let mut tracks: BTreeMap<usize, usize> = BTreeMap::new();
    while !open.is_empty() {
        let at = open.iter().position(|at| !open.iter().any(|other| first(*other, *at))).unwrap_or(0);
        let at = open.remove(at);
        let (low, high) = span(at);
        let mut track = tracks.iter().filter(|(other, _)| first(**other, at)).map(|(_, track)| track + 1).max().unwrap_or(0);
        while tracks.iter().any(|(other, taken)| {
            let (other_low, other_high) = span(*other);
            *taken == track && low <= other_high && other_low <= high
        }) {
            track += 1;
        }
        tracks.insert(at, track);
    }
    tracks
}
