//! `/v1/runs/{run}/patch`, `definition`, `restart`, `skip`, `retry`: a run changed under way. What a change makes of the text is
//! worked out off the writer; whether the run may follow it is the kernel's to say. Nothing is changed by any refusal.

use super::Door;
use super::answer::{Json, No, unexpected};
use super::body::{Body, Named, Params};
use super::node::{body_of, naming, present, revision_at};
use super::said;
use crate::wire::{self, *};
use axum::extract::{RawPathParams, State};
use engine::{Answer, Breach, Engine, Followed, NoChange, Request, Revision, Wanted};
use flow::patch::{Difference, Operations, difference};
use kernel::command::{Command, NewRevision, Reply};
use kernel::ids::{Fence, RunId};
use kernel::ir::Ir;
use kernel::node::NodeState;
use kernel::record::Record;
use kernel::rejection::Rejection;
use kernel::row::NodeRow;
use kernel::run::{NodeAt, Run, RunStatus};
use serde_json::value::RawValue;
use std::sync::Arc;
use store::{Reader, StoreError};

/// How often operations are made anew on a text that somebody else has changed meanwhile.
const TRIES_MAX: u32 = 8;
/// Changes since then that a conflict tells.
const CONFLICT_LINES_MAX: usize = 50;

/// A change of the text of a run.
#[derive(Clone)]
pub struct Asked {
    pub wanted: Wanted,
    expected: Option<u32>,
    pub description: String,
    /// The node whose turn or item alone follows it.
    only: Option<NodeAt>,
    /// The node that asks for it, which has to be there.
    node: Option<NodeAt>,
    /// Nothing is to be changed.
    dry: bool,
}

impl Asked {
    pub fn read(
        run: RunId,
        operations: Option<Box<RawValue>>,
        expected: Option<u32>,
        description: String,
    ) -> Result<Asked, Problem> {
        let operations = operations.map(|raw| Operations::read(raw.get().as_bytes())).transpose();
        let operations = operations.map_err(|error| bad_patch(run, &error, false))?;
        Ok(Asked {
            wanted: Wanted { operations, ..Wanted::default() },
            expected,
            description,
            only: None,
            node: None,
            dry: false,
        })
    }

    /// With another input for a node; if that stands in a turn or an item, for it there and nowhere else.
    fn with(mut self, at: &NodeAt, with: Option<Box<RawValue>>) -> Result<Asked, Problem> {
        let Some(with) = with else { return Ok(self) };
        if !at.frame.is_root() {
            if self.wanted.operations.is_some() {
                let why = format!("`with` is for {} alone, and `operations` are for the whole run", at.show());
                return Err(Problem::new("invalid", why, "send one after the other"));
            }
            self.only = Some(at.clone());
        }
        self.wanted.with = Some((at.node.clone(), with.get().into()));
        Ok(self)
    }
}

/// A text that a run may be asked to follow.
#[derive(Default)]
struct Ready {
    /// None: it is as it was.
    new: Option<Box<NewRevision>>,
    base: u32,
    difference: Difference,
    warnings: Vec<ProblemAt>,
    /// It compiles, and yet it cannot be taken.
    refused: Option<Problem>,
}

