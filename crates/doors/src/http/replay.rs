//! `/v1/runs/{run}/replay`: a run as it was after one of its records. It is read and folded, and nothing is asked of the writer.

use super::Door;
use super::answer::{Json, No};
use super::body::{Named, Params};
use super::explain::{ended, first_of};
use super::node::Frames;
use super::run::Standing;
use super::texts::Texts;
use super::values::legible;
use crate::wire::{self, *};
use axum::extract::State;
use engine::{At, Engine, NoReplay, Replayed};
use kernel::frame::Token;
use kernel::ids::{RecordSeq, RunId};
use kernel::ir::{Ir, NodeKind};
use kernel::node::{NodeState, Output};
use kernel::record::Owner;
use kernel::rejection::Rejection;
use kernel::run::{NodeAt, ValueAt};
use kernel::time::Time;
use std::collections::HashMap;
use std::sync::Arc;
use store::StoreError;

/// Tokens and open frames that are listed.
const LISTED_MAX: usize = 1_000;
/// Parts whose histories are not whole, and that are told one by one.
const LOST_MAX: usize = 20;

/// Show a run as it was after one of its records, or at an instant.
#[utoipa::path(get, path = "/v1/runs/{run}/replay", tag = "runs", params(("run" = String, Path), ReplayQuery),
    responses((status = 200, body = RunReplay)))]
pub async fn replay(
    State(door): State<Door>,
    Named(run): Named<RunId>,
    Params(query): Params<ReplayQuery>,
) -> Result<Json<RunReplay>, No> {
    let limit = page_limit(Some(query.nodes.unwrap_or(RUN_NODES_DEFAULT)))?;
    let at = then(query.at.as_deref())?;
    let found = door.blocking(move |engine| match engine.replay(run, at)? {
        Ok(replayed) => Shown { engine, run, at, replayed: &replayed, unread: Vec::new() }.whole(limit, query.output).map(Ok),
        Err(no) => Ok(Err(no_replay(run, at, no))),
    });
    Ok(Json(found.await??))
}

/// The moment that is asked for.
pub fn then(at: Option<&str>) -> Result<At, Problem> {
    Ok(match at.map(Moment::parse).transpose()? {
        None | Some(Moment::End) => At::End,
        Some(Moment::Start) => At::Start,
        Some(Moment::Record(seq)) => At::Record(seq),
        Some(Moment::Time(time)) => At::Time(time),
    })
}

/// Why there is nothing of it to look back at.
pub fn no_replay(run: RunId, at: At, no: NoReplay) -> Problem {
    let next = |command: String, what: &str| vec![NextAction { command, description: what.to_owned() }];
    match no {
        NoReplay::Unknown => Problem::from(&Rejection::RunNotFound { run }),
        NoReplay::NotBegun { first } => {
            let (seq, began) = (Cursor(first.seq), Instant(first.at));
            let asked = match at {
                At::Record(asked) => format!("r{}", asked.0),
                At::Time(asked) => Instant(asked).to_string(),
                At::Start | At::End => "that".to_owned(),
            };
            let message = format!("{run} began with {seq} at {began}; at {asked} there was nothing of it");
            let next_actions = next(format!("signaller run replay {run} --at {seq}"), "how it began");
            Problem { next_actions, ..Problem::new("invalid", message, format!("ask for {seq} or later")) }
        }
        NoReplay::NoBeginning { first } => {
            let left = first.map_or_else(
                || "nothing of it is recorded any more".to_owned(),
                |first| format!("what is left begins with r{} at {}", first.seq.0, Instant(first.at)),
            );
            let message = format!("the history of {run} does not reach back to its start: {left}");
            let next_actions = next(format!("signaller run show {run}"), "how it stands now");
            let fix = "it cannot be replayed; show how it stands now, or look at what is left with `run trace`";
            Problem { next_actions, ..Problem::new("history_gone", message, fix) }
        }
    }
}

struct Shown<'a> {
    engine: &'a Engine,
    run: RunId,
    at: At,
    replayed: &'a Replayed,
    unread: Vec<Unread>,
}

