//! `/v1/runs/{run}/fork`: a new run from how another was. It is made ready here, off the writer.

use super::Door;
use super::answer::{Json, No, unexpected};
use super::body::{Body, Named};
use super::change::{Asked, named, no_change, too_far};
use super::replay::{no_replay, then};
use super::runs::{misfit, now};
use crate::wire::{self, *};
use axum::extract::State;
use axum::http::StatusCode;
use engine::{Answer, Forked, Forking, NoFork};
use flow::input::InputSchema;
use kernel::command::{Command, NewFork, Reply};
use kernel::ids::RunId;
use kernel::rejection::Rejection;
use kernel::run::RunSpec;
use std::sync::Arc;

/// Start a new run from how another was after any of its records, or from before any of its nodes.
#[utoipa::path(post, path = "/v1/runs/{run}/fork", tag = "runs", params(("run" = String, Path)), request_body = RunFork,
    responses((status = 201, body = RunForked),
        (status = 200, body = RunForked, description = "the idempotency key was used before, or it was a dry run")))]
pub async fn fork(
    State(door): State<Door>,
    Named(run): Named<RunId>,
    Body(body): Body<RunFork>,
) -> Result<(StatusCode, Json<RunForked>), No> {
    let RunFork { at, node, input, operations, with, description, dry_run, by, .. } = body.clone();
    let at = then(at.as_deref())?;
    let node = node.as_deref().map(|text| named(run, text)).transpose()?;
    let Asked { mut wanted, description, .. } = Asked::read(run, operations, None, wire::reason("description", description)?)?;
    wanted.with = match (with, &node) {
        (None, _) => None,
        (Some(_), Some(at)) if !at.frame.is_root() => {
            let message = format!("`with` would be for {} in every turn and item of the new run", at.node);
            let fix = "say so with `operations`, or fork it as it is and restart that node with `with`, which is for it alone";
            return Err(Problem::new("invalid", message, fix).into());
        }
        (Some(with), Some(at)) => Some((at.node.clone(), with.get().into())),
        (Some(_), None) => return Err(Problem::invalid("`with` is of one node: name it in `node`").into()),
    };
    let input = input.map(|input| payload("input", Some(input))).transpose()?;
    let spec = body.spec()?;
    let forking = Forking { run, at, node, wanted, description };
    let schemas = door.inputs.clone();
    let made = door.blocking(move |engine| {
        let mut forked = match engine.fork(&forking)? {
            Ok(forked) => forked,
            Err(no) => return Ok(Err(refused(&forking, no))),
        };
        let new = &mut forked.fork.new;
        new.spec = spec(new.spec.clone());
        if let Some(input) = input {
            let version = new.spec.version;
            let texts = forked.fork.change.as_ref().or(forked.fork.texts.last());
            // A text of its own may ask for another input than its version.
            let schema = match texts.map(|text| text.ir.clone()) {
                Some(ir) => {
                    ir.input_schema.as_deref().map(|schema| InputSchema::new(schema).map(Arc::new).map_err(|why| why.message))
                }
                None => {
                    let ir = engine.workflow(&new.workflow, Some(version))?.map(|(_, ir)| ir);
                    let schema = ir.as_ref().and_then(|ir| ir.input_schema.as_deref());
                    schema.map(|schema| schemas.get(&new.workflow, version, schema))
                }
            };
            if let Some(problem) = schema.and_then(|schema| misfit(schema, &new.workflow, version, &input)) {
                return Ok(Err(problem));
            }
            new.input = input;
        }
        Ok(Ok(forked))
    });
    let Forked { fork, run: other, origin, change, kept, anew, holds: _holds } = made.await??;
    let mut told = RunForked {
        run: None,
        duplicate: false,
        dry_run,
        origin: RunOrigin::from(&origin),
        base: other.follows(),
        revision: revision(&fork),
        kept: kept.iter().map(ToString::to_string).collect(),
        anew: anew.iter().map(|at| place(&at.frame, &at.node)).collect(),
        changes: lines(&change.difference),
        warnings: change.warnings.iter().map(ProblemAt::from).collect(),
    };
    if dry_run {
        return Ok((StatusCode::OK, Json(told)));
    }
    match door.command(Command::ForkRun { fork: Box::new(fork), by: signed_by(by) }).await? {
        Reply::Started { run, duplicate } => {
            (told.run, told.duplicate) = (Some(run), duplicate);
            Ok((if duplicate { StatusCode::OK } else { StatusCode::CREATED }, Json(told)))
        }
        other => Err(unexpected(&Answer::Reply(Ok(other)))),
    }
}

fn revision(fork: &NewFork) -> u32 {
    (fork.texts.len() + usize::from(fork.change.is_some())) as u32
}

impl RunFork {
    /// What the new run is told to be: the other's, where nothing is said.
    fn spec(self) -> Result<impl FnOnce(RunSpec) -> RunSpec, Problem> {
        let RunFork { idempotency_key, priority, tags, deadline, deadline_ms, .. } = self;
        let tags = tags.map(run_tags).transpose()?;
        let deadline = run_deadline(deadline, deadline_ms, now())?;
        Ok(move |other: RunSpec| RunSpec {
            idempotency_key,
            deadline,
            priority: priority.map(|priority| priority.0).or(other.priority),
            tags: tags.unwrap_or(other.tags),
            ..other
        })
    }
}

fn refused(forking: &Forking, no: NoFork) -> Problem {
    let run = forking.run;
    let next =
        |command: String, what: &str| vec![NextAction { command: format!("signaller {command}"), description: what.to_owned() }];
    match no {
        NoFork::Replay(no) => no_replay(run, forking.at, no),
        NoFork::Broken { at } => {
            let message = format!("the history of {run} is not whole: r{} does not follow what is known", at.0);
            let fix = "fork it from an earlier record, or start it anew";
            Problem {
                next_actions: next(format!("run replay {run}"), "how far it can be told"),
                ..Problem::new("history_gone", message, fix)
            }
        }
        NoFork::Value { of: Some(of), record } => {
            let message = format!("what {of} gave is gone: r{} does not hold it any more", record.0);
            let fix = format!("fork from before it, so that it is done again: run fork {run}/{of}");
            Problem {
                next_actions: next(format!("run fork {run}/{of}"), "from before it"),
                ..Problem::new("history_gone", message, fix)
            }
        }
        NoFork::Value { of: None, record } => {
            let message = format!("the input of {run} is gone: r{} does not hold it any more", record.0);
            Problem::new("history_gone", message, "start a run with an input of its own")
        }
        NoFork::Change { why, .. } => no_change(run, &why),
        NoFork::Breach(breach) => too_far(run, &breach),
        NoFork::Refused(rejection) => {
            let problem = Problem::from(&rejection);
            match &rejection {
                Rejection::Frozen { at, .. } => {
                    let node = place(&at.frame, &at.node);
                    let next_actions = next(format!("run fork {run}/{node}"), "from before it, where it may be another");
                    Problem { fix: format!("fork from before {node}, or leave it as it is"), next_actions, ..problem }
                }
                Rejection::NotBegun { at } => {
                    let message = format!("{} had not begun by then: the new run comes to it by itself", at.show());
                    let fix = "leave the node out, or fork from a later record";
                    Problem {
                        message,
                        fix: fix.to_owned(),
                        next_actions: next(format!("run trace {run}"), "its records"),
                        ..problem
                    }
                }
                _ => problem,
            }
        }
    }
}
