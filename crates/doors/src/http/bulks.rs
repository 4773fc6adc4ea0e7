//! `/v1/bulks`, and how those over runs begin.

use super::Door;
use super::answer::{Json, No, unexpected};
use super::body::{Body, Named};
use super::outlook;
use super::runs::now;
use crate::wire::*;
use axum::extract::State;
use engine::bulk::Scan;
use engine::{Answer, Engine, Request, Texts, Wanted};
use flow::expr::RunFilter;
use kernel::bulk::{Bulk, BulkStatus, BulkWork, Meant, Refusal, RunVerb};
use kernel::command::{Command, Reply};
use kernel::ids::{BulkId, RunId};
use kernel::limits::BULK_FILTER_BYTES_MAX;
use kernel::names::Actor;
use kernel::rejection::Rejection;
use store::StoreError;

const BULKS_SHOWN: usize = 100;

/// List bulks, newest first.
#[utoipa::path(get, path = "/v1/bulks", tag = "bulks", responses((status = 200, body = BulkList)))]
pub async fn list(State(door): State<Door>) -> Result<Json<BulkList>, No> {
    let rows = door.read(|reader| reader.bulks(BULKS_SHOWN)).await?;
    let bulks = rows.iter().map(|row| Ok(BulkView::from(&Bulk::from_row(&row.values)?)));
    Ok(Json(BulkList { bulks: bulks.collect::<Result<_, No>>()? }))
}

/// Show a bulk and how far it is.
#[utoipa::path(get, path = "/v1/bulks/{bulk}", tag = "bulks", params(("bulk" = String, Path)),
    responses((status = 200, body = BulkView)))]
pub async fn show(State(door): State<Door>, Named(bulk): Named<BulkId>) -> Result<Json<BulkView>, No> {
    let row = door.read(move |reader| reader.bulk(bulk)).await?.ok_or(Rejection::BulkNotFound { bulk })?;
    Ok(Json(BulkView::from(&Bulk::from_row(&row.values)?)))
}

/// Stop a bulk; what it did stays done.
#[utoipa::path(post, path = "/v1/bulks/{bulk}/cancel", tag = "bulks", params(("bulk" = String, Path)), request_body = Signed,
    responses((status = 200, body = BulkView)))]
pub async fn cancel(
    State(door): State<Door>,
    Named(bulk): Named<BulkId>,
    Body(body): Body<Signed>,
) -> Result<Json<BulkView>, No> {
    let unknown = match door.command(Command::CancelBulk { bulk, by: signed_by(body.by) }).await {
        Ok(_) => false,
        Err(no) if no.0.code == "bulk_not_found" => true,
        Err(no) => return Err(no),
    };
    // A closed bulk has left the writer's memory; only the store still tells it from one that never was.
    let row = door.read(move |reader| reader.bulk(bulk)).await?.ok_or(Rejection::BulkNotFound { bulk })?;
    let bulk = Bulk::from_row(&row.values)?;
    if unknown && bulk.status() != BulkStatus::Cancelled {
        return Err(Rejection::BulkClosed { bulk: bulk.id() }.into());
    }
    Ok(Json(BulkView::from(&bulk)))
}

/// Runs that a dry run names.
const SAMPLE_MAX: usize = 20;
/// Runs that a dry run looks at, of a million some seconds' worth.
const COUNTED_MAX: usize = 1_000_000;
/// Runs that a dry run of a patch asks whether they would take it, and reasons of theirs that it tells.
const TRIED_MAX: usize = 100;
const REASONS_MAX: usize = 10;

