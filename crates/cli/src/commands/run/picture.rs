//! A run drawn in lines: its nodes in order, each with its state; what goes on inside loops and eaches beneath them, the
//! rest of it folded into counts.

use crate::output::{Paint, Screen};
use crate::plain::plain;
use crate::table::{middle, node_paint, short};
use crate::units::{grouped, show_about_ms, show_age, show_between};
use doors::wire::{FrameCounts, Instant, NodeStatus, NodeView, RunView};
use kernel::ids::RunId;

/// Nodes inside one loop or each that are told one by one; of a wide each, only some of those that failed.
const INSIDE_MAX: usize = 8;
const INSIDE_WIDE_MAX: usize = 3;
/// An each over more items than this is wide: a bar says how far it is.
const WIDE_ITEMS: u32 = 20;
const NOTE_CHARS_MAX: usize = 90;
const BAR_CHARS: u64 = 20;
/// Nodes that one waits for and that are named.
const WAITS_FOR_MAX: usize = 3;

/// One line before it is aligned with the others.
struct Line<'a> {
    indent: usize,
    node: &'a NodeView,
}

enum Drawn<'a> {
    Node(Line<'a>),
    Rest(usize, String),
}

/// `columns`: how wide the terminal is; elsewhere no name is shortened.
pub fn lines(screen: &Screen, run: &RunView, now: Instant, columns: Option<usize>) -> Vec<String> {
    let mut drawn = Vec::new();
    for node in run.nodes.iter().filter(|node| node.frame.is_empty()) {
        drawn.push(Drawn::Node(Line { indent: 0, node }));
        inside(run, node, &mut drawn);
    }
    aligned(screen, (run.run, columns), drawn, now)
}

/// Each node by itself, with those in turns and items beneath theirs.
pub fn all_lines(screen: &Screen, (run, columns): (RunId, Option<usize>), nodes: &[NodeView], now: Instant) -> Vec<String> {
    let mut drawn = Vec::new();
    listed(nodes, "", 0, &mut drawn);
    // Those whose own node is not among them.
    for node in nodes {
        if !drawn.iter().any(|line| matches!(line, Drawn::Node(line) if std::ptr::eq(line.node, node))) {
            drawn.push(Drawn::Node(Line { indent: 0, node }));
        }
    }
    aligned(screen, (run, columns), drawn, now)
}

fn listed<'a>(nodes: &'a [NodeView], frame: &str, indent: usize, drawn: &mut Vec<Drawn<'a>>) {
    for node in nodes.iter().filter(|node| node.frame == frame) {
        drawn.push(Drawn::Node(Line { indent, node }));
        let dot = if frame.is_empty() { "" } else { "." };
        let open = format!("{frame}{dot}{}[", node.id);
        let mut frames: Vec<&str> = nodes.iter().map(|node| &*node.frame).filter(|frame| frame.starts_with(&open)).collect();
        frames.retain(|frame| frame[open.len()..].split_once(']').is_some_and(|(_, rest)| rest.is_empty()));
        frames.dedup();
        frames.iter().for_each(|frame| listed(nodes, frame, indent + 2, drawn));
    }
}

/// How many nodes there are that [`lines`] does not tell one by one.
pub fn hidden(run: &RunView) -> u64 {
    let counted = run.counts.as_ref().map_or(0, |counts| counts.all());
    let mut drawn = Vec::new();
    let own: Vec<&NodeView> = run.nodes.iter().filter(|node| node.frame.is_empty()).collect();
    own.iter().for_each(|node| inside(run, node, &mut drawn));
    let told = own.len() + drawn.iter().filter(|line| matches!(line, Drawn::Node(line) if !line.node.undone)).count();
    counted.saturating_sub(told as u64)
}

/// Signs of a line beside the name and the type: a mark, the state, how long it took, and what lies between.
const REST_CHARS: usize = 29;
const KIND_CHARS_MAX: usize = 16;
const NAME_CHARS_MIN: usize = 12;

