//! `signaller run fork`: a new run from how another was.

use super::edit;
use super::operations::{OperationsArgs, definition_at};
use super::replay::moment;
use super::restart::node_at;
use super::watch::{self, WaitArgs};
use crate::commands::task::{read_input, read_json};
use crate::commands::{Session, priority, run_id};
use crate::output::{Answer, Outcome};
use crate::plain::plain_text;
use crate::units::parse_duration_ms;
use clap::Args;
use doors::wire::{Priority, RunFork, RunForked, place};
use kernel::ids::RunId;
use kernel::names::{IdempotencyKey, Tag};
use kernel::run::NodeAt;

/// Start a new run from how another was, with another input or text: what had ended there is taken along
#[derive(Args, Debug)]
#[command(
    after_help = "The other run stays as it is, whether it runs or has ended. What was under way then begins anew; with a NODE, so do that\n\
                        one and all that follows from it. What is taken along keeps what it gave, whatever the input is now.\n\n\
                        Examples:\n  signaller run fork run-7/pay --with '{\"account\":\"other\"}'\n  \
                        signaller run fork run-7 --at r1042 --dry-run\n  \
                        signaller run fork run-7 --at start --input @order.json --wait\n  \
                        signaller run fork 'run-7/rounds[1]/lint' --set nodes.rounds.do.nodes.lint.timeout=5m\n  \
                        signaller run fork run-7/pay --edit"
)]
pub struct ForkArgs {
    /// The run, or one of its nodes to go on from before it
    #[arg(value_name = "RUN[/NODE]", value_parser = Place::parse)]
    of: Place,
    /// From how it was then: a record such as r1042, an instant, so long ago as -5m, `start` or `end` [default: end]
    #[arg(long, value_name = "MOMENT", value_parser = moment, allow_hyphen_values = true)]
    at: Option<String>,
    /// Another input: JSON, @FILE, or - for stdin [default: the other's]
    #[arg(short, long, value_name = "JSON")]
    input: Option<String>,
    #[command(flatten)]
    operations: OperationsArgs,
    /// Open the text in $VISUAL or $EDITOR: the new run goes on by what is saved there
    #[arg(long, conflicts_with_all = ["file", "set", "unset", "text"])]
    edit: bool,
    /// Of a NODE of the run's own that a worker does: another input for it; JSON, @file or - for stdin
    #[arg(long, value_name = "JSON")]
    with: Option<String>,
    /// Why the text is another, for the history
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// Forking again with the same key answers the first run; keys are of one workflow
    #[arg(long, alias = "key", value_name = "KEY", value_parser = IdempotencyKey::parse)]
    idempotency_key: Option<IdempotencyKey>,
    /// Of its tasks: critical, high, normal, background, or a head start in seconds [default: the other's]
    #[arg(long, value_parser = priority, allow_hyphen_values = true)]
    priority: Option<Priority>,
    /// A tag instead of the other's; may be given several times
    #[arg(long = "tag", value_name = "TAG", value_parser = Tag::parse)]
    tags: Vec<Tag>,
    /// It fails if it is not over after so long
    #[arg(long, value_name = "DURATION", value_parser = parse_duration_ms)]
    deadline: Option<u64>,
    /// Only tell what it would take along and begin anew
    #[arg(long, conflicts_with = "wait")]
    dry_run: bool,
    #[command(flatten)]
    wait: WaitArgs,
}

#[derive(Clone, Debug)]
enum Place {
    Run(RunId),
    Node(NodeAt),
}

impl Place {
    fn parse(text: &str) -> Result<Place, String> {
        if text.contains('/') { node_at(text).map(Place::Node) } else { run_id(text).map(Place::Run) }
    }

    fn run(&self) -> RunId {
        match self {
            Place::Run(run) => *run,
            Place::Node(at) => at.run,
        }
    }

    fn node(&self) -> Option<String> {
        match self {
            Place::Run(_) => None,
            Place::Node(at) => Some(place(&at.frame, &at.node)),
        }
    }
}

