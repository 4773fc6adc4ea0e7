//! A run that has ended is deleted, whatever is told late or twice meanwhile, and nothing of it is left on any shard.

use super::{House, actor};
use kernel::command::Command;
use kernel::message::Message;
use kernel::row::{FRAMES, NODES, RUNS, TASKS, Table};

/// Rounds within which it has gone: a wide run goes in chunks.
const ROUNDS_MAX: usize = 200;
const OF_RUNS: [&Table; 4] = [&RUNS, &FRAMES, &NODES, &TASKS];

impl House<'_> {
    /// Deletes the run, to the last row.
    pub fn delete(&mut self) {
        self.ask_to_delete();
        for _ in 0..ROUNDS_MAX {
            if self.rows_left() == 0 {
                return;
            }
            self.remove_some();
        }
        panic!("{} rows are left of a run that was deleted", self.rows_left());
    }

    pub fn ask_to_delete(&mut self) {
        let delete = Command::DeleteRun { run: self.root, by: actor() };
        let (reply, stepped) = self.shards[0].ask(&delete, self.now, &mut self.book);
        assert!(reply.is_ok(), "{reply:?}");
        self.post(stepped.outbox);
    }

    /// One round of what deleting takes: batches, and the mail between them.
    pub fn remove_some(&mut self) {
        self.now = self.now.plus_ms(400);
        if self.chance.percent(self.ways.restart_percent) {
            let shard = self.chance.below(self.shards.len());
            self.shards[shard].restart(self.now);
        }
        self.remove_by(0, &Command::ProceedRuns);
        for side in [1, 0] {
            if self.chance.percent(30) {
                continue;
            }
            while let Some(message) = self.mail[side].pop_front() {
                self.heard[side].push(message.clone());
                self.remove_by(side, &Command::Hear(Box::new(message)));
            }
            // Again from some message on, as a mailbox does that is not sure how far it has come.
            if self.shards.len() > 1 && self.chance.percent(20) && !self.heard[side].is_empty() {
                let from = self.chance.below(self.heard[side].len());
                let again: Vec<Message> = self.heard[side][from..].to_vec();
                again.into_iter().for_each(|message| self.remove_by(side, &Command::Hear(Box::new(message))));
            }
        }
    }

    /// The ledger has nothing to say of what goes without a record.
    fn remove_by(&mut self, shard: usize, command: &Command) {
        let shard = shard.min(self.queues());
        let (_, stepped) = self.shards[shard].ask(command, self.now, &mut self.book);
        self.post(stepped.outbox);
    }

    pub fn rows_left(&self) -> usize {
        self.shards.iter().map(|shard| shard.count(&OF_RUNS)).sum()
    }

    /// A worker takes something, and keeps it.
    pub fn take_one(&mut self) {
        while self.leases.is_empty() {
            self.deliver_all();
            self.lease();
        }
    }

    /// What was taken is given back as done.
    pub fn finish_all(&mut self) {
        while let Some(held) = self.leases.pop() {
            let outcome = held.outcome.expect("no worker falls silent here");
            let finish = Command::Finish { task: held.task, fence: held.fence, outcome, jitter: 0 };
            let shard = self.queues();
            self.remove_by(shard, &finish);
        }
    }

    pub fn cancel(&mut self) {
        let reply = self.ask(0, &Command::CancelRun { run: self.root, by: actor(), reason: "enough".into() });
        assert!(reply.is_ok(), "{reply:?}");
        self.deliver_all();
    }

    fn deliver_all(&mut self) {
        while self.mail.iter().any(|mail| !mail.is_empty()) {
            self.deliver();
        }
    }
}
