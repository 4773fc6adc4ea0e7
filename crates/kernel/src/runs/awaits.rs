//! Who waits for which event. **Invariant**: every node that is awaiting is in here once, by the name of its event and by what
//! it asks of it, so that an event finds those it may be meant for however many wait. What cannot be decided in an event's own
//! batch becomes a look: the node goes through the events that came, the oldest first. That is no fact; after a crash it
//! follows from the node (`looking`) or from how far the shard says that waits are behind.

use super::{Live, Runs, Spot};
use crate::event::Event;
use crate::frame::FramePath;
use crate::ids::{EventId, RunId};
use crate::ir::{ExprIx, Ir, NodeIx, NodeKind};
use crate::limits::{LOOKS_MAX, NAMES_REMEMBERED_MAX};
use crate::names::{EventName, NodeId};
use crate::node::NodeState;
use crate::record::Payload;
use rustc_hash::FxHashMap;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

#[derive(Debug, Default)]
pub(crate) struct Awaits {
    names: BTreeMap<EventName, Named>,
    looks: BTreeMap<Spot, Look>,
    /// Of them, those that need events and wait for no value.
    wanting: BTreeSet<Spot>,
    /// Of these, those whose events are loaded for this batch.
    due: Vec<Spot>,
    /// Looks that only the shard's mark stands for.
    behind: usize,
    newest: Newest,
}

/// Those who wait for events of one name.
#[derive(Debug, Default)]
struct Named {
    /// By the text of what they read of an event.
    keyed: BTreeMap<Box<str>, Keyed>,
    unkeyed: BTreeSet<Spot>,
}

#[derive(Debug)]
struct Keyed {
    /// One of their texts, and the expression in there: they all read the same.
    ir: Arc<Ir>,
    of: ExprIx,
    spots: BTreeSet<(Box<str>, Spot)>,
}

#[derive(Debug)]
struct Look {
    /// Those up to here were looked at.
    after: EventId,
    /// The next ones; none before they are loaded.
    page: Vec<Event>,
    /// There may be more than those.
    more: bool,
    /// It follows from its node.
    durable: bool,
    /// The one, and its data: next it is loaded once more.
    found: Option<(EventId, Payload)>,
}

/// The newest event of each name, as far as is remembered: most who begin to wait need not look back.
#[derive(Debug, Default)]
struct Newest {
    names: FxHashMap<EventName, EventId>,
    /// None of another name is newer.
    others: Option<EventId>,
}

impl Awaits {
    /// A node begins or ceases to wait, or is known by another number.
    pub(super) fn insert(&mut self, spot: &Spot, state: &NodeState, ir: &Arc<Ir>) {
        let Some(awaiting) = state.awaiting() else { return };
        let named = self.names.entry(awaiting.event.clone()).or_default();
        let key = if let NodeKind::Wait { key: Some(key), .. } = &ir.node(spot.node).kind { Some(key.of) } else { None };
        match (&awaiting.key, key) {
            (Some((of, value)), Some(expr)) if *ir.expr(expr).source == **of => {
                let new = || Keyed { ir: ir.clone(), of: expr, spots: BTreeSet::new() };
                named.keyed.entry(of.clone()).or_insert_with(new).spots.insert((value.clone(), spot.clone()));
            }
            _ => _ = named.unkeyed.insert(spot.clone()),
        }
        if awaiting.looking {
            self.look(spot.clone(), awaiting.after, true);
        }
    }

    pub(super) fn remove(&mut self, spot: &Spot, state: &NodeState) {
        let Some(awaiting) = state.awaiting() else { return };
        self.looked(spot);
        let Some(named) = self.names.get_mut(&awaiting.event) else { return };
        named.unkeyed.remove(spot);
        if let Some((of, value)) = &awaiting.key
            && let Some(keyed) = named.keyed.get_mut(of)
        {
            keyed.spots.remove(&(value.clone(), spot.clone()));
            if keyed.spots.is_empty() {
                named.keyed.remove(of);
            }
        }
        if named.keyed.is_empty() && named.unkeyed.is_empty() {
            self.names.remove(&awaiting.event);
        }
    }

    pub(crate) fn is_awaited(&self, name: &EventName) -> bool {
        !self.names.is_empty() && self.names.contains_key(name)
    }

    /// What is read of an event of this name, by those who wait for it.
    pub(crate) fn asked_of(&self, name: &EventName) -> Vec<(Box<str>, Arc<Ir>, ExprIx)> {
        let keyed = self.names.get(name).into_iter().flat_map(|named| &named.keyed);
        keyed.map(|(of, keyed)| (of.clone(), keyed.ir.clone(), keyed.of)).collect()
    }

