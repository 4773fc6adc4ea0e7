//! `signaller workflow put`.

use super::read;
use super::validate::{not_valid, told};
use crate::client::with_query;
use crate::commands::Session;
use crate::output::{Answer, Outcome};
use clap::Args;
use doors::definition;
use doors::wire::{ProblemAt, WorkflowPutQuery, WorkflowsPut};

/// Put definitions on the server: each becomes a new version, unless its text is there already
#[derive(Args, Debug)]
#[command(after_help = "Nothing is put if one of the files is wrong.\n\n\
                        Examples:\n  signaller workflow put refund.yaml\n  signaller workflow put a.yaml b.json")]
pub struct PutArgs {
    /// YAML or JSON; - for stdin
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
}

pub fn run(args: PutArgs, session: &Session) -> Outcome {
    let (mut texts, mut wrong) = (Vec::new(), Vec::new());
    for file in &args.files {
        let text = read(file)?;
        if let Err(problems) = definition::read(&text) {
            if session.screen.people {
                problems.iter().for_each(|problem| _ = session.screen.line(&told(file, problem)));
            }
            wrong.extend(problems.iter().map(ProblemAt::from));
        }
        texts.push(text);
    }
    if !wrong.is_empty() {
        return Err(not_valid(wrong));
    }
    let mut all = WorkflowsPut { workflows: Vec::new() };
    let path = with_query("/v1/workflows", &WorkflowPutQuery { by: Some(session.by.clone()) });
    for text in texts {
        match session.client.post_text::<WorkflowsPut>(&path, text) {
            Ok(put) => all.workflows.extend(put.workflows),
            Err(failure) => return Err(if all.workflows.is_empty() { failure } else { failure.result(&all) }),
        }
    }
    let lines = all.workflows.iter().map(|put| match put.unchanged {
        true => format!("{} has this text as version {} already.", put.workflow, put.version),
        false => format!("Put {} as version {}.", put.workflow, put.version),
    });
    let answer = Answer::new(&all, lines.collect::<Vec<_>>().join("\n"));
    Ok(match all.workflows.first() {
        Some(first) => answer
            .next(format!("run start {} --input JSON", first.workflow), "start a run of it")
            .next(format!("workflow graph {}", first.workflow), "see it drawn"),
        None => answer,
    })
}
