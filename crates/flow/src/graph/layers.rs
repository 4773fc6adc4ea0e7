//! Layers, for every picture: a node stands below all that lead to it, an edge over several layers runs through places of its
//! own, and each layer is put in an order in which few lines cross. How large a place is and how it looks is not known here.

use std::collections::HashMap;

/// Beyond this many places their order is looked at less often, and pairs are not tried.
const PAIRS_PLACES_MAX: usize = 1_500;
const SWEEPS: usize = 12;
const SWEEPS_LARGE: usize = 4;

/// An edge between two nodes of a body, by their places in it: it leads forward.
#[derive(Clone, Copy, Debug)]
pub struct Line {
    pub from: usize,
    pub to: usize,
    /// Something is written on it, which takes a place of its own between two layers of nodes.
    pub labelled: bool,
    /// Lines to one node with the same number share their way once they are past their labels.
    pub trunk: Option<u32>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum What {
    Node(usize),
    /// What is written on the line.
    Label(usize),
    /// A line on its way.
    Through,
}

#[derive(Debug)]
pub struct Place {
    pub layer: usize,
    pub what: What,
    /// In the layer below, each once.
    pub next: Vec<usize>,
    /// In the layer above.
    pub before: Vec<usize>,
}

#[derive(Debug)]
pub struct Layers {
    /// The nodes first, by their numbers.
    pub places: Vec<Place>,
    /// From left to right.
    pub rows: Vec<Vec<usize>>,
    /// The places of each line, its ends included. One that is cut ends at its label.
    pub ways: Vec<Vec<usize>>,
}

/// The longest way from a beginning to each node.
pub fn ranks(count: usize, lines: &[Line]) -> Vec<usize> {
    let mut ins: Vec<Vec<usize>> = vec![Vec::new(); count];
    lines.iter().for_each(|line| ins[line.to].push(line.from));
    let mut ranks = vec![0; count];
    for at in 0..count {
        ranks[at] = ins[at].iter().map(|from| ranks[*from] + 1).max().unwrap_or(0);
    }
    ranks
}

impl Layers {
    /// Lines that would need more than `places_max` places to run through, the longest first, are cut: they lead to their label
    /// and no further.
    pub fn new(count: usize, lines: &[Line], places_max: usize) -> Layers {
        let ranks = ranks(count, lines);
        let span_max = span_max(&ranks, lines, places_max);
        let layers = numbered(&ranks, lines, span_max);
        let node =
            |at: usize| Place { layer: layers.node[ranks[at]], what: What::Node(at), next: Vec::new(), before: Vec::new() };
        let mut made = Layers { places: (0..count).map(node).collect(), rows: Vec::new(), ways: Vec::with_capacity(lines.len()) };
        let mut shared: HashMap<(usize, u32, usize), usize> = HashMap::new();
        for (number, line) in lines.iter().enumerate() {
            let cut = ranks[line.to] - ranks[line.from] > span_max;
            let mut way = vec![line.from];
            if line.labelled || cut {
                let layer = made.places[line.from].layer + 1;
                way.push(made.place(layer, What::Label(number)));
            }
            if !cut {
                let below = made.places[way[way.len() - 1]].layer + 1;
                for layer in below..made.places[line.to].layer {
                    // The layer of labels below its own node is not yet common ground.
                    let trunk = line.trunk.filter(|_| layer > made.places[line.from].layer + 1);
                    let place = match trunk.and_then(|trunk| shared.get(&(line.to, trunk, layer)).copied()) {
                        Some(place) => place,
                        None => {
                            let place = made.place(layer, What::Through);
                            trunk.map(|trunk| shared.insert((line.to, trunk, layer), place));
                            place
                        }
                    };
                    way.push(place);
                }
                way.push(line.to);
            }
            made.join(&way);
            made.ways.push(way);
        }
        made.rows = vec![Vec::new(); layers.count];
        made.places.iter().enumerate().for_each(|(at, place)| made.rows[place.layer].push(at));
        made
    }

    fn place(&mut self, layer: usize, what: What) -> usize {
        self.places.push(Place { layer, what, next: Vec::new(), before: Vec::new() });
        self.places.len() - 1
    }

    fn join(&mut self, way: &[usize]) {
        for pair in way.windows(2) {
            // A shared way is joined by its first line; only its end is looked at, where it comes in.
            if !self.places[pair[0]].next.contains(&pair[1]) {
                self.places[pair[0]].next.push(pair[1]);
                self.places[pair[1]].before.push(pair[0]);
            }
        }
    }

    /// Each layer by the mean place of what its members are joined to, downwards and upwards in turn; the best of all is kept.
    pub fn arrange(&mut self) {
        let sweeps = if self.places.len() > PAIRS_PLACES_MAX { SWEEPS_LARGE } else { SWEEPS };
        let mut at = self.numbered();
        let mut best = (self.crossings(&at), self.rows.clone());
        for sweep in 0..sweeps {
            if best.0 == 0 {
                break;
            }
            self.sweep(sweep % 2 == 0, &mut at);
            if self.places.len() <= PAIRS_PLACES_MAX {
                self.try_pairs(&mut at);
            }
            let crossings = self.crossings(&at);
            if crossings < best.0 {
                best = (crossings, self.rows.clone());
            }
        }
        self.rows = best.1;
    }

