//! A run drawn in lines: its nodes in order, each with its state; what goes on inside loops and eaches beneath them, the
//! rest of it folded into counts.

use crate::output::{Paint, Screen};
use crate::plain::plain;
use crate::table::{node_paint, short};
use crate::units::{show_about_ms, show_when};
use doors::wire::{FrameCounts, Instant, NodeStatus, NodeView, RunView};

/// Nodes inside one loop or each that are told one by one.
const INSIDE_MAX: usize = 8;
const NOTE_CHARS_MAX: usize = 90;

pub fn lines(screen: &Screen, run: &RunView, now: Instant) -> Vec<String> {
    let root: Vec<&NodeView> = run.nodes.iter().filter(|node| node.frame.is_empty()).collect();
    let width = |of: &dyn Fn(&NodeView) -> usize| root.iter().map(|node| of(node)).max().unwrap_or(0);
    let columns = (width(&|node| node.node.chars().count()), width(&|node| kind(node).chars().count()));
    let mut lines = Vec::new();
    for node in &root {
        lines.push(line(screen, run, node, columns, now));
        let open = format!("{}[", node.id);
        let inside: Vec<&NodeView> = run.nodes.iter().filter(|other| other.frame.starts_with(&open)).collect();
        // A loop that has ended well is told by its own line.
        let telling: Vec<&&NodeView> = inside.iter().filter(|node| is_telling(node)).collect();
        for node in telling.iter().take(INSIDE_MAX) {
            lines.push(format!("    {}", line(screen, run, node, (0, 0), now)));
        }
        if telling.len() > INSIDE_MAX {
            lines.push(screen.paint(Paint::Dim, &format!("      … and {} more", telling.len() - INSIDE_MAX)));
        }
    }
    lines
}

/// What goes on, or went wrong: the rest of a turn is in the counts.
fn is_telling(node: &NodeView) -> bool {
    node.status.is_under_way() || node.status == NodeStatus::Failed
}

fn kind(node: &NodeView) -> &str {
    node.kind.as_deref().unwrap_or("")
}

fn line(screen: &Screen, run: &RunView, node: &NodeView, (names, kinds): (usize, usize), now: Instant) -> String {
    let mark = match node.status {
        NodeStatus::Waiting => "·",
        NodeStatus::Running => "▸",
        NodeStatus::Asking => "?",
        NodeStatus::Sleeping => "z",
        NodeStatus::Done => "✓",
        NodeStatus::Failed => "✗",
        NodeStatus::Skipped => "-",
        NodeStatus::Cancelled => "×",
    };
    let took = match (node.duration_ms, node.since) {
        (Some(ms), _) => show_about_ms(ms),
        (None, Some(since)) => show_about_ms(since.ms_until(now).max(0).unsigned_abs()),
        (None, None) => String::new(),
    };
    let paint = node_paint(node.status);
    let state = screen.paint(paint, &format!("{:<9}", node.status.as_str()));
    let name = format!("{:<names$}", plain(&node.node));
    let kind = screen.paint(Paint::Dim, &format!("{:<kinds$}", plain(kind(node))));
    let text = format!("{} {name}  {kind}  {state}  {took:>8}  {}", screen.paint(paint, mark), note(run, node, now));
    text.trim_end().to_owned()
}

/// What is worth knowing of a node beside its state.
fn note(run: &RunView, node: &NodeView, now: Instant) -> String {
    let mut parts = Vec::new();
    parts.extend(node.frames.as_ref().map(|frames| turns(node, frames)));
    if node.frames.is_none()
        && let Some(items) = node.items
    {
        parts.push(format!("{items} items"));
    }
    match (&node.way, node.to.as_slice()) {
        (Some(way), []) => parts.push(way.clone()),
        (Some(way), to) => {
            parts.push(format!("{way} → {}", to.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")));
        }
        (None, _) => {}
    }
    parts.extend(node.cause.as_ref().map(|cause| match cause.as_str() {
        "failed" => "what it needs has failed".to_owned(),
        _ => "its way was not taken".to_owned(),
    }));
    if let Some(error) = &node.error {
        parts.push(short(&format!("{}: {}", error.code, error.message), NOTE_CHARS_MAX));
        match node.then.as_deref() {
            Some("to") => parts.push("another way is taken".to_owned()),
            Some("ignore") => parts.push("ignored".to_owned()),
            _ => {}
        }
    }
    if node.status.is_under_way() || node.status == NodeStatus::Failed {
        parts.extend(node.task.map(|task| task.to_string()));
        parts.extend(node.sub_run.map(|run| run.to_string()));
    }
    if node.status == NodeStatus::Asking {
        parts.push(format!("answer: signaller approval answer {}/{} --yes --by NAME", run.run, node.node));
    }
    if let Some(until) = node.until.filter(|_| node.status.is_under_way()) {
        parts.push(format!("ends {}", show_when(until, now)));
    }
    plain(&parts.join(", ")).into_owned()
}

/// `3 of 40 done, 1 failed, 4 under way`; of a loop `turn 3`.
fn turns(node: &NodeView, frames: &FrameCounts) -> String {
    let mut text = match node.items {
        Some(items) => format!("{} of {items} done", frames.done),
        None => format!("turn {}", frames.open + frames.done + frames.failed + frames.dropped),
    };
    for (count, what) in [(frames.failed, "failed"), (frames.dropped, "dropped")] {
        if count > 0 {
            text.push_str(&format!(", {count} {what}"));
        }
    }
    if node.items.is_some() && frames.open > 0 {
        text.push_str(&format!(", {} under way", frames.open));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_drawn_in_lines() {
        let run = r#"{"run":"run-7","workflow":"w","version":1,"status":"running","started_at":"2026-11-15T08:57:00Z","nodes":[
            {"node":"route","id":"route","type":"branch","status":"done","way":"rules[1]","to":["ask","rounds"]},
            {"node":"ask","id":"ask","type":"approval","status":"asking","since":"2026-11-15T08:57:00Z","until":"2026-11-15T08:59:00Z"},
            {"node":"rounds","id":"rounds","type":"each","status":"running","since":"2026-11-15T08:57:00Z","items":40,
             "frames":{"open":2,"done":12,"failed":1,"dropped":0}},
            {"node":"end","id":"end","type":"http","status":"waiting"},
            {"node":"rounds[12]/lint","id":"lint","frame":"rounds[12]","type":"t","status":"running","since":"2026-11-15T08:57:30Z","task":"task-9"},
            {"node":"rounds[11]/lint","id":"lint","frame":"rounds[11]","type":"t","status":"done","duration_ms":5}]}"#;
        let run: RunView = serde_json::from_str(run).unwrap();
        let screen = Screen { people: true, colour: false };
        let drawn = lines(&screen, &run, "2026-11-15T08:58:00Z".parse().unwrap());
        let expected = [
            "✓ route   branch    done                 rules[1] → ask, rounds",
            "? ask     approval  asking        1 min  answer: signaller approval answer run-7/ask --yes --by NAME, ends in 1m",
            "▸ rounds  each      running       1 min  12 of 40 done, 1 failed, 2 under way",
            "    ▸ rounds[12]/lint  t  running        30 s  task-9",
            "· end     http      waiting",
        ];
        assert_eq!(drawn, expected);
    }
}
