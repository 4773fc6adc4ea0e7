//! Workflow runs: hops through a line of ten nodes, one run alone, a wide fan-out, many that wait.

use crate::in_process::name;
use crate::{BATCH, Measure, Options, payload_text, percentile};
use engine::{Answer, Delivery, Engine, Report, Request, Revision, Work};
use flow::Language;
use flow::graph::svg::{Live, Stand};
use flow::patch::{Document, Operations};
use kernel::bulk::{BulkWork, RunVerb};
use kernel::command::{Command, NewRevision, Outcome, Reply};
use kernel::decide::{NewRun, NewWorkflow};
use kernel::ids::RunId;
use kernel::names::{Actor, QueueName, TypeName, WorkerName, WorkflowName};
use kernel::record::Payload;
use kernel::run::{Run, RunSpec};
use serde_json::json;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

pub const NODES: usize = 10;
const STARTERS: usize = 32;
const WORKERS: usize = 4;
/// Starters rest when so many runs are under way: as many as keep all workers busy.
const AHEAD_MAX: u64 = 500;
const PARKED: usize = 100_000;
const FAN: usize = 10_000;

/// Ten nodes in a row, each handing its input on.
pub fn line() -> String {
    let mut text = String::from("workflow: line\nnodes:\n  n0: {type: bench}\n");
    for at in 1..NODES {
        _ = writeln!(text, "  n{at}: {{type: bench, after: n{}}}", at - 1);
    }
    text
}

/// The same as JSON.
pub fn line_json() -> serde_json::Value {
    let node = |at: usize| {
        let node = if at == 0 { json!({"type": "bench"}) } else { json!({"type": "bench", "after": format!("n{}", at - 1)}) };
        (format!("n{at}"), node)
    };
    let nodes: serde_json::Map<String, serde_json::Value> = (0..NODES).map(node).collect();
    json!({"workflow": "line", "nodes": nodes})
}

pub fn put(engine: &Engine, text: &str) -> Result<(), String> {
    let compiled = flow::compile(text.as_bytes(), &Language).map_err(|problems| problems[0].to_string())?;
    let name_of = compiled.ir.workflow.clone();
    let new = NewWorkflow { name: name_of, version: None, text: text.into(), ir: Arc::new(compiled.ir) };
    let command = Command::PutWorkflow { new: Box::new(new), by: name(Actor::parse, "bench")? };
    match engine.ask_blocking(Request::Command(command)) {
        Ok(Answer::Reply(Ok(_))) => Ok(()),
        other => Err(format!("a workflow was answered {other:?}")),
    }
}

pub fn start(engine: &Engine, workflow: &str, input: &Payload) -> Result<RunId, String> {
    let workflow = name(WorkflowName::parse, workflow)?;
    let spec = RunSpec::new(workflow.clone(), 1);
    let new = NewRun { workflow, version: None, spec, input: input.clone() };
    let by = name(Actor::parse, "bench")?;
    loop {
        match engine.ask_blocking(Request::Command(Command::StartRun { new: Box::new(new.clone()), by: by.clone() })) {
            Ok(Answer::Reply(Ok(Reply::Started { run, .. }))) => return Ok(run),
            Err(engine::Refused::Full { retry_after_ms }) => std::thread::sleep(Duration::from_millis(retry_after_ms)),
            other => return Err(format!("a start was answered {other:?}")),
        }
    }
}

struct Worker {
    engine: Engine,
    name: WorkerName,
    types: Arc<[TypeName]>,
    want: usize,
    results: Vec<Report>,
}

impl Worker {
    fn new(engine: &Engine, at: usize, want: usize) -> Result<Worker, String> {
        let types = [name(TypeName::parse, "bench")?].into();
        Ok(Worker {
            engine: engine.clone(),
            name: name(WorkerName::parse, &format!("bench-{at}"))?,
            types,
            want,
            results: Vec::new(),
        })
    }

