//! Nodes go by their tokens: entered and skipped when these say so, not before, and not later than in the same tick.

use super::{Check, Scene, ensure};
use crate::model::runs::{self, NodeState, RunModel, body_of};
use crate::model::walk::Verdict;
use kernel::explain::{Facts, Queues, explain, explain_run, likeness};
use kernel::frame::{Cause, FramePath};
use kernel::ids::RunId;
use kernel::record::{Entry, Owner, Record};
use kernel::run::{NodeAt, RunStatus};
use std::collections::BTreeSet;

pub fn entered(scene: &Scene<'_>, entry: &Entry) -> Check {
    let Owner::Node(at) = &entry.owner else { return Ok(()) };
    let runs = &scene.model.runs;
    let Some(run) = runs.runs.get(&at.run) else { return Err(format!("{} of a run that is not there", entry.record.kind())) };
    if *runs.node(at) != NodeState::Waiting {
        return Ok(());
    }
    let Some(ir) = runs.ir(at.run, &at.frame) else { return Err(format!("there is no frame of {}", at.show())) };
    let found = ir.find(&at.node).filter(|node| body_of(ir, &at.frame) == Some(ir.node(*node).body));
    let Some(node) = found else { return Err(format!("there is no {}", at.show())) };
    let verdict = runs.verdict(ir, at.run, &at.frame, node);
    let fits = match &entry.record {
        Record::NodeStarted { .. } | Record::NodeDone { .. } | Record::NodeFailed { .. } => verdict == Verdict::Enter,
        Record::NodeSkipped { cause } => {
            let refused = ir.node(node).when.is_some() && verdict == Verdict::Enter && *cause == Cause::Untaken;
            verdict == Verdict::Skip(*cause) || refused
        }
        _ => true,
    };
    let goes_on = run.status == RunStatus::Running && !runs.is_undone(at.run, &at.frame);
    ensure(fits && goes_on, || format!("{} of {}, whose tokens say {verdict:?}, of {run:?}", entry.record.kind(), at.show()))
}

pub fn paused(scene: &Scene<'_>, entry: &Entry) -> Check {
    let runs = &scene.model.runs;
    let is_paused = |run: &RunId| runs.runs.get(run).is_some_and(|run| run.paused);
    let begins = match (&entry.owner, &entry.record) {
        (Owner::Node(at), Record::NodeStarted { .. } | Record::NodeDone { .. }) => {
            is_paused(&at.run) && *runs.node(at) == NodeState::Waiting
        }
        (Owner::Task(_), Record::TaskAdded { spec }) => spec.node.as_ref().is_some_and(|at| is_paused(&at.run)),
        _ => false,
    };
    ensure(!begins, || format!("{} of {} began while its run is paused", entry.record.kind(), entry.owner))
}

/// Runs that moved in this tick, or all of them.
fn looked_at<'a>(scene: &'a Scene<'_>) -> impl Iterator<Item = (RunId, &'a RunModel)> {
    let moved: BTreeSet<RunId> = scene.turn.entries.iter().filter_map(|entry| run_of(&entry.owner)).collect();
    scene.model.runs.running().filter(move |(id, _)| scene.thorough || moved.contains(id))
}

fn run_of(owner: &Owner) -> Option<RunId> {
    match owner {
        Owner::Run(run) | Owner::Frame(run, _) => Some(*run),
        Owner::Node(at) => Some(at.run),
        _ => None,
    }
}

pub fn moving(scene: &Scene<'_>) -> Check {
    let Some(core) = scene.core.filter(|_| !scene.turn.reloaded) else { return Ok(()) };
    let runs = &scene.model.runs;
    for (id, run) in looked_at(scene) {
        let facts = Facts { up_since: scene.turn.now, ..Facts::default() };
        let told_of = |task| Some(explain(core.state(), core.state().task(task)?, &facts, scene.turn.now));
        let queues = Queues { told: &told_of, likeness: &|task| likeness(core.state(), task, scene.turn.now) };
        let told = explain_run(core.state(), id, &queues, scene.turn.now).ok_or_else(|| format!("{id} cannot be explained"))?;
        let loading: Vec<&NodeAt> = told.waits.iter().filter(|wait| wait.code == "loading").map(|wait| &wait.at).collect();
        // Some are only held for the next batch, which then comes at once.
        let at_once = scene.turn.next.is_some_and(|next| next <= scene.turn.now);
        ensure(loading.is_empty() || scene.fetching || at_once, || format!("{loading:?} wait for values that nobody fetches"))?;
        for frame in runs.open_frames(id) {
            let ir = runs.ir(id, &frame).ok_or_else(|| format!("{id} has no frame {frame}"))?;
            let body = ir.body(body_of(ir, &frame).ok_or_else(|| format!("{id} has no frame {frame}"))?);
            let mut open = 0;
            for node in &body.nodes {
                let at = runs::at(id, &frame, &ir.node(*node).id);
                let state = runs.node(&at);
                open += usize::from(!state.is_over());
                if *state != NodeState::Waiting {
                    // What follows from something that begins anew does so, too.
                    let early = (run.generation > 0 || run.again > 0)
                        && !runs.nodes.get(&at).is_some_and(|node| node.set)
                        && runs.verdict(ir, id, &frame, *node) == Verdict::Wait;
                    ensure(!early, || format!("{} is {state:?}, and its tokens have yet to come", at.show()))?;
                    continue;
                }
                let verdict = runs.verdict(ir, id, &frame, *node);
                let stays = verdict == Verdict::Wait || (verdict == Verdict::Enter && run.paused);
                // Of very many that are held, only the first are told.
                let stays = stays || loading.contains(&&at) || (told.more > 0 && (scene.fetching || at_once));
                ensure(stays, || format!("{} waits although its tokens say {verdict:?}", at.show()))?;
            }
            let held = core.state().is_held(id, &frame, None);
            ensure(open > 0 || scene.fetching || held, || {
                format!("frame `{frame}` of {id} is open, and all its nodes have ended")
            })?;
        }
    }
    Ok(())
}

/// `produced = consumed + live`: what the engine finds on every edge is what the records say was sent along it.
pub fn conserved(scene: &Scene<'_>) -> Check {
    let Some(core) = scene.core.filter(|_| !scene.turn.reloaded) else { return Ok(()) };
    for (id, _) in looked_at(scene) {
        let Some(live) = core.state().live_run(id) else { return Err(format!("{id} is not in memory")) };
        let open: BTreeSet<FramePath> = scene.model.runs.open_frames(id).into_iter().collect();
        for (path, frame) in live.frames().filter(|(path, frame)| frame.is_open() && open.contains(path)) {
            let Some(ir) = scene.model.runs.ir(id, &path) else { return Err(format!("{id} has no frame {path}")) };
            for node in &ir.body(frame.body()).nodes {
                for edge in &ir.node(*node).ins {
                    let (told, found) = (scene.model.runs.token(ir, id, &path, *edge), frame.carried(*edge));
                    let to = &ir.node(*node).id;
                    ensure(told == found, || format!("{found:?} lies on an edge to {to} in `{path}` of {id}, not {told:?}"))?;
                }
            }
        }
        let held = live.frames().filter(|(_, frame)| frame.is_open()).count();
        // What nobody waits for is dropped chunk by chunk.
        ensure(held == open.len() || core.state().runs_wait(), || format!("{held} frames of {id} are open, not {}", open.len()))?;
    }
    Ok(())
}
