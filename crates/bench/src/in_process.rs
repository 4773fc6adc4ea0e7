//! Through the engine without HTTP: add, lease, finish, on real SQLite.

use crate::through::{self, Threads};
use crate::{Measure, Options, payload_text};
use engine::{Engine, Request};
use kernel::command::{Command, NewTask};
use kernel::names::{Actor, KeyName, KeyValue, QueueName, TypeName};
use kernel::queue::{KeyLimit, QueueConfig};
use kernel::record::{Payload, TaskSpec};
use std::sync::Arc;

pub fn plain(options: &Options) -> Result<Vec<Measure>, String> {
    let value = through(options, 0)?;
    let how = "4 adders and 4 workers in the server's process, 100 tasks a request";
    Ok(vec![Measure { name: "task.in_process.per_s", value, unit: "tasks/s", how }])
}

/// One key and ten thousand, by turns in one run, so that their ratio means something.
pub fn keyed(options: &Options) -> Result<Vec<Measure>, String> {
    let half = Options { seconds: options.seconds.div_ceil(2), ..options.clone() };
    let (mut one, mut many) = (0.0, 0.0);
    for _ in 0..2 {
        one += through(&half, 1)? / 2.0;
        many += through(&half, 10_000)? / 2.0;
    }
    let how = "as task.in_process.per_s, with keyed concurrency of 1000 per key";
    Ok(vec![
        Measure { name: "task.keys_1.per_s", value: one, unit: "tasks/s", how },
        Measure { name: "task.keys_10000.per_s", value: many, unit: "tasks/s", how },
    ])
}

fn through(options: &Options, keys: u64) -> Result<f64, String> {
    let (_dir, engine) = options.open()?;
    if keys > 0 {
        configure(&engine)?;
    }
    let plain = new_task(None)?;
    through::per_s(options, &engine, Threads { senders: 4, workers: 4 }, |engine, numbers| {
        let task = |n: u64| if keys == 0 { Ok(plain.clone()) } else { new_task(Some(n % keys)) };
        let tasks = numbers.map(task).collect::<Result<_, _>>()?;
        Ok(engine.ask_blocking(Request::Command(Command::Add { tasks })))
    })
}

fn configure(engine: &Engine) -> Result<(), String> {
    let limit = KeyLimit { concurrency: Some(1_000), rate: None };
    let config = QueueConfig { keys: [(name(KeyName::parse, "k")?, limit)].into(), ..QueueConfig::default() };
    let by = name(Actor::parse, "bench")?;
    let command = Command::ConfigureQueue { queue: name(QueueName::parse, "bench")?, config: Arc::new(config), by };
    engine.ask_blocking(Request::Command(command)).map(|_| ()).map_err(|error| error.to_string())
}

pub fn name<T, E: std::fmt::Display>(parse: impl Fn(&str) -> Result<T, E>, text: &str) -> Result<T, String> {
    parse(text).map_err(|error| error.to_string())
}

pub fn new_task(key: Option<u64>) -> Result<NewTask, String> {
    let keys = match key {
        None => Vec::new(),
        Some(key) => vec![(name(KeyName::parse, "k")?, name(KeyValue::parse, &key.to_string())?)],
    };
    let spec = TaskSpec { keys, ..TaskSpec::new(name(QueueName::parse, "bench")?, name(TypeName::parse, "bench")?) };
    Ok(NewTask { spec, delay_ms: 0, input: Payload(payload_text().into()) })
}
