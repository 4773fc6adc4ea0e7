//! `signaller queue set`: reads the configuration, changes what was named, writes it back.

use super::path;
use super::show::config_lines;
use crate::commands::{Session, attempts};
use crate::output::{Answer, Failure, Outcome};
use crate::table::facts;
use crate::units::{parse_duration_ms, parse_rate};
use clap::Args;
use doors::wire::{Fairness, QueueConfig, QueuePut, QueueView, Rate};
use kernel::limits::FAIR_STEP_MS_DEFAULT;
use kernel::names::{KeyName, KeyValue, QueueName, Tag};
use std::collections::BTreeMap;

/// Change the limits of a queue; `none` removes one
#[derive(Args, Debug, Default)]
#[command(after_help = "Examples:
  signaller queue set ci --concurrency 4 --rate 100/s:20
  signaller queue set mails --key-concurrency tenant=2 --key-rate tenant=10/m --fair-key tenant --weight acme=3
  signaller queue set ci --concurrency none --require-tag none")]
pub struct SetArgs {
    /// The queue, by its name
    #[arg(value_parser = QueueName::parse, required = true)]
    queue: Option<QueueName>,
    /// Tasks running at once
    #[arg(long, value_name = "N|none", value_parser = limit::<u32>)]
    concurrency: Option<Limit<u32>>,
    /// Starts per time, with a burst: 100/s, 10/m, 100/s:20
    #[arg(long, value_name = "RATE|none", value_parser = limit_with(parse_rate))]
    rate: Option<Limit<Rate>>,
    /// Tasks running at once for each value of a key
    #[arg(long, value_name = "KEY=N|none", value_parser = keyed::<u32>)]
    key_concurrency: Vec<(KeyName, Limit<u32>)>,
    /// Starts per time for each value of a key
    #[arg(long, value_name = "KEY=RATE|none", value_parser = keyed_rate)]
    key_rate: Vec<(KeyName, Limit<Rate>)>,
    /// Be fair between the values of this key
    #[arg(long, value_name = "KEY|none", value_parser = limit_with(|text: &str| KeyName::parse(text).map_err(|bad| bad.to_string())))]
    fair_key: Option<Limit<KeyName>>,
    /// How far a running task sets the others of its value back
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ms)]
    fair_step: Option<u64>,
    /// The share of one value of the fair key
    #[arg(long = "weight", value_name = "VALUE=N|none", value_parser = weight)]
    weights: Vec<(KeyValue, Limit<u32>)>,
    /// Attempts in all, from 1 to 1000
    #[arg(long, value_name = "N", value_parser = attempts)]
    attempts: Option<u16>,
    /// Wait after the first failure; it doubles after each further one
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ms)]
    backoff: Option<u64>,
    /// The longest wait between attempts
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ms)]
    backoff_max: Option<u64>,
    /// How much of the wait, in percent, chance may add
    #[arg(long, value_name = "PERCENT")]
    jitter: Option<u8>,
    /// A worker silent for longer has lost its task
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ms)]
    heartbeat: Option<u64>,
    /// How long one attempt may run
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ms)]
    budget: Option<u64>,
    /// Waiting tasks beyond which new ones are refused
    #[arg(long, value_name = "N|none", value_parser = limit::<u32>)]
    backlog: Option<Limit<u32>>,
    /// Only tasks with this tag are picked
    #[arg(long, value_name = "TAG|none", value_parser = limit_with(|text: &str| Tag::parse(text).map_err(|bad| bad.to_string())))]
    require_tag: Option<Limit<Tag>>,
    /// Tasks that may be run now past the limits
    #[arg(long, value_name = "N")]
    override_slots: Option<u32>,
    /// How long an idempotency key is remembered
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ms)]
    idempotency_window: Option<u64>,
    /// Show the configuration that would come of it
    #[arg(long)]
    dry_run: bool,
}

/// A limit to set, or `none`.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Limit<T> {
    None,
    To(T),
}

impl<T> Limit<T> {
    fn into_option(self) -> Option<T> {
        match self {
            Limit::None => None,
            Limit::To(value) => Some(value),
        }
    }
}

