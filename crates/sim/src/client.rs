//! What clients ask, at random: mostly sense, some nonsense. They know the ids that were ever given out, so they also
//! ask about what is finished, deleted or running elsewhere.

use crate::chance::Chance;
use crate::model::Model;
use crate::temper::{Temper, Wish};
use engine::Request;
use kernel::bulk::{BulkWork, TaskFilter};
use kernel::command::{Command, NewTask, PauseUntil};
use kernel::ids::{BulkId, EventId, RunId, TaskId};
use kernel::limits::{ADD_TASKS_MAX, BULKS_OPEN_MAX, QUEUE_BOOSTS_MAX};
use kernel::names::{Actor, IdempotencyKey, KeyName, KeyValue, QueueName};
use kernel::priority::Priority;
use kernel::queue::{BacklogFull, BoostOn, Fairness, KeyLimit, QueueConfig};
use kernel::rate::Rate;
use kernel::record::{Payload, TaskSpec};
use kernel::retry::RetryPolicy;
use kernel::time::Time;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Everything a client can see when it thinks of its next request.
pub struct Client<'a> {
    pub chance: &'a mut Chance,
    pub temper: &'a Temper,
    pub model: &'a Model,
    pub tasks: &'a [TaskId],
    pub bulks: &'a [BulkId],
    pub runs: &'a [RunId],
    pub events: &'a [EventId],
    pub now: Time,
    /// Numbers the inputs, so that each is its own.
    pub inputs: &'a mut u64,
}

pub fn actor() -> Actor {
    Actor::parse("sim").expect("a name")
}

/// What a client sends again when it hears nothing: an add whose key says that it is the same.
pub fn again(request: &Request) -> Option<Command> {
    match request {
        Request::Command(add @ Command::Add { tasks }) if tasks.iter().all(|new| new.spec.idempotency_key.is_some()) => {
            Some(add.clone())
        }
        Request::Command(emit @ Command::Emit { events, .. }) if events.iter().all(|new| new.spec.key.is_some()) => {
            Some(emit.clone())
        }
        Request::Command(start @ Command::StartRun { new, .. }) if new.spec.idempotency_key.is_some() => Some(start.clone()),
        _ => None,
    }
}

