//! A frame: one walk through a body. The run's own is the root; each turn of a `loop` and each item of an `each` opens
//! one below it. Tokens are not kept: what lies on an edge follows from how its node ended, so they cannot leak.
//!
//! | from | may become | by |
//! |---|---|---|
//! | – | open | `FrameOpened` |
//! | open | done | `FrameDone` |
//! | open | failed | `FrameFailed` |
//! | open | dropped | `FrameDropped` |
//! | failed, dropped | open | `FrameReopened` |

use crate::ids::RecordSeq;
use crate::ir::{BodyIx, EdgeIx, Ir, Join, NodeIx, On, OnError};
use crate::names::NodeId;
use crate::node::{Ended, NodeState, Output, Slot, Went};
use crate::record::{Entry, Record};
use crate::run::ValueAt;
use std::fmt;

/// The way from the run to a frame: which loop or each, which turn or item. Empty for the root. Frames below a node lie
/// side by side in this order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FramePath(Box<[(NodeId, u32)]>);

impl FramePath {
    pub fn root() -> FramePath {
        FramePath::default()
    }

    pub fn below(&self, node: NodeId, index: u32) -> FramePath {
        FramePath(self.0.iter().cloned().chain([(node, index)]).collect())
    }

    /// The frame above, and the node and index there.
    pub fn up(&self) -> Option<(FramePath, &NodeId, u32)> {
        let (last, above) = self.0.split_last()?;
        Some((FramePath(above.into()), &last.0, last.1))
    }

    /// Whether this is the frame itself or one in it.
    pub(crate) fn is_within(&self, frame: &FramePath) -> bool {
        self.0.starts_with(&frame.0)
    }

    /// Whether this is one that a loop or an each of the frame opened, or one in that.
    pub(crate) fn is_below(&self, frame: &FramePath, node: &NodeId) -> bool {
        self.is_within(frame) && self.0.get(frame.0.len()).is_some_and(|(of, _)| of == node)
    }

