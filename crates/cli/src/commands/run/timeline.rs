//! `signaller run timeline`.

use crate::client::with_query;
use crate::commands::{Session, run_id};
use crate::drawing::SvgArgs;
use crate::output::{Answer, Outcome, Paint, Screen};
use crate::plain::plain;
use crate::table::{node_paint, short};
use crate::units::{grouped, show_about_ms};
use clap::Args;
use doors::wire::{SpanKind, Timeline, TimelineQuery, TimelineRow};
use kernel::ids::RunId;
use kernel::names::NodeId;

const WIDTH_DEFAULT: usize = 100;
const WIDTH_MIN: usize = 40;
const NAME_CHARS_MAX: usize = 36;
const TOOK_CHARS: usize = 11;
/// Between two marks on the axis, at least.
const MARK_CHARS: u64 = 14;

/// Tell when each node of a run did what: waited in its queue, ran, was tried again, slept, asked
#[derive(Args, Debug)]
#[command(
    after_help = "More than a dozen turns or items of one node are one row, `rounds[*]/lint`; --node and --all have each by itself.\n\n\
                  Examples:\n  signaller run timeline run-7\n  signaller run timeline run-7 --node lint\n  \
                  signaller run timeline run-7 --svg -o run-7.svg\n  signaller run timeline run-7 --json | jq '.result.rows[].totals'"
)]
pub struct TimelineArgs {
    /// The run, by its id
    #[arg(value_name = "RUN", value_parser = run_id)]
    run: RunId,
    /// Only this node, as its definition calls it, each turn and item of it by itself
    #[arg(long, value_name = "NODE", value_parser = NodeId::parse)]
    node: Option<NodeId>,
    /// Each turn and item by itself
    #[arg(long)]
    all: bool,
    /// How many rows at most
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    #[command(flatten)]
    drawing: SvgArgs,
}

pub fn run(args: TimelineArgs, json: bool, session: &Session) -> Outcome {
    args.drawing.check(json)?;
    let query = TimelineQuery { node: args.node, all: args.all, limit: Some(args.limit) };
    let path = format!("/v1/runs/{}/timeline", args.run);
    if args.drawing.svg {
        let svg = session.client.get_text(&with_query(&format!("{path}.svg"), &query))?;
        return args.drawing.deliver("timeline", svg, json);
    }
    let line: Timeline = session.client.get(&with_query(&path, &query))?;
    let width = comfy_table::Table::new().width().filter(|width| *width > 0).map_or(WIDTH_DEFAULT, usize::from);
    let answer = Answer::new(&line, drawn(&session.screen, &line, width));
    let run = line.run;
    let many = line.rows.iter().find(|row| row.instances > 1);
    let answer = match many {
        Some(row) => answer.next(format!("run timeline {run} --node {}", row.id), "each turn and item of it"),
        None => answer,
    };
    Ok(answer.next(format!("run trace {run}"), "every record of it"))
}

/// The sign of what a node was at.
fn sign(what: SpanKind) -> char {
    match what {
        SpanKind::Running => '█',
        SpanKind::Calling => '▓',
        SpanKind::Backoff => '▒',
        SpanKind::Queued => '░',
        SpanKind::Asking => '?',
        SpanKind::Sleeping => 'z',
        SpanKind::Held => '=',
        SpanKind::Inside => '─',
    }
}

pub fn drawn(screen: &Screen, line: &Timeline, width: usize) -> String {
    if line.rows.is_empty() {
        return format!("Nothing has happened to a node of {} yet.", line.run);
    }
    let name = |row: &TimelineRow| {
        let many = if row.instances > 1 { format!(" × {}", grouped(row.instances)) } else { String::new() };
        short(&format!("{}{many}", plain(&row.node)), NAME_CHARS_MAX)
    };
    let names = line.rows.iter().map(|row| name(row).chars().count()).max().unwrap_or(0);
    let bars = width.max(WIDTH_MIN).saturating_sub(names + TOOK_CHARS + 3).max(10);
    let all_ms = line.started_at.ms_until(line.until).max(1).unsigned_abs();
    let mut lines = vec![format!("{}  {}", " ".repeat(names), screen.paint(Paint::Dim, &axis(all_ms, bars)))];
    for row in &line.rows {
        let bar = screen.paint(node_paint(row.status), &bar(line, row, bars));
        let took = match (&row.totals, row.spans.is_empty()) {
            (_, true) => row.status.as_str().to_owned(),
            (totals, false) => {
                let worked = totals.running_ms + totals.calling_ms + totals.asking_ms + totals.sleeping_ms;
                show_about_ms(if worked > 0 { worked } else { totals.inside_ms })
            }
        };
        lines.push(format!("{:<names$}  {bar} {took:>TOOK_CHARS$}", name(row)));
    }
    let shown =
        SpanKind::ALL.into_iter().filter(|what| line.rows.iter().flat_map(|row| &row.spans).any(|span| span.what == *what));
    let legend: Vec<String> = shown.map(|what| format!("{} {}", sign(what), what.as_str())).collect();
    lines.push(format!("\n{}", screen.paint(Paint::Dim, &legend.join("  "))));
    if line.left_out > 0 {
        lines.push(screen.paint(Paint::Dim, &format!("… and {} more rows; --limit has more of them", grouped(line.left_out))));
    }
    if line.more {
        lines.push("The run has more records than are looked at: what came later is not here.".to_owned());
    }
    lines.join("\n")
}

