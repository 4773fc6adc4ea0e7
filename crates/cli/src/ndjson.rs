//! Files of many, one a line as JSON, sent a batch at a time. When the server is full a batch is sent again once there is room.

use crate::commands::Session;
use crate::output::{Exit, Failure};
use crate::progress::bytes_bar;
use doors::wire::said_plainly;
use indicatif::ProgressBar;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::thread;
use std::time::Duration;

const BATCH_LINES: usize = 500;
const BATCH_BYTES: usize = 1024 * 1024;
const FULL_TRIES_MAX: u32 = 120;

/// What is sent, and how one of them looks.
pub struct Lines<'a> {
    /// A file, or `-` for stdin.
    pub source: &'a str,
    /// For the progress bar.
    pub doing: &'a str,
    pub example: &'a str,
}

impl Lines<'_> {
    /// How many lines went well, and how it ended.
    pub fn send<T: DeserializeOwned>(
        &self,
        session: &Session,
        mut send: impl FnMut(Vec<T>) -> Result<(), Failure>,
    ) -> (u64, Result<(), Failure>) {
        let (reader, bytes): (Box<dyn BufRead>, Option<u64>) = if self.source == "-" {
            (Box::new(BufReader::new(std::io::stdin())), None)
        } else {
            match File::open(self.source) {
                Ok(file) => {
                    let bytes = file.metadata().ok().map(|metadata| metadata.len());
                    (Box::new(BufReader::new(file)), bytes)
                }
                Err(error) => {
                    let failure = Failure::usage(format!("`{}` cannot be read: {error}", self.source));
                    return (0, Err(failure.fix("name a file that is there, or - for stdin")));
                }
            }
        };
        let show = bytes_bar(&session.screen, bytes, self.doing);
        let mut lines = 0;
        let sent = self.send_all(reader, &show, &mut lines, &mut send);
        show.finish_and_clear();
        (lines, sent)
    }

    fn send_all<T: DeserializeOwned>(
        &self,
        mut reader: impl BufRead,
        show: &ProgressBar,
        lines: &mut u64,
        send: &mut impl FnMut(Vec<T>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut batch = Vec::new();
        let (mut batch_bytes, mut number, mut line) = (0, 0, Vec::new());
        loop {
            line.clear();
            let read =
                reader.read_until(b'\n', &mut line).map_err(|error| Failure::usage(format!("line {}: {error}", number + 1)))?;
            if read > 0 {
                number += 1;
                batch_bytes += read;
                if !line.trim_ascii().is_empty() {
                    batch.push(self.parse(&line, number)?);
                }
            }
            let ended = read == 0;
            if !batch.is_empty() && (ended || batch.len() >= BATCH_LINES || batch_bytes >= BATCH_BYTES) {
                send(std::mem::take(&mut batch))?;
                *lines = number;
                show.inc(batch_bytes as u64);
                batch_bytes = 0;
            }
            if ended {
                return Ok(());
            }
        }
    }

    fn parse<T: DeserializeOwned>(&self, line: &[u8], number: u64) -> Result<T, Failure> {
        serde_json::from_slice(line).map_err(|error| {
            Failure::usage(format!("line {number}: {}", said_plainly(&error.to_string())))
                .fix(format!("one a line: {}", self.example))
        })
    }
}

/// It ended half way: what went well stays, and where to go on is said.
pub fn half_way(failure: Failure, lines: u64, result: &impl Serialize) -> Failure {
    if lines == 0 {
        return failure.result(result);
    }
    let kept = format!("lines 1 to {lines} were taken and stay");
    let fix = format!("{}; go on from line {}", failure.fix.clone().unwrap_or_else(|| "correct it".into()), lines + 1);
    Failure { message: format!("{} ({kept})", failure.message), ..failure }.fix(fix).result(result)
}

/// Full is not broken: what was refused whole may be sent again.
pub fn when_there_is_room<T>(mut post: impl FnMut() -> Result<T, Failure>) -> Result<T, Failure> {
    let mut tries = 0;
    loop {
        match post() {
            Err(failure) if failure.exit == Exit::Limited && &*failure.code == "limited" && tries < FULL_TRIES_MAX => {
                tries += 1;
                thread::sleep(Duration::from_millis(failure.retry_after_ms.unwrap_or(250).clamp(10, 5_000)));
            }
            answer => return answer,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;
    use doors::wire::TaskAdd;

    #[test]
    fn a_bad_line_is_named_by_its_number() {
        let lines = Lines { source: "-", doing: "adding", example: "{}" };
        assert!(lines.parse::<TaskAdd>(br#"{"type":"lint","input":[1]}"#, 1).is_ok());
        for (line, why) in [
            (&b"{"[..], "line 7: EOF"),
            (br#"{"typ":"lint"}"#, "line 7: unknown field `typ`"),
            (br#"{"type":"a b"}"#, "line 7: type `a b` may hold only"),
            (b"{\"type\":\"\xff\"}", "line 7: "),
        ] {
            let message = lines.parse::<TaskAdd>(line, 7).unwrap_err().message;
            assert!(message.starts_with(why), "{message}");
        }
    }
}
