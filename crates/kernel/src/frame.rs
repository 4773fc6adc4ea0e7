//! A frame: one walk through a body. The run's own is the root; each turn of a `loop` and each item of an `each` opens
//! one below it. Tokens are not kept: what lies on an edge follows from how its node ended, so they cannot leak.
//!
//! | from | may become | by |
//! |---|---|---|
//! | – | open | `FrameOpened` |
//! | open | done | `FrameDone` |
//! | open | failed | `FrameFailed` |
//! | open | dropped | `FrameDropped` |
//! | done, failed, dropped | open | `FrameReopened` |
//! | done, failed | dropped | `FrameReset` |
//! | any | as before, by another text | `FramePatched` |

use crate::ids::RecordSeq;
use crate::ir::{BodyIx, EdgeIx, Ir, Join, NodeIx, On, OnError};
use crate::names::NodeId;
use crate::node::{Ended, NodeState, Output, Slot, Went};
use crate::record::{Entry, Record};
use crate::run::ValueAt;
use std::fmt;
use std::sync::Arc;

/// The way from the run to a frame: which loop or each, which turn or item. Empty for the root. Frames below a node lie
/// side by side in this order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FramePath(Box<[Turn]>);

/// One turn of a loop, or one item of an each.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct Turn {
    node: NodeId,
    index: u32,
    /// That of the run when it was opened: what a restart undoes keeps its name and its history.
    generation: u32,
}

impl FramePath {
    pub fn root() -> FramePath {
        FramePath::default()
    }

    pub fn below(&self, node: NodeId, index: u32, generation: u32) -> FramePath {
        FramePath(self.0.iter().cloned().chain([Turn { node, index, generation }]).collect())
    }

    /// The frame above, and the node and index there.
    pub fn up(&self) -> Option<(FramePath, &NodeId, u32)> {
        let (last, above) = self.0.split_last()?;
        Some((FramePath(above.into()), &last.node, last.index))
    }

    /// That of the run when it was opened.
    pub fn generation(&self) -> u32 {
        self.0.last().map_or(0, |last| last.generation)
    }

    /// Whether this is the frame itself or one in it.
    pub(crate) fn is_within(&self, frame: &FramePath) -> bool {
        self.0.starts_with(&frame.0)
    }

    /// Whether this is one that a loop or an each of the frame opened, or one in that.
    pub(crate) fn is_below(&self, frame: &FramePath, node: &NodeId) -> bool {
        self.is_within(frame) && self.0.get(frame.0.len()).is_some_and(|turn| turn.node == *node)
    }

    /// What all turns of the loops on the way have in common; `None`: there is none.
    pub(crate) fn lane(&self, is_loop: impl Fn(&NodeId) -> bool) -> Option<FramePath> {
        let index = |turn: &Turn| if is_loop(&turn.node) { 0 } else { turn.index };
        let turn = |turn: &Turn| Turn { node: turn.node.clone(), index: index(turn), generation: 0 };
        self.0.iter().any(|turn| is_loop(&turn.node)).then(|| FramePath(self.0.iter().map(turn).collect()))
    }

    /// Which turn or item of the frame's node it lies in.
    pub(crate) fn turn_below(&self, frame: &FramePath, node: &NodeId) -> Option<u32> {
        self.is_below(frame, node).then(|| self.0[frame.0.len()].index)
    }

    pub fn depth(&self) -> usize {
        self.0.len()
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// `rounds[1].check[4]`; `rounds[1@2]` if that was opened in generation 2.
    pub fn parse(text: &str) -> Option<FramePath> {
        if text.is_empty() {
            return Some(FramePath::root());
        }
        let number = |text: &str| text.parse().ok().filter(|number: &u32| number.to_string() == text);
        let part = |part: &str| {
            let (node, index) = part.strip_suffix(']')?.split_once('[')?;
            let (index, generation) = match index.split_once('@') {
                None => (index, 0),
                Some((index, generation)) => (index, number(generation).filter(|generation| *generation > 0)?),
            };
            Some(Turn { node: NodeId::parse(node).ok()?, index: number(index)?, generation })
        };
        text.split('.').map(part).collect::<Option<Box<[_]>>>().map(FramePath)
    }
}

impl serde::Serialize for FramePath {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> serde::Deserialize<'de> for FramePath {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<FramePath, D::Error> {
        let text = <std::borrow::Cow<'_, str>>::deserialize(deserializer)?;
        FramePath::parse(&text).ok_or_else(|| serde::de::Error::custom(format!("`{text}` is not the path of a frame")))
    }
}

