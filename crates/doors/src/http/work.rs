//! `POST /v1/work`. A result that cannot be taken is answered on its own and its lease stays the worker's.

use super::Door;
use super::answer::{Json, No, checked, unexpected};
use super::body::Body;
use super::peer::Peer;
use super::values::raw;
use crate::wire::*;
use axum::Extension;
use axum::extract::State;
use engine::{Answer, Delivery, Engine, Logs, NoValue, PutAway, Report, Request, Work, Worked};
use kernel::command::{Command, Outcome};
use kernel::ids::{Fence, TaskId};
use kernel::limits::{HEARTBEAT_MS_MIN, INLINE_BYTES_MAX};
use kernel::record::Payload;
use kernel::rejection::Rejection;
use std::hash::{BuildHasher, RandomState};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;
use store::{BlobId, StoreError};

/// How often leases are kept alive while outputs are put away.
const ALIVE_EVERY: Duration = Duration::from_millis(HEARTBEAT_MS_MIN as u64 / 2);

/// Outputs of one poll that are put away at a time.
const PUTS_MAX: usize = 8;

/// What the holder of a lease says on the way, and in the end.
fn say(logs: &Logs, (task, fence): (TaskId, Fence), log: &[String], progress: Option<f64>, message: Option<&str>) {
    logs.add(task, fence, log);
    if let Some(progress) = progress {
        logs.set_progress(task, fence, (progress * 1_000.0).round() as u16, message);
    }
}

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
    let logs = door.engine.logs();
    for result in results {
        let (task, fence) = (result.task, result.fence);
        say(logs, (task, fence), &result.log, result.progress, result.message.as_deref());
        match result.outcome() {
            Ok(outcome) => {
                reports.push(Report { task, fence, outcome });
                refused.push(None);
            }
            Err(problem) => {
                held.push(engine::Holding { task, fence });
                refused.push(Some(ResultAnswer::refused(task, &problem)));
            }
        }
    }
    // What stands for outputs is held until they are decided.
    let mut _holds = Vec::new();
    if reports.iter().any(is_away) {
        let leases =
            reports.iter().map(|report| (report.task, report.fence)).chain(held.iter().map(|held| (held.task, held.fence)));
        let leases = leases.chain(holding.iter().map(|held| (held.task, held.fence))).collect();
        let put = kept_alive(&door, &peer, leases, put_away(&door, reports)).await?;
        if peer.is_gone() {
            // It may have polled anew meanwhile, and what it says of its leases here is old. Its results count all the same.
            report_alone(&door, put.reports).await;
            return Err(hung_up());
        }
        (reports, _holds) = (put.reports, put.holds);
        for (at, report, problem) in put.refused {
            let (task, fence) = (report.task, report.fence);
            held.push(engine::Holding { task, fence });
            let place = refused.iter_mut().filter(|refused| refused.is_none()).nth(at).expect("it is one of the reports");
            *place = Some(ResultAnswer::refused(task, &problem));
        }
    }
    let refused_held = held.len();
    for Holding { task, fence, progress, message, log } in holding {
        say(logs, (task, fence), &log, progress, message.as_deref());
        held.push(engine::Holding { task, fence });
    }
    // A result that was refused is something to report: such a poll does not wait.
    let wait_ms = if refused_held > 0 { 0 } else { wait_ms };
    let work = Work { worker, types: types.into(), queues: queues.into(), want, wait_ms, results: reports, holding: held };
    // With results the answer is never far, and worth having; without, a worker that is gone would be waited for.
    let reports_nothing = work.results.is_empty();
    let again = reports_nothing.then(|| work.clone());
    let mut worked = ask(&door, &peer, work, reports_nothing).await?;
    let (mut tasks, mut unmade) = deliver(&door, &peer, &worked.deliveries).await?;
    // Nothing of what it was granted can be handed over: it gets the next, and waits for it unless there is something to tell.
    while tasks.is_empty()
        && !worked.deliveries.is_empty()
        && let Some(mut work) = again.clone()
    {
        work.wait_ms = if unmade.is_empty() { work.wait_ms } else { 0 };
        worked = ask(&door, &peer, work, reports_nothing).await?;
        let more = deliver(&door, &peer, &worked.deliveries).await?;
        tasks = more.0;
        unmade.extend(more.1);
    }
    let mut settled = worked.results.into_iter().map(|(task, result)| match result {
        Ok(duplicate) => {
            door.engine.logs().ended(task);
            ResultAnswer::ok(task, duplicate)
        }
        Err(rejection) => ResultAnswer::refused(task, &Problem::from(&rejection)),
    });
    let answered =
        refused.into_iter().map(|refused| refused.unwrap_or_else(|| settled.next().expect("one answer for each report")));
    Ok(Json(WorkAnswer {
        results: answered.collect(),
        holding: worked.holding.iter().skip(refused_held).map(holding_answer).collect(),
        tasks,
        unmade,
        stopping: worked.stopping,
    }))
}

