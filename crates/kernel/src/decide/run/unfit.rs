//! A run whose workflow does not compile any more: what it had begun is taken back, and it fails. It is in memory without its
//! nodes, so these stay as they were.

use crate::decide::walk;
use crate::ids::RunId;
use crate::limits::CHUNK_ITEMS_MAX;
use crate::message::Ending;
use crate::record::{Failure, Record};
use crate::run::RunStatus;
use crate::step::Step;

pub(in crate::decide) fn go_on(step: &mut Step<'_>) {
    let runs: Vec<RunId> = step.state().runs.unfit_live().take(CHUNK_ITEMS_MAX).collect();
    let by = walk::itself();
    let mut room = CHUNK_ITEMS_MAX;
    for run in runs {
        if room == 0 || step.is_full() {
            return;
        }
        let begun = step.unfit().take_begun(run, room);
        room -= begun.len();
        for at in &begun {
            walk::withdraw(step, at, &by, "its workflow does not compile any more");
        }
        // There may be more.
        if room == 0 {
            return;
        }
        room -= 1;
        let live = step.state().runs.get(run).expect("it is in memory");
        if live.run.status != RunStatus::Running {
            step.record_run(run, Record::RunClosed {}, None);
            continue;
        }
        let why = step.state().runs.unfit.why(run).expect("it is unfit");
        let failure = Failure { code: "bad_workflow".into(), message: why.to_string() };
        step.record_run(run, Record::RunFailed { failure: failure.clone(), node: None, closed: true }, None);
        walk::over(step, run, Ending::Failed(failure));
    }
}
