//! A time line as SVG: a row for each node, what it was at as bars over a common axis.

use super::super::graph::to_the_second;
use crate::wire::*;
use flow::graph::pen::{self, Face, N, Status, Text, clipped, escaped, marked, step_ms};
use kernel::time;
use std::fmt::Write;

const MARGIN: f64 = 24.0;
const NAMES: f64 = 270.0;
const BARS: f64 = 820.0;
const TOOK: f64 = 90.0;
const ROW: f64 = 22.0;
const BAR: f64 = 12.0;
const TOP: f64 = MARGIN + 92.0;
/// For the names of the moments, over the axis.
const MOMENTS: f64 = 16.0;
const TICKS_MAX: u64 = 8;
/// What is too short to be seen is this wide all the same.
const SHORT: f64 = 2.0;

const STYLE: &str = ".axis{stroke:var(--faint);stroke-width:1}
.lane{fill:var(--tint)}
.b-running{fill:var(--running)}.b-queued{fill:var(--queued);opacity:.45}.b-backoff{fill:none;stroke:var(--failed);stroke-dasharray:3 2}
.b-asking{fill:var(--asking)}.b-sleeping{fill:var(--sleeping);opacity:.7}.b-awaiting{fill:var(--awaiting);opacity:.7}.b-calling{fill:var(--done);opacity:.75}
.b-held{fill:none;stroke:var(--dim);stroke-dasharray:1 3}.b-inside{fill:var(--faint)}
.b-failed{fill:var(--failed)}
.undone{opacity:.3}
.moment{fill:none;stroke-width:1.4}.m-patched{stroke:var(--queued)}.m-restarted{stroke:var(--asking);stroke-dasharray:5 3}.m-retried{stroke:var(--dim);stroke-dasharray:2 3}
";

pub fn svg(line: &Timeline) -> String {
    let width = 2.0 * MARGIN + NAMES + BARS + TOOK;
    let notes = notes(line);
    let top = TOP + if line.moments.is_empty() { 0.0 } else { MOMENTS };
    let bottom = top + ROW * line.rows.len() as f64;
    let height = bottom.max(top + ROW) + 18.0 * notes.len() as f64 + MARGIN;
    let heading = format!("{} · {}", line.run, line.workflow);
    let mut out = String::with_capacity(8_192 + 400 * line.rows.len());
    pen::begin(&mut out, (width, height), &format!("time line of {}", line.run), STYLE);
    let status = Status::from(line.status);
    pen::sign(&mut out, status, MARGIN, MARGIN, 18.0);
    pen::text(&mut out, &Text { x: MARGIN + 26.0, y: MARGIN + 15.0, class: "head", text: &heading });
    let all_ms = whole_ms(line);
    pen::text(&mut out, &Text { x: MARGIN, y: MARGIN + 36.0, class: "about", text: &head(line, all_ms) });
    legend(&mut out, line);
    axis(&mut out, all_ms, (top, bottom));
    let sums = line.rows.iter().any(|row| row.instances > 1);
    let took = if sums { "took (Σ: all together)" } else { "took" };
    let right = MARGIN + NAMES + BARS + TOOK - 4.0;
    // Beside the last mark of the axis there is no room for it.
    pen::text(&mut out, &Text { x: right, y: MARGIN + 59.0, class: "end", text: took });
    for (number, row) in line.rows.iter().enumerate() {
        lane(&mut out, line, row, top + ROW * number as f64, number.is_multiple_of(2));
    }
    moments(&mut out, line, (top, bottom));
    for (number, note) in notes.iter().enumerate() {
        let y = bottom.max(top + ROW) + 18.0 * (number + 1) as f64;
        pen::text(&mut out, &Text { x: MARGIN, y, class: "about", text: note });
    }
    out.push_str("</svg>\n");
    out
}

fn head(line: &Timeline, all_ms: u64) -> String {
    let mut about = vec![format!("version {}", line.version)];
    about.extend((line.revision > 0).then(|| format!("revision {}", line.revision)));
    about.extend((line.generation > 0).then(|| format!("generation {}", line.generation)));
    let how = if line.ended_at.is_some() { "after" } else { "for" };
    about.push(format!("{} {how} {}", Status::from(line.status).as_str(), time::span(all_ms)));
    about.push(format!("from {}", to_the_second(line.started_at)));
    about.join(" · ")
}

/// A line through all rows for each moment at which the run was changed, and what it was wherever there is room for that.
fn moments(out: &mut String, line: &Timeline, (top, bottom): (f64, f64)) {
    let mut free = 0.0;
    for moment in &line.moments {
        let (at, class) = (x(line, moment.at), moment.what.as_str());
        out.push_str("<g>\n");
        pen::title(out, &format!("{}\nafter {}, {}", moment.sentence(), lasted_at(line, moment.at), moment.at));
        let _ = writeln!(out, "<path class=\"moment m-{class}\" d=\"M{} {}V{}\"/>", N(at), N(top - 22.0), N(bottom));
        let shown = match (moment.revision, moment.generation) {
            (Some(revision), _) => format!("revision {revision}"),
            (_, Some(generation)) => format!("generation {generation}"),
            (None, None) => class.to_owned(),
        };
        let half = pen::width(&shown, 11.0, Face::Plain) / 2.0;
        if at - half >= free {
            pen::text(out, &Text { x: at, y: top - 26.0, class: "mid", text: &shown });
            free = at + half + 6.0;
        }
        out.push_str("</g>\n");
    }
}

fn lasted_at(line: &Timeline, at: Instant) -> String {
    time::span(line.started_at.ms_until(at).max(0).unsigned_abs())
}

