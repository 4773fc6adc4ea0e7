//! A run whose start was acknowledged is there, with its input, until someone deletes it; one key starts one run.

use super::{Check, Scene, ensure};
use kernel::ids::{RecordSeq, RunId};
use kernel::record::{Entry, Owner, Record};
use kernel::row::{RUNS, Value};
use kernel::run::Run;

pub fn kept(scene: &Scene<'_>) -> Check {
    let check = |id: RunId| {
        let Some(input) = scene.ledger.started.get(&id) else { return Ok(()) };
        let stored = scene.disk.read(|durable| {
            let run = durable.row(&RUNS, &[Value::Int(id.number())]).and_then(|values| Run::from_row(values).ok())?;
            let entry = durable.entries_after(RecordSeq(run.input().0 - 1)).next();
            Some(entry.and_then(|entry| entry.payload.clone()))
        });
        let Some(stored) = stored else { return Err(format!("{id} was acknowledged and is gone")) };
        ensure(stored.as_ref() == Some(input), || format!("the input of {id} is {stored:?} instead of {input:?}"))
    };
    if scene.thorough {
        return scene.ledger.started.keys().try_for_each(|id| check(*id));
    }
    let touched = |entry: &Entry| if let Owner::Run(id) = entry.owner { Some(id) } else { None };
    scene.turn.entries.iter().filter_map(touched).try_for_each(check)
}

pub fn once(scene: &Scene<'_>, entry: &Entry) -> Check {
    let (Owner::Run(id), Record::RunStarted { spec, .. }) = (&entry.owner, &entry.record) else { return Ok(()) };
    let Some(key) = &spec.idempotency_key else { return Ok(()) };
    let mut runs = scene.model.runs.runs.iter();
    let earlier = runs.find(|(_, run)| run.workflow == spec.workflow && run.key.as_ref() == Some(key) && !run.deleting);
    ensure(earlier.is_none(), || format!("{id} was started by key {key}, which had started {earlier:?}"))
}