/// What lasted longest in each cell; what is shorter than a cell is seen all the same.
fn bar(line: &Timeline, row: &TimelineRow, cells: usize) -> String {
    let (start, all) = (line.started_at.0.us(), (line.until.0.us() - line.started_at.0.us()).max(1) as f64);
    let place = |us: i64| ((us - start) as f64 / all * cells as f64).clamp(0.0, cells as f64);
    let mut most: Vec<Option<(f64, SpanKind)>> = vec![None; cells];
    for span in &row.spans {
        let (from, to) = (place(span.from.0.us()), place(span.to.unwrap_or(line.until).0.us()));
        let first = (from as usize).min(cells - 1);
        let last = ((to.ceil() as usize).max(first + 1)).min(cells);
        for (at, cell) in most.iter_mut().enumerate().take(last).skip(first) {
            let share = (to.min(at as f64 + 1.0) - from.max(at as f64)).max(0.0);
            // A loop is only the ground for what goes on in it.
            if cell.is_none_or(|(longest, what)| share > longest || what == SpanKind::Inside) {
                *cell = Some((share, span.what));
            }
        }
    }
    most.into_iter().map(|cell| cell.map_or(' ', |(_, what)| sign(what))).collect()
}

/// Marks at round times, as many as there is room for.
fn axis(all_ms: u64, cells: usize) -> String {
    let marks = (cells as u64 / MARK_CHARS).max(1);
    let mut text = "0".to_owned();
    for mark in 1..=marks {
        let at = cells * mark as usize / marks as usize;
        let shown = show_about_ms(all_ms * mark / marks);
        let begins = at.saturating_sub(shown.chars().count());
        let used = text.chars().count();
        text.push_str(&" ".repeat(begins.saturating_sub(used)));
        text.push_str(&shown);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_line_fits_its_width() {
        let line = r#"{"run":"run-7","workflow":"w","version":1,"status":"done","started_at":"2026-11-15T08:57:00Z",
            "ended_at":"2026-11-15T08:57:10Z","until":"2026-11-15T08:57:10Z","left_out":2,"rows":[
            {"node":"a","id":"a","status":"done","instances":1,"totals":{"queued_ms":2000,"running_ms":3000},"spans":[
              {"what":"queued","from":"2026-11-15T08:57:00Z","to":"2026-11-15T08:57:02Z"},
              {"what":"running","from":"2026-11-15T08:57:02Z","to":"2026-11-15T08:57:05Z"}]},
            {"node":"l[*]/b","id":"b","status":"failed","instances":1200,"totals":{"running_ms":1},"spans":[
              {"what":"running","from":"2026-11-15T08:57:09.999Z","to":"2026-11-15T08:57:10Z"}]},
            {"node":"no","id":"no","status":"skipped","instances":1,"totals":{},"spans":[]}]}"#;
        let line: Timeline = serde_json::from_str(line).unwrap();
        let screen = Screen { people: true, colour: false, ascii: false };
        let told = drawn(&screen, &line, 48);
        let rows: Vec<&str> = told.lines().collect();
        assert!(rows.iter().all(|row| row.chars().count() <= 48), "{told}");
        // 14 for the names, 11 for how long it took, 3 between them: 20 are left, two for each second.
        assert_eq!(rows[0], format!("{}0{}10 s", " ".repeat(16), " ".repeat(15)), "{told}");
        assert_eq!(rows[1], format!("a{}░░░░██████{}3.0 s", " ".repeat(15), " ".repeat(17)), "{told}");
        assert!(rows[2].starts_with("l[*]/b × 1,200  ") && rows[2].contains('█'), "{told}");
        assert!(rows[3].ends_with("skipped"), "{told}");
        assert!(told.contains("░ queued  █ running") && told.contains("and 2 more rows"), "{told}");
        assert_eq!(screen.known("░▒▓█"), "░▒▓█");
        assert_eq!(Screen { ascii: true, ..screen }.known("░▒▓█"), ".~%#");
    }
}
