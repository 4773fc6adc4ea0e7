//! What kind of world a seed makes: how many of everything, which commands are common, which faults happen. Drawn
//! apart for each seed, because a world in which everything happens at once hides what happens only when little does.

use crate::chance::Chance;
use kernel::names::{KeyName, KeyValue, QueueName, Tag, TypeName, WorkerName};

/// What clients may ask, with how often they do by nature.
#[derive(Copy, Clone, PartialEq, Eq, Debug)]
pub enum Wish {
    Add,
    AddMany,
    Cancel,
    Retry,
    Reset,
    Start,
    Delete,
    Reprioritize,
    Configure,
    Pause,
    Resume,
    Boost,
    Bulk,
    CancelBulk,
    RedriveTasks,
    Look,
    Mistake,
    Flood,
    Stop,
    PutWorkflow,
    DisableWorkflow,
    EnableWorkflow,
    StartRun,
    CancelRun,
    PauseRun,
    ResumeRun,
    RetryRun,
    DeleteRun,
    ExpireRuns,
    Answer,
    LookAtRun,
    RunMistake,
    RunBulk,
    Echo,
    PatchRun,
    RestartRun,
    SkipNode,
    Emit,
    ReplayEvent,
    ExpireEvents,
    PutRegistry,
    PauseFamilies,
    ResumeFamilies,
    BoostFamilies,
    NoteRefused,
    EventMistake,
}

const WISHES: [(Wish, u32); 19] = [
    (Wish::Add, 300),
    (Wish::AddMany, 60),
    (Wish::Cancel, 40),
    (Wish::Retry, 40),
    (Wish::Reset, 25),
    (Wish::Start, 40),
    (Wish::Delete, 25),
    (Wish::Reprioritize, 25),
    (Wish::Configure, 30),
    (Wish::Pause, 12),
    (Wish::Resume, 20),
    (Wish::Boost, 15),
    (Wish::Bulk, 15),
    (Wish::CancelBulk, 10),
    (Wish::RedriveTasks, 10),
    (Wish::Look, 90),
    (Wish::Mistake, 20),
    (Wish::Flood, 1),
    (Wish::Stop, 2),
];

/// The same of those who know workflows.
const RUN_WISHES: [(Wish, u32); 13] = [
    (Wish::PutWorkflow, 120),
    (Wish::DisableWorkflow, 6),
    (Wish::EnableWorkflow, 40),
    (Wish::StartRun, 260),
    (Wish::CancelRun, 25),
    (Wish::PauseRun, 25),
    (Wish::ResumeRun, 40),
    (Wish::RetryRun, 60),
    (Wish::DeleteRun, 40),
    (Wish::ExpireRuns, 10),
    (Wish::Answer, 120),
    (Wish::LookAtRun, 30),
    (Wish::RunMistake, 15),
];

/// The same of those who know events.
const EVENT_WISHES: [(Wish, u32); 9] = [
    (Wish::Emit, 700),
    (Wish::ReplayEvent, 40),
    (Wish::ExpireEvents, 40),
    (Wish::PutRegistry, 30),
    (Wish::PauseFamilies, 15),
    (Wish::ResumeFamilies, 40),
    (Wish::BoostFamilies, 15),
    (Wish::NoteRefused, 5),
    (Wish::EventMistake, 10),
];

/// Of a thousand chances each.
#[derive(Clone, Debug, Default)]
pub struct FaultRates {
    pub commit: u32,
    pub rows: u32,
    pub load: u32,
    pub crash: u32,
    pub answer_lost: u32,
    pub answer_doubled: u32,
    pub poll_gone: u32,
    pub undelivered: u32,
    pub worker_crash: u32,
    pub worker_odd: u32,
    pub blob_put: u32,
    pub blob_get: u32,
    pub blob_slow: u32,
    pub blob_damage: u32,
}

#[derive(Clone, Debug)]
pub struct Temper {
    pub queues: Vec<QueueName>,
    pub types: Vec<TypeName>,
    pub keys: Vec<KeyName>,
    pub values: Vec<KeyValue>,
    pub tags: Vec<Tag>,
    pub workers: Vec<WorkerName>,
    pub clients: usize,
    pub wishes: Vec<(Wish, u32)>,
    pub faults: FaultRates,
    /// There are workflows, and runs of them.
    pub runs: bool,
    /// Clients start no more while so many runs go on.
    pub runs_max: usize,
    /// Some of them over so many items that chunks have an end.
    pub wide: bool,
    /// They are patched and restarted, too.
    pub changes: bool,
    /// Events come in.
    pub events: bool,
    /// How often, of a thousand, some of what came in is decided while the rest is at the disk.
    pub overlap: u32,
    /// How often, of a thousand, a door keeps leases alive for a worker.
    pub beats: u32,
    /// The storm is over: everyone does what is asked of them.
    pub calm: bool,
    /// Clients add no more while this many tasks wait or run.
    pub live_max: usize,
    /// A few thousand tasks at once, so that chunks have an end.
    pub big: bool,
    /// Length of an ordinary step of time.
    pub step_us: u64,
    /// How long an attempt takes at most.
    pub work_ms: u64,
}

fn names<T>(count: usize, name: impl Fn(usize) -> T) -> Vec<T> {
    (0..count).map(name).collect()
}

