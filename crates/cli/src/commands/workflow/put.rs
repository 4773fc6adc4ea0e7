//! `signaller workflow put`.

use super::validate::{not_valid, told, warned};
use super::{definitions, read};
use crate::client::with_query;
use crate::commands::Session;
use crate::output::{Answer, Failure, Outcome};
use crate::units::count_of;
use clap::Args;
use doors::wire::{ProblemAt, WorkflowPut, WorkflowPutQuery, WorkflowsPut};
use flow::limits::SOURCE_BYTES_MAX;
use serde::Serialize;

/// Put definitions on the server: each becomes a new version, unless the newest has the same text
#[derive(Args, Debug)]
#[command(after_help = "All of the files are put or, if one of them is wrong or refused, none.\n\n\
                        Examples:\n  signaller workflow put refund.yaml\n  signaller workflow put a.yaml b.json")]
pub struct PutArgs {
    /// YAML or JSON; - for stdin
    #[arg(value_name = "FILE", required = true)]
    files: Vec<String>,
}

#[derive(Serialize)]
struct Put {
    workflows: Vec<PutFrom>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<WarnedIn>,
}

#[derive(Serialize)]
struct PutFrom {
    file: String,
    #[serde(flatten)]
    put: WorkflowPut,
}

#[derive(Serialize)]
struct WarnedIn {
    file: String,
    #[serde(flatten)]
    warning: ProblemAt,
}

/// A file that is right: how many definitions it holds, and on which line of all of them it begins.
struct Good {
    file: String,
    definitions: usize,
    line: u32,
    lines: u32,
}

pub fn run(args: PutArgs, session: &Session) -> Outcome {
    let (mut whole, mut good, mut wrong, mut lines) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for file in args.files {
        let text = read(&file)?;
        match definitions(&file, &text) {
            Ok(found) => {
                if !whole.is_empty() {
                    whole.extend_from_slice(b"\n---\n");
                }
                let newlines = |text: &[u8]| text.iter().filter(|byte| **byte == b'\n').count() as u32;
                let (line, count) = (newlines(&whole) + 1, newlines(&text) + 1);
                whole.extend_from_slice(&text);
                good.push(Good { file, definitions: found.len(), line, lines: count });
            }
            Err(problems) => {
                lines.extend(problems.iter().map(|problem| told(&file, problem)));
                wrong.extend(problems);
            }
        }
    }
    if !wrong.is_empty() {
        lines.extend(good.iter().map(|good| format!("{} has no problems, and was not put either.", good.file)));
        if session.screen.people {
            session.screen.line(&lines.join("\n"));
        }
        return Err(not_valid(&wrong, session.screen.people));
    }
    if good.len() > 1 && whole.len() > SOURCE_BYTES_MAX {
        let message = format!("together the files have {} bytes; at most {SOURCE_BYTES_MAX} are put at once", whole.len());
        return Err(Failure::usage(message).fix("put them in several goes"));
    }
    let path = with_query("/v1/workflows", &WorkflowPutQuery { by: Some(session.by.clone()) });
    let put: WorkflowsPut = session.client.post_text(&path, whole).map_err(|failure: Failure| match good.len() {
        0 | 1 => failure,
        many => {
            let message = format!("{}; none of the {} was put", failure.message, count_of(many as u64, "file"));
            Failure { message, ..failure }
        }
    })?;
    Ok(answered(&good, put))
}

fn answered(good: &[Good], put: WorkflowsPut) -> Answer {
    let files = good.iter().flat_map(|good| std::iter::repeat_n(&good.file, good.definitions));
    let workflows: Vec<PutFrom> = files.zip(put.workflows).map(|(file, put)| PutFrom { file: file.clone(), put }).collect();
    let warnings: Vec<WarnedIn> = put.warnings.into_iter().map(|warning| in_its_file(good, warning)).collect();
    let several = good.len() > 1;
    let lines = workflows.iter().map(|PutFrom { file, put }| {
        let from = if several { format!("{file}: ") } else { String::new() };
        match put.unchanged {
            true => format!("{from}{} has this text as version {} already.", put.workflow, put.version),
            false => format!("{from}Put {} as version {}.", put.workflow, put.version),
        }
    });
    let mut lines: Vec<String> = lines.collect();
    lines.extend(warnings.iter().map(|one| warned(&one.file, &one.warning)));
    let all = Put { workflows, warnings };
    let answer = Answer::new(&all, lines.join("\n"));
    match all.workflows.first() {
        Some(PutFrom { put: first, .. }) => answer
            .next(format!("run start {} --input JSON", first.workflow), "start a run of it")
            .next(format!("workflow graph {}", first.workflow), "see it drawn"),
        None => answer,
    }
}

/// The server sees one text; a warning is told by the file's own lines.
fn in_its_file(good: &[Good], warning: ProblemAt) -> WarnedIn {
    let line = warning.line.unwrap_or(1);
    let of = good.iter().find(|good| (good.line..good.line + good.lines).contains(&line)).or(good.first());
    let (file, begins) = of.map_or((String::new(), 1), |good| (good.file.clone(), good.line));
    WarnedIn { file, warning: ProblemAt { line: Some((line + 1).saturating_sub(begins)), ..warning } }
}
