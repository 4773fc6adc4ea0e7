//! Where the places of one body stand: each layer below the one before, its members side by side, each as near to the middle of
//! what it is joined to as its neighbours let it.

use crate::graph::layers::{Layers, What};

const GAP: f64 = 30.0;
const GAP_THROUGH: f64 = 16.0;
const GAP_LABEL: f64 = 10.0;
/// Between two layers: at least, and more where lines lead far to the side.
const BELOW_MIN: f64 = 30.0;
const BELOW_LABEL: f64 = 14.0;
const BELOW_MAX: f64 = 110.0;
/// How much to the side is worth one downwards.
const SLANT: f64 = 14.0;
const SWEEPS: usize = 24;
const SWEEPS_LARGE: usize = 8;
const PLACES_LARGE: usize = 4_000;

pub struct Standing {
    /// The middle of each place.
    pub x: Vec<f64>,
    /// The upper and lower bound of each layer.
    pub layers: Vec<(f64, f64)>,
    pub width: f64,
    pub height: f64,
}

/// `sizes`: of each place.
pub fn stand(layers: &Layers, sizes: &[(f64, f64)]) -> Standing {
    let mut x = vec![0.0; layers.places.len()];
    for row in &layers.rows {
        let mut left = 0.0;
        for (at, place) in row.iter().enumerate() {
            if at > 0 {
                left += apart(layers, sizes, row[at - 1], *place);
            }
            x[*place] = left;
        }
        row.iter().for_each(|place| x[*place] -= left / 2.0);
    }
    let sweeps = if layers.places.len() > PLACES_LARGE { SWEEPS_LARGE } else { SWEEPS };
    for sweep in 0..sweeps {
        let ways = match sweep {
            // At the end by both sides, so that neither pulls more than the other.
            _ if sweep + 4 >= sweeps => (true, true),
            _ if sweep % 2 == 0 => (true, false),
            _ => (false, true),
        };
        let count = layers.rows.len();
        for step in 0..count {
            let row = &layers.rows[if sweep % 2 == 0 { step } else { count - 1 - step }];
            settle(layers, sizes, row, ways, &mut x);
        }
    }
    straighten(layers, sizes, &mut x);
    let edge = |side: f64| move |(at, x): (usize, &f64)| x + side * sizes[at].0 / 2.0;
    let left = x.iter().enumerate().map(edge(-1.0)).fold(f64::INFINITY, f64::min);
    let right = x.iter().enumerate().map(edge(1.0)).fold(f64::NEG_INFINITY, f64::max);
    x.iter_mut().for_each(|x| *x -= left);
    let bounds = heights(layers, sizes, &x);
    let height = bounds.last().map_or(0.0, |(_, bottom)| *bottom);
    Standing { width: if x.is_empty() { 0.0 } else { right - left }, height, x, layers: bounds }
}

/// How far apart the middles of two neighbours are, at least.
fn apart(layers: &Layers, sizes: &[(f64, f64)], left: usize, right: usize) -> f64 {
    let gap = match (layers.places[left].what, layers.places[right].what) {
        (What::Node(_), What::Node(_)) => GAP,
        (What::Label(_), _) | (_, What::Label(_)) => GAP_LABEL,
        (What::Through, _) | (_, What::Through) => GAP_THROUGH,
    };
    (sizes[left].0 + sizes[right].0) / 2.0 + gap
}

/// The members of one layer where each wants to be, in the sense of the least squares: those that push each other form a block,
/// which stands at the mean of what its members want.
fn settle(layers: &Layers, sizes: &[(f64, f64)], row: &[usize], (above, below): (bool, bool), x: &mut [f64]) {
    struct Block {
        at: f64,
        weight: f64,
        count: usize,
    }
    let mut offsets = Vec::with_capacity(row.len());
    let mut blocks: Vec<Block> = Vec::with_capacity(row.len());
    let mut offset = 0.0;
    for (number, place) in row.iter().enumerate() {
        if number > 0 {
            offset += apart(layers, sizes, row[number - 1], *place);
        }
        offsets.push(offset);
        let (wanted, weight) = wanted(layers, *place, (above, below), x);
        blocks.push(Block { at: wanted - offset, weight, count: 1 });
        while let [.., left, right] = blocks.as_mut_slice()
            && left.at > right.at
        {
            let weight = left.weight + right.weight;
            left.at = (left.at * left.weight + right.at * right.weight) / weight;
            left.weight = weight;
            left.count += right.count;
            blocks.pop();
        }
    }
    let mut number = 0;
    for block in blocks {
        for _ in 0..block.count {
            x[row[number]] = block.at + offsets[number];
            number += 1;
        }
    }
}

