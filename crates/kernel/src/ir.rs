//! A workflow as the kernel drives it: checked, flat and immutable. `flow` makes it from a definition; what it promises is
//! relied upon here without a second look:
//!
//! - node ids are unique over all bodies; indexes lead somewhere;
//! - within a body edges form no cycle, and `Body::nodes` is in an order in which every edge leads forward;
//! - an edge joins two nodes of one body; every node but the entries has one; no pair (edge, frame) is taken twice;
//! - the body of a `loop` or an `each` has one entry and one sink; the workflow's own has at least one of each;
//! - between two nodes at most one edge can be live;
//! - every expression compiles, and reads only what is upstream of the node it belongs to: what comes before it in its body,
//!   and before the loop or each around that, outwards. A body's output and a loop's `until` are read when a frame has ended,
//!   and see all of that body. `output` is read only by nodes with an in-edge, and by `until`.

use crate::names::{EventName, KeyName, NodeId, QueueName, TypeName, WorkflowName};
use crate::priority::Priority;
use crate::retry::RetryPolicy;
use std::sync::Arc;

macro_rules! index {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Copy, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub struct $name(pub u32);

        impl $name {
            pub fn at(self) -> usize {
                self.0 as usize
            }
        }
    };
}

index!(
    /// Into `Ir::nodes`.
    NodeIx
);
index!(
    /// Into `Ir::edges`.
    EdgeIx
);
index!(
    /// Into `Ir::bodies`; 0 is the workflow's own.
    BodyIx
);
index!(
    /// Into `Ir::exprs`.
    ExprIx
);

pub const ROOT: BodyIx = BodyIx(0);

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Ir {
    pub workflow: WorkflowName,
    pub version: u32,
    pub nodes: Vec<Node>,
    /// Their numbers in the order of their ids.
    pub by_id: Vec<NodeIx>,
    pub edges: Vec<Edge>,
    pub bodies: Vec<Body>,
    pub exprs: Vec<Expr>,
    pub limits: RunLimits,
    /// The JSON Schema of the input, as text; the kernel has it checked, and never looks into it.
    pub input_schema: Option<Arc<str>>,
    /// Made of a text that is not its version's: the digest of that.
    pub revised: Option<u128>,
}

/// A graph that is walked once for each frame.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Body {
    /// The loop or each it belongs to.
    pub of: Option<NodeIx>,
    pub nodes: Vec<NodeIx>,
    pub entries: Vec<NodeIx>,
    /// Nodes without an out-edge, whatever it is on. Where they lead decides how the frame ends.
    pub sinks: Vec<NodeIx>,
    /// What a frame of it gives; without one, the output of its sink (of several: `{id: output}` of those that are done).
    pub output: Option<ExprIx>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct Edge {
    pub from: NodeIx,
    pub to: NodeIx,
    pub on: On,
}

/// What an edge is live on. When its node ends another way, its token is dead.
#[derive(Copy, Clone, PartialEq, Eq, Hash, Debug)]
pub enum On {
    /// The node is done (a branch: whichever way it went).
    Done,
    /// A branch took this rule.
    Rule(u16),
    /// A branch took none.
    Default,
    /// A branch whose predecessor's output names the next node.
    Named,
    /// The node failed, its attempts spent.
    Error,
    /// An approval was refused.
    Reject,
    /// An approval was not answered in time, or an event did not come.
    Timeout,
    /// A loop reached its most iterations.
    Max,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    pub id: NodeId,
    pub body: BodyIx,
    /// Where it stands in `Body::nodes`.
    pub place: u32,
    pub kind: NodeKind,
    pub ins: Vec<EdgeIx>,
    pub outs: Vec<EdgeIx>,
    pub join: Join,
    /// Entered only if this is true; else skipped, as untaken.
    pub when: Option<ExprIx>,
    pub on_error: OnError,
    pub retry: Option<RetryPolicy>,
    /// Of one attempt; of an approval, a wait or a sub-run: of the whole.
    pub timeout_ms: Option<u64>,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Join {
    /// With a live token and no failed one, when all have come.
    All,
    /// At the n-th live token; the rest are taken in as they come. `any` is one.
    NOf(u16),
}

/// What a node's failure means, after its attempts.
#[derive(Copy, Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OnError {
    /// The frame fails, and with it what it belongs to, up to the run.
    Fail,
    /// Its `On::Error` edges are live.
    To,
    /// Its `On::Done` edges are live all the same; its output is null.
    Ignore,
}

