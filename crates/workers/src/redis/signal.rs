//! What a worker says became of a token: seed 003's completion signal, and what that means for the task. Or, meanwhile, how far it is.

use crate::inside::failed;
use kernel::command::Outcome;
use kernel::readable::readable;
use kernel::record::{Failure, Payload};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};
use std::collections::BTreeMap;

/// What is said of a failure that says nothing itself.
const SILENT: &str = "the worker reported a failure and no reason";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Signal<'a> {
    pub job_id: Option<String>,
    pub run_id: Option<String>,
    pub node_id: Option<String>,
    status: String,
    result_ref: Option<String>,
    #[serde(borrow)]
    result_data: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
    /// For people: a text, or several.
    #[serde(borrow)]
    log: Option<&'a RawValue>,
    /// From 0 to 1, and a word with it.
    #[serde(borrow)]
    progress: Option<&'a RawValue>,
    #[serde(borrow)]
    message: Option<&'a RawValue>,
}

/// What became of it, as far as the signal itself says.
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    Is(Outcome),
    /// Its result lies there, or why it failed.
    Lies(String),
}

/// What ended, if it does not say that it goes on. Or what is wrong with it.
pub fn read(text: &str) -> Result<(Signal<'_>, Option<Said>), String> {
    let signal: Signal = serde_json::from_str(text).map_err(|error| format!("no signal: {error}"))?;
    let at = signal.result_ref.as_deref().filter(|at| !at.is_empty());
    let said = match (signal.status.as_str(), signal.result_data, at) {
        ("completed", Some(data), _) => Some(Said::Is(done(data.get()))),
        ("completed", None, Some(at)) => Some(Said::Lies(at.to_owned())),
        ("completed", None, None) => Some(Said::Is(Outcome::Done { output: Payload::null() })),
        ("failed", _, at) => match (signal.reason(&Value::Null), at) {
            (None, Some(at)) => Some(Said::Lies(at.to_owned())),
            _ => Some(Said::Is(signal.failed(&Value::Null))),
        },
        ("running", ..) => None,
        (other, ..) => return Err(format!("its status is `{other}`, which is none of completed, failed and running")),
    };
    if signal.job_id.is_none() && (signal.run_id.is_none() || signal.node_id.is_none()) {
        return Err("it names neither a job nor a run and a node".into());
    }
    Ok((signal, said))
}

/// The same signal under the id of the token that it was found to mean.
pub fn named(text: &str, id: &str) -> String {
    let id = to_raw_value(id).expect("a text is JSON");
    let mut fields: BTreeMap<String, &RawValue> = serde_json::from_str(text).expect("it was read before");
    fields.insert("job_id".into(), &id);
    serde_json::to_string(&fields).expect("it is JSON")
}

/// A result that not everyone could read would cost whoever gets it all that comes with it.
fn done(json: &str) -> Outcome {
    match readable(json) {
        Ok(()) => Outcome::Done { output: Payload(json.into()) },
        Err(error) => failed("output_unreadable", format!("its result is JSON that not everyone can read: {error}"), false),
    }
}

/// JSON as it is, anything else as text.
fn result(bytes: &[u8]) -> Outcome {
    match serde_json::from_slice::<&RawValue>(bytes) {
        Ok(json) => done(json.get()),
        Err(_) => Outcome::Done { output: Payload(Value::from(String::from_utf8_lossy(bytes)).to_string().into()) },
    }
}

fn json(raw: Option<&RawValue>) -> Value {
    raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
}