/// What comes of the text that the run follows at present.
fn ready(engine: &Engine, id: RunId, asked: &Asked) -> Result<Result<Ready, Problem>, StoreError> {
    let Some(run) = found(engine, id)? else { return Ok(Err(Problem::from(&Rejection::RunNotFound { run: id }))) };
    let refused = |problem: Problem| Ready { base: run.revision(), refused: Some(problem), ..Ready::default() };
    if let Some(expected) = asked.expected.filter(|expected| *expected != run.revision()) {
        return Ok(Ok(refused(conflict(engine, &run, expected)?)));
    }
    let follows = match &asked.only {
        None => run.follows(),
        Some(at) => engine.read(|reader| revision_at(reader, &run, at))?.unwrap_or(run.follows()),
    };
    let Some(base) = engine.definition(&run, Some(follows))? else { return Ok(Err(text_gone(id, follows))) };
    if let Some(at) = &asked.node
        && !engine.read(|reader| is_there(reader, &base.ir, &run, at))?
    {
        return Ok(Err(said::told(engine, id, Rejection::NodeNotFound { at: at.clone() }, "show")?));
    }
    let change = match engine.change(&run, &base, &asked.wanted) {
        Ok(change) => change,
        Err(no @ NoChange::Gone { .. }) => return Ok(Err(no_change(id, &no))),
        Err(no) => return Ok(Ok(refused(no_change(id, &no)))),
    };
    Ok(Ok(Ready {
        new: change
            .revision(run.revision(), &asked.description)
            .map(|new| Box::new(NewRevision { alone: asked.only.is_some(), ..*new })),
        base: run.revision(),
        warnings: change.warnings.iter().map(ProblemAt::from).collect(),
        refused: change.breach.map(|breach| too_far(id, &breach)),
        difference: change.difference,
    }))
}

/// Whether a node is one of the run: by the text that it follows, and in a turn or an item that there is.
fn is_there(reader: &mut dyn Reader, ir: &Ir, run: &Run, at: &NodeAt) -> Result<bool, StoreError> {
    let at = &present(reader, run, at)?.unwrap_or_else(|| at.clone());
    if reader.node(at)?.is_some() {
        return Ok(true);
    }
    let stands = ir.find(&at.node).is_some_and(|node| body_of(ir, &at.frame) == Some(ir.node(node).body));
    let asked = store::NodeQuery { frame: Some(at.frame.clone()), ..store::NodeQuery::of(run.id(), 1) };
    Ok(stands && (at.frame.is_root() || !reader.nodes(&asked)?.is_empty()))
}

/// A text that may not be.
pub fn too_far(run: RunId, breach: &Breach) -> Problem {
    Problem::new("invalid_patch", breach.told(run), breach.fix())
}

/// Why no text came of it.
pub fn no_change(run: RunId, no: &NoChange) -> Problem {
    match no {
        NoChange::Gone { revision } => text_gone(run, *revision),
        NoChange::Failed(error) => bad_patch(run, error, true),
        NoChange::Unfit(problems) => unfit(run, no.told(run), problems),
    }
}

fn found(engine: &Engine, run: RunId) -> Result<Option<Run>, StoreError> {
    let row = engine.read(|reader| reader.run(run))?;
    Ok(row.map(|row| Run::from_row(&row.values)).transpose()?)
}

/// All that is wrong with what would come of it, by its places there.
fn unfit(run: RunId, message: String, problems: &[flow::Problem]) -> Problem {
    let suggestion = problems.first().and_then(|first| first.suggestion.clone());
    let fix =
        suggestion.unwrap_or_else(|| "correct each of `problems`: their places are in the text that would come of it".into());
    let next = NextAction { command: format!("signaller run definition {run}"), description: "the text it follows".to_owned() };
    let problem = Problem::new("invalid_workflow", message, fix).problems(problems.iter().map(ProblemAt::from).collect());
    Problem { next_actions: vec![next], ..problem }
}

fn text_gone(run: RunId, revision: u32) -> Problem {
    let message = NoChange::Gone { revision }.told(run);
    Problem::new("unavailable", message, "look into the server's log; run `signaller verify`")
}

/// Somebody else was first: what it is at now, and what is different.
fn conflict(engine: &Engine, run: &Run, expected: u32) -> Result<Problem, StoreError> {
    let revision = run.revision();
    let problem = Problem::from(&Rejection::RevisionConflict { run: run.id(), expected, revision });
    let mut changes = match (engine.definition(run, Some(expected))?, engine.definition(run, None)?) {
        (Some(old), Some(new)) if expected < revision => lines(&difference(&old.ir, &new.ir)),
        _ => Vec::new(),
    };
    changes.truncate(CONFLICT_LINES_MAX);
    let since = if changes.is_empty() { String::new() } else { format!("; since then: {}", changes.join("; ")) };
    let message = format!("{}{since}", problem.message);
    Ok(Problem { message, revision: Some(revision), changes, ..problem })
}

