//! `/v1/workflows`. A definition comes in as its own text.

use super::Door;
use super::answer::{Json, No, unexpected};
use super::body::{Body, Named, Params, Text};
use crate::wire::*;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use engine::{Answer, Engine};
use flow::incoming::{self, Definition};
use kernel::command::{Command, NewWorkflow, Put, Reply};
use kernel::names::WorkflowName;
use kernel::rejection::Rejection;
use kernel::workflow::Workflow;
use std::sync::{Arc, LazyLock};
use store::StoreError;

/// Columns that a drawing may use when nothing is said about it.
const GRAPH_WIDTH: u16 = 100;

/// Put definitions, all of them or none: each becomes a new version of its workflow, unless this very text is there already.
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
    let (definitions, mut warnings) = warned(&door, definitions).await?;
    let new = definitions.into_iter().map(|Definition { text, compiled, .. }| {
        let (name, version) = (compiled.ir.workflow.clone(), compiled.definition.version);
        NewWorkflow { name, version, text: text.into(), ir: Arc::new(compiled.ir) }
    });
    match door.command(Command::PutWorkflows { new: new.collect(), by }).await? {
        Reply::Workflows(put) => {
            let each = |Put { workflow, version, unchanged }| WorkflowPut { workflow, version, unchanged };
            warnings.sort_by_key(|warning| (warning.line, warning.column));
            Ok(Json(WorkflowsPut { workflows: put.into_iter().map(each).collect(), warnings }))
        }
        other => Err(unexpected(&Answer::Reply(Ok(other)))),
    }
}

/// The definitions, and all that they are warned of: also workflows that they call and nobody has put.
async fn warned(door: &Door, definitions: Vec<Definition>) -> Result<(Vec<Definition>, Vec<ProblemAt>), No> {
    let looked = door.blocking(move |engine| {
        let mut warnings = told(&definitions);
        let here: Vec<_> = definitions.iter().map(|one| (&one.compiled.ir.workflow, one.compiled.definition.version)).collect();
        for (workflow, version, at) in definitions.iter().flat_map(Definition::calls) {
            let fits = |(name, put): &(&WorkflowName, Option<u32>)| *name == workflow && (version.is_none() || *put == version);
            if here.iter().any(fits) || engine.read(|reader| reader.workflow(workflow, version))?.is_some() {
                continue;
            }
            let version = version.map_or_else(String::new, |version| format!(" with version {version}"));
            let message =
                format!("there is no workflow `{workflow}`{version} yet: unless it is put before a run comes here, this fails");
            let mut known = known(engine)?;
            known.extend(here.iter().map(|(name, _)| (*name).clone()));
            let suggestion = flow::problem::did_you_mean(workflow.as_str(), known.iter().map(WorkflowName::as_str));
            warnings.push(ProblemAt::from(&flow::Problem { suggestion, ..flow::Problem::new(at, message) }));
        }
        Ok((definitions, warnings))
    });
    looked.await
}

fn told(definitions: &[Definition]) -> Vec<ProblemAt> {
    definitions.iter().flat_map(|one| &one.compiled.warnings).map(ProblemAt::from).collect()
}

fn known(engine: &Engine) -> Result<Vec<WorkflowName>, StoreError> {
    let rows = engine.read(|reader| reader.workflows())?;
    rows.iter().map(|row| Ok(Workflow::from_row(&row.values)?.name().clone())).collect()
}

/// A workflow or a version that is not there, with the one that was perhaps meant.
pub fn unknown(engine: &Engine, workflow: WorkflowName, version: Option<u32>) -> Result<Problem, StoreError> {
    if let Some(row) = engine.read(|reader| reader.workflow(&workflow, None))? {
        let newest = Workflow::from_row(&row.values)?.version();
        let problem = Problem::from(&Rejection::WorkflowNotFound { workflow, version });
        return Ok(Problem { message: format!("{}; its newest is version {newest}", problem.message), ..problem });
    }
    let known = known(engine)?;
    let meant = flow::problem::did_you_mean(workflow.as_str(), known.iter().map(WorkflowName::as_str));
    let problem = Problem::from(&Rejection::WorkflowNotFound { workflow, version: None });
    Ok(match meant {
        Some(meant) => Problem { message: format!("{}; {meant}", problem.message), ..problem },
        None => problem,
    })
}

/// Let no new runs of a workflow start, until it is enabled; those that go on go on, also after a new version is put.
#[utoipa::path(post, path = "/v1/workflows/{workflow}/disable", tag = "workflows", params(("workflow" = String, Path)),
    request_body = RunChange, responses((status = 200, body = WorkflowNow)))]
