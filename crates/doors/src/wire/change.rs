//! How a run is changed under way: patched, restarted, told what a node gives; and the text that it follows.

use super::object::objects;
use super::{Instant, NextAction, Problem, ProblemAt};
use flow::patch::{Change, Difference, PatchError};
use kernel::ids::{RunId, TaskId};
use kernel::names::*;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

objects!(RunPatch, RunRestart, RunSkip, NodeReplay);

/// A change of the definition that a run follows.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct RunPatch {
    /// RFC 6902 over the text that it follows, as JSON: `[{"op": "add", "path": "/nodes/audit", "value": {…}}]`.
    #[schema(value_type = Vec<serde_json::Value>)]
    pub operations: Box<RawValue>,
    /// The revision they were made for: if it is at another by now, nothing is changed. Without it they are made on whatever it is
    /// at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_revision: Option<u32>,
    /// Why, for the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Only tell what it would do. Whatever stands against it is `refused` in the answer, which is 200: also what could not be
    /// compiled or applied. Only what cannot be read, or is not there, or is not the worker's, is an error.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    /// The node that asks for it, such as `plan` or `rounds[1]/plan`. Of a worker it is known by its task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node_id: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
    /// From a worker, for the run it works in: the task that it holds. It signs by its own name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub task: Option<TaskId>,
    /// With `task`: the fence that it was given with it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fence: Option<String>,
}

/// What a patch did, or would do.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunPatched {
    #[schema(value_type = String)]
    pub run: RunId,
    /// The one that it is at with this.
    pub revision: u32,
    /// The text is as it was before: nothing was written.
    pub unchanged: bool,
    pub dry_run: bool,
    /// Nodes that appear.
    pub added: Vec<NodeAdded>,
    /// Nodes that are another now, and in what.
    pub changed: Vec<NodeChanged>,
    /// Nodes that disappear.
    pub removed: Vec<String>,
    /// What is not about a node: input, limits, output.
    pub workflow: Vec<PartChanged>,
    /// The same, a line for each.
    pub changes: Vec<String>,
    /// Nodes that have all they wait for, by this.
    pub next: Vec<String>,
    /// When it has to be over by this, if that is another time than before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Instant>,
    /// Turns and items under way that keep the text they have; the first of them.
    pub keeps: Vec<TextKept>,
    /// How many do, of the first 20,000 under way.
    pub keeps_total: u64,
    /// What can run and yet may not be what was meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<ProblemAt>,
    /// Of a dry run: why it would be refused, as the patch itself would be answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<Problem>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct NodeAdded {
    pub node: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub after: Vec<String>,
    /// The loop or each in whose body it stands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r#in: Option<String>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct NodeChanged {
    pub node: String,
    pub changes: Vec<PartChanged>,
}

/// A part of a definition, such as `with.url`; without `old` it is new, without `new` it is gone.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct PartChanged {
    pub what: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub old: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub new: Option<Box<RawValue>>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct TextKept {
    /// The turn or item, such as `rounds[1]`.
    pub frame: String,
    /// The node that is why: it has begun, and is another in the new text.
    pub node: String,
}

impl RunPatched {
    /// With what became of the text alone.
    pub fn new(run: RunId, revision: u32, difference: &Difference) -> RunPatched {
        let part = |change: &Change| {
            let value = |json: &flow::patch::Json| RawValue::from_string(json.compact()).ok();
            let (old, new) = (change.old.as_ref().and_then(value), change.new.as_ref().and_then(value));
            PartChanged { what: change.what.clone(), old, new }
        };
        let added = difference.added.iter().map(|added| NodeAdded {
            node: added.node.to_string(),
            kind: added.r#type.clone(),
            after: added.after.clone(),
            r#in: added.r#in.as_ref().map(ToString::to_string),
        });
        let changed = difference.changed.iter();
        let changed = changed
            .map(|changed| NodeChanged { node: changed.node.to_string(), changes: changed.changes.iter().map(part).collect() });
        RunPatched {
            run,
            revision,
            unchanged: false,
            dry_run: false,
            added: added.collect(),
            changed: changed.collect(),
            removed: difference.removed.iter().map(ToString::to_string).collect(),
            workflow: difference.workflow.iter().map(part).collect(),
            changes: lines(difference),
            next: Vec::new(),
            deadline: None,
            keeps: Vec::new(),
            keeps_total: 0,
            warnings: Vec::new(),
            refused: None,
        }
    }
}

/// What became of a text, a line for each node and part.
pub fn lines(difference: &Difference) -> Vec<String> {
    difference.to_string().lines().map(str::to_owned).collect()
}

/// From where a run begins anew.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct RunRestart {
    /// Such as `pay` or `rounds[1]/pay`: it and all that follows from it.
    pub node: String,
    /// Changes of its definition that come with it, as in a patch: also of what begins anew.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<serde_json::Value>>)]
    pub operations: Option<Box<RawValue>>,
    /// Of a node that a worker does: another input for it, in its definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub with: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_revision: Option<u32>,
    /// Why, for the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
}

/// What a node gives, said by somebody instead of its worker.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct RunSkip {
    /// Such as `pay` or `rounds[1]/pay`: one that waits, is under way or failed its run.
    pub node: String,
    /// What it gives; null when left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub output: Option<Box<RawValue>>,
    /// Why, for the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
}

/// One node once more: one that failed its run is tried again, another begins anew with all that follows from it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct NodeReplay {
    /// Another input for its worker, in its definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub config: Option<Box<RawValue>>,
    /// Also if it did not fail: what follows from it is undone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force_replay: bool,
    /// Why, for the history.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct DefinitionQuery {
    /// The one it is at when left out; 0 is the text of its workflow's version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<u32>,
    /// `changes` since this one; the one before when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub since: Option<u32>,
}

/// The text that a run follows.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RunDefinition {
    #[schema(value_type = String)]
    pub run: RunId,
    #[schema(value_type = String)]
    pub workflow: WorkflowName,
    pub version: u32,
    pub revision: u32,
    /// The one that it is at.
    pub newest: u32,
    pub text: String,
    /// Of a revision: when it was made, by whom, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Instant>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// The node whose worker asked for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// The operations that made it of the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<serde_json::Value>)]
    pub operations: Option<Box<RawValue>>,
    /// The revision that `changes` are since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u32>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<String>,
}

/// A patch that cannot be read or does not fit the text.
pub fn bad_patch(run: RunId, error: &PatchError, read: bool) -> Problem {
    let next = NextAction { command: format!("signaller run definition {run}"), description: "the text it follows".to_owned() };
    let problem = match read {
        false => unreadable(error),
        true => of_patch("patch_failed", error, "make the operations for the text that the run follows"),
    };
    Problem { next_actions: vec![next], ..problem }
}

/// A patch that is none, whatever the text.
pub fn unreadable(error: &PatchError) -> Problem {
    of_patch("invalid_patch", error, "send a list of operations as RFC 6902 has them")
}

fn of_patch(code: &'static str, error: &PatchError, fix: &str) -> Problem {
    let suggestion = error.suggestion.clone().filter(|text| !text.is_empty());
    let plain = PatchError { suggestion: None, ..error.clone() };
    Problem::new(code, plain.to_string(), suggestion.unwrap_or_else(|| fix.to_owned()))
}
