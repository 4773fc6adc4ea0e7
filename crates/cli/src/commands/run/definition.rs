//! `signaller run definition`: the text that a run follows, and how it came to be that.

use crate::client::with_query;
use crate::commands::{Session, run_id};
use crate::output::{Answer, Outcome};
use crate::plain::plain_text;
use clap::Args;
use doors::wire::{DefinitionQuery, RunDefinition};
use kernel::ids::RunId;

/// Show the text that a run follows, or followed, or what is different between two revisions of it
#[derive(Args, Debug)]
#[command(after_help = "Revision 0 is the text of the workflow's version; each patch makes the next.\n\n\
                        Examples:\n  signaller run definition run-7\n  signaller run definition run-7 --revision 0 > before.yaml\n  \
                        signaller run definition run-7 --diff\n  signaller run definition run-7 --diff 0")]
pub struct DefinitionArgs {
    /// The run, by its id
    #[arg(value_name = "RUN", value_parser = run_id)]
    run: RunId,
    /// This revision instead of the newest
    #[arg(long, value_name = "N")]
    revision: Option<u32>,
    /// Only what is different since revision N, or since the one before
    #[arg(long, value_name = "N", num_args = 0..=1, default_missing_value = "before", value_parser = since)]
    diff: Option<Since>,
}

#[derive(Copy, Clone, Debug)]
enum Since {
    Before,
    Revision(u32),
}

fn since(text: &str) -> Result<Since, String> {
    match text {
        "before" => Ok(Since::Before),
        text => text.parse().map(Since::Revision).map_err(|_| format!("`{text}` is no revision: give a number from 0 on")),
    }
}

pub fn run(args: DefinitionArgs, json: bool, session: &Session) -> Outcome {
    let since = if let Some(Since::Revision(since)) = args.diff { Some(since) } else { None };
    let query = DefinitionQuery { revision: args.revision, since };
    let found: RunDefinition = session.client.get(&with_query(&format!("/v1/runs/{}/definition", args.run), &query))?;
    if args.diff.is_none() {
        return Ok(Answer { verbatim: !json && !session.screen.people, ..Answer::new(&found, found.text.clone()) });
    }
    let run = found.run;
    let Some(since) = found.since else {
        let text = format!("{run} follows the text of its version: there is no revision before it.");
        return Ok(Answer::new(&found, text));
    };
    let mut lines = Vec::new();
    if let (Some(by), true) = (&found.by, args.diff.is_some_and(|diff| matches!(diff, Since::Before))) {
        let node = found.node.as_ref().map_or_else(String::new, |node| format!(", at work on {node}"));
        let why = found.description.as_ref().map_or_else(String::new, |why| format!(": {why}"));
        lines.push(format!("revision {}, by {by}{node}{why}", found.revision));
    } else {
        lines.push(format!("revision {since} to {}", found.revision));
    }
    lines.extend(found.changes.iter().cloned());
    if found.changes.is_empty() {
        lines.push("(the same for the run)".to_owned());
    }
    Ok(Answer::new(&found, plain_text(&lines.join("\n")).into_owned())
        .next(format!("run definition {run}"), "the text it follows"))
}
