//! Tracks into rows: each by itself, or many turns or items of one node as one, from the innermost outwards.

use super::super::texts::Texts;
use super::track::Track;
use crate::wire::*;
use kernel::ir::Ir;
use kernel::names::NodeId;
use std::collections::HashMap;

/// More turns or items than this are one row.
const APART_MAX: usize = 12;
/// Spans of one row; beyond, those that lie nearest to each other are one.
const SPANS_MAX: usize = 240;

/// The way to a node: loops and eaches with the turn or item and its generation, or with none where it is many.
type Way = Vec<(NodeId, Option<(u32, u32)>)>;

/// Tracks that are one row.
pub struct Fold {
    way: Way,
    node: NodeId,
    tracks: Vec<Track>,
}

pub fn apart(tracks: Vec<Track>) -> Vec<Fold> {
    let one = |track: Track| {
        let (mut way, mut frame) = (Vec::new(), track.at.frame.clone());
        while let Some((above, of, index)) = frame.up() {
            way.push((of.clone(), Some((index, frame.generation()))));
            frame = above;
        }
        way.reverse();
        Fold { way, node: track.at.node.clone(), tracks: vec![track] }
    };
    tracks.into_iter().map(one).collect()
}

pub fn folded(tracks: Vec<Track>) -> Vec<Fold> {
    let mut folds = apart(tracks);
    let depth = folds.iter().map(|fold| fold.way.len()).max().unwrap_or(0);
    for level in (0..depth).rev() {
        let mut alike: HashMap<(Way, NodeId, bool), Vec<Fold>> = HashMap::new();
        let mut rest = Vec::new();
        for fold in folds {
            match fold.way.get(level) {
                None => rest.push(fold),
                Some((of, _)) => {
                    let mut way = fold.way.clone();
                    way[level] = (of.clone(), None);
                    alike.entry((way, fold.node.clone(), fold.is_undone())).or_default().push(fold);
                }
            }
        }
        for ((way, node, _), folds) in alike {
            if folds.len() > APART_MAX {
                let tracks = folds.into_iter().flat_map(|fold| fold.tracks).collect();
                rest.push(Fold { way, node, tracks });
            } else {
                rest.extend(folds);
            }
        }
        folds = rest;
    }
    folds
}

/// In the order of the definition, what is in a loop or an each after it.
pub fn rows(folds: Vec<Fold>, texts: &Texts, (from, until): (Instant, Instant)) -> Vec<TimelineRow> {
    let newest = texts.newest().map(|ir| &**ir);
    let placed = |ir: Option<&Ir>, id: &NodeId| ir.and_then(|ir| Some(ir.node(ir.find(id)?).place));
    // What is not in the newest text any more stands where it stood.
    let place = |fold: &Fold, id: &NodeId| {
        placed(newest, id).or_else(|| placed(texts.of(&fold.tracks[0].at).map(|ir| &**ir), id)).unwrap_or(u32::MAX)
    };
    let key = |fold: &Fold| {
        let mut key: Vec<(u32, NodeId, (u32, u32))> = Vec::new();
        let turn = |turn: &Option<(u32, u32)>| turn.map_or((0, 0), |(index, generation)| (index + 1, generation));
        key.extend(fold.way.iter().map(|(of, index)| (place(fold, of), of.clone(), turn(index))));
        key.push((place(fold, &fold.node), fold.node.clone(), (0, 0)));
        (key, !fold.is_undone())
    };
    let mut keyed: Vec<_> = folds.into_iter().map(|fold| (key(&fold), fold)).collect();
    keyed.sort_by(|a, b| a.0.cmp(&b.0));
    keyed.into_iter().map(|(_, fold)| fold.row(texts, (from, until))).collect()
}

impl Fold {
    fn is_undone(&self) -> bool {
        self.tracks.iter().all(|track| track.undone)
    }

    fn row(self, texts: &Texts, (from, until): (Instant, Instant)) -> TimelineRow {
        let mut name = String::new();
        for (of, index) in &self.way {
            let dot = if name.is_empty() { "" } else { "." };
            let index = match index {
                None => "*".to_owned(),
                Some((index, 0)) => index.to_string(),
                Some((index, generation)) => format!("{index}@{generation}"),
            };
            name.push_str(&format!("{dot}{of}[{index}]"));
        }
        let slash = if name.is_empty() { "" } else { "/" };
        let (mut totals, all_undone) = (TimelineTotals::default(), self.is_undone());
        // What was undone is not counted with the rest.
        for span in self.tracks.iter().flat_map(|track| &track.spans).filter(|span| all_undone || !span.undone) {
            *totals.of(span.what) += span.from.ms_until(span.to.unwrap_or(until)).max(0).unsigned_abs();
            totals.attempts += u64::from(span.attempt.is_some());
        }
        let weight = |status: NodeStatus| match status {
            NodeStatus::Running => 0,
            NodeStatus::Asking => 1,
            NodeStatus::Queued => 2,
            NodeStatus::Sleeping => 3,
            NodeStatus::Awaiting => 4,
            NodeStatus::Failed => 5,
            NodeStatus::Waiting => 6,
            NodeStatus::Done => 7,
            NodeStatus::Cancelled => 8,
            NodeStatus::Skipped => 9,
        };
        let statuses = || self.tracks.iter().map(|track| track.status);
        let status = statuses().min_by_key(|status| weight(*status)).unwrap_or(NodeStatus::Waiting);
        let failed = statuses().filter(|status| *status == NodeStatus::Failed).count() as u64;
        let first = &self.tracks[0].at;
        let kind = texts.of(first).and_then(|ir| Some(type_of(&ir.node(ir.find(&self.node)?).kind)));
        let (undone, removed) = (self.is_undone(), texts.removed(first).map(|removed| removed.revision));
        let instances = self.tracks.len() as u64;
        let mut spans: Vec<TimelineSpan> = self.tracks.into_iter().flat_map(|track| track.spans).collect();
        if instances > 1 || spans.len() > SPANS_MAX {
            spans = united(spans, (from, until));
        }
        let node = format!("{name}{slash}{}", self.node);
        TimelineRow { node, id: self.node, kind, status, undone, removed, instances, failed, spans, totals }
    }
}

/// When any of them was at it, of each kind, and where it failed. What lies too near to be told apart is one.
fn united(mut spans: Vec<TimelineSpan>, (from, until): (Instant, Instant)) -> Vec<TimelineSpan> {
    let near_us = until.0.us().saturating_sub(from.0.us()).max(0) / SPANS_MAX as i64;
    let sort = |span: &TimelineSpan| (span.what, span.error.is_some(), span.undone);
    spans.sort_by_key(|span| (sort(span), span.from));
    let mut united: Vec<TimelineSpan> = Vec::new();
    for span in spans {
        match united.last_mut() {
            Some(last) if sort(last) == sort(&span) && last.to.is_none_or(|to| to.0.plus_us(near_us) >= span.from.0) => {
                last.to = last.to.zip(span.to).map(|(a, b)| a.max(b));
            }
            _ => united.push(TimelineSpan { attempt: None, worker: None, ..span }),
        }
    }
    united.sort_by_key(|span| (span.from, sort(span)));
    united
}
