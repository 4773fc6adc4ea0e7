//! Problems: every answer that is a "no" has this one shape, a stable code, a sentence, and what to do next.

use kernel::names::BadName;
use kernel::rejection::Rejection;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use utoipa::ToSchema;

/// The body of every answer that is not a success.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct ErrorBody {
    pub error: Problem,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct Problem {
    /// Stable: programs may match on it.
    #[schema(value_type = String, example = "wrong_state")]
    pub code: Cow<'static, str>,
    /// A sentence for people; its wording may change.
    pub message: String,
    /// What to do about it.
    pub fix: String,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_after_ms: Option<u64>,
    /// Each on its own, where a text or a value is wrong in several places.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<ProblemAt>,
    /// Of a run that was changed by somebody else meanwhile: the revision it is at, and what is different by that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
    /// Commands that help, to be run as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub next_actions: Vec<NextAction>,
}

/// A command and what it is for.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct NextAction {
    pub command: String,
    pub description: String,
}

/// What is wrong at one place of a text or a value.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct ProblemAt {
    /// Such as `nodes.route.rules[0].to`, or `/order` in a value.
    pub path: String,
    /// From 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// From 1, in characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    pub message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suggestion: Option<String>,
}

/// Every code with the HTTP status it is answered with.
pub const CODES: [(&str, u16); 60] = [
    ("invalid", 400),
    ("invalid_workflow", 400),
    ("invalid_input", 400),
    ("invalid_patch", 400),
    ("invalid_registry", 400),
    ("unauthorized", 401),
    ("forbidden", 403),
    ("not_asked", 403),
    ("not_found", 404),
    ("task_not_found", 404),
    ("bulk_not_found", 404),
    ("queue_not_found", 404),
    ("workflow_not_found", 404),
    ("run_not_found", 404),
    ("node_not_found", 404),
    ("event_not_found", 404),
    ("blob_not_found", 404),
    ("webhook_not_found", 404),
    ("cron_not_found", 404),
    ("history_gone", 404),
    ("method_not_allowed", 405),
    ("wrong_state", 409),
    ("lease_lost", 409),
    ("blocked", 409),
    ("blocker_not_found", 409),
    ("bulk_closed", 409),
    ("boosts_taken", 409),
    ("queues_taken", 409),
    ("still_telling", 409),
    ("version_taken", 409),
    ("workflow_disabled", 409),
    ("workflows_taken", 409),
    ("run_ended", 409),
    ("run_not_ended", 409),
    ("run_ending", 409),
    ("not_to_retry", 409),
    ("nothing_to_retry", 409),
    ("node_settled", 409),
    ("not_asking", 409),
    ("of_run", 409),
    ("patch_failed", 409),
    ("revision_conflict", 409),
    ("revisions_taken", 409),
    ("frozen", 409),
    ("not_begun", 409),
    ("not_to_skip", 409),
    ("registry_changed", 409),
    ("queue_in_registry", 409),
    ("families_taken", 409),
    ("too_large", 413),
    ("unsupported_media_type", 415),
    ("blob_refused", 422),
    ("limited", 429),
    ("overrides_taken", 429),
    ("backlog_full", 429),
    ("bulks_taken", 429),
    ("internal", 500),
    ("unavailable", 503),
    ("stopping", 503),
    ("unknown_outcome", 503),
];

impl Problem {
    /// `code` is one of [`CODES`]; 429 and 503 may be tried again, the others may not.
    pub fn new(code: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Problem {
        let (message, fix) = (message.into(), fix.into());
        let mut problem = Problem {
            code: code.into(),
            message,
            fix,
            retryable: false,
            retry_after_ms: None,
            problems: Vec::new(),
            revision: None,
            changes: Vec::new(),
            next_actions: Vec::new(),
        };
        problem.retryable = matches!(problem.http_status(), 429 | 503);
        problem
    }

    pub fn invalid(message: impl Into<String>) -> Problem {
        let message = message.into();
        let bounded = ["must lie between", "may be at most", "must be at least", "are allowed"];
        let fix = if bounded.iter().any(|bound| message.contains(bound)) {
            "give a value within the bounds named in the message"
        } else {
            "correct the request and send it again; /openapi.json has the fields and their meaning"
        };
        Problem::new("invalid", message, fix)
    }

    pub fn retry_after_ms(mut self, ms: u64) -> Problem {
        self.retry_after_ms = Some(ms);
        self
    }

    pub fn problems(mut self, problems: Vec<ProblemAt>) -> Problem {
        self.problems = problems;
        self
    }

    pub fn http_status(&self) -> u16 {
        CODES.iter().find(|(code, _)| *code == self.code).map_or(500, |(_, status)| *status)
    }
}

impl From<&Rejection> for Problem {
    fn from(rejection: &Rejection) -> Problem {
        let next = |(command, what): (String, &str)| NextAction { command, description: what.to_owned() };
        let next_actions = rejection.next_actions().into_iter().map(next).collect();
        Problem { next_actions, ..Problem::new(rejection.code(), rejection.to_string(), rejection.fix()) }
    }
}

impl From<BadName> for Problem {
    fn from(bad: BadName) -> Problem {
        Problem::invalid(bad.to_string())
    }
}

const FIELDS_FIX: &str = "send an object with the fields that /openapi.json lists for this path";

impl Problem {
    /// What stands there in a JSON document does not fit.
    pub fn unfit(path: &str, error: &serde_json::Error) -> Problem {
        let said = said_plainly(&error.to_string());
        let said = said.rsplit_once(" at line ").map_or(&*said, |(said, _)| said);
        Problem::new("invalid", format!("the JSON does not fit at `{path}`: {said}"), FIELDS_FIX)
    }
}

impl From<serde_json::Error> for Problem {
    fn from(error: serde_json::Error) -> Problem {
        match error.classify() {
            serde_json::error::Category::Data => {
                let message = format!("the JSON does not fit: {}", said_plainly(&error.to_string()));
                Problem::new("invalid", message, FIELDS_FIX)
            }
            _ => {
                let message = format!("this is not JSON: {error}");
                Problem::new("invalid", message, "send one JSON object; /openapi.json has the fields of this path")
            }
        }
    }
}

/// What a parser says of a value that does not fit, without the names its own types have.
pub fn said_plainly(error: &str) -> String {
    // The caller's own text stands before the last `expected`, and is left as it is.
    let Some((found, expected)) = error.rsplit_once(", expected ") else { return error.to_owned() };
    let (wanted, place) = expected.split_once(" at line ").map_or((expected, None), |(wanted, place)| (wanted, Some(place)));
    let wanted = match wanted {
        "u8" | "u16" | "u32" | "u64" | "usize" => "a whole number in range, 0 or more",
        "i8" | "i16" | "i32" | "i64" | "isize" => "a whole number in range",
        "f32" | "f64" => "a number",
        "a sequence" => "a list",
        "a map" => "an object",
        "any valid JSON value" => "JSON",
        wanted => wanted,
    };
    let found = match found {
        "invalid type: sequence" => "invalid type: list",
        "invalid type: map" => "invalid type: object",
        found => found,
    };
    let place = place.map_or_else(String::new, |place| format!(" at line {place}"));
    format!("{found}, expected {wanted}{place}")
}
