//! Frames of loops and eaches: opened in order and as many as may be at once, closed when all in them has ended.

use super::{Check, Scene, ensure};
use crate::model::runs::{self, FrameState, NodeState, body_of};
use kernel::frame::FramePath;
use kernel::ids::RunId;
use kernel::ir::NodeKind;
use kernel::node::{Started, Went};
use kernel::record::{Entry, Owner, Record};

pub fn opened(scene: &Scene<'_>, entry: &Entry) -> Check {
    let (Owner::Frame(id, path), Record::FrameOpened { .. } | Record::FrameReopened { .. }) = (&entry.owner, &entry.record)
    else {
        return Ok(());
    };
    let runs = &scene.model.runs;
    let (above, node, index) = path.up().ok_or("the root was opened")?;
    let at = runs::at(*id, &above, node);
    let Some(ir) = runs.ir(*id, &above) else { return Err(format!("a frame of {id}, which is not there")) };
    let Some(kind) = ir.find(node).map(|node| &ir.node(node).kind) else { return Err(format!("no node {node}")) };
    let frames: Vec<FrameState> = runs.below(&at).map(|(_, frame)| frame.state).collect();
    let open = frames.iter().filter(|state| **state == FrameState::Open).count();
    if matches!(entry.record, Record::FrameReopened { .. }) {
        let room = if let NodeKind::Each { concurrency, .. } = kind { *concurrency as usize } else { 1 };
        return ensure(open < room, || format!("{} took up frame {index} beside {open} others", at.show()));
    }
    ensure(frames.len() == index as usize, || format!("frame {index} of {} after {}", at.show(), frames.len()))?;
    let fits = match (kind, runs.node(&at)) {
        (NodeKind::Loop { iterations_max, .. }, NodeState::Started(Started::Turning { .. })) => {
            index < *iterations_max && frames.last().is_none_or(|state| *state == FrameState::Done)
        }
        (NodeKind::Each { concurrency, .. }, NodeState::Started(Started::Spreading { count, .. })) => {
            index < *count && open < *concurrency as usize
        }
        _ => false,
    };
    ensure(fits, || format!("{} opened frame {index} with {frames:?}, being {:?}", at.show(), runs.node(&at)))
}

pub fn closed(scene: &Scene<'_>, entry: &Entry) -> Check {
    let root = FramePath::root();
    match (&entry.owner, &entry.record) {
        (Owner::Run(id), Record::RunDone { .. }) => all_over(scene, *id, &root),
        (Owner::Frame(id, path), Record::FrameDone { .. }) => all_over(scene, *id, path),
        (Owner::Node(at), Record::NodeDone { went, .. }) => {
            let states = scene.model.runs.below(at).map(|(_, frame)| frame.state);
            match scene.model.runs.node(at) {
                NodeState::Started(Started::Turning { .. }) => {
                    let turned = states.last() == Some(FrameState::Done);
                    ensure(turned && matches!(went, Went::Done | Went::Max), || {
                        format!("{} is done with an open turn", at.show())
                    })
                }
                NodeState::Started(Started::Spreading { count, .. }) => {
                    let over = states.filter(|state| matches!(state, FrameState::Done | FrameState::Failed)).count();
                    ensure(over == *count as usize, || format!("{} is done after {over} of {count} items", at.show()))
                }
                _ => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

fn all_over(scene: &Scene<'_>, id: RunId, path: &FramePath) -> Check {
    let runs = &scene.model.runs;
    let Some(ir) = runs.ir(id, path) else { return Err(format!("{id} ended and is not there")) };
    let body = body_of(ir, path).ok_or_else(|| format!("{id} has no frame {path}"))?;
    for node in &ir.body(body).nodes {
        let at = runs::at(id, path, &ir.node(*node).id);
        ensure(runs.node(&at).is_over(), || format!("`{path}` of {id} closed while {} is {:?}", at.show(), runs.node(&at)))?;
    }
    Ok(())
}