impl Client<'_> {
    /// Usually one; a flood is many.
    pub fn requests(mut self) -> Vec<Request> {
        let by = actor();
        if let Some(task) = self.telling()
            && self.chance.permille(300)
        {
            return vec![Request::Command(Command::Reset { task, by })];
        }
        let wish = self.temper.wish(self.chance);
        let command = match wish {
            Wish::Add | Wish::AddMany if self.model.live() >= self.temper.live_max => return Vec::new(),
            Wish::Add => Command::Add { tasks: vec![self.new_task()] },
            Wish::AddMany => return self.add_many(),
            Wish::Cancel => Command::Cancel { task: self.task(), by, reason: "not needed".into() },
            Wish::Retry if self.chance.permille(300) => return self.start_over(),
            Wish::Retry => Command::Retry { task: self.task(), by },
            Wish::Reset => Command::Reset { task: self.task(), by },
            Wish::Start => Command::Start { task: self.task(), force: self.chance.permille(400), worker: None, by },
            Wish::Delete => Command::Delete { task: self.task(), by },
            Wish::Reprioritize => {
                let tasks: Vec<TaskId> = (0..1 + self.chance.below(3)).map(|_| self.task()).collect();
                let queue = self.model.tasks.get(&tasks[0]).map(|task| task.queue.clone());
                Command::Reprioritize { queue: queue.unwrap_or_else(|| self.queue()), tasks, priority: self.priority(), by }
            }
            Wish::Configure => Command::ConfigureQueue { queue: self.queue(), config: Arc::new(self.config()), by },
            Wish::Pause => {
                let ms = self.chance.between(1, 20_000);
                let until = match self.chance.below(3) {
                    0 => PauseUntil::Resumed,
                    1 => PauseUntil::At(self.now.plus_ms(ms)),
                    _ => PauseUntil::After { ms },
                };
                Command::PauseQueue { queue: self.queue(), until, reason: "a deploy".into(), by }
            }
            Wish::Resume => Command::ResumeQueue { queue: self.queue(), by },
            Wish::Boost => {
                let on = BoostOn { key: self.chance.permille(600).then(|| self.key()).flatten() };
                Command::BoostQueue { queue: self.queue(), on, boost: self.priority(), by }
            }
            Wish::Bulk => Command::StartBulk { work: self.bulk_work(), by, reason: "tidying".into() },
            Wish::CancelBulk => return self.cancel_bulk(),
            Wish::RedriveTasks => {
                let tasks = (0..1 + self.chance.below(4)).map(|_| self.task()).collect();
                Command::RedriveTasks { queue: self.queue(), tasks, by }
            }
            Wish::Look => return vec![self.look()],
            Wish::Mistake => self.mistake(),
            Wish::Flood => return self.flood(),
            Wish::Stop => return vec![Request::Stop],
            Wish::StartRun if self.model.runs.live().count() >= self.temper.runs_max => return Vec::new(),
            Wish::PutWorkflow
            | Wish::DisableWorkflow
            | Wish::EnableWorkflow
            | Wish::StartRun
            | Wish::CancelRun
            | Wish::PauseRun
            | Wish::ResumeRun
            | Wish::RetryRun
            | Wish::DeleteRun
            | Wish::ExpireRuns
            | Wish::Answer
            | Wish::LookAtRun
            | Wish::RunMistake
            | Wish::RunBulk
            | Wish::Echo
            | Wish::PatchRun
            | Wish::RestartRun
            | Wish::SkipNode => return self.about_runs(wish),
            Wish::Emit
            | Wish::ReplayEvent
            | Wish::ExpireEvents
            | Wish::PutRegistry
            | Wish::PauseFamilies
            | Wish::ResumeFamilies
            | Wish::BoostFamilies
            | Wish::NoteRefused
            | Wish::EventMistake => return self.about_events(wish),
        };
        vec![Request::Command(command)]
    }

    fn queue(&mut self) -> QueueName {
        self.chance.pick(&self.temper.queues).clone()
    }

    fn key(&mut self) -> Option<(KeyName, KeyValue)> {
        if self.temper.keys.is_empty() {
            return None;
        }
        Some((self.chance.pick(&self.temper.keys).clone(), self.chance.pick(&self.temper.values).clone()))
    }

    /// One of the newest, as a rule: those are the ones that still move.
    fn task(&mut self) -> TaskId {
        let Some(newest) = self.tasks.len().checked_sub(1) else { return TaskId::new(7, 0) };
        let back = if self.chance.permille(800) { self.chance.below(newest.min(12) + 1) } else { self.chance.below(newest + 1) };
        self.tasks[newest - back]
    }

    fn one_of(&mut self, tasks: &BTreeSet<TaskId>) -> TaskId {
        let at = self.chance.below(tasks.len().max(1));
        tasks.iter().nth(at).copied().unwrap_or_else(|| self.task())
    }

    pub(crate) fn priority(&mut self) -> Priority {
        let seconds = *self.chance.pick(&[0, 0, 600, -600, 3_600, 1, -3, 30]);
        Priority::seconds(seconds).expect("within bounds")
    }

    pub(crate) fn retry(&mut self) -> RetryPolicy {
        RetryPolicy {
            attempts: 1 + self.chance.below(4) as u16,
            backoff_ms: *self.chance.pick(&[0, 10, 300, 2_000]),
            backoff_max_ms: *self.chance.pick(&[0, 1_000, 10_000]),
            jitter_percent: *self.chance.pick(&[0, 10, 100]),
        }
    }

    pub(crate) fn rate(&mut self) -> Rate {
        Rate {
            count: 1 + self.chance.below(5) as u32,
            per_ms: *self.chance.pick(&[10, 100, 1_000, 7_000]),
            burst: *self.chance.pick(&[1, 1, 2, 5]),
        }
    }

    fn new_task(&mut self) -> NewTask {
        let mut keys = BTreeMap::new();
        for name in &self.temper.keys {
            if self.chance.permille(700) {
                keys.insert(name.clone(), self.chance.pick(&self.temper.values).clone());
            }
        }
        let tags = self.temper.tags.iter().filter(|_| self.chance.permille(400)).cloned().collect();
        let blockers = if self.chance.permille(200) { 1 + self.chance.below(3) } else { 0 };
        let blocked_by = (0..blockers).map(|_| self.task()).collect();
        let scheduled_for = self.chance.maybe(150, |chance| chance.between(0, 10_000)).map(|ms| self.now.plus_ms(ms));
        // Few keys, so that they are used again and again.
        let idempotency_key =
            self.chance.maybe(300, |chance| IdempotencyKey::parse(&format!("k{}", chance.below(12))).expect("a key"));
        let spec = TaskSpec {
            queue: self.queue(),
            kind: self.chance.pick(&self.temper.types).clone(),
            priority: self.priority(),
            keys: keys.into_iter().collect(),
            tags,
            blocked_by,
            scheduled_for,
            idempotency_key,
            retry: if self.chance.permille(300) { Some(self.retry()) } else { None },
            budget_ms: self.chance.maybe(200, |chance| chance.between(1, 8_000)),
            idle: self.chance.permille(100),
            node: None,
            generation: 0,
            start_by: self.start_by(),
            trigger: None,
            input: None,
        };
        let delay_ms = self.chance.maybe(100, |chance| chance.between(1, 5_000)).unwrap_or(0);
        *self.inputs += 1;
        NewTask { spec, delay_ms, input: Payload(format!("{{\"n\":{}}}", self.inputs).into()) }
    }

    /// In worlds with events alone.
    fn start_by(&mut self) -> Option<Time> {
        let within_ms = if self.temper.events { self.chance.maybe(100, |chance| chance.between(1, 8_000)) } else { None };
        within_ms.map(|ms| self.now.plus_ms(ms))
    }

    fn add_many(&mut self) -> Vec<Request> {
        let tasks = (0..1 + self.chance.below(8)).map(|_| self.new_task()).collect();
        vec![Request::Command(Command::Add { tasks })]
    }

    /// Very many, alike but for one thing, so that there is more of it than a chunk can hold.
    pub fn crowd(mut self, kind: usize) -> Vec<Request> {
        let mut like = self.new_task();
        like.delay_ms = 0;
        (like.spec.idempotency_key, like.spec.idle) = (None, false);
        like.spec.blocked_by.clear();
        let mut before = Vec::new();
        let mut spread = None;
        match (kind % 4, self.temper.keys.first()) {
            (0, Some(name)) => {
                // Each with a key of its own, under a rate: more permits than are kept.
                let limit = KeyLimit { concurrency: None, rate: Some(Rate { count: 1, per_ms: 1_000, burst: 1 }) };
                let config = QueueConfig { keys: BTreeMap::from([(name.clone(), limit)]), ..QueueConfig::default() };
                let queue = like.spec.queue.clone();
                before.push(Request::Command(Command::ConfigureQueue { queue, config: Arc::new(config), by: actor() }));
                spread = Some((name, 500 * self.chance.below(3)));
            }
            // All behind one that is likely to be done soon.
            (1, _) => like.spec.blocked_by = vec![self.model.running.first().copied().unwrap_or_else(|| self.task())],
            (2, _) => like.spec.scheduled_for = Some(self.now.plus_ms(2_000)),
            _ => {}
        }
        let one = |n: usize| {
            let mut new = like.clone();
            if let Some((name, from)) = spread {
                let value = KeyValue::parse(&format!("v{}", from + n)).expect("a value");
                new.spec.keys = vec![(name.clone(), value)];
            }
            *self.inputs += 1;
            new.input = Payload(format!("{{\"n\":{}}}", self.inputs).into());
            new
        };
        let tasks: Vec<NewTask> = (0..1_300).map(one).collect();
        before.extend(tasks.chunks(ADD_TASKS_MAX).map(|tasks| Request::Command(Command::Add { tasks: tasks.to_vec() })));
        before
    }

    pub(crate) fn config(&mut self) -> QueueConfig {
        let mut keys = BTreeMap::new();
        for name in &self.temper.keys {
            if self.chance.permille(600) {
                let concurrency = self.chance.maybe(600, |chance| 1 + chance.below(3) as u32);
                let rate = if self.chance.permille(400) { Some(self.rate()) } else { None };
                keys.insert(name.clone(), KeyLimit { concurrency, rate });
            }
        }
        let fairness = self.temper.keys.first().filter(|_| self.chance.permille(400)).map(|_| {
            let weights = self.temper.values.iter().filter(|_| self.chance.permille(300)).cloned();
            let weights: Vec<KeyValue> = weights.collect();
            Fairness {
                key: self.chance.pick(&self.temper.keys).clone(),
                step_ms: *self.chance.pick(&[1, 100, 60_000]),
                weights: weights.into_iter().map(|value| (value, 1 + self.chance.below(3) as u32)).collect(),
            }
        });
        QueueConfig {
            concurrency: self.chance.maybe(500, |chance| 1 + chance.below(4) as u32),
            rate: if self.chance.permille(250) { Some(self.rate()) } else { None },
            keys,
            fairness,
            retry: self.retry(),
            heartbeat_ms: *self.chance.pick(&[100, 1_000, 5_000, 30_000]),
            budget_ms: *self.chance.pick(&[300, 4_000, 60_000, 86_400_000]),
            backlog_max: self.chance.maybe(150, |chance| 1 + chance.below(20) as u32),
            backlog_full: self.backlog_full(),
            require_tag: self.temper.tags.first().filter(|_| self.chance.permille(150)).cloned(),
            override_slots: self.chance.below(4) as u32,
            idempotency_window_ms: *self.chance.pick(&[0, 500, 5_000, 86_400_000]),
        }
    }

    fn backlog_full(&mut self) -> BacklogFull {
        let drops = self.temper.events && self.chance.permille(500);
        if drops { BacklogFull::DropOldest } else { BacklogFull::Refuse }
    }

    fn filter(&mut self) -> TaskFilter {
        TaskFilter {
            kind: self.chance.permille(300).then(|| self.chance.pick(&self.temper.types).clone()),
            key: if self.chance.permille(300) { self.key() } else { None },
            tag: self.chance.permille(200).then(|| self.chance.pick(&self.temper.tags).clone()),
            error_code: self.chance.permille(200).then(|| "broken".to_owned()),
            family: if self.temper.events && self.chance.permille(400) { Some(self.pattern()) } else { None },
        }
    }

    /// All that waits, as a rule.
    fn family_filter(&mut self) -> TaskFilter {
        let family = if self.temper.events && self.chance.permille(400) { Some(self.pattern()) } else { None };
        TaskFilter { family, ..TaskFilter::default() }
    }

    fn bulk_work(&mut self) -> BulkWork {
        let (queue, upto) = (self.queue(), TaskId::new(0, 0));
        if self.temper.events && self.chance.permille(250) {
            let families = (0..1 + self.chance.below(2)).map(|_| self.pattern()).collect();
            let priority = *self.chance.pick(&[Priority::BACKGROUND, Priority::NORMAL, Priority::HIGH]);
            return BulkWork::Shed { families, priority, upto, reason: "a storm".into() };
        }
        match self.chance.below(6) {
            0 => BulkWork::Clear { queue, upto, reason: "tidying".into(), filter: self.family_filter() },
            1 | 2 => BulkWork::Drain { queue, upto, filter: self.family_filter() },
            3 => BulkWork::Reprioritize { queue, upto, filter: self.filter(), priority: self.priority() },
            _ => {
                let per_s = self.chance.maybe(600, |chance| *chance.pick(&[1, 3, 20, 50_000]));
                BulkWork::Redrive { queue, upto, filter: self.filter(), per_s }
            }
        }
    }

    fn bulk(&mut self) -> BulkId {
        match self.bulks.len().checked_sub(1) {
            Some(newest) => self.bulks[newest - self.chance.below(newest.min(3) + 1)],
            None => BulkId::new(3, 0),
        }
    }

    fn cancel_bulk(&mut self) -> Vec<Request> {
        let open: Vec<BulkId> = self.model.bulks.iter().filter(|(_, bulk)| bulk.open).map(|(id, _)| *id).collect();
        let bulk = if open.is_empty() { self.bulk() } else { *self.chance.pick(&open) };
        // Twice at once: the second finds it closed.
        let times = if self.chance.permille(300) { 2 } else { 1 };
        (0..times).map(|_| Request::Command(Command::CancelBulk { bulk, by: actor() })).collect()
    }

    /// One that is done and has so many dependents that they are still being told.
    fn telling(&mut self) -> Option<TaskId> {
        self.model.bulks.values().filter(|bulk| bulk.open).find_map(|bulk| match bulk.work {
            BulkWork::Unblock { blocker } => Some(blocker),
            _ => None,
        })
    }

    /// Out of the queue and in again, or gone, all in one batch if it so happens.
    fn start_over(&mut self) -> Vec<Request> {
        let (task, by) = (self.one_of(&self.model.queued), actor());
        let cancel = Command::Cancel { task, by: by.clone(), reason: "starting over".into() };
        let then = match self.chance.below(4) {
            0 => Command::Reset { task, by },
            1 => Command::Delete { task, by },
            _ => Command::Retry { task, by },
        };
        vec![Request::Command(cancel), Request::Command(then)]
    }

    fn look(&mut self) -> Request {
        match self.chance.below(8) {
            0 if self.temper.events && self.chance.permille(500) => {
                Request::Depths { families: if self.chance.permille(500) { Some(self.pattern()) } else { None } }
            }
            0 => Request::Queue { queue: self.queue() },
            1 => Request::Queues,
            2 => Request::Status,
            3 => Request::Explain { task: self.one_of(&self.model.running) },
            4 => Request::Explain { task: self.one_of(&self.model.queued) },
            _ => Request::Explain { task: self.task() },
        }
    }

    fn mistake(&mut self) -> Command {
        let by = actor();
        let unknown = TaskId::new(1 << 40, 0);
        match self.chance.below(8) {
            0 => Command::Cancel { task: unknown, by, reason: String::new() },
            1 => Command::Start { task: unknown, force: true, worker: None, by },
            2 => Command::Reprioritize { queue: self.queue(), tasks: vec![self.task(), unknown], priority: self.priority(), by },
            3 => Command::RedriveTasks { queue: self.queue(), tasks: vec![unknown], by },
            4 => Command::CancelBulk { bulk: BulkId::new(1 << 40, 0), by },
            5 => Command::PauseQueue { queue: self.queue(), until: PauseUntil::At(self.now), reason: String::new(), by },
            6 => {
                let config = QueueConfig { concurrency: Some(0), ..self.config() };
                Command::ConfigureQueue { queue: self.queue(), config: Arc::new(config), by }
            }
            _ => {
                let mut new = self.new_task();
                new.spec.idempotency_key = None;
                new.spec.blocked_by.push(unknown);
                Command::Add { tasks: vec![self.new_task(), new] }
            }
        }
    }

    /// More than there is room for.
    fn flood(&mut self) -> Vec<Request> {
        let (queue, by) = (self.queue(), actor());
        if self.chance.permille(500) {
            let work = BulkWork::Redrive { queue, upto: TaskId::new(0, 0), filter: TaskFilter::default(), per_s: Some(1) };
            let start = || Command::StartBulk { work: work.clone(), by: by.clone(), reason: "again".into() };
            return (0..BULKS_OPEN_MAX + 2).map(|_| Request::Command(start())).collect();
        }
        let name = KeyName::parse("tenant").expect("a name");
        let boost = |n: usize| {
            let value = KeyValue::parse(&format!("f{n}")).expect("a value");
            let on = BoostOn { key: Some((name.clone(), value)) };
            Command::BoostQueue { queue: queue.clone(), on, boost: Priority::HIGH, by: by.clone() }
        };
        (0..QUEUE_BOOSTS_MAX + 2).map(|n| Request::Command(boost(n))).collect()
    }
}
