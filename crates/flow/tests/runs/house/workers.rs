//! Workers: they take tasks, are given what the reference says they should be, and answer from the table of outcomes, in
//! whatever order, sometimes twice.

use super::{Held, House};
use crate::reference::Seen;
use kernel::command::{Command, Outcome, Reply};
use kernel::eval::Recipe;
use kernel::names::{TypeName, WorkerName};
use kernel::record::{Failure, Payload, ReleaseCause};
use kernel::run::NodeAt;

impl House<'_> {
    pub(super) fn lease(&mut self) {
        let kinds = [&["x"][..], &["y"], &["x", "y"]][self.chance.below(3)];
        let types = kinds.iter().map(|kind| TypeName::parse(kind).expect("a name")).collect();
        let worker = WorkerName::parse("w").expect("a name");
        let lease = Command::Lease { worker, types, queues: [].into(), want: self.chance.from(1, 3) };
        let Ok(Reply::Leased(grants)) = self.ask(self.queues(), &lease) else { panic!("a lease is granted or empty") };
        for grant in grants {
            let shard = &self.shards[self.queues()];
            let node = shard.state.task(grant.task).and_then(|task| task.card().node()).expect("a task of a run").clone();
            self.is_waited_for(&node, grant.task);
            // Neither a pause nor a release costs an attempt, or gives one back.
            let burnt = self.burnt.get(&grant.task).copied().unwrap_or(0);
            assert_eq!(grant.attempt, burnt + 1, "{} has spent {burnt} attempts", node.show());
            let instance = self.ledger.instance(&node);
            let recipe: Recipe = serde_json::from_str(shard.payloads[&grant.input].text()).expect("a recipe");
            let outcome = self.outcome(&node, &instance, &recipe, grant.attempt);
            self.leases.push(Held { task: grant.task, fence: grant.fence, instance, outcome });
        }
    }

    /// What the worker will say; and what it was given is what it should have been.
    fn outcome(&mut self, at: &NodeAt, instance: &str, recipe: &Recipe, attempt: u16) -> Option<Outcome> {
        let input = self.book.input(recipe);
        self.inputs.insert(instance.to_owned(), input.clone().ok());
        if let Some(expected) = self.expected {
            let wanted = expected.inputs.get(instance).unwrap_or_else(|| panic!("{instance} is no work"));
            match (wanted, &input) {
                (None, Err(_)) | (Some(Seen::Depends), _) => {}
                (Some(Seen::Value(wanted)), Ok(given)) => assert_eq!(given, wanted, "the input of {instance}"),
                (wanted, given) => panic!("the input of {instance} is {given:?}, not {wanted:?}"),
            }
        }
        let work = self.outcomes.work(instance);
        if u32::from(attempt) <= work.lost {
            return None;
        }
        if let Err(failure) = input {
            return Some(Outcome::Failed { failure, retryable: false, retry_after_ms: None });
        }
        let live = self.ledger.folded.live_run(recipe.scope.run).expect("it was started");
        let ir = live.frame(&at.frame).map_or(live.ir(), |frame| frame.ir());
        let retryable = ir.find(&recipe.node).is_some_and(|node| ir.node(node).retry.is_some());
        if u32::from(attempt) - work.lost <= work.failing {
            let failure = Failure { code: "oops".into(), message: format!("attempt {attempt}") };
            return Some(Outcome::Failed { failure, retryable, retry_after_ms: None });
        }
        Some(Outcome::Done { output: Payload(work.output.to_string().into()) })
    }

    pub(super) fn finish(&mut self, at: usize) {
        let held = self.leases.swap_remove(at);
        let (task, fence) = (held.task, held.fence);
        if self.ledger.nodes.contains_key(&held.instance) {
            self.ledger.occurred.insert("late result".into());
        }
        if self.chance.percent(6) {
            let reply = self.ask(self.queues(), &Command::Release { task, fence, cause: ReleaseCause::Undelivered });
            assert!(reply.is_ok(), "{}: {reply:?}", held.instance);
            return;
        }
        let command = match held.outcome.clone() {
            Some(outcome) => Command::Finish { task, fence, outcome, jitter: 0 },
            None => {
                self.ledger.occurred.insert("worker lost".into());
                Command::Lapse { task, fence, jitter: 0 }
            }
        };
        let reply = self.ask(self.queues(), &command);
        assert!(reply.is_ok(), "{}: {reply:?}", held.instance);
        *self.burnt.entry(task).or_default() += 1;
        if self.told.len() < 8 && held.outcome.is_some() {
            self.told.push(held);
        }
    }

    /// A worker that did not hear the answer says it again: nothing changes.
    pub(super) fn tell_again(&mut self) {
        let at = self.chance.below(self.told.len());
        let Held { task, fence, outcome, .. } = self.told.swap_remove(at);
        let outcome = outcome.expect("only what was told is told again");
        _ = self.ask(self.queues(), &Command::Finish { task, fence, outcome, jitter: 0 });
    }
}
