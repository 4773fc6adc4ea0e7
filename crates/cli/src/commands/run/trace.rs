//! `signaller run trace`.

use crate::client::with_query;
use crate::commands::{Session, run_id};
use crate::output::{Answer, Failure, Outcome};
use crate::progress::bar;
use crate::table::{cell, table};
use crate::telling::{kind, sentence};
use crate::units::{show_between, show_offset};
use clap::Args;
use comfy_table::CellAlignment;
use doors::wire::{Instant, NodeWork, RecordBody, RecordView, RunHistory, RunHistoryQuery, RunView};
use indicatif::ProgressBar;
use kernel::ids::RunId;
use std::collections::HashMap;

/// Tell everything that happened in a run, to its nodes and their tasks, oldest first
#[derive(Args, Debug)]
#[command(
    after_help = "SEQ is the number of the record, for `run replay RUN --at SEQ`. AFTER is the time since the run began, in seconds; TOOK since the record before of the same task, node or run.\n\n\
                        Examples:\n  signaller run trace run-7\n  signaller run trace run-7 --called\n  signaller run trace run-7 --limit 100"
)]
pub struct TraceArgs {
    /// The run, by its id
    #[arg(value_name = "RUN", value_parser = run_id)]
    run: RunId,
    /// Also what happened in the runs that it called, and in those that these called
    #[arg(long, conflicts_with = "cursor")]
    called: bool,
    /// How many records at most
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u32).range(1..))]
    limit: u32,
    /// Go on after this record, such as r1042
    #[arg(long, value_name = "SEQ")]
    cursor: Option<String>,
}

const PAGE_MAX: u32 = 1_000;

pub fn run(args: TraceArgs, session: &Session) -> Outcome {
    let show = bar(&session.screen, None, "records read");
    let begun: RunView = session.client.get(&format!("/v1/runs/{}?nodes=1", args.run))?;
    let mut trace = read(session, args.run, args.cursor, args.limit, &show)?;
    if args.called {
        let mut calls = called_by(&trace.records);
        while let Some(run) = calls.pop() {
            let left = args.limit.saturating_sub(trace.records.len() as u32);
            if left == 0 {
                trace.next = trace.records.last().map(|record| record.seq);
                break;
            }
            let called = read(session, run, None, left, &show)?;
            calls.extend(called_by(&called.records));
            trace.records.extend(called.records);
            trace.next = trace.next.or(called.next);
        }
        trace.records.sort_by_key(|record| record.seq);
    }
    show.finish_and_clear();
    if trace.records.is_empty() {
        return Ok(Answer::new(&trace, format!("Nothing more is recorded of {}.", args.run)));
    }
    let mut before: HashMap<&str, Instant> = HashMap::new();
    let rows = trace.records.iter().flat_map(|record| {
        let after = show_offset(begun.started_at, record.at);
        let took = before.insert(&record.owner, record.at).map_or_else(String::new, |at| show_between(at, record.at));
        let right = |text: String| cell(text).set_alignment(CellAlignment::Right);
        let told = sentence(&record.record, record.at);
        // What a patch changed stands below it, a line for each.
        let mut lines = told.lines();
        let first = cell(lines.next().unwrap_or_default());
        let (seq, whose) = (right(record.seq.to_string()), cell(whose(args.run, record)));
        let mut rows = vec![vec![seq, right(after), right(took), whose, cell(kind(&record.record)), first]];
        rows.extend(lines.map(|line| vec![cell(""), cell(""), cell(""), cell(""), cell(""), cell(line)]));
        rows
    });
    let rows: Vec<_> = rows.collect();
    let mut text = table(&session.screen, &["SEQ", "AFTER", "TOOK", "WHOSE", "RECORD", "WHAT HAPPENED"], rows);
    let answer = |text: String| {
        let answer = Answer::new(&trace, text).next(format!("run show {}", args.run), "how it stands now");
        let calls = !args.called && !called_by(&trace.records).is_empty();
        if calls { answer.next(format!("run trace {} --called", args.run), "with the runs that it called") } else { answer }
    };
    let Some(next) = trace.next else { return Ok(answer(text)) };
    if args.called {
        text.push_str("\n\nThere is more: add --limit");
        return Ok(answer(text));
    }
    text.push_str(&format!("\n\nThere is more: add --cursor {next}"));
    Ok(answer(text).next(format!("run trace {} --cursor {next}", args.run), "what comes after"))
}

/// Page by page, up to a limit.
fn read(
    session: &Session,
    run: RunId,
    mut cursor: Option<String>,
    limit: u32,
    show: &ProgressBar,
) -> Result<RunHistory, Failure> {
    let path = format!("/v1/runs/{run}/history");
    let mut trace = RunHistory { records: Vec::new(), next: None };
    loop {
        let page = PAGE_MAX.min(limit - trace.records.len() as u32);
        let page: RunHistory = session.client.get(&with_query(&path, &RunHistoryQuery { limit: Some(page), cursor }))?;
        show.inc(page.records.len() as u64);
        trace.records.extend(page.records);
        trace.next = page.next;
        match page.next {
            Some(next) if (trace.records.len() as u32) < limit => cursor = Some(next.to_string()),
            _ => return Ok(trace),
        }
    }
}

fn called_by(records: &[RecordView]) -> Vec<RunId> {
    let called = records.iter().filter_map(|record| match &record.record {
        RecordBody::NodeStarted { work: NodeWork::Calling { run } } => Some(*run),
        _ => None,
    });
    called.collect()
}

/// Nodes as they are called within the run.
fn whose(run: RunId, record: &RecordView) -> String {
    let within = record.owner.strip_prefix(&run.to_string()).and_then(|rest| rest.strip_prefix('/'));
    within.unwrap_or(&record.owner).to_owned()
}