impl fmt::Display for FramePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, Turn { node, index, generation }) in self.0.iter().enumerate() {
            let dot = if at > 0 { "." } else { "" };
            match generation {
                0 => write!(f, "{dot}{node}[{index}]")?,
                _ => write!(f, "{dot}{node}[{index}@{generation}]")?,
            }
        }
        Ok(())
    }
}

#[derive(Clone, PartialEq, Eq)]
pub struct Frame {
    pub(crate) last: RecordSeq,
    /// The text it follows: that of the frame above when it was opened, or a later one that fits what has begun in it.
    pub(crate) ir: Arc<Ir>,
    /// Which of the run's texts that is.
    pub(crate) revision: u32,
    /// A restart has undone it: it is left only until what goes on in it is stopped.
    pub(crate) undone: bool,
    pub(crate) body: BodyIx,
    pub(crate) state: FrameState,
    /// By their places in the body; none when it is past.
    pub(crate) nodes: Box<[Slot]>,
    /// Nodes that have not ended.
    pub(crate) open: u32,
}

/// Without the text, which is long.
impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Frame { last, ir: _, revision, undone, body, state, nodes, open } = self;
        write!(f, "Frame({last:?}, revision {revision}, undone {undone}, {body:?}, {state:?}, {open} open, {nodes:?})")
    }
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum FrameState {
    Open,
    Done(ValueAt),
    Failed,
    Dropped,
}

/// The text that a frame follows after one more of its records.
pub(crate) fn revision_after(before: u32, entry: &Entry) -> u32 {
    match entry.record {
        Record::FrameOpened { revision } | Record::FramePatched { revision } | Record::FrameReopened { revision } => revision,
        _ => before,
    }
}

impl FrameState {
    pub(crate) fn fold(state: Option<FrameState>, entry: &Entry) -> FrameState {
        match (state, &entry.record) {
            (None, Record::FrameOpened { .. }) => FrameState::Open,
            (Some(FrameState::Open), Record::FrameDone { output }) => FrameState::Done(output.at(entry.seq)),
            (Some(FrameState::Open), Record::FrameFailed { .. }) => FrameState::Failed,
            (Some(FrameState::Open), Record::FrameDropped {}) => FrameState::Dropped,
            (Some(FrameState::Done(_) | FrameState::Failed | FrameState::Dropped), Record::FrameReopened { .. }) => {
                FrameState::Open
            }
            (Some(state), Record::FramePatched { .. }) => state,
            (Some(FrameState::Done(_) | FrameState::Failed), Record::FrameReset {}) => FrameState::Dropped,
            (_, record) => panic!("{}: {} does not fit its history", entry.owner, record.kind()),
        }
    }
}

/// What an edge carries.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Token {
    Live,
    Dead(Cause),
}

/// Why a token is dead, and so why a node was skipped.
#[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The way was not taken.
    Untaken,
    /// Something before it failed, was refused or timed out.
    Failed,
}

impl Cause {
    pub const fn as_str(self) -> &'static str {
        match self {
            Cause::Untaken => "untaken",
            Cause::Failed => "failed",
        }
    }

    pub fn parse(text: &str) -> Option<Cause> {
        [Cause::Untaken, Cause::Failed].into_iter().find(|cause| cause.as_str() == text)
    }
}

/// What the tokens before a node say.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    Wait,
    Enter,
    Skip(Cause),
}

/// How a frame ends, all its nodes having ended.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub(crate) enum Close {
    Done,
    /// Nothing it leads to was done, and something failed on the way.
    Stranded,
}

impl Frame {
    pub(crate) fn new(ir: &Arc<Ir>, revision: u32, body: BodyIx) -> Frame {
        let nodes: Box<[Slot]> = ir.body(body).nodes.iter().map(|_| Slot::default()).collect();
        let open = nodes.len() as u32;
        let (last, ir, state) = (RecordSeq::NONE, ir.clone(), FrameState::Open);
        Frame { last, ir, revision, undone: false, body, state, nodes, open }
    }

    /// One of its own nodes.
    pub fn find(&self, id: &NodeId) -> Option<NodeIx> {
        self.ir.find_in(self.body, id)
    }

    pub(crate) fn slot(&self, node: NodeIx) -> &Slot {
        &self.nodes[self.ir.node(node).place as usize]
    }

    pub fn node(&self, node: NodeIx) -> &NodeState {
        &self.slot(node).state
    }

    pub fn state(&self) -> FrameState {
        self.state
    }

    pub fn is_open(&self) -> bool {
        self.state == FrameState::Open
    }

