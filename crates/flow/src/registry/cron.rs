//! Crons as the registry states them: when an event is emitted by itself, and what becomes of slots that were missed.

use crate::cron::{Schedule, Zone, jitter_ms};
use crate::instant;
use crate::limits::CRON_LATE_MS;
use kernel::event::EventSpec;
use kernel::names::{CronName, EventKey, EventName, KeyValue};
use kernel::priority::Priority;
use kernel::time::Time;

/// What stands before a cron's name in the source of its events.
const SOURCE: &str = "cron:";

#[derive(Clone, PartialEq, Debug)]
pub struct Cron {
    pub name: CronName,
    pub schedule: Schedule,
    pub zone: Zone,
    pub event: EventName,
    /// JSON text.
    pub data: Box<str>,
    pub catch_up: CatchUp,
    /// A slot fires up to so much later, always the same for the same slot.
    pub jitter_ms: u64,
    pub overlap: Overlap,
    /// Its tasks pass pauses.
    pub critical: bool,
}

/// What becomes of slots that were missed.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct CatchUp {
    pub slots: Missed,
    /// What is older is not made up for.
    pub within_ms: u64,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Missed {
    Skip,
    /// The newest.
    One,
    /// The newest of them, at most so many.
    All {
        max: u32,
    },
}

/// What becomes of a slot while tasks of the one before are under way.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Overlap {
    Queue,
    Skip,
    Replace,
}

impl Overlap {
    pub const NAMED: [(&'static str, Overlap); 3] =
        [("queue", Overlap::Queue), ("skip", Overlap::Skip), ("replace", Overlap::Replace)];

    pub fn as_str(self) -> &'static str {
        Overlap::NAMED.iter().find(|(_, overlap)| *overlap == self).map_or("", |(name, _)| name)
    }
}

/// What is to be done at an instant.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Due {
    /// Oldest first.
    pub slots: Vec<Time>,
    /// The newest slot that has come, fired or not: from there on the next time. `None`: none has.
    pub until: Option<Time>,
    /// Others were missed and are not made up for.
    pub skipped: bool,
}

impl Cron {
    /// When a slot fires.
    pub fn fires_at(&self, slot: Time) -> Time {
        slot.plus_ms(jitter_ms(self.name.as_str(), slot, self.jitter_ms))
    }

    /// The next slot, and when it fires.
    pub fn next_after(&self, slot: Time) -> Option<(Time, Time)> {
        self.schedule.next_after(slot, &self.zone).map(|slot| (slot, self.fires_at(slot)))
    }

    /// When it fires from now on. One whose slot has come may still be held back by jitter.
    pub fn upcoming(&self, now: Time) -> impl Iterator<Item = Time> {
        let from = now.plus_us(-(i64::try_from(self.jitter_ms).unwrap_or(0) * 1_000));
        let slots = std::iter::successors(self.next_after(from), |(slot, _)| self.next_after(*slot));
        slots.map(|(_, fires_at)| fires_at).filter(move |at| *at > now)
    }

    /// What is to fire now, of the slots after one.
    pub fn due(&self, after: Time, now: Time) -> Due {
        let most = match self.catch_up.slots {
            Missed::Skip | Missed::One => 1,
            Missed::All { max } => max.max(1) as usize,
        };
        // A slot that jitter still holds back is not due, nor what comes after it; older ones it cannot hold back.
        let held_from = after.max(now.plus_us(-(self.jitter_ms as i64 * 1_000)));
        let next = |slot: Time| self.schedule.next_after(slot, &self.zone).filter(|slot| *slot <= now);
        let held = std::iter::successors(next(held_from), |slot| next(*slot)).find(|slot| self.fires_at(*slot) > now);
        let until = held.map_or(now, |held| held.plus_us(-1));
        let found = self.schedule.slots_between(after, until, &self.zone, most);
        let Some(newest) = found.newest.last().copied() else { return Due::default() };
        let age_ms = |slot: Time| now.ms_since(self.fires_at(slot));
        let (count, mut skipped) = (found.newest.len(), found.more);
        let made_up = |slot: &Time| match self.catch_up.slots {
            _ if *slot == newest && age_ms(*slot) <= CRON_LATE_MS => true,
            Missed::Skip => false,
            Missed::One => *slot == newest && age_ms(*slot) <= self.catch_up.within_ms,
            Missed::All { .. } => age_ms(*slot) <= self.catch_up.within_ms,
        };
        let slots: Vec<Time> = found.newest.into_iter().filter(made_up).collect();
        skipped |= slots.len() < count;
        Due { slots, until: Some(newest), skipped }
    }

