//! `signaller run show RUN/NODE`: one node of a run.

use super::picture;
use super::show::beginning;
use crate::client::with_query;
use crate::commands::Session;
use crate::commands::task::progress_text;
use crate::json_text::pretty;
use crate::output::{Answer, Exit, Failure, Outcome, Screen};
use crate::plain::plain_text;
use crate::table::{columns, facts, node_paint};
use crate::telling_runs::answered;
use crate::units::{count_of, now, show_about_ms, show_age};
use doors::wire::{Instant, NodeList, NodeQuery, NodeShowQuery, NodeStatus, NodeView, place};
use kernel::frame::FramePath;
use kernel::ids::RunId;
use kernel::run::NodeAt;

/// Nodes of one turn or item that are shown.
const NODES_MAX: u32 = 200;

pub fn run(at: &NodeAt, session: &Session) -> Outcome {
    let run = at.run;
    let query = NodeShowQuery { node: place(&at.frame, &at.node) };
    let view: NodeView = session.client.get(&with_query(&format!("/v1/runs/{run}/node"), &query))?;
    let mut answer = Answer::new(&view, page(&session.screen, at, &view));
    if view.status == NodeStatus::Asking {
        for (word, what) in [("--yes", "answer with yes"), ("--no", "answer with no")] {
            answer = answer.next(format!("approval answer {} {word} --by NAME", at.show()), what);
        }
    }
    if let Some(event) = view.awaits.as_ref().filter(|_| view.status == NodeStatus::Awaiting) {
        answer = answer.next(format!("event list --name {event}"), "what came of that name");
    }
    if let Some(event) = view.heard {
        answer = answer.next(format!("event show {event}"), "the event it heard");
    }
    if let Some(task) = view.task {
        answer = answer.next(format!("task show {task}"), "its task");
    }
    if let Some(called) = view.sub_run {
        answer = answer.next(format!("run show {called}"), "the run it called");
    }
    Ok(answer.next(format!("run show {run}"), "the whole run").next(format!("run trace {run}"), "everything that happened in it"))
}

/// `signaller run show RUN/NODE[3]`: one turn or item, with the nodes in it.
pub fn run_frame(run: RunId, frame: &FramePath, limit: Option<u32>, all_generations: bool, session: &Session) -> Outcome {
    let screen = &session.screen;
    let (frame_asked, limit) = (Some(frame.to_string()), limit.or(Some(NODES_MAX)));
    let query = NodeQuery { frame: frame_asked, limit, all_generations, ..NodeQuery::default() };
    let list: NodeList = session.client.get(&with_query(&format!("/v1/runs/{run}/nodes"), &query))?;
    if list.nodes.is_empty() {
        let message = format!("nothing has happened in `{frame}` of {run}");
        let failure = Failure::new(Exit::NotFound, "node_not_found", message);
        let failure = failure.fix("turns and items are counted from 0; the loop or each says how many there are");
        return Err(failure.next(format!("run show {run}"), "the whole run"));
    }
    // The newest, where it was not said which.
    let frame = list.nodes.first().map_or_else(|| frame.to_string(), |node| node.frame.clone());
    let undone = if list.nodes.iter().all(|node| node.undone) { ", undone by a restart" } else { "" };
    let mut lines = vec![format!("{run}/{frame}, {}{undone}", count_of(list.nodes.len() as u64, "node"))];
    lines.extend(picture::all_lines(screen, (run, columns()), &list.nodes, now()));
    if list.next.is_some() {
        lines.push("… and more; add --nodes 1000".to_owned());
    }
    let first = list.nodes.first().map(|node| format!("run show '{run}/{}'", node.node));
    let mut answer = Answer::new(&list, lines.join("\n"));
    if let Some(first) = first {
        answer = answer.next(first, "one of its nodes");
    }
    Ok(answer.next(format!("run show {run}"), "the whole run"))
}