fn limit_with<T>(parse: impl Fn(&str) -> Result<T, String> + Clone) -> impl Fn(&str) -> Result<Limit<T>, String> + Clone {
    move |text| if text == "none" { Ok(Limit::None) } else { parse(text).map(Limit::To) }
}

fn limit<T: std::str::FromStr>(text: &str) -> Result<Limit<T>, String> {
    limit_with(|text: &str| text.parse().map_err(|_| format!("`{text}` is neither a number nor none")))(text)
}

fn keyed<T: std::str::FromStr>(text: &str) -> Result<(KeyName, Limit<T>), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}` is not KEY=N"))?;
    Ok((KeyName::parse(name).map_err(|bad| bad.to_string())?, limit(value)?))
}

fn keyed_rate(text: &str) -> Result<(KeyName, Limit<Rate>), String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("`{text}` is not KEY=RATE"))?;
    Ok((KeyName::parse(name).map_err(|bad| bad.to_string())?, limit_with(parse_rate)(value)?))
}

/// The value of a key may hold `=` itself, so the last one divides.
fn weight(text: &str) -> Result<(KeyValue, Limit<u32>), String> {
    let (value, weight) = text.rsplit_once('=').ok_or_else(|| format!("`{text}` is not VALUE=N"))?;
    Ok((KeyValue::parse(value).map_err(|bad| bad.to_string())?, limit(weight)?))
}

pub fn run(args: SetArgs, session: &Session) -> Outcome {
    let (queue, dry_run) = (args.queue.clone().ok_or_else(|| Failure::usage("a QUEUE is missing"))?, args.dry_run);
    // A queue nothing was said about yet has the default configuration.
    let before: QueueView = session.client.get(&path(&queue, ""))?;
    let config = changed(before.config.clone(), args)?;
    if config == before.config && !dry_run {
        return Err(
            Failure::usage(format!("this changes nothing in queue {queue}")).fix("name what to change, such as --concurrency 4")
        );
    }
    config.clone().into_kernel().map_err(|problem| Failure::of_problem(400, problem))?;
    let page = facts(&session.screen, &config_lines(&config));
    if dry_run {
        let view = QueueView { config, ..before };
        return Ok(Answer::new(&view, format!("Queue {queue} would have:\n{page}")));
    }
    let view: QueueView = session.client.put(&path(&queue, ""), &QueuePut { config, by: Some(session.by.clone()) })?;
    Ok(Answer::new(&view, format!("Queue {queue} now has:\n{page}"))
        .next(format!("queue show {queue}"), "the queue with its counts"))
}

/// The configuration with what was named changed.
fn changed(mut config: QueueConfig, args: SetArgs) -> Result<QueueConfig, Failure> {
    if let Some(limit) = args.concurrency {
        config.concurrency = limit.into_option();
    }
    if let Some(limit) = args.rate {
        config.rate = limit.into_option();
    }
    for (name, limit) in args.key_concurrency {
        config.keys.entry(name).or_default().concurrency = limit.into_option();
    }
    for (name, limit) in args.key_rate {
        config.keys.entry(name).or_default().rate = limit.into_option();
    }
    config.keys.retain(|_, limit| limit.concurrency.is_some() || limit.rate.is_some());
    match args.fair_key {
        Some(Limit::None) => config.fairness = None,
        Some(Limit::To(key)) => match &mut config.fairness {
            Some(fairness) => fairness.key = key,
            None => config.fairness = Some(Fairness { key, step_ms: FAIR_STEP_MS_DEFAULT, weights: BTreeMap::new() }),
        },
        None => {}
    }
    if args.fair_step.is_some() || !args.weights.is_empty() {
        let Some(fairness) = &mut config.fairness else {
            return Err(
                Failure::usage("--fair-step and --weight need a --fair-key").fix("name the key to be fair by: --fair-key tenant")
            );
        };
        fairness.step_ms = args.fair_step.unwrap_or(fairness.step_ms);
        for (value, weight) in args.weights {
            match weight {
                Limit::None => fairness.weights.remove(&value),
                Limit::To(weight) => fairness.weights.insert(value, weight),
            };
        }
    }
    config.retry.attempts = args.attempts.unwrap_or(config.retry.attempts);
    config.retry.backoff_ms = args.backoff.unwrap_or(config.retry.backoff_ms);
    config.retry.backoff_max_ms = args.backoff_max.unwrap_or(config.retry.backoff_max_ms);
    config.retry.jitter_percent = args.jitter.unwrap_or(config.retry.jitter_percent);
    if let Some(ms) = args.heartbeat {
        config.heartbeat_ms =
            u32::try_from(ms).map_err(|_| Failure::usage("--heartbeat is too long").fix("give a duration such as 30s"))?;
    }
    config.budget_ms = args.budget.unwrap_or(config.budget_ms);
    if let Some(limit) = args.backlog {
        config.backlog_max = limit.into_option();
    }
    if let Some(limit) = args.require_tag {
        config.require_tag = limit.into_option();
    }
    config.override_slots = args.override_slots.unwrap_or(config.override_slots);
    config.idempotency_window_ms = args.idempotency_window.unwrap_or(config.idempotency_window_ms);
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cli;
    use clap::Parser;

    /// Applies each line of flags in turn and shows what differs from the default.
    fn set(lines: &[&str]) -> Result<String, String> {
        let mut config = QueueConfig::default();
        for line in lines {
            let words = ["signaller", "queue", "set", "ci"].into_iter().chain(line.split_whitespace());
            let cli = Cli::try_parse_from(words).map_err(|error| error.to_string())?;
            let crate::commands::Command::Queue(queue) = cli.command else { unreachable!("`queue set` was parsed") };
            let super::super::QueueCommand::Set(args) = queue.command else { unreachable!("`queue set` was parsed") };
            config = changed(config, *args).map_err(|failure| failure.message)?;
        }
        let default = serde_json::to_value(QueueConfig::default()).unwrap();
        let mut value = serde_json::to_value(config).unwrap();
        value.as_object_mut().unwrap().retain(|name, value| default.get(name) != Some(value));
        Ok(value.to_string())
    }

    #[test]
    fn what_is_named_changes_and_the_rest_stays() {
        for (lines, shown) in [
            (&[""][..], "{}"),
            (&["--concurrency 4", "--rate 100/s:20"], r#"{"concurrency":4,"rate":{"burst":20,"count":100,"per_ms":1000}}"#),
            (&["--concurrency 4", "--concurrency none"], "{}"),
            (
                &["--key-concurrency tenant=2 --key-rate tenant=10/m --key-concurrency repo=1", "--key-concurrency repo=none"],
                r#"{"keys":{"tenant":{"concurrency":2,"rate":{"burst":1,"count":10,"per_ms":60000}}}}"#,
            ),
            (
                &["--fair-key tenant --fair-step 30s --weight acme=3 --weight a=b=2", "--weight acme=none"],
                r#"{"fairness":{"key":"tenant","step_ms":30000,"weights":{"a=b":2}}}"#,
            ),
            (&["--fair-key tenant", "--fair-key none"], "{}"),
            (
                &["--attempts 5 --backoff 2s --backoff-max 1m --jitter 0"],
                r#"{"retry":{"attempts":5,"backoff_max_ms":60000,"backoff_ms":2000,"jitter_percent":0}}"#,
            ),
            (
                &["--heartbeat 5s --budget 1h --backlog 10 --require-tag ok --override-slots 0 --idempotency-window 1h"],
                r#"{"backlog_max":10,"budget_ms":3600000,"heartbeat_ms":5000,"idempotency_window_ms":3600000,"override_slots":0,"require_tag":"ok"}"#,
            ),
        ] {
            assert_eq!(set(lines).as_deref(), Ok(shown), "{lines:?}");
        }
    }

    #[test]
    fn what_cannot_be_set_is_refused() {
        for (line, why) in [
            ("--concurrency many", "neither a number nor none"),
            ("--rate 100", "is not a rate"),
            ("--key-rate tenant", "is not KEY=RATE"),
            ("--weight acme=3", "need a --fair-key"),
            ("--heartbeat 5", "is not a duration"),
            ("--jitter 300", "300"),
            ("--attempts 0", "`0` is not a number of attempts: give 1 to 1000"),
        ] {
            let error = set(&[line]).expect_err(line);
            assert!(error.contains(why), "{line}: {error}");
        }
    }
}
