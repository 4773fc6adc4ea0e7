//! What is said of a "no" beyond what the kernel knows: where a node stands that was not found, whether one that has begun is in its
//! queue, and which run a called one hangs on.

use super::Door;
use super::answer::No;
use super::node::{at_work, inside, task_of};
use crate::wire::*;
use engine::Engine;
use kernel::ids::RunId;
use kernel::rejection::Rejection;
use kernel::row::NodeRow;
use kernel::run::{NodeAt, Run};
use store::{Reader, StoreError};

impl Door {
    /// `verb`: the command that was refused, such as `restart`.
    pub async fn refuse(&self, run: RunId, rejection: Rejection, verb: &'static str) -> No {
        match self.blocking(move |engine| told(engine, run, rejection, verb)).await {
            Ok(problem) => No(problem),
            Err(no) => no,
        }
    }
}

/// Never fails for what only helps: then it is told as the kernel says it.
pub fn told(engine: &Engine, run: RunId, rejection: Rejection, verb: &'static str) -> Result<Problem, StoreError> {
    let problem = Problem::from(&rejection);
    let Some(found) = engine.read(|reader| reader.run(run))?.map(|row| Run::from_row(&row.values)).transpose()? else {
        return Ok(problem);
    };
    Ok(match rejection {
        Rejection::NodeNotFound { at } => {
            let ir = engine.definition(&found, None)?.map(|followed| followed.ir);
            inside(ir.as_deref(), &at, problem, verb)
        }
        Rejection::Frozen { at, status: "running", frozen } if engine.read(|reader| is_queued(reader, &at))? => {
            Problem::from(&Rejection::Frozen { at, status: NodeStatus::Queued.as_str(), frozen })
        }
        Rejection::Invalid { why } if matches!(verb, "restart" | "retry" | "skip") => match &found.spec().parent {
            Some(parent) => called(parent, verb, why),
            None => problem,
        },
        _ => problem,
    })
}

/// As it is shown, whoever looks at the run.
fn is_queued(reader: &mut dyn Reader, at: &NodeAt) -> Result<bool, StoreError> {
    let Some(row) = reader.node(at)?.map(|row| NodeRow::from_row(&row.values)).transpose()? else { return Ok(false) };
    let mut view = NodeView::new(&row, None);
    at_work(&mut |task| task_of(reader, task), [&mut view])?;
    Ok(view.status == NodeStatus::Queued)
}

/// One that was called and has ended goes on with its caller.
fn called(parent: &NodeAt, verb: &str, why: String) -> Problem {
    let caller = parent.run;
    let (command, what, fix) = match verb {
        "restart" => (
            format!("run restart {}", parent.show()),
            "call it anew",
            format!("restart {caller} from {}, the node that called it", place(&parent.frame, &parent.node)),
        ),
        _ => (
            format!("run retry {caller}"),
            "go on from where it stopped, with what it called",
            format!("retry {caller}, which called it: this run goes on with it"),
        ),
    };
    let next = NextAction { command: format!("signaller {command}"), description: what.to_owned() };
    Problem { next_actions: vec![next], ..Problem::new("invalid", why, fix) }
}