/// The kernel's word on a change of the text, with what was made of it.
struct Word {
    ready: Ready,
    reply: Result<Reply, Rejection>,
}

/// Makes the change and asks for it, while nobody else changes the text of this run through here. If a bulk was first all the
/// same, it is made again on what that left, unless a revision was expected.
async fn ask(
    door: &Door,
    run: RunId,
    asked: Asked,
    request: impl Fn(Option<Box<NewRevision>>) -> Option<Request>,
) -> Result<Word, No> {
    let asked = Arc::new(asked);
    let _turn = match asked.dry {
        true => None,
        false => Some(door.turns.take(run).await?),
    };
    let mut tries = 0;
    loop {
        tries += 1;
        let theirs = asked.clone();
        let mut ready = door.blocking(move |engine| ready(engine, run, &theirs)).await??;
        if let Some(refused) = ready.refused.clone() {
            let reply = Err(Rejection::Invalid { why: refused.message });
            return Ok(Word { ready, reply });
        }
        let Some(request) = request(ready.new.take()) else {
            return Ok(Word { ready, reply: Ok(Reply::Done) });
        };
        let reply = match door.ask(request).await? {
            Answer::Reply(reply) => reply,
            other => return Err(unexpected(&other)),
        };
        match reply {
            Err(Rejection::RevisionConflict { .. }) if asked.expected.is_none() => {
                if tries == TRIES_MAX {
                    return Err(No(overtaken(run)));
                }
            }
            Err(Rejection::RevisionConflict { expected, .. }) => {
                let told = door.blocking(move |engine| match found(engine, run)? {
                    Some(run) => conflict(engine, &run, expected),
                    None => Ok(Problem::from(&Rejection::RunNotFound { run })),
                });
                return Err(No(told.await?));
            }
            reply => return Ok(Word { ready, reply }),
        }
    }
}

/// Nobody said which revision is meant, so it is no conflict of theirs.
fn overtaken(run: RunId) -> Problem {
    let message = format!("others keep changing the text of {run}; nothing of this was done");
    Problem { retryable: true, ..Problem::new("revision_conflict", message, "send it again") }
}

/// Change the definition that a run follows, now and for what is to come: what has begun in it stays as it is.
#[utoipa::path(post, path = "/v1/runs/{run}/patch", tag = "runs", params(("run" = String, Path)), request_body = RunPatch,
    responses((status = 200, body = RunPatched)))]
pub async fn patch(
    State(door): State<Door>,
    Named(run): Named<RunId>,
    Body(body): Body<RunPatch>,
) -> Result<Json<RunPatched>, No> {
    let RunPatch { operations, expected_revision, description, dry_run, node_id, by, task, fence } = body;
    let mut asked = Asked::read(run, Some(operations), expected_revision, reason("description", description)?)?;
    let node = node_id.as_deref().map(|text| named(run, text)).transpose()?;
    (asked.node, asked.dry) = (node.clone(), dry_run);
    let held = match (task, fence.as_deref().map(Fence::parse)) {
        (None, None) => None,
        (Some(task), Some(Some(fence))) => Some((task, fence)),
        (_, Some(None)) => return Err(Problem::invalid("`fence` is not one that was given with a task").into()),
        _ => return Err(Problem::invalid("`task` and `fence` come together: they are the lease that the worker holds").into()),
    };
    let by = signed_by(by);
    let word = ask(&door, run, asked, |new| {
        Some(match held {
            Some((task, fence)) => Request::PatchHeld { run, new, node: node.clone().map(Box::new), dry: dry_run, task, fence },
            None => Request::Command(Command::PatchRun { run, new: new?, node: node.clone(), dry: dry_run, by: by.clone() }),
        })
    });
    let Word { ready, reply } = word.await?;
    let told = RunPatched::new(run, ready.base, &ready.difference);
    let told = RunPatched { dry_run, warnings: ready.warnings, ..told };
    let refused = match reply {
        Ok(Reply::Patched(patched)) => {
            let keeps = patched.keeps.iter();
            let keeps = keeps.map(|(frame, node)| TextKept { frame: frame.to_string(), node: node.to_string() }).collect();
            let next = patched.next.iter().map(|at| place(&at.frame, &at.node)).collect();
            let (revision, deadline, keeps_total) = (patched.revision, patched.deadline.map(Instant), patched.keeps_total);
            return Ok(Json(RunPatched { revision, deadline, next, keeps, keeps_total, ..told }));
        }
        Ok(Reply::Done) => return Ok(Json(RunPatched { unchanged: true, ..told })),
        Ok(other) => return Err(unexpected(&Answer::Reply(Ok(other)))),
        Err(rejection) => match ready.refused {
            Some(refused) => refused,
            None => door.refuse(run, rejection, "patch").await.0,
        },
    };
    // What is not there, or not the worker's, cannot be told of either.
    if !dry_run || matches!(&*refused.code, "run_not_found" | "lease_lost" | "invalid") {
        return Err(refused.into());
    }
    Ok(Json(RunPatched { refused: Some(refused), ..told }))
}

