//! How a command answers: a page for people, or one JSON document for agents. Results go to stdout, everything else to
//! stderr. Nothing here ever asks back.

use crate::plain::{plain_json, plain_page, plain_text};
use doors::wire::{NextAction, Problem, ProblemAt};
use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};
use std::borrow::Cow;
use std::io::{IsTerminal, Write};

/// What the process ends with.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Exit {
    Ok = 0,
    WorkFailed = 1,
    Usage = 2,
    NotFound = 3,
    Conflict = 4,
    ConfirmationNeeded = 5,
    Limited = 6,
    Unavailable = 7,
}

impl Exit {
    pub fn of_http_status(status: u16) -> Exit {
        match status {
            404 => Exit::NotFound,
            409 => Exit::Conflict,
            429 => Exit::Limited,
            400..=499 => Exit::Usage,
            _ => Exit::Unavailable,
        }
    }
}

fn next_action(command: impl Into<String>, description: impl Into<String>) -> NextAction {
    NextAction { command: format!("signaller {}", command.into()), description: description.into() }
}

/// A command that did what it was asked to.
#[derive(Debug)]
pub struct Answer {
    pub result: Box<RawValue>,
    /// For people.
    pub text: String,
    pub next: Vec<NextAction>,
    /// The text is the answer, also off a terminal: a script to be piped on.
    pub verbatim: bool,
}

impl Answer {
    pub fn new(result: &impl Serialize, text: impl Into<String>) -> Answer {
        Answer { result: raw(result), text: text.into(), next: Vec::new(), verbatim: false }
    }

    /// `command` without the name of the binary.
    pub fn next(mut self, command: impl Into<String>, description: impl Into<String>) -> Answer {
        push(&mut self.next, next_action(command, description));
        self
    }

    /// What an explanation advises, whole commands.
    pub fn advised(mut self, commands: &[String]) -> Answer {
        for command in commands {
            push(&mut self.next, NextAction { command: command.clone(), description: purpose(command).to_owned() });
        }
        self
    }
}

/// Each command once, with what was said of it first.
fn push(next: &mut Vec<NextAction>, action: NextAction) {
    if !next.iter().any(|known| known.command == action.command) {
        next.push(action);
    }
}

/// What a command of an explanation is for.
fn purpose(command: &str) -> &'static str {
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    match words.as_slice() {
        ["work", ..] => "start a worker for it",
        ["approval", "answer", .., "--yes", _, _] => "answer with yes",
        ["approval", "answer", ..] => "answer with no",
        ["run" | "task", "explain", _] => "see what that one waits for",
        ["run", "resume", _] => "let it go on",
        ["run", "retry", ..] => "go on from where it stopped",
        ["run", "fork", ..] => "what a new run from there would take along",
        ["run", "start", ..] => "start a new one",
        ["run", "trace", _] => "everything that happened in it",
        ["run" | "task", "show", _] => "see it whole",
        ["task", "retry", _] => "queue it again",
        ["task", "start", _] => "run it now, past the limits",
        ["task", "list", ..] => "see what runs there",
        ["registry", "put", _] => "change what the registry states of its queue",
        ["queue", "resume", _] => "let its queue go on",
        ["queue", "drain", _] => "run what waits there now, past the rate",
        _ => "what may help",
    }
}

pub fn raw(value: &impl Serialize) -> Box<RawValue> {
    to_raw_value(value).expect("results have text keys and finite numbers")
}

/// A command that did not.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub code: Box<str>,
    pub message: String,
    pub fix: Option<Box<str>>,
    pub retryable: bool,
    pub retry_after_ms: Option<u64>,
    /// What there is to show all the same.
    pub result: Option<Box<RawValue>>,
    pub next: Vec<NextAction>,
    /// Each on its own, where there are several.
    pub problems: Vec<ProblemAt>,
}

impl Failure {
    pub fn new(exit: Exit, code: impl Into<String>, message: impl Into<String>) -> Failure {
        Failure {
            exit,
            code: code.into().into(),
            message: message.into(),
            fix: None,
            retryable: false,
            retry_after_ms: None,
            result: None,
            next: Vec::new(),
            problems: Vec::new(),
        }
    }

