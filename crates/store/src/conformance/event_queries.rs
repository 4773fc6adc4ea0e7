//! Cases about events.

use super::Open;
use super::queries::with_sample;
use super::sample_events::{handler, named, receive};
use super::scribe::{Scribe, event};
use crate::store::EventQuery;
use kernel::event::{Event, EventSpec};
use kernel::ids::EventId;
use kernel::names::{EventKey, EventName, Pattern};
use kernel::needs::Need;
use kernel::record::Owner;
use kernel::row::Row;
use kernel::time::Time;

fn ids(rows: &[Row]) -> Vec<u64> {
    rows.iter().map(|row| Event::from_row(&row.values).expect("it decodes").id().sequence()).collect()
}

pub(super) fn events_are_found_by_id_and_key(open: &mut Open<'_>) {
    let (mut store, scribe, _) = with_sample(open);
    let row = |id| scribe.row(&Owner::Event(event(id)));
    let key = |text: &str| EventKey::parse(text).expect("a good key");
    assert_eq!(
        store.rows(&[Need::Event(event(50)), Need::Event(event(53)), Need::Event(event(50))]).unwrap(),
        [row(50).unwrap()]
    );
    assert_eq!(store.rows(&[Need::EventKey(key("delivery/7")), Need::EventKey(key("delivery/8"))]).unwrap(), [row(50).unwrap()]);
    let mut reader = store.reader().unwrap();
    assert_eq!(reader.event(event(52)).unwrap(), row(52));
    assert_eq!(reader.event(event(53)).unwrap(), None);
    assert_eq!(reader.registry().unwrap(), scribe.row(&Owner::Registry));
}

pub(super) fn events_are_found_by_name(open: &mut Open<'_>) {
    let (mut store, mut scribe) = (open(), Scribe::new());
    for (id, name) in [(1, "a/b"), (2, "a/c"), (3, "a/b"), (4, "a/b"), (5, "a")] {
        receive(&mut scribe, event(id), named(name), Vec::new());
    }
    store.commit(&scribe.batch()).unwrap();
    let mut found = |name: &str, after, limit| {
        let name = EventName::parse(name).expect("a good name");
        ids(&store.rows(&[Need::EventsNamed { name, after: event(after), limit }]).unwrap())
    };
    assert_eq!(found("a/b", 0, 9), [1, 3, 4]);
    assert_eq!(found("a/b", 1, 9), [3, 4]);
    assert_eq!(found("a/b", 0, 2), [1, 3]);
    assert!(found("a/b", 4, 9).is_empty());
    assert!(found("a/d", 0, 9).is_empty());
}

/// Of one that goes and comes again, the one that is there counts.
pub(super) fn an_events_key_may_come_back(open: &mut Open<'_>) {
    let (mut store, mut scribe) = (open(), Scribe::new());
    let key = EventKey::parse("x").expect("a good key");
    let spec = EventSpec { key: Some(key.clone()), ..named("a/b") };
    receive(&mut scribe, event(1), spec.clone(), Vec::new());
    store.commit(&scribe.batch()).unwrap();
    scribe.forget(&Owner::Event(event(1)));
    store.commit(&scribe.batch()).unwrap();
    assert_eq!(store.rows(&[Need::EventKey(key.clone())]).unwrap(), []);
    receive(&mut scribe, event(2), spec, Vec::new());
    store.commit(&scribe.batch()).unwrap();
    assert_eq!(ids(&store.rows(&[Need::EventKey(key)]).unwrap()), [2]);
}

pub(super) fn events_are_listed_by_every_filter(open: &mut Open<'_>) {
    let (store, scribe, _) = with_sample(open);
    let mut reader = store.reader().unwrap();
    let all = || EventQuery { limit: 100, ..EventQuery::default() };
    let of = |pattern: &str| EventQuery { pattern: Some(Pattern::parse(pattern).expect("good")), ..all() };
    let became = |outcome: Option<&str>, name: Option<&str>| EventQuery {
        outcome: outcome.map(Into::into),
        handler: name.map(handler),
        ..all()
    };
    let received = |id| Event::from_row(&scribe.row(&Owner::Event(event(id))).unwrap().values).unwrap().received_at();
    for (query, expected) in [
        (all(), vec![52, 51, 50]),
        (EventQuery { limit: 2, ..all() }, vec![52, 51]),
        (EventQuery { oldest_first: true, ..all() }, vec![50, 51, 52]),
        (EventQuery { before: Some(event(51)), ..all() }, vec![50]),
        (EventQuery { after: Some(event(50)), oldest_first: true, ..all() }, vec![51, 52]),
        (EventQuery { unhandled: true, ..all() }, vec![51]),
        (EventQuery { key: EventKey::parse("delivery/7").ok(), ..all() }, vec![50]),
        (EventQuery { since: Some(received(51)), ..all() }, vec![52, 51]),
        (became(Some("queued"), None), vec![52, 50]),
        (became(Some("shadow"), None), vec![52, 50]),
        (became(None, Some("h")), vec![52]),
        (became(Some("queued"), Some("h")), vec![52]),
        (became(Some("shadow"), Some("h")), vec![]),
        (became(Some("batched"), Some("h2")), vec![50]),
        (became(Some("h2"), None), vec![]),
        (EventQuery { unhandled: true, ..became(Some("queued"), None) }, vec![]),
        (of("*"), vec![52, 51, 50]),
        (of("github/*"), vec![51, 50]),
        (of("github/pull_request.*"), vec![50]),
        (of("github/push"), vec![51]),
        (of("git/*"), vec![]),
    ] {
        assert_eq!(ids(&reader.events(&query).unwrap()), expected, "{query:?}");
    }
}

pub(super) fn old_events_come_oldest_first(open: &mut Open<'_>) {
    let (mut store, mut scribe) = (open(), Scribe::new());
    let mut times: Vec<Time> = Vec::new();
    for id in 1..=4 {
        receive(&mut scribe, event(id), named("a/b"), Vec::new());
        times.push(scribe.now());
    }
    store.commit(&scribe.batch()).unwrap();
    let mut reader = store.reader().unwrap();
    let mut old = |before: Time, after: Option<u64>, limit| {
        ids(&reader.events_old(before, after.map(|id| EventId::new(id, 0)), limit).unwrap())
    };
    assert_eq!(old(times[2], None, 10), [1, 2]);
    assert_eq!(old(times[3], None, 2), [1, 2]);
    assert_eq!(old(times[3], Some(2), 2), [3]);
    assert_eq!(old(Time::ZERO, None, 10), Vec::<u64>::new());
}
