//! `signaller run`: one file for each thing that can be done with a run, those that only change its state together.

mod change;
mod definition;
mod edit;
mod explain;
mod fork;
mod graph;
mod list;
mod meant;
mod node;
mod operations;
mod patch;
mod picture;
mod replay;
mod restart;
mod show;
mod start;
mod step;
mod timeline;
mod trace;
mod watch;

use super::Session;
use crate::output::Outcome;
use clap::{Args, Subcommand};

/// Runs: start, watch, change, fork, trace, draw, explain and replay them
#[derive(Args, Debug)]
pub struct RunArgs {
    #[command(subcommand)]
    command: RunCommand,
}

#[derive(Subcommand, Debug)]
enum RunCommand {
    Start(start::StartArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Watch(watch::WatchArgs),
    Trace(trace::TraceArgs),
    Explain(explain::ExplainArgs),
    Graph(graph::GraphArgs),
    Timeline(timeline::TimelineArgs),
    Replay(replay::ReplayArgs),
    Cancel(change::CancelArgs),
    Pause(change::PauseArgs),
    Resume(change::ResumeArgs),
    Retry(change::RetryArgs),
    Patch(patch::PatchArgs),
    Restart(restart::RestartArgs),
    Fork(fork::ForkArgs),
    Skip(restart::SkipArgs),
    Definition(definition::DefinitionArgs),
    Delete(change::DeleteArgs),
}

pub fn run(args: RunArgs, json: bool, session: &Session) -> Outcome {
    match args.command {
        RunCommand::Start(args) => start::run(args, session),
        RunCommand::List(args) => list::run(args, session),
        RunCommand::Show(args) => show::run(args, session),
        RunCommand::Watch(args) => watch::run(args, session),
        RunCommand::Trace(args) => trace::run(args, session),
        RunCommand::Explain(args) => explain::run(args, session),
        RunCommand::Graph(args) => graph::run(args, json, session),
        RunCommand::Timeline(args) => timeline::run(args, json, session),
        RunCommand::Replay(args) => replay::run(args, session),
        RunCommand::Cancel(args) => change::cancel(args, session),
        RunCommand::Pause(args) => change::pause(args, session),
        RunCommand::Resume(args) => change::resume(args, session),
        RunCommand::Retry(args) => change::retry(args, session),
        RunCommand::Patch(args) => patch::run(args, session),
        RunCommand::Restart(args) => restart::restart(args, session),
        RunCommand::Fork(args) => fork::run(args, session),
        RunCommand::Skip(args) => restart::skip(args, session),
        RunCommand::Definition(args) => definition::run(args, json, session),
        RunCommand::Delete(args) => change::delete(args, session),
    }
}
