//! Approvals: what waits for somebody's answer, and the answer.

use super::Instant;
use super::object::objects;
use kernel::ids::RunId;
use kernel::names::*;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

objects!(ApprovalAnswer);

/// A node that waits for somebody's answer.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ApprovalView {
    /// What an answer names, such as `run-7/rounds[1]/ask`.
    pub node: String,
    #[schema(value_type = String)]
    pub run: RunId,
    #[schema(value_type = String)]
    pub workflow: WorkflowName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub message: Option<Box<RawValue>>,
    /// Who may answer; anyone when empty.
    pub who: Vec<String>,
    pub since: Instant,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Instant>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct ApprovalQuery {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub workflow: Option<WorkflowName>,
    /// 50 when left out, at most 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next` of the page before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
}

/// The longest waiting first.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ApprovalList {
    pub approvals: Vec<ApprovalView>,
    /// The cursor of the next page; null on the last.
    pub next: Option<String>,
}

/// What somebody answered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct AnswerView {
    pub approved: bool,
    pub by: String,
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub comment: String,
}

/// Yes or no. The first answer counts.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct ApprovalAnswer {
    /// Such as `run-7/ask`.
    pub node: String,
    pub approved: bool,
    /// One of those it asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub comment: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ApprovalAnswered {
    pub node: String,
    pub approved: bool,
    #[schema(value_type = String)]
    pub by: Actor,
}