/// A node of a run, as it is called there.
pub fn named(run: RunId, text: &str) -> Result<NodeAt, Problem> {
    placed(run, text).ok_or_else(|| unknown(run, text))
}

fn unknown(run: RunId, text: &str) -> Problem {
    let shown: String = text.chars().take(80).collect();
    Problem::new("node_not_found", format!("`{shown}` is not a node of {run}"), naming(text))
}

/// How it stands after a command that may have changed its text.
async fn changed(door: &Door, run: RunId, word: Word, verb: &'static str) -> Result<Json<RunNow>, No> {
    let Word { ready, reply } = word;
    if let Some(refused) = ready.refused {
        return Err(refused.into());
    }
    let (run, status, changed) = match reply {
        Ok(Reply::Run { run, status, changed }) => (run, status, changed),
        Ok(other) => return Err(unexpected(&Answer::Reply(Ok(other)))),
        Err(rejection) => return Err(door.refuse(run, rejection, verb).await),
    };
    let found = door.blocking(move |engine| found(engine, run)).await?;
    let some = |count: fn(&Run) -> u32| found.as_ref().map(count).filter(|count| *count > 0);
    let (revision, generation) = (some(Run::revision), some(Run::generation));
    // It may have come to its end with that.
    let status = found.as_ref().map_or(status, Run::status).into();
    let paused = found.as_ref().is_some_and(Run::is_paused);
    Ok(Json(RunNow { paused, revision, generation, ..RunNow::new(run, status, changed) }))
}

/// Without a look at the text when nothing of it is to change.
async fn changing(
    door: &Door,
    run: RunId,
    asked: Asked,
    verb: &'static str,
    request: impl Fn(Option<Box<NewRevision>>) -> Request,
) -> Result<Json<RunNow>, No> {
    let word = if asked.wanted.is_nothing() && asked.expected.is_none() {
        let ready = Ready::default();
        match door.ask(request(None)).await? {
            Answer::Reply(reply) => Word { ready, reply },
            other => return Err(unexpected(&other)),
        }
    } else {
        ask(door, run, asked, |new| Some(request(new))).await?
    };
    changed(door, run, word, verb).await
}

/// Go on with a run that failed or was cancelled: what failed it is tried again, what is done stays done.
#[utoipa::path(post, path = "/v1/runs/{run}/retry", tag = "runs", params(("run" = String, Path)), request_body = RunRetry,
    responses((status = 200, body = RunNow)))]
pub async fn retry(State(door): State<Door>, Named(run): Named<RunId>, Body(body): Body<RunRetry>) -> Result<Json<RunNow>, No> {
    let RunRetry { node, with, operations, expected_revision, reason, by } = body;
    let node = node.as_deref().map(|text| named(run, text)).transpose()?;
    let reason = wire::reason("reason", reason)?;
    let mut asked = Asked::read(run, operations, expected_revision, reason.clone())?;
    asked = match (with, &node) {
        (None, _) => asked,
        (with, Some(at)) => asked.with(at, with)?,
        (Some(_), None) => return Err(Problem::invalid("`with` is of one node: name it in `node`").into()),
    };
    let (node, by) = (node.map(Box::new), signed_by(by));
    changing(&door, run, asked, "retry", |new| {
        Request::Command(Command::RetryRun { run, node: node.clone(), new, reason: reason.clone(), by: by.clone() })
    })
    .await
}

