//! What came to webhooks since this server started: counted, with the last refusal of each, and refusals recorded without letting
//! anybody fill the disk.

use crate::clock;
use crate::engine::Engine;
use crate::request::Request;
use kernel::command::Command;
use kernel::names::WebhookName;
use kernel::time::Time;
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Refused requests are recorded so often at most for one webhook, and counted between.
const NOTE_EVERY: Duration = Duration::from_secs(10);
/// Webhooks that are counted; a registry has fewer.
const COUNTED_MAX: usize = 1_000;

#[derive(Default)]
pub(crate) struct Webhooks(Mutex<BTreeMap<WebhookName, Counted>>);

#[derive(Default)]
struct Counted {
    tally: WebhookTally,
    /// When a refusal was last recorded, and how many have come since.
    noted: Option<Instant>,
    waiting: u32,
}

/// Since this server started.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct WebhookTally {
    pub accepted: u64,
    pub refused: u64,
    pub last_refusal: Option<(Time, String)>,
}

impl Webhooks {
    /// `None`: there are too many to count.
    fn with<T>(&self, webhook: &WebhookName, change: impl FnOnce(&mut Counted) -> T) -> Option<T> {
        let mut counted = self.0.lock().expect("nobody panics with it");
        if let Some(known) = counted.get_mut(webhook) {
            return Some(change(known));
        }
        (counted.len() < COUNTED_MAX).then(|| change(counted.entry(webhook.clone()).or_default()))
    }
}

impl Counted {
    fn refuse(&mut self, reason: &str) {
        self.tally.refused += 1;
        self.tally.last_refusal = Some((clock::wall(), reason.to_owned()));
    }

    /// How many requests the next record is to tell of; `None`: it is too soon for one.
    fn note(&mut self, now: Instant) -> Option<u32> {
        if self.noted.is_some_and(|noted| now.duration_since(noted) < NOTE_EVERY) {
            self.waiting = self.waiting.saturating_add(1);
            return None;
        }
        self.noted = Some(now);
        Some(std::mem::take(&mut self.waiting).saturating_add(1))
    }
}

impl Engine {
    pub fn webhook_tally(&self, webhook: &WebhookName) -> WebhookTally {
        let counted = self.reception().webhooks.0.lock().expect("nobody panics with it");
        counted.get(webhook).map(|known| known.tally.clone()).unwrap_or_default()
    }

    /// A request to a webhook was taken in.
    pub fn count_accepted(&self, webhook: &WebhookName) {
        self.reception().webhooks.with(webhook, |counted| counted.tally.accepted += 1);
    }

    /// It was believed, and could not be taken in.
    pub fn count_refused(&self, webhook: &WebhookName, reason: &str) {
        self.reception().webhooks.with(webhook, |counted| counted.refuse(reason));
    }

    /// A request to a webhook was not believed: a record of it, or of several.
    pub fn note_refused(&self, webhook: &WebhookName, reason: &str) {
        let requests = self.reception().webhooks.with(webhook, |counted| {
            counted.refuse(reason);
            counted.note(Instant::now())
        });
        if let Some(requests) = requests.flatten() {
            let (webhook, reason) = (webhook.clone(), reason.to_owned());
            self.tell(Request::Command(Command::NoteRefused { webhook, requests, reason }));
        }
    }

    /// Those that were counted and not yet recorded, once nobody has asked for a while.
    pub(crate) fn note_waiting(&self) {
        let mut counted = self.reception().webhooks.0.lock().expect("nobody panics with it");
        let now = Instant::now();
        for (webhook, counted) in counted.iter_mut().filter(|(_, counted)| counted.waiting > 0) {
            if counted.noted.is_none_or(|noted| now.duration_since(noted) >= NOTE_EVERY) {
                let (requests, reason) = (std::mem::take(&mut counted.waiting), "as before".to_owned());
                counted.noted = Some(now);
                self.tell(Request::Command(Command::NoteRefused { webhook: webhook.clone(), requests, reason }));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_counted_one_by_one_and_noted_once_in_a_while() {
        let (mut counted, now) = (Counted::default(), Instant::now());
        let noted: Vec<Option<u32>> = [0, 1, 9, 10, 11, 30]
            .map(|seconds| {
                counted.refuse("no");
                counted.note(now + Duration::from_secs(seconds))
            })
            .to_vec();
        assert_eq!(noted, [Some(1), None, None, Some(3), None, Some(2)]);
        assert_eq!((counted.tally.refused, counted.tally.last_refusal.map(|(_, why)| why)), (6, Some("no".to_owned())));
    }

    #[test]
    fn no_more_are_counted_than_there_is_room_for() {
        let webhooks = Webhooks::default();
        let name = |n: usize| WebhookName::parse(&format!("w{n}")).expect("a name");
        for n in 0..COUNTED_MAX {
            assert!(webhooks.with(&name(n), |_| ()).is_some());
        }
        assert!(webhooks.with(&name(COUNTED_MAX), |_| ()).is_none(), "one too many");
        assert!(webhooks.with(&name(0), |_| ()).is_some(), "one that is known");
    }
}
