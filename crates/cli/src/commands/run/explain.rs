//! `signaller run explain`.

use super::restart::node_at;
use crate::client::with_query;
use crate::commands::{Session, run_id};
use crate::output::{Answer, Outcome, Paint, Screen};
use crate::plain::{plain, plain_text};
use crate::table::short;
use crate::units::{grouped, now, show_age, show_between};
use clap::Args;
use doors::wire::{Explanation, Instant, NodeShowQuery, NodeStatus, NodeView, RunExplanation, place};
use kernel::ids::RunId;
use kernel::names::EventName;
use kernel::run::NodeAt;
use serde::Serialize;

/// Say what a run waits for, or one node of it, or how it ended and what can be done
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller run explain run-7\n  signaller run explain run-7/pay")]
pub struct ExplainArgs {
    /// The run by its id, or a node of it
    #[arg(value_name = "RUN[/NODE]", value_parser = explained)]
    what: Explained,
}

#[derive(Clone, Debug)]
enum Explained {
    Run(RunId),
    Node(NodeAt),
}

fn explained(text: &str) -> Result<Explained, String> {
    if !text.contains('/') {
        return run_id(text).map(Explained::Run);
    }
    node_at(text).map(Explained::Node)
}

pub fn run(args: ExplainArgs, session: &Session) -> Outcome {
    let run = match args.what {
        Explained::Run(run) => run,
        Explained::Node(at) => return node(&at, session),
    };
    let explanation: RunExplanation = session.client.get(&format!("/v1/runs/{run}/explain"))?;
    let (screen, now) = (&session.screen, now());
    let mut text = plain_text(&explanation.sentence).into_owned();
    told(screen, &explanation, now, 1, &mut text);
    advise(screen, &explanation.next_actions, &mut text);
    let answer = Answer::new(&explanation, text).advised(&explanation.next_actions);
    Ok(answer.next(format!("run show {run}"), "see it whole"))
}

fn advise(screen: &Screen, actions: &[String], text: &mut String) {
    for action in actions {
        text.push_str(&format!("\n{} {}", screen.paint(Paint::Dim, "try:"), plain_text(action)));
    }
}

/// What one node waits for, or how it ended.
#[derive(Serialize)]
struct NodeExplanation {
    run: RunId,
    node: String,
    status: NodeStatus,
    sentence: String,
    /// Why its task does not run.
    #[serde(skip_serializing_if = "Option::is_none")]
    task: Option<Explanation>,
    next_actions: Vec<String>,
}

fn node(at: &NodeAt, session: &Session) -> Outcome {
    let (run, name) = (at.run, place(&at.frame, &at.node));
    let query = NodeShowQuery { node: name.clone() };
    let view: NodeView = session.client.get(&with_query(&format!("/v1/runs/{run}/node"), &query))?;
    let (mut task, mut next_actions) = (None::<Explanation>, Vec::new());
    if let Some(id) = view.task.filter(|_| view.status.is_under_way()) {
        let found: Explanation = session.client.get(&format!("/v1/tasks/{id}/explain"))?;
        next_actions.extend(found.next_actions.iter().cloned());
        task = Some(found);
    }
    if view.status == NodeStatus::Asking {
        let answers = ["--yes", "--no"].map(|word| format!("signaller approval answer {} {word} --by NAME", at.show()));
        next_actions.extend(answers);
    }
    match (&view.awaits, view.heard) {
        (_, Some(heard)) => next_actions.push(format!("signaller event show {heard}")),
        (Some(event), None) if view.status == NodeStatus::Awaiting => {
            next_actions.push(format!("signaller event list --name {event}"));
            next_actions.push(format!("signaller emit {event} -d '{{…}}'"));
        }
        _ => {}
    }
    next_actions.extend(view.sub_run.map(|called| format!("signaller run explain {called}")));
    let spot = at.show();
    let sentence = match (&task, &view.error) {
        (Some(task), _) => {
            let causes: Vec<&str> = task.blocked_on.iter().map(|cause| &*cause.sentence).collect();
            match causes.len() {
                0 | 1 => format!("{spot}: {}", task.sentence),
                _ => format!("{spot}: {} waits: {}.", task.task, causes.join("; and ")),
            }
        }
        (None, Some(error)) => {
            let fails = view.then.as_deref().is_none_or(|then| then == "fail");
            if fails {
                next_actions.push(format!("signaller run retry {run} --node '{name}'"));
                next_actions.push(format!("signaller run fork '{spot}' --dry-run"));
            }
            let again = if fails { " It can be tried again, also with another input (--with) or text (--set)." } else { "" };
            let awaited =
                view.awaits.as_ref().map_or_else(String::new, |event| format!("; it waited for {}", awaited(event, &view)));
            format!("{spot} failed with {}: {}{awaited}.{again}", error.code, error.message)
        }
        (None, None) => standing(&spot, &view),
    };
    let mut text = plain_text(&sentence).into_owned();
    advise(&session.screen, &next_actions, &mut text);
    let told = NodeExplanation { run, node: name, status: view.status, sentence, task, next_actions };
    let answer = Answer::new(&told, text).advised(&told.next_actions);
    Ok(answer.next(format!("run show '{spot}'"), "see it whole").next(format!("run explain {run}"), "the whole run"))
}

