//! `signaller task explain`.

use crate::commands::{Session, task_id};
use crate::output::{Answer, Outcome, Paint, Screen};
use crate::plain::plain_text;
use crate::units::{now, show_age};
use clap::Args;
use doors::wire::Explanation;
use kernel::ids::TaskId;

/// Say why a task is not running, or what it waits for
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller task explain task-9m2")]
pub struct ExplainArgs {
    /// The task, by its id
    #[arg(value_name = "TASK", value_parser = task_id)]
    task: TaskId,
}

pub fn run(args: ExplainArgs, session: &Session) -> Outcome {
    let explanation: Explanation = session.client.get(&format!("/v1/tasks/{}/explain", args.task))?;
    let text = page(&session.screen, &explanation);
    let answer = Answer::new(&explanation, text).advised(&explanation.next_actions);
    Ok(answer.next(format!("task show {}", args.task), "see it whole"))
}

pub fn page(screen: &Screen, explanation: &Explanation) -> String {
    let now = now();
    let mut text = plain_text(&explanation.sentence).into_owned();
    // One cause is the sentence itself; several are worth a list.
    if explanation.blocked_on.len() > 1 {
        for cause in &explanation.blocked_on {
            let eta = cause.eta.map_or_else(String::new, |at| format!(", {}", show_age(at, now)));
            text.push_str(&format!("\n  {} {}{eta}", screen.paint(Paint::Yellow, &cause.code), plain_text(&cause.sentence)));
        }
    }
    if let Some(since) = explanation.since {
        text.push_str(&format!("\n{} {}", screen.paint(Paint::Dim, "since:"), show_age(since, now)));
    }
    match (explanation.eta, &explanation.eta_reason) {
        (Some(eta), _) => text.push_str(&format!("\n{} {} ({eta})", screen.paint(Paint::Dim, "moves:"), show_age(eta, now))),
        (None, Some(reason)) => {
            let reason = plain_text(unsaid(reason, explanation));
            text.push_str(&format!("\n{} not known: {reason}", screen.paint(Paint::Dim, "moves:")));
        }
        (None, None) => {}
    }
    for action in &explanation.next_actions {
        text.push_str(&format!("\n{} {action}", screen.paint(Paint::Dim, "try:")));
    }
    text
}

/// The reason less the sentence of a cause, which stands above already.
fn unsaid<'a>(reason: &'a str, explanation: &Explanation) -> &'a str {
    let rest = explanation.blocked_on.iter().find_map(|cause| reason.strip_suffix(cause.sentence.as_str()));
    rest.map(|rest| rest.trim_end_matches([' ', ':'])).filter(|rest| !rest.is_empty()).unwrap_or(reason)
}