    /// The event of a slot. Sent twice it is the same event.
    pub fn spec(&self, slot: Time) -> EventSpec {
        let key = format!("{SOURCE}{}/{}", self.name, instant::show(slot.us()).replace(".000000", ""));
        EventSpec {
            key: Some(EventKey::parse(&key).expect("a cron's name is short")),
            source: Some(format!("{SOURCE}{}", self.name).into()),
            ts: Some(slot),
            priority: self.critical.then_some(Priority::CRITICAL),
            ..EventSpec::named(self.event.clone())
        }
    }

    /// What its tasks are told apart from others by.
    pub fn value(&self) -> KeyValue {
        KeyValue::parse(&format!("{SOURCE}{}", self.name)).expect("a cron's name is short")
    }
}

/// The name of the cron that an event says it comes from.
pub fn source_name(spec: &EventSpec) -> Option<&str> {
    spec.source.as_deref()?.strip_prefix(SOURCE)
}

#[cfg(test)]
mod tests {
    use crate::registry::Registry;
    use kernel::time::Time;

    fn at(text: &str) -> Time {
        Time::from_ms(crate::instant::parse_ms(&format!("2026-{text}Z")).expect(text))
    }

    #[test]
    fn slots_that_were_missed_are_made_up_for_as_stated() {
        // Hourly slots, the last of which was that of 10:00.
        for (catch_up, now, expected) in [
            ("skip", "01-01T10:30:00", "-"),
            ("skip", "01-01T11:00:00", "11:00, until 11:00"),
            ("skip", "01-01T11:00:59", "11:00, until 11:00"),
            ("skip", "01-01T11:05:00", ", until 11:00 skipped"),
            ("skip", "01-01T13:00:05", "13:00, until 13:00 skipped"),
            ("one", "01-01T13:00:05", "13:00, until 13:00 skipped"),
            ("one", "01-01T13:30:00", "13:00, until 13:00 skipped"),
            ("one", "01-01T11:30:00", "11:00, until 11:00"),
            ("all", "01-01T13:30:00", "11:00 12:00 13:00, until 13:00"),
            ("{slots: all, max: 2}", "01-01T13:30:00", "12:00 13:00, until 13:00 skipped"),
            ("{slots: all, within: 2h}", "01-01T13:30:00", "12:00 13:00, until 13:00 skipped"),
            ("{slots: one, within: 10m}", "01-01T13:30:00", ", until 13:00 skipped"),
        ] {
            let text = format!("crons: {{c: {{schedule: '0 * * * *', catch_up: {catch_up}}}}}");
            let registry = Registry::compile(text.as_bytes()).expect(&text);
            let due = registry.cron("c").expect("it is there").due(at("01-01T10:00:00"), at(now));
            let hour = |slot: &Time| crate::instant::show(slot.us())[11..16].to_owned();
            let slots: Vec<String> = due.slots.iter().map(hour).collect();
            let until = due.until.map(|until| format!("{}, until {}", slots.join(" "), hour(&until)));
            let shown = until.unwrap_or("-".to_owned()) + if due.skipped { " skipped" } else { "" };
            assert_eq!(shown, expected, "{catch_up} {now}");
        }
    }

    #[test]
    fn jitter_holds_a_slot_back_and_none_is_lost() {
        let text = "crons: {c: {schedule: '* * * * *', jitter: 5m, catch_up: all}}";
        let registry = Registry::compile(text.as_bytes()).expect(text);
        let cron = registry.cron("c").expect("it is there");
        let (mut after, mut fired) = (at("01-01T10:00:00"), Vec::new());
        for second in 0..7_200 {
            let now = at("01-01T10:00:00").plus_ms(second * 1_000);
            let due = cron.due(after, now);
            assert!(due.slots.iter().all(|slot| cron.fires_at(*slot) <= now) && !due.skipped);
            after = due.until.unwrap_or(after);
            fired.extend(due.slots);
        }
        let first = at("01-01T10:01:00");
        assert!(fired.len() >= 114, "{}", fired.len());
        assert!(fired.iter().enumerate().all(|(minute, slot)| *slot == first.plus_ms(minute as u64 * 60_000)));
    }

    #[test]
    fn the_event_of_a_slot_is_always_the_same() {
        let text = "crons: {c: {schedule: '@daily', zone: Europe/Berlin, critical: true}}";
        let registry = Registry::compile(text.as_bytes()).expect(text);
        let cron = registry.cron("c").expect("it is there");
        let (slot, _) = cron.next_after(at("01-01T10:00:00")).expect("there is one");
        let spec = cron.spec(slot);
        let key = spec.key.as_ref().map(|key| key.as_str());
        assert_eq!((spec.name.as_str(), key), ("cron/c", Some("cron:c/2026-01-01T23:00:00Z")));
        assert_eq!((spec.source.as_deref(), spec.ts, &*cron.data), (Some("cron:c"), Some(slot), "{}"));
    }
}
