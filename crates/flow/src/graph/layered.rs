//! A body drawn in layers: a node stands below all that lead to it, an edge over several layers runs through empty places,
//! and between two layers each node's edges share a line of their own. Small bodies only: nothing here is clever.

use super::kind;
use kernel::ir::{BodyIx, Ir, NodeIx};
use std::collections::{BTreeMap, BTreeSet};

const GAP: usize = 3;
const BOX_ROWS: usize = 3;
const SWEEPS: usize = 4;
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
    let mut places = nodes(ir, body);
    through(&mut places)?;
    let mut layers: Vec<Vec<usize>> = Vec::new();
    for (at, place) in places.iter().enumerate() {
        layers.resize_with(layers.len().max(place.layer + 1), Vec::new);
        layers[place.layer].push(at);
    }
    arrange(&places, &mut layers);
    let widest = layers.iter().map(|layer| row_width(&places, layer)).max()?;
    if widest > width {
        return None;
    }
    layers.iter().for_each(|layer| set(&mut places, layer, widest));
    Some(paint(&places, &layers, widest))
}

/// The body's nodes are in an order in which every edge leads forward.
fn nodes(ir: &Ir, body: BodyIx) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    let at: BTreeMap<NodeIx, usize> = ir.body(body).nodes.iter().enumerate().map(|(at, ix)| (*ix, at)).collect();
    for ix in &ir.body(body).nodes {
        let node = ir.node(*ix);
        let layer = ir.predecessors(*ix).iter().map(|from| places[at[from]].layer + 1).max().unwrap_or(0);
        let to: BTreeSet<usize> = node.outs.iter().map(|edge| at[&ir.edge(*edge).to]).collect();
        let label = Some(format!("{} · {}", node.id, kind(node)));
        places.push(Place { layer, label, next: to.into_iter().collect(), before: Vec::new(), left: 0 });
    }
    places
}

/// Edges over several layers get places to run through; from then on every edge leads one layer down.
fn through(places: &mut Vec<Place>) -> Option<()> {
    for from in 0..places.len() {
        let next = std::mem::take(&mut places[from].next);
        let mut steps = Vec::new();
        for to in next {
            let mut at = from;
            for layer in places[from].layer + 1..places[to].layer {
                let new = places.len();
                places.push(Place { layer, label: None, next: Vec::new(), before: vec![at], left: 0 });
                if at == from {
                    steps.push(new)
                } else {
                    places[at].next.push(new)
                }
                at = new;
            }
            if at == from {
                steps.push(to)
            } else {
                places[at].next.push(to)
            }
            places[to].before.push(at);
            if places.len() > PLACES_MAX {
                return None;
            }
        }
        places[from].next = steps;
    }
    Some(())
}

/// Each layer by the mean place of what its members are joined to, downwards and upwards in turn: fewer lines cross.
fn arrange(places: &[Place], layers: &mut [Vec<usize>]) {
    let mut rank = vec![0usize; places.len()];
    let number = |layer: &[usize], rank: &mut Vec<usize>| layer.iter().enumerate().for_each(|(at, place)| rank[*place] = at);
    layers.iter().for_each(|layer| number(layer, &mut rank));
    for sweep in 0..SWEEPS {
        let down = sweep % 2 == 0;
        for at in 0..layers.len() {
            let layer = if down { &mut layers[at] } else { &mut layers[places_from_end(places, at)] };
            layer.sort_by_key(|place| {
                let joined = if down { &places[*place].before } else { &places[*place].next };
                let sum: usize = joined.iter().map(|other| rank[*other]).sum();
                if joined.is_empty() { rank[*place] * 1_000 } else { sum * 1_000 / joined.len() }
            });
            let layer = layer.clone();
            number(&layer, &mut rank);
        }
    }
}

fn places_from_end(places: &[Place], at: usize) -> usize {
    places.iter().map(|place| place.layer).max().unwrap_or(0) - at
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
