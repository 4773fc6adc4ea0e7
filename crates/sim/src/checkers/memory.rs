//! Fold ≡ live: the rows on the disk, the engine's memory and the model say the same of everyone, and a state rebuilt
//! from the rows goes on exactly as the one that wrote them.

use super::{Check, Scene, ensure, order};
use crate::catalogue;
use crate::model::runs::FrameState;
use kernel::command::{Command, Reply};
use kernel::ids::RecordSeq;
use kernel::ir::Ir;
use kernel::names::{TypeName, WorkerName};
use kernel::record::Owner;
use kernel::row::{BULKS, CONTROLS, FRAMES, KEYS, NODES, QUEUES, REGISTRIES, RUNS, Row, SHARDS, TASKS, Value, WORKFLOWS};
use kernel::runs::WantedIr;
use kernel::state::State;
use kernel::step::Step;
use kernel::task::Task;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Whoever was touched, or everyone when thorough.
fn owners(scene: &Scene<'_>) -> BTreeSet<Owner> {
    let mut owners: BTreeSet<Owner> = scene.turn.entries.iter().map(|entry| entry.owner.clone()).collect();
    if scene.thorough {
        owners.extend(scene.model.tasks.keys().copied().map(Owner::Task));
        owners.extend(scene.model.queues.keys().cloned().map(Owner::Queue));
        owners.extend(scene.model.arrivals.keys().cloned().map(Owner::Key));
        owners.extend(scene.model.bulks.keys().copied().map(Owner::Bulk));
        let runs = &scene.model.runs;
        owners.extend(runs.workflows.keys().map(|(name, version)| Owner::Workflow(name.clone(), *version)));
        owners.extend(runs.runs.keys().copied().map(Owner::Run));
        owners.extend(runs.frames.keys().map(|(run, path)| Owner::Frame(*run, path.clone())));
        owners.extend(runs.nodes.keys().cloned().map(Owner::Node));
        let events = &scene.model.events;
        owners.extend(events.events.keys().copied().map(Owner::Event));
        owners.extend(events.controls.keys().cloned().map(Owner::Families));
        owners.insert(Owner::Registry);
    }
    owners
}

pub fn rows(scene: &Scene<'_>) -> Check {
    for owner in owners(scene) {
        let (table, key) = owner.place(0);
        let stored = scene.disk.read(|durable| durable.row(table, &key).map(<[Value]>::to_vec));
        let last = scene.model.last_of(&owner);
        let newest = stored
            .as_ref()
            .map(|values| values[table.columns.iter().position(|(name, _)| *name == "last").expect("a column")].clone());
        let expected = (last.0 > 0).then(|| Value::from(last));
        ensure(newest == expected, || format!("the row of {owner} is of record {newest:?} instead of {expected:?}"))?;
        if let (Owner::Task(id), Some(values)) = (&owner, &stored) {
            let task = Task::from_row(values).map_err(|bad| format!("the row of {owner}: {bad}"))?;
            let difference = scene.model.task(*id).and_then(|model| model.differs(&task));
            ensure(difference.is_none(), || difference.expect("there is one"))?;
        }
        if let (Some(core), Some(values)) = (scene.core, stored) {
            let cold = scene.model.task_of(&owner).is_some_and(|task| task.status.is_finished())
                || matches!(&owner, Owner::Bulk(id) if !scene.model.bulks[id].open)
                || matches!(&owner, Owner::Event(_))
                || is_cold_run(scene, &owner);
            match core.state().row(&owner) {
                // Of what is being deleted only the run itself is there.
                Ok(_) if cold && !matches!(owner, Owner::Task(_) | Owner::Bulk(_) | Owner::Run(_)) => {}
                Ok(live) => {
                    ensure(live.values == values, || format!("{owner} is {:?} in memory, {values:?} on disk", live.values))?
                }
                Err(_) => ensure(cold, || format!("{owner} is not in memory"))?,
            }
        }
    }
    Ok(())
}

/// Of a run that has come to rest; or a part of one that is being deleted.
fn is_cold_run(scene: &Scene<'_>, owner: &Owner) -> bool {
    let (run, part) = match owner {
        Owner::Run(id) => (id, false),
        Owner::Frame(id, _) => (id, true),
        Owner::Node(at) => (&at.run, true),
        _ => return false,
    };
    if scene.model.runs.runs.get(run).is_none_or(|run| !run.live || (part && run.deleting)) {
        return true;
    }
    // What is past has left memory; what of it must still be there, `rebuilt` knows.
    let frame = match owner {
        Owner::Frame(_, path) => path,
        Owner::Node(at) => &at.frame,
        _ => return false,
    };
    scene.model.runs.frames.get(&(*run, frame.clone())).is_some_and(|frame| frame.state != FrameState::Open)
}