    /// Where each place stands in its row.
    fn numbered(&self) -> Vec<usize> {
        let mut at = vec![0; self.places.len()];
        self.rows.iter().for_each(|row| row.iter().enumerate().for_each(|(number, place)| at[*place] = number));
        at
    }

    fn sweep(&mut self, down: bool, at: &mut [usize]) {
        let count = self.rows.len();
        for step in 0..count {
            let number = if down { step } else { count - 1 - step };
            let mut row = std::mem::take(&mut self.rows[number]);
            let own = row.len().max(1) as f64;
            let beside = if down { number.checked_sub(1) } else { Some(number + 1).filter(|beside| *beside < count) };
            let Some(beside) = beside.map(|beside| self.rows[beside].len().max(1) as f64) else {
                self.rows[number] = row;
                continue;
            };
            let mean = |place: usize| {
                let joined = if down { &self.places[place].before } else { &self.places[place].next };
                match joined.len() {
                    0 => (at[place] as f64 + 0.5) / own,
                    many => (joined.iter().map(|other| at[*other]).sum::<usize>() as f64 / many as f64 + 0.5) / beside,
                }
            };
            let mut keyed: Vec<(f64, usize)> = row.iter().map(|place| (mean(*place), *place)).collect();
            keyed.sort_by(|a, b| a.0.total_cmp(&b.0));
            row.clear();
            row.extend(keyed.into_iter().map(|(_, place)| place));
            row.iter().enumerate().for_each(|(number, place)| at[*place] = number);
            self.rows[number] = row;
        }
    }

    /// Neighbours change places where fewer lines cross by that.
    fn try_pairs(&mut self, at: &mut [usize]) {
        for number in 0..self.rows.len() {
            for left in 0..self.rows[number].len().saturating_sub(1) {
                let (a, b) = (self.rows[number][left], self.rows[number][left + 1]);
                let crossed = |first: usize, second: usize| {
                    let over = |first: &[usize], second: &[usize]| {
                        first.iter().map(|one| second.iter().filter(|other| at[**other] < at[*one]).count()).sum::<usize>()
                    };
                    let (first, second) = (&self.places[first], &self.places[second]);
                    over(&first.before, &second.before) + over(&first.next, &second.next)
                };
                if crossed(b, a) < crossed(a, b) {
                    self.rows[number].swap(left, left + 1);
                    at.swap(a, b);
                }
            }
        }
    }

    /// How many pairs of lines cross, layer by layer.
    fn crossings(&self, at: &[usize]) -> u64 {
        let mut crossings = 0;
        let mut ends = Vec::new();
        for (number, row) in self.rows.iter().enumerate().take(self.rows.len().saturating_sub(1)) {
            ends.clear();
            for place in row {
                let from = ends.len();
                ends.extend(self.places[*place].next.iter().map(|next| at[*next]));
                ends[from..].sort_unstable();
            }
            // Of each end: how many of those before it lie further right. A tree of sums counts them.
            let width = self.rows[number + 1].len();
            let mut sums = vec![0u64; width + 1];
            for (seen, end) in ends.iter().enumerate() {
                let (mut until, mut sum) = (end + 1, 0);
                while until > 0 {
                    sum += sums[until];
                    until &= until - 1;
                }
                crossings += seen as u64 - sum;
                let mut node = end + 1;
                while node <= width {
                    sums[node] += 1;
                    node += node & node.wrapping_neg();
                }
            }
        }
        crossings
    }
}

/// Which layer each rank of nodes is: between two there is one for labels, where there are any.
struct Numbered {
    node: Vec<usize>,
    count: usize,
}

fn numbered(ranks: &[usize], lines: &[Line], span_max: usize) -> Numbered {
    let count = ranks.iter().max().map_or(0, |most| most + 1);
    let mut labels = vec![false; count];
    let has_label = |line: &&Line| line.labelled || ranks[line.to] - ranks[line.from] > span_max;
    lines.iter().filter(has_label).for_each(|line| labels[ranks[line.from]] = true);
    let (mut node, mut next) = (Vec::with_capacity(count), 0);
    for with_labels in labels {
        node.push(next);
        next += if with_labels { 2 } else { 1 };
    }
    // The last rank leads nowhere, so there are no labels below it.
    Numbered { node, count: next }
}

/// How many ranks a line may lead over. Half of that again and again, until there is room for the rest.
fn span_max(ranks: &[usize], lines: &[Line], places_max: usize) -> usize {
    let mut most = ranks.iter().max().copied().unwrap_or(0).max(1);
    loop {
        let mut shared: HashMap<(usize, u32), usize> = HashMap::new();
        let mut places = 0;
        for line in lines {
            let span = ranks[line.to] - ranks[line.from];
            match line.trunk {
                _ if span > most => {}
                Some(trunk) => {
                    let longest = shared.entry((line.to, trunk)).or_default();
                    *longest = span.max(*longest);
                }
                None => places += span - 1,
            }
        }
        places += shared.values().map(|span| span - 1).sum::<usize>();
        if places <= places_max || most == 1 {
            return most;
        }
        most /= 2;
    }
}