    /// Those who wait for one with this value.
    pub(crate) fn by_key(&self, name: &EventName, of: &str, value: &str) -> Vec<Spot> {
        let Some(keyed) = self.names.get(name).and_then(|named| named.keyed.get(of)) else { return Vec::new() };
        let first = Spot { run: RunId::new(0, 0), frame: FramePath::root(), node: NodeIx(0) };
        let from = (Box::from(value), first);
        keyed.spots.range(from..).take_while(|(its, _)| **its == *value).map(|(_, spot)| spot.clone()).collect()
    }

    pub(crate) fn unkeyed(&self, name: &EventName) -> impl Iterator<Item = &Spot> {
        self.names.get(name).into_iter().flat_map(|named| &named.unkeyed)
    }

    pub(crate) fn unkeyed_count(&self, name: &EventName) -> usize {
        self.names.get(name).map_or(0, |named| named.unkeyed.len())
    }

    /// Everybody who waits.
    fn spots(&self) -> impl Iterator<Item = &Spot> {
        self.names.values().flat_map(|named| {
            let keyed = named.keyed.values().flat_map(|keyed| keyed.spots.iter().map(|(_, spot)| spot));
            keyed.chain(&named.unkeyed)
        })
    }

    pub(crate) fn received(&mut self, name: &EventName, event: EventId) {
        self.newest.received(name, event);
    }

    /// Whether one of this name may have come after that.
    pub(crate) fn may_have_come(&self, name: &EventName, after: EventId) -> bool {
        self.newest.names.get(name).copied().or(self.newest.others) > Some(after)
    }

    /// It goes through the events that came after this one.
    pub(crate) fn look(&mut self, spot: Spot, after: EventId, durable: bool) {
        self.behind += usize::from(!durable);
        let look = Look { after, page: Vec::new(), more: true, durable, found: None };
        if self.looks.insert(spot.clone(), look).is_some_and(|before| !before.durable) {
            self.behind -= 1;
        }
        self.wanting.insert(spot);
    }

    pub(crate) fn is_looking(&self, spot: &Spot) -> bool {
        self.looks.contains_key(spot)
    }

    /// One more has come meanwhile.
    pub(crate) fn more(&mut self, spot: &Spot) {
        if let Some(look) = self.looks.get_mut(spot) {
            look.more = true;
        }
    }

    /// It has seen all.
    pub(crate) fn looked(&mut self, spot: &Spot) {
        if let Some(look) = self.looks.remove(spot) {
            self.behind -= usize::from(!look.durable);
            self.wanting.remove(spot);
        }
    }

    pub(crate) fn is_behind(&self) -> bool {
        self.behind > 0
    }

    /// The next that it has to see.
    pub(crate) fn page(&self, spot: &Spot) -> Option<&[Event]> {
        self.looks.get(spot).map(|look| &*look.page)
    }

    /// These are the next, and whether there may be more.
    pub(crate) fn take(&mut self, spot: &Spot, page: Vec<Event>, more: bool) {
        if let Some(look) = self.looks.get_mut(spot) {
            (look.page, look.more) = (page, more);
            self.wanting.remove(spot);
        }
    }

    /// This is the one.
    pub(crate) fn found(&mut self, spot: &Spot, event: EventId, data: Payload) {
        if let Some(look) = self.looks.get_mut(spot) {
            look.page.clear();
            (look.after, look.found) = (event.before(), Some((event, data)));
            self.wanting.insert(spot.clone());
        }
    }

    pub(crate) fn take_found(&mut self, spot: &Spot) -> Option<(EventId, Payload)> {
        self.looks.get_mut(spot)?.found.take()
    }

    /// The first so many of the page are not the one.
    pub(crate) fn pass(&mut self, spot: &Spot, events: usize) {
        if let Some(look) = self.looks.get_mut(spot) {
            look.after = look.page.drain(..events).next_back().map_or(look.after, |event| event.id());
        }
    }

    /// Whether all of the page was seen and there is no more. If there is, it comes.
    pub(crate) fn is_through(&mut self, spot: &Spot) -> bool {
        match self.looks.get(spot) {
            Some(look) if look.page.is_empty() && look.more => {
                self.wanting.insert(spot.clone());
                false
            }
            look => look.is_none_or(|look| look.page.is_empty()),
        }
    }

    /// How far it has come, and whether that follows from its node.
    pub(super) fn look_of(&self, spot: &Spot) -> Option<(EventId, bool)> {
        self.looks.get(spot).map(|look| (look.after, look.durable))
    }

    /// How far it has come, if it needs events.
    pub(crate) fn wants_after(&self, spot: &Spot) -> Option<EventId> {
        self.looks.get(spot).filter(|look| look.page.is_empty()).map(|look| look.after)
    }

    /// Those whose events are there.
    pub(crate) fn due(&self) -> &[Spot] {
        &self.due
    }

    pub(crate) fn is_due(&self) -> bool {
        !self.wanting.is_empty()
    }