/// Cancel, retry, pause, resume, restart or patch all runs that an expression means, or say how many there are.
#[utoipa::path(post, path = "/v1/runs/bulk", tag = "runs", operation_id = "bulk", request_body = RunsBulk, responses((status = 200, body = RunsBulkAnswer)))]
pub async fn of_runs(State(door): State<Door>, Body(body): Body<RunsBulk>) -> Result<Json<RunsBulkAnswer>, No> {
    let deed = body.deed()?;
    let wanted = body.wanted()?;
    let reason = body.why()?;
    if body.per_s == Some(0) {
        return Err(Problem::invalid("per_s must be at least 1").into());
    }
    if body.r#where.len() > BULK_FILTER_BYTES_MAX {
        let bytes = body.r#where.len();
        return Err(Problem::invalid(format!("where has {bytes} bytes; at most {BULK_FILTER_BYTES_MAX} are allowed")).into());
    }
    let filter = RunFilter::compile(&body.r#where).map_err(|problems| wrong_filter(&body.r#where, problems))?;
    if body.dry_run {
        return Ok(Json(door.blocking(move |engine| counted(engine, filter, &deed, wanted)).await?));
    }
    // The kernel puts the newest run there is when the bulk starts.
    let work = BulkWork::Runs { verb: deed, filter: body.r#where, upto: RunId::MAX, per_s: body.per_s };
    match door.command(Command::StartBulk { work, by: signed_by(body.by), reason }).await? {
        Reply::Bulk(bulk) => Ok(Json(RunsBulkAnswer { bulk: Some(bulk), ..RunsBulkAnswer::default() })),
        other => Err(unexpected(&Answer::Reply(Ok(other)))),
    }
}

fn wrong_filter(text: &str, problems: Vec<flow::expr::Problem>) -> Problem {
    let at = |problem: flow::expr::Problem| {
        let before = text.get(..problem.offset).unwrap_or(text);
        let line = before.matches('\n').count() as u32 + 1;
        let column = before.rsplit('\n').next().unwrap_or_default().chars().count() as u32 + 1;
        let (message, suggestion) = (problem.message, problem.suggestion);
        ProblemAt { path: "where".to_owned(), line: Some(line), column: Some(column), message, suggestion }
    };
    let problems: Vec<ProblemAt> = problems.into_iter().map(at).collect();
    let first = problems.first();
    let told = first.map(|first| format!("{} (at character {})", first.message, first.column.unwrap_or(1))).unwrap_or_default();
    let fix = first.and_then(|first| first.suggestion.clone());
    let fix = fix.unwrap_or_else(|| "write a condition such as workflow == \"refund\" && status == \"failed\"".to_owned());
    Problem::new("invalid", format!("where: {told}"), fix).problems(problems)
}

fn counted(engine: &Engine, filter: RunFilter, verb: &RunVerb, wanted: Option<Wanted>) -> Result<RunsBulkAnswer, StoreError> {
    let mut scan = Scan::new(filter, None);
    let mut answer = RunsBulkAnswer { dry_run: true, ..RunsBulkAnswer::default() };
    let (mut count, mut unclear, mut seen, mut after, mut first) = (0, 0, 0, None, Vec::new());
    loop {
        // A pair of eyes for each page, so that others have theirs.
        let found = engine.read(|reader| scan.look(reader, after, usize::MAX, now()))?;
        for meant in found.runs {
            match meant {
                Meant::Run(run) | Meant::Revised(run, _) => {
                    count += 1;
                    if first.len() < outlook::LOOKED_AT_MAX {
                        first.push(run);
                    }
                    if answer.sample.len() < SAMPLE_MAX {
                        answer.sample.push(run);
                    }
                }
                Meant::Left(refusal) => {
                    unclear += 1;
                    answer.unclear_first.get_or_insert_with(|| RunRefused::from(refusal));
                }
            }
        }
        (seen, after) = (seen + found.seen, found.at);
        answer.at_least = !found.end;
        if found.end || seen >= COUNTED_MAX {
            answer.count = Some(count);
            answer.unclear = Some(unclear).filter(|unclear| *unclear > 0);
            match wanted {
                Some(wanted) => tried(engine, wanted, first.into_iter().take(TRIED_MAX).map(Meant::Run).collect(), &mut answer)?,
                None => outlook::told(engine, verb, &first, &mut answer)?,
            }
            return Ok(answer);
        }
    }
}

/// Asks these whether they would take a patch, and changes nothing.
fn tried(engine: &Engine, wanted: Wanted, mut runs: Vec<Meant>, answer: &mut RunsBulkAnswer) -> Result<(), StoreError> {
    let (mut texts, mut tried, mut refused) = (Texts::new(wanted), 0, 0);
    while !runs.is_empty() {
        let with_texts = texts.of(engine, runs.clone())?;
        runs.drain(..with_texts.len());
        for meant in with_texts {
            let why = match meant {
                Meant::Run(_) => None,
                Meant::Left(refusal) => Some(refusal),
                Meant::Revised(run, new) => {
                    let by = Actor::parse("signaller").expect("a name");
                    let command = Command::PatchRun { run, new, node: None, dry: true, by };
                    match engine.ask_blocking(Request::Command(command)) {
                        // One that was changed meanwhile is tried again.
                        Ok(Answer::Reply(Ok(_) | Err(Rejection::RevisionConflict { .. }))) => None,
                        Ok(Answer::Reply(Err(rejection))) => Some(Refusal { run, why: rejection.to_string() }),
                        // Others come first; what is known is told.
                        _ => {
                            runs.clear();
                            break;
                        }
                    }
                }
            };
            tried += 1;
            refused += u64::from(why.is_some());
            answer.refused_first.extend(why.map(RunRefused::from).filter(|_| refused as usize <= REASONS_MAX));
        }
    }
    (answer.tried, answer.refused) = (Some(tried), Some(refused).filter(|refused| *refused > 0));
    Ok(())
}
