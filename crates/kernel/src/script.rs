//! The one door of the kernel's tests. A script is text: statements parted by `;` or lines, tasks called by names of
//! their own. [`check`] runs it three times (memory cools, stays, restarts after every command) and compares what was
//! answered, and after a `|` how every task ended. See [`world`] for what is proved along the way.
//!
//! ```text
//! queue q concurrency=1 rate=2/1s burst=3 key.tenant=1 keyrate.tenant=1/1s fair=tenant step=10s weight.acme=2 …
//! add a type=t queue=q prio=high key.tenant=acme tag=x by=b,c at=1h delay=5s idem=k idle    add a … + b …    add x*1500 …
//! lease w1 t,u queue=q want=3 · finish a done={} fence=1 · finish a failed=code after=3s final · finish a released
//! lapse a · undelivered a · cancel a · retry a · reset a · start a force worker=w1 · delete a · prio a,b high
//! pause q until=10s because=why · resume q · boost q high key.tenant=acme · clear q · drain q · redrive q a,b
//! reprioritize q high type=t · redrive_all q per_s=10 code=x · proceed · stop_bulk 1
//! emit e a/b id=x ts=5s + handler type=t queue=q dedup=k/10s drop=k/2/10s single=k replace debounce=k/5s/20s batch=k/3/10s
//!   delay=1s within=10s critical whole shadow broken key.tenant=acme + …    replay e + handler …    expire e,f before=1h    registry q concurrency=1 …
//! pause_families a/* until=10s · resume_families a/* · boost_families a/* high · shed a,b/* normal because=why
//! advance 10s · show a · summary q · depth a/* · bulk 1 · due · explain a asked=10s stopping
//! ```

pub(crate) mod events;
pub(crate) mod say;
pub(crate) mod walk;
pub(crate) mod world;

use crate::bulk::{BulkWork, TaskFilter};
use crate::command::{Command, NewTask, Outcome, PauseUntil, Reply};
use crate::explain::{Facts, Heard};
use crate::ids::{BulkId, EventId, Fence, RecordSeq, TaskId};
use crate::message::Message;
use crate::names::*;
use crate::priority::Priority;
use crate::queue::{BacklogFull, BoostOn, Fairness, QueueConfig};
use crate::rate::Rate;
use crate::record::{Failure, Payload, ReleaseCause, TaskSpec};
use crate::rejection::Rejection;
use crate::state::FamilyDepth;
use crate::time::Time;
use say::Words;
use std::collections::BTreeMap;
use std::sync::Arc;
use world::{Memory, START, World};

/// Runs the script and compares its answers; after a `|`, also how every task ended.
#[track_caller]
pub(crate) fn check(script: &str, expected: &str) {
    for memory in [Memory::Cools, Memory::Stays, Memory::Restarts] {
        check_with(memory, script, expected);
    }
}

/// For the few answers that depend on what is still in memory.
#[track_caller]
pub(crate) fn check_with(memory: Memory, script: &str, expected: &str) {
    let told = tell(memory, script);
    let (answers, ends) = match expected.split_once('|') {
        None => (expected, None),
        Some((answers, ends)) => (answers, Some(ends)),
    };
    let list = |text: &str| text.split([';', '\n']).map(|line| line.trim().to_owned()).filter(|line| !line.is_empty()).collect();
    let expected: Vec<String> = list(answers);
    assert_eq!(told.answers, expected, "memory {memory:?}, script:\n{script}\n");
    if let Some(ends) = ends {
        let ends: Vec<String> = ends.split(',').map(|end| end.trim().to_owned()).filter(|end| !end.is_empty()).collect();
        assert_eq!(told.ends(), ends, "memory {memory:?}, script:\n{script}\n");
    }
}

/// Runs the script and hands back what it left.
pub(crate) fn tell(memory: Memory, script: &str) -> Script {
    let mut told = Script {
        world: World::new(memory),
        names: BTreeMap::new(),
        ids: BTreeMap::new(),
        fences: BTreeMap::new(),
        bulks: Vec::new(),
        events: BTreeMap::new(),
        answers: Vec::new(),
    };
    for statement in script.split([';', '\n']).map(str::trim).filter(|statement| !statement.is_empty()) {
        println!("{statement}");
        told.statement(statement);
        told.world.check_rebuilt();
    }
    told
}