/// Loads the rows as a restart would.
pub fn load(scene: &Scene<'_>) -> Result<State, String> {
    let mut state = State::new(0);
    scene.disk.read(|durable| -> Check {
        let whole = |run: &Value| {
            let column = |name: &str| RUNS.columns.iter().position(|(column, _)| *column == name).expect("a column");
            let row = durable.row(&RUNS, std::slice::from_ref(run));
            row.is_some_and(|row| row[column("live")] == Value::Int(1) && row[column("deleting")] == Value::Null)
        };
        for table in [&SHARDS, &QUEUES, &KEYS, &REGISTRIES, &CONTROLS, &BULKS, &WORKFLOWS, &RUNS, &FRAMES, &NODES, &TASKS] {
            for values in durable.rows(table) {
                let is_live = match table.name {
                    "tasks" => !Task::from_row(values).map_err(|bad| bad.to_string())?.status().is_finished(),
                    "bulks" => values[2] == Value::from("open"),
                    "runs" => values[3] == Value::Int(1),
                    "frames" | "nodes" => whole(&values[0]),
                    _ => true,
                };
                if is_live {
                    let row = Row { table, values: values.to_vec() };
                    match state.wants_ir(&row) {
                        None => {}
                        Some(WantedIr::Version(workflow)) => {
                            let ir = catalogue::ir_of(workflow.text()).ok_or("a workflow that nobody put")?;
                            let ir = Arc::new(Ir { version: workflow.version(), ..(*ir).clone() });
                            state.learn_ir(workflow.name(), workflow.version(), ir);
                        }
                        Some(WantedIr::Revision { run, revision, record, workflow }) => {
                            let entry = durable.written_after(RecordSeq(record.0 - 1)).into_iter().next();
                            let payload = entry.filter(|entry| entry.seq == record).and_then(|entry| entry.payload.as_ref());
                            let text = payload.and_then(catalogue::changed).ok_or("a text that nobody thought of")?;
                            let ir = Ir { version: workflow.version(), ..(*text.ir).clone() };
                            state.learn_revision(run, revision, Ok(Arc::new(ir)));
                        }
                    }
                    state.take_row(&row, scene.turn.now).map_err(|bad| bad.to_string())?;
                }
            }
        }
        Ok(())
    })?;
    state.loaded();
    Ok(state)
}

/// A run is in memory exactly while it is live.
pub fn runs(scene: &Scene<'_>) -> Check {
    let Some(core) = scene.core else { return Ok(()) };
    let live = scene.model.runs.live().count();
    let held = core.state().runs_live();
    ensure(live == held, || format!("{held} runs are in memory, {live} are live"))?;
    let absent = scene.model.runs.live().find(|(id, _)| core.state().live_run(*id).is_none());
    ensure(absent.is_none(), || format!("{absent:?} is live and not in memory"))
}

pub fn rebuilt(scene: &Scene<'_>) -> Check {
    let Some(core) = scene.core.filter(|_| scene.thorough && !scene.turn.reloaded) else { return Ok(()) };
    let (live, now) = (core.state(), scene.turn.now);
    let mut fresh = load(scene)?;
    ensure(fresh.counts() == live.counts(), || format!("{:?} rebuilt, {:?} live", fresh.counts(), live.counts()))?;
    for (id, _) in scene.model.runs.live().filter(|(_, run)| !run.deleting) {
        let same = fresh.live_run(id).zip(live.live_run(id)).is_some_and(|(fresh, live)| fresh.is_same(live));
        ensure(same, || format!("{id} is {:?} rebuilt, {:?} live", fresh.live_run(id), live.live_run(id)))?;
    }
    if scene.model.is_lagging() || !scene.model.sweeping.is_empty() {
        return Ok(());
    }
    // The same lines: a queue that is used up and has no row is forgotten.
    let lines = |state: &State| -> Vec<String> {
        let all = state.queue_summaries().into_iter();
        all.map(|s| format!("{} {:?} {:?}", s.name, s.queue, s.depth)).collect()
    };
    ensure(lines(&fresh) == lines(live), || format!("{:?} rebuilt, {:?} live", lines(&fresh), lines(live)))?;
    for (types, queues) in order::questions(scene) {
        let (rebuilt, live) = (fresh.pick(&types, &queues), live.pick(&types, &queues));
        ensure(rebuilt == live, || format!("{types:?} in {queues:?} would get {rebuilt:?} rebuilt, {live:?} live"))?;
    }
    drained(scene, &mut fresh).map_err(|why| format!("{why}, at {now:?}"))
}

/// Leases in a row from a rebuilt state.
const DRAINED_MAX: usize = 250;

/// Leases what there is from the rebuilt state, and from a copy of the model, one after the other.
fn drained(scene: &Scene<'_>, fresh: &mut State) -> Check {
    let now = scene.turn.now;
    let mut types: Vec<TypeName> = scene.model.queued.iter().map(|id| scene.model.tasks[id].kind.clone()).collect();
    types.sort();
    types.dedup();
    let worker = WorkerName::parse("drain").expect("a name");
    let mut step = Step::new(fresh, now);
    let lease = Command::Lease { worker, types: types.clone().into(), queues: [].into(), want: DRAINED_MAX };
    let Ok(Reply::Leased(grants)) = kernel::decide(&mut step, &lease) else { return Err("a lease was refused".into()) };
    let mut model = scene.model.clone();
    let leased = grants.len();
    let mut grants = grants.into_iter();
    for entry in step.finish().entries {
        if let Owner::Task(id) = &entry.owner {
            let expected = model.next(&types, &[], now).map(|place| place.task());
            ensure(expected == Some(*id), || format!("a rebuilt state leases {id} instead of {expected:?}"))?;
            ensure(grants.next().is_some_and(|grant| grant.task == *id), || format!("{id} was leased and not granted"))?;
        }
        model.fold(&entry)?;
    }
    let left = model.next(&types, &[], now);
    ensure(left.is_none() || leased == DRAINED_MAX, || format!("a rebuilt state leaves {left:?}"))
}

/// `verify` itself: every record folded by owner, every row compared.
pub fn verified(scene: &Scene<'_>) -> Check {
    if !scene.historic {
        return Ok(());
    }
    let store = scene.disk.open();
    let mut reader = store::Store::reader(&store).map_err(|error| error.to_string())?;
    let report = store::verify::verify(&mut *reader, &mut |_| {}).map_err(|error| error.to_string())?;
    ensure(report.is_clean(), || format!("verify found {}", report.differences[0].sentence))
}