impl OnError {
    pub const fn as_str(self) -> &'static str {
        match self {
            OnError::Fail => "fail",
            OnError::To => "to",
            OnError::Ignore => "ignore",
        }
    }

    pub fn parse(text: &str) -> Option<OnError> {
        [OnError::Fail, OnError::To, OnError::Ignore].into_iter().find(|then| then.as_str() == text)
    }
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodeKind {
    /// A task for a worker.
    Work {
        kind: TypeName,
        queue: QueueName,
        priority: Option<Priority>,
        keys: Vec<(KeyName, ExprIx)>,
        /// Its input; without one, what `output` is to it.
        with: Option<ExprIx>,
    },
    /// Its rules in order, the first that holds.
    Branch {
        rules: Vec<ExprIx>,
    },
    /// What this gives names one of the nodes it leads to (`On::Named`).
    Route {
        by: ExprIx,
    },
    Loop {
        body: BodyIx,
        iterations_max: u32,
        init: Option<ExprIx>,
        /// Read in the frame that has ended: `output` is the body's, `nodes` those of the body and what is upstream of the loop.
        until: ExprIx,
    },
    Each {
        body: BodyIx,
        items: ExprIx,
        /// Frames open at once.
        concurrency: u32,
        on_failure: EachFailure,
    },
    /// Only joins.
    Join,
    Approval {
        who: Vec<Arc<str>>,
        message: Option<ExprIx>,
    },
    Sleep(Sleep),
    /// An event of this name is waited for.
    Wait {
        event: EventName,
        /// Holds for the one that is meant; without it, the first is.
        matches: Option<ExprIx>,
        key: Option<WaitKey>,
    },
    /// A run of its own; `with` is its input.
    Workflow {
        workflow: WorkflowName,
        /// Without one, the newest when it starts.
        version: Option<u32>,
        with: Option<ExprIx>,
    },
    /// Evaluated in the engine.
    Transform {
        value: ExprIx,
        /// What its author called it: `transform`, `filter`, `aggregate`, `parallel`.
        called: &'static str,
    },
}

