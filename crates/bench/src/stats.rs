//! What statistics cost to ask for, with as many roll-ups as a busy day leaves behind.

use crate::client::Client;
use crate::http::Server;
use crate::in_process::name;
use crate::{Measure, Options, percentile};
use kernel::histogram::Histogram;
use kernel::ids::RecordSeq;
use kernel::names::QueueName;
use kernel::rollup::{Minute, Projection, Rollup, RollupKey};
use std::path::Path;
use std::time::Instant;
use store::sqlite::Sqlite;
use store::{RollupBatch, Store, StoreError};

const MINUTES: i64 = 24 * 60;
const FAMILIES: usize = 100;
/// Added, leased, done.
const RECORDS: u64 = 10_000_000;
const TASKS_A_ROW: u64 = RECORDS / 3 / (MINUTES as u64 * FAMILIES as u64);
const ASKED: usize = 7;

pub fn day(options: &Options) -> Result<Vec<Measure>, String> {
    let dir = options.fresh_dir()?;
    seed(dir.path())?;
    let server = Server::start(options, dir.path(), &[])?;
    let client = Client::new(&server.url);
    let mut times = Vec::new();
    for _ in 0..ASKED {
        let start = Instant::now();
        // A minute less than a day, so that all of it lies within what is there.
        let stats: serde_json::Value = client.get(&format!("/v1/stats?for_ms={}", (MINUTES - 1) * 60_000))?;
        times.push(start.elapsed().as_secs_f64() * 1e3);
        if stats["window"]["sampled"].as_u64().is_none_or(|rows| rows < (MINUTES as u64 - 2) * FAMILIES as u64) {
            return Err(format!("these are not the figures of a day: {}", stats["window"]));
        }
    }
    let how = "GET /v1/stats over a day in which 10,000,000 records were written, in 100 families: 144,000 roll-ups; median of 7";
    Ok(vec![Measure { name: "stats.day_ms", value: percentile(&mut times, 0.5), unit: "ms", how }])
}

/// The roll-ups of the last day, as the records of as many tasks would have left them.
fn seed(dir: &Path) -> Result<(), String> {
    let families: Vec<QueueName> =
        (0..FAMILIES).map(|family| name(QueueName::parse, &format!("family-{family}"))).collect::<Result<_, _>>()?;
    let newest = Minute::of(engine::clock::wall());
    let write = || -> Result<(), StoreError> {
        let store = Sqlite::open(dir)?;
        let (mut rollups, mut after) = (store.rollups()?, RecordSeq::NONE);
        for minute in (0..MINUTES).rev().map(|ago| Minute(newest.0 - ago)) {
            let rows = families.iter().enumerate().map(|(at, queue)| {
                let key = RollupKey { minute, queue: queue.clone(), family: queue.shared().clone() };
                (key, row(minute.0 as u64 * FAMILIES as u64 + at as u64))
            });
            let projection = Projection { rows: rows.collect(), ..Projection::default() };
            let upto = RecordSeq(after.0 + 1);
            rollups.add(&RollupBatch { after, upto, at: minute.start(), projection, keep_from: None })?;
            after = upto;
        }
        Ok(())
    };
    write().map_err(|error| error.to_string())
}

/// Waits and durations over four powers of ten, which rows differ in.
fn row(number: u64) -> Rollup {
    let lengths = |salt: u64| {
        let mut lengths = Histogram::default();
        for task in 0..TASKS_A_ROW {
            let chance = (number * TASKS_A_ROW + task + salt).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            lengths.add(10u64.pow(2 + (chance % 4) as u32) * (1 + chance / 4 % 9));
        }
        lengths
    };
    let (wait, duration) = (lengths(1), lengths(1 << 40));
    Rollup { added: TASKS_A_ROW, started: TASKS_A_ROW, completed: TASKS_A_ROW, wait, duration, ..Rollup::default() }
}