    pub(crate) fn depth(&self) -> usize {
        self.0.len()
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    pub fn parse(text: &str) -> Option<FramePath> {
        if text.is_empty() {
            return Some(FramePath::root());
        }
        let part = |part: &str| {
            let (node, index) = part.strip_suffix(']')?.split_once('[')?;
            let plain = index == "0" || !index.starts_with('0');
            Some((NodeId::parse(node).ok()?, index.parse().ok().filter(|_| plain && !index.starts_with('+'))?))
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
        for (at, (node, index)) in self.0.iter().enumerate() {
            let dot = if at > 0 { "." } else { "" };
            write!(f, "{dot}{node}[{index}]")?;
        }
        Ok(())
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Frame {
    pub(crate) last: RecordSeq,
    pub(crate) body: BodyIx,
    pub(crate) state: FrameState,
    /// By their places in the body; none when it is past.
    pub(crate) nodes: Box<[Slot]>,
    /// Nodes that have not ended.
    pub(crate) open: u32,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum FrameState {
    Open,
    Done(ValueAt),
    Failed,
    Dropped,
}

impl FrameState {
    pub(crate) fn fold(state: Option<FrameState>, entry: &Entry) -> FrameState {
        match (state, &entry.record) {
            (None, Record::FrameOpened {}) => FrameState::Open,
            (Some(FrameState::Open), Record::FrameDone { output }) => FrameState::Done(output.at(entry.seq)),
            (Some(FrameState::Open), Record::FrameFailed { .. }) => FrameState::Failed,
            (Some(FrameState::Open), Record::FrameDropped {}) => FrameState::Dropped,
            (Some(FrameState::Failed | FrameState::Dropped), Record::FrameReopened {}) => FrameState::Open,
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
    pub(crate) fn new(ir: &Ir, body: BodyIx) -> Frame {
        let nodes: Box<[Slot]> = ir.body(body).nodes.iter().map(|_| Slot::default()).collect();
        let open = nodes.len() as u32;
        Frame { last: RecordSeq::NONE, body, state: FrameState::Open, nodes, open }
    }

    pub(crate) fn slot(&self, ir: &Ir, node: NodeIx) -> &Slot {
        &self.nodes[ir.node(node).place as usize]
    }

    pub fn node(&self, ir: &Ir, node: NodeIx) -> &NodeState {
        &self.slot(ir, node).state
    }

    pub fn state(&self) -> FrameState {
        self.state
    }

    pub fn is_open(&self) -> bool {
        self.state == FrameState::Open
    }

    /// What lies on an edge; `None` while its node has not ended.
    pub(crate) fn token(&self, ir: &Ir, edge: EdgeIx) -> Option<Token> {
        let edge = ir.edge(edge);
        let dead = |cause| Some(Token::Dead(cause));
        match self.node(ir, edge.from).ended()? {
            Ended::Done(went) => match (edge.on, went) {
                (on, went) if went.takes(on, ir, edge.to) => Some(Token::Live),
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
    pub(crate) fn verdict(&self, ir: &Ir, node: NodeIx) -> Verdict {
        let entry = ir.node(node);
        if entry.ins.is_empty() {
            return Verdict::Enter;
        }
        let (mut live, mut failed, mut missing) = (0, false, 0);
        for edge in &entry.ins {
            match self.token(ir, *edge) {
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

    pub(crate) fn close(&self, ir: &Ir) -> Close {
        let body = ir.body(self.body);
        let sinks = || body.sinks.iter().map(|sink| self.node(ir, *sink));
        let done = sinks().any(|state| matches!(state.ended(), Some(Ended::Done(_) | Ended::Failed(OnError::Ignore))));
        // One that failed the frame before and was not tried again.
        if self.nodes.iter().any(|slot| matches!(slot.state.ended(), Some(Ended::Failed(OnError::Fail)))) {
            return Close::Stranded;
        }
        let failed = sinks().any(|state| matches!(state.ended(), Some(Ended::Skipped(Cause::Failed) | Ended::Cancelled)));
        if failed && !done { Close::Stranded } else { Close::Done }
    }

    /// Where the output of a node is: its own, or that of the node it passed on. `None`: it came from before the frame.
    pub(crate) fn source(&self, ir: &Ir, node: NodeIx) -> Source {
        match self.node(ir, node) {
            NodeState::Done { output: Output::At(value), .. } => Source::Value(*value),
            NodeState::Done { output: Output::Passed, .. } => self.before(ir, node),
            _ => Source::Value(ValueAt::Null),
        }
    }

    /// What `output` is to a node.
    pub(crate) fn before(&self, ir: &Ir, node: NodeIx) -> Source {
        match ir.predecessors(node).as_slice() {
            [] => Source::Entry,
            [one] => self.source(ir, *one),
            many => Source::Several(
                many.iter().filter(|from| self.leads(ir, **from, node)).map(|from| (*from, self.source(ir, *from))).collect(),
            ),
        }
    }

    fn leads(&self, ir: &Ir, from: NodeIx, to: NodeIx) -> bool {
        let entered = self.slot(ir, to).entered;
        let in_time = entered == RecordSeq::NONE || self.slot(ir, from).last < entered;
        let mut edges = ir.node(to).ins.iter().filter(|edge| ir.edge(**edge).from == from);
        in_time && edges.any(|edge| self.token(ir, *edge) == Some(Token::Live))
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
            (Went::Done, On::Done) | (Went::Default, On::Default) => true,
            (Went::Reject, On::Reject) | (Went::Timeout, On::Timeout) | (Went::Max, On::Max) => true,
            (Went::Rule(took), On::Rule(rule)) => *took == rule,
            (Went::Named(id), On::Named) => ir.node(to).id == *id,
            // A branch is done whichever way it went.
            (Went::Rule(_) | Went::Default | Went::Named(_), On::Done) => true,
            _ => false,
        }
    }
}