/// Makes a statement's command for one of the tasks it names.
type About = dyn Fn(&Script, TaskId) -> Command;

pub(crate) struct Script {
    pub(crate) world: World,
    names: BTreeMap<TaskId, String>,
    ids: BTreeMap<String, TaskId>,
    fences: BTreeMap<TaskId, Vec<Fence>>,
    bulks: Vec<BulkId>,
    events: BTreeMap<String, EventId>,
    pub(crate) answers: Vec<String>,
}

impl Script {
    pub(crate) fn statement(&mut self, statement: &str) {
        let (verb, rest) = statement.split_once(' ').unwrap_or((statement, ""));
        if verb == "add" {
            return self.add(rest);
        }
        if verb == "emit" || verb == "replay" {
            return self.emit(verb, rest);
        }
        let mut words = Words::new(rest);
        match verb {
            "advance" => {
                let to = self.world.now.plus_ms(say::ms(words.word()));
                self.world.advance(to);
            }
            "proceed" => self.world.wake(),
            "show" => say::list(words.word()).for_each(|name| self.answers.push(self.show(name))),
            "summary" => self.summary(words.word()),
            "bulk" => self.show_bulk(words.word()),
            "depth" => self.depth(words.word()),
            "due" => {
                let due = self.world.state.next_due(self.world.now).map_or("never".into(), say::instant);
                self.answers.push(format!("due {due}"));
            }
            "explain" => self.explain(&mut words),
            _ => {
                let shown = format!("{verb} {}", rest.split(' ').next().unwrap_or_default());
                for (command, shown) in self.commands(verb, &shown, &mut words) {
                    let reply = self.world.run(&command);
                    self.note(&shown, &command, reply);
                }
            }
        }
        words.end(statement);
    }

