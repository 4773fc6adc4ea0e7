//! What a process that ended means for its task.
//!
//! | it ended with | the task |
//! |---|---|
//! | 0 | is done; stdout is the output: JSON as it is, other text as a JSON string, nothing as null ([`Reading`]) |
//! | 65 (`EX_DATAERR`) | failed, and trying again would not help |
//! | 75 (`EX_TEMPFAIL`) or any other code | failed, and may be tried again; the code is `exit_N` |
//! | a signal | failed, and may be tried again; the code is `signal_N` |
//! | more than 256 KiB of output | failed with `output_too_large`, and trying again would not help |

use super::child::{Ended, Exited};
use super::progress::Progress;
use kernel::limits::PAYLOAD_BYTES_MAX;
use kernel::record::Failure;
use serde_json::value::{RawValue, to_raw_value};

/// The data is wrong, says the process: another attempt would see the same.
const EX_DATAERR: i32 = 65;

#[derive(Debug)]
pub enum Verdict {
    Done(Box<RawValue>),
    Failed { failure: Failure, retryable: bool },
}

/// Of the end of stderr.
pub const MESSAGE_BYTES_MAX: usize = 1_500;

/// What of stdout is the output where the whole of it is no JSON.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Reading {
    /// All of it, as text.
    Whole,
    /// Its last line, as JSON or as text: what came before was said on the way.
    LastLine,
}

pub fn judge(ended: Ended, reading: Reading) -> Verdict {
    let Ended { exit, stdout, stderr_tail, .. } = ended;
    let too_large = || {
        let message = format!("the command wrote more than {PAYLOAD_BYTES_MAX} bytes of output");
        Verdict::Failed { failure: Failure { code: "output_too_large".into(), message }, retryable: false }
    };
    let failed = |code: String, what: String, retryable: bool| {
        let said: Vec<&str> = stderr_tail.lines().filter(|line| Progress::read(line).is_none()).collect();
        let said = said.join("\n");
        let from = said.ceil_char_boundary(said.len().saturating_sub(MESSAGE_BYTES_MAX));
        let message = if said.is_empty() { what } else { said[from..].trim_start().to_owned() };
        Verdict::Failed { failure: Failure { code, message }, retryable }
    };
    match exit {
        _ if stdout.len() > PAYLOAD_BYTES_MAX => too_large(),
        Exited::Code(0) => {
            let output = output(&stdout, reading);
            if output.get().len() > PAYLOAD_BYTES_MAX { too_large() } else { Verdict::Done(output) }
        }
        Exited::Code(code) => failed(format!("exit_{code}"), format!("the command ended with {code}"), code != EX_DATAERR),
        Exited::Signal(signal) => failed(format!("signal_{signal}"), format!("signal {signal} ended the command"), true),
    }
}

fn output(stdout: &[u8], reading: Reading) -> Box<RawValue> {
    let text = String::from_utf8_lossy(stdout);
    let text = text.trim();
    if text.is_empty() {
        return to_raw_value(&()).expect("null is JSON");
    }
    let json = |text: &str| serde_json::from_str::<Box<RawValue>>(text).ok();
    let text_of = match reading {
        Reading::Whole => text,
        Reading::LastLine => text.lines().last().unwrap_or_default().trim(),
    };
    json(text).or_else(|| json(text_of)).unwrap_or_else(|| to_raw_value(text_of).expect("text is JSON"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_code_and_the_output_say_it_all() {
        let large = "x".repeat(PAYLOAD_BYTES_MAX + 1);
        let swollen = "\u{1}".repeat(PAYLOAD_BYTES_MAX / 2);
        let (ok, code) = (Exited::Code(0), |code| Exited::Code(code));
        for (exit, stdout, stderr, verdict) in [
            (ok, "", "noise", "done null"),
            (ok, " \n", "", "done null"),
            (ok, "{\"b\": 1, \"a\": 2}\n", "", "done {\"b\": 1, \"a\": 2}"),
            (ok, "1.50", "", "done 1.50"),
            (ok, "hello \"you\"\n", "", r#"done "hello \"you\"""#),
            (ok, "{\"a\":1}\n{\"a\":2}\n", "", r#"done "{\"a\":1}\n{\"a\":2}""#),
            (ok, &large, "", "failed output_too_large for good"),
            (ok, &swollen, "", "failed output_too_large for good"),
            (Exited::Signal(9), &large, "", "failed output_too_large for good"),
            (code(1), "{}", "boom", "failed exit_1 boom"),
            (code(1), "", "", "failed exit_1 the command ended with 1"),
            (code(65), "", "bad row", "failed exit_65 for good"),
            (code(75), "", "busy", "failed exit_75 busy"),
            (Exited::Signal(11), "", "", "failed signal_11 signal 11 ended the command"),
        ] {
            let ended = Ended { exit, stdout: stdout.into(), stderr_tail: stderr.into(), left_behind: false };
            let said = match judge(ended, Reading::Whole) {
                Verdict::Done(output) => format!("done {}", output.get()),
                Verdict::Failed { failure, retryable: true } => format!("failed {} {}", failure.code, failure.message),
                Verdict::Failed { failure, retryable: false } => format!("failed {} for good", failure.code),
            };
            assert_eq!(said, verdict);
        }
    }

    #[test]
    fn what_is_said_on_the_way_is_no_output_where_the_last_line_is() {
        for (stdout, output) in [
            ("", "null"),
            ("{\"a\":\n 1}\n", "{\"a\":\n 1}"),
            ("loading\n{\"a\":1.50}\n\n", "{\"a\":1.50}"),
            ("{\"a\":1}\n{\"a\":2}\n", "{\"a\":2}"),
            ("loading\r\nall well\r\n", "\"all well\""),
        ] {
            assert_eq!(super::output(stdout.as_bytes(), Reading::LastLine).get(), output, "{stdout}");
        }
    }
}