/// One whose work is not a task, or over.
fn standing(spot: &str, view: &NodeView) -> String {
    let left = view.until.map_or_else(String::new, |until| format!(" for another {}", show_between(now(), until)));
    match view.status {
        NodeStatus::Asking => format!("{spot} waits for an answer{}{left}.", if left.is_empty() { "" } else { "," }),
        NodeStatus::Sleeping => format!("{spot} sleeps{left}."),
        NodeStatus::Awaiting => {
            let event = view.awaits.as_ref().map_or_else(|| "an event".to_owned(), |event| awaited(event, view));
            format!("{spot} waits for {event}{}{left}.", if left.is_empty() { "" } else { "," })
        }
        NodeStatus::Done if view.awaits.is_some() => match (&view.awaits, view.heard) {
            (Some(event), Some(heard)) => format!("{spot} is done: it heard {heard}, {}.", awaited(event, view)),
            (Some(event), None) => format!("{spot} is done: it waited for {}, and none came in time.", awaited(event, view)),
            (None, _) => format!("{spot} is done."),
        },
        NodeStatus::Waiting if view.waits_for.is_empty() => format!("{spot} has not been reached."),
        NodeStatus::Waiting => {
            let names: Vec<String> = view.waits_for.iter().map(|node| format!("`{node}`")).collect();
            format!("{spot} waits for {}.", names.join(", "))
        }
        NodeStatus::Skipped => {
            let why = super::picture::skipped(view);
            format!("{spot} was skipped{}.", why.map_or_else(String::new, |why| format!(": {why}")))
        }
        NodeStatus::Running if view.sub_run.is_some() => {
            let called = view.sub_run.map_or_else(String::new, |called| called.to_string());
            format!("{spot} waits for {called}, which it called.")
        }
        NodeStatus::Running if view.frames.is_some() || view.items.is_some() => {
            format!("{spot} waits for what goes on in it; its run says what that is.")
        }
        status => format!("{spot} is {status}."),
    }
}

/// An event `pay/paid` whose …
fn awaited(event: &EventName, view: &NodeView) -> String {
    format!("an event `{event}`{}", super::picture::asked(view))
}

/// Each wait, and beneath one that is a call what that waits for.
fn told(screen: &Screen, explanation: &RunExplanation, now: Instant, depth: usize, text: &mut String) {
    let indent = "  ".repeat(depth);
    for wait in &explanation.waits {
        // The only one is the sentence itself.
        if explanation.waits.len() > 1 || depth > 1 {
            let node = screen.paint(Paint::Yellow, &wait.node);
            // What a call waits for comes beneath it.
            let sentence = match (&wait.called, wait.sub_run) {
                (Some(_), Some(called)) => format!("called {called}, which waits:"),
                _ => wait.sentence.clone(),
            };
            text.push_str(&format!("\n{indent}{node} {}", plain_text(&sentence)));
        }
        if wait.alike > 0 {
            text.push_str(&format!("\n{indent}  and {} more like it", grouped(wait.alike)));
        }
        if let Some(message) = &wait.message {
            let said = serde_json::from_str::<String>(message.get()).unwrap_or_else(|_| message.get().to_owned());
            text.push_str(&format!("\n{indent}  asks: {}", plain(&short(&said, 200))));
        }
        let since = wait.since.map(|since| format!("since {}", show_age(since, now)));
        let eta = wait.eta.map(|eta| format!("moves {} ({eta})", show_age(eta, now)));
        let known = since.into_iter().chain(eta).collect::<Vec<_>>().join(", ");
        if !known.is_empty() {
            text.push_str(&format!("\n{indent}  {}", screen.paint(Paint::Dim, &known)));
        }
        if let Some(called) = &wait.called {
            told(screen, called, now, depth + 1, text);
        }
    }
    if explanation.more > 0 {
        text.push_str(&format!("\n{indent}… and {} more", grouped(explanation.more)));
    }
}
