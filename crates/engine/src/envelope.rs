//! An event as a worker gets it whole, and the list of those that one task gathers.

use crate::deliver::{Eyes, input_lost, readable};
use kernel::command::Grant;
use kernel::eval::{Evaluated, Json, View};
use kernel::event::EventSpec;
use kernel::handler::{Trigger, Window};
use kernel::ids::{EventId, RecordSeq};
use kernel::limits::WINDOW_EVENTS_MAX;
use kernel::record::{Entry, Owner, Payload, Record};
use kernel::time::Time;
use serde::Serialize;
use serde_json::value::RawValue;
use store::{BlobStore, Reader, StoreError};

#[derive(Serialize)]
struct Envelope<'a> {
    /// The one its sender gave it, or ours.
    id: &'a str,
    event: EventId,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    ts: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    priority: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dedup_key: Option<&'a str>,
    #[serde(skip_serializing_if = "Trace::is_empty")]
    trace: Trace<'a>,
    data: &'a RawValue,
}

#[derive(Serialize)]
struct Trace<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    correlation_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    causation_id: Option<&'a str>,
}

impl Trace<'_> {
    fn is_empty(&self) -> bool {
        self.correlation_id.is_none() && self.causation_id.is_none()
    }
}

/// The whole event as JSON; `None`: its data is none.
pub fn envelope(event: EventId, spec: &EventSpec, received_at: Time, data: &str) -> Option<String> {
    let own = event.to_string();
    let envelope = Envelope {
        id: spec.key.as_ref().map_or(own.as_str(), |key| key.as_str()),
        event,
        name: spec.name.as_str(),
        source: spec.source.as_deref(),
        ts: flow::instant::show(spec.ts.unwrap_or(received_at).us()),
        priority: spec.priority.map(|priority| priority.head_start_s()),
        dedup_key: spec.dedup_key.as_ref().map(|key| key.as_str()),
        trace: Trace { correlation_id: spec.correlation_id.as_deref(), causation_id: spec.causation_id.as_deref() },
        data: serde_json::from_str(data).ok()?,
    };
    serde_json::to_string(&envelope).ok()
}

/// What the task of this grant works on: the event whole, or all that its batch has gathered, the oldest first.
pub(crate) fn input(
    eyes: &mut Eyes<'_>,
    blobs: &dyn BlobStore,
    grant: &Grant,
    trigger: &Trigger,
    last: RecordSeq,
) -> Result<Evaluated, StoreError> {
    let events = match &trigger.window {
        Some(Window::Batch { .. }) => eyes.read(|reader| gathered(reader, grant, last))?,
        _ => vec![grant.input],
    };
    let mut texts = Vec::with_capacity(events.len());
    for seq in &events {
        match one(eyes, blobs, *seq, trigger.whole)? {
            Some(text) => texts.push(text),
            None => return Ok(Evaluated::Failed(input_lost())),
        }
    }
    let text = match trigger.window {
        Some(Window::Batch { .. }) => format!("[{}]", texts.join(",")),
        _ => texts.pop().unwrap_or_default(),
    };
    Ok(Evaluated::Value(Json { payload: Payload(text.into()), view: View::Other }))
}

/// The records of the events of a batch: its first names one, and each that was added another.
fn gathered(reader: &mut dyn Reader, grant: &Grant, last: RecordSeq) -> Result<Vec<RecordSeq>, StoreError> {
    // It may have been tried and put back; how often is bounded, and the events come before all of that.
    let mut at = last;
    let mut events = Vec::new();
    while at != RecordSeq::NONE {
        let entries = reader.history(at, WINDOW_EVENTS_MAX as usize)?;
        let Some(oldest) = entries.last() else { break };
        at = oldest.prev;
        events.extend(entries.iter().filter_map(|entry| match entry.record {
            Record::TaskBatched { input, .. } => Some(input),
            _ => None,
        }));
    }
    events.push(grant.input);
    events.reverse();
    Ok(events)
}

fn one(eyes: &mut Eyes<'_>, blobs: &dyn BlobStore, seq: RecordSeq, whole: bool) -> Result<Option<String>, StoreError> {
    let Some(data) = readable(eyes.payload(blobs, seq))? else { return Ok(None) };
    if !whole {
        return Ok(Some(data.text().to_owned()));
    }
    let entry = eyes.read(|reader| Ok(reader.entries(&[seq])?.pop().and_then(Result::ok)))?;
    let Some(Entry { owner: Owner::Event(id), at, record: Record::EventReceived { spec, .. }, .. }) = entry else {
        return Ok(None);
    };
    Ok(envelope(id, &spec, at, data.text()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::names::{EventKey, EventName, KeyValue};
    use kernel::priority::Priority;

    #[test]
    fn no_envelope_is_larger_than_it_is_taken_for() {
        let name = EventName::parse("github/pull_request.opened").unwrap();
        let awkward: Box<str> = "\"\\\u{1}\n\u{1f}ü€".repeat(20).into();
        let most = EventSpec {
            key: Some(EventKey::parse(&"\"\\".repeat(60)).unwrap()),
            source: Some(awkward.clone()),
            ts: Some(Time::from_ms(1_700_000_000_123)),
            priority: Some(Priority::BACKGROUND),
            dedup_key: Some(KeyValue::parse(&"\"ü".repeat(60)).unwrap()),
            correlation_id: Some(awkward.clone()),
            causation_id: Some(awkward),
            ..EventSpec::named(name.clone())
        };
        for spec in [EventSpec::named(name), most] {
            let whole = envelope(EventId::new(1 << 40, 1 << 14), &spec, Time::from_ms(1), "[1]").unwrap();
            let grown = (whole.len() - "[1]".len()) as u64;
            assert!(grown < spec.envelope_bytes(), "{grown} of {}: {whole}", spec.envelope_bytes());
        }
    }
}