    pub fn usage(message: impl Into<String>) -> Failure {
        Failure::new(Exit::Usage, "usage", message)
    }

    /// Something that cannot be undone was asked for without `--yes`.
    pub fn confirmation_needed(message: impl Into<String>) -> Failure {
        let fix = "run it again with --yes, or with --dry-run to see what it would do";
        Failure::new(Exit::ConfirmationNeeded, "confirmation_needed", message).fix(fix)
    }

    pub fn of_problem(status: u16, problem: Problem) -> Failure {
        // What a program needs to go on from there.
        let now = problem.revision.map(|revision| serde_json::json!({"revision": revision, "changes": problem.changes}));
        Failure {
            exit: Exit::of_http_status(status),
            code: problem.code.into_owned().into(),
            message: problem.message,
            fix: Some(problem.fix).filter(|fix| !fix.is_empty()).map(Into::into),
            retryable: problem.retryable,
            retry_after_ms: problem.retry_after_ms,
            result: now.as_ref().map(raw),
            next: problem.next_actions,
            problems: problem.problems,
        }
    }

    /// Whether to go on after it: what was there may come back, and who asks to come later is to be there.
    pub fn may_pass(&self, was_there: bool) -> bool {
        self.retryable && (was_there || self.retry_after_ms.is_some())
    }

    /// The server is there, and full.
    pub fn is_limited(&self) -> bool {
        &*self.code == "limited"
    }

    pub fn fix(mut self, fix: impl Into<String>) -> Failure {
        self.fix = Some(fix.into().into());
        self
    }

    pub fn retryable(mut self) -> Failure {
        self.retryable = true;
        self
    }

    pub fn result(mut self, result: &impl Serialize) -> Failure {
        self.result = Some(raw(result));
        self
    }

    pub fn next(mut self, command: impl Into<String>, description: impl Into<String>) -> Failure {
        push(&mut self.next, next_action(command, description));
        self
    }
}

pub type Outcome = Result<Answer, Failure>;

#[derive(Serialize)]
struct Envelope<'a> {
    ok: bool,
    command: &'a str,
    result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorPart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<&'a str>,
    next_actions: &'a [NextAction],
}

#[derive(Serialize)]
struct ErrorPart<'a> {
    code: &'a str,
    message: &'a str,
    retryable: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after_ms: Option<u64>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    problems: &'a [ProblemAt],
}

/// The one document of a command, without a line break in it.
pub fn envelope(command: &str, outcome: &Outcome) -> String {
    let envelope = match outcome {
        Ok(answer) => {
            Envelope { ok: true, command, result: Some(&answer.result), error: None, fix: None, next_actions: &answer.next }
        }
        Err(failure) => Envelope {
            ok: false,
            command,
            result: failure.result.as_deref(),
            error: Some(ErrorPart {
                code: &failure.code,
                message: &failure.message,
                retryable: failure.retryable,
                retry_after_ms: failure.retry_after_ms,
                problems: &failure.problems,
            }),
            fix: failure.fix.as_deref(),
            next_actions: &failure.next,
        },
    };
    let text = serde_json::to_string(&envelope).expect("an envelope is JSON");
    plain_json(&text).into_owned()
}

/// Problems that people are shown beside the first.
const PROBLEMS_SHOWN: usize = 20;

/// Where answers go and in which dress.
#[derive(Copy, Clone, Debug)]
pub struct Screen {
    pub people: bool,
    /// Colour on stdout.
    pub colour: bool,
    /// Nothing beyond ASCII of our own: the terminal may not know it.
    pub ascii: bool,
}

