//! `signaller registry`: which events go to which handlers. A file is checked here, so that what is wrong with it is said
//! without a server, and in the same words.

mod simulate;

use super::Session;
use crate::config::Globals;
use crate::output::{Answer, Exit, Failure, Outcome, Screen};
use crate::plain::plain_text;
use crate::units::{count_of, now, show_age};
use clap::{Args, Subcommand};
use doors::wire::{
    CronDue, EventEmit, Instant, ProblemAt, RegistryDiff, RegistryPut, RegistryPutQuery, RegistryView, said_plainly,
};
use flow::registry::{Arrival, Registry};
use serde_json::json;
use simulate::traced;

/// The registry: check a file, see what it would change, put it in force; try an event on it
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
    #[command(
        after_help = "Examples:\n  signaller registry put registry.yaml\n\nA server started with --registry FILE takes changes of that \
                            file by itself."
    )]
    Put {
        /// YAML or JSON; - for stdin
        #[arg(value_name = "FILE", default_value = "registry.yaml")]
        file: String,
    },
    /// Say what a file would change, against the registry in force or another file
    #[command(
        after_help = "Examples:\n  signaller registry diff registry.yaml\n  signaller registry diff new.yaml --from old.yaml"
    )]
    Diff {
        /// YAML or JSON; - for stdin
        #[arg(value_name = "FILE", default_value = "registry.yaml")]
        file: String,
        /// Against this file, without a server
        #[arg(long, value_name = "FILE")]
        from: Option<String>,
    },
    /// Show what would become of an event, handler by handler, without sending it
    #[command(
        after_help = "Examples:\n  signaller registry simulate -e event.json\n  signaller registry simulate -e '{\"name\":\"github/push\"}' \
                            --file registry.yaml"
    )]
    Simulate {
        /// The event: JSON, a file with it, or - for stdin
        #[arg(short, long, value_name = "EVENT")]
        event: String,
        /// By this file, without a server
        #[arg(long, value_name = "FILE")]
        file: Option<String>,
    },
    /// Print the JSON Schema of registries, for editors
    #[command(after_help = "Examples:\n  signaller registry schema > registry.schema.json")]
    Schema,
    /// Show the registry in force
    #[command(after_help = "Examples:\n  signaller registry show")]
    Show,
}