    /// The commands a statement stands for: one, or one for each task it names.
    fn commands(&mut self, verb: &str, shown: &str, words: &mut Words) -> Vec<(Command, String)> {
        let by = Actor::parse("ann").unwrap();
        let one = |command: Command| vec![(command, shown.trim().to_owned())];
        match verb {
            "queue" => one(Command::ConfigureQueue { queue: say::queue(words.word()), config: Arc::new(config(words)), by }),
            "pause" => {
                let queue = say::queue(words.word());
                let until = words.option("until").map_or(PauseUntil::Resumed, |at| PauseUntil::At(START.plus_ms(say::ms(at))));
                let until = words.option("for").map_or(until, |ms| PauseUntil::After { ms: say::ms(ms) });
                one(Command::PauseQueue { queue, until, reason: words.reason(), by })
            }
            "resume" => one(Command::ResumeQueue { queue: say::queue(words.word()), by }),
            "boost" => {
                let queue = say::queue(words.word());
                let boost = say::priority(words.word());
                one(Command::BoostQueue { queue, on: BoostOn { key: words.keys().pop() }, boost, by })
            }
            "lease" => {
                let worker = WorkerName::parse(words.word()).unwrap();
                let types: Vec<TypeName> = say::list(words.word_or("t")).map(say::kind).collect();
                let queues: Vec<QueueName> = words.option("queue").into_iter().flat_map(say::list).map(say::queue).collect();
                let want = words.option("want").map_or(1, |want| want.parse().unwrap());
                one(Command::Lease { worker, types: types.into(), queues: queues.into(), want })
            }
            "clear" | "drain" | "reprioritize" | "redrive_all" => {
                let (queue, upto) = (say::queue(words.word()), TaskId::MAX);
                let reason = words.reason();
                let work = match verb {
                    "clear" => BulkWork::Clear { queue, upto, reason: reason.clone(), filter: filter(words) },
                    "drain" => BulkWork::Drain { queue, upto, filter: filter(words) },
                    "reprioritize" => {
                        let priority = say::priority(words.word());
                        BulkWork::Reprioritize { queue, upto, priority, filter: filter(words) }
                    }
                    _ => {
                        let per_s = words.option("per_s").map(|per_s| per_s.parse().unwrap());
                        BulkWork::Redrive { queue, upto, per_s, filter: filter(words) }
                    }
                };
                one(Command::StartBulk { work, by, reason })
            }
            "shed" => {
                let families = say::list(words.word()).map(|pattern| Pattern::parse(pattern).unwrap()).collect();
                let (priority, reason) = (say::priority(words.word()), words.reason());
                let work = BulkWork::Shed { families, priority, upto: TaskId::MAX, reason: reason.clone() };
                one(Command::StartBulk { work, by, reason })
            }
            "registry" => {
                let (text, queue) = (Payload(words.option("text").unwrap_or("").into()), say::queue(words.word()));
                let queues = [(queue, Arc::new(config(words)))].into();
                one(Command::PutRegistry { text, queues, by })
            }
            "no_registry" => one(Command::PutRegistry { text: Payload("".into()), queues: BTreeMap::new(), by }),
            "expire" => {
                let events = say::list(words.word()).map(|name| self.events[name]).collect();
                let before = words.option("before").map_or(Time::from_us(i64::MAX), |at| START.plus_ms(say::ms(at)));
                one(Command::ExpireEvents { events, before })
            }
            "refused" => {
                let webhook = WebhookName::parse(words.word()).unwrap();
                one(Command::NoteRefused { webhook, requests: 3, reason: "bad signature".into() })
            }
            "pause_families" => {
                let families = Pattern::parse(words.word()).unwrap();
                let until = words.option("until").map_or(PauseUntil::Resumed, |at| PauseUntil::At(START.plus_ms(say::ms(at))));
                one(Command::PauseFamilies { families, until, reason: words.reason(), by })
            }
            "resume_families" => one(Command::ResumeFamilies { families: Pattern::parse(words.word()).unwrap(), by }),
            "boost_families" => {
                let families = Pattern::parse(words.word()).unwrap();
                one(Command::BoostFamilies { families, boost: say::priority(words.word()), by })
            }
            "unblock" => {
                let work = BulkWork::Unblock { blocker: self.id(words.word()) };
                one(Command::StartBulk { work, by, reason: String::new() })
            }
            "stop_bulk" => {
                let nth: usize = words.word().parse().unwrap();
                let bulk = self.bulks.get(nth - 1).copied().unwrap_or(BulkId::MAX);
                one(Command::CancelBulk { bulk, by })
            }
            "prio" => {
                let tasks: Vec<TaskId> = say::list(words.word()).map(|name| self.id(name)).collect();
                let of_first = || self.world.state.task(tasks[0]).map(|task| task.card().route().queue().clone());
                let queue = words.option("in").map(say::queue).or_else(of_first).unwrap_or_else(|| say::queue("q"));
                one(Command::Reprioritize { queue, tasks, priority: say::priority(words.word()), by })
            }
            "redrive" => {
                let queue = say::queue(words.word());
                let tasks = say::list(words.word()).map(|name| self.id(name)).collect();
                one(Command::RedriveTasks { queue, tasks, by })
            }
            _ => {
                let names: Vec<String> = say::list(words.word()).map(str::to_owned).collect();
                let about = self.about_one(verb, words);
                names.iter().map(|name| (about(self, self.id(name)), format!("{verb} {name}"))).collect()
            }
        }
    }

