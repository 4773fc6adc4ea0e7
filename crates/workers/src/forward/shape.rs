//! The body an event is sent as. Its data goes out as it came in, digit by digit.

use flow::registry::Shape;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

/// What an Inngest server needs of an event. `ts` is an instant or milliseconds.
#[derive(Deserialize)]
struct Envelope<'a> {
    name: String,
    id: Option<String>,
    ts: Option<Value>,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct Inngest<'a> {
    name: &'a str,
    data: &'a RawValue,
    /// An event with an id that came before starts nothing there.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<i64>,
}

/// The body for an event, or for a list of them.
pub fn body(shape: Shape, events: &str) -> Result<String, String> {
    match shape {
        Shape::Event => Ok(events.to_owned()),
        Shape::Inngest if events.trim_start().starts_with('[') => {
            let events: Vec<Envelope<'_>> = serde_json::from_str(events).map_err(|error| unread(&error))?;
            let shaped: Vec<Inngest<'_>> = events.iter().map(inngest).collect::<Result<_, _>>()?;
            Ok(serde_json::to_string(&shaped).expect("it is JSON"))
        }
        Shape::Inngest => {
            let event: Envelope<'_> = serde_json::from_str(events).map_err(|error| unread(&error))?;
            Ok(serde_json::to_string(&inngest(&event)?).expect("it is JSON"))
        }
    }
}

fn unread(error: &serde_json::Error) -> String {
    format!("this is not an event ({error}): let the handler pass whole events on")
}

fn inngest<'a>(event: &'a Envelope<'a>) -> Result<Inngest<'a>, String> {
    let data = match event.data.map(RawValue::get) {
        None | Some("null") => serde_json::from_str("{}").expect("it is JSON"),
        Some(text) if text.starts_with('{') => event.data.expect("it was looked at"),
        Some(_) => return Err(format!("the data of {} is not an object, and an Inngest server takes no other", event.name)),
    };
    let ts = event.ts.as_ref().and_then(|ts| match ts {
        Value::String(text) => text.parse::<Timestamp>().ok().map(Timestamp::as_millisecond),
        ms => ms.as_i64(),
    });
    Ok(Inngest { name: &event.name, data, id: event.id.as_deref(), ts })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inngest_server_gets_what_its_event_api_takes() {
        let unfit = "not an object";
        for (event, sent) in [
            (
                r#"{"id":"d-1","name":"github/push","source":"github","ts":"2026-11-16T10:00:00.250Z","data":{"n":1.50}}"#,
                Ok(r#"{"name":"github/push","data":{"n":1.50},"id":"d-1","ts":1794823200250}"#),
            ),
            (r#"{"name":"a","ts":1700000000123,"data":null}"#, Ok(r#"{"name":"a","data":{},"ts":1700000000123}"#)),
            (r#"{"name":"a","id":null}"#, Ok(r#"{"name":"a","data":{}}"#)),
            (
                r#" [{"name":"a","data":{"x":1}},{"name":"b","data":{}}]"#,
                Ok(r#"[{"name":"a","data":{"x":1}},{"name":"b","data":{}}]"#),
            ),
            ("[]", Ok("[]")),
            (r#"{"name":"a","data":[1]}"#, Err(unfit)),
            (r#"{"name":"a","data":"x"}"#, Err(unfit)),
            (r#"[{"name":"a","data":{}},{"name":"b","data":7}]"#, Err(unfit)),
            (r#"{"data":{}}"#, Err("pass whole events")),
            ("7", Err("pass whole events")),
            ("{", Err("pass whole events")),
        ] {
            match (body(Shape::Inngest, event), sent) {
                (Ok(body), Ok(sent)) => assert_eq!(body, sent),
                (Err(why), Err(told)) => assert!(why.contains(told), "{why}"),
                (body, _) => panic!("{event}: {body:?}"),
            }
        }
        let event = r#"{ "name":"a" , "data":{"n":1e400}}"#;
        assert_eq!(body(Shape::Event, event).as_deref(), Ok(event));
    }
}
