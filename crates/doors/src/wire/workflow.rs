//! Workflows: definitions as they are put, and how they are shown.

use super::{Instant, ProblemAt};
use kernel::ir::{Ir, NodeKind, ROOT};
use kernel::names::*;
use kernel::workflow::Workflow;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Who puts it; the body is the definition itself.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct WorkflowPutQuery {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub by: Option<Actor>,
}

/// In the order of the text.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WorkflowsPut {
    pub workflows: Vec<WorkflowPut>,
    /// What was put and yet may not be what was meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<ProblemAt>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct WorkflowPut {
    #[schema(value_type = String)]
    pub workflow: WorkflowName,
    pub version: u32,
    /// This very text was there already.
    pub unchanged: bool,
}

/// What a text that is right holds.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WorkflowsChecked {
    pub workflows: Vec<WorkflowChecked>,
    /// What is right and yet may not be what was meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<ProblemAt>,
}

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct WorkflowChecked {
    #[schema(value_type = String)]
    pub workflow: WorkflowName,
    /// As the text says; without one it gets the next when it is put.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// Those of loops and eaches included.
    pub nodes: usize,
}

/// Which version; the newest when left out.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct WorkflowQuery {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct GraphQuery {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// `mermaid`, or `text` as it is when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(inline)]
    pub format: Option<GraphFormat>,
    /// Columns that `text` may use; 100 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<u16>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum GraphFormat {
    Mermaid,
    #[default]
    Text,
}

/// One version of a workflow. In lists `text` and `nodes` are left out.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WorkflowView {
    #[schema(value_type = String)]
    pub workflow: WorkflowName,
    pub version: u32,
    pub put_at: Instant,
    #[schema(value_type = String)]
    pub put_by: Actor,
    /// No new runs of it start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disabled: Option<WorkflowDisabled>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The JSON Schema of its input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub input: Option<serde_json::Value>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<WorkflowNode>,
    /// All that there are, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<WorkflowVersion>,
}

impl From<&Workflow> for WorkflowView {
    fn from(workflow: &Workflow) -> WorkflowView {
        WorkflowView {
            workflow: workflow.name().clone(),
            version: workflow.version(),
            put_at: workflow.put_at().into(),
            put_by: workflow.put_by().clone(),
            disabled: workflow.disabled().map(WorkflowDisabled::from),
            text: None,
            input: None,
            nodes: Vec::new(),
            versions: Vec::new(),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WorkflowDisabled {
    pub since: Instant,
    pub reason: String,
    #[schema(value_type = String)]
    pub by: Actor,
}

impl From<&kernel::workflow::Disabled> for WorkflowDisabled {
    fn from(disabled: &kernel::workflow::Disabled) -> WorkflowDisabled {
        WorkflowDisabled { since: disabled.since.into(), reason: disabled.reason.clone(), by: disabled.by.clone() }
    }
}

/// Whether new runs of a workflow start.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct WorkflowNow {
    #[schema(value_type = String)]
    pub workflow: WorkflowName,
    pub disabled: bool,
    /// It was so before.
    pub unchanged: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WorkflowVersion {
    pub version: u32,
    pub put_at: Instant,
    #[schema(value_type = String)]
    pub put_by: Actor,
}

impl From<&Workflow> for WorkflowVersion {
    fn from(workflow: &Workflow) -> WorkflowVersion {
        WorkflowVersion { version: workflow.version(), put_at: workflow.put_at().into(), put_by: workflow.put_by().clone() }
    }
}

/// A node of a definition, in a line.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WorkflowNode {
    #[schema(value_type = String)]
    pub node: NodeId,
    #[serde(rename = "type")]
    pub kind: String,
    /// The loop or each whose body it stands in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub within: Option<NodeId>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<String>)]
    pub after: Vec<NodeId>,
    /// It is skipped if this is false.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<String>,
}

/// Body by body, each in an order in which every edge leads forward.
pub fn nodes_of(ir: &Ir) -> Vec<WorkflowNode> {
    let bodies = (0..ir.bodies.len() as u32).map(kernel::ir::BodyIx);
    let nodes = bodies.flat_map(|body| ir.body(body).nodes.iter().copied());
    let line = |ix: kernel::ir::NodeIx| {
        let node = ir.node(ix);
        let of = if node.body == ROOT { None } else { ir.body(node.body).of };
        WorkflowNode {
            node: node.id.clone(),
            kind: type_of(&node.kind),
            within: of.map(|of| ir.node(of).id.clone()),
            after: ir.predecessors(ix).into_iter().map(|from| ir.node(from).id.clone()).collect(),
            when: node.when.map(|when| ir.expr(when).source.to_string()),
        }
    };
    nodes.map(line).collect()
}

/// What a node is, as its definition says it.
pub fn type_of(kind: &NodeKind) -> String {
    kind.type_name().to_owned()
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WorkflowList {
    /// The newest version of each, by name.
    pub workflows: Vec<WorkflowView>,
}

impl From<&flow::Problem> for ProblemAt {
    fn from(problem: &flow::Problem) -> ProblemAt {
        ProblemAt {
            path: problem.path.clone(),
            line: Some(problem.line),
            column: Some(problem.column),
            message: problem.message.clone(),
            suggestion: problem.suggestion.clone(),
        }
    }
}
