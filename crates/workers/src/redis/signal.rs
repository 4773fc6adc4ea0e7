//! What a worker says became of a token: seed 003's completion signal, and what that means for the task.

use kernel::command::Outcome;
use kernel::record::{Failure, Payload};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// What is said of a failure that says nothing itself.
const SILENT: &str = "the worker reported a failure and no reason";

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct Signal<'a> {
    pub job_id: Option<String>,
    pub run_id: Option<String>,
    pub node_id: Option<String>,
    status: String,
    pub result_ref: Option<String>,
    #[serde(borrow)]
    result_data: Option<&'a RawValue>,
    #[serde(borrow)]
    error: Option<&'a RawValue>,
    #[serde(borrow)]
    metadata: Option<&'a RawValue>,
}

/// What became of it, as far as the signal itself says.
#[derive(Debug, PartialEq, Eq)]
pub enum Said {
    Is(Outcome),
    /// Its result lies there.
    Lies(String),
}

/// Or what is wrong with it.
pub fn read(text: &str) -> Result<(Signal<'_>, Said), String> {
    let signal: Signal = serde_json::from_str(text).map_err(|error| format!("no signal: {error}"))?;
    let said = match signal.status.as_str() {
        "completed" => match (signal.result_data, &signal.result_ref) {
            (Some(data), _) => Said::Is(Outcome::Done { output: Payload(data.get().into()) }),
            (None, Some(at)) if !at.is_empty() => Said::Lies(at.clone()),
            (None, _) => Said::Is(Outcome::Done { output: Payload::null() }),
        },
        "failed" => Said::Is(signal.failed()),
        other => return Err(format!("its status is `{other}`, neither completed nor failed")),
    };
    if signal.job_id.is_none() && (signal.run_id.is_none() || signal.node_id.is_none()) {
        return Err("it names neither a job nor a run and a node".into());
    }
    Ok((signal, said))
}

impl Signal<'_> {
    /// Wherever the worker put its reason.
    fn failed(&self) -> Outcome {
        let json = |raw: Option<&RawValue>| raw.and_then(|raw| serde_json::from_str::<Value>(raw.get()).ok()).unwrap_or_default();
        let (error, metadata, data) = (json(self.error), json(self.metadata), json(self.result_data));
        let errors = [&error, &metadata["error"], &data["error"]];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let message = errors.iter().find_map(|error| text(error).or_else(|| text(&error["message"])));
        let code = errors.iter().find_map(|error| text(&error["code"])).or_else(|| text(&metadata["error_code"]));
        let flag = |name: &str| errors.iter().copied().chain([&metadata]).find_map(|value| value[name].as_bool());
        let wait = errors.iter().copied().chain([&metadata]).find_map(|value| value["retry_after_ms"].as_u64());
        let failure =
            Failure { code: code.unwrap_or_else(|| "failed".into()), message: message.unwrap_or_else(|| SILENT.into()) };
        Outcome::Failed { failure, retryable: flag("retryable").unwrap_or(true), retry_after_ms: wait }
    }
}

/// A result that was found where the signal says: JSON as it is, anything else as text.
pub fn result(bytes: &[u8]) -> Payload {
    match serde_json::from_slice::<&RawValue>(bytes) {
        Ok(json) => Payload(json.get().into()),
        Err(_) => Payload(serde_json::to_string(&String::from_utf8_lossy(bytes)).expect("text is JSON").into()),
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
        ];
        for (text, said) in cases {
            assert_eq!(read(text).map(|(_, said)| said), Ok(said), "{text}");
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

    #[test]
    fn a_result_is_json_or_text() {
        for (bytes, payload) in
            [(&b"{\"a\":1}"[..], "{\"a\":1}"), (b"plain", "\"plain\""), (b"\xff", "\"\u{fffd}\""), (b"", "\"\"")]
        {
            assert_eq!(result(bytes).text(), payload);
        }
    }
}
