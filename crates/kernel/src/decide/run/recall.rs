//! A run that was called is tried again with its caller. Its rows are loaded first, so it is called back in a batch after the
//! one that opened the caller again. If it cannot go on, the node that called it begins anew.

use super::retry;
use crate::ids::RunId;
use crate::message::{Ending, Message};
use crate::run::{NodeAt, RunStatus};
use crate::step::Step;

/// Those whose rows are here.
pub(in crate::decide) fn go_on(step: &mut Step<'_>) {
    for (run, at, again) in step.state().runs.recalls_due() {
        if step.is_full() {
            return;
        }
        let runs = &step.state().runs;
        // What was under way in it is still being stopped.
        if runs.get(run).is_some_and(|live| live.run.live && live.run.status != RunStatus::Running) {
            continue;
        }
        let caller = runs.get(at.run).map(|live| &live.run);
        let held = caller.filter(|caller| caller.is_paused()).map(|caller| caller.pauses);
        step.send(Message::RetryRun { at, run, again, held });
    }
}

pub(in crate::decide) fn hear(step: &mut Step<'_>, at: NodeAt, run: RunId, again: u32, held: Option<u32>) {
    // Whatever comes of it, it need not be asked again.
    let closing = step.state().runs.get(run).is_some_and(|live| live.run.live && live.run.again < again);
    if !closing {
        step.forget_recall(run, again);
    }
    let known = step.state().runs.get(run).map(|live| &live.run);
    // It was done when its caller was stopped; nobody heard.
    if let Some(done) = known.filter(|run| run.status == RunStatus::Done && run.deleting.is_none()) {
        let result = Ending::Done(done.output);
        return step.send(Message::RunEnded { at, run, again, result });
    }
    if !retry::with_caller(step, run, again, held) {
        step.send(Message::RunLost { at, run, again });
    }
}
