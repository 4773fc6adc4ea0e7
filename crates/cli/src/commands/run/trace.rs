//! `signaller run trace`.

use crate::client::with_query;
use crate::commands::{Session, run_id};
use crate::output::{Answer, Outcome};
use crate::progress::bar;
use crate::table::{cell, table};
use crate::telling::{kind, sentence};
use crate::units::show_about_ms;
use clap::Args;
use comfy_table::CellAlignment;
use doors::wire::{Instant, RecordView, RunHistory, RunHistoryQuery};
use kernel::ids::RunId;
use std::collections::HashMap;

/// Tell everything that happened in a run, to its nodes and their tasks, oldest first
#[derive(Args, Debug)]
#[command(after_help = "AFTER is the time since the run began, TOOK since the record before of the same task, node or run.\n\n\
                        Examples:\n  signaller run trace run-7\n  signaller run trace run-7 --limit 100")]
pub struct TraceArgs {
    #[arg(value_name = "RUN", value_parser = run_id)]
    run: RunId,
    /// How many records at most
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Go on after this record, such as r1042
    #[arg(long, value_name = "SEQ")]
    cursor: Option<String>,
}

const PAGE_MAX: u32 = 1_000;

pub fn run(args: TraceArgs, session: &Session) -> Outcome {
    let (path, mut cursor) = (format!("/v1/runs/{}/history", args.run), args.cursor);
    let mut trace = RunHistory { records: Vec::new(), next: None };
    let show = bar(&session.screen, None, "records read");
    loop {
        let limit = PAGE_MAX.min(args.limit - trace.records.len() as u32);
        let page: RunHistory = session.client.get(&with_query(&path, &RunHistoryQuery { limit: Some(limit), cursor }))?;
        trace.records.extend(page.records);
        trace.next = page.next;
        show.set_position(trace.records.len() as u64);
        match page.next {
            Some(next) if (trace.records.len() as u32) < args.limit => cursor = Some(next.to_string()),
            _ => break,
        }
    }
    show.finish_and_clear();
    let Some(first) = trace.records.first().map(|record| record.at) else {
        return Ok(Answer::new(&trace, format!("Nothing more is recorded of {}.", args.run)));
    };
    let mut before: HashMap<&str, Instant> = HashMap::new();
    let rows = trace.records.iter().map(|record| {
        let after = span(first, record.at);
        let took = before.insert(&record.owner, record.at).map_or_else(String::new, |at| span(at, record.at));
        let right = |text: String| cell(text).set_alignment(CellAlignment::Right);
        vec![right(after), right(took), cell(whose(args.run, record)), cell(kind(&record.record)), cell(sentence(&record.record))]
    });
    let rows: Vec<_> = rows.collect();
    let mut text = table(&session.screen, &["AFTER", "TOOK", "WHOSE", "RECORD", "WHAT HAPPENED"], rows);
    let answer = |text: String| Answer::new(&trace, text).next(format!("run show {}", args.run), "how it stands now");
    let Some(next) = trace.next else { return Ok(answer(text)) };
    text.push_str(&format!("\n\nThere is more: add --cursor {next}"));
    Ok(answer(text).next(format!("run trace {} --cursor {next}", args.run), "what comes after"))
}

fn span(from: Instant, to: Instant) -> String {
    show_about_ms(from.ms_until(to).max(0).unsigned_abs())
}

/// Nodes as they are called within the run.
fn whose(run: RunId, record: &RecordView) -> String {
    let within = record.owner.strip_prefix(&run.to_string()).and_then(|rest| rest.strip_prefix('/'));
    within.unwrap_or(&record.owner).to_owned()
}
