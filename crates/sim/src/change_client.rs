//! What people change in runs that are under way, or over: their texts, where they are, what a node gives. Each is tried whether
//! it is allowed or not.

use crate::catalogue;
use crate::client::{Client, actor};
use crate::model::runs::{FrameState, NodeState};
use crate::temper::Wish;
use kernel::command::{Command, NewRevision};
use kernel::frame::FramePath;
use kernel::ids::RunId;
use kernel::ir::Ir;
use kernel::limits::INLINE_BYTES_MAX;
use kernel::record::Payload;
use kernel::run::{NodeAt, RunStatus};
use serde_json::{Value as Json, json};
use std::sync::Arc;

impl Client<'_> {
    pub fn change(&mut self, wish: Wish) -> Option<Command> {
        let by = actor();
        let status = match self.chance.below(10) {
            0 | 1 => RunStatus::Failed,
            2 if wish == Wish::RestartRun => RunStatus::Done,
            2 => RunStatus::Cancelled,
            _ => RunStatus::Running,
        };
        let run = self.run(Some(status));
        Some(match wish {
            Wish::PatchRun => {
                let new = self.new_revision(run)?;
                Command::PatchRun { run, new, node: None, dry: self.chance.permille(150), by }
            }
            Wish::RestartRun => {
                let at = match self.chance.below(10) {
                    0 => self.open_node(run),
                    1..4 => self.past_node(),
                    _ => None,
                };
                let at = at.unwrap_or_else(|| self.node(run));
                let run = at.run;
                let new = if self.chance.permille(200) { self.new_revision(run) } else { None };
                Command::RestartRun { at, new, reason: "again".into(), by }
            }
            _ => {
                let at = if self.chance.permille(800) { self.open_node(run) } else { None };
                let at = at.unwrap_or_else(|| self.node(run));
                let text = "x".repeat(if self.chance.permille(200) { INLINE_BYTES_MAX + 1 } else { 0 });
                let output = json!({"n": self.chance.below(10), "next": "left", "list": [1, 2], "text": text});
                Command::SkipNode { at, output: Payload(output.to_string().into()), reason: "by hand".into(), by }
            }
        })
    }

    /// One of a turn or an item that is over while its loop or each goes on.
    fn past_node(&mut self) -> Option<NodeAt> {
        let runs = &self.model.runs;
        let is_past = |run: RunId, path: &FramePath, state: FrameState| {
            let of = path.up().map(|(frame, node, _)| NodeAt { run, frame, node: node.clone() });
            let goes_on = of.is_some_and(|of| matches!(runs.node(&of), NodeState::Started(_)) && runs.is_wanted(run, &of.frame));
            matches!(state, FrameState::Done | FrameState::Failed) && goes_on && !runs.is_undone(run, path)
        };
        let frames = runs.frames.iter().filter(|((run, path), frame)| is_past(*run, path, frame.state));
        let frames: Vec<&(RunId, FramePath)> = frames.map(|(key, _)| key).collect();
        let (run, path) = if frames.is_empty() { return None } else { *self.chance.pick(&frames) };
        let nodes: Vec<NodeAt> = runs.nodes_of(*run).map(|(at, _)| at).filter(|at| at.frame == *path).cloned().collect();
        if nodes.is_empty() { None } else { Some(self.chance.pick(&nodes).clone()) }
    }

    /// One that waits or is under way.
    fn open_node(&mut self, run: RunId) -> Option<NodeAt> {
        let runs = &self.model.runs;
        runs.runs.get(&run)?;
        let frames = runs.open_frames(run);
        let frame = self.chance.pick(&frames).clone();
        let ir = runs.ir(run, &frame)?;
        let body = crate::model::runs::body_of(ir, &frame)?;
        let nodes = ir.body(body).nodes.iter().map(|node| crate::model::runs::at(run, &frame, &ir.node(*node).id));
        let open: Vec<NodeAt> = nodes.filter(|at| !runs.node(at).is_over()).collect();
        if open.is_empty() { None } else { Some(self.chance.pick(&open).clone()) }
    }

    /// Another text of a run, made of the one it follows; now and then of one it followed before.
    pub(crate) fn new_revision(&mut self, run: RunId) -> Option<Box<NewRevision>> {
        let known = self.model.runs.runs.get(&run)?;
        let mut base = known.revision();
        if self.chance.permille(50) {
            base = if base > 0 { base - 1 } else { base + 1 };
        }
        let mut text = known.texts.last().expect("it follows one").json.clone();
        let times = if self.chance.permille(250) { 2 } else { 1 };
        let mut described = Vec::new();
        for _ in 0..times {
            described.push(self.idea(&mut text)?);
        }
        // The text of a patch that is long lies in a blob. Where blobs are spoilt the text would be, and the run fail for it.
        if self.chance.permille(200) && self.temper.faults.blob_damage == 0 {
            text["description"] = json!("x".repeat(INLINE_BYTES_MAX + 1));
        }
        let (payload, text) = catalogue::change(text)?;
        let ir = Arc::new(Ir { version: known.version, ..(*text.ir).clone() });
        Some(Box::new(NewRevision { base, ir, payload, description: described.join(", "), alone: false }))
    }

    fn idea(&mut self, text: &mut Json) -> Option<&'static str> {
        let fresh = format!("p{}", self.chance.below(1_000));
        let number = self.chance.below(4);
        if self.chance.permille(60) {
            text["limits"]["deadline"] = json!(["5s", "60s", "600s", "4s"][number]);
            return Some("a deadline");
        }
        let inner: Vec<String> = bodies(text);
        // In the run's own frame, or in the body of a loop or an each.
        let of = if inner.is_empty() || self.chance.permille(400) { None } else { Some(self.chance.pick(&inner).clone()) };
        let body = match &of {
            None => text,
            Some(id) => &mut found(text, id)?["do"],
        };
        let nodes = body["nodes"].as_object_mut()?;
        let own: Vec<String> = nodes.keys().cloned().collect();
        if own.is_empty() {
            return None;
        }
        let one = self.chance.pick(&own).clone();
        match self.chance.below(7) {
            0 | 1 => {
                let kind = *self.chance.pick(&["build", "send"]);
                nodes.insert(fresh, json!({"type": kind, "after": [one], "on_error": "ignore", "with": {"v": number}}));
                Some("adds after one")
            }
            2 => {
                nodes.insert(fresh, json!({"type": "transform", "value": number.to_string()}));
                Some("adds an entry")
            }
            3 | 4 => {
                let node = nodes.get_mut(&one)?;
                match node["type"].as_str()? {
                    "build" | "send" | "crawl" | "nobody" => node["with"] = json!({"w": number}),
                    "sleep" => node["for"] = json!(format!("{}ms", 10 + number)),
                    _ => return None,
                }
                Some("changes one")
            }
            5 => {
                nodes.remove(&one);
                for node in nodes.values_mut().filter_map(Json::as_object_mut) {
                    let left = match node.get("after") {
                        Some(Json::Array(after)) => after.iter().filter(|id| **id != json!(one)).cloned().collect(),
                        Some(after) if *after != json!(one) => continue,
                        _ => Vec::new(),
                    };
                    _ = if left.is_empty() { node.remove("after") } else { node.insert("after".into(), Json::Array(left)) };
                }
                Some("removes one")
            }
            _ => {
                // From before one to beside it.
                let node = nodes.get_mut(&one)?.as_object_mut()?;
                node.remove("after");
                Some("moves one to the start")
            }
        }
    }
}

/// The loops and eaches in a text.
fn bodies(body: &Json) -> Vec<String> {
    let nodes = body["nodes"].as_object().into_iter().flatten().filter(|(_, node)| node.get("do").is_some());
    nodes.flat_map(|(id, node)| std::iter::once(id.clone()).chain(bodies(&node["do"]))).collect()
}

fn found<'a>(body: &'a mut Json, id: &str) -> Option<&'a mut Json> {
    let nodes = body["nodes"].as_object_mut()?;
    if nodes.contains_key(id) {
        return nodes.get_mut(id);
    }
    nodes.values_mut().filter_map(|node| node.get_mut("do")).find_map(|inner| found(inner, id))
}