    /// What lies on an edge; `None` while its node has not ended.
    pub(crate) fn token(&self, edge: EdgeIx) -> Option<Token> {
        let edge = self.ir.edge(edge);
        let dead = |cause| Some(Token::Dead(cause));
        match self.node(edge.from).ended()? {
            Ended::Done(went) => match (edge.on, went) {
                (on, went) if went.takes(on, &self.ir, edge.to) => Some(Token::Live),
                // Who was refused or came too late goes the other way, or none: for those that wait for a yes it failed.
                (On::Done, Went::Reject | Went::Timeout) => dead(Cause::Failed),
                _ => dead(Cause::Untaken),
            },
            Ended::Failed(then) => match (edge.on, then) {
                (On::Error, OnError::To) | (On::Done, OnError::Ignore) => Some(Token::Live),
                (_, OnError::Ignore) => dead(Cause::Untaken),
                _ => dead(Cause::Failed),
            },
            Ended::Skipped(_) if crate::defect("dead_token_forgotten") => None,
            Ended::Skipped(cause) => dead(cause),
            Ended::Cancelled => dead(Cause::Failed),
        }
    }

    /// Whether a node may be entered, has to be skipped, or still waits.
    pub(crate) fn verdict(&self, node: NodeIx) -> Verdict {
        let entry = self.ir.node(node);
        if entry.ins.is_empty() {
            return Verdict::Enter;
        }
        let (mut live, mut failed, mut missing) = (0, false, 0);
        for edge in &entry.ins {
            match self.token(*edge) {
                Some(Token::Live) => live += 1,
                Some(Token::Dead(cause)) => failed |= cause == Cause::Failed,
                None => missing += 1,
            }
        }
        match entry.join {
            Join::NOf(n) if live >= n as usize => Verdict::Enter,
            // Also when too few can come: why it was skipped must not hang on who came first.
            _ if missing > 0 && !(live > 0 && crate::defect("join_too_soon")) => Verdict::Wait,
            Join::All if live > 0 && !failed => Verdict::Enter,
            // Too few came: that is a failure even if none of them failed.
            _ => Verdict::Skip(if failed || live > 0 { Cause::Failed } else { Cause::Untaken }),
        }
    }

    pub(crate) fn close(&self) -> Close {
        let body = self.ir.body(self.body);
        let sinks = || body.sinks.iter().map(|sink| self.node(*sink));
        let done = sinks().any(|state| matches!(state.ended(), Some(Ended::Done(_) | Ended::Failed(OnError::Ignore))));
        // One that failed the frame before and was not tried again.
        if self.nodes.iter().any(|slot| matches!(slot.state.ended(), Some(Ended::Failed(OnError::Fail)))) {
            return Close::Stranded;
        }
        let failed = sinks().any(|state| matches!(state.ended(), Some(Ended::Skipped(Cause::Failed) | Ended::Cancelled)));
        if failed && !done { Close::Stranded } else { Close::Done }
    }

    /// Where the output of a node is: its own, or that of the node it passed on. `None`: it came from before the frame.
    pub(crate) fn source(&self, node: NodeIx) -> Source {
        match self.node(node) {
            NodeState::Done { output: Output::At(value), .. } => Source::Value(*value),
            NodeState::Done { output: Output::Passed, .. } => self.before(node),
            _ => Source::Value(ValueAt::Null),
        }
    }

    /// What `output` is to a node.
    pub(crate) fn before(&self, node: NodeIx) -> Source {
        match self.ir.predecessors(node).as_slice() {
            [] => Source::Entry,
            [one] => self.source(*one),
            many => Source::Several(
                many.iter().filter(|from| self.leads(**from, node)).map(|from| (*from, self.source(*from))).collect(),
            ),
        }
    }

    fn leads(&self, from: NodeIx, to: NodeIx) -> bool {
        let entered = self.slot(to).entered;
        let in_time = entered == RecordSeq::NONE || self.slot(from).last < entered;
        let mut edges = self.ir.node(to).ins.iter().filter(|edge| self.ir.edge(**edge).from == from);
        in_time && edges.any(|edge| self.token(*edge) == Some(Token::Live))
    }
}

/// Where a value comes from, seen from inside a frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Source {
    Value(ValueAt),
    /// What the frame was entered with: the run's input, the item, the last turn's output.
    Entry,
    /// `{id: output}`
    Several(Vec<(NodeIx, Source)>),
}

impl Went {
    fn takes(&self, on: On, ir: &Ir, to: NodeIx) -> bool {
        match (self, on) {
            (Went::Done | Went::Heard(_), On::Done) | (Went::Default, On::Default) => true,
            (Went::Reject, On::Reject) | (Went::Timeout, On::Timeout) | (Went::Max, On::Max) => true,
            (Went::Rule(took), On::Rule(rule)) => *took == rule,
            (Went::Named(id), On::Named) => ir.node(to).id == *id,
            // A branch is done whichever way it went.
            (Went::Rule(_) | Went::Default | Went::Named(_), On::Done) => true,
            _ => false,
        }
    }
}