async fn ask(door: &Door, peer: &Peer, work: Work, reports_nothing: bool) -> Result<Worked, No> {
    let answer = tokio::select! {
        answer = door.engine.work(work) => answer?,
        () = peer.gone(), if reports_nothing => return Err(hung_up()),
    };
    match checked(answer)? {
        Answer::Worked(worked) => Ok(worked),
        other => Err(unexpected(&other)),
    }
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
async fn deliver(door: &Door, peer: &Peer, deliveries: &[Delivery]) -> Result<(Vec<WorkTask>, Vec<UnmadeTask>), No> {
    let mut guard = DeliveryGuard { door, undelivered: deliveries };
    let delivered = tokio::select! {
        biased;
        () = peer.gone() => return Ok(Default::default()),
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

/// What is slow to be done costs no lease, as long as the worker waits for it.
async fn kept_alive<T>(door: &Door, peer: &Peer, leases: Vec<(TaskId, Fence)>, doing: impl Future<Output = T>) -> T {
    let mut doing = pin!(doing);
    loop {
        tokio::select! {
            biased;
            done = &mut doing => return done,
            () = peer.gone() => return doing.await,
            () = tokio::time::sleep(ALIVE_EVERY) => door.engine.beat(leases.clone()),
        }
    }
}

/// Whether they are taken nobody hears any more.
async fn report_alone(door: &Door, reports: Vec<Report>) {
    for Report { task, fence, outcome } in reports {
        let jitter = RandomState::new().hash_one(fence) as u32;
        if door.engine.ask(Request::Command(Command::Finish { task, fence, outcome, jitter })).await.is_err() {
            return;
        }
    }
}

fn is_away(report: &Report) -> bool {
    matches!(&report.outcome, Outcome::Done { output } if output.text().len() > INLINE_BYTES_MAX || output.is_blob())
}

struct Put {
    /// Those that go on, and what holds their outputs where they are.
    reports: Vec<Report>,
    holds: Vec<PutAway>,
    /// What cannot be taken, the last first, with its number among the reports.
    refused: Vec<(usize, Report, Problem)>,
}

/// Outputs that are too large to ride in a record go where they lie for good, before anything mentions them; what is handed in by
/// name has to be there and to be a value.
async fn put_away(door: &Door, reports: Vec<Report>) -> Result<Put, No> {
    // Where it cannot be kept now, the others of the poll are taken all the same, and what it holds is kept alive.
    fn kept(engine: &Engine, output: &Payload) -> Result<PutAway, Problem> {
        let kept = match output.blob_id().and_then(BlobId::parse) {
            Some(id) => engine.value_of(&id).map(|value| value.map_err(|no| no_value(&no))),
            None => engine.put_away(output.clone()).map(Ok),
        };
        kept.unwrap_or_else(|error| match error {
            // It will not get better: the worker tells something else instead.
            StoreError::Corrupt(bad) => Err(Problem::invalid(bad.to_string())),
            StoreError::Refused(why) => Err(Problem::invalid(why)),
            error => Err(No::from(error).0),
        })
    }
    let put = door.blocking(move |engine| {
        let next = AtomicUsize::new(0);
        let away: Vec<_> = reports.iter().map(|_| OnceLock::new()).collect();
        let work = || {
            while let Some((report, away)) =
                Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| reports.get(at).zip(away.get(at)))
            {
                if let Outcome::Done { output } = &report.outcome
                    && is_away(report)
                {
                    _ = away.set(kept(engine, output));
                }
            }
        };
        // A bucket may be far: what waits for it waits together.
        std::thread::scope(|scope| {
            let others = reports.iter().filter(|report| is_away(report)).count().min(PUTS_MAX) - 1;
            (0..others).for_each(|_| _ = std::thread::Builder::new().spawn_scoped(scope, work));
            work();
        });
        let away = away.into_iter().map(|away| away.into_inner().transpose());
        Ok(reports.into_iter().zip(away).collect::<Vec<_>>())
    });
    let mut all = Put { reports: Vec::new(), holds: Vec::new(), refused: Vec::new() };
    for (at, (mut report, away)) in put.await?.into_iter().enumerate() {
        match away {
            Ok(None) => all.reports.push(report),
            Ok(Some(away)) => {
                report.outcome = Outcome::Done { output: away.payload.clone() };
                all.reports.push(report);
                all.holds.push(away);
            }
            Err(problem) => all.refused.push((at, report, problem)),
        }
    }
    // From the end: taking one out leaves the numbers of those before it as they are.
    all.refused.reverse();
    Ok(all)
}

fn no_value(no: &NoValue) -> Problem {
    let fix = "put the output as JSON with PUT /v1/blobs, and hand its name in as output_ref";
    match no {
        NoValue::Missing(_) => Problem::new("blob_not_found", no.to_string(), fix),
        NoValue::Large(..) => Problem::new("too_large", no.to_string(), fix),
        NoValue::NotJson(_) => Problem::new("invalid", no.to_string(), fix),
    }
}

/// Tasks whose input cannot be made are failed by the engine; the worker only hears of them.
async fn fetch(door: &Door, deliveries: &[Delivery]) -> Result<(Vec<WorkTask>, Vec<UnmadeTask>), No> {
    let filled = match door.engine.fill(deliveries) {
        Some(filled) => filled,
        None => {
            let deliveries = deliveries.to_vec();
            door.blocking(move |engine| engine.fill_reading(&deliveries)).await?
        }
    };
    let mut tasks = Vec::with_capacity(filled.deliveries.len());
    for Delivery { grant, input } in filled.deliveries {
        let lost = || {
            let message = format!("the input of {} cannot be read from its record", grant.task);
            Problem::new("internal", message, "run `signaller verify`")
        };
        let input = input.and_then(raw).ok_or_else(lost)?;
        tasks.push(WorkTask::new(grant, input));
    }
    let unmade = filled.failed.into_iter().map(|(Delivery { grant, .. }, failure)| UnmadeTask {
        task: grant.task,
        kind: grant.kind,
        error: TaskError::from(&failure),
    });
    Ok((tasks, unmade.collect()))
}