/// Begin anew from a node: it and all that follows from it are undone, what came before stays.
#[utoipa::path(post, path = "/v1/runs/{run}/restart", tag = "runs", params(("run" = String, Path)), request_body = RunRestart,
    responses((status = 200, body = RunNow)))]
pub async fn restart(
    State(door): State<Door>,
    Named(run): Named<RunId>,
    Body(body): Body<RunRestart>,
) -> Result<Json<RunNow>, No> {
    let RunRestart { node, operations, with, expected_revision, reason, by } = body;
    let at = named(run, &node)?;
    let reason = wire::reason("reason", reason)?;
    let asked = Asked::read(run, operations, expected_revision, reason.clone())?.with(&at, with)?;
    let by = signed_by(by);
    changing(&door, run, asked, "restart", |new| {
        Request::Command(Command::RestartRun { at: at.clone(), new, reason: reason.clone(), by: by.clone() })
    })
    .await
}

/// Say what a node gives, instead of its worker: it is done with that, and the run goes on.
#[utoipa::path(post, path = "/v1/runs/{run}/skip", tag = "runs", params(("run" = String, Path)), request_body = RunSkip,
    responses((status = 200, body = RunNow)))]
pub async fn skip(State(door): State<Door>, Named(run): Named<RunId>, Body(body): Body<RunSkip>) -> Result<Json<RunNow>, No> {
    let RunSkip { node, output, reason, by } = body;
    let at = named(run, &node)?;
    let reason = wire::reason("reason", reason)?;
    let output = payload("output", output)?;
    let before = door.blocking(move |engine| found(engine, run)).await?;
    let was = before.map(|run| run.status()).filter(|status| *status != RunStatus::Running);
    let command = Command::SkipNode { at, output, reason, by: signed_by(by) };
    let reply = match door.ask(Request::Command(command)).await? {
        // Of a run that has ended the kernel asks whether it could be tried again.
        Answer::Reply(Err(Rejection::NodeSettled { at, status })) => Err(Rejection::NotToSkip { at, status }),
        Answer::Reply(reply) => reply,
        other => return Err(unexpected(&other)),
    };
    let Json(now) = changed(&door, run, Word { ready: Ready::default(), reply }, "skip").await?;
    Ok(Json(RunNow { was: was.map(Into::into), ..now }))
}

/// Do one node once more: one that failed its run is tried again, another begins anew with all that follows from it.
#[utoipa::path(post, path = "/v1/runs/{run}/nodes/{node}/replay", tag = "runs",
    params(("run" = String, Path), ("node" = String, Path)), request_body = NodeReplay,
    responses((status = 200, body = RunNow)))]
pub async fn replay_node(
    State(door): State<Door>,
    Named(run): Named<RunId>,
    path: RawPathParams,
    Body(body): Body<NodeReplay>,
) -> Result<Json<RunNow>, No> {
    let node = path.iter().find(|(name, _)| *name == "node").map_or("", |(_, node)| node).to_owned();
    let NodeReplay { config: with, force_replay, reason, by } = body;
    let at = named(run, &node)?;
    let theirs = at.clone();
    let stands = door.blocking(move |engine| {
        let Some(run) = found(engine, run)? else { return Ok(None) };
        let theirs = engine.read(|reader| present(reader, &run, &theirs))?.unwrap_or(theirs);
        let row = engine.read(|reader| reader.node(&theirs))?;
        let state = row.map(|row| NodeRow::from_row(&row.values)).transpose()?.map(|row| row.slot.state().clone());
        Ok(Some((run.status(), state)))
    });
    let Some((status, state)) = stands.await? else { return Err(Rejection::RunNotFound { run }.into()) };
    let short = matches!(state, Some(NodeState::Failed { .. } | NodeState::Cancelled));
    if short && matches!(status, RunStatus::Failed | RunStatus::Cancelled) {
        let body = RunRetry { node: Some(node), with, reason, by, ..RunRetry::default() };
        return retry(State(door), Named(run), Body(body)).await;
    }
    if !force_replay {
        let state = state.map_or("waiting", |state| state.as_str());
        let message = format!("{} is {state}, and did not fail its run: to do it once more undoes all that follows", at.show());
        let fix = "send it with `force_replay: true` if that is what you want";
        return Err(Problem::new("wrong_state", message, fix).into());
    }
    let body = RunRestart { node, operations: None, with, expected_revision: None, reason, by };
    restart(State(door), Named(run), Body(body)).await
}

