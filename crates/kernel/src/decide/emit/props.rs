//! Random scripts of events, and what a small model of each discipline says that they answer, word by word. The models
//! know nothing of tasks, records or lanes.

use crate::script::tell;
use crate::script::walk::cases;
use crate::script::world::Memory;
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::fmt::Write;

#[derive(Clone, Debug)]
enum Op {
    /// With a key, and when it happened, in ms.
    Emit(usize, Option<u64>),
    Advance(u64),
    Lease,
    /// The n-th of those that run.
    Finish(usize),
}

/// Leased at once, at most: so many are told by name.
const WANT: usize = 9;
const KEYS: [&str; 3] = ["a", "b", "c"];

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let ms = prop_oneof![Just(0), Just(1), 1..100u64, 1..3_000u64, Just(1_000)];
    let op = prop_oneof![
        5 => (0..KEYS.len(), proptest::option::of(0..5_000u64)).prop_map(|(key, ts)| Op::Emit(key, ts)),
        3 => ms.prop_map(Op::Advance),
        2 => Just(Op::Lease),
        1 => (0..9usize).prop_map(Op::Finish),
    ];
    proptest::collection::vec(op, 1..40)
}

/// A discipline as it should be: told what happens and when, it says what the script answers.
trait Reference {
    /// What stands behind the event of this name.
    fn handler(&self, key: &'static str) -> String;
    fn emit(&mut self, now: u64, name: &str, key: &'static str, happened_at: u64) -> String;
    /// Who starts now, in order.
    fn lease(&mut self, now: u64) -> Vec<String>;
    fn finish(&mut self, _name: &str) {}
}

/// Writes the script and what it should answer, runs it, and compares.
fn agree(before: &str, ops: &[Op], reference: &mut dyn Reference) {
    let mut script = format!("{before}; ");
    let (mut now, mut count) = (0, 0);
    let (mut expected, mut running) = (Vec::new(), Vec::<String>::new());
    for op in ops {
        match op {
            Op::Emit(key, ts) => {
                count += 1;
                let (name, key) = (format!("e{count}"), KEYS[*key]);
                let said = ts.map_or(String::new(), |ts| format!(" ts={ts}ms"));
                write!(script, "emit {name} x/y{said} + h {}; ", reference.handler(key)).expect("it is written to memory");
                expected.push(format!("{name}: {}", reference.emit(now, &name, key, ts.unwrap_or(now).min(now))));
            }
            Op::Advance(ms) => {
                now += ms;
                write!(script, "advance {ms}ms; ").expect("it is written to memory");
            }
            Op::Lease => {
                let leased = reference.lease(now);
                write!(script, "lease w want={WANT}; ").expect("it is written to memory");
                let told = if leased.is_empty() { "nothing".to_owned() } else { leased.join(" ") };
                expected.push(format!("leased {told}"));
                running.extend(leased);
            }
            Op::Finish(at) if !running.is_empty() => {
                let name = running.remove(at % running.len());
                write!(script, "finish {name} done; ").expect("it is written to memory");
                reference.finish(&name);
            }
            Op::Finish(_) => {}
        }
    }
    for memory in [Memory::Cools, Memory::Restarts] {
        assert_eq!(tell(memory, &script).answers, expected, "memory {memory:?}, script:\n{script}\n");
    }
}

/// Those that wait, by the instant from which they may start; ties go to who came first.
#[derive(Default)]
struct Line(Vec<(u64, usize, String)>);

impl Line {
    fn enter(&mut self, ready_at: u64, name: &str) {
        let number = name[1..].parse().expect("events are numbered");
        self.0.push((ready_at, number, name.to_owned()));
    }

    fn lease(&mut self, now: u64) -> Vec<String> {
        self.0.sort();
        let ready = self.0.iter().take_while(|(ready_at, ..)| *ready_at <= now).count();
        self.0.drain(..ready.min(WANT)).map(|(_, _, name)| name).collect()
    }
}

/// A bucket that holds `burst` tokens, each worth so many microseconds, and fills while time passes.
struct Bucket {
    count: u64,
    per_ms: u64,
    burst: u64,
    /// By key: how full it is, and since when that is known.
    level_us: BTreeMap<&'static str, (u64, u64)>,
    line: Line,
}

impl Reference for Bucket {
    fn handler(&self, key: &'static str) -> String {
        format!("drop={key}/{}/{}ms/{}", self.count, self.per_ms, self.burst)
    }

    fn emit(&mut self, now: u64, name: &str, key: &'static str, _: u64) -> String {
        let token_us = (self.per_ms * 1_000).div_ceil(self.count);
        let full_us = token_us * self.burst;
        let (level_us, since) = self.level_us.get(key).copied().unwrap_or((full_us, now));
        let level_us = full_us.min(level_us + (now - since) * 1_000);
        let taken = level_us >= token_us;
        self.level_us.insert(key, (if taken { level_us - token_us } else { level_us }, now));
        if !taken {
            return "rate_dropped".into();
        }
        self.line.enter(now, name);
        "queued".into()
    }

    fn lease(&mut self, now: u64) -> Vec<String> {
        self.line.lease(now)
    }
}

struct Quiet {
    period_ms: u64,
    max_wait_ms: Option<u64>,
    /// By key: who opened it, when the newest happened, and when it is over at the latest.
    open: BTreeMap<&'static str, (String, u64, Option<u64>)>,
    line: Line,
}

impl Reference for Quiet {
    fn handler(&self, key: &'static str) -> String {
        let max_wait = self.max_wait_ms.map_or(String::new(), |ms| format!("/{ms}ms"));
        format!("debounce={key}/{}ms{max_wait}", self.period_ms)
    }

    fn emit(&mut self, now: u64, name: &str, key: &'static str, happened_at: u64) -> String {
        if let Some((first, newest, until)) = self.open.get_mut(key)
            && until.is_none_or(|until| now < until)
        {
            let stale = happened_at < *newest;
            *newest = happened_at.max(*newest);
            let place = self.line.0.iter_mut().find(|(_, _, name)| name == first).expect("what is open waits");
            // One whose hour has come keeps it.
            if place.0 > now {
                place.0 = until.unwrap_or(u64::MAX).min(now + self.period_ms);
            }
            return format!("{} {first}", if stale { "stale" } else { "debounced" });
        }
        let until = self.max_wait_ms.map(|ms| now + ms);
        self.open.insert(key, (name.to_owned(), happened_at, until));
        self.line.enter(until.unwrap_or(u64::MAX).min(now + self.period_ms), name);
        "queued".into()
    }

    fn lease(&mut self, now: u64) -> Vec<String> {
        let leased = self.line.lease(now);
        self.open.retain(|_, (first, ..)| !leased.contains(first));
        leased
    }
}

struct Many {
    size: usize,
    timeout_ms: u64,
    /// By key: who opened it, and how many there are.
    open: BTreeMap<&'static str, (String, usize)>,
    line: Line,
}

impl Reference for Many {
    fn handler(&self, key: &'static str) -> String {
        format!("batch={key}/{}/{}ms", self.size, self.timeout_ms)
    }

    fn emit(&mut self, now: u64, name: &str, key: &'static str, _: u64) -> String {
        if let Some((first, events)) = self.open.get_mut(key) {
            *events += 1;
            let told = format!("batched {first}");
            if *events == self.size {
                let place = self.line.0.iter_mut().find(|(_, _, name)| name == first).expect("what is open waits");
                place.0 = place.0.min(now);
                self.open.remove(key);
            }
            return told;
        }
        if self.size > 1 {
            self.open.insert(key, (name.to_owned(), 1));
        }
        self.line.enter(if self.size > 1 { now + self.timeout_ms } else { now }, name);
        "queued".into()
    }

    fn lease(&mut self, now: u64) -> Vec<String> {
        let leased = self.line.lease(now);
        self.open.retain(|_, (first, _)| !leased.contains(first));
        leased
    }
}

struct Once {
    window_ms: u64,
    made: BTreeMap<&'static str, (u64, String)>,
    line: Line,
}

impl Reference for Once {
    fn handler(&self, key: &'static str) -> String {
        format!("dedup={key}/{}ms", self.window_ms)
    }

    fn emit(&mut self, now: u64, name: &str, key: &'static str, _: u64) -> String {
        if let Some((at, first)) = self.made.get(key).filter(|(at, _)| now < at + self.window_ms) {
            assert!(*at <= now, "it was made before");
            return format!("duplicate {first}");
        }
        self.made.insert(key, (now, name.to_owned()));
        self.line.enter(now, name);
        "queued".into()
    }

    fn lease(&mut self, now: u64) -> Vec<String> {
        self.line.lease(now)
    }
}

struct Fair {
    step_ms: u64,
    weight: u64,
    slots: usize,
    waiting: Vec<(u64, usize, &'static str)>,
    running: BTreeMap<String, &'static str>,
}

impl Fair {
    /// The later, the more of its key run.
    fn score(&self, (since, number, key): &(u64, usize, &'static str)) -> (u64, usize) {
        let run = self.running.values().filter(|of| *of == key).count() as u64;
        let weight = if *key == "a" { self.weight } else { 1 };
        (since * 1_000 + run * self.step_ms * 1_000 / weight, *number)
    }
}

impl Reference for Fair {
    fn handler(&self, key: &'static str) -> String {
        format!("key.tenant={key}")
    }

    fn emit(&mut self, now: u64, name: &str, key: &'static str, _: u64) -> String {
        self.waiting.push((now, name[1..].parse().expect("events are numbered"), key));
        "queued".into()
    }

    fn lease(&mut self, _: u64) -> Vec<String> {
        let mut leased = Vec::new();
        while self.running.len() < self.slots
            && let Some(at) = (0..self.waiting.len()).min_by_key(|at| self.score(&self.waiting[*at]))
        {
            let (_, number, key) = self.waiting.remove(at);
            leased.push(format!("e{number}"));
            self.running.insert(format!("e{number}"), key);
        }
        leased
    }

    fn finish(&mut self, name: &str) {
        self.running.remove(name);
    }
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn a_drop_rate_is_a_token_bucket(ops in ops(), count in 1..5u64, per_ms in 1..2_000u64, burst in 1..4u64) {
        let mut bucket = Bucket { count, per_ms, burst, level_us: BTreeMap::new(), line: Line::default() };
        agree("queue q", &ops, &mut bucket);
    }

    #[test]
    fn a_debounce_fires_after_quiet_or_at_last(ops in ops(), period_ms in 1..2_000u64, max_wait_ms in proptest::option::of(1..4_000u64)) {
        let mut quiet = Quiet { period_ms, max_wait_ms, open: BTreeMap::new(), line: Line::default() };
        agree("queue q", &ops, &mut quiet);
    }

    #[test]
    fn a_batch_takes_as_many_as_fit_in_its_time(ops in ops(), size in 1..5usize, timeout_ms in 1..2_000u64) {
        let mut many = Many { size, timeout_ms, open: BTreeMap::new(), line: Line::default() };
        agree("queue q", &ops, &mut many);
    }

    #[test]
    fn within_its_window_a_key_makes_one(ops in ops(), window_ms in 0..3_000u64) {
        let mut once = Once { window_ms, made: BTreeMap::new(), line: Line::default() };
        agree("queue q", &ops, &mut once);
    }

    #[test]
    fn who_has_much_running_waits_for_who_has_little(ops in ops(), step_ms in 1..5_000u64, weight in 1..4u64, slots in 1..5usize) {
        let mut fair = Fair { step_ms, weight, slots, waiting: Vec::new(), running: BTreeMap::new() };
        agree(&format!("queue q concurrency={slots} fair=tenant step={step_ms}ms weight.a={weight}"), &ops, &mut fair);
    }
}