pub async fn disable(
    State(door): State<Door>,
    Named(workflow): Named<WorkflowName>,
    Body(body): Body<RunChange>,
) -> Result<Json<WorkflowNow>, No> {
    let reason = reason("reason", body.reason)?;
    changed(&door, Command::DisableWorkflow { workflow, reason, by: signed_by(body.by) }, true).await
}

/// Let new runs of a workflow start again.
#[utoipa::path(post, path = "/v1/workflows/{workflow}/enable", tag = "workflows", params(("workflow" = String, Path)),
    request_body = Signed, responses((status = 200, body = WorkflowNow)))]
pub async fn enable(
    State(door): State<Door>,
    Named(workflow): Named<WorkflowName>,
    Body(body): Body<Signed>,
) -> Result<Json<WorkflowNow>, No> {
    changed(&door, Command::EnableWorkflow { workflow, by: signed_by(body.by) }, false).await
}

async fn changed(door: &Door, command: Command, disabled: bool) -> Result<Json<WorkflowNow>, No> {
    match door.command(command).await? {
        Reply::Workflow { workflow, unchanged, .. } => Ok(Json(WorkflowNow { workflow, disabled, unchanged })),
        other => Err(unexpected(&Answer::Reply(Ok(other)))),
    }
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
    let workflows = workflows.collect();
    Ok(Json(WorkflowsChecked { workflows, warnings: told(&definitions) }))
}

async fn read(door: &Door, text: axum::body::Bytes) -> Result<Vec<Definition>, No> {
    let found = door.blocking(move |_| Ok(incoming::read(&text))).await?;
    found.map_err(|problems| No(not_a_workflow(&problems)))
}

/// All that is wrong, the first of it in the message.
pub fn not_a_workflow(problems: &[flow::Problem]) -> Problem {
    let first = problems.first().map(|first| format!("line {}, column {}: {}", first.line, first.column, first.message));
    let more = match problems.len() {
        0 | 1 => String::new(),
        _ => format!(" ({} in all)", flow::problem::counted(problems)),
    };
    let message = format!("this is not a workflow that can run: {}{more}", first.unwrap_or_default());
    let fix = "correct each of `problems`; GET /v1/workflow.schema.json says what a definition may hold";
    let schema =
        NextAction { command: "signaller workflow schema".to_owned(), description: "what a definition may hold".to_owned() };
    let problem = Problem::new("invalid_workflow", message, fix).problems(problems.iter().map(ProblemAt::from).collect());
    Problem { next_actions: vec![schema], ..problem }
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
    let found = door.blocking(move |engine| {
        let Some((workflow, ir)) = engine.workflow(&name, query.version)? else {
            return Ok(Err(unknown(engine, name, query.version)?));
        };
        let rows = engine.read(|reader| reader.workflow_versions(&name))?;
        let versions = rows.iter().map(|row| Ok(WorkflowVersion::from(&Workflow::from_row(&row.values)?)));
        let versions = versions.collect::<Result<Vec<_>, StoreError>>()?;
        let view = WorkflowView::from(&workflow);
        // Whether new runs start is the workflow's affair, whichever version is shown.
        let newest = rows.first().map(|row| Workflow::from_row(&row.values)).transpose()?;
        let disabled = newest.as_ref().and_then(Workflow::disabled).map(WorkflowDisabled::from);
        let text = Some(workflow.text().to_string());
        let input = ir.input_schema.as_deref().and_then(|schema| serde_json::from_str(schema).ok());
        Ok(Ok(WorkflowView { text, input, nodes: nodes_of(&ir), versions, disabled, ..view }))
    });
    Ok(Json(found.await??))
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
    let drawn = door.blocking(move |engine| {
        let Some((_, ir)) = engine.workflow(&name, query.version)? else {
            return Ok(Err(unknown(engine, name, query.version)?));
        };
        Ok(Ok(match query.format.unwrap_or_default() {
            GraphFormat::Mermaid => flow::graph::mermaid(&ir),
            GraphFormat::Text => flow::graph::drawn(&ir, query.width.unwrap_or(GRAPH_WIDTH).into()),
        }))
    });
    Ok((StatusCode::OK, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], drawn.await??))
}

/// What a definition may hold, as a JSON Schema for editors.
#[utoipa::path(get, path = "/v1/workflow.schema.json", tag = "workflows", responses((status = 200, body = serde_json::Value)))]
pub async fn schema() -> impl IntoResponse {
    static SCHEMA: LazyLock<String> = LazyLock::new(|| flow::schema::schema().to_string());
    ([(header::CONTENT_TYPE, "application/json")], SCHEMA.as_str())
}
