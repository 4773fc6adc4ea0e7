//! `signaller run replay`.

use super::{show, step};
use crate::client::with_query;
use crate::commands::{Session, run_id};
use crate::output::{Answer, Failure, Outcome, Paint, Screen};
use crate::plain::plain_text;
use crate::telling::{kind, sentence};
use crate::units::{grouped, now, parse_duration_ms};
use clap::Args;
use doors::wire::{Instant, Moment, ReplayQuery, RunReplay};
use kernel::ids::RunId;
use kernel::time::Time;

/// Show a run as it was after one of its records, or at an instant; nothing is changed
#[derive(Args, Debug)]
#[command(
    after_help = "`run trace` has the numbers of the records. Between two records nothing changes: an instant shows the run after the last \
                        record before it. With --step on a terminal: n and p for the next record and the one before (or the arrows), N and P for \
                        those of the run, its turns, items and nodes alone, g for another by its number, 0 and $ for the first and the last, q to \
                        leave. Elsewhere each record is told with what it changed.\n\n\
                        Examples:\n  signaller run replay run-7 --at r1042\n  signaller run replay run-7 --at 2026-11-16T10:00:00Z\n  \
                        signaller run replay run-7 --at -5m --outputs\n  signaller run replay run-7 --step\n  \
                        signaller run replay run-7 --at r1042 --step --limit 20 --json"
)]
pub struct ReplayArgs {
    /// The run, by its id
    #[arg(value_name = "RUN", value_parser = run_id)]
    run: RunId,
    /// A record such as r1042 or 1042, an instant, so long ago as -5m, `start` or `end` [default: end; with --step, start]
    #[arg(long, value_name = "MOMENT", value_parser = moment, allow_hyphen_values = true)]
    at: Option<String>,
    /// How many of its nodes, those in turns and items too [default: 100; at most 1000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    nodes: Option<u32>,
    /// With what its nodes had given
    #[arg(long)]
    outputs: bool,
    /// Go through it record by record
    #[arg(long)]
    step: bool,
    /// With --step off a terminal: how many records at most
    #[arg(long, value_name = "N", default_value_t = 100, requires = "step", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
}

/// As the server takes it.
pub fn moment(text: &str) -> Result<String, String> {
    if let Some(ago) = text.strip_prefix('-') {
        let ago_ms = parse_duration_ms(ago)?;
        let us = now().0.us().saturating_sub(i64::try_from(ago_ms).unwrap_or(i64::MAX).saturating_mul(1_000));
        return Ok(Instant(Time::from_us(us.max(0))).to_string());
    }
    Moment::parse(text).map(|_| text.to_owned()).map_err(|problem| format!("{}: {}", problem.message, problem.fix))
}

pub fn run(args: ReplayArgs, session: &Session) -> Outcome {
    let ReplayArgs { run, at, nodes, outputs, step: steps, limit } = args;
    let look = Look { session, run, nodes, outputs };
    if steps {
        return step::run(&look, at.as_deref().unwrap_or("start"), limit);
    }
    let replay = look.at(at.as_deref().unwrap_or("end"))?;
    Ok(answer(&look, &replay))
}

pub fn answer(look: &Look<'_>, replay: &RunReplay) -> Answer {
    let run = look.run;
    let mut answer = Answer::new(replay, page(&look.session.screen, replay, look.nodes.is_some()));
    for (there, what) in [(replay.after, "what happened next"), (replay.before, "how it was before that")] {
        if let Some(seq) = there {
            answer = answer.next(format!("run replay {run} --at {seq}"), what);
        }
    }
    answer.next(format!("run trace {run}"), "every record it can be replayed at")
}

/// Which run, and how much of it.
pub struct Look<'a> {
    pub session: &'a Session,
    pub run: RunId,
    nodes: Option<u32>,
    outputs: bool,
}

impl Look<'_> {
    pub fn at(&self, at: &str) -> Result<RunReplay, Failure> {
        let query = ReplayQuery { at: Some(at.to_owned()), nodes: self.nodes, output: self.outputs };
        self.session.client.get(&with_query(&format!("/v1/runs/{}/replay", self.run), &query))
    }
}

/// `r1042, 12 of 40 at 2026-…: pay node_done, done`
pub fn head(screen: &Screen, replay: &RunReplay) -> Vec<String> {
    let record = &replay.record;
    let within = record.owner.strip_prefix(&format!("{}/", replay.run.run));
    let (whose, told) = (within.unwrap_or(&record.owner), sentence(&record.record, record.at));
    let place = format!("{} of {}", grouped(replay.place), grouped(replay.records));
    let mut lines = vec![
        screen.paint(Paint::Bold, &format!("{} after {}, record {place}, at {}", replay.run.run, record.seq, record.at)),
        plain_text(&format!("{whose}  {}  {told}", kind(&record.record))).into_owned(),
    ];
    lines.extend(replay.note.iter().map(|note| screen.paint(Paint::Yellow, note)));
    lines
}

/// What a page of a run does not have: tokens, turns and items, what it waited for, and what is gone.
pub fn tail(screen: &Screen, replay: &RunReplay) -> Vec<String> {
    const LISTED: usize = 8;
    let listed = |all: Vec<String>, more: u64| {
        let more = more + all.len().saturating_sub(LISTED) as u64;
        let rest = if more > 0 { format!(" … and {} more", grouped(more)) } else { String::new() };
        format!("{}{rest}", all.iter().take(LISTED).cloned().collect::<Vec<_>>().join(", "))
    };
    let mut lines = Vec::new();
    let tokens: Vec<String> = replay.tokens.iter().map(|token| format!("{} → {}", token.from, token.to)).collect();
    if !tokens.is_empty() || replay.dead_tokens > 0 {
        let dead = if replay.dead_tokens > 0 { format!(" ({} dead)", grouped(replay.dead_tokens)) } else { String::new() };
        let live = if tokens.is_empty() { "none that lives".to_owned() } else { listed(tokens, replay.more_tokens) };
        lines.push(format!("tokens  {live}{dead}"));
    }
    if !replay.frames.is_empty() {
        lines.push(format!("open    {}", listed(replay.frames.clone(), replay.more_frames)));
    }
    lines.push(plain_text(&replay.explanation.sentence).into_owned());
    for unread in &replay.unread {
        lines.push(screen.paint(Paint::Yellow, &format!("{}: {}", unread.of, unread.sentence)));
    }
    lines.extend(replay.lost.iter().map(|lost| screen.paint(Paint::Red, &lost.sentence)));
    lines
}

fn page(screen: &Screen, replay: &RunReplay, all: bool) -> String {
    let mut text = format!("{}\n\n{}", head(screen, replay).join("\n"), show::page_at(screen, &replay.run, all, replay.time));
    for node in replay.run.nodes.iter() {
        if let Some(output) = &node.output {
            let given = show::beginning(crate::json_text::pretty(output.get()));
            text.push_str(&format!("\n\n{} gave {}", node.node, plain_text(&given)));
        }
    }
    format!("{text}\n\n{}", tail(screen, replay).join("\n"))
}