impl Shown<'_> {
    fn whole(mut self, nodes_max: usize, with_outputs: bool) -> Result<RunReplay, StoreError> {
        let Replayed { then, entry, first, last, before, after, place, count, garbled } = self.replayed;
        let lost_run = || StoreError::Failed(format!("{} is not what its records make", self.run));
        let (live, standing) = then.live().zip(Standing::then(then)).ok_or_else(lost_run)?;
        let ir = live.ir().clone();
        let mut texts = Texts::then(live);
        texts.look_for(self.engine, &standing.run, standing.nodes.iter().map(|row| &row.at))?;
        let mut run = standing.view(&texts, nodes_max, &mut |task| Ok(then.task(task).cloned()))?;
        let time = self.seen_from(run.ended_at.is_none());
        let mut explanation = match run.status {
            wire::RunStatus::Running => then.explain(time).map(|told| RunExplanation::from(&told)).ok_or_else(lost_run)?,
            _ => ended(&run, first_of(&run, &standing.nodes)),
        };
        explanation.next_actions = self.next_actions(&explanation);
        let mut record = RecordView::from(entry);
        run.input = self.value("input", ValueAt::Record(standing.run.input()));
        if run.status == wire::RunStatus::Done {
            run.output = self.value("output", standing.run.output());
        }
        self.questions(&standing, &mut explanation);
        if with_outputs {
            self.outputs(&standing, &mut run);
        }
        self.complete((&ir, &texts), &standing, &mut record);
        let note = self.note();
        let (live_tokens, dead): (Vec<_>, Vec<_>) = live.tokens().into_iter().partition(|(.., token)| *token == Token::Live);
        let tokens = live_tokens.iter().take(LISTED_MAX);
        let tokens = tokens.map(|(frame, from, to, _)| TokenView { from: wire::place(frame, from), to: wire::place(frame, to) });
        let mut open: Vec<_> = live.frames().filter(|(path, frame)| !path.is_root() && frame.is_open()).collect();
        open.sort_by(|a, b| a.0.cmp(&b.0));
        Ok(RunReplay {
            run,
            record,
            time: Instant(time),
            note,
            before: before.map(Cursor),
            after: after.map(Cursor),
            first: RecordStamp { seq: Cursor(first.seq), at: Instant(first.at) },
            last: RecordStamp { seq: Cursor(last.seq), at: Instant(last.at) },
            place: *place as u64,
            records: *count as u64,
            tokens: tokens.collect(),
            dead_tokens: dead.len() as u64,
            more_tokens: live_tokens.len().saturating_sub(LISTED_MAX) as u64,
            frames: open.iter().take(LISTED_MAX).map(|(path, _)| path.to_string()).collect(),
            more_frames: open.len().saturating_sub(LISTED_MAX) as u64,
            explanation,
            unread: self.unread,
            lost: lost(self.replayed, garbled),
        })
    }

    /// What is asked for at an instant is seen from there, as far as that has come; what is asked for by its record, from that.
    fn seen_from(&self, goes_on: bool) -> Time {
        let recorded = self.replayed.entry.at;
        match self.at {
            At::Time(asked) => asked.min(super::runs::now()).max(recorded),
            At::End if goes_on => super::runs::now().max(recorded),
            At::Start | At::End | At::Record(_) => recorded,
        }
    }

    fn note(&self) -> Option<String> {
        let Replayed { entry, last, .. } = self.replayed;
        let (run, last_seq, last_at) = (self.run, Cursor(last.seq), Instant(last.at));
        let nothing_since = || format!("nothing of {run} was recorded after {last_seq} at {last_at}: this is how it is now");
        match self.at {
            At::Record(asked) if asked > last.seq => Some(nothing_since()),
            At::Record(asked) if asked != entry.seq => {
                let before = Cursor(entry.seq);
                Some(format!("r{} is not a record of {run}: this is how it was after {before}, its last before that", asked.0))
            }
            At::Time(asked) if asked > super::runs::now() => Some(format!("{} lies ahead; {}", Instant(asked), nothing_since())),
            At::Time(asked) if asked > last.at => Some(nothing_since()),
            _ => None,
        }
    }

    /// What may be done is to look on: there is nothing to change here.
    fn next_actions(&self, explanation: &RunExplanation) -> Vec<String> {
        let (run, here) = (self.run, Cursor(self.replayed.entry.seq));
        let mut actions: Vec<String> =
            self.replayed.after.iter().map(|after| format!("signaller run replay {run} --at {}", Cursor(*after))).collect();
        let called = explanation.waits.iter().filter_map(|wait| wait.sub_run);
        actions.extend(called.map(|called| format!("signaller run replay {called} --at {here}")));
        actions.push(format!("signaller run explain {run}"));
        actions
    }

    fn value(&mut self, of: &str, at: ValueAt) -> Option<Box<serde_json::value::RawValue>> {
        match legible(self.engine, at) {
            Ok(found) => found,
            Err(sentence) => {
                self.unread.push(Unread { of: of.to_owned(), sentence });
                None
            }
        }
    }

    /// What those that waited for an answer asked: that rides with the record by which they began to.
    fn questions(&mut self, standing: &Standing, explanation: &mut RunExplanation) {
        for wait in explanation.waits.iter_mut().filter(|wait| wait.code == "approval") {
            let asking = standing.nodes.iter().find(|row| wire::place(&row.at.frame, &row.at.node) == wait.node);
            if let Some(row) = asking {
                let found = self.engine.read(|reader| reader.payloads(&[row.slot.last()]));
                let asks = found.is_ok_and(|found| found.into_iter().flatten().next().is_some());
                let at = ValueAt::Record(row.slot.last());
                wait.message = if asks { self.value(&wait.node, at) } else { None };
            }
        }
    }

    fn outputs(&mut self, standing: &Standing, run: &mut RunView) {
        let given = standing.nodes.iter().filter_map(|row| match row.slot.state() {
            NodeState::Done { output: Output::At(at), .. } => Some((wire::place(&row.at.frame, &row.at.node), *at)),
            _ => None,
        });
        let given: HashMap<String, ValueAt> = given.collect();
        for node in &mut run.nodes {
            if let Some(at) = given.get(&node.node) {
                node.output = self.value(&node.node, *at);
            }
        }
    }

    /// What the record alone does not say: who answered, and why a node was skipped.
    fn complete(&mut self, (ir, texts): (&Arc<Ir>, &Texts), standing: &Standing, record: &mut RecordView) {
        let entry = &self.replayed.entry;
        let Owner::Node(at) = &entry.owner else { return };
        match &mut record.record {
            RecordBody::NodeDone { answer, .. } if is_approval(ir, at) => {
                let said = self.value(&wire::place(&at.frame, &at.node), ValueAt::Record(entry.seq));
                *answer = said.and_then(|text| serde_json::from_str(text.get()).ok());
            }
            RecordBody::NodeSkipped { why, .. } => *why = Frames::of(texts, &standing.nodes).why(&at.frame, &at.node),
            _ => {}
        }
    }
}

