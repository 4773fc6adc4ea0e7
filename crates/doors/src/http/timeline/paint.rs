//! A time line as SVG: a row for each node, what it was at as bars over a common axis.

use crate::wire::*;
use flow::graph::pen::{self, Face, N, Status, Text, clipped, escaped, lasted};
use std::fmt::Write;

const MARGIN: f64 = 24.0;
const NAMES: f64 = 270.0;
const BARS: f64 = 820.0;
const TOOK: f64 = 90.0;
const ROW: f64 = 22.0;
const BAR: f64 = 12.0;
const TOP: f64 = MARGIN + 92.0;
const TICKS_MAX: u64 = 8;
/// What is too short to be seen is this wide all the same.
const SHORT: f64 = 2.0;

const STYLE: &str = ".axis{stroke:var(--faint);stroke-width:1}
.lane{fill:var(--tint)}
.b-running{fill:var(--running)}.b-queued{fill:var(--queued);opacity:.45}.b-backoff{fill:none;stroke:var(--failed);stroke-dasharray:3 2}
.b-asking{fill:var(--asking)}.b-sleeping{fill:var(--sleeping);opacity:.7}.b-calling{fill:var(--done);opacity:.75}
.b-held{fill:none;stroke:var(--dim);stroke-dasharray:1 3}.b-inside{fill:var(--faint)}
.b-failed{fill:var(--failed)}
";

pub fn svg(line: &Timeline) -> String {
    let width = 2.0 * MARGIN + NAMES + BARS + TOOK;
    let notes = notes(line);
    let height = TOP + ROW * line.rows.len().max(1) as f64 + 18.0 * notes.len() as f64 + MARGIN;
    let heading = format!("{} · {}", line.run, line.workflow);
    let mut out = String::with_capacity(8_192 + 400 * line.rows.len());
    pen::begin(&mut out, (width, height), &format!("time line of {}", line.run), STYLE);
    let status = match line.status {
        RunStatus::Running => Status::Running,
        RunStatus::Done => Status::Done,
        RunStatus::Failed => Status::Failed,
        RunStatus::Cancelled => Status::Cancelled,
    };
    pen::sign(&mut out, status, MARGIN, MARGIN, 18.0);
    pen::text(&mut out, &Text { x: MARGIN + 26.0, y: MARGIN + 15.0, class: "head", text: &heading });
    let all_ms = whole_ms(line);
    let how = if line.ended_at.is_some() { "after" } else { "for" };
    let about = format!("version {} · {} {how} {} · from {}", line.version, status.as_str(), lasted(all_ms), line.started_at);
    pen::text(&mut out, &Text { x: MARGIN, y: MARGIN + 36.0, class: "about", text: &about });
    legend(&mut out, line);
    axis(&mut out, all_ms, TOP + ROW * line.rows.len() as f64);
    for (number, row) in line.rows.iter().enumerate() {
        lane(&mut out, line, row, number);
    }
    for (number, note) in notes.iter().enumerate() {
        let y = TOP + ROW * line.rows.len().max(1) as f64 + 18.0 * (number + 1) as f64;
        pen::text(&mut out, &Text { x: MARGIN, y, class: "about", text: note });
    }
    out.push_str("</svg>\n");
    out
}

fn notes(line: &Timeline) -> Vec<String> {
    let mut notes = Vec::new();
    if line.rows.is_empty() {
        notes.push("Nothing has happened to a node yet.".to_owned());
    }
    if line.left_out > 0 {
        notes.push(format!("… and {} more rows", line.left_out));
    }
    if line.more {
        notes.push("The run has more records than are looked at: what came later is not here.".to_owned());
    }
    notes
}

fn whole_ms(line: &Timeline) -> u64 {
    line.started_at.ms_until(line.until).max(1).unsigned_abs()
}

/// Where an instant lies, from the left.
fn x(line: &Timeline, at: Instant) -> f64 {
    let all = (line.until.0.us() - line.started_at.0.us()).max(1) as f64;
    let share = (at.0.us() - line.started_at.0.us()) as f64 / all;
    MARGIN + NAMES + share.clamp(0.0, 1.0) * BARS
}

fn legend(out: &mut String, line: &Timeline) {
    let mut left = MARGIN;
    for what in SpanKind::ALL {
        if !line.rows.iter().flat_map(|row| &row.spans).any(|span| span.what == what) {
            continue;
        }
        bar(out, what.as_str(), left, MARGIN + 49.0, 18.0);
        pen::text(out, &Text { x: left + 24.0, y: MARGIN + 59.0, class: "key", text: what.as_str() });
        left += 24.0 + pen::width(what.as_str(), 11.0, Face::Plain) + 18.0;
    }
    if line.rows.iter().flat_map(|row| &row.spans).any(|span| span.error.is_some()) {
        bar(out, "failed", left, MARGIN + 49.0, 18.0);
        pen::text(out, &Text { x: left + 24.0, y: MARGIN + 59.0, class: "key", text: "attempt that failed ✗" });
    }
}