/// The text that a run follows, or followed in an earlier revision, and what is different since the one before.
#[utoipa::path(get, path = "/v1/runs/{run}/definition", tag = "runs", operation_id = "definition", params(("run" = String, Path), DefinitionQuery),
    responses((status = 200, body = RunDefinition)))]
pub async fn definition_of(
    State(door): State<Door>,
    Named(run): Named<RunId>,
    Params(query): Params<DefinitionQuery>,
) -> Result<Json<RunDefinition>, No> {
    let told = door.blocking(move |engine| {
        let Some(run) = found(engine, run)? else { return Ok(Err(Problem::from(&Rejection::RunNotFound { run }))) };
        let newest = run.revision();
        let revision = query.revision.unwrap_or(run.follows());
        let since = query.since.or(run.before(revision));
        if let Some(asked) = [Some(revision), since].into_iter().flatten().find(|asked| *asked > newest) {
            let message = format!("{} has no revision {asked}: it is at {newest}", run.id());
            return Ok(Err(Problem::new("not_found", message, format!("ask for one from 0 to {newest}"))));
        }
        let Some(followed) = engine.definition(&run, Some(revision))? else { return Ok(Err(text_gone(run.id(), revision))) };
        let before = since.map(|since| engine.definition(&run, Some(since))).transpose()?.flatten();
        let changes = before.map(|before| lines(&difference(&before.ir, &followed.ir))).unwrap_or_default();
        let spec = run.spec();
        let mut told = RunDefinition {
            run: run.id(),
            workflow: spec.workflow.clone(),
            version: spec.version,
            revision,
            newest,
            text: followed.text.to_string(),
            at: None,
            by: None,
            description: None,
            node: None,
            operations: None,
            since,
            changes,
        };
        if let Some(record) = run.patch(revision)
            && let Some(entry) = engine.read(|reader| reader.history(record, 1))?.pop()
            && let Record::RunPatched { description, node, by, .. } = entry.record
        {
            let payload = engine.content(entry.payload)?;
            told.at = Some(entry.at.into());
            told.by = Some(by);
            told.description = Some(description).filter(|text| !text.is_empty());
            told.node = node.map(|at| place(&at.frame, &at.node));
            told.operations = payload.as_ref().and_then(Revision::read).and_then(|read| read.operations);
        }
        Ok(Ok(told))
    });
    Ok(Json(told.await??))
}

/// What each patch among these records changed, in its own words.
pub fn tell_patches(engine: &Engine, run: &Run, records: &mut [RecordView]) -> Result<(), StoreError> {
    let mut before: Option<Followed> = None;
    for record in records {
        if record.owner != run.id().to_string() {
            continue;
        }
        let RecordBody::RunPatched { revision, changes, .. } = &mut record.record else { continue };
        let since = run.before(*revision).unwrap_or_default();
        let old = match before.take().filter(|known| known.revision == since) {
            Some(known) => Some(known),
            None => engine.definition(run, Some(since))?,
        };
        let new = engine.definition(run, Some(*revision))?;
        if let (Some(old), Some(new)) = (&old, &new) {
            *changes = lines(&difference(&old.ir, &new.ir));
        }
        before = new;
    }
    Ok(())
}