pub fn run(args: RegistryArgs, globals: &Globals, screen: Screen) -> Outcome {
    let session = || Session::new(globals, screen);
    match args.command {
        RegistryCommand::Check { file } => check(&file, screen),
        RegistryCommand::Put { file } => put(&file, screen, &session()?),
        RegistryCommand::Diff { file, from: Some(from) } => diff(&file, &from, screen),
        RegistryCommand::Diff { file, from: None } => diff_with_server(&file, screen, &session()?),
        RegistryCommand::Simulate { event, file: Some(file) } => simulate(&event, &file, screen),
        RegistryCommand::Simulate { event, file: None } => simulate_on_server(&event, &session()?),
        RegistryCommand::Schema => {
            let schema = flow::registry::registry_schema();
            let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
            Ok(Answer { verbatim: !globals.json, ..Answer::new(&schema, text) })
        }
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
    let (webhooks, crons) = (registry.webhooks().count(), registry.crons().count());
    let counts = [many(handlers, "handler"), many(queues, "queue"), many(webhooks, "webhook"), many(crons, "cron")];
    counts.join(", ")
}

/// `cron nightly: 0 3 * * * (Europe/Berlin) emits cron/nightly, next in 5 h`.
fn cron_line(cron: &CronDue, at: Instant) -> String {
    let CronDue { cron, schedule, zone, event, next } = cron;
    let next = next.map_or_else(|| "never again".to_owned(), |next| format!("next {} ({next})", show_age(next, at)));
    plain_text(&format!("cron {cron}: {schedule} ({zone}) emits {event}, {next}")).into_owned()
}

fn warning_lines(warnings: &[String]) -> impl Iterator<Item = String> {
    warnings.iter().map(|warning| format!("warning: {}", plain_text(warning)))
}

fn check(file: &str, screen: Screen) -> Outcome {
    let registry = compiled(file, &super::workflow::read(file)?, screen)?;
    let handlers: Vec<String> = registry.handlers().map(ToString::to_string).collect();
    let queues: Vec<String> = registry.queues().into_keys().map(|queue| queue.to_string()).collect();
    let webhooks: Vec<String> = registry.webhooks().map(|webhook| webhook.name.to_string()).collect();
    let at = now();
    let crons: Vec<CronDue> = registry.crons().map(|cron| CronDue::new(cron, at.0)).collect();
    // Which workflows there are is known to a server alone; which it needs is not.
    let workflows: Vec<String> = registry.workflows().iter().map(|(workflow, _)| workflow.to_string()).collect();
    let mut warnings: Vec<String> =
        registry.warnings().iter().map(|warning| format!("line {}: {}", warning.line, warning.message)).collect();
    let here = |warning| format!("{warning} in this environment; it has to be where the server runs");
    warnings.extend(registry.unset(|name| crate::place::env(name).is_some()).into_iter().map(here));
    let mut lines = vec![format!("{file}: no problems; {}.", stated(&registry))];
    lines.extend(crons.iter().map(|cron| cron_line(cron, at)));
    if !workflows.is_empty() {
        lines.push(format!("It needs {}: {}.", count_of(workflows.len() as u64, "workflow"), workflows.join(", ")));
    }
    lines.extend(warning_lines(&warnings));
    let result = json!({
        "file": file, "ok": true, "handlers": handlers, "queues": queues, "webhooks": webhooks, "crons": crons,
        "workflows": workflows, "warnings": warnings,
    });
    Ok(Answer::new(&result, lines.join("\n")).next(format!("registry put {file}"), "put it in force"))
}

fn put(file: &str, screen: Screen, session: &Session) -> Outcome {
    let text = super::workflow::read(file)?;
    compiled(file, &text, screen)?;
    let query = RegistryPutQuery { by: Some(session.by.clone()) };
    let put: RegistryPut = session.client.put_text(&crate::client::with_query("/v1/registry", &query), text)?;
    let mut lines = vec![match put.unchanged {
        true => format!("This very registry is in force, as revision {}.", put.revision),
        false => format!("Revision {} is in force, with {}.", put.revision, count_of(put.handlers, "handler")),
    }];
    lines.extend(warning_lines(&put.warnings));
    Ok(Answer::new(&put, lines.join("\n")).next("emit NAME -d '{…}'", "send an event"))
}

fn diff(file: &str, from: &str, screen: Screen) -> Outcome {
    let new = compiled(file, &super::workflow::read(file)?, screen)?;
    let old = compiled(from, &super::workflow::read(from)?, screen)?;
    let difference = flow::registry::difference(&old, &new);
    let text = if difference.is_empty() { "It would change nothing.".to_owned() } else { difference.to_string() };
    Ok(Answer::new(&difference, text))
}

fn diff_with_server(file: &str, screen: Screen, session: &Session) -> Outcome {
    let text = super::workflow::read(file)?;
    compiled(file, &text, screen)?;
    let diff: RegistryDiff = session.client.post_text("/v1/registry/diff", text)?;
    if diff.same {
        return Ok(Answer::new(&diff, format!("It would change nothing of revision {}.", diff.revision)));
    }
    Ok(Answer::new(&diff, diff.lines.join("\n")).next(format!("registry put {file}"), "put it in force"))
}

/// JSON as it is, or a file with it.
fn read_event(source: &str) -> Result<EventEmit, Failure> {
    let text = match source {
        "-" => super::workflow::read("-")?,
        json if json.trim_start().starts_with('{') => json.as_bytes().to_vec(),
        file => super::workflow::read(file.strip_prefix('@').unwrap_or(file))?,
    };
    serde_json::from_slice(&text).map_err(|error| {
        Failure::usage(format!("the event does not fit: {}", said_plainly(&error.to_string())))
            .fix("an event is JSON such as {\"name\":\"github/push\",\"data\":{}}")
    })
}

fn simulate(event: &str, file: &str, screen: Screen) -> Outcome {
    let registry = compiled(file, &super::workflow::read(file)?, screen)?;
    let (spec, data) = read_event(event)?.into_spec().map_err(|problem| Failure::of_problem(400, problem))?;
    let arrival = Arrival { spec: &spec, id: "", received_at: engine::clock::wall(), data: data.text() };
    traced(&serde_json::to_value(registry.trace(&arrival)).expect("it has a JSON form"), screen)
}

fn simulate_on_server(event: &str, session: &Session) -> Outcome {
    let trace: serde_json::Value = session.client.post("/v1/registry/simulate", &read_event(event)?)?;
    traced(&trace, session.screen)
}

fn show(session: &Session) -> Outcome {
    let view: RegistryView = session.client.get("/v1/registry")?;
    let refused = view.refused.as_ref().map_or_else(String::new, |why| format!("\nA newer text was refused: {why}"));
    if view.revision == 0 {
        let text = format!("No registry is in force: events are kept and handled by nobody.{refused}");
        return Ok(Answer::new(&view, text).next("registry put FILE", "put one in force"));
    }
    let (by, put_at, at) = (view.by.as_ref().map_or_else(String::new, |by| format!(" by {by}")), view.put_at, now());
    let age = put_at.map_or_else(String::new, |put_at| show_age(put_at, at));
    let mut lines = vec![format!("# revision {}, put {age}{by}{refused}", view.revision)];
    lines.extend(view.file.iter().map(|file| format!("# follows {}", plain_text(file))));
    lines.extend(view.crons.iter().map(|cron| format!("# {}", cron_line(cron, at))));
    lines.extend(warning_lines(&view.warnings).map(|warning| format!("# {warning}")));
    lines.push(view.text.trim_end().to_owned());
    Ok(Answer::new(&view, lines.join("\n")))
}