impl Screen {
    pub fn new(json: bool, human: bool) -> Screen {
        let terminal = std::io::stdout().is_terminal();
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty())
            || std::env::var_os("TERM").is_some_and(|value| value == "dumb");
        let people = human || (terminal && !json);
        let ascii = people && (plain || !is_utf8(|name| std::env::var(name).ok()));
        Screen { people, colour: people && terminal && !plain, ascii }
    }

    /// A line of a stream on stdout. False when nobody reads any more.
    pub fn line(&self, text: &str) -> bool {
        let mut out = std::io::stdout().lock();
        let text = if self.people { plain_page(text, self.colour) } else { text.into() };
        writeln!(out, "{}", self.known(&text)).and_then(|()| out.flush()).is_ok()
    }

    /// Something to know, beside the answer.
    pub fn note(&self, text: &str) {
        self.note_dressed(&plain_text(text));
    }

    fn note_dressed(&self, text: &str) {
        let _ = writeln!(std::io::stderr().lock(), "{}", self.known(&plain_page(text, self.colour)));
    }

    /// The text with signs that every terminal knows, where it may be one that knows no others.
    pub fn known<'a>(&self, text: &'a str) -> Cow<'a, str> {
        const SIGNS: [(char, &str); 25] = [
            ('✓', "+"),
            ('✗', "x"),
            ('×', "x"),
            ('▸', ">"),
            ('·', "."),
            ('→', "->"),
            ('…', "..."),
            ('█', "#"),
            ('░', "."),
            ('▒', "~"),
            ('▓', "%"),
            ('─', "-"),
            ('│', "|"),
            ('┌', "+"),
            ('┐', "+"),
            ('└', "+"),
            ('┘', "+"),
            ('├', "+"),
            ('┤', "+"),
            ('┬', "+"),
            ('┴', "+"),
            ('┼', "+"),
            ('▼', "v"),
            ('⇢', "~>"),
            ('≤', "<="),
        ];
        if !self.ascii || text.is_ascii() {
            return Cow::Borrowed(text);
        }
        let mut shown = String::with_capacity(text.len());
        for c in text.chars() {
            match SIGNS.iter().find(|(sign, _)| *sign == c) {
                Some((_, plain)) => shown.push_str(plain),
                None => shown.push(c),
            }
        }
        Cow::Owned(shown)
    }

    pub fn paint(&self, paint: Paint, text: &str) -> String {
        let text = plain_text(text);
        if self.colour { format!("\x1b[{}m{text}\x1b[0m", paint as u8) } else { text.into_owned() }
    }

    /// Says the last word of a command and gives what the process ends with.
    pub fn finish(&self, command: &str, outcome: Outcome) -> Exit {
        let exit = outcome.as_ref().map_or_else(|failure| failure.exit, |_| Exit::Ok);
        match &outcome {
            // Nothing of it is from outside, and not a byte of a script may change.
            Ok(answer) if answer.verbatim && answer.text.is_empty() => {}
            Ok(answer) if answer.verbatim => {
                Screen { people: false, ..*self }.line(answer.text.trim_end());
            }
            Ok(answer) if self.people => {
                if !answer.text.is_empty() {
                    self.line(answer.text.trim_end());
                }
            }
            Err(failure) if self.people => {
                let colour = self.colour && std::io::stderr().is_terminal();
                let dress = Screen { colour, ..*self };
                let note = |paint: Paint, what: &str, text: &str| {
                    dress.note_dressed(&format!("{} {}", dress.paint(paint, what), plain_text(text)));
                };
                note(Paint::Red, "error:", &failure.message);
                // The first is the message; where it is not, whoever found them has told them.
                let rest = match &failure.problems[..] {
                    [first, rest @ ..] if failure.message.contains(&*first.message) => rest,
                    _ => &[],
                };
                for problem in rest.iter().take(PROBLEMS_SHOWN) {
                    let line = problem.line.map_or_else(String::new, |line| format!("line {line}: "));
                    let path = if problem.path.is_empty() { String::new() } else { format!("{}: ", problem.path) };
                    note(Paint::Red, "   and:", &format!("{line}{path}{}", problem.message));
                }
                if rest.len() > PROBLEMS_SHOWN {
                    note(Paint::Red, "   and:", &format!("{} more", rest.len() - PROBLEMS_SHOWN));
                }
                if let Some(fix) = &failure.fix {
                    note(Paint::Bold, "  fix:", fix);
                }
                for next in &failure.next {
                    note(Paint::Dim, "  try:", &format!("{}  ({})", next.command, next.description));
                }
            }
            Ok(_) | Err(_) => {
                self.line(&envelope(command, &outcome));
            }
        }
        exit
    }
}

