//! `signaller run timeline`.

use crate::client::with_query;
use crate::commands::{Session, run_id};
use crate::drawing::SvgArgs;
use crate::output::{Answer, Outcome, Paint, Screen};
use crate::plain::plain;
use crate::table::{columns, middle, node_paint};
use crate::units::{grouped, show_about_ms, show_between};
use clap::Args;
use doors::wire::{MomentKind, SpanKind, Timeline, TimelineQuery, TimelineRow, TimelineSpan};
use flow::graph::pen::{marked, step_ms};
use kernel::ids::RunId;
use kernel::names::NodeId;

const WIDTH_DEFAULT: usize = 100;
const WIDTH_MIN: usize = 40;
const NAME_CHARS_MAX: usize = 36;
const NAME_CHARS_MIN: usize = 12;
const TOOK_CHARS: usize = 11;
/// Moments at which the run was changed that are told one by one.
const MOMENTS_MAX: usize = 8;
/// Between two marks on the axis, at least.
const MARK_CHARS: u64 = 14;

/// Tell when each node of a run did what: waited in its queue, ran, was tried again, slept, asked
#[derive(Args, Debug)]
#[command(
    after_help = "More than a dozen turns or items of one node are one row, `rounds[*]/lint`; --node and --all have each by itself. Of many the \
                  last column is the sum over all of them. What restarts have undone is not shown, unless with --all-generations; \
                  `rounds[2@1]` is turn 2 as it was opened in generation 1.\n\n\
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
    /// Also what restarts have undone, and marked as that
    #[arg(long)]
    all_generations: bool,
    /// How many rows at most
    #[arg(long, visible_alias = "rows", value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..=1000))]
    limit: u32,
    #[command(flatten)]
    drawing: SvgArgs,
}

pub fn run(args: TimelineArgs, json: bool, session: &Session) -> Outcome {
    args.drawing.check(json)?;
    let TimelineArgs { node, all, all_generations, .. } = args;
    let query = TimelineQuery { node, all, all_generations, limit: Some(args.limit) };
    let path = format!("/v1/runs/{}/timeline", args.run);
    if args.drawing.svg {
        let svg = session.client.get_text(&with_query(&format!("{path}.svg"), &query))?;
        return args.drawing.deliver("timeline", svg, json);
    }
    let line: Timeline = session.client.get(&with_query(&path, &query))?;
    let width = columns().unwrap_or(WIDTH_DEFAULT);
    let answer = Answer::new(&line, drawn(&session.screen, &line, width));
    let run = line.run;
    let many = line.rows.iter().find(|row| row.instances > 1);
    let answer = match many {
        Some(row) => answer.next(format!("run timeline {run} --node {}", row.id), "each turn and item of it"),
        None => answer,
    };
    Ok(answer.next(format!("run trace {run}"), "every record of it"))
}

const FAILED: char = '✗';
const UNDONE: char = ':';

fn sign_of(span: &TimelineSpan) -> char {
    match span.what {
        _ if span.undone => UNDONE,
        SpanKind::Running if span.error.is_some() => FAILED,
        what => sign(what),
    }
}

fn mark(what: MomentKind) -> char {
    match what {
        MomentKind::Patched => 'P',
        MomentKind::Restarted => 'R',
        MomentKind::Retried => 'r',
    }
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
        SpanKind::Awaiting => '~',
        SpanKind::Held => '=',
        SpanKind::Inside => '─',
    }
}