    pub(crate) fn is_idle(&self) -> bool {
        self.looks.is_empty()
    }

    /// The next to be loaded. Only of these the events are known to be there, or not. Those that wait for values have theirs.
    pub(super) fn next_batch(&mut self) {
        let room = LOOKS_MAX.saturating_sub(self.looks.len() - self.wanting.len()).max(1);
        self.due = self.wanting.iter().take(room).cloned().collect();
    }
}

impl Newest {
    fn received(&mut self, name: &EventName, event: EventId) {
        if let Some(newest) = self.names.get_mut(name) {
            *newest = event;
            return;
        }
        if self.names.len() >= NAMES_REMEMBERED_MAX {
            self.others = self.names.drain().map(|(_, newest)| Some(newest)).fold(self.others, Option::max);
        }
        self.names.insert(name.clone(), event);
    }
}

impl Runs {
    /// The name of the event that a node waits for.
    pub(crate) fn awaited(&self, spot: &Spot) -> Option<EventName> {
        let slot = self.get(spot.run)?.slot(&spot.frame, spot.node)?;
        slot.state.awaiting().map(|awaiting| awaiting.event.clone())
    }

    /// All rows are there. What came before is not remembered, and waits may be behind from the event on that follows `behind`.
    pub(super) fn load_awaits(&mut self, others: EventId, behind: Option<EventId>) {
        self.awaits.newest.others = Some(others);
        let Some(behind) = behind else { return };
        let spots: Vec<Spot> = self.awaits.spots().filter(|spot| !self.awaits.is_looking(spot)).cloned().collect();
        for spot in spots {
            let state = self.get(spot.run).and_then(|live| live.slot(&spot.frame, spot.node)).map(|slot| &slot.state);
            if let Some(awaiting) = state.and_then(NodeState::awaiting) {
                let after = awaiting.after.max(behind);
                self.awaits.look(spot, after, false);
            }
        }
    }
}

/// What nodes in loops have heard, by what all turns have in common: each turn looks back no further than to what the one
/// before it heard.
pub(super) type HeardBefore = BTreeMap<(NodeId, FramePath), BTreeMap<FramePath, EventId>>;

impl Live {
    fn lane(&self, path: &FramePath) -> Option<FramePath> {
        let ir = self.frame(path).map_or(&self.root.ir, |frame| &frame.ir);
        path.lane(|node| ir.find(node).is_some_and(|node| ir.is_loop(node)))
    }

    /// A node has heard this event, or it is as if it never had.
    pub(super) fn note_heard(&mut self, path: &FramePath, node: &NodeId, event: Option<EventId>) {
        let Some(lane) = self.lane(path) else { return };
        let key = (node.clone(), lane);
        match event {
            Some(event) => _ = self.heard.entry(key).or_default().insert(path.clone(), event),
            None => _ = self.heard.get_mut(&key).map(|turns| turns.remove(path)),
        }
    }

    /// These turns and items of a node, from that one on, are undone.
    pub(super) fn unhear(&mut self, frame: &FramePath, node: &NodeId, turns: u32) {
        let undone = |path: &FramePath| path.turn_below(frame, node).is_some_and(|turn| turn >= turns);
        self.heard.values_mut().for_each(|heard| heard.retain(|path, _| !undone(path)));
        self.heard.retain(|_, heard| !heard.is_empty());
    }

    /// The turns and items that are undone have heard nothing.
    pub(super) fn unhear_undone(&mut self) {
        let frames = &self.frames;
        let undone = |path: &FramePath| frames.get(path).is_some_and(|frame| frame.undone);
        self.heard.values_mut().for_each(|heard| heard.retain(|path, _| !undone(path)));
        self.heard.retain(|_, heard| !heard.is_empty());
    }

    /// The turns, and what is within turns, in which nodes have heard.
    pub(super) fn heard_in(&self) -> BTreeSet<FramePath> {
        self.heard.values().flat_map(BTreeMap::keys).cloned().collect()
    }

    /// Only an event that came after this one may be what a node waits for: after the run began, or the event it was begun for,
    /// and after what the turn before heard.
    pub(crate) fn waits_after(&self, path: &FramePath, node: &NodeId) -> EventId {
        let spec = &self.run.spec;
        let origin = spec.origin.as_ref().and_then(|origin| origin.began()).map(EventId::number);
        let since = [Some(self.run.id.number()), spec.event.map(EventId::number), origin].into_iter().flatten().min();
        let since = since.and_then(EventId::from_number).expect("a run has a number");
        let heard = self.lane(path).and_then(|lane| self.heard.get(&(node.clone(), lane)));
        let before = heard.and_then(|turns| turns.range(..path.clone()).next_back()).map(|(_, event)| *event);
        before.map_or(since, |before| before.max(since))
    }
}