    /// Reports what was done, and does what comes: each task gives its input back. How many were reported, and got.
    fn turn(&mut self) -> Result<(usize, usize), String> {
        let reported = self.results.len();
        let queues: Arc<[QueueName]> = [].into();
        let work = Work {
            worker: self.name.clone(),
            types: self.types.clone(),
            queues,
            want: self.want,
            wait_ms: 100,
            results: std::mem::take(&mut self.results),
            holding: Vec::new(),
        };
        let worked = match self.engine.ask_blocking(Request::Work(work)) {
            Ok(Answer::Worked(worked)) => worked,
            other => return Err(format!("a poll was answered {other:?}")),
        };
        let filled = match self.engine.fill(&worked.deliveries) {
            Some(filled) => filled,
            None => self.engine.fill_reading(&worked.deliveries).map_err(|error| error.to_string())?,
        };
        let got = filled.deliveries.len();
        self.results.extend(filled.deliveries.into_iter().map(|Delivery { grant, input }| Report {
            task: grant.task,
            fence: grant.fence,
            outcome: Outcome::Done { output: input.unwrap_or_else(Payload::null) },
        }));
        Ok((reported, got))
    }
}

pub fn in_process(options: &Options) -> Result<Vec<Measure>, String> {
    let (_dir, engine) = options.open()?;
    put(&engine, &line())?;
    let (end, started, hops) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut threads = Vec::new();
    for _ in 0..STARTERS {
        let (engine, end, started, hops) = (engine.clone(), end.clone(), started.clone(), hops.clone());
        threads.push(std::thread::spawn(move || {
            let input = Payload(payload_text().into());
            while !end.load(Ordering::Relaxed) {
                let ended = hops.load(Ordering::Relaxed) / NODES as u64;
                if started.load(Ordering::Relaxed).saturating_sub(ended) > AHEAD_MAX {
                    std::thread::sleep(Duration::from_millis(1));
                    continue;
                }
                start(&engine, "line", &input)?;
                started.fetch_add(1, Ordering::Relaxed);
            }
            Ok::<(), String>(())
        }));
    }
    for at in 0..WORKERS {
        let (mut worker, end, hops) = (Worker::new(&engine, at, BATCH)?, end.clone(), hops.clone());
        threads.push(std::thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                let (reported, _) = worker.turn()?;
                hops.fetch_add(reported as u64, Ordering::Relaxed);
            }
            Ok(())
        }));
    }
    std::thread::sleep(options.time().mul_f64(0.2));
    let (from, before) = (Instant::now(), hops.load(Ordering::Relaxed));
    std::thread::sleep(options.time());
    let (took, after) = (from.elapsed(), hops.load(Ordering::Relaxed));
    end.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().map_err(|_| "a load thread panicked")??;
    }
    let value = (after - before) as f64 / took.as_secs_f64();
    let how = "runs of 10 nodes in a row, 4 workers in the server's process, 100 tasks a request";
    Ok(vec![Measure { name: "run.in_process.hops_per_s", value, unit: "hops/s", how }])
}

/// From a result to the next node's task, one run at a time.
pub fn idle_hop(options: &Options) -> Result<Vec<Measure>, String> {
    let (_dir, engine) = options.open()?;
    put(&engine, &line())?;
    let mut worker = Worker::new(&engine, 0, 1)?;
    let input = Payload(payload_text().into());
    let mut times = Vec::new();
    let end = Instant::now() + options.time();
    while Instant::now() < end {
        start(&engine, "line", &input)?;
        while worker.turn()?.1 == 0 {}
        for _ in 1..NODES {
            let from = Instant::now();
            if worker.turn()?.1 == 1 {
                times.push(from.elapsed().as_secs_f64() * 1_000.0);
            }
        }
        worker.turn()?;
    }
    let how = "one run of 10 nodes at a time, its worker in the server's process: result in, next task out";
    Ok(vec![Measure { name: "run.idle_hop_ms.p50", value: percentile(&mut times, 0.5), unit: "ms", how }])
}