impl Temper {
    pub fn draw(chance: &mut Chance, big: bool, runs: bool) -> Temper {
        let rate = |chance: &mut Chance, most: u64| if chance.permille(600) { chance.between(0, most) as u32 } else { 0 };
        let mut wishes = WISHES.to_vec();
        for (wish, weight) in &mut wishes {
            let essential = matches!(wish, Wish::Add | Wish::Resume) || (big && *wish == Wish::AddMany);
            *weight *= if essential { 2 } else { *chance.pick(&[0, 1, 1, 2, 5]) };
        }
        let mut temper = Temper {
            queues: names(1 + chance.below(4), |n| QueueName::parse(["ci", "mail", "web", "ml"][n]).expect("a name")),
            types: names(1 + chance.below(3), |n| TypeName::parse(["build", "send", "crawl"][n]).expect("a name")),
            keys: names(chance.below(4).max(usize::from(big)), |n| {
                KeyName::parse(["tenant", "host", "user"][n]).expect("a name")
            }),
            values: names(1 + chance.below(4), |n| KeyValue::parse(["a", "b", "c", "d"][n]).expect("a value")),
            tags: names(2, |n| Tag::parse(["ready", "urgent"][n]).expect("a tag")),
            workers: names(1 + chance.below(6), |n| WorkerName::parse(&format!("w{n}")).expect("a name")),
            clients: 1 + chance.below(4),
            wishes,
            faults: FaultRates {
                commit: rate(chance, 60),
                rows: rate(chance, 30),
                load: rate(chance, 300),
                crash: rate(chance, 40),
                answer_lost: rate(chance, 100),
                answer_doubled: rate(chance, 60),
                poll_gone: rate(chance, 60),
                undelivered: rate(chance, 60),
                worker_crash: rate(chance, 30),
                worker_odd: rate(chance, 200),
                ..FaultRates::default()
            },
            live_max: if big { 4_000 } else { *chance.pick(&[8, 30, 60, 120]) },
            runs,
            runs_max: 0,
            wide: false,
            changes: false,
            events: false,
            overlap: 0,
            beats: 0,
            calm: false,
            big,
            step_us: *chance.pick(&[2_000, 20_000, 200_000]),
            work_ms: *chance.pick(&[50, 500, 5_000]),
        };
        if runs {
            temper.draw_runs(chance);
        }
        temper
    }

    /// Where there are runs, the ordinary tasks are few.
    fn draw_runs(&mut self, chance: &mut Chance) {
        (self.wide, self.big) = (self.big, false);
        for (wish, weight) in &mut self.wishes {
            *weight = if matches!(wish, Wish::Resume) { *weight } else { *weight / 3 };
        }
        for (wish, weight) in RUN_WISHES {
            let essential =
                matches!(wish, Wish::PutWorkflow | Wish::EnableWorkflow | Wish::StartRun | Wish::ResumeRun | Wish::Answer);
            let times = if essential { 2 } else { *chance.pick(&[0, 1, 1, 2, 5]) };
            self.wishes.push((wish, weight * times));
        }
        let rate = |chance: &mut Chance, most: u64| if chance.permille(600) { chance.between(0, most) as u32 } else { 0 };
        self.faults.blob_put = rate(chance, 20);
        self.faults.blob_get = rate(chance, 60);
        self.faults.blob_slow = rate(chance, 100);
        // Few worlds have a disk that forgets.
        self.faults.blob_damage = if chance.permille(250) { chance.between(1, 30) as u32 } else { 0 };
        (self.runs_max, self.live_max) = (*chance.pick(&[3, 8, 16]), self.live_max.min(30));
    }

    pub fn with_overlap(mut self) -> Temper {
        self.overlap = 400;
        self
    }

    /// Doors keep leases alive for workers that do not.
    pub fn with_beats(mut self) -> Temper {
        self.beats = 60;
        self
    }

    /// Bulks are over runs, too.
    pub fn with_run_bulks(mut self) -> Temper {
        self.wishes.push((Wish::RunBulk, 60));
        self
    }

    /// Runs are changed while they are under way, and after.
    pub fn with_changes(mut self) -> Temper {
        self.changes = true;
        self.wishes.extend([(Wish::PatchRun, 120), (Wish::RestartRun, 80), (Wish::SkipNode, 40)]);
        self
    }

    /// Events come in, and ordinary tasks are few.
    pub fn with_events(mut self) -> Temper {
        self.events = true;
        for (wish, weight) in &mut self.wishes {
            if matches!(wish, Wish::Add | Wish::AddMany) {
                *weight /= 4;
            }
        }
        self.wishes.extend(EVENT_WISHES);
        self
    }

    /// What shards tell one another is heard again.
    pub fn with_echoes(mut self) -> Temper {
        self.wishes.push((Wish::Echo, 80));
        self
    }

    pub fn wish(&self, chance: &mut Chance) -> Wish {
        let total: u32 = self.wishes.iter().map(|(_, weight)| weight).sum();
        let mut at = chance.below(total as usize) as u32;
        for (wish, weight) in &self.wishes {
            if at < *weight {
                return *wish;
            }
            at -= weight;
        }
        unreachable!("the weights add up to their total")
    }
}
