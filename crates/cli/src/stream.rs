//! The stream of records, as server-sent events: read, and followed over lost connections by the last event's id.

use crate::client::Client;
use crate::output::Failure;
use doors::wire::{RecordView, STREAM_RESET, StreamQuery};
use std::io::{BufRead, BufReader};
use std::thread;
use std::time::Duration;

#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Event {
    pub id: String,
    /// The kind of record.
    pub name: String,
    pub data: String,
}

impl Event {
    pub fn record(&self) -> Option<RecordView> {
        serde_json::from_str(&self.data).ok()
    }

    /// The cursor was gone: something may have been missed.
    pub fn is_reset(&self) -> bool {
        self.name == STREAM_RESET
    }
}

/// The next event; `None` when the stream ends.
pub fn next_event(lines: &mut impl BufRead) -> std::io::Result<Option<Event>> {
    let mut event = Event::default();
    let mut line = String::new();
    loop {
        line.clear();
        if lines.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        let text = line.trim_end_matches(['\n', '\r']);
        if text.is_empty() {
            if event == Event::default() {
                continue;
            }
            return Ok(Some(event));
        }
        let (field, value) = text.split_once(':').unwrap_or((text, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => event.id = value.to_owned(),
            "event" => event.name = value.to_owned(),
            "data" => {
                if !event.data.is_empty() {
                    event.data.push('\n');
                }
                event.data.push_str(value);
            }
            // A comment, or a field of a newer server.
            _ => {}
        }
    }
}

pub enum News {
    /// From here on nothing is missed.
    Opened,
    Event(Event),
    /// The connection is gone; it is tried again unless the failure is final.
    Lost(Failure),
}

const RETRY_MS_FIRST: u64 = 200;
const RETRY_MS_MAX: u64 = 5_000;

/// Follows the stream on a thread of its own until `tell` answers false or the server refuses for good.
pub fn follow(client: Client, query: StreamQuery, after: Option<String>, mut tell: impl FnMut(News) -> bool + Send + 'static) {
    thread::spawn(move || {
        let mut after = after;
        let mut wait_ms = RETRY_MS_FIRST;
        loop {
            let mut asked_ms = 0;
            match client.stream(&query, after.as_deref()) {
                Ok(body) => {
                    wait_ms = RETRY_MS_FIRST;
                    if !tell(News::Opened) {
                        return;
                    }
                    let mut lines = BufReader::new(body);
                    while let Ok(Some(event)) = next_event(&mut lines) {
                        if !event.id.is_empty() {
                            after = Some(event.id.clone());
                        }
                        // An id alone says where the stream stands, and nothing else.
                        if !event.name.is_empty() && !tell(News::Event(event)) {
                            return;
                        }
                    }
                }
                Err(failure) => {
                    let is_final = !failure.retryable;
                    asked_ms = failure.retry_after_ms.unwrap_or(0);
                    if !tell(News::Lost(failure)) || is_final {
                        return;
                    }
                }
            }
            thread::sleep(Duration::from_millis(wait_ms.max(asked_ms)));
            wait_ms = (wait_ms * 2).min(RETRY_MS_MAX);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_whatever_the_line_ends() {
        let text = ": hello\n\nid: r0\n\nid: r1\nevent: task_done\ndata: {\"a\":1}\n\nid:r2\r\nevent:x\r\ndata:1\r\ndata: 2\r\n\r\n: ping\n\nevent: reset\ndata\n\nid: cut";
        let mut lines = text.as_bytes();
        let mut seen = Vec::new();
        while let Some(event) = next_event(&mut lines).unwrap() {
            seen.push((event.id, event.name, event.data));
        }
        let expected = [("r0", "", ""), ("r1", "task_done", "{\"a\":1}"), ("r2", "x", "1\n2"), ("", "reset", "")];
        assert_eq!(seen, expected.map(|(id, name, data)| (id.into(), name.into(), data.into())));
    }
}
