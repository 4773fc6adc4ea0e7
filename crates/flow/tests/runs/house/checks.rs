//! What holds after every command.

use super::House;
use kernel::frame::{FramePath, Token};
use kernel::ids::TaskId;
use kernel::ir::{Join, NodeKind};
use kernel::message::Message;
use kernel::names::NodeId;
use kernel::node::{NodeState, Started};
use kernel::run::{NodeAt, RunStatus};
use std::collections::BTreeMap;

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
            for (path, frame) in live.frames().filter(|(path, _)| live.goes_on(path)) {
                let ir = frame.ir();
                let nodes = &ir.body(frame.body()).nodes;
                let open = nodes.iter().any(|node| frame.node(*node).ended().is_none());
                assert!(open || state.is_held(*run, &path, None), "{name}: frame `{path}` is over and not closed");
                for node in nodes.iter().filter(|node| *frame.node(**node) == NodeState::Waiting) {
                    let tokens: Vec<_> = ir.node(*node).ins.iter().map(|edge| frame.carried(*edge)).collect();
                    let live = tokens.iter().filter(|token| **token == Some(Token::Live)).count();
                    let fires = matches!(ir.node(*node).join, Join::NOf(wanted) if live >= usize::from(wanted) && live > 0);
                    let waits = !fires && tokens.iter().any(Option::is_none);
                    let id = &ir.node(*node).id;
                    assert!(waits || state.is_held(*run, &path, Some(*node)), "{name}: `{id}` in `{path}` could go on");
                }
            }
        }
    }

    /// Of an each no more items are open than may be at once, whatever was restarted or tried again in it.
    pub(super) fn items_have_room(&self) {
        for (run, name) in &self.ledger.runs {
            let Some(live) = self.shards[0].state.live_run(*run) else { continue };
            let mut open: BTreeMap<(FramePath, NodeId), u32> = BTreeMap::new();
            for (path, _) in live.frames().filter(|(path, _)| !path.is_root() && live.goes_on(path)) {
                let (above, id, _) = path.up().expect("it is below the root");
                *open.entry((above, id.clone())).or_default() += 1;
            }
            for ((path, id), many) in open {
                let ir = live.frame(&path).expect("it is above one that goes on").ir();
                let room = match ir.node(ir.find(&id).expect("a node of the workflow")).kind {
                    NodeKind::Each { concurrency, .. } => concurrency,
                    _ => 1,
                };
                assert!(many <= room, "{name}: {many} of `{id}` in `{path}` at once, and there is room for {room}");
            }
        }
    }

    /// A run that was called ends with the node that called it.
    pub(super) fn nobody_is_abandoned(&self) {
        for (run, name) in &self.ledger.runs {
            let live = self.ledger.folded.live_run(*run).expect("it was started");
            let Some(at) = live.run().spec().parent.as_ref().filter(|_| live.run().status() == RunStatus::Running) else {
                continue;
            };
            let caller = self.ledger.folded.live_run(at.run).expect("it was started");
            let frame = caller.frame(&at.frame).expect("a node's frame is there");
            let state = frame.node(frame.ir().find(&at.node).expect("a node of the workflow"));
            let waits = matches!(state, NodeState::Started { at: Started::Calling { run: its, .. }, .. } if its == run);
            assert!(waits, "{name} goes on and nobody waits for it");
        }
    }

    /// What a run called is paused with it, and goes on with it.
    pub(super) fn pauses_go_down(&self) {
        for (run, name) in &self.ledger.runs {
            let live = self.ledger.folded.live_run(*run).expect("it was started");
            let Some(at) = live.run().spec().parent.as_ref().filter(|_| live.run().status() == RunStatus::Running) else {
                continue;
            };
            let caller = self.ledger.folded.live_run(at.run).expect("it was started").run();
            // What was undone is stopped, whatever else.
            if self.ledger.is_undone(*run) {
                continue;
            }
            assert_eq!(live.run().is_held(), caller.is_paused(), "{name} is paused with its caller");
        }
    }

    /// A run that is closed leaves nothing behind.
    pub(super) fn nothing_is_left(&self) {
        assert!(self.ledger.asking.is_empty(), "{:?} is asked by a run that has ended", self.ledger.asking.keys());
        for (run, name) in &self.ledger.runs {
            let live = self.ledger.folded.live_run(*run).expect("it was started");
            for (path, frame) in live.frames().filter(|(_, frame)| !frame.is_past()) {
                assert!(path.is_root() || !frame.is_open(), "{name}: frame `{path}` is open");
                let nodes = frame.ir().body(frame.body()).nodes.iter();
                let busy = nodes.filter(|node| matches!(frame.node(**node), NodeState::Started { .. }));
                let busy: Vec<&str> = busy.map(|node| frame.ir().node(*node).id.as_str()).collect();
                assert!(busy.is_empty(), "{name}: {busy:?} in `{path}` go on");
            }
        }
    }

    /// Nobody does what nobody waits for, once that was heard.
    pub(super) fn is_waited_for(&self, at: &NodeAt, task: TaskId) {
        let live = self.ledger.folded.live_run(at.run).expect("it was started");
        let frame = live.frame(&at.frame).filter(|frame| !frame.is_past());
        let state = frame.and_then(|frame| Some(frame.node(frame.ir().find(&at.node)?)));
        let waits = matches!(state, Some(NodeState::Started { at: Started::Working { task: its }, .. }) if *its == task);
        let unheard = self.mail[1].iter().any(|message| matches!(message, Message::Withdraw { task: its, .. } if *its == task));
        assert!(waits || unheard, "{} is leased and nobody waits for it", at.show());
        let held = |message: &Message| matches!(message, Message::Hold { task: its, .. } if *its == task);
        let unheard = unheard || self.mail[1].iter().any(held);
        assert!(unheard || !live.run().is_paused(), "{} is leased while its run is paused", at.show());
    }
}
