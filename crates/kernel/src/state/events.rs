//! Events, the registry and families in the state. Of events only those of the batch are here; what is known of them
//! besides is derived from the tasks they made.

use super::{Due, State};
use crate::event::Event;
use crate::ids::{EventId, TaskId};
use crate::lanes::Said;
use crate::names::{EventKey, EventName, Family, HandlerName, KeyName, KeyValue, Pattern};
use crate::registry::{Control, Registry};
use crate::task::Task;
use crate::time::Time;
use rustc_hash::FxHashMap;
use std::collections::BTreeSet;

#[derive(Debug, Default)]
pub(super) struct Index {
    /// Of this batch, or loaded for it.
    events: FxHashMap<EventId, Event>,
    by_key: FxHashMap<EventKey, EventId>,
    /// Tasks that more events may come into.
    windows: BTreeSet<(HandlerName, KeyValue, TaskId)>,
    /// Live tasks of which there may be one for each key.
    singles: BTreeSet<(KeyName, KeyValue, TaskId)>,
}

impl Index {
    pub(super) fn cool(&mut self) {
        self.events.clear();
        self.by_key.clear();
    }

    pub(super) fn link(&mut self, task: &Task) {
        self.each(task, |windows, entry| _ = windows.insert(entry), |singles, entry| _ = singles.insert(entry));
    }

    pub(super) fn unlink(&mut self, task: &Task) {
        self.each(task, |windows, entry| _ = windows.remove(&entry), |singles, entry| _ = singles.remove(&entry));
    }

    fn each(
        &mut self,
        task: &Task,
        window: impl FnOnce(&mut BTreeSet<(HandlerName, KeyValue, TaskId)>, (HandlerName, KeyValue, TaskId)),
        single: impl FnOnce(&mut BTreeSet<(KeyName, KeyValue, TaskId)>, (KeyName, KeyValue, TaskId)),
    ) {
        let Some(trigger) = task.card().trigger() else { return };
        let id = task.card().id();
        if let Task::Queued(queued) = task
            && let Some(open) = queued.window()
        {
            window(&mut self.windows, (trigger.handler.clone(), open.key().clone(), id));
        }
        if let (Task::Queued(_) | Task::Running(_), Some((name, value))) = (task, &trigger.single) {
            single(&mut self.singles, (name.clone(), value.clone(), id));
        }
    }
}

impl State {
    pub fn registry(&self) -> &Registry {
        &self.registry
    }

    pub fn controls(&self) -> impl Iterator<Item = &Control> {
        self.controls.values()
    }

    pub fn control(&self, families: &Pattern) -> Option<&Control> {
        self.controls.get(families)
    }

    /// What pauses this family.
    pub fn family_pauses(&self, family: &Family) -> impl Iterator<Item = &Control> {
        self.controls.values().filter(move |control| control.pause().is_some() && control.covers(family))
    }

    /// An event of this batch, or one that was loaded for it.
    pub fn event(&self, id: EventId) -> Option<&Event> {
        self.handled.events.get(&id)
    }

    /// Those of this name, the oldest first, of this batch or loaded for it.
    pub(crate) fn events_named(&self, name: &EventName) -> Vec<Event> {
        let mut named: Vec<Event> = self.handled.events.values().filter(|event| event.spec.name == *name).cloned().collect();
        named.sort_unstable_by_key(|event| event.id);
        named
    }

    pub(crate) fn event_by_key(&self, key: &EventKey) -> Option<&Event> {
        self.handled.by_key.get(key).and_then(|id| self.event(*id))
    }

    /// The youngest task of this handler that takes more events of this key, among those `fits` accepts.
    pub(crate) fn open_window(&self, handler: &HandlerName, key: &KeyValue, fits: impl Fn(TaskId) -> bool) -> Option<TaskId> {
        let of = |id| (handler.clone(), key.clone(), id);
        let open = self.handled.windows.range(of(TaskId::new(0, 0))..=of(TaskId::MAX)).rev();
        open.map(|(_, _, id)| *id).find(|id| fits(*id))
    }

    /// Live tasks of which there may be one, the oldest first.
    pub(crate) fn singles(&self, name: &KeyName, value: &KeyValue) -> Vec<TaskId> {
        let of = |id| (name.clone(), value.clone(), id);
        self.handled.singles.range(of(TaskId::new(0, 0))..=of(TaskId::MAX)).map(|(_, _, id)| *id).collect()
    }

    /// What is derived, to compare.
    #[cfg(test)]
    pub(crate) fn gathering(&self) -> (Vec<TaskId>, Vec<TaskId>) {
        let Index { windows, singles, .. } = &self.handled;
        (windows.iter().map(|(_, _, id)| *id).collect(), singles.iter().map(|(_, _, id)| *id).collect())
    }

    pub(super) fn take_event(&mut self, event: Event) {
        if let Some(key) = &event.spec.key {
            self.handled.by_key.insert(key.clone(), event.id);
        }
        self.handled.events.insert(event.id, event);
    }

    pub(crate) fn forget_event(&mut self, id: EventId) -> Option<Event> {
        let event = self.handled.events.remove(&id)?;
        if let Some(key) = &event.spec.key {
            self.handled.by_key.remove(key);
        }
        Some(event)
    }

    pub(super) fn set_control(&mut self, families: &Pattern, control: Option<Control>, now: Time) {
        let until = |control: &Control| control.pause().and_then(|pause| pause.until);
        if let Some(until) = self.controls.get(families).and_then(until) {
            self.due.remove(&(until, Due::Families(families.clone())));
        }
        if let Some(until) = control.as_ref().and_then(until) {
            self.due.insert((until, Due::Families(families.clone())));
        }
        match control {
            Some(control) => _ = self.controls.insert(families.clone(), control),
            None => _ = self.controls.remove(families),
        }
        let said = self.controls.values().map(|control| Said {
            families: control.families().clone(),
            paused: control.pause().is_some(),
            boost_us: control.boost().head_start_us(),
        });
        self.lanes.set_families(said.collect(), now);
    }
}