    /// A command about one task, to be made for each task that was named.
    fn about_one(&self, verb: &str, words: &mut Words) -> Box<About> {
        let by = Actor::parse("ann").unwrap();
        let nth = words.option("fence").map(str::to_owned);
        let fence = move |script: &Script, task: TaskId| match &nth {
            Some(nth) => script.fences[&task][nth.parse::<usize>().unwrap() - 1],
            None => script.fences.get(&task).and_then(|all| all.last()).copied().unwrap_or(Fence(RecordSeq(u64::MAX >> 1))),
        };
        let jitter =
            words.option("jitter").map_or(0, |percent| (u64::from(u32::MAX) * percent.parse::<u64>().unwrap() / 100) as u32);
        match verb {
            "cancel" => {
                let reason = words.reason();
                Box::new(move |_, task| Command::Cancel { task, by: by.clone(), reason: reason.clone() })
            }
            "retry" => Box::new(move |_, task| Command::Retry { task, by: by.clone() }),
            "reset" => Box::new(move |_, task| Command::Reset { task, by: by.clone() }),
            "delete" => Box::new(move |_, task| Command::Delete { task, by: by.clone() }),
            "start" => {
                let force = words.flag("force");
                let worker = words.option("worker").map(|worker| WorkerName::parse(worker).unwrap());
                Box::new(move |_, task| Command::Start { task, force, worker: worker.clone(), by: by.clone() })
            }
            "hold" | "let_go" => {
                let (pause, hold) = (words.word().parse().unwrap(), verb == "hold");
                Box::new(move |_, task| {
                    let message = if hold { Message::Hold { task, pause } } else { Message::LetGo { task, pause } };
                    Command::Hear(Box::new(message))
                })
            }
            "lapse" => Box::new(move |script, task| Command::Lapse { task, fence: fence(script, task), jitter }),
            "mislay" => Box::new(move |script, task| Command::Mislay { task, fence: fence(script, task), jitter }),
            "undelivered" => Box::new(move |script, task| Command::Release {
                task,
                fence: fence(script, task),
                cause: ReleaseCause::Undelivered,
            }),
            "finish" => {
                let outcome = outcome(words);
                Box::new(move |script, task| Command::Finish {
                    task,
                    fence: fence(script, task),
                    outcome: outcome.clone(),
                    jitter,
                })
            }
            _ => panic!("`{verb}` is not a verb of scripts"),
        }
    }

    /// `add a …`, `add a … + b …` in one command, `add x*1500 …` for x1 to x1500.
    fn add(&mut self, rest: &str) {
        let mut names = Vec::new();
        let mut tasks = Vec::new();
        for part in rest.split('+') {
            let mut words = Words::new(part);
            let name = words.word().to_owned();
            let new = self.new_task(&mut words);
            words.end(rest);
            match name.split_once('*') {
                None => names.push(name),
                Some((name, many)) => names.extend((1..=many.parse::<usize>().unwrap()).map(|n| format!("{name}{n}"))),
            }
            tasks.resize(names.len(), new);
        }
        // More than one command takes are several commands.
        for (names, tasks) in names.chunks(1_000).zip(tasks.chunks(1_000)) {
            match self.world.run(&Command::Add { tasks: tasks.to_vec() }) {
                Ok(Reply::Added(added)) => {
                    for (name, added) in names.iter().zip(added) {
                        if added.duplicate {
                            self.answers.push(format!("{name} is {}", self.names[&added.task]));
                        } else {
                            self.names.insert(added.task, name.clone());
                        }
                        self.ids.insert(name.clone(), added.task);
                    }
                }
                Ok(other) => panic!("an add answered {other:?}"),
                Err(no) => self.answers.push(format!("add {}: {}", names.join(" "), no.code())),
            }
        }
    }

    fn new_task(&self, words: &mut Words) -> NewTask {
        let ms = |text: &str| say::ms(text);
        let spec = TaskSpec {
            queue: say::queue(words.option("queue").unwrap_or("q")),
            kind: say::kind(words.option("type").unwrap_or("t")),
            priority: words.option("prio").map_or(Priority::NORMAL, say::priority),
            keys: words.keys(),
            tags: words.option("tag").into_iter().flat_map(say::list).map(|tag| Tag::parse(tag).unwrap()).collect(),
            blocked_by: words.option("by").into_iter().flat_map(say::list).map(|name| self.id(name)).collect(),
            scheduled_for: words.option("at").map(|at| START.plus_ms(ms(at))),
            idempotency_key: words.option("idem").map(|key| IdempotencyKey::parse(key).unwrap()),
            retry: words.option("attempts").map(|attempts| {
                let policy = crate::retry::RetryPolicy { jitter_percent: 0, ..Default::default() };
                crate::retry::RetryPolicy { attempts: attempts.parse().unwrap(), ..policy }
            }),
            budget_ms: words.option("budget").map(ms),
            idle: words.flag("idle"),
            node: words.option("node").map(|at| match crate::record::Owner::parse(at) {
                Some(crate::record::Owner::Node(at)) => Box::new(at),
                other => panic!("{other:?} is no node"),
            }),
            generation: words.option("generation").map_or(0, |number| number.parse().unwrap()),
            start_by: words.option("start_by").map(|at| START.plus_ms(ms(at))),
            trigger: None,
            input: None,
        };
        NewTask { spec, delay_ms: words.option("delay").map_or(0, ms), input: Payload::null() }
    }

