//! A new run made ready from how another was: looked back at, with the values that it takes along, off the writer. What a run has
//! recorded never changes, so what is made ready here stays true.

use crate::change::{Breach, Change, NoChange, Wanted};
use crate::engine::Engine;
use crate::replay::{At, NoReplay, Replayed};
use kernel::command::{NewFork, NewRun};
use kernel::decide::{NewText, Part, too_many_parts};
use kernel::eval::Shape;
use kernel::ids::{RecordSeq, RunId};
use kernel::names::NodeId;
use kernel::node::NodeState;
use kernel::record::{Payload, Record};
use kernel::rejection::Rejection;
use kernel::run::{NodeAt, Origin, Run, RunSpec, ValueAt};
use kernel::runs::{Copied, Live};
use serde_json::value::RawValue;
use std::collections::{BTreeMap, HashMap, HashSet};
use store::blobs::mentions;
use store::{BlobId, Hold, StoreError};

/// Values that are read at once.
const CHUNK: usize = 512;

/// From where, and with what changed.
#[derive(Clone, Debug)]
pub struct Forking {
    pub run: RunId,
    pub at: At,
    /// From before this node, which had begun by then.
    pub node: Option<NodeAt>,
    pub wanted: Wanted,
    /// Why the text is another.
    pub description: String,
}

/// All that there is to ask with, and to tell.
#[derive(Debug)]
pub struct Forked {
    /// With the input that the other had.
    pub fork: NewFork,
    /// The other, as it was then.
    pub run: Run,
    pub origin: Origin,
    /// What becomes of its text.
    pub change: Change,
    /// Nodes of the run's own that it takes along, and those that had begun and begin anew.
    pub kept: Vec<NodeId>,
    pub anew: Vec<NodeAt>,
    /// On the values that it takes along, until it has been asked for.
    pub holds: Vec<Hold>,
}

/// Why there is nothing to go on from.
#[derive(Clone, Debug)]
pub enum NoFork {
    Replay(NoReplay),
    /// Not all of its history is there.
    Broken {
        at: RecordSeq,
    },
    /// What this node gave is gone or damaged; without one, its input is.
    Value {
        of: Option<String>,
        record: RecordSeq,
    },
    Change {
        revision: u32,
        why: NoChange,
    },
    Breach(Breach),
    Refused(Rejection),
}

impl Engine {
    /// Blocks; not for an async thread.
    pub fn fork(&self, forking: &Forking) -> Result<Result<Forked, NoFork>, StoreError> {
        let replayed = match self.replay(forking.run, forking.at)? {
            Ok(replayed) => replayed,
            Err(no) => return Ok(Err(NoFork::Replay(no))),
        };
        let broken = replayed.garbled.first().map(|(seq, _)| *seq);
        if let Some(at) = broken.or(replayed.then.lost().next().map(|(_, lost)| lost.at)) {
            return Ok(Err(NoFork::Broken { at }));
        }
        match self.forked(forking, &replayed) {
            Ok(forked) => Ok(Ok(forked)),
            Err(Trouble::No(no)) => Ok(Err(*no)),
            Err(Trouble::Store(error)) => Err(error),
        }
    }

