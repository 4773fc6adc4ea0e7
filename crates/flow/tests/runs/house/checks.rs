//! What holds after every command.

use super::House;
use kernel::frame::Token;
use kernel::ir::Join;
use kernel::node::NodeState;

impl House<'_> {
    /// The fold of the records is what is live.
    pub(super) fn compare(&self) {
        for (run, name) in &self.ledger.runs {
            let folded = self.ledger.folded.live_run(*run).expect("it was started");
            match self.shards[0].state.live_run(*run) {
                Some(live) => assert!(live.is_same(folded), "{name} is not the fold of its records:\n{live:#?}\n{folded:#?}"),
                None => assert!(folded.is_closed(), "{name} was lost"),
            }
        }
    }

    /// Work moves the moment it can: after a command nothing waits whose tokens are there, unless it is held. What the
    /// supervisor would find is lost already.
    pub(super) fn nothing_lags(&self) {
        let state = &self.shards[0].state;
        for (run, name) in &self.ledger.runs {
            let Some(live) = state.live_run(*run).filter(|live| !live.run().is_paused()) else { continue };
            let ir = live.ir();
            for (path, frame) in live.frames().filter(|(path, _)| live.goes_on(path)) {
                let nodes = &ir.body(frame.body()).nodes;
                let open = nodes.iter().any(|node| frame.node(ir, *node).ended().is_none());
                assert!(open || state.is_held(*run, &path, None), "{name}: frame `{path}` is over and not closed");
                for node in nodes.iter().filter(|node| *frame.node(ir, **node) == NodeState::Waiting) {
                    let tokens: Vec<_> = ir.node(*node).ins.iter().map(|edge| frame.carried(ir, *edge)).collect();
                    let live = tokens.iter().filter(|token| **token == Some(Token::Live)).count();
                    let fires = matches!(ir.node(*node).join, Join::NOf(wanted) if live >= usize::from(wanted) && live > 0);
                    let waits = !fires && tokens.iter().any(Option::is_none);
                    let id = &ir.node(*node).id;
                    assert!(waits || state.is_held(*run, &path, Some(*node)), "{name}: `{id}` in `{path}` could go on");
                }
            }
        }
    }
}
