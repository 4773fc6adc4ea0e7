//! What people do to a run that is under way, or over: patch it, restart it from a node, say what a node gives. Each is tried
//! whether it is allowed or not; what is refused has changed nothing.

use super::{House, actor};
use crate::reference::found;
use kernel::command::{Command, NewFork, NewRevision, NewRun, Reply};
use kernel::decide::{NewText, Part};
use kernel::frame::FramePath;
use kernel::ir::{Ir, NodeIx};
use kernel::names::NodeId;
use kernel::node::NodeState;
use kernel::record::{Entry, Owner, Payload, Record};
use kernel::rejection::Rejection;
use kernel::run::{NodeAt, Origin, RunSpec, RunStatus};
use kernel::runs::{Copied, Live};
use serde_json::{Value as Json, json};
use std::sync::Arc;

const CHANGES_MAX: usize = 12;

/// A change of the text, and whether it may be.
struct Idea {
    text: Json,
    what: &'static str,
    legal: bool,
}

impl House<'_> {
    pub fn change(&mut self) {
        self.changes += 1;
        if self.changes > CHANGES_MAX {
            return;
        }
        match self.chance.below(10) {
            0..6 => self.patch(),
            6..9 => self.rewind(),
            _ => self.skip(),
        }
    }

    fn root_run(&self) -> &Live {
        self.ledger.folded.live_run(self.root).expect("it was started")
    }

    fn note(&mut self, what: &str) {
        self.ledger.occurred.insert(what.to_owned());
    }

    /// As it is asked for; refused, not one byte is another.
    fn try_to(&mut self, command: &Command) -> Result<Reply, Rejection> {
        let (rows, payloads) = (self.shards[0].rows.clone(), self.shards[0].payloads.len());
        let reply = self.ask(0, command);
        if reply.is_err() {
            assert!(self.shards[0].rows == rows && self.shards[0].payloads.len() == payloads, "{reply:?} changed something");
        }
        reply
    }

    fn patch(&mut self) {
        if self.root_run().run().status() == RunStatus::Done {
            return;
        }
        let Some(idea) = self.idea() else { return };
        let text = serde_json::to_string(&idea.text).expect("a definition is JSON");
        let Ok(compiled) = flow::compile(text.as_bytes(), &flow::Language) else { return };
        let payload = Payload(json!({"text": text, "operations": []}).to_string().into());
        let ir = super::book::revised(1, &payload);
        assert_eq!(ir.nodes.len(), compiled.ir.nodes.len());
        self.book.programs(&ir);
        let revision = self.texts.len() as u32 - 1;
        let stale = self.chance.percent(5);
        let base = if stale { revision + 1 } else { revision };
        let dry = self.chance.percent(15);
        let running = self.root_run().run().status() == RunStatus::Running;
        let new = Box::new(NewRevision { base, ir, payload, description: idea.what.into(), alone: false });
        let (rows, payloads) = (self.shards[0].rows.clone(), self.shards[0].payloads.len());
        match self.try_to(&Command::PatchRun { run: self.root, new, node: None, dry, by: actor() }) {
            Err(Rejection::RevisionConflict { .. }) if stale => self.note("patch conflict"),
            Err(Rejection::RunEnding { .. }) => {}
            Err(Rejection::Frozen { at, .. }) => {
                assert!(!idea.legal || !running, "{}: {} was refused", idea.what, at.show());
                self.note("patch frozen");
            }
            Err(other) => panic!("{}: {other}", idea.what),
            Ok(_) if dry => {
                assert!(self.shards[0].rows == rows && self.shards[0].payloads.len() == payloads, "a dry run changed something");
                self.note("patch dry");
            }
            Ok(Reply::Patched(_)) => {
                assert!(idea.legal || !running, "{} was accepted", idea.what);
                assert!(!stale, "a patch of another revision was accepted");
                self.note(idea.what);
                self.texts.push(idea.text);
                self.own = self.texts.len() - 1;
                // One that was over goes on by the new text.
                if !running {
                    let retry = Command::RetryRun { run: self.root, node: None, new: None, reason: String::new(), by: actor() };
                    let reply = self.ask(0, &retry);
                    assert!(reply.is_ok(), "{reply:?}");
                    self.note("patch of what was over");
                }
            }
            Ok(other) => panic!("{other:?}"),
        }
    }

    fn idea(&mut self) -> Option<Idea> {
        let mut text = self.texts[self.own].clone();
        let inner: Vec<String> =
            ids(&text).into_iter().filter(|id| found(&text, id).is_some_and(|node| node.get("do").is_some())).collect();
        // In the run's own frame, or in the body of a loop or an each.
        let of = if inner.is_empty() || self.chance.percent(60) { None } else { Some(self.chance.one(&inner).clone()) };
        // Also one that was there before; what had gone on in a body does not tell which text it followed.
        let gone: Vec<String> = self.texts.iter().flat_map(ids).filter(|id| found(&text, id).is_none()).collect();
        let again = of.is_none() && !gone.is_empty() && self.chance.percent(40);
        let fresh = if again { self.chance.one(&gone).clone() } else { format!("p{}", self.changes) };
        let body = match &of {
            None => &mut text,
            Some(id) => &mut found_mut(&mut text, id).expect("it was found")["do"],
        };
        let nodes = body["nodes"].as_object_mut().expect("a body has nodes");
        let own: Vec<String> = nodes.keys().cloned().collect();
        let one = self.chance.one(&own).clone();
        let live = self.ledger.folded.live_run(self.root).expect("it was started");
        let state = |id: &str| node_state(live, id);
        let root = of.is_none();
        let number = self.chance.below(100);
        let (what, legal) = match self.chance.below(6) {
            0 | 1 => {
                let with = json!({"n": "${input.n}", "v": number});
                nodes.insert(fresh, json!({"type": "x", "after": [one], "with": with}));
                let open = state(&one).is_none_or(|state| state.ended().is_none());
                let what = match (again, root) {
                    (true, _) => "patch adds again",
                    (_, true) => "patch adds",
                    (_, false) => "patch adds inside",
                };
                (what, !root || open)
            }
            2 => {
                if nodes[&one]["type"] != "x" && nodes[&one]["type"] != "y" {
                    return None;
                }
                nodes[&one]["with"] = json!({"w": number});
                (if root { "patch changes" } else { "patch changes inside" }, !root || state(&one) == Some(NodeState::Waiting))
            }
            3 => {
                // Whoever leads to it by a field of its own has to forget it; the rest does not compile.
                nodes.remove(&one);
                for node in nodes.values_mut() {
                    if let Some(after) = node.get_mut("after").and_then(Json::as_array_mut) {
                        after.retain(|id| *id != json!(one));
                        if after.is_empty() {
                            node.as_object_mut().expect("a node is a map").remove("after");
                        }
                    }
                }
                let legal = !root || live.ir().find(&id(&one)).is_some_and(|node| is_removable(live, node));
                (if root { "patch removes" } else { "patch removes inside" }, legal)
            }
            4 if root => {
                text["output"] = json!({"c": number});
                ("patch output", true)
            }
            _ if root => {
                nodes.insert(fresh, json!({"type": "y"}));
                ("patch entry", true)
            }
            _ => return None,
        };
        Some(Idea { text, what, legal })
    }

    /// From any node that has begun, of any turn and item.
    fn rewind(&mut self) {
        let live = self.root_run();
        let mut begun: Vec<NodeAt> = Vec::new();
        let prefix = format!("{}/", self.ledger.runs[&self.root]);
        // Also of what is past, which is not in memory.
        for key in self.ledger.nodes.keys().filter(|key| !key.contains('>')) {
            let at = NodeAt::parse(&format!(
                "{}/{}",
                self.root,
                key.strip_prefix(&prefix).expect("of the run").trim_start_matches('/')
            ));
            begun.extend(at);
        }
        for (path, frame) in live.frames().filter(|(path, _)| live.goes_on(path)) {
            for node in &frame.ir().body(frame.body()).nodes {
                if let NodeState::Started { .. } = frame.node(*node) {
                    begun.push(NodeAt { run: self.root, frame: path.clone(), node: frame.ir().node(*node).id.clone() });
                }
            }
        }
        if begun.is_empty() {
            return;
        }
        let mut at = self.chance.one(&begun).clone();
        let deep = !at.frame.is_root();
        if deep && self.chance.percent(20) {
            return self.misnamed(&at);
        }
        // Whichever of its generations is the newest.
        let newest = deep && self.chance.percent(30);
        if newest {
            at.frame = plainly(&at.frame);
        }
        let over = self.root_run().run().status() != RunStatus::Running;
        self.shards[0].lend_whole(&mut self.ledger.folded, self.root, self.now);
        let (text, new) = self.alone(&at).unzip();
        match self.try_to(&Command::RestartRun { at: at.clone(), new, reason: "again".into(), by: actor() }) {
            Ok(_) => {
                if let Some(text) = text {
                    self.texts.push(text);
                    self.note("restart of one alone");
                }
                self.note(if deep { "restart inside" } else { "restart" });
                self.note(if over { "restart of what was over" } else { "restart under way" });
            }
            Err(Rejection::RunEnding { .. }) => {}
            // It has not come that far again.
            Err(Rejection::NotBegun { .. } | Rejection::NodeNotFound { .. }) if newest => {}
            Err(other) => panic!("{}: {other}", at.show()),
        }
    }

    /// Another input for a node of a turn or an item, there alone.
    fn alone(&mut self, at: &NodeAt) -> Option<(Json, Box<NewRevision>)> {
        let live = self.root_run();
        let frame = live.present(&at.frame).filter(|path| !path.is_root()).and_then(|path| live.frame(&path))?;
        let (follows, base) = (frame.revision() as usize, live.run().revision());
        if !self.chance.percent(40) {
            return None;
        }
        let mut text = self.texts[follows].clone();
        let node = found_mut(&mut text, at.node.as_str()).filter(|node| node["type"] == "x" || node["type"] == "y")?;
        node["with"] = json!({"a": self.chance.below(100)});
        let payload = Payload(json!({"text": text.to_string(), "operations": []}).to_string().into());
        let ir = super::book::revised(1, &payload);
        self.book.programs(&ir);
        let description = "one alone".into();
        Some((text, Box::new(NewRevision { base, ir, payload, description, alone: true })))
    }

    /// A node of a turn or an item, named as one of the run's own.
    fn misnamed(&mut self, at: &NodeAt) {
        let at = NodeAt { frame: FramePath::root(), ..at.clone() };
        let (run, reason, by, output) = (self.root, String::new(), actor(), Payload("1".into()));
        let answer = Command::Answer { at: at.clone(), approved: true, comment: String::new(), by: by.clone() };
        for command in [
            Command::RestartRun { at: at.clone(), new: None, reason: reason.clone(), by: by.clone() },
            Command::SkipNode { at: at.clone(), output, reason: reason.clone(), by: by.clone() },
            Command::RetryRun { run, node: Some(Box::new(at)), new: None, reason, by },
            answer,
        ] {
            self.shards[0].lend_whole(&mut self.ledger.folded, self.root, self.now);
            let reply = self.try_to(&command);
            let unfit = matches!(
                reply,
                Err(Rejection::NodeNotFound { .. }
                    | Rejection::NotToRetry { .. }
                    | Rejection::RunEnding { .. }
                    | Rejection::RunEnded { .. })
            );
            assert!(unfit, "{command:?}: {reply:?}");
        }
        self.note("misnamed");
    }

    /// A new run from how this one, which is over, was after any of its records, or from before any of its nodes then. `false`:
    /// what nodes were said to give at that time is not told here.
    pub fn fork(&mut self) -> bool {
        let of_run = |entry: &&Entry| match &entry.owner {
            Owner::Run(run) | Owner::Frame(run, _) => *run == self.root,
            Owner::Node(at) => at.run == self.root,
            _ => false,
        };
        let entries: Vec<Entry> = self.album.entries.iter().filter(of_run).cloned().collect();
        if entries.iter().any(|entry| matches!(entry.record, Record::NodeSet { .. })) {
            return false;
        }
        let at = self.chance.one(&entries).seq;
        let replay = self.album.replay(&self.irs(), self.root, at);
        let live = replay.live().expect("it was started");
        let begun: Vec<NodeAt> = live.rows().1.into_iter().map(|row| row.at).filter(|at| live.rewind(at).is_some()).collect();
        let from = if !begun.is_empty() && self.chance.percent(40) { Some(self.chance.one(&begun).clone()) } else { None };
        let rewind = from.as_ref().and_then(|at| live.rewind(at));
        let copied = replay.copied(rewind.as_ref());
        let revision = live.run().revision() as usize;
        self.texts.truncate(revision + 1);
        self.own = live.run().follows() as usize;
        let change = self.change_of_fork(live, &copied);
        let parts = copied.into_iter().map(|copied| Part {
            frame: copied.frame,
            node: copied.node,
            record: copied.record,
            payload: copied.value.map(|value| Payload(self.book.whole(&value).to_string().into())),
        });
        let parts: Vec<Part> = parts.collect();
        let patches = entries.iter().filter(|entry| matches!(entry.record, Record::RunPatched { .. })).take(revision);
        let texts = patches.map(|entry| {
            let payload = entry.payload.clone().expect("it has a text");
            let only = if let Record::RunPatched { only, .. } = &entry.record { only.clone() } else { None };
            NewText { ir: super::book::revised(1, &payload), payload, description: "as there".into(), only }
        });
        let (texts, deep) = (texts.collect(), from.as_ref().is_some_and(|at| !at.frame.is_root()));
        let input = self.shards[0].payloads[&live.run().input()].clone();
        let workflow = live.run().spec().workflow.clone();
        let origin = Some(Box::new(Origin { run: self.root, record: at, node: from.clone(), since: None }));
        let spec = RunSpec { origin, ..RunSpec::new(workflow.clone(), 1) };
        let new = NewRun { workflow, version: Some(1), spec, input };
        // What is taken along followed the texts of then.
        let frames = live.frames().filter(|(_, frame)| !frame.is_undone());
        self.ledger.frames = frames.map(|(path, frame)| (super::ledger::plain(&path), frame.revision() as usize)).collect();
        // What is taken along may be older than what its worker was given last.
        self.inputs.clear();
        let reply = self.ask(0, &Command::ForkRun { fork: Box::new(NewFork { new, texts, parts, change }), by: actor() });
        let Ok(Reply::Started { run, .. }) = reply else { panic!("{reply:?} is no run") };
        (self.root, self.forked) = (run, true);
        self.note(if from.is_some() { "fork from a node" } else { "fork from a record" });
        if deep {
            self.note("fork from inside");
        }
        true
    }

    /// Another input for one of its own nodes, which may be if that is not taken along.
    fn change_of_fork(&mut self, live: &Live, copied: &[Copied]) -> Option<NewText> {
        if self.chance.percent(50) {
            return None;
        }
        let mut text = self.texts[self.own].clone();
        let nodes = text["nodes"].as_object_mut().expect("a body has nodes");
        let own: Vec<String> = nodes.keys().cloned().collect();
        let one = self.chance.one(&own).clone();
        if nodes[&one]["type"] != "x" && nodes[&one]["type"] != "y" {
            return None;
        }
        nodes[&one]["with"] = json!({"f": self.chance.below(100)});
        let payload = Payload(json!({"text": text.to_string(), "operations": []}).to_string().into());
        let ir = super::book::revised(1, &payload);
        let taken = copied.iter().any(|copied| copied.frame.is_root() && copied.node == Some(id(&one)));
        match live.against(copied, &ir) {
            Some(Rejection::Frozen { at, .. }) => {
                assert!(taken && at.node == id(&one), "{one} is not taken along");
                self.note("fork frozen");
                None
            }
            Some(other) => panic!("{other}"),
            None => {
                assert!(!taken, "{one} is taken along, and is another");
                self.book.programs(&ir);
                self.texts.push(text);
                self.own = self.texts.len() - 1;
                self.note("fork changed");
                Some(NewText { ir, payload, description: "another input".into(), only: None })
            }
        }
    }

    fn skip(&mut self) {
        let live = self.root_run();
        let mut open: Vec<NodeAt> = Vec::new();
        for (path, frame) in live.frames().filter(|(path, _)| live.goes_on(path)) {
            for node in &frame.ir().body(frame.body()).nodes {
                if frame.node(*node).ended().is_none() {
                    open.push(NodeAt { run: self.root, frame: path.clone(), node: frame.ir().node(*node).id.clone() });
                }
            }
        }
        if open.is_empty() {
            return;
        }
        let at = self.chance.one(&open).clone();
        let output = json!({"n": self.chance.below(10), "ok": true, "list": [1, 2], "next": ""});
        let skip = Command::SkipNode { at, output: Payload(output.to_string().into()), reason: "by hand".into(), by: actor() };
        match self.try_to(&skip) {
            Ok(_) => self.note("skip"),
            Err(Rejection::Invalid { why }) if why.contains("chooses a way") => {}
            Err(other) => panic!("{skip:?}: {other}"),
        }
    }
}