    /// What was answered, when it says something.
    fn note(&mut self, shown: &str, command: &Command, reply: Result<Reply, Rejection>) {
        let text = match reply {
            Err(no) => format!("{shown}: {}", no.code()),
            Ok(Reply::Leased(grants)) => {
                let mut names = Vec::new();
                for grant in &grants {
                    self.fences.entry(grant.task).or_default().push(grant.fence);
                    names.push(self.names[&grant.task].clone());
                }
                match names.len() {
                    0 => "leased nothing".into(),
                    1..=12 => format!("leased {}", names.join(" ")),
                    many => format!("leased {many} tasks"),
                }
            }
            Ok(Reply::Finished { duplicate: true }) => format!("{shown}: duplicate"),
            Ok(Reply::Items { changed, skipped }) => format!("{shown}: {changed} changed, {skipped} left"),
            Ok(Reply::Bulk(bulk)) => {
                self.bulks.push(bulk);
                return;
            }
            Ok(Reply::Task { task, status }) => {
                // The status that is answered is the status it has.
                let after = self.world.task(task).map(|task| task.status());
                assert!(after.is_none_or(|after| after == status), "{command:?} answered {status}, but it is {after:?}");
                return;
            }
            Ok(_) => return,
        };
        self.answers.push(text);
    }

    /// A name that was never given is an id that never was.
    pub(crate) fn id(&self, name: &str) -> TaskId {
        self.ids.get(name).copied().unwrap_or(TaskId::MAX)
    }

    pub(crate) fn ends(&self) -> Vec<String> {
        let end = |(id, name): (&TaskId, &String)| match self.world.task(*id) {
            Some(task) => format!("{name} {}", task.status()),
            None => format!("{name} gone"),
        };
        self.names.iter().map(end).collect()
    }

    fn show(&self, name: &str) -> String {
        let Some(task) = self.world.task(self.id(name)) else { return format!("{name} gone") };
        format!("{name} {}", self.named(&say::task(&task, self.world.now)))
    }

    fn summary(&mut self, queue: &str) {
        let summary = self.world.state.queue_summary(&say::queue(queue));
        self.answers.push(format!("{queue}: {}", say::depth(&summary.depth)));
    }

    /// What there is of the families that a pattern covers, each in each queue.
    fn depth(&mut self, pattern: &str) {
        let pattern = Pattern::parse(pattern).unwrap();
        let found = FamilyDepth::sorted(self.world.state.depths_of(Some(&pattern)));
        let shown = found.iter().map(|found| format!("{} in {}: {}", found.family, found.queue, say::depth(&found.depth)));
        self.answers.extend(shown);
        if found.is_empty() {
            self.answers.push(format!("nothing of {pattern}"));
        }
    }

    fn show_bulk(&mut self, nth: &str) {
        let bulk = self.world.bulk(self.bulks[nth.parse::<usize>().unwrap() - 1]);
        self.answers.push(format!("bulk {nth} {}: {} changed, {} left", bulk.status().as_str(), bulk.items(), bulk.skipped()));
    }

    fn explain(&mut self, words: &mut Words) {
        let name = words.word();
        let ago = |text: &str| Time::from_us(self.world.now.us() - say::ms(text) as i64 * 1_000);
        let asked_at = words.option("asked").map(ago);
        let left_at = words.option("left").map(ago);
        let mut count = |name| words.option(name).map_or(0, |count| count.parse().unwrap());
        let (busy, elsewhere) = (count("busy"), count("elsewhere"));
        let heard = words.option("heard").map(ago).map(|at| Heard { at, until: at.plus_ms(30_000) });
        let facts = Facts {
            asked_at,
            busy,
            own: words.flag("own"),
            elsewhere,
            left_at,
            heard,
            up_since: START,
            stopping: words.flag("stopping"),
        };
        let task = self.world.task(self.id(name)).expect("a task to explain");
        let told = crate::explain::explain(&self.world.state, &task, &facts, self.world.now);
        let codes: Vec<String> = told
            .blocked_on
            .iter()
            .map(|cause| cause.eta.map_or(cause.code.to_owned(), |eta| format!("{} until {}", cause.code, say::instant(eta))))
            .collect();
        let eta = match (told.eta, &told.eta_reason) {
            (Some(eta), None) => format!("eta {}", say::instant(eta)),
            (None, Some(_)) => "eta unknown".into(),
            (None, None) => "no eta".into(),
            (Some(_), Some(why)) => panic!("an eta that is known and is not: {why}"),
        };
        let sentence = self.named(&told.sentence);
        self.answers.push(format!("{sentence} [{}] {eta}", codes.join(", ")));
    }