pub fn run(args: ForkArgs, session: &Session) -> Outcome {
    let run = args.of.run();
    let ask = |body: &RunFork| session.client.post::<RunForked>(&format!("/v1/runs/{run}/fork"), body);
    let whence = RunFork { at: args.at.clone(), node: args.of.node(), ..RunFork::default() };
    let mut body = RunFork {
        input: args.input.as_deref().map(read_input).transpose()?,
        with: args.with.as_deref().map(|with| read_json("--with", with)).transpose()?,
        description: args.description.clone(),
        idempotency_key: args.idempotency_key.clone(),
        priority: args.priority,
        tags: Some(args.tags.clone()).filter(|tags| !tags.is_empty()),
        deadline_ms: args.deadline,
        dry_run: args.dry_run,
        by: Some(session.by.clone()),
        ..whence.clone()
    };
    // Paths and an edited text are of the text that it followed then, and of that moment.
    let found = match args.edit || args.operations.hangs_on_text() {
        false => None,
        true => {
            let then = ask(&RunFork { dry_run: true, ..whence })?;
            body.at = Some(then.origin.record.to_string());
            Some(definition_at(session, run, Some(then.base))?)
        }
    };
    let forked = match found {
        Some(found) if args.edit => {
            let of = args.of.node().map_or_else(|| run.to_string(), |node| format!("'{run}/{node}'"));
            let again = format!("run fork {of} --at {}", body.at.as_deref().unwrap_or("end"));
            edit::edited(session, found, &again, |operations| ask(&RunFork { operations: Some(operations), ..body.clone() }))?
        }
        found => {
            body.operations = args.operations.made_on(found.as_ref().map(|found| &*found.text))?;
            ask(&body)?
        }
    };
    match forked.run.filter(|_| args.wait.wait) {
        Some(run) => {
            session.screen.note(&if forked.duplicate { again(run) } else { format!("forked {run}") });
            watch::until_ended(session, run, args.wait.timeout, !forked.duplicate)
        }
        None => Ok(told(&forked)),
    }
}

fn again(run: RunId) -> String {
    format!("{run} was made with this key before; nothing of this request was used.")
}

fn told(forked: &RunForked) -> Answer {
    let origin = &forked.origin;
    if let Some(run) = forked.run.filter(|_| forked.duplicate) {
        return Answer::new(forked, again(run)).next(format!("run show {run}"), "the run as it stands");
    }
    let before = origin.node.as_ref().map_or_else(String::new, |node| format!(", from before {node}"));
    let whence = format!("{} as it was after {}{before}", origin.run, origin.record);
    let mut lines = vec![match forked.run {
        Some(run) => format!("Forked {run} from {whence}."),
        None => format!("It would be forked from {whence}:"),
    }];
    let list = |nodes: &[String]| match nodes {
        [] => "nothing".to_owned(),
        nodes if nodes.len() > NODES_MAX => format!("{}, and {} more", nodes[..NODES_MAX].join(", "), nodes.len() - NODES_MAX),
        nodes => nodes.join(", "),
    };
    lines.push(format!("taken along: {}", list(&forked.kept)));
    if !forked.anew.is_empty() {
        lines.push(format!("begins anew: {}", list(&forked.anew)));
    }
    if !forked.changes.is_empty() {
        lines.push(format!("by another text, revision {}:", forked.revision));
        lines.extend(forked.changes.iter().map(|line| format!("  {}", plain_text(line))));
    }
    lines.extend(forked.warnings.iter().map(|warning| format!("warning: {}: {}", warning.path, plain_text(&warning.message))));
    let answer = Answer::new(forked, lines.join("\n"));
    match forked.run {
        Some(run) => answer.next(format!("run watch {run}"), "see it go on").next(format!("run show {run}"), "how it stands"),
        None => answer.next(format!("run replay {} --at {}", origin.run, origin.record), "how it was then"),
    }
}

/// Nodes that are named one by one.
const NODES_MAX: usize = 20;
