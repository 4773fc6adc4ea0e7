//! `signaller run explain`.

use crate::commands::{Session, run_id};
use crate::output::{Answer, Outcome, Paint, Screen};
use crate::plain::{plain, plain_text};
use crate::table::short;
use crate::units::{grouped, now, show_age, show_when};
use clap::Args;
use doors::wire::{Instant, RunExplanation};
use kernel::ids::RunId;

/// Say what a run waits for, or how it ended and what can be done
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller run explain run-7")]
pub struct ExplainArgs {
    /// The run, by its id
    #[arg(value_name = "RUN", value_parser = run_id)]
    run: RunId,
}

pub fn run(args: ExplainArgs, session: &Session) -> Outcome {
    let explanation: RunExplanation = session.client.get(&format!("/v1/runs/{}/explain", args.run))?;
    let (screen, now) = (&session.screen, now());
    let mut text = plain_text(&explanation.sentence).into_owned();
    told(screen, &explanation, now, 1, &mut text);
    for action in &explanation.next_actions {
        text.push_str(&format!("\n{} {}", screen.paint(Paint::Dim, "try:"), plain_text(action)));
    }
    let answer = Answer::new(&explanation, text).advised(&explanation.next_actions);
    Ok(answer.next(format!("run show {}", args.run), "see it whole"))
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
        let eta = wait.eta.map(|eta| format!("moves {} ({eta})", show_when(eta, now)));
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
