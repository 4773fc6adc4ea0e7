//! `signaller run explain`.

use crate::commands::{Session, run_id};
use crate::output::{Answer, Outcome, Paint};
use crate::plain::plain_text;
use crate::units::{now, show_age, show_when};
use clap::Args;
use doors::wire::RunExplanation;
use kernel::ids::RunId;

/// Say what a run waits for, or how it ended and what can be done
#[derive(Args, Debug)]
#[command(after_help = "Examples:\n  signaller run explain run-7")]
pub struct ExplainArgs {
    #[arg(value_name = "RUN", value_parser = run_id)]
    run: RunId,
}

pub fn run(args: ExplainArgs, session: &Session) -> Outcome {
    let explanation: RunExplanation = session.client.get(&format!("/v1/runs/{}/explain", args.run))?;
    let (screen, now) = (&session.screen, now());
    let mut text = plain_text(&explanation.sentence).into_owned();
    for wait in &explanation.waits {
        // The only one is the sentence itself.
        if explanation.waits.len() > 1 {
            let node = screen.paint(Paint::Yellow, &wait.node);
            text.push_str(&format!("\n  {node} {}", plain_text(&wait.sentence)));
        }
        let since = wait.since.map(|since| format!("since {}", show_age(since, now)));
        let eta = wait.eta.map(|eta| format!("moves {} ({eta})", show_when(eta, now)));
        let known = since.into_iter().chain(eta).collect::<Vec<_>>().join(", ");
        if !known.is_empty() {
            text.push_str(&format!("\n    {}", screen.paint(Paint::Dim, &known)));
        }
    }
    if explanation.more > 0 {
        text.push_str(&format!("\n  … and {} more", explanation.more));
    }
    for action in &explanation.next_actions {
        text.push_str(&format!("\n{} {}", screen.paint(Paint::Dim, "try:"), plain_text(action)));
    }
    Ok(Answer::new(&explanation, text).next(format!("run show {}", args.run), "see it whole"))
}