    /// Text with the script's names for its tasks: ids differ between runs, names do not.
    pub(crate) fn named(&self, text: &str) -> String {
        // Longer ids first, or `task-1` would be found in `task-10`.
        self.names.iter().rev().fold(text.to_owned(), |text, (id, name)| text.replace(&id.to_string(), name))
    }
}

fn outcome(words: &mut Words) -> Outcome {
    let output = words.option("done").map(str::to_owned).or_else(|| words.flag("done").then(|| "null".into()));
    if let Some(output) = output {
        return Outcome::Done { output: Payload(output.as_str().into()) };
    }
    if words.flag("released") {
        return Outcome::Released;
    }
    let text = words.option("failed").map(str::to_owned).or_else(|| words.flag("failed").then(|| "oops".into()));
    let text = text.expect("an outcome: done, failed or released");
    let (code, message) = text.split_once('/').unwrap_or((&text, "no luck"));
    let failure = Failure { code: code.into(), message: message.into() };
    Outcome::Failed { failure, retryable: !words.flag("final"), retry_after_ms: words.option("after").map(say::ms) }
}

fn filter(words: &mut Words) -> TaskFilter {
    TaskFilter {
        kind: words.option("type").map(say::kind),
        key: words.keys().pop(),
        tag: words.option("tag").map(|tag| Tag::parse(tag).unwrap()),
        error_code: words.option("code").map(str::to_owned),
        family: words.option("family").map(|pattern| Pattern::parse(pattern).unwrap()),
    }
}

/// Options of `queue`; what is not named has its default, but for jitter, which is off.
fn config(words: &mut Words) -> QueueConfig {
    let mut config = QueueConfig::default();
    config.retry.jitter_percent = 0;
    let burst = words.option("burst").map_or(1, |burst| burst.parse().unwrap());
    let rate = |text: &str| {
        let (count, per) = text.split_once('/').expect("a rate is count/duration");
        Rate { count: count.parse().unwrap(), per_ms: say::ms(per), burst }
    };
    config.concurrency = words.option("concurrency").map(|n| n.parse().unwrap());
    config.rate = words.option("rate").map(rate);
    for (name, limit) in words.prefixed("key.") {
        config.keys.entry(KeyName::parse(&name).unwrap()).or_default().concurrency = Some(limit.parse().unwrap());
    }
    for (name, text) in words.prefixed("keyrate.") {
        config.keys.entry(KeyName::parse(&name).unwrap()).or_default().rate = Some(rate(&text));
    }
    let weights = words.prefixed("weight.");
    let step_ms = words.option("step").map_or(crate::limits::FAIR_STEP_MS_DEFAULT, say::ms);
    config.fairness = words.option("fair").map(|key| Fairness {
        key: KeyName::parse(key).unwrap(),
        step_ms,
        weights: weights.iter().map(|(value, n)| (KeyValue::parse(value).unwrap(), n.parse().unwrap())).collect(),
    });
    words.set("attempts", |text| config.retry.attempts = text.parse().unwrap());
    words.set("backoff", |text| config.retry.backoff_ms = say::ms(text));
    words.set("backoff_max", |text| config.retry.backoff_max_ms = say::ms(text));
    words.set("jitter", |text| config.retry.jitter_percent = text.parse().unwrap());
    words.set("heartbeat", |text| config.heartbeat_ms = say::ms(text) as u32);
    words.set("budget", |text| config.budget_ms = say::ms(text));
    words.set("backlog", |text| config.backlog_max = Some(text.parse().unwrap()));
    if words.flag("drop_oldest") {
        config.backlog_full = BacklogFull::DropOldest;
    }
    words.set("tag", |text| config.require_tag = Some(Tag::parse(text).unwrap()));
    words.set("overrides", |text| config.override_slots = text.parse().unwrap());
    words.set("window", |text| config.idempotency_window_ms = say::ms(text));
    config
}