fn page(screen: &Screen, at: &NodeAt, node: &NodeView) -> String {
    let now = now();
    let when = |at: Instant| format!("{} ({at})", show_age(at, now));
    let mut lines = vec![("node", format!("{}/{}", at.run, node.node))];
    if let Some(kind) = &node.kind {
        lines.push(("type", kind.clone()));
    }
    lines.push(("status", screen.paint(node_paint(node.status), node.status.as_str())));
    if node.undone {
        lines.push(("undone", "by a restart: what it gave is not used any more".to_owned()));
    }
    if let Some(revision) = node.removed {
        lines.push(("taken out", format!("by a patch: revision {revision} of the run's definition does not have it any more")));
    }
    if !node.waits_for.is_empty() {
        lines.push(("waits for", node.waits_for.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")));
    }
    if let Some(why) = picture::skipped(node) {
        lines.push(("because", plain_text(&why).into_owned()));
    }
    if let Some(since) = node.since {
        lines.push(("started", when(since)));
    }
    if let Some(ended) = node.ended_at {
        let took = node.duration_ms.map_or_else(String::new, |ms| format!(", after {}", show_about_ms(ms)));
        lines.push(("ended", format!("{}{took}", when(ended))));
    }
    if let Some(event) = &node.awaits {
        lines.push(("event", plain_text(&format!("{event}{}", picture::asked(node))).into_owned()));
    }
    if let Some(heard) = node.heard {
        lines.push(("heard", heard.to_string()));
    }
    if let Some(until) = node.until.filter(|_| node.status.is_under_way()) {
        lines.push(("until", format!("{} ({until})", show_age(until, now))));
    }
    if let Some(task) = node.task {
        let stops = if node.status == NodeStatus::Cancelled { ", which has still to stop" } else { "" };
        let worker = node.worker.as_ref().map_or_else(String::new, |worker| format!(" on worker {worker}{stops}"));
        let attempts = node.attempts.map_or_else(String::new, |attempts| format!(", {}", count_of(attempts.into(), "attempt")));
        lines.push(("task", format!("{task}{worker}{attempts}")));
    }
    if let Some(called) = node.sub_run {
        lines.push(("called", called.to_string()));
    }
    if let Some(items) = node.items {
        lines.push(("items", items.to_string()));
    }
    if let Some(frames) = &node.frames {
        let all = frames.open + frames.done + frames.failed + frames.dropped;
        let parts = [
            (frames.done, "done"),
            (frames.open, "under way"),
            (frames.failed, "failed"),
            (frames.dropped, "dropped"),
            (frames.undone, "undone by restarts"),
        ];
        let parts: Vec<String> =
            parts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")).collect();
        let name = if node.items.is_some() { "begun" } else { "turns" };
        let dot = if node.frame.is_empty() { "" } else { "." };
        let first = format!("{}/{}{dot}{}[0]", at.run, node.frame, at.node);
        lines.push((name, format!("{all}, {}; see `signaller run show '{first}'`", parts.join(", "))));
    }
    if let Some(way) = &node.way {
        let to = node.to.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        lines.push(("way", if to.is_empty() { way.clone() } else { format!("{way} → {to}") }));
    }
    if let Some(set) = &node.set {
        let colon = if set.reason.is_empty() { "" } else { ": " };
        lines.push(("skipped by", plain_text(&format!("{}{colon}{}", set.by, set.reason)).into_owned()));
    }
    if let Some(answer) = &node.answer {
        lines.push(("answer", plain_text(&answered(answer)).into_owned()));
    }
    if let Some(error) = &node.error {
        let then = match node.then.as_deref() {
            Some("to") => ", and another way is taken",
            Some("ignore") => ", which is ignored",
            _ => "",
        };
        lines.push(("error", plain_text(&format!("{}: {}{then}", error.code, error.message)).into_owned()));
    }
    if let Some(error) = node.last_error.as_ref().filter(|_| node.error.is_none()) {
        lines.push(("last error", plain_text(&format!("{}: {}", error.code, error.message)).into_owned()));
    }
    if let Some(again) = node.again_at.filter(|at| now.ms_until(*at) > 0) {
        lines.push(("again", format!("{} ({again})", show_age(again, now))));
    }
    lines.extend(progress_text(node.progress, node.message.as_deref()).map(|text| ("progress", text)));
    for (name, payload) in [("input", &node.input), ("output", &node.output)] {
        if let Some(payload) = payload {
            lines.push((name, beginning(pretty(payload.get()))));
        }
    }
    facts(screen, &lines)
}
