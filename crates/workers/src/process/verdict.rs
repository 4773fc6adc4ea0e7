//! What a process that ended means for its task.
//!
//! | it ended with | the task |
//! |---|---|
//! | 0 | is done; stdout is the output: as a whole if it is JSON, else its last line, as JSON or as text; nothing is null |
//! | 65 (`EX_DATAERR`) | failed, and trying again would not help |
//! | 75 (`EX_TEMPFAIL`) or any other code | failed, and may be tried again; the code is `exit_N` |
//! | a signal | failed, and may be tried again; the code is `signal_N` |
//! | any of these, and `signaller: failed CODE words` on stderr | failed with that code and those words |
//! | any of these, and `signaller: retry 30s` or `never` on stderr | is tried again no sooner than that, or not at all |
//! | more than 256 KiB of output | failed with `output_too_large`, and trying again would not help |

use super::child::{Ended, Exited};
use super::progress::Progress;
use flow::define::parse_duration_ms;
use kernel::limits::{ERROR_CODE_BYTES_MAX, PAYLOAD_BYTES_MAX};
use kernel::names::clip;
use kernel::record::Failure;
use serde_json::value::{RawValue, to_raw_value};

/// The data is wrong, says the process: another attempt would see the same.
const EX_DATAERR: i32 = 65;

#[derive(Debug)]
pub enum Verdict {
    Done(Box<RawValue>),
    Failed { failure: Failure, retryable: bool, retry_after_ms: Option<u64> },
}

/// What a command says of its failure itself: the last word counts.
#[derive(Default)]
struct Own<'l> {
    failed: Option<(&'l str, &'l str)>,
    retry: Option<Retry>,
    /// All else on stderr.
    rest: Vec<&'l str>,
}

#[derive(Copy, Clone)]
enum Retry {
    Never,
    AfterMs(u64),
}

impl Own<'_> {
    fn read(stderr: &str) -> Own<'_> {
        let mut own = Own::default();
        for line in stderr.lines().filter(|line| Progress::read(line).is_none()) {
            let failed = line.strip_prefix("signaller: failed ").map(str::trim).filter(|words| !words.is_empty());
            let retry = line.strip_prefix("signaller: retry ").and_then(|when| match when.trim() {
                "never" => Some(Retry::Never),
                when => parse_duration_ms(when).map(Retry::AfterMs),
            });
            match (failed, retry) {
                (Some(words), _) => {
                    let (code, message) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
                    own.failed = Some((code, message.trim()));
                }
                (None, Some(_)) => own.retry = retry,
                (None, None) => own.rest.push(line),
            }
        }
        own
    }
}

/// Of the end of stderr.
pub const MESSAGE_BYTES_MAX: usize = 1_500;

pub fn judge(ended: Ended) -> Verdict {
    let Ended { exit, stdout, stderr_tail, .. } = ended;
    let too_large = || {
        let message = format!("the command wrote more than {PAYLOAD_BYTES_MAX} bytes of output");
        Verdict::Failed { failure: Failure { code: "output_too_large".into(), message }, retryable: false, retry_after_ms: None }
    };
    let failed = |code: String, what: String, retryable: bool| {
        let Own { failed, retry, rest } = Own::read(&stderr_tail);
        let said = rest.join("\n");
        let from = said.ceil_char_boundary(said.len().saturating_sub(MESSAGE_BYTES_MAX));
        let message = if said.is_empty() { what } else { said[from..].trim_start().to_owned() };
        let (code, message) = match failed {
            Some((code, "")) => (code.to_owned(), message),
            Some((code, words)) => (code.to_owned(), words.to_owned()),
            None => (code, message),
        };
        let failure = Failure { code: clip(&code, ERROR_CODE_BYTES_MAX), message };
        match retry {
            Some(Retry::Never) => Verdict::Failed { failure, retryable: false, retry_after_ms: None },
            Some(Retry::AfterMs(ms)) => Verdict::Failed { failure, retryable: true, retry_after_ms: Some(ms) },
            None => Verdict::Failed { failure, retryable, retry_after_ms: None },
        }
    };
    match exit {
        _ if stdout.len() > PAYLOAD_BYTES_MAX => too_large(),
        Exited::Code(0) => {
            let output = output(&stdout);
            if output.get().len() > PAYLOAD_BYTES_MAX { too_large() } else { Verdict::Done(output) }
        }
        Exited::Code(code) => failed(format!("exit_{code}"), format!("the command ended with {code}"), code != EX_DATAERR),
        Exited::Signal(signal) => failed(format!("signal_{signal}"), format!("signal {signal} ended the command"), true),
    }
}

fn output(stdout: &[u8]) -> Box<RawValue> {
    let text = String::from_utf8_lossy(stdout);
    let text = text.trim();
    if text.is_empty() {
        return to_raw_value(&()).expect("null is JSON");
    }
    let json = |text: &str| serde_json::from_str::<Box<RawValue>>(text).ok();
    // What came before was said on the way.
    let last = text.lines().last().unwrap_or_default().trim();
    json(text).or_else(|| json(last)).unwrap_or_else(|| to_raw_value(last).expect("text is JSON"))
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
            (ok, "{\"a\":1}\n{\"a\":2}\n", "", r#"done {"a":2}"#),
            (ok, &large, "", "failed output_too_large for good"),
            (ok, &swollen, "", "failed output_too_large for good"),
            (Exited::Signal(9), &large, "", "failed output_too_large for good"),
            (code(1), "{}", "boom", "failed exit_1 boom"),
            (code(1), "", "", "failed exit_1 the command ended with 1"),
            (code(65), "", "bad row", "failed exit_65 for good"),
            (code(75), "", "busy", "failed exit_75 busy"),
            (Exited::Signal(11), "", "", "failed signal_11 signal 11 ended the command"),
            (code(1), "", "signaller: failed no_file größe.txt is not there", "failed no_file größe.txt is not there"),
            (code(1), "", "oh\nsignaller: failed no_file\nsignaller: progress 0.4", "failed no_file oh"),
            (code(1), "", "oh\nsignaller: retry never", "failed exit_1 for good"),
            (
                code(65),
                "",
                "signaller: failed busy\nsignaller: retry 1m30s",
                "failed busy the command ended with 65 after 90000 ms",
            ),
            (code(1), "", "signaller: retry soon", "failed exit_1 signaller: retry soon"),
            (ok, "1", "signaller: failed no_file", "done 1"),
        ] {
            let ended = Ended { exit, stdout: stdout.into(), stderr_tail: stderr.into(), left_behind: false };
            let said = match judge(ended) {
                Verdict::Done(output) => format!("done {}", output.get()),
                Verdict::Failed { failure, retryable: false, .. } => format!("failed {} for good", failure.code),
                Verdict::Failed { failure: Failure { code, message }, retry_after_ms, .. } => {
                    format!("failed {code} {message}{}", retry_after_ms.map_or(String::new(), |ms| format!(" after {ms} ms")))
                }
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
            assert_eq!(super::output(stdout.as_bytes()).get(), output, "{stdout}");
        }
    }
}
