//! `POST /v1/work`. A result that cannot be taken is answered on its own and its lease stays the worker's.

use super::Door;
use super::answer::{Json, No, checked, unexpected};
use super::body::Body;
use super::peer::Peer;
use super::tasks::raw;
use crate::wire::*;
use axum::Extension;
use axum::extract::State;
use engine::{Answer, Delivery, Report, Work};
use kernel::ids::RecordSeq;
use kernel::rejection::Rejection;
use std::sync::Arc;

/// Report results and heartbeats, and ask for more work.
#[utoipa::path(post, path = "/v1/work", tag = "workers", request_body = WorkPoll,
    responses((status = 200, body = WorkAnswer)))]
pub async fn work(
    State(door): State<Door>,
    Extension(peer): Extension<Arc<Peer>>,
    Body(poll): Body<WorkPoll>,
) -> Result<Json<WorkAnswer>, No> {
    poll.check()?;
    let WorkPoll { worker, types, queues, want, wait_ms, results, holding } = poll;
    let mut reports = Vec::with_capacity(results.len());
    let mut held: Vec<engine::Holding> = Vec::with_capacity(holding.len());
    // Per result: refused here, or the next answer of the engine.
    let mut refused = Vec::with_capacity(results.len());
    for result in results {
        let (task, fence) = (result.task, result.fence);
        match result.outcome() {
            Ok(outcome) => {
                reports.push(Report { task, fence, outcome });
                refused.push(None);
            }
            Err(problem) => {
                held.push(engine::Holding { task, fence, progress: None });
                refused.push(Some(ResultAnswer::refused(task, &problem)));
            }
        }
    }
    let refused_held = held.len();
    for Holding { task, fence, progress } in holding {
        if progress.is_some_and(|progress| !(0.0..=1.0).contains(&progress)) {
            return Err(Problem::invalid("progress must lie between 0 and 1").into());
        }
        let progress = progress.map(|progress| (progress * 1_000.0) as u16);
        held.push(engine::Holding { task, fence, progress });
    }
    // A result that was refused is something to report: such a poll does not wait.
    let wait_ms = if refused_held > 0 { 0 } else { wait_ms };
    let work = Work { worker, types: types.into(), queues: queues.into(), want, wait_ms, results: reports, holding: held };
    // With results the answer is never far, and worth having; without, a worker that is gone would be waited for.
    let reports_nothing = work.results.is_empty();
    let answer = tokio::select! {
        answer = door.engine.work(work) => answer?,
        () = peer.gone(), if reports_nothing => return Err(hung_up()),
    };
    let worked = match checked(answer)? {
        Answer::Worked(worked) => worked,
        other => return Err(unexpected(&other)),
    };
    let tasks = deliver(&door, &peer, &worked.deliveries).await?;
    let mut settled = worked.results.into_iter().map(|(task, result)| match result {
        Ok(duplicate) => ResultAnswer::ok(task, duplicate),
        Err(rejection) => ResultAnswer::refused(task, &Problem::from(&rejection)),
    });
    let answered =
        refused.into_iter().map(|refused| refused.unwrap_or_else(|| settled.next().expect("one answer for each report")));
    Ok(Json(WorkAnswer {
        results: answered.collect(),
        holding: worked.holding.iter().skip(refused_held).map(holding_answer).collect(),
        tasks,
        stopping: worked.stopping,
    }))
}

fn holding_answer(held: &engine::Held) -> HoldingAnswer {
    let lost = (!held.held).then(|| Problem::from(&Rejection::LeaseLost { task: held.task }));
    HoldingAnswer {
        task: held.task,
        ok: held.held,
        cancel: held.cancel,
        heartbeat_ms: held.held.then_some(held.heartbeat_ms),
        code: lost.as_ref().map(|problem| problem.code.to_string()),
        message: lost.map(|problem| problem.message),
    }
}

fn hung_up() -> No {
    let message = "the worker closed its side of the connection while its poll waited";
    No(Problem::new("invalid", message, "keep the connection open until the answer comes"))
}

/// Puts the inputs to the grants. If that fails, or the worker goes away meanwhile, the leases go back unburnt.
async fn deliver(door: &Door, peer: &Peer, deliveries: &[Delivery]) -> Result<Vec<WorkTask>, No> {
    let mut guard = DeliveryGuard { door, undelivered: deliveries };
    let delivered = tokio::select! {
        biased;
        () = peer.gone() => return Ok(Vec::new()),
        delivered = fetch(door, deliveries) => delivered?,
    };
    guard.undelivered = &[];
    Ok(delivered)
}

struct DeliveryGuard<'a> {
    door: &'a Door,
    undelivered: &'a [Delivery],
}

impl Drop for DeliveryGuard<'_> {
    fn drop(&mut self) {
        if !self.undelivered.is_empty() {
            self.door.engine.undelivered(self.undelivered);
        }
    }
}

async fn fetch(door: &Door, deliveries: &[Delivery]) -> Result<Vec<WorkTask>, No> {
    let missing: Vec<RecordSeq> = deliveries.iter().filter(|d| d.input.is_none()).map(|d| d.grant.input).collect();
    let mut read = if missing.is_empty() {
        Vec::new().into_iter()
    } else {
        door.read_first(move |reader| reader.payloads(&missing)).await?.into_iter()
    };
    let mut tasks = Vec::with_capacity(deliveries.len());
    for delivery in deliveries {
        let input = delivery.input.clone().or_else(|| read.next().flatten()).and_then(raw);
        let lost = || {
            let message = format!("the input of {} cannot be read from its record", delivery.grant.task);
            Problem::new("internal", message, "run `signaller verify`")
        };
        tasks.push(WorkTask::new(delivery.grant.clone(), input.ok_or_else(lost)?));
    }
    Ok(tasks)
}
