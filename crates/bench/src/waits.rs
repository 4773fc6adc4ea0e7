//! What it costs that others wait: events of a name that 100,000 runs wait for, each for another one; and the one that is meant.

use crate::runs::{put, start};
use crate::{BATCH, Measure, Options, percentile};
use engine::{Answer, Engine};
use kernel::command::Reply;
use kernel::event::EventSpec;
use kernel::ids::RunId;
use kernel::names::EventName;
use kernel::record::Payload;
use kernel::run::{Run, RunStatus};
use std::time::Instant;

const RUNS: usize = 100_000;
const STARTERS: usize = 32;
const SENDERS: usize = 2;
const WOKEN: usize = 200;

const TEXT: &str = "workflow: waits
nodes:
  paid: {type: wait, event: bench/awaited, match: event.data.order == input.order}
  then: {type: transform, after: paid, value: output}
";

pub fn awaited(options: &Options) -> Result<Vec<Measure>, String> {
    let (_dir, engine) = options.open()?;
    put(&engine, TEXT)?;
    let input = |order: usize| Payload(format!("{{\"order\":\"o{order}\"}}").into());
    let meant = (0..WOKEN).map(|order| start(&engine, "waits", &input(order))).collect::<Result<Vec<RunId>, String>>()?;
    std::thread::scope(|scope| {
        let starters: Vec<_> = (0..STARTERS)
            .map(|at| {
                let engine = &engine;
                scope.spawn(move || {
                    let mut orders = (WOKEN + at..RUNS).step_by(STARTERS);
                    orders.try_for_each(|order| start(engine, "waits", &input(order)).map(|_| ()))
                })
            })
            .collect();
        starters.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a load thread panicked".to_owned())?)
    })?;
    // By turns, so that their ratio means something.
    let half = Options { seconds: options.seconds.div_ceil(2), ..options.clone() };
    let (mut plain, mut awaited) = (0.0, 0.0);
    for _ in 0..2 {
        plain += per_s(&half, &engine, "bench/unawaited")? / 2.0;
        awaited += per_s(&half, &engine, "bench/awaited")? / 2.0;
    }
    let mut times = Vec::new();
    for order in 0..WOKEN {
        let event = (named("bench/awaited")?, input(order));
        let from = Instant::now();
        sent(&engine, &[event])?;
        times.push(from.elapsed().as_secs_f64() * 1_000.0);
    }
    for run in meant {
        let row = engine.read(|reader| reader.run(run)).map_err(|error| error.to_string())?.ok_or("a run is gone")?;
        let status = Run::from_row(&row.values).map_err(|bad| bad.to_string())?.status();
        if status != RunStatus::Done {
            return Err(format!("{run} was to go on, and is {}", status.as_str()));
        }
    }
    let how =
        "events that no handler takes, emitted in the server's process, 100 a request, 100,000 runs waiting for another name";
    let how_awaited = "the same of the name that they wait for, each for another one";
    let how_wake = "from the event that is meant to its run's end, in one commit";
    Ok(vec![
        Measure { name: "event.unawaited.per_s", value: plain, unit: "events/s", how },
        Measure { name: "event.awaited.per_s", value: awaited, unit: "events/s", how: how_awaited },
        Measure { name: "event.wake_ms.p50", value: percentile(&mut times, 0.5), unit: "ms", how: how_wake },
    ])
}

fn named(name: &str) -> Result<EventSpec, String> {
    EventName::parse(name).map(EventSpec::named).map_err(|bad| bad.to_string())
}

fn sent(engine: &Engine, events: &[(EventSpec, Payload)]) -> Result<usize, String> {
    match engine.emit_blocking(events) {
        Ok(Answer::Reply(Ok(Reply::Emitted(emitted)))) => Ok(emitted.len()),
        other => Err(format!("events were answered {other:?}")),
    }
}

fn per_s(options: &Options, engine: &Engine, name: &str) -> Result<f64, String> {
    let spec = &named(name)?;
    let start = Instant::now();
    std::thread::scope(|scope| {
        let senders: Vec<_> = (0..SENDERS)
            .map(|_| {
                scope.spawn(move || {
                    let mut count = 0;
                    while start.elapsed() < options.time() {
                        let event = |n: usize| {
                            (spec.clone(), Payload(format!("{{\"order\":\"other{n}\",\"text\":\"{}\"}}", "x".repeat(75)).into()))
                        };
                        let events: Vec<_> = (count..count + BATCH).map(event).collect();
                        count += sent(engine, &events)?;
                    }
                    Ok::<usize, String>(count)
                })
            })
            .collect();
        let mut all = 0;
        for sender in senders {
            all += sender.join().map_err(|_| "a load thread panicked".to_owned())??;
        }
        Ok(all as f64 / start.elapsed().as_secs_f64())
    })
}
