//! `signaller registry`: which events go to which handlers. A file is checked here, so that what is wrong with it is said
//! without a server, and in the same words.

use super::Session;
use crate::config::Globals;
use crate::output::{Answer, Exit, Failure, Outcome, Screen};
use crate::units::{count_of, now, show_age};
use clap::{Args, Subcommand};
use doors::wire::{ProblemAt, RegistryPut, RegistryPutQuery, RegistryView};
use flow::registry::Registry;
use serde_json::json;

/// The registry: check a file, put it in force, show the one that is
#[derive(Args, Debug)]
pub struct RegistryArgs {
    #[command(subcommand)]
    command: RegistryCommand,
}

#[derive(Subcommand, Debug)]
enum RegistryCommand {
    /// Check a file, with every problem and its line; no server is needed
    #[command(after_help = "Examples:\n  signaller registry check registry.yaml")]
    Check {
        /// YAML or JSON; - for stdin
        #[arg(value_name = "FILE", default_value = "registry.yaml")]
        file: String,
    },
    /// Put a file in force, whole or not at all
    #[command(after_help = "Examples:\n  signaller registry put registry.yaml\n\nA server started with --registry FILE takes changes of that \
                            file by itself.")]
    Put {
        /// YAML or JSON; - for stdin
        #[arg(value_name = "FILE", default_value = "registry.yaml")]
        file: String,
    },
    /// Show the registry in force
    #[command(after_help = "Examples:\n  signaller registry show")]
    Show,
}

pub fn run(args: RegistryArgs, globals: &Globals, screen: Screen) -> Outcome {
    let session = || Session::new(globals, screen);
    match args.command {
        RegistryCommand::Check { file } => check(&file, screen),
        RegistryCommand::Put { file } => put(&file, screen, &session()?),
        RegistryCommand::Show => show(&session()?),
    }
}

/// What a file states, or all that is wrong with it.
fn compiled(file: &str, text: &[u8], screen: Screen) -> Result<Registry, Failure> {
    Registry::compile(text).map_err(|problems| {
        if screen.people {
            for problem in &problems {
                let suggestion = problem.suggestion.as_ref().map_or_else(String::new, |meant| format!("; {meant}"));
                screen.line(&format!("{file}:{}:{}: {}{suggestion}", problem.line, problem.column, problem.message));
            }
        }
        let told: Vec<ProblemAt> = problems.iter().map(ProblemAt::from).collect();
        let message = format!("{file} has {}", count_of(problems.len() as u64, "problem"));
        let failure = Failure::new(Exit::Usage, "invalid_registry", message).fix("correct each place, and check it again");
        Failure { problems: if screen.people { Vec::new() } else { told.clone() }, ..failure }.result(&json!({"problems": told}))
    })
}

fn stated(registry: &Registry) -> String {
    let many = |count: usize, noun: &str| count_of(count as u64, noun);
    let (handlers, queues) = (registry.handlers().count(), registry.queues().len());
    format!("{}, {}, {}", many(handlers, "handler"), many(queues, "queue"), many(registry.webhooks().count(), "webhook"))
}

fn check(file: &str, screen: Screen) -> Outcome {
    let registry = compiled(file, &super::workflow::read(file)?, screen)?;
    let handlers: Vec<String> = registry.handlers().map(ToString::to_string).collect();
    let queues: Vec<String> = registry.queues().into_keys().map(|queue| queue.to_string()).collect();
    let webhooks: Vec<String> = registry.webhooks().map(|webhook| webhook.name.to_string()).collect();
    let result = json!({"file": file, "ok": true, "handlers": handlers, "queues": queues, "webhooks": webhooks});
    let answer = Answer::new(&result, format!("{file}: no problems; {}.", stated(&registry)));
    Ok(answer.next(format!("registry put {file}"), "put it in force"))
}

fn put(file: &str, screen: Screen, session: &Session) -> Outcome {
    let text = super::workflow::read(file)?;
    compiled(file, &text, screen)?;
    let query = RegistryPutQuery { by: Some(session.by.clone()) };
    let put: RegistryPut = session.client.put_text(&crate::client::with_query("/v1/registry", &query), text)?;
    let text = match put.unchanged {
        true => format!("This very registry is in force, as revision {}.", put.revision),
        false => format!("Revision {} is in force, with {}.", put.revision, count_of(put.handlers, "handler")),
    };
    Ok(Answer::new(&put, text).next("emit NAME -d '{…}'", "send an event"))
}

fn show(session: &Session) -> Outcome {
    let view: RegistryView = session.client.get("/v1/registry")?;
    let refused = view.refused.as_ref().map_or_else(String::new, |why| format!("\nA newer text was refused: {why}"));
    if view.revision == 0 {
        let text = format!("No registry is in force: events are kept and handled by nobody.{refused}");
        return Ok(Answer::new(&view, text).next("registry put FILE", "put one in force"));
    }
    let (by, put_at) = (view.by.as_ref().map_or_else(String::new, |by| format!(" by {by}")), view.put_at);
    let age = put_at.map_or_else(String::new, |at| show_age(at, now()));
    let text = format!("# revision {}, put {age}{by}{refused}\n{}", view.revision, view.text.trim_end());
    Ok(Answer::new(&view, text))
}
