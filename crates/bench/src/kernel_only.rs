//! The kernel alone: what a queued task costs in memory, and whether a lease slows down behind a million of them.

use crate::in_process::new_task;
use crate::{Measure, Options, percentile};
use kernel::command::{Command, Reply};
use kernel::decide;
use kernel::names::{QueueName, TypeName, WorkerName};
use kernel::state::State;
use kernel::step::Step;
use kernel::time::Time;
use std::sync::Arc;
use std::time::Instant;

const ROUNDS: usize = 200;
const LEASES_A_ROUND: usize = 4;

/// The names here are constants and cannot be wrong.
pub fn big_queue(_: &Options) -> Result<Vec<Measure>, String> {
    let small_us = lease_us(&mut filled(1_000)?)?;
    let before = resident_bytes();
    let mut state = filled(1_000_000)?;
    let bytes = resident_bytes().zip(before).map(|(after, before)| after.saturating_sub(before));
    let big_us = lease_us(&mut state)?;
    let how_memory = "growth of the process by 1,000,000 queued tasks in the kernel's state";
    let how_lease = "decide + apply of one lease, median of 200 rounds of 4";
    let mut found = Vec::new();
    if let Some(bytes) = bytes {
        found.push(Measure { name: "queued.bytes_each", value: bytes as f64 / 1e6, unit: "bytes", how: how_memory });
    }
    found.push(Measure { name: "lease_us.at_1k", value: small_us, unit: "µs", how: how_lease });
    found.push(Measure { name: "lease_us.at_1m", value: big_us, unit: "µs", how: how_lease });
    Ok(found)
}

fn filled(tasks: usize) -> Result<State, String> {
    let mut state = State::new(0);
    let new = new_task(None)?;
    for chunk in 0..tasks / 1_000 {
        let mut step = Step::new(&mut state, Time::from_ms(chunk as i64));
        decide(&mut step, &Command::Add { tasks: vec![new.clone(); 1_000] }).map_err(|rejection| rejection.to_string())?;
        step.finish();
    }
    Ok(state)
}

fn lease_us(state: &mut State) -> Result<f64, String> {
    let worker = WorkerName::parse("bench").map_err(|bad| bad.to_string())?;
    let types: Arc<[TypeName]> = [TypeName::parse("bench").map_err(|bad| bad.to_string())?].into();
    let queues: Arc<[QueueName]> = [].into();
    let command = Command::Lease { worker, types, queues, want: 1 };
    let mut times = Vec::with_capacity(ROUNDS);
    for round in 0..ROUNDS {
        let start = Instant::now();
        let mut step = Step::new(state, Time::from_ms(10_000 + round as i64));
        for _ in 0..LEASES_A_ROUND {
            match decide(&mut step, &command) {
                Ok(Reply::Leased(grants)) if grants.len() == 1 => {}
                other => return Err(format!("a lease was answered {other:?}")),
            }
        }
        step.finish();
        times.push(start.elapsed().as_secs_f64() * 1e6 / LEASES_A_ROUND as f64);
    }
    Ok(percentile(&mut times, 0.5))
}

/// As Linux tells it; elsewhere memory is not measured.
pub fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}