fn aligned(screen: &Screen, (run, columns): (RunId, Option<usize>), drawn: Vec<Drawn<'_>>, now: Instant) -> Vec<String> {
    let nodes = || drawn.iter().filter_map(|line| if let Drawn::Node(line) = line { Some(line) } else { None });
    let names = nodes().map(|line| line.indent + line.node.node.chars().count()).max().unwrap_or(0);
    let kinds = nodes().map(|line| kind(line.node).chars().count()).max().unwrap_or(0);
    // A long name must not push the state off the screen.
    let kinds = columns.map_or(kinds, |_| kinds.min(KIND_CHARS_MAX));
    let most = |columns: usize| columns.saturating_sub(REST_CHARS + kinds).max(NAME_CHARS_MIN);
    let names = columns.map_or(names, |columns| names.min(most(columns)));
    let text = drawn.iter().map(|line| match line {
        Drawn::Node(line) => shown(screen, run, line, (names, kinds), now),
        Drawn::Rest(indent, text) => screen.paint(Paint::Dim, &format!("{}{text}", " ".repeat(*indent + 2))),
    });
    text.collect()
}

/// What goes on, or went wrong, in a loop or an each; one that has ended well is told by its own line.
fn inside<'a>(run: &'a RunView, of: &NodeView, drawn: &mut Vec<Drawn<'a>>) {
    let open = format!("{}[", of.id);
    let wide = of.items.is_some_and(|items| items > WIDE_ITEMS);
    let telling = |node: &&NodeView| node.status == NodeStatus::Failed || (node.status.is_under_way() && !wide);
    // What a restart has undone does not go on.
    let telling: Vec<&NodeView> =
        run.nodes.iter().filter(|node| node.frame.starts_with(&open) && !node.undone).filter(telling).collect();
    let most = if wide { INSIDE_WIDE_MAX } else { INSIDE_MAX };
    for node in telling.iter().take(most) {
        drawn.push(Drawn::Node(Line { indent: 2, node }));
    }
    if telling.len() > most {
        let what = if wide { " that failed" } else { "" };
        drawn.push(Drawn::Rest(2, format!("… and {} more{what}", telling.len() - most)));
    }
}

fn kind(node: &NodeView) -> &str {
    node.kind.as_deref().unwrap_or("")
}

fn shown(screen: &Screen, run: RunId, line: &Line<'_>, (names, kinds): (usize, usize), now: Instant) -> String {
    let Line { indent, node } = line;
    let mark = match node.status {
        NodeStatus::Waiting | NodeStatus::Queued => "·",
        NodeStatus::Running => "▸",
        NodeStatus::Asking => "?",
        NodeStatus::Sleeping => "z",
        NodeStatus::Awaiting => "~",
        NodeStatus::Done => "✓",
        NodeStatus::Failed => "✗",
        NodeStatus::Skipped => "-",
        NodeStatus::Cancelled => "×",
    };
    let took = match (node.duration_ms, node.since) {
        (Some(ms), _) => show_about_ms(ms),
        (None, Some(since)) => show_between(since, now),
        (None, None) => String::new(),
    };
    let paint = node_paint(node.status);
    let state = screen.paint(paint, &format!("{:<9}", node.status.as_str()));
    let name = format!("{:<width$}", middle(&plain(&node.node), names - indent), width = names - indent);
    let kind = screen.paint(Paint::Dim, &format!("{:<kinds$}", middle(&plain(kind(node)), kinds)));
    let mark = screen.paint(paint, mark);
    let text = format!("{}{mark} {name}  {kind}  {state}  {took:>10}  {}", " ".repeat(*indent), note(run, node, now));
    text.trim_end().to_owned()
}