    fn forked(&self, forking: &Forking, replayed: &Replayed) -> Result<Forked, Trouble> {
        let live = replayed.then.live().ok_or(NoFork::Broken { at: replayed.entry.seq })?;
        let rewind = match &forking.node {
            None => None,
            Some(at) => {
                let rewind = live.rewind(at).ok_or_else(|| NoFork::Refused(Rejection::NodeNotFound { at: at.clone() }))?;
                let own = &rewind.levels.last().expect("the node's own").path;
                if live.stands(own, &at.node) == Some(&NodeState::Waiting) {
                    return Err(NoFork::Refused(Rejection::NotBegun { at: at.clone() }).into());
                }
                Some(rewind)
            }
        };
        let copied = replayed.then.copied(rewind.as_ref());
        if let Some(rejection) = too_many_parts(copied.len()) {
            return Err(NoFork::Refused(rejection).into());
        }
        let (run, revision) = (live.run().clone(), live.run().revision());
        let gone = NoFork::Change { revision, why: NoChange::Gone { revision } };
        let mut change = Change::default();
        if !forking.wanted.is_nothing() {
            let base = self.definition(&run, None)?.ok_or(gone)?;
            change = self.change(&run, &base, &forking.wanted).map_err(|why| NoFork::Change { revision, why })?;
        }
        if let Some(breach) = change.breach.clone() {
            return Err(NoFork::Breach(breach).into());
        }
        let new = change.revision(revision, &forking.description);
        if let Some(rejection) = new.as_ref().and_then(|new| live.against(&copied, &new.ir)) {
            return Err(NoFork::Refused(rejection).into());
        }
        let (kept, anew) = told(live, &copied, forking.node.as_ref());
        let mut holds = Vec::new();
        let texts = self.texts(&run, &mut holds)?;
        let input = self.read(|reader| reader.payloads(&[run.input()]))?.pop().flatten();
        let lost = || NoFork::Value { of: None, record: run.input() };
        let input = self.taken_along(run.input(), input.ok_or_else(lost)?, &mut holds)?.ok_or_else(lost)?;
        let since = run.spec().origin.as_ref().and_then(|origin| origin.began());
        let origin = Origin { run: run.id(), record: replayed.entry.seq, node: forking.node.clone(), since };
        let RunSpec { workflow, version, priority, tags, event, .. } = run.spec().clone();
        let spec =
            RunSpec { priority, tags, event, origin: Some(Box::new(origin.clone())), ..RunSpec::new(workflow.clone(), version) };
        let new_run = NewRun { workflow, version: Some(version), spec, input };
        let mut reading = Reading::new(self, &copied)?;
        let parts = reading.parts(copied)?;
        holds.append(&mut reading.holds);
        let change_text = new.map(|new| NewText { ir: new.ir, payload: new.payload, description: new.description, only: None });
        let fork = NewFork { new: new_run, texts, parts, change: change_text };
        Ok(Forked { fork, run, origin, change, kept, anew, holds })
    }

    /// The payload of a record, for another. What it stands for and what it mentions is held, since the other run may be deleted
    /// meanwhile; `None`: it is gone.
    fn taken_along(&self, seq: RecordSeq, payload: Payload, holds: &mut Vec<Hold>) -> Result<Option<Payload>, StoreError> {
        let hold = |id: &BlobId| self.blobs().holds().hold(*id);
        if !payload.is_blob() {
            holds.extend(mentions(payload.text()).iter().map(hold));
            return Ok(Some(payload));
        }
        let mentioned = self.read(|reader| reader.mentioned_by(seq))?;
        holds.extend(mentioned.iter().map(hold));
        let Some(kept) = crate::blobs::kept(self.blobs(), payload, mentioned)? else { return Ok(None) };
        holds.extend(kept.hold);
        Ok(Some(kept.payload))
    }

    /// The texts that a run followed one after the other: what is past may still hang on an earlier one.
    fn texts(&self, run: &Run, holds: &mut Vec<Hold>) -> Result<Vec<NewText>, Trouble> {
        let mut texts = Vec::new();
        for revision in 1..=run.revision() {
            let gone = || NoFork::Change { revision, why: NoChange::Gone { revision } };
            let followed = self.definition(run, Some(revision))?.ok_or_else(gone)?;
            let record = run.patch(revision).ok_or_else(gone)?;
            let entry = self.read(|reader| reader.history(record, 1))?.pop().ok_or_else(gone)?;
            let (Record::RunPatched { description, only, .. }, Some(payload)) = (entry.record, entry.payload) else {
                return Err(gone().into());
            };
            let payload = self.taken_along(record, payload, holds)?.ok_or_else(gone)?;
            texts.push(NewText { ir: followed.ir, payload, description, only });
        }
        Ok(texts)
    }
}

/// Of the run's own nodes; and the one that was named, wherever it is.
fn told(live: &Live, copied: &[Copied], from: Option<&NodeAt>) -> (Vec<NodeId>, Vec<NodeAt>) {
    let own: HashSet<&NodeId> =
        copied.iter().filter(|copied| copied.frame.is_root()).filter_map(|copied| copied.node.as_ref()).collect();
    let root = kernel::frame::FramePath::root();
    let (mut kept, mut anew) = (Vec::new(), Vec::new());
    anew.extend(from.filter(|at| !at.frame.is_root()).cloned());
    for node in live.frame(&root).iter().flat_map(|frame| &frame.ir().body(frame.body()).nodes) {
        let id = &live.ir().node(*node).id;
        match live.stands(&root, id) {
            None | Some(NodeState::Waiting) => {}
            Some(_) if own.contains(id) => kept.push(id.clone()),
            Some(_) => anew.push(NodeAt { run: live.run().id(), frame: root.clone(), node: id.clone() }),
        }
    }
    (kept, anew)
}

/// The values of what is taken along. One that lies in the blob store stays there.
struct Reading<'a> {
    engine: &'a Engine,
    payloads: BTreeMap<RecordSeq, Option<Payload>>,
    /// Lists of which items are taken.
    lists: HashMap<RecordSeq, Vec<Box<RawValue>>>,
    holds: Vec<Hold>,
}