pub fn fan_out(options: &Options) -> Result<Vec<Measure>, String> {
    let (_dir, engine) = options.open()?;
    put(
        &engine,
        "workflow: fan\nnodes:\n  e:\n    type: each\n    items: input\n    concurrency: 10000\n    do:\n      nodes:\n        x: {type: bench, with: '${item}'}\n  n: {type: transform, after: e, value: size(output)}\n",
    )?;
    let items: Vec<usize> = (0..FAN).collect();
    let input = Payload(format!("{items:?}").into());
    let from = Instant::now();
    let run = start(&engine, "fan", &input)?;
    let end = Arc::new(AtomicBool::new(false));
    let mut threads = Vec::new();
    for at in 0..WORKERS {
        let (mut worker, end) = (Worker::new(&engine, at, BATCH)?, end.clone());
        threads.push(std::thread::spawn(move || {
            while !end.load(Ordering::Relaxed) {
                worker.turn()?;
            }
            Ok::<(), String>(())
        }));
    }
    let took = loop {
        let row = engine.read(|reader| reader.run(run)).map_err(|error| error.to_string())?;
        let over = row.and_then(|row| kernel::run::Run::from_row(&row.values).ok()).is_some_and(|run| run.ended_at().is_some());
        if over {
            break from.elapsed();
        }
        if from.elapsed() > Duration::from_secs(120) {
            return Err("the fan-out did not come to its end".into());
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    end.store(true, Ordering::Relaxed);
    for thread in threads {
        thread.join().map_err(|_| "a load thread panicked")??;
    }
    let how = "an each over 10,000 items with one task each, and what follows it";
    Ok(vec![Measure { name: "run.fan_out_10k_s", value: took.as_secs_f64(), unit: "s", how }])
}

/// Items of an each that make so many records: three of its own for each, and three of its task.
const REPLAYED_ITEMS: usize = 16_000;
const REPLAYED: usize = 100_000;

/// A run of more than 100,000 records, looked back at from its 100,000th.
pub fn replay(options: &Options) -> Result<Vec<Measure>, String> {
    let (_dir, engine) = options.open()?;
    put(
        &engine,
        "workflow: back\nnodes:\n  e:\n    type: each\n    items: input\n    concurrency: 1000\n    do:\n      nodes:\n        x: {type: bench, with: '${item}'}\n        y: {type: transform, after: x, value: output}\n",
    )?;
    let items: Vec<usize> = (0..REPLAYED_ITEMS).collect();
    let run = start(&engine, "back", &Payload(format!("{items:?}").into()))?;
    let mut worker = Worker::new(&engine, 0, BATCH)?;
    let stamps = loop {
        worker.turn()?;
        let row = engine.read(|reader| reader.run(run)).map_err(|error| error.to_string())?;
        if row.and_then(|row| kernel::run::Run::from_row(&row.values).ok()).is_some_and(|run| run.ended_at().is_some()) {
            break engine.read(|reader| reader.run_stamps(run)).map_err(|error| error.to_string())?;
        }
    };
    let at = stamps.get(REPLAYED - 1).ok_or_else(|| format!("the run has only {} records", stamps.len()))?.seq;
    let mut times = Vec::new();
    for _ in 0..5 {
        let from = Instant::now();
        let replayed = engine.replay(run, engine::At::Record(at)).map_err(|error| error.to_string())?;
        times.push(from.elapsed().as_secs_f64() * 1_000.0);
        let replayed = replayed.map_err(|no| format!("{no:?}"))?;
        if replayed.place != REPLAYED || replayed.then.lost().next().is_some() {
            return Err(format!("it stands at its record {} of {}", replayed.place, replayed.count));
        }
    }
    let how = "a run as it was after its 100,000th record, read from the store and folded";
    Ok(vec![Measure { name: "run.replay_100k_ms", value: percentile(&mut times, 0.5), unit: "ms", how }])
}

pub fn validate(_: &Options) -> Result<Vec<Measure>, String> {
    let mut text = String::from("workflow: big\nnodes:\n  n0: {type: t, with: {x: '${input.x}'}}\n");
    for at in 1..5_000 {
        let before = at - 1;
        _ = writeln!(
            text,
            "  n{at}: {{type: t, after: n{before}, when: 'size(output.list) > {at}', with: {{x: '${{output.x}}'}}}}"
        );
    }
    let mut times = Vec::new();
    for _ in 0..5 {
        let from = Instant::now();
        flow::compile(text.as_bytes(), &Language).map_err(|problems| problems[0].to_string())?;
        times.push(from.elapsed().as_secs_f64() * 1_000.0);
    }
    let how = "a definition of 5,000 nodes, each with a condition and a template, from text to IR";
    Ok(vec![Measure { name: "run.validate_5k_ms", value: percentile(&mut times, 0.5), unit: "ms", how }])
}

/// A run of a thousand nodes in a row, the first of them under way, gets another node at its end, again and again.
pub fn patch(options: &Options) -> Result<Vec<Measure>, String> {
    let (_dir, engine) = options.open()?;
    let mut text = String::from("workflow: long\nnodes:\n  n0: {type: bench, with: {x: '${input.x}'}}\n");
    for at in 1..1_000 {
        _ = writeln!(text, "  n{at}: {{type: bench, after: n{}, with: {{x: '${{output.x}}'}}}}", at - 1);
    }
    put(&engine, &text)?;
    let run = start(&engine, "long", &Payload("{}".into()))?;
    let (wait_ms, mut times) = crate::bulk::beside(&engine, || {
        let mut times = Vec::new();
        for revision in 0..20 {
            let from = Instant::now();
            let value = json!({"type": "bench", "after": "n999"});
            patched(&engine, run, revision, json!([{"op": "add", "path": format!("/nodes/p{revision}"), "value": value}]))?;
            times.push(from.elapsed().as_secs_f64() * 1_000.0);
        }
        Ok(times)
    })?;
    let how = "a node added to a run of 1,000 nodes: its text read, changed and compiled, and the run goes on by it";
    let how_wait = "longest wait of an add to a queue, one every 2 ms, during 20 such patches";
    Ok(vec![
        Measure { name: "run.patch_1k_ms", value: percentile(&mut times, 0.5), unit: "ms", how },
        Measure { name: "run.patch_1k.wait_ms.max", value: wait_ms, unit: "ms", how: how_wait },
    ])
}

fn patched(engine: &Engine, id: RunId, revision: u32, operations: serde_json::Value) -> Result<(), String> {
    let row = engine.read(|reader| reader.run(id)).map_err(|error| error.to_string())?;
    let run = row.and_then(|row| Run::from_row(&row.values).ok()).ok_or("the run is gone")?;
    let base = engine.definition(&run, None).map_err(|error| error.to_string())?.ok_or("its text is gone")?;
    let document = Document::read(base.text.as_bytes()).map_err(|problems| problems[0].to_string())?;
    let read = Operations::read(operations.to_string().as_bytes()).map_err(|error| error.to_string())?;
    let text = document.apply(&read).map_err(|error| error.to_string())?.text();
    let compiled = flow::compile(text.as_bytes(), &Language).map_err(|problems| problems[0].to_string())?;
    let ir = engine.revised(&run, &text, compiled.ir);
    let operations = serde_json::value::to_raw_value(&operations).map_err(|error| error.to_string())?;
    let payload = Revision { text, operations: Some(operations) }.payload();
    let new = Box::new(NewRevision { base: revision, ir, payload, description: String::new(), alone: false });
    let command = Command::PatchRun { run: id, new, node: None, dry: false, by: name(Actor::parse, "bench")? };
    match engine.ask_blocking(Request::Command(command)) {
        Ok(Answer::Reply(Ok(Reply::Patched(_)))) => Ok(()),
        other => Err(format!("a patch was answered {other:?}")),
    }
}

const OPEN_ITEMS: usize = 10_000;
const ITEM_NODES: usize = 40;

/// A run with 10,000 items under way, of 40 nodes each, gets another text: one that they do not see, and one that all of them
/// follow. Another command is asked meanwhile, until the last of them has followed.
pub fn patch_items(options: &Options) -> Result<Vec<Measure>, String> {
    let (_dir, engine) = options.open()?;
    let head = "workflow: wide\nnodes:\n  e:\n    type: each\n    items: input\n    concurrency: 10000\n    do:\n      nodes:\n";
    let mut text = format!("{head}        n0: {{type: bench, with: {{x: '${{item}}'}}}}\n");
    for at in 1..ITEM_NODES {
        _ = writeln!(text, "        n{at}: {{type: bench, after: n{}, with: {{x: '${{output}}'}}}}", at - 1);
    }
    text.push_str("  z: {type: bench, after: e}\n");
    put(&engine, &text)?;
    let items: Vec<usize> = (0..OPEN_ITEMS).collect();
    let run = start(&engine, "wide", &Payload(format!("{items:?}").into()))?;
    let opened = || -> Result<bool, String> {
        let frames = engine.read(|reader| reader.frames(run, OPEN_ITEMS)).map_err(|error| error.to_string())?;
        Ok(frames.len() == OPEN_ITEMS)
    };
    wait_until(opened)?;
    let followed = || -> Result<bool, String> {
        let row = engine.read(|reader| reader.run(run)).map_err(|error| error.to_string())?;
        Ok(row.and_then(|row| Run::from_row(&row.values).ok()).is_some_and(|run| !run.is_following()))
    };
    let (wait_ms, mut times) = crate::bulk::beside(&engine, || {
        let mut times = Vec::new();
        for revision in 0..6 {
            let path = if revision % 2 == 0 { "/nodes/z/timeout" } else { "/nodes/e/do/nodes/n9/timeout" };
            let from = Instant::now();
            patched(&engine, run, revision, json!([{"op": "add", "path": path, "value": format!("{}s", revision + 60)}]))?;
            wait_until(followed)?;
            times.push(from.elapsed().as_secs_f64() * 1_000.0);
        }
        Ok(times)
    })?;
    let how = "a run with 10,000 items of 40 nodes under way is patched; until all of them have followed, three times that they do not see it and three times that they do";
    let how_wait = "longest wait of an add to a queue, one every 2 ms, meanwhile";
    Ok(vec![
        Measure { name: "run.patch_10k_items_ms", value: percentile(&mut times, 1.0), unit: "ms", how },
        Measure { name: "run.patch_wait_ms", value: wait_ms, unit: "ms", how: how_wait },
    ])
}

fn wait_until(mut is_so: impl FnMut() -> Result<bool, String>) -> Result<(), String> {
    let from = Instant::now();
    while !is_so()? {
        if from.elapsed() > Duration::from_secs(120) {
            return Err("it does not come about".to_owned());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// A picture that cannot be folded: in ten columns, most nodes after two of the row above them.
pub fn graph(_: &Options) -> Result<Vec<Measure>, String> {
    let mut text = String::from("workflow: big\nnodes:\n");
    for at in 0..2_000usize {
        let (row, column) = (at / 10, at % 10);
        let after = match row {
            0 => String::new(),
            _ => format!(", after: [n{}, n{}]", at - 10, (row - 1) * 10 + (column * 7 + row) % 10),
        };
        // Twice the same would be refused.
        let after = if row > 0 && (column * 7 + row) % 10 == column { format!(", after: n{}", at - 10) } else { after };
        _ = writeln!(text, "  n{at}: {{type: t{}, when: 'size(input.list) > {at}'{after}}}", at % 3);
    }
    let ir = flow::compile(text.as_bytes(), &Language).map_err(|problems| problems[0].to_string())?.ir;
    let live = Live { nodes: vec![Stand::default(); ir.nodes.len()], ..Live::default() };
    let mut times = Vec::new();
    for _ in 0..5 {
        let from = Instant::now();
        std::hint::black_box(flow::graph::svg::svg(&ir, Some(&live)));
        times.push(from.elapsed().as_secs_f64() * 1_000.0);
    }
    let how = "a run of 2,000 nodes and 3,782 edges in 200 layers, from IR to SVG";
    Ok(vec![Measure { name: "run.graph_2k_ms", value: percentile(&mut times, 0.5), unit: "ms", how }])
}

/// Half of them wait for an answer, half sleep.
pub fn parked(options: &Options) -> Result<Vec<Measure>, String> {
    let (_dir, engine) = options.open()?;
    put(
        &engine,
        "workflow: asks\nnodes:\n  a: {type: transform, value: input}\n  ask: {type: approval, after: a}\n  b: {type: bench, after: ask}\n",
    )?;
    put(
        &engine,
        "workflow: sleeps\nnodes:\n  a: {type: transform, value: input}\n  nap: {type: sleep, after: a, for: 24h}\n  b: {type: bench, after: nap}\n",
    )?;
    let input = Payload(payload_text().into());
    let warm = |engine: &Engine, many: usize| {
        let threads: Vec<_> = (0..STARTERS)
            .map(|at| {
                let (engine, input) = (engine.clone(), input.clone());
                let workflow = if at % 2 == 0 { "asks" } else { "sleeps" };
                std::thread::spawn(move || (0..many / STARTERS).try_for_each(|_| start(&engine, workflow, &input).map(|_| ())))
            })
            .collect();
        threads.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a load thread panicked".to_owned())?)
    };
    // The first ones fill the caches, which are bounded.
    warm(&engine, PARKED / 2)?;
    let before = crate::kernel_only::resident_bytes();
    warm(&engine, PARKED)?;
    let Some((before, after)) = before.zip(crate::kernel_only::resident_bytes()) else { return Ok(Vec::new()) };
    let grown = after.saturating_sub(before);
    let how = "100,000 runs of three nodes, half waiting for an answer and half asleep; growth of the process";
    let value = grown as f64 / (PARKED / STARTERS * STARTERS) as f64;
    Ok(vec![Measure { name: "run.parked_bytes_each", value, unit: "bytes", how }])
}

const BULK_RUNS: usize = 10_000;

/// Runs that fail by themselves are tried again by a bulk, and fail again; another command is asked meanwhile.
pub fn bulk_retry(options: &Options) -> Result<Vec<Measure>, String> {
    let how = "10,000 runs of one node that failed, all tried again by one bulk, with an add every 2 ms beside it";
    let names = ["bulk.runs_retry_per_s", "bulk.runs_retry.wait_ms.max"];
    over_runs(options, "value: input.no.key", RunVerb::Retry, names, how)
}

/// The same of runs that are done, restarted from their only node.
pub fn bulk_restart(options: &Options) -> Result<Vec<Measure>, String> {
    let how = "10,000 runs of one node that are done, all restarted from it by one bulk, with an add every 2 ms beside it";
    let names = ["bulk.runs_restart_per_s", "bulk.runs_restart.wait_ms.max"];
    let node = kernel::names::NodeId::parse("a").map_err(|error| error.to_string())?;
    let verb = RunVerb::Restart { frame: kernel::frame::FramePath::root(), node };
    over_runs(options, "value: input", verb, names, how)
}

/// The same of runs that failed, which are to follow another text: it is made once for all of them.
pub fn bulk_patch(options: &Options) -> Result<Vec<Measure>, String> {
    let how = "10,000 runs of one node that failed, all patched by one bulk, with an add every 2 ms beside it";
    let names = ["bulk.runs_patch_per_s", "bulk.runs_patch.wait_ms.max"];
    let wanted = engine::Wanted { set: vec!["nodes.a.value=input".to_owned()], ..engine::Wanted::default() };
    over_runs(options, "value: input.no.key", RunVerb::Patch { change: wanted.kept() }, names, how)
}

fn over_runs(
    options: &Options,
    value: &str,
    verb: RunVerb,
    [rate, wait]: [&'static str; 2],
    how: &'static str,
) -> Result<Vec<Measure>, String> {
    let (_dir, engine) = options.open()?;
    put(&engine, &format!("workflow: many\nnodes:\n  a: {{type: transform, {value}}}\n"))?;
    let input = Payload("{}".into());
    let started = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let start_some = || -> Result<(), String> {
            while started.fetch_add(1, Ordering::Relaxed) < BULK_RUNS as u64 {
                start(&engine, "many", &input)?;
            }
            Ok(())
        };
        let starters: Vec<_> = (0..STARTERS).map(|_| scope.spawn(start_some)).collect();
        starters.into_iter().try_for_each(|starter| starter.join().map_err(|_| "a starter panicked")?)
    })?;
    let filter = "workflow == \"many\" && status != \"running\"".to_owned();
    let work = BulkWork::Runs { verb, filter, upto: RunId::MAX, per_s: None };
    let (wait_ms, seconds) = crate::bulk::probed(&engine, work)?;
    let how_wait = "longest wait of an add to another queue, one every 2 ms, while the bulk went over 10,000 runs";
    Ok(vec![
        Measure { name: rate, value: BULK_RUNS as f64 / seconds, unit: "runs/s", how },
        Measure { name: wait, value: wait_ms, unit: "ms", how: how_wait },
    ])
}