fn bar(out: &mut String, class: &str, x: f64, y: f64, width: f64) {
    let _ = writeln!(
        out,
        "<rect class=\"b-{class}\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"2\"/>",
        N(x),
        N(y),
        N(width),
        N(BAR)
    );
}

/// A step that reads well, so that there are not too many.
pub fn step_ms(all_ms: u64) -> u64 {
    const STEPS_MS: [u64; 26] = [
        1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
        900_000, 1_800_000, 3_600_000, 7_200_000, 21_600_000, 43_200_000, 86_400_000,
    ];
    let mut step = STEPS_MS.into_iter().find(|step| all_ms / step <= TICKS_MAX).unwrap_or(86_400_000);
    while all_ms / step > TICKS_MAX {
        step *= 2;
    }
    step
}

fn axis(out: &mut String, all_ms: u64, bottom: f64) {
    let step = step_ms(all_ms);
    for tick in 0..=all_ms / step {
        let at = MARGIN + NAMES + (tick * step) as f64 / all_ms as f64 * BARS;
        let _ = writeln!(out, "<path class=\"axis\" d=\"M{} {}V{}\"/>", N(at), N(TOP - 6.0), N(bottom));
        let shown = if tick == 0 { "0".to_owned() } else { lasted(tick * step) };
        pen::text(out, &Text { x: at, y: TOP - 10.0, class: "mid", text: &shown });
    }
}

fn lane(out: &mut String, line: &Timeline, row: &TimelineRow, number: usize) {
    let y = TOP + ROW * number as f64;
    if number.is_multiple_of(2) {
        let _ = writeln!(
            out,
            "<rect class=\"lane\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"/>",
            N(MARGIN),
            N(y),
            N(NAMES + BARS + TOOK),
            N(ROW)
        );
    }
    out.push_str("<g>\n");
    pen::title(out, &about(row));
    pen::sign(out, sign_of(row.status), MARGIN + 2.0, y + 4.0, 14.0);
    let many = if row.instances > 1 { format!(" × {}", row.instances) } else { String::new() };
    let room = NAMES - 34.0 - pen::width(&many, 11.5, Face::Mono);
    let name = format!("{}{many}", clipped(&row.node, room, 11.5, Face::Mono));
    pen::text(out, &Text { x: MARGIN + 22.0, y: y + 15.0, class: "mono", text: &name });
    out.push_str("</g>\n");
    for span in &row.spans {
        let (from, to) = (x(line, span.from), x(line, span.to.unwrap_or(line.until)));
        let width = (to - from).max(SHORT);
        out.push_str("<g>\n");
        pen::title(out, &told(line, row, span));
        let failed = span.error.is_some() && span.what == SpanKind::Running;
        bar(out, if failed { "failed" } else { span.what.as_str() }, from, y + 5.0, width);
        if failed && width > 14.0 {
            let _ = writeln!(
                out,
                "<path d=\"M{} {}l6 6m0-6l-6 6\" stroke=\"{}\" stroke-width=\"1.6\"/>",
                N(from + width / 2.0 - 3.0),
                N(y + 8.0),
                escaped("#fff")
            );
        }
        out.push_str("</g>\n");
    }
    let totals = &row.totals;
    let worked = totals.running_ms + totals.calling_ms + totals.asking_ms + totals.sleeping_ms;
    let took = if worked > 0 { worked } else { totals.inside_ms };
    let took = if row.spans.is_empty() { row.status.as_str().to_owned() } else { lasted(took) };
    pen::text(out, &Text { x: MARGIN + NAMES + BARS + TOOK - 4.0, y: y + 15.0, class: "end", text: &took });
}

fn sign_of(status: NodeStatus) -> Status {
    Status::ALL.into_iter().find(|known| known.as_str() == status.as_str()).unwrap_or(Status::Waiting)
}

fn about(row: &TimelineRow) -> String {
    let kind = row.kind.as_ref().map_or_else(String::new, |kind| format!(", {kind}"));
    let mut lines = vec![format!("{}{kind}: {}", row.node, row.status)];
    if row.instances > 1 {
        lines.push(format!("{} turns or items, {} failed", row.instances, row.failed));
    }
    let mut totals = row.totals.clone();
    for what in SpanKind::ALL {
        let ms = *totals.of(what);
        lines.extend((ms > 0).then(|| format!("{} {}", what.as_str(), lasted(ms))));
    }
    lines.extend((row.totals.attempts > row.instances).then(|| format!("{} attempts", row.totals.attempts)));
    lines.join("\n")
}

fn told(line: &Timeline, row: &TimelineRow, span: &TimelineSpan) -> String {
    let ms = span.from.ms_until(span.to.unwrap_or(line.until)).max(0).unsigned_abs();
    let so_far = if span.to.is_none() { ", goes on" } else { "" };
    let mut lines = vec![format!("{}: {} {}{so_far}", row.node, span.what.as_str(), lasted(ms))];
    lines.extend(span.attempt.map(|attempt| format!("attempt {attempt}")));
    lines.extend(span.worker.as_ref().map(|worker| format!("on {worker}")));
    lines.extend(span.error.as_ref().map(|error| format!("{}: {}", error.code, error.message)));
    lines.push(format!("from {}", span.from));
    lines.join("\n")
}
