//! `signaller bench`: how fast it is here, in a fresh directory, with durable settings.

use crate::output::{Answer, Exit, Failure, Outcome, Screen};
use crate::progress::spinner;
use crate::table::{cell, table};
use bench::load::{self, LoadArgs};
use bench::{Measure, Options};
use clap::Args;
use comfy_table::CellAlignment;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// Measure this machine: throughput, latency, memory
#[derive(Args, Debug)]
#[command(
    after_help = "Everything runs on loopback in fresh folders that are removed afterwards. In JSON it is {\"results\":[…]} alone.\n\nExamples:\n  signaller bench\n  \
                        signaller bench --only task.http --seconds 10\n  signaller bench --json"
)]
pub struct BenchArgs {
    /// Only what starts so, such as task.http
    #[arg(long, value_name = "PREFIX")]
    only: Option<String>,
    /// How long each throughput load runs
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=600))]
    seconds: u64,
    /// Where to make the fresh folders: the disk that is measured
    #[arg(long, default_value = ".", value_name = "FOLDER")]
    dir: PathBuf,
}

/// What runs in the processes that `bench` starts
#[derive(Args, Debug)]
pub struct BenchLoadArgs {
    args: String,
}

#[derive(Serialize)]
struct Results {
    results: Vec<Measure>,
}

pub fn run(args: BenchArgs, screen: Screen) -> Outcome {
    let wrong = |message: String| Failure::new(Exit::WorkFailed, "bench_failed", message);
    if let Some(only) = &args.only
        && !bench::names().any(|name| name.starts_with(only.as_str()))
    {
        let known = bench::names().collect::<Vec<_>>().join(", ");
        return Err(Failure::usage(format!("nothing starts with `{only}`")).fix(format!("there is {known}")));
    }
    let binary = std::env::current_exe().map_err(|error| wrong(error.to_string()))?;
    let options = Options { only: args.only, seconds: args.seconds, binary, parent: args.dir };
    let shown = spinner(&screen, "");
    shown.enable_steady_tick(Duration::from_millis(120));
    let mut before = |names: &[&str]| shown.set_message(names.join(", "));
    let results = bench::run(&options, &mut before, &mut |_| shown.inc(1)).map_err(wrong)?;
    shown.finish_and_clear();
    let rows = results.iter().map(|measure| {
        let value = cell(show(measure.value)).set_alignment(CellAlignment::Right);
        vec![cell(measure.name), value, cell(measure.unit), cell(measure.how)]
    });
    // Off a terminal it is `{"results": […]}` and nothing around it, so that runs can be compared by any tool.
    let text = table(&screen, &["MEASURE", "VALUE", "UNIT", "HOW"], rows);
    let results = Results { results };
    let mut answer = Answer::new(&results, text);
    if !screen.people {
        answer.text = answer.result.get().to_owned();
        answer.verbatim = true;
    }
    Ok(answer)
}

fn show(value: f64) -> String {
    if value >= 100.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}

pub fn run_load(args: BenchLoadArgs) -> Outcome {
    let args: LoadArgs = serde_json::from_str(&args.args).map_err(|error| Failure::usage(error.to_string()))?;
    let per_s = load::run(&args).map_err(|message| Failure::new(Exit::WorkFailed, "load_failed", message))?;
    let mut answer = Answer::new(&per_s, format!("{per_s}"));
    answer.verbatim = true;
    Ok(answer)
}
