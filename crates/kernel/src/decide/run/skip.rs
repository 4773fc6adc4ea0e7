//! Skip a node: somebody says what it gives, and it is done with that. One that is under way is stopped; one that failed its run
//! is not tried again, but whatever else had stopped short with it is.

use super::{found, retry};
use crate::command::Reply;
use crate::decide::walk;
use crate::ir::{NodeKind, OnError};
use crate::names::Actor;
use crate::node::NodeState;
use crate::record::{Payload, Record};
use crate::rejection::Rejection;
use crate::run::{NodeAt, RunStatus};
use crate::runs::Spot;
use crate::step::Step;

pub(in crate::decide) fn decide(
    step: &mut Step<'_>,
    at: &NodeAt,
    output: &Payload,
    reason: &str,
    by: &Actor,
) -> Result<Reply, Rejection> {
    let run = at.run;
    let live = found(step, run)?;
    let unknown = || Rejection::NodeNotFound { at: at.clone() };
    let path = live.present(&at.frame).ok_or_else(unknown)?;
    let at = &NodeAt { frame: path.clone(), ..at.clone() };
    let frame = live.frame(&path).ok_or_else(unknown)?;
    let node = frame.find(&at.node).filter(|_| !frame.nodes.is_empty()).ok_or_else(unknown)?;
    if matches!(frame.ir.node(node).kind, NodeKind::Branch { .. } | NodeKind::Route { .. }) {
        let why = format!("{} chooses a way, and an output does not say which: patch its rules instead", at.show());
        return Err(Rejection::Invalid { why });
    }
    // No way around those who are asked.
    super::asked(frame, node, at, by)?;
    let state = frame.node(node).clone();
    match live.run.status {
        RunStatus::Running => {
            let settled = state.ended().is_some() || !live.is_wanted(&path);
            if settled {
                return Err(Rejection::NotToSkip { at: at.clone(), status: state.as_str() });
            }
            if let NodeState::Started { at, .. } = &state {
                walk::withdraw(step, at, by, "somebody said what it gives");
            }
        }
        RunStatus::Done => return Err(Rejection::RunEnded { run, status: RunStatus::Done, verb: "skip" }),
        RunStatus::Failed | RunStatus::Cancelled => {
            // All of it that a retry would refuse is refused there.
            retry::decide(step, run, Some(at), None, reason, by)?;
            others(step, at, by);
        }
    }
    // What is taken up again may follow another text, in which it has another number.
    let changed = Reply::Run { run, status: RunStatus::Running, changed: true };
    let Some(node) = found(step, run)?.find(&path, &at.node) else { return Ok(changed) };
    let spot = Spot { run, frame: path.clone(), node };
    let record = Record::NodeSet { reason: reason.to_owned(), by: by.clone() };
    step.record_node(&spot, record, Some(output.clone()));
    walk::ended(step, &spot);
    Ok(changed)
}

/// What had failed beside it, in its frame and in those around it, is tried again.
fn others(step: &mut Step<'_>, at: &NodeAt, by: &Actor) {
    let mut path = at.frame.clone();
    loop {
        let live = step.state().runs.get(at.run).expect("it was reopened");
        let frame = live.frame(&path).expect("it was reopened");
        let nodes = frame.ir.body(frame.body).nodes.iter().filter(|node| {
            let failed = matches!(frame.node(**node), NodeState::Failed { then: OnError::Fail, .. });
            failed && (path != at.frame || frame.ir.node(**node).id != at.node)
        });
        let spots: Vec<Spot> = nodes.map(|node| Spot { run: at.run, frame: path.clone(), node: *node }).collect();
        for spot in spots {
            retry::again(step, &spot, None, by);
        }
        match path.up() {
            Some((above, ..)) => path = above,
            None => return,
        }
    }
}