fn is_approval(ir: &Ir, at: &NodeAt) -> bool {
    ir.find(&at.node).is_some_and(|node| matches!(ir.node(node).kind, NodeKind::Approval { .. }))
}

/// Where the history ends short, in words.
fn lost(replayed: &Replayed, garbled: &[(RecordSeq, String)]) -> Vec<LostHistory> {
    let garbled = garbled.iter().map(|(seq, why)| LostHistory {
        owner: String::new(),
        sentence: format!("r{} cannot be read, and what it says is left out: {why}", seq.0),
    });
    let broken = replayed.then.lost().map(|(owner, lost)| {
        let owner = if let Owner::Node(at) = owner { at.show() } else { owner.to_string() };
        let sentence = match lost.known {
            RecordSeq::NONE => format!("the history of {owner} before r{} is gone: nothing is shown of it", lost.at.0),
            known => {
                format!("the history of {owner} breaks off after r{}: what came from r{} on is left out", known.0, lost.at.0)
            }
        };
        LostHistory { owner, sentence }
    });
    let mut all: Vec<LostHistory> = garbled.chain(broken).collect();
    if all.len() > LOST_MAX {
        let more = all.len() - LOST_MAX;
        all.truncate(LOST_MAX);
        all.push(LostHistory { owner: String::new(), sentence: format!("and so are the histories of {more} more") });
    }
    all
}