/// What `matches` demands of an event before anything else: that something of it is equal to something of the run. Whoever
/// waits is found by that, however many there are.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub struct WaitKey {
    /// Reads only the event.
    pub of: ExprIx,
    /// Does not read it.
    pub is: ExprIx,
    /// `matches` demands nothing else.
    pub whole: bool,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Sleep {
    For {
        ms: u64,
    },
    /// Milliseconds, as a number.
    ForExpr(ExprIx),
    /// An instant, as text in RFC 3339.
    UntilExpr(ExprIx),
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum EachFailure {
    /// The first item that fails fails it; the others are cancelled.
    Fast,
    /// All items end; then one that failed fails it.
    WaitAll,
    /// So many may fail; each gives null.
    Tolerate(u32),
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expr {
    pub source: Arc<str>,
    pub form: Form,
    pub reads: Reads,
}

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Form {
    Cel,
    /// JSON with `${…}` in its texts.
    Template,
}

/// What an expression reads, so that only this is put before it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Reads {
    pub input: bool,
    pub output: bool,
    /// `item` and `index` of the `each` around it.
    pub item: bool,
    /// `iteration` and `last` of the `loop` around it.
    pub last: bool,
    pub run: bool,
    pub event: bool,
    pub nodes: Vec<NodeIx>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunLimits {
    /// The run fails when it is not over by then.
    pub deadline_ms: Option<u64>,
    /// It fails when nothing that could move has moved for so long.
    pub stall_ms: u64,
    /// It fails when it would begin more nodes, turns and items than that.
    pub steps_max: u32,
}

impl NodeKind {
    /// What a node is, as its definition says it.
    pub fn type_name(&self) -> &str {
        match self {
            NodeKind::Work { kind, .. } => kind.as_str(),
            NodeKind::Branch { .. } | NodeKind::Route { .. } => "branch",
            NodeKind::Loop { .. } => "loop",
            NodeKind::Each { .. } => "each",
            NodeKind::Join => "join",
            NodeKind::Approval { .. } => "approval",
            NodeKind::Sleep(_) => "sleep",
            NodeKind::Wait { .. } => "wait",
            NodeKind::Workflow { .. } => "workflow",
            NodeKind::Transform { called, .. } => called,
        }
    }
}

impl Ir {
    /// For a run whose workflow is not to be had: there is nothing in it.
    pub(crate) fn blank(workflow: WorkflowName, version: u32) -> Ir {
        let root = Body { of: None, nodes: Vec::new(), entries: Vec::new(), sinks: Vec::new(), output: None };
        Ir {
            workflow,
            version,
            nodes: Vec::new(),
            by_id: Vec::new(),
            edges: Vec::new(),
            bodies: vec![root],
            exprs: Vec::new(),
            limits: RunLimits { deadline_ms: None, stall_ms: u64::MAX, steps_max: 0 },
            input_schema: None,
            revised: None,
        }
    }

    pub fn node(&self, ix: NodeIx) -> &Node {
        &self.nodes[ix.at()]
    }

    pub fn edge(&self, ix: EdgeIx) -> &Edge {
        &self.edges[ix.at()]
    }

    pub fn body(&self, ix: BodyIx) -> &Body {
        &self.bodies[ix.at()]
    }

    pub fn expr(&self, ix: ExprIx) -> &Expr {
        &self.exprs[ix.at()]
    }

    pub fn find(&self, id: &NodeId) -> Option<NodeIx> {
        let at = self.by_id.binary_search_by(|ix| self.node(*ix).id.cmp(id)).ok()?;
        Some(self.by_id[at])
    }

    /// A node of this body: ids are of the whole text.
    pub fn find_in(&self, body: BodyIx, id: &NodeId) -> Option<NodeIx> {
        self.find(id).filter(|node| self.node(*node).body == body)
    }

    /// What a wait asks of an event beyond what it is found by, as it is written.
    pub fn match_beyond_key(&self, node: NodeIx) -> Option<&str> {
        match self.node(node).kind {
            NodeKind::Wait { key: Some(WaitKey { whole: true, .. }), .. } => None,
            NodeKind::Wait { matches, .. } => matches.map(|matches| &*self.expr(matches).source),
            _ => None,
        }
    }

    pub fn is_loop(&self, node: NodeIx) -> bool {
        matches!(self.node(node).kind, NodeKind::Loop { .. })
    }

    /// The body of a loop or an each.
    pub fn body_of(&self, node: NodeIx) -> Option<BodyIx> {
        match self.node(node).kind {
            NodeKind::Loop { body, .. } | NodeKind::Each { body, .. } => Some(body),
            _ => None,
        }
    }

    /// The order of ids, for `by_id`.
    pub fn sorted(nodes: &[Node]) -> Vec<NodeIx> {
        let mut by_id: Vec<NodeIx> = (0..nodes.len() as u32).map(NodeIx).collect();
        by_id.sort_by(|a, b| nodes[a.at()].id.cmp(&nodes[b.at()].id));
        by_id
    }

    /// The nodes its in-edges come from, each once, in their order.
    pub fn predecessors(&self, node: NodeIx) -> Vec<NodeIx> {
        let mut from: Vec<NodeIx> = self.node(node).ins.iter().map(|edge| self.edge(*edge).from).collect();
        from.sort_unstable();
        from.dedup();
        from
    }
}