/// What is worth knowing of a node beside its state.
fn note(run: RunId, node: &NodeView, now: Instant) -> String {
    let mut parts = Vec::new();
    parts.extend(node.undone.then(|| "undone by a restart".to_owned()));
    parts.extend(node.removed.map(|revision| format!("taken out by a patch, revision {revision}")));
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
    parts.extend(skipped(node).map(|why| short(&why, NOTE_CHARS_MAX)));
    if !node.waits_for.is_empty() {
        let names: Vec<String> = node.waits_for.iter().take(WAITS_FOR_MAX).map(ToString::to_string).collect();
        let more = if node.waits_for.len() > names.len() { ", …" } else { "" };
        parts.push(format!("for {}{more}", names.join(", ")));
    }
    if let Some(error) = &node.error {
        parts.push(short(&format!("{}: {}", error.code, error.message), NOTE_CHARS_MAX));
        match node.then.as_deref() {
            Some("to") => parts.push("another way is taken".to_owned()),
            Some("ignore") => parts.push("ignored".to_owned()),
            _ => {}
        }
    }
    if let Some(error) = node.last_error.as_ref().filter(|_| node.status == NodeStatus::Queued) {
        parts.push(short(&format!("{}: {}", error.code, error.message), NOTE_CHARS_MAX));
        parts.extend(node.again_at.filter(|at| now.ms_until(*at) > 0).map(|at| format!("again {}", show_age(at, now))));
    }
    if let Some(worker) = node.worker.as_ref().filter(|_| node.status == NodeStatus::Cancelled) {
        parts.push(format!("worker {worker} has still to stop"));
    }
    if node.status.is_under_way() || node.status == NodeStatus::Failed {
        let worker = node.worker.as_ref().map_or_else(String::new, |worker| format!(" on {worker}"));
        parts.extend(node.task.map(|task| format!("{task}{worker}")));
        parts.extend(node.sub_run.map(|run| run.to_string()));
    }
    if node.status == NodeStatus::Asking {
        parts.push(format!("answer: signaller approval answer {run}/{} --yes --by NAME", node.node));
    }
    if let Some(event) = node.awaits.as_ref().filter(|_| matches!(node.status, NodeStatus::Awaiting | NodeStatus::Failed)) {
        parts.push(format!("{event}{}", asked(node)));
    }
    parts.extend(node.heard.map(|event| format!("heard {event}")));
    if let Some(until) = node.until.filter(|_| node.status.is_under_way()) {
        parts.push(format!("ends {}", show_age(until, now)));
    }
    plain(&parts.join(", ")).into_owned()
}

/// Why it was skipped, if it was.
pub fn skipped(node: &NodeView) -> Option<String> {
    node.cause.as_ref().map(|cause| match (&node.why, cause.as_str()) {
        (Some(why), _) => why.clone(),
        (None, "failed") => "what it needs has failed".to_owned(),
        (None, _) => "its way was not taken".to_owned(),
    })
}

/// ` whose event.data.order is "o-7", and for which …`
pub fn asked(node: &NodeView) -> String {
    let key = node.await_key.as_ref().map_or_else(String::new, |key| format!(" whose {} is {}", key.of, key.is));
    let rest = node.await_match.as_ref().map_or_else(String::new, |source| {
        let and = if key.is_empty() { "" } else { ", and" };
        format!("{and} for which {} holds", short(source, NOTE_CHARS_MAX))
    });
    key + &rest
}

