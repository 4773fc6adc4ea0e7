//! A bulk over runs. Which of them are meant is found out off the writer, by a filter that the kernel does not know; they are
//! handed in a chunk at a time, and what was done to them and how far it came is one commit. A chunk that was found from
//! another place than the bulk is at now is refused, so after whatever crash nothing is done twice and nothing is left out.

use crate::bulk::{Bulk, BulkStatus, BulkWork, Meant, Refusal, RunVerb};
use crate::command::{NewRevision, Reply};
use crate::decide::run;
use crate::ids::{BulkId, RunId};
use crate::limits::BULK_REFUSALS_MAX;
use crate::record::Record;
use crate::rejection::Rejection;
use crate::run::NodeAt;
use crate::step::Step;

/// Stops early when enough was done for one batch; how far it came, its answer counts.
pub(in crate::decide) fn advance(
    step: &mut Step<'_>,
    bulk: BulkId,
    from: Option<RunId>,
    runs: &[Meant],
    done: bool,
) -> Result<Reply, Rejection> {
    let found = step.state().bulk(bulk).ok_or(Rejection::BulkNotFound { bulk })?;
    if found.status() != BulkStatus::Open {
        return Err(Rejection::BulkClosed { bulk });
    }
    let BulkWork::Runs { verb, .. } = found.work() else {
        return Err(Rejection::Invalid { why: format!("{bulk} is not over runs") });
    };
    if found.after_run() != from && !crate::defect("bulk_run_again") {
        return Err(Rejection::Invalid { why: format!("{bulk} has moved on") });
    }
    if found.resume_at().is_some_and(|at| at > step.now()) {
        return Err(Rejection::Invalid { why: format!("{bulk} rests, to keep its rate") });
    }
    let (verb, found) = (verb.clone(), found.clone());
    let (mut items, mut skipped, mut refused, mut after) = (0, 0, Vec::new(), None);
    let room = BULK_REFUSALS_MAX.saturating_sub(found.refused().len());
    let allowed = found.allowance();
    let left_out = usize::from(crate::defect("bulk_run_left_out") && runs.len() > 1);
    for meant in &runs[left_out..] {
        if items as usize >= allowed || (after.is_some() && step.is_full()) {
            break;
        }
        let run = meant.run();
        let new = match meant {
            // Somebody else has changed its text since: the bulk stops before it, and comes back with another.
            Meant::Revised(run, new) if step.state().runs.get(*run).is_some_and(|live| live.run.revision() != new.base) => break,
            Meant::Revised(_, new) => Some(&**new),
            Meant::Run(_) | Meant::Left(_) => None,
        };
        let left = match meant {
            Meant::Left(refusal) => Some(refusal.why.clone()),
            Meant::Run(run) | Meant::Revised(run, _) => one(step, &verb, *run, new, &found).err(),
        };
        after = Some(run);
        match left {
            None => items += 1,
            Some(why) => {
                skipped += 1;
                if refused.len() < room {
                    refused.push(Refusal { run, why });
                }
            }
        }
    }
    let all = after == runs.last().map(Meant::run);
    if let Some(after) = after {
        let resume_at = found.rests_until(items, step.now()).filter(|_| !(all && done));
        step.record_bulk(bulk, Record::BulkRunsAdvanced { after, items, skipped, refused, resume_at });
    }
    if all && done {
        step.record_bulk(bulk, Record::BulkFinished { items: 0, skipped: 0 });
    }
    Ok(Reply::Items { changed: items as usize, skipped: skipped as usize })
}

/// The one place where a verb is done to a run. An error is why it was left as it was.
fn one(step: &mut Step<'_>, verb: &RunVerb, run: RunId, new: Option<&NewRevision>, bulk: &Bulk) -> Result<(), String> {
    let by = bulk.by();
    let reason = match bulk.reason() {
        "" => format!("with {}", bulk.id()),
        reason => reason.to_owned(),
    };
    let reply = match verb {
        RunVerb::Cancel => run::cancel(step, run, by, &reason),
        RunVerb::Retry => run::retry::decide(step, run, None, None, &reason, by),
        RunVerb::Pause => run::pause::pause(step, run, by, &reason),
        RunVerb::Resume => run::pause::resume(step, run, by),
        RunVerb::Restart { frame, node } => {
            let at = NodeAt { run, frame: frame.clone(), node: node.clone() };
            run::restart::decide(step, &at, None, &reason, by)
        }
        RunVerb::Patch { .. } => {
            let new = new.ok_or("there is no text for it")?;
            let new = NewRevision { description: reason, ..new.clone() };
            run::patch::decide(step, run, &new, None, false, by)
        }
    };
    match reply {
        Ok(Reply::Run { changed: false, .. }) => Err(match verb {
            RunVerb::Pause => "it was paused already".to_owned(),
            RunVerb::Resume => "it was not paused".to_owned(),
            RunVerb::Cancel => "it was cancelled already".to_owned(),
            RunVerb::Retry | RunVerb::Restart { .. } | RunVerb::Patch { .. } => "nothing was to be changed".to_owned(),
        }),
        Ok(_) => Ok(()),
        Err(rejection) => Err(rejection.to_string()),
    }
}
