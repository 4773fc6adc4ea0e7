//! What the tokens before a node say, by the rules of the design and from the records alone.

use super::runs::{self, NodeState, Runs};
use kernel::frame::{Cause, FramePath, Token};
use kernel::ids::RunId;
use kernel::ir::{EdgeIx, Ir, Join, NodeIx, On, OnError};
use kernel::node::Went;

#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    Wait,
    Enter,
    Skip(Cause),
}

impl Runs {
    /// What lies on an edge; `None` before its node has ended.
    pub fn token(&self, ir: &Ir, run: RunId, frame: &FramePath, edge: EdgeIx) -> Option<Token> {
        let edge = ir.edge(edge);
        let dead = |cause| Some(Token::Dead(cause));
        match self.node(&runs::at(run, frame, &ir.node(edge.from).id)) {
            NodeState::Waiting | NodeState::Started(_) => None,
            NodeState::Skipped(cause) => dead(*cause),
            NodeState::Cancelled | NodeState::Failed(OnError::Fail) => dead(Cause::Failed),
            NodeState::Failed(OnError::To) if edge.on == On::Error => Some(Token::Live),
            NodeState::Failed(OnError::To) => dead(Cause::Failed),
            NodeState::Failed(OnError::Ignore) if edge.on == On::Done => Some(Token::Live),
            NodeState::Failed(OnError::Ignore) => dead(Cause::Untaken),
            NodeState::Done(went) => {
                let live = match (edge.on, went) {
                    (On::Done, Went::Done | Went::Rule(_) | Went::Default | Went::Named(_) | Went::Heard(_)) => true,
                    (On::Rule(rule), Went::Rule(took)) => rule == *took,
                    (On::Named, Went::Named(id)) => ir.node(edge.to).id == *id,
                    (On::Default, Went::Default) | (On::Reject, Went::Reject) => true,
                    (On::Timeout, Went::Timeout) | (On::Max, Went::Max) => true,
                    _ => false,
                };
                let refused = edge.on == On::Done && matches!(went, Went::Reject | Went::Timeout);
                if live { Some(Token::Live) } else { dead(if refused { Cause::Failed } else { Cause::Untaken }) }
            }
        }
    }

    pub fn verdict(&self, ir: &Ir, run: RunId, frame: &FramePath, node: NodeIx) -> Verdict {
        let node = ir.node(node);
        if node.ins.is_empty() {
            return Verdict::Enter;
        }
        let tokens: Vec<Option<Token>> = node.ins.iter().map(|edge| self.token(ir, run, frame, *edge)).collect();
        let live = tokens.iter().filter(|token| **token == Some(Token::Live)).count();
        let failed = tokens.contains(&Some(Token::Dead(Cause::Failed)));
        let all_came = !tokens.contains(&None);
        match node.join {
            Join::NOf(n) if live >= usize::from(n) => Verdict::Enter,
            _ if !all_came => Verdict::Wait,
            Join::All if live > 0 && !failed => Verdict::Enter,
            _ if failed || live > 0 => Verdict::Skip(Cause::Failed),
            _ => Verdict::Skip(Cause::Untaken),
        }
    }
}