/// What the locale says; one that says nothing is of today.
fn is_utf8(env: impl Fn(&str) -> Option<String>) -> bool {
    let said = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter().find_map(|name| env(name).filter(|value| !value.is_empty()));
    said.is_none_or(|locale| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    })
}

/// The number is the ANSI code.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Paint {
    Bold = 1,
    Dim = 2,
    Red = 31,
    Green = 32,
    Yellow = 33,
    Blue = 34,
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn an_envelope_has_one_shape() {
        let limited = Problem::new("limited", "the inbox is full", "wait").retry_after_ms(20);
        for (outcome, shown) in [
            (
                Ok(Answer::new(&json!({"task": "task-1"}), "").next("task show task-1", "see it")),
                r#"{"ok":true,"command":"c","result":{"task":"task-1"},"next_actions":[{"command":"signaller task show task-1","description":"see it"}]}"#,
            ),
            (
                Err(Failure::usage("no such flag")),
                r#"{"ok":false,"command":"c","result":null,"error":{"code":"usage","message":"no such flag","retryable":false},"next_actions":[]}"#,
            ),
            (
                Err(Failure::of_problem(429, limited)),
                r#"{"ok":false,"command":"c","result":null,"error":{"code":"limited","message":"the inbox is full","retryable":true,"retry_after_ms":20},"fix":"wait","next_actions":[]}"#,
            ),
            (
                Err(Failure::new(Exit::WorkFailed, "work_failed", "m").result(&json!([1]))),
                r#"{"ok":false,"command":"c","result":[1],"error":{"code":"work_failed","message":"m","retryable":false},"next_actions":[]}"#,
            ),
        ] {
            assert_eq!(envelope("c", &outcome), shown);
        }
    }

    #[test]
    fn signs_that_a_terminal_may_not_know_are_written_with_those_it_does() {
        for (locale, utf8) in
            [(None, true), (Some("de_DE.UTF-8"), true), (Some("C.utf8"), true), (Some("C"), false), (Some("POSIX"), false)]
        {
            assert_eq!(is_utf8(|name| locale.filter(|_| name == "LANG").map(str::to_owned)), utf8, "{locale:?}");
        }
        assert!(!is_utf8(|name| Some(if name == "LC_ALL" { "C" } else { "C.UTF-8" }.to_owned())), "the strongest counts");
        let screen = Screen { people: true, colour: false, ascii: true };
        assert_eq!(screen.known("✓ a → b … ü"), "+ a -> b ... ü");
        assert_eq!(Screen { ascii: false, ..screen }.known("✓"), "✓");
    }

    #[test]
    fn a_payload_with_line_breaks_stays_on_one_line() {
        let raw = RawValue::from_string("{\n\"a\":\r\n\"b\\n\"}".into()).unwrap();
        let answer = Answer { result: raw, text: String::new(), next: Vec::new(), verbatim: false };
        assert_eq!(envelope("c", &Ok(answer)), r#"{"ok":true,"command":"c","result":{ "a":  "b\n"},"next_actions":[]}"#);
    }

    #[test]
    fn each_http_status_has_an_exit_code() {
        for (status, exit) in [
            (400, 2),
            (401, 2),
            (403, 2),
            (404, 3),
            (405, 2),
            (409, 4),
            (413, 2),
            (415, 2),
            (429, 6),
            (500, 7),
            (502, 7),
            (503, 7),
        ] {
            assert_eq!(Exit::of_http_status(status) as i32, exit, "{status}");
        }
        for (code, status) in doors::wire::CODES {
            assert_ne!(Exit::of_http_status(status), Exit::Ok, "{code}");
        }
    }
}
