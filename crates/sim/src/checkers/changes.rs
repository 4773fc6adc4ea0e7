//! What people change in a run: only what they asked for, and nothing that has begun.

use super::{Check, Scene, ensure};
use crate::catalogue;
use crate::model::runs::{self, FrameState, NodeState, body_of};
use engine::{Answer, Request};
use kernel::bulk::Meant;
use kernel::command::{Command, NewRevision, Reply};
use kernel::frame::FramePath;
use kernel::frozen;
use kernel::ids::RunId;
use kernel::ir::{EdgeIx, Ir, NodeIx, On, OnError};
use kernel::names::NodeId;
use kernel::record::{Entry, Owner, Payload, Record};
use std::collections::BTreeSet;

pub fn asked(scene: &Scene<'_>, entry: &Entry) -> Check {
    let asks = |command: &Command| match (&entry.owner, &entry.record, command) {
        (Owner::Run(id), Record::RunPatched { .. }, command) => carried(command).into_iter().any(|(run, new)| {
            let same = entry.payload.as_ref().is_some_and(|payload| is_same(payload, &new.payload));
            run == *id && same && new.base + 1 == revision(&entry.record)
        }),
        (Owner::Run(id), Record::RunRestarted { node, .. }, Command::RestartRun { at, .. }) => {
            at.run == *id && at.node == node.node
        }
        (Owner::Node(set), Record::NodeSet { .. }, Command::SkipNode { at, .. }) => at.run == set.run && at.node == set.node,
        _ => false,
    };
    let is_change = matches!(entry.record, Record::RunPatched { .. } | Record::RunRestarted { .. } | Record::NodeSet { .. });
    ensure(!is_change || scene.turn.commands().any(asks), || {
        format!("{} of {} was not asked for", entry.record.kind(), entry.owner)
    })
}

fn revision(record: &Record) -> u32 {
    if let Record::RunPatched { revision, .. } = record { *revision } else { 0 }
}

/// The texts that a command brings for runs.
fn carried(command: &Command) -> Vec<(RunId, &NewRevision)> {
    match command {
        Command::PatchRun { run, new, dry: false, .. } => vec![(*run, new)],
        Command::RetryRun { run, new: Some(new), .. } => vec![(*run, new)],
        Command::RestartRun { at, new: Some(new), .. } => vec![(at.run, new)],
        Command::AdvanceBulk { runs, .. } => {
            let revised = |meant| if let &Meant::Revised(run, ref new) = meant { Some((run, &**new)) } else { None };
            runs.iter().filter_map(revised).collect()
        }
        _ => Vec::new(),
    }
}

/// In a record a long one is a blob.
fn is_same(recorded: &Payload, sent: &Payload) -> bool {
    let text = |payload| catalogue::changed(payload).map(|text| text.json.clone());
    recorded == sent || text(recorded) == text(sent)
}

/// One yes, one record.
pub fn answered(scene: &Scene<'_>) -> Check {
    let turn = scene.turn;
    if turn.reloaded {
        return Ok(());
    }
    let taken = |fits: &dyn Fn(&Command) -> bool| {
        let yes = |answer: &Answer| matches!(answer, Answer::Reply(Ok(_)));
        let command = |ticket| if let Some(Request::Command(command)) = turn.request(ticket) { Some(command) } else { None };
        turn.answers.iter().filter(|(ticket, answer)| yes(answer) && command(*ticket).is_some_and(fits)).count()
    };
    // A bulk says how many of those that it brings texts for have taken them.
    let by_bulks = turn.answers.iter().filter_map(|(ticket, answer)| match (answer, turn.request(*ticket)) {
        (Answer::Reply(Ok(Reply::Items { changed, .. })), Some(Request::Command(command @ Command::AdvanceBulk { .. }))) => {
            Some(*changed).filter(|_| !carried(command).is_empty())
        }
        _ => None,
    });
    let by_bulks: usize = by_bulks.sum();
    let is_one = |command: &Command| !matches!(command, Command::AdvanceBulk { .. }) && !carried(command).is_empty();
    let written = |kind: &str| turn.entries.iter().filter(|entry| entry.record.kind() == kind).count();
    let counts = [
        ("run_patched", taken(&is_one) + by_bulks),
        ("run_restarted", taken(&|command| matches!(command, Command::RestartRun { .. }))),
        ("node_set", taken(&|command| matches!(command, Command::SkipNode { .. }))),
    ];
    for (kind, taken) in counts {
        ensure(written(kind) == taken, || format!("{taken} were told yes, and {} records are {kind}", written(kind)))?;
    }
    Ok(())
}