/// The middle of what a place is joined to, and how much that counts: a line on its way should be straight.
fn wanted(layers: &Layers, place: usize, (above, below): (bool, bool), x: &[f64]) -> (f64, f64) {
    let this = &layers.places[place];
    let through = |at: usize| matches!(layers.places[at].what, What::Through | What::Label(_));
    let (mut sum, mut all) = (0.0, 0.0);
    for (joined, wanted) in [(&this.before, above), (&this.next, below)] {
        for other in joined.iter().filter(|_| wanted) {
            let weight = match (through(place), through(*other)) {
                (true, true) => 6.0,
                (true, false) | (false, true) => 2.0,
                (false, false) => 1.0,
            };
            sum += x[*other] * weight;
            all += weight;
        }
    }
    if all == 0.0 { (x[place], 0.2) } else { (sum / all, if through(place) { 3.0 } else { 1.0 }) }
}

/// A line over several layers goes straight down as far as its neighbours let it.
fn straighten(layers: &Layers, sizes: &[(f64, f64)], x: &mut [f64]) {
    let on_line = |place: usize| !matches!(layers.places[place].what, What::Node(_));
    let mut at = vec![0; layers.places.len()];
    layers.rows.iter().for_each(|row| row.iter().enumerate().for_each(|(number, place)| at[*place] = number));
    let room = |place: usize, x: &[f64]| {
        let row = &layers.rows[layers.places[place].layer];
        let left = at[place].checked_sub(1).map(|left| x[row[left]] + apart(layers, sizes, row[left], place));
        let right = row.get(at[place] + 1).map(|right| x[*right] - apart(layers, sizes, place, *right));
        (left.unwrap_or(f64::NEG_INFINITY), right.unwrap_or(f64::INFINITY))
    };
    let mut seen = vec![false; layers.places.len()];
    for first in (0..layers.places.len()).filter(|place| on_line(*place)) {
        if layers.places[first].before.iter().any(|before| on_line(*before)) {
            continue;
        }
        let (mut next, mut run) = (Some(first), Vec::new());
        let (mut low, mut high) = (f64::NEG_INFINITY, f64::INFINITY);
        while let Some(place) = next.filter(|place| !std::mem::replace(&mut seen[*place], true)) {
            let (left, right) = room(place, x);
            if left.max(low) > right.min(high) {
                align(&run, (low, high), x);
                (low, high) = (left, right);
                run.clear();
            } else {
                (low, high) = (left.max(low), right.min(high));
            }
            run.push(place);
            next = layers.places[place].next.first().copied().filter(|next| on_line(*next));
        }
        align(&run, (low, high), x);
    }
}

fn align(run: &[usize], (low, high): (f64, f64), x: &mut [f64]) {
    let mut wanted: Vec<f64> = run.iter().map(|place| x[*place]).collect();
    wanted.sort_by(f64::total_cmp);
    if let Some(middle) = wanted.get(wanted.len() / 2) {
        let at = middle.max(low).min(high);
        run.iter().for_each(|place| x[*place] = at);
    }
}

fn heights(layers: &Layers, sizes: &[(f64, f64)], x: &[f64]) -> Vec<(f64, f64)> {
    let mut bounds = Vec::with_capacity(layers.rows.len());
    let mut top = 0.0;
    for row in &layers.rows {
        let height = row.iter().map(|place| sizes[*place].1).fold(0.0, f64::max);
        bounds.push((top, top + height));
        let aside = row.iter().flat_map(|place| layers.places[*place].next.iter().map(|next| (x[*place] - x[*next]).abs()));
        let aside = aside.fold(0.0, f64::max);
        let labels = |row: &[usize]| row.iter().any(|place| matches!(layers.places[*place].what, What::Label(_)));
        let below = layers.rows.get(bounds.len());
        let least = if labels(row) || below.is_some_and(|row| labels(row)) { BELOW_LABEL } else { BELOW_MIN };
        top += height + (least + aside / SLANT).min(BELOW_MAX);
    }
    bounds
}