impl Reading<'_> {
    fn new<'a>(engine: &'a Engine, copied: &[Copied]) -> Result<Reading<'a>, StoreError> {
        let mut payloads = BTreeMap::new();
        copied.iter().filter_map(|copied| copied.value.as_ref()).for_each(|value| name(value, &mut payloads));
        let seqs: Vec<RecordSeq> = payloads.keys().copied().collect();
        for chunk in seqs.chunks(CHUNK) {
            let found = engine.read(|reader| reader.payloads(chunk))?;
            payloads.extend(chunk.iter().copied().zip(found));
        }
        Ok(Reading { engine, payloads, lists: HashMap::new(), holds: Vec::new() })
    }

    fn parts(&mut self, copied: Vec<Copied>) -> Result<Vec<Part>, Trouble> {
        let part = |Copied { frame, node, record, value }: Copied| {
            let payload = match &value {
                None => None,
                Some(value) => Some(self.value(value).map_err(|error| match error {
                    Lost::Value(record) => {
                        let of = node.as_ref().map_or_else(|| frame.to_string(), |node| format!("{frame}/{node}"));
                        Trouble::from(NoFork::Value { of: Some(of.trim_start_matches('/').to_owned()), record })
                    }
                    Lost::Store(error) => error.into(),
                })?),
            };
            Ok(Part { frame, node, record, payload })
        };
        copied.into_iter().map(part).collect()
    }

    fn value(&mut self, shape: &Shape) -> Result<Payload, Lost> {
        match shape {
            Shape::At(ValueAt::Record(seq)) => {
                let payload = self.payloads.get(seq).cloned().flatten().ok_or(Lost::Value(*seq))?;
                self.engine.taken_along(*seq, payload, &mut self.holds)?.ok_or(Lost::Value(*seq))
            }
            _ => {
                let text = self.written(shape)?;
                let away = self.engine.put_away(Payload(text.get().into()))?;
                self.holds.extend(away.hold);
                Ok(away.payload)
            }
        }
    }

    /// Written out, whatever it is made of.
    fn written(&mut self, shape: &Shape) -> Result<Box<RawValue>, Lost> {
        match shape {
            Shape::At(ValueAt::Null | ValueAt::Own) => Ok(RawValue::NULL.to_owned()),
            Shape::At(ValueAt::Record(seq)) => self.content(*seq),
            Shape::At(ValueAt::Item(seq, index)) => {
                if !self.lists.contains_key(seq) {
                    let list = serde_json::from_str(self.content(*seq)?.get()).map_err(|_| Lost::Value(*seq))?;
                    self.lists.insert(*seq, list);
                }
                self.lists[seq].get(*index as usize).cloned().ok_or(Lost::Value(*seq))
            }
            Shape::Object(parts) => {
                let mut object: BTreeMap<&str, Box<RawValue>> = BTreeMap::new();
                for (id, part) in parts {
                    object.insert(id.as_str(), self.written(part)?);
                }
                serde_json::value::to_raw_value(&object).map_err(|error| Lost::Store(StoreError::Failed(error.to_string())))
            }
        }
    }

    fn content(&self, seq: RecordSeq) -> Result<Box<RawValue>, Lost> {
        let payload = self.payloads.get(&seq).cloned().flatten().ok_or(Lost::Value(seq))?;
        let whole = crate::blobs::content(self.engine.blobs(), payload)?.ok_or(Lost::Value(seq))?;
        RawValue::from_string(whole.text().to_owned()).map_err(|_| Lost::Value(seq))
    }
}

/// The records that a value is made of.
fn name(shape: &Shape, into: &mut BTreeMap<RecordSeq, Option<Payload>>) {
    match shape {
        Shape::At(ValueAt::Record(seq) | ValueAt::Item(seq, _)) => _ = into.insert(*seq, None),
        Shape::At(ValueAt::Null | ValueAt::Own) => {}
        Shape::Object(parts) => parts.iter().for_each(|(_, part)| name(part, into)),
    }
}

enum Lost {
    Value(RecordSeq),
    Store(StoreError),
}

impl From<StoreError> for Lost {
    fn from(error: StoreError) -> Lost {
        Lost::Store(error)
    }
}

enum Trouble {
    No(Box<NoFork>),
    Store(StoreError),
}

impl From<NoFork> for Trouble {
    fn from(no: NoFork) -> Trouble {
        Trouble::No(Box::new(no))
    }
}

impl From<StoreError> for Trouble {
    fn from(error: StoreError) -> Trouble {
        Trouble::Store(error)
    }
}
