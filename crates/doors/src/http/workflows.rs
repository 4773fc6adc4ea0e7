//! `/v1/workflows`. A definition comes in as its own text.

use super::Door;
use super::answer::{Json, No, unexpected};
use super::body::{Named, Params, Text};
use crate::definition::{self, Definition};
use crate::wire::*;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use engine::Answer;
use kernel::command::{Command, NewWorkflow, Reply};
use kernel::names::WorkflowName;
use kernel::rejection::Rejection;
use kernel::workflow::Workflow;
use std::sync::{Arc, LazyLock};
use store::StoreError;

/// Columns that a drawing may use when nothing is said about it.
const GRAPH_WIDTH: u16 = 100;

/// Put definitions: each becomes a new version of its workflow, unless this very text is there already.
#[utoipa::path(post, path = "/v1/workflows", tag = "workflows", params(WorkflowPutQuery),
    request_body(content = String, content_type = "text/yaml", description = "YAML or JSON; several with `---` between them"),
    responses((status = 200, body = WorkflowsPut)))]
pub async fn put(
    State(door): State<Door>,
    Params(query): Params<WorkflowPutQuery>,
    Text(text): Text,
) -> Result<Json<WorkflowsPut>, No> {
    let by = signed_by(query.by);
    let definitions = read(&door, text).await?;
    let mut workflows = Vec::with_capacity(definitions.len());
    for Definition { text, compiled } in definitions {
        let (name, version) = (compiled.ir.workflow.clone(), compiled.definition.version);
        let new = Box::new(NewWorkflow { name, version, text: text.into(), ir: Arc::new(compiled.ir) });
        match door.command(Command::PutWorkflow { new, by: by.clone() }).await {
            Ok(Reply::Workflow { workflow, version, unchanged }) => {
                workflows.push(WorkflowPut { workflow, version, unchanged });
            }
            Ok(other) => return Err(unexpected(&Answer::Reply(Ok(other)))),
            Err(No(problem)) if !workflows.is_empty() => {
                let message = format!("{}; the {} before it in this text were put", problem.message, workflows.len());
                return Err(No(Problem { message, ..problem }));
            }
            Err(no) => return Err(no),
        }
    }
    Ok(Json(WorkflowsPut { workflows }))
}

/// Look whether definitions are right, without putting them.
#[utoipa::path(post, path = "/v1/workflows/check", tag = "workflows",
    request_body(content = String, content_type = "text/yaml", description = "YAML or JSON; several with `---` between them"),
    responses((status = 200, body = WorkflowsChecked)))]
pub async fn check(State(door): State<Door>, Text(text): Text) -> Result<Json<WorkflowsChecked>, No> {
    let definitions = read(&door, text).await?;
    let workflows = definitions.iter().map(|one| WorkflowChecked {
        workflow: one.compiled.ir.workflow.clone(),
        version: one.compiled.definition.version,
        nodes: one.compiled.ir.nodes.len(),
    });
    Ok(Json(WorkflowsChecked { workflows: workflows.collect() }))
}

async fn read(door: &Door, text: axum::body::Bytes) -> Result<Vec<Definition>, No> {
    let found = door.blocking(move |_| Ok(definition::read(&text))).await?;
    found.map_err(|problems| No(not_a_workflow(&problems)))
}

/// All that is wrong, the first of it in the message.
pub fn not_a_workflow(problems: &[flow::Problem]) -> Problem {
    let first = problems.first().map(|first| format!("line {}, column {}: {}", first.line, first.column, first.message));
    let more = match problems.len() {
        0 | 1 => String::new(),
        many => format!(" (and {} more)", many - 1),
    };
    let message = format!("this is not a workflow that can run: {}{more}", first.unwrap_or_default());
    let fix = "correct each of `problems`; GET /v1/workflow.schema.json says what a definition may hold";
    Problem::new("invalid_workflow", message, fix).problems(problems.iter().map(ProblemAt::from).collect())
}

/// List workflows, each in its newest version.
#[utoipa::path(get, path = "/v1/workflows", tag = "workflows", responses((status = 200, body = WorkflowList)))]
pub async fn list(State(door): State<Door>) -> Result<Json<WorkflowList>, No> {
    let rows = door.read(|reader| reader.workflows()).await?;
    let workflows = rows.iter().map(|row| Ok(WorkflowView::from(&Workflow::from_row(&row.values)?)));
    Ok(Json(WorkflowList { workflows: workflows.collect::<Result<_, No>>()? }))
}

/// Show a workflow: its text, its nodes, and which versions there are.
#[utoipa::path(get, path = "/v1/workflows/{workflow}", tag = "workflows", params(("workflow" = String, Path), WorkflowQuery),
    responses((status = 200, body = WorkflowView)))]
pub async fn show(
    State(door): State<Door>,
    Named(name): Named<WorkflowName>,
    Params(query): Params<WorkflowQuery>,
) -> Result<Json<WorkflowView>, No> {
    let asked = name.clone();
    let found = door.blocking(move |engine| {
        let Some((workflow, ir)) = engine.workflow(&asked, query.version)? else { return Ok(None) };
        let rows = engine.read(|reader| reader.workflow_versions(&asked))?;
        let versions = rows.iter().map(|row| Ok(WorkflowVersion::from(&Workflow::from_row(&row.values)?)));
        let versions = versions.collect::<Result<Vec<_>, StoreError>>()?;
        let view = WorkflowView::from(&workflow);
        Ok(Some(WorkflowView { text: Some(workflow.text().to_string()), nodes: nodes_of(&ir), versions, ..view }))
    });
    Ok(Json(found.await?.ok_or(Rejection::WorkflowNotFound { workflow: name, version: query.version })?))
}

/// Draw a workflow.
#[utoipa::path(get, path = "/v1/workflows/{workflow}/graph", tag = "workflows",
    params(("workflow" = String, Path), GraphQuery),
    responses((status = 200, body = String, content_type = "text/plain")))]
pub async fn graph(
    State(door): State<Door>,
    Named(name): Named<WorkflowName>,
    Params(query): Params<GraphQuery>,
) -> Result<impl IntoResponse, No> {
    let asked = name.clone();
    let drawn = door.blocking(move |engine| {
        let found = engine.workflow(&asked, query.version)?;
        Ok(found.map(|(_, ir)| match query.format.unwrap_or_default() {
            GraphFormat::Mermaid => flow::graph::mermaid(&ir),
            GraphFormat::Text => flow::graph::drawn(&ir, query.width.unwrap_or(GRAPH_WIDTH).into()),
        }))
    });
    let drawn = drawn.await?.ok_or(Rejection::WorkflowNotFound { workflow: name, version: query.version })?;
    Ok((StatusCode::OK, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], drawn))
}

/// What a definition may hold, as a JSON Schema for editors.
#[utoipa::path(get, path = "/v1/workflow.schema.json", tag = "workflows", responses((status = 200, body = serde_json::Value)))]
pub async fn schema() -> impl IntoResponse {
    static SCHEMA: LazyLock<String> = LazyLock::new(|| flow::schema::schema().to_string());
    ([(header::CONTENT_TYPE, "application/json")], SCHEMA.as_str())
}