fn notes(line: &Timeline) -> Vec<String> {
    let mut notes = Vec::new();
    if line.rows.is_empty() {
        notes.push("Nothing has happened to a node yet.".to_owned());
    }
    if line.left_out > 0 {
        notes.push(format!(
            "… and {} more rows; `--limit {}` has them",
            line.left_out,
            (line.rows.len() as u64 + line.left_out).min(1_000)
        ));
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
        left += 24.0 + pen::width("attempt that failed ✗", 11.0, Face::Plain) + 18.0;
    }
    if line.rows.iter().flat_map(|row| &row.spans).any(|span| span.undone) {
        bar(out, "running undone", left, MARGIN + 49.0, 18.0);
        pen::text(out, &Text { x: left + 24.0, y: MARGIN + 59.0, class: "key", text: "undone by a restart" });
        left += 24.0 + pen::width("undone by a restart", 11.0, Face::Plain) + 18.0;
    }
    for what in MomentKind::ALL.into_iter().filter(|what| line.moments.iter().any(|moment| moment.what == *what)) {
        let class = what.as_str();
        let (x, top, bottom) = (N(left + 4.0), N(MARGIN + 46.0), N(MARGIN + 63.0));
        let _ = writeln!(out, "<path class=\"moment m-{class}\" d=\"M{x} {top}V{bottom}\"/>");
        pen::text(out, &Text { x: left + 12.0, y: MARGIN + 59.0, class: "key", text: class });
        left += 12.0 + pen::width(class, 11.0, Face::Plain) + 18.0;
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

fn axis(out: &mut String, all_ms: u64, (top, bottom): (f64, f64)) {
    let step = step_ms(all_ms, TICKS_MAX);
    for tick in 0..=all_ms / step {
        let at = MARGIN + NAMES + (tick * step) as f64 / all_ms as f64 * BARS;
        let _ = writeln!(out, "<path class=\"axis\" d=\"M{} {}V{}\"/>", N(at), N(top - 6.0), N(bottom));
        pen::text(out, &Text { x: at, y: top - 10.0, class: "mid", text: &marked(tick * step) });
    }
}

fn lane(out: &mut String, line: &Timeline, row: &TimelineRow, y: f64, even: bool) {
    if even {
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
    pen::sign(out, row.status.into(), MARGIN + 2.0, y + 4.0, 14.0);
    let mut many = if row.instances > 1 { format!(" × {}", row.instances) } else { String::new() };
    if row.instances > 1 && row.failed > 0 {
        many.push_str(&format!(", {} failed", row.failed));
    }
    many.push_str(if row.undone { " (undone)" } else { "" });
    many.push_str(if row.removed.is_some() { " (taken out)" } else { "" });
    let room = NAMES - 34.0 - pen::width(&many, 11.5, Face::Mono);
    let name = format!("{}{many}", clipped(&row.node, room, 11.5, Face::Mono));
    pen::text(out, &Text { x: MARGIN + 22.0, y: y + 15.0, class: "mono", text: &name });
    out.push_str("</g>\n");
    // What failed lies over what did not.
    let (well, failed): (Vec<_>, Vec<_>) = row.spans.iter().partition(|span| span.error.is_none());
    for span in well.into_iter().chain(failed) {
        let (from, to) = (x(line, span.from), x(line, span.to.unwrap_or(line.until)));
        let width = (to - from).max(SHORT);
        out.push_str("<g>\n");
        pen::title(out, &told(line, row, span));
        let failed = span.error.is_some() && span.what == SpanKind::Running;
        let class = if failed { "failed" } else { span.what.as_str() };
        let undone = if span.undone { " undone" } else { "" };
        bar(out, &format!("{class}{undone}"), from, y + 5.0, width);
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
    let sum = if row.instances > 1 { "Σ " } else { "" };
    let took = row.took_ms().map_or_else(|| row.status.as_str().to_owned(), |ms| format!("{sum}{}", time::span(ms)));
    pen::text(out, &Text { x: MARGIN + NAMES + BARS + TOOK - 4.0, y: y + 15.0, class: "end", text: &took });
}

fn about(row: &TimelineRow) -> String {
    let kind = row.kind.as_ref().map_or_else(String::new, |kind| format!(", {kind}"));
    let mut lines = vec![format!("{}{kind}: {}", row.node, row.status)];
    if row.instances > 1 {
        lines.push(format!("{} turns or items, {} failed", row.instances, row.failed));
    }
    lines.extend(row.undone.then(|| "undone by a restart".to_owned()));
    lines.extend(row.removed.map(|revision| format!("taken out by a patch: not in revision {revision} any more")));
    let mut totals = row.totals.clone();
    for what in SpanKind::ALL {
        let ms = *totals.of(what);
        lines.extend((ms > 0).then(|| format!("{} {}", what.as_str(), time::span(ms))));
    }
    lines.extend((row.totals.attempts > row.instances).then(|| format!("{} attempts", row.totals.attempts)));
    lines.join("\n")
}

fn told(line: &Timeline, row: &TimelineRow, span: &TimelineSpan) -> String {
    let ms = span.from.ms_until(span.to.unwrap_or(line.until)).max(0).unsigned_abs();
    let so_far = if span.to.is_none() { ", goes on" } else { "" };
    let mut lines = vec![format!("{}: {} {}{so_far}", row.node, span.what.as_str(), time::span(ms))];
    lines.extend(span.attempt.map(|attempt| format!("attempt {attempt}")));
    lines.extend(span.worker.as_ref().map(|worker| format!("on {worker}")));
    lines.extend(span.error.as_ref().map(|error| format!("{}: {}", error.code, error.message)));
    lines.extend(span.undone.then(|| "undone by a restart".to_owned()));
    lines.push(format!("from {}", span.from));
    lines.join("\n")
}