pub fn drawn(screen: &Screen, line: &Timeline, width: usize) -> String {
    if line.rows.is_empty() {
        return format!("Nothing has happened to a node of {} yet.", line.run);
    }
    let name = |row: &TimelineRow| {
        let mut more = if row.instances > 1 { format!(" × {}", grouped(row.instances)) } else { String::new() };
        if row.instances > 1 && row.failed > 0 {
            more.push_str(&format!(", {} failed", grouped(row.failed)));
        }
        more.push_str(if row.undone { " (undone)" } else { "" });
        more.push_str(if row.removed.is_some() { " (taken out)" } else { "" });
        let room = NAME_CHARS_MAX.saturating_sub(more.chars().count()).max(NAME_CHARS_MIN);
        format!("{}{more}", middle(&plain(&row.node), room))
    };
    let names = line.rows.iter().map(|row| name(row).chars().count()).max().unwrap_or(0);
    let bars = width.max(WIDTH_MIN).saturating_sub(names + TOOK_CHARS + 3).max(10);
    let all_ms = line.started_at.ms_until(line.until).max(1).unsigned_abs();
    let sums = line.rows.iter().any(|row| row.instances > 1);
    let axis = format!("{:<bars$} {:>TOOK_CHARS$}", axis(all_ms, bars), if sums { "took in all" } else { "took" });
    let mut lines = vec![format!("{}  {}", " ".repeat(names), screen.paint(Paint::Dim, &axis))];
    if !line.moments.is_empty() {
        let mut marks = vec![' '; bars];
        for moment in &line.moments {
            marks[(place(line, moment.at.0.us(), bars) as usize).min(bars - 1)] = mark(moment.what);
        }
        let marks: String = marks.into_iter().collect();
        lines.push(format!("{}  {}", " ".repeat(names), screen.paint(Paint::Yellow, marks.trim_end())));
    }
    for row in &line.rows {
        let bar = screen.paint(node_paint(row.status), &bar(line, row, bars));
        let took = row.took_ms().map_or_else(|| row.status.as_str().to_owned(), show_about_ms);
        lines.push(format!("{:<names$}  {bar} {took:>TOOK_CHARS$}", name(row)));
    }
    let shown =
        SpanKind::ALL.into_iter().filter(|what| line.rows.iter().flat_map(|row| &row.spans).any(|span| span.what == *what));
    let mut legend: Vec<String> = shown.map(|what| format!("{} {}", sign(what), what.as_str())).collect();
    let spans = || line.rows.iter().flat_map(|row| &row.spans);
    for (sign, what) in [(FAILED, "attempt that failed"), (UNDONE, "undone by a restart")] {
        legend.extend(spans().any(|span| sign_of(span) == sign).then(|| format!("{sign} {what}")));
    }
    lines.push(format!("\n{}", screen.paint(Paint::Dim, &legend.join("  "))));
    for moment in line.moments.iter().take(MOMENTS_MAX) {
        let after = show_between(line.started_at, moment.at);
        lines.push(format!("{} after {after}: {}", mark(moment.what), plain(&moment.sentence())));
    }
    if line.moments.len() > MOMENTS_MAX {
        lines.push(format!("… and {} more; `signaller run trace {}` has them", line.moments.len() - MOMENTS_MAX, line.run));
    }
    if line.left_out > 0 {
        let all = line.rows.len() as u64 + line.left_out;
        let how = if all <= 1_000 { format!("--limit {all} has them") } else { "--node NODE has those of one node".to_owned() };
        lines.push(screen.paint(Paint::Dim, &format!("… and {} more rows; {how}", grouped(line.left_out))));
    }
    if line.more {
        lines.push("The run has more records than are looked at: what came later is not here.".to_owned());
    }
    lines.join("\n")
}

/// What lasted longest in each cell; what is shorter than a cell is seen all the same.
fn bar(line: &Timeline, row: &TimelineRow, cells: usize) -> String {
    let mut most: Vec<Option<(f64, char)>> = vec![None; cells];
    for span in &row.spans {
        let (from, to) = (place(line, span.from.0.us(), cells), place(line, span.to.unwrap_or(line.until).0.us(), cells));
        let first = (from as usize).min(cells - 1);
        let last = ((to.ceil() as usize).max(first + 1)).min(cells);
        for (at, cell) in most.iter_mut().enumerate().take(last).skip(first) {
            // What failed is seen, however short it was; a loop is only the ground for what goes on in it.
            let share = match sign_of(span) {
                FAILED => 2.0,
                _ => (to.min(at as f64 + 1.0) - from.max(at as f64)).max(0.0),
            };
            if cell.is_none_or(|(longest, shown)| share > longest || shown == sign(SpanKind::Inside)) {
                *cell = Some((share, sign_of(span)));
            }
        }
    }
    most.into_iter().map(|cell| cell.map_or(' ', |(_, shown)| shown)).collect()
}

/// In which cell an instant lies.
fn place(line: &Timeline, us: i64, cells: usize) -> f64 {
    let (start, all) = (line.started_at.0.us(), (line.until.0.us() - line.started_at.0.us()).max(1) as f64);
    ((us - start) as f64 / all * cells as f64).clamp(0.0, cells as f64)
}

/// Marks at round times, as many as there is room for; each stands left of its place.
fn axis(all_ms: u64, cells: usize) -> String {
    let step = step_ms(all_ms, cells as u64 / MARK_CHARS);
    let mut text = "0".to_owned();
    for mark in 1..=all_ms / step {
        let at = (mark * step) as f64 / all_ms as f64 * cells as f64;
        let shown = marked(mark * step);
        let begins = (at.round() as usize).saturating_sub(shown.chars().count());
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
        assert_eq!(rows[0], format!("{}0{}10 s took in all", " ".repeat(16), " ".repeat(15)), "{told}");
        assert_eq!(rows[1], format!("a{}░░░░██████{}3.0 s", " ".repeat(15), " ".repeat(17)), "{told}");
        assert!(rows[2].starts_with("l[*]/b × 1,200  ") && rows[2].contains('█'), "{told}");
        assert!(rows[3].ends_with("skipped"), "{told}");
        assert!(told.contains("░ queued  █ running") && told.contains("and 2 more rows; --limit 5 has them"), "{told}");
        assert_eq!(screen.known("░▒▓█"), "░▒▓█");
        assert_eq!(Screen { ascii: true, ..screen }.known("░▒▓█"), ".~%#");
    }
    #[test]
    fn marks_lie_at_round_times() {
        for (all_ms, cells, wanted) in [
            (360_000, 70, "0                 2 min                   4 min                  6 min"),
            (90_000, 60, "0               30 s               1 min          1 min 30 s"),
        ] {
            let told = axis(all_ms, cells);
            assert_eq!(told, wanted, "{told}");
        }
    }
}
