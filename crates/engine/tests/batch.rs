//! What one batch makes of commands that touch the same things.

use engine::{Answer, Core, Request, Ticket};
use kernel::command::{Command, NewTask, Reply};
use kernel::ids::TaskId;
use kernel::names::{Actor, IdempotencyKey, QueueName, TypeName};
use kernel::queue::QueueConfig;
use kernel::record::{Payload, TaskSpec};
use kernel::time::Time;
use std::sync::Arc;
use store::memory::MemoryDisk;

struct Bench {
    core: Core,
    now: Time,
}

impl Bench {
    fn tick(&mut self, commands: Vec<Command>) -> Vec<Answer> {
        self.now = self.now.plus_ms(10);
        let requests = (1..).zip(commands).map(|(ticket, command)| (Ticket(ticket), Request::Command(command))).collect();
        self.core.tick(self.now, 0, requests, true).answers.into_iter().map(|(_, answer)| answer).collect()
    }

    fn set_window(&mut self, ms: u64) {
        let config = Arc::new(QueueConfig { idempotency_window_ms: ms, ..QueueConfig::default() });
        self.tick(vec![Command::ConfigureQueue { queue: queue(), config, by: actor() }]);
    }
}

fn queue() -> QueueName {
    QueueName::parse("q").unwrap()
}

fn actor() -> Actor {
    Actor::parse("ann").unwrap()
}

fn add() -> Command {
    let spec = TaskSpec {
        queue: queue(),
        kind: TypeName::parse("t").unwrap(),
        priority: Default::default(),
        keys: Vec::new(),
        tags: Vec::new(),
        blocked_by: Vec::new(),
        scheduled_for: None,
        idempotency_key: Some(IdempotencyKey::parse("k").unwrap()),
        retry: None,
        budget_ms: None,
        idle: false,
    };
    Command::Add { tasks: vec![NewTask { spec, delay_ms: 0, input: Payload("{}".into()) }] }
}

fn added(answers: &[Answer]) -> (TaskId, bool) {
    match answers.last() {
        Some(Answer::Reply(Ok(Reply::Added(added)))) => (added[0].task, added[0].duplicate),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_key_stands_for_the_task_before_when_its_youngest_is_deleted_in_the_same_batch() {
    for (older_cold, younger_cold) in [(false, false), (true, false), (false, true), (true, true)] {
        let disk = MemoryDisk::default();
        let now = Time::from_us(1_700_000_000_000_000);
        let mut bench = Bench { core: Core::open(Box::new(disk.open()), 0, now).unwrap(), now };
        let cancel = |task| Command::Cancel { task, by: actor(), reason: String::new() };
        // Two tasks of one key: the window was too short for a while.
        let (older, _) = added(&bench.tick(vec![add()]));
        bench.set_window(1);
        let (younger, duplicate) = added(&bench.tick(vec![add()]));
        assert!(!duplicate && younger > older);
        bench.set_window(60_000);
        let colds = [(older, older_cold), (younger, younger_cold)];
        bench.tick(colds.into_iter().filter(|(_, cold)| *cold).map(|(task, _)| cancel(task)).collect());
        let delete = Command::Delete { task: younger, by: actor() };
        assert_eq!(added(&bench.tick(vec![delete, add()])), (older, true), "{older_cold} {younger_cold}");
    }
}