/// What was undone is stopped at once, or chunk by chunk.
pub fn stopped(scene: &Scene<'_>) -> Check {
    if scene.turn.reloaded || scene.core.is_none_or(|core| core.state().runs_wait()) {
        return Ok(());
    }
    let runs = &scene.model.runs;
    for (id, _) in runs.live().filter(|(_, run)| !run.deleting && (run.generation > 0 || run.revision() > 0)) {
        let undone: BTreeSet<&FramePath> =
            runs.frames_of(id).map(|(path, _)| path).filter(|path| runs.is_undone(id, path)).collect();
        let open = undone.iter().find(|path| runs.frames[&(id, (**path).clone())].state == FrameState::Open);
        ensure(open.is_none(), || format!("`{open:?}` of {id} was undone and is open"))?;
        let busy = runs.nodes_of(id).find(|(at, node)| matches!(node.state, NodeState::Started(_)) && undone.contains(&at.frame));
        ensure(busy.is_none(), || format!("{busy:?} was undone and goes on"))?;
    }
    Ok(())
}

/// A node that has begun keeps its own text and what leads to it as long as its frame goes on; one that has ended also keeps what
/// it leads to.
pub fn frozen(scene: &Scene<'_>, entry: &Entry) -> Check {
    let runs = &scene.model.runs;
    let (id, path, new) = match (&entry.owner, &entry.record) {
        (Owner::Run(id), Record::RunPatched { .. }) => {
            let text = entry.payload.as_ref().and_then(catalogue::changed).ok_or("a text that nobody thought of")?;
            (*id, FramePath::root(), text.ir.clone())
        }
        (Owner::Frame(id, path), Record::FramePatched { revision } | Record::FrameReopened { revision }) => {
            let text = runs.runs.get(id).and_then(|run| run.texts.get(*revision as usize));
            (*id, path.clone(), text.ok_or_else(|| format!("{id} has no revision {revision}"))?.ir.clone())
        }
        _ => return Ok(()),
    };
    let Some(old) = runs.ir(id, &path) else { return Err(format!("{} of {id}, which has no `{path}`", entry.record.kind())) };
    let (Some(body), Some(after)) = (body_of(old, &path), body_of(&new, &path)) else {
        return Err(format!("`{path}` of {id} follows a text in which it is not"));
    };
    for node in &old.body(body).nodes {
        let at = runs::at(id, &path, &old.node(*node).id);
        let state = runs.node(&at);
        // What stopped short begins anew with its run, unless it only goes on.
        let short = matches!(state, NodeState::Failed(OnError::Fail) | NodeState::Cancelled);
        let anew = short && runs.nodes.get(&at).and_then(|node| node.work()).is_none_or(|work| work.again(false).is_none());
        if *state == NodeState::Waiting || anew {
            continue;
        }
        let other = new.find(&at.node).filter(|other| new.node(*other).body == after);
        let other = other.ok_or_else(|| format!("{} is {state:?} and was taken out", at.show()))?;
        let changed = frozen::changed(old, *node, &new, other);
        ensure(changed.is_none(), || format!("{} is {state:?}, and its `{changed:?}` was changed", at.show()))?;
        let (before, after) = (old.node(*node), new.node(other));
        ensure(ends(old, &before.ins, false) == ends(&new, &after.ins, false), || {
            format!("{} is {state:?}, and what leads to it was changed", at.show())
        })?;
        let outs = ends(old, &before.outs, true) == ends(&new, &after.outs, true);
        ensure(outs || !state.is_over(), || format!("{} is {state:?}, and what it leads to was changed", at.show()))?;
    }
    Ok(())
}

/// The other ends of edges, and on what they go.
fn ends(ir: &Ir, edges: &[EdgeIx], out: bool) -> BTreeSet<(NodeId, String)> {
    let other = |edge: EdgeIx| -> (NodeIx, On) {
        let edge = ir.edge(edge);
        (if out { edge.to } else { edge.from }, edge.on)
    };
    edges.iter().map(|edge| other(*edge)).map(|(node, on)| (ir.node(node).id.clone(), format!("{on:?}"))).collect()
}