/// Without its generations.
fn plainly(path: &FramePath) -> FramePath {
    path.up().map_or_else(FramePath::root, |(above, id, index)| plainly(&above).below(id.clone(), index, 0))
}

fn id(text: &str) -> NodeId {
    NodeId::parse(text).expect("an id")
}

/// In the run's own frame.
fn node_state(live: &Live, text: &str) -> Option<NodeState> {
    let frame = live.frame(&FramePath::root())?;
    let node = frame.ir().find(&id(text)).filter(|node| frame.ir().node(*node).body == frame.body())?;
    Some(frame.node(node).clone())
}

/// It waits, and neither what leads to it has ended nor what it leads to has begun.
fn is_removable(live: &Live, node: NodeIx) -> bool {
    let (ir, frame): (&Arc<Ir>, _) = (live.ir(), live.frame(&FramePath::root()).expect("its own"));
    let entry = ir.node(node);
    let before = entry.ins.iter().all(|edge| frame.node(ir.edge(*edge).from).ended().is_none());
    let after = entry.outs.iter().all(|edge| *frame.node(ir.edge(*edge).to) == NodeState::Waiting);
    *frame.node(node) == NodeState::Waiting && before && after
}

fn ids(body: &Json) -> Vec<String> {
    let nodes = body["nodes"].as_object().expect("a body has nodes");
    let inner = nodes.values().filter_map(|node| node.get("do")).flat_map(ids);
    nodes.keys().cloned().chain(inner).collect()
}

fn found_mut<'a>(body: &'a mut Json, id: &str) -> Option<&'a mut Json> {
    let nodes = body["nodes"].as_object_mut().expect("a body has nodes");
    if nodes.contains_key(id) {
        return nodes.get_mut(id);
    }
    nodes.values_mut().filter_map(|node| node.get_mut("do")).find_map(|inner| found_mut(inner, id))
}