/// `3 of 40 done, 1 failed, 4 under way`; of a loop `turn 3`.
fn turns(node: &NodeView, frames: &FrameCounts) -> String {
    let mut text = match node.items {
        Some(items) if items > WIDE_ITEMS => {
            let full = frames.done * BAR_CHARS / u64::from(items).max(1);
            let bar: String = (0..BAR_CHARS).map(|at| if at < full { '█' } else { '░' }).collect();
            format!("{bar} {} of {} done", grouped(frames.done), grouped(items.into()))
        }
        Some(items) => format!("{} of {items} done", frames.done),
        None => format!("turn {}", frames.open + frames.done + frames.failed + frames.dropped),
    };
    for (count, what) in [(frames.failed, "failed"), (frames.dropped, "dropped"), (frames.undone, "undone")] {
        if count > 0 {
            text.push_str(&format!(", {} {what}", grouped(count)));
        }
    }
    if node.items.is_some() && frames.open > 0 {
        text.push_str(&format!(", {} under way", grouped(frames.open)));
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
            {"node":"rounds","id":"rounds","type":"each","status":"running","since":"2026-11-15T08:57:00Z","items":14,
             "frames":{"open":2,"done":12,"failed":1,"dropped":0}},
            {"node":"late","id":"late","type":"t","status":"queued","since":"2026-11-15T08:57:00Z","task":"task-8",
             "last_error":{"code":"exit_1","message":"boom"},"again_at":"2026-11-15T08:58:18Z"},
            {"node":"cut","id":"cut","type":"t","status":"cancelled","task":"task-7","worker":"w-2"},
            {"node":"end","id":"end","type":"http","status":"waiting","waits_for":["rounds"]},
            {"node":"no","id":"no","type":"http","status":"skipped","cause":"untaken","why":"`route` took its rules[1]"},
            {"node":"rounds[12]/lint","id":"lint","frame":"rounds[12]","type":"t","status":"running","since":"2026-11-15T08:57:30Z","task":"task-9","worker":"w-1"},
            {"node":"rounds[11]/lint","id":"lint","frame":"rounds[11]","type":"t","status":"done","duration_ms":5}]}"#;
        let run: RunView = serde_json::from_str(run).unwrap();
        let screen = Screen { people: true, colour: false, ascii: false };
        let drawn = lines(&screen, &run, "2026-11-15T08:58:00Z".parse().unwrap(), None);
        let expected = [
            "✓ route              branch    done                   rules[1] → ask, rounds",
            "? ask                approval  asking          1 min  answer: signaller approval answer run-7/ask --yes --by NAME, ends in 1 min",
            "▸ rounds             each      running         1 min  12 of 14 done, 1 failed, 2 under way",
            "  ▸ rounds[12]/lint  t         running          30 s  task-9 on w-1",
            "· late               t         queued          1 min  exit_1: boom, again in 18 s, task-8",
            "× cut                t         cancelled              worker w-2 has still to stop",
            "· end                http      waiting                for rounds",
            "- no                 http      skipped                `route` took its rules[1]",
        ];
        assert_eq!(drawn, expected);
        let all = all_lines(&screen, (run.run, None), &run.nodes, "2026-11-15T08:58:00Z".parse().unwrap());
        let names: Vec<&str> = all.iter().map(|line| line[..line.len().min(24)].trim_end()).collect();
        assert_eq!(all.len(), run.nodes.len(), "{all:?}");
        assert!(names[3].starts_with("  ▸ rounds[12]/lint") && names[4].starts_with("  ✓ rounds[11]/lint"), "{names:?}");
        // On a narrow terminal a name gives way to the state, its beginning and its end stay.
        let narrow = lines(&screen, &run, "2026-11-15T08:58:00Z".parse().unwrap(), Some(50));
        assert!(narrow[3].starts_with("  ▸ round…/lint  t         running          30 s"), "{narrow:?}");
        // The one that is done is not told one by one.
        let counts = doors::wire::NodeCounts {
            done: 2,
            asking: 1,
            running: 2,
            waiting: 1,
            skipped: 1,
            queued: 1,
            cancelled: 1,
            ..Default::default()
        };
        assert_eq!(hidden(&RunView { counts: Some(counts), ..run }), 1);
    }

    #[test]
    fn a_wide_each_is_one_line_with_a_bar() {
        let of = |at: u32, status: &str| {
            format!(r#"{{"node":"all[{at}]/lint","id":"lint","frame":"all[{at}]","type":"t","status":"{status}"}}"#)
        };
        let inside: Vec<String> = (0..50).map(|at| of(at, if at < 5 { "failed" } else { "running" })).collect();
        let run = format!(
            r#"{{"run":"run-7","workflow":"w","version":1,"status":"running","started_at":"2026-11-15T08:57:00Z","nodes":[
            {{"node":"all","id":"all","type":"each","status":"running","items":10000,
             "frames":{{"open":45,"done":2500,"failed":5,"dropped":0}}}},{}]}}"#,
            inside.join(",")
        );
        let run: RunView = serde_json::from_str(&run).unwrap();
        let screen = Screen { people: true, colour: false, ascii: true };
        let drawn = lines(&screen, &run, "2026-11-15T08:58:00Z".parse().unwrap(), None);
        assert_eq!(drawn.len(), 5, "{drawn:?}");
        assert!(
            screen.known(&drawn[0]).ends_with("#####............... 2,500 of 10,000 done, 5 failed, 45 under way"),
            "{}",
            drawn[0]
        );
        assert_eq!(drawn[4].trim_start(), "… and 2 more that failed");
    }
}