impl Signal<'_> {
    /// What it means, of what lies where it says.
    pub fn lying(&self, bytes: &[u8]) -> Outcome {
        match self.status.as_str() {
            "failed" => self.failed(&serde_json::from_slice(bytes).unwrap_or_else(|_| String::from_utf8_lossy(bytes).into())),
            _ => result(bytes),
        }
    }

    /// What it means when nothing could be had from there: a failure is one all the same.
    pub fn lost(&self, code: &str, message: String) -> Outcome {
        match self.status.as_str() {
            "failed" => self.failed(&Value::Null),
            _ => failed(code, message, true),
        }
    }

    /// What it says for people. Anything that is no text is left out: it shall not cost the result.
    pub fn lines(&self) -> Vec<String> {
        match json(self.log) {
            Value::String(text) => text.lines().map(str::to_owned).collect(),
            Value::Array(lines) => lines.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
            _ => Vec::new(),
        }
    }

    /// How far it is, of a thousand.
    pub fn progress(&self) -> Option<(u16, Option<String>)> {
        let share = json(self.progress).as_f64()?;
        Some(((share.clamp(0.0, 1.0) * 1_000.0).round() as u16, json(self.message).as_str().map(str::to_owned)))
    }

    /// Wherever the worker put it: in the signal, or where that says that it lies.
    fn told(&self, lying: &Value) -> [Value; 6] {
        let (metadata, data) = (json(self.metadata), json(self.result_data));
        let inside = |value: &Value| value["error"].clone();
        [json(self.error), inside(&metadata), inside(&data), inside(lying), lying.clone(), metadata]
    }

    fn reason(&self, lying: &Value) -> Option<String> {
        let text = |value: &Value| value.as_str().map(str::to_owned);
        self.told(lying)[..5].iter().find_map(|error| text(error).or_else(|| text(&error["message"])))
    }

    fn failed(&self, lying: &Value) -> Outcome {
        let told = self.told(lying);
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let code = told[..5].iter().find_map(|error| text(&error["code"])).or_else(|| text(&told[5]["error_code"]));
        let retryable = told.iter().find_map(|value| value["retryable"].as_bool()).unwrap_or(true);
        let retry_after_ms = told.iter().find_map(|value| value["retry_after_ms"].as_u64());
        let message = self.reason(lying).unwrap_or_else(|| SILENT.into());
        Outcome::Failed { failure: Failure { code: code.unwrap_or_else(|| "failed".into()), message }, retryable, retry_after_ms }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn done(output: &str) -> Said {
        Said::Is(Outcome::Done { output: Payload(output.into()) })
    }

    fn failed(code: &str, message: &str, retryable: bool, retry_after_ms: Option<u64>) -> Said {
        let failure = Failure { code: code.into(), message: message.into() };
        Said::Is(Outcome::Failed { failure, retryable, retry_after_ms })
    }

    #[test]
    fn a_signal_says_what_became_of_a_token() {
        let cases = [
            (r#"{"job_id":"j","status":"completed","result_data":{"a": 1}}"#, done(r#"{"a": 1}"#)),
            (r#"{"job_id":"j","status":"completed","result_data":null,"result_ref":null}"#, done("null")),
            (
                r#"{"version":"1.0","job_id":"j","status":"completed","result_ref":"x","metadata":{"tokens":3}}"#,
                Said::Lies("x".into()),
            ),
            (r#"{"run_id":"r","node_id":"n","status":"completed"}"#, done("null")),
            (r#"{"job_id":"j","status":"failed"}"#, failed("failed", SILENT, true, None)),
            (r#"{"job_id":"j","status":"failed","error":"broke"}"#, failed("failed", "broke", true, None)),
            (
                r#"{"job_id":"j","status":"failed","error":{"code":"e1","message":"m","retryable":false}}"#,
                failed("e1", "m", false, None),
            ),
            (
                r#"{"job_id":"j","status":"failed","metadata":{"error":"later","retry_after_ms":50}}"#,
                failed("failed", "later", true, Some(50)),
            ),
            (r#"{"job_id":"j","status":"failed","result_data":{"error":{"message":"m"}}}"#, failed("failed", "m", true, None)),
            (r#"{"job_id":"j","status":"failed","result_ref":"x","error":"here"}"#, failed("failed", "here", true, None)),
            (r#"{"job_id":"j","status":"failed","result_ref":"x"}"#, Said::Lies("x".into())),
        ];
        for (text, said) in cases {
            assert_eq!(read(text).map(|(_, said)| said), Ok(Some(said)), "{text}");
        }
    }

    #[test]
    fn a_signal_says_how_far_it_is_and_what_is_for_people() {
        for (fields, lines, progress) in [
            (r#""progress":0.25,"message":"row 4","log":["a","b"]"#, &["a", "b"][..], Some((250, Some("row 4".to_owned())))),
            (r#""progress":7,"log":"a\nb""#, &["a", "b"], Some((1_000, None))),
            (r#""progress":"half","log":[1,"a"],"message":2"#, &["a"], None),
            (r#""log":{}"#, &[], None),
        ] {
            let text = format!(r#"{{"job_id":"j","status":"running",{fields}}}"#);
            let (signal, said) = read(&text).unwrap();
            assert_eq!((said, signal.progress()), (None, progress), "{text}");
            assert_eq!(signal.lines(), lines, "{text}");
        }
    }

    #[test]
    fn what_is_no_signal_is_told() {
        for (text, why) in [
            ("", "no signal"),
            ("nonsense", "no signal"),
            ("[1]", "no signal"),
            (r#"{"job_id":7,"status":"completed"}"#, "no signal"),
            (r#"{"job_id":"j"}"#, "its status is ``"),
            (r#"{"job_id":"j","status":"done"}"#, "its status is `done`"),
            (r#"{"run_id":"r","status":"completed"}"#, "it names neither"),
        ] {
            let told = read(text).map(|_| ()).unwrap_err();
            assert!(told.starts_with(why), "{text}: {told}");
        }
    }

    fn shown(outcome: Outcome) -> String {
        match outcome {
            Outcome::Done { output } => output.text().to_owned(),
            Outcome::Failed { failure, retryable, .. } => format!("{}: {} ({retryable})", failure.code, failure.message),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn what_lies_elsewhere_is_json_or_text_or_the_reason() {
        for (status, bytes, told) in [
            ("completed", &b"{\"a\":1}"[..], "{\"a\":1}"),
            ("completed", b"plain", "\"plain\""),
            ("completed", b"\xff", "\"\u{fffd}\""),
            ("completed", b"", "\"\""),
            ("failed", b"broke", "failed: broke (true)"),
            ("failed", b"\"broke\"", "failed: broke (true)"),
            ("failed", b"{\"error\":{\"code\":\"e1\",\"message\":\"m\",\"retryable\":false}}", "e1: m (false)"),
            ("failed", b"{\"code\":\"e2\",\"message\":\"m\"}", "e2: m (true)"),
            ("failed", b"7", "failed: the worker reported a failure and no reason (true)"),
        ] {
            let text = format!(r#"{{"job_id":"j","status":"{status}","result_ref":"x"}}"#);
            assert_eq!(shown(read(&text).unwrap().0.lying(bytes)), told);
        }
    }

    #[test]
    fn a_result_that_not_everyone_can_read_is_a_failure_for_good() {
        let deep = format!("{}{}", "[".repeat(5_000), "]".repeat(5_000));
        for json in ["1e999", r#"["\ud800"]"#, &deep] {
            let text = format!(r#"{{"job_id":"j","status":"completed","result_data":{json}}}"#);
            let (signal, Some(Said::Is(outcome))) = read(&text).unwrap() else { panic!("{json} is told at once") };
            for outcome in [outcome, signal.lying(json.as_bytes())] {
                let told = shown(outcome);
                assert!(told.starts_with("output_unreadable: ") && told.ends_with("(false)"), "{told}");
            }
        }
    }

    #[test]
    fn a_signal_is_kept_under_the_id_of_its_token() {
        let text = r#"{"job_id":"own","status":"completed","run_id":"run-1","node_id":"n","result_data":{"a": 1e2}}"#;
        let named = named(text, "task-1:k7");
        let (signal, said) = read(&named).unwrap();
        assert_eq!((signal.job_id.as_deref(), signal.run_id.as_deref()), (Some("task-1:k7"), Some("run-1")));
        assert_eq!(said, Some(done(r#"{"a": 1e2}"#)));
    }
}
