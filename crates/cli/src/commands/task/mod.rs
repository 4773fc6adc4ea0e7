//! `signaller task`: one file for each thing that can be done with a task, those that only change its state together.

mod add;
mod add_many;
mod change;
pub mod explain;
pub mod history;
mod list;
mod log;
pub mod show;
mod wait;

use super::Session;
use crate::output::Outcome;
use clap::{Args, Subcommand};

/// Tasks: add, list, wait for, change and explain them
#[derive(Args, Debug)]
pub struct TaskArgs {
    #[command(subcommand)]
    command: TaskCommand,
}

#[derive(Subcommand, Debug)]
enum TaskCommand {
    Add(add::AddArgs),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Wait(wait::WaitArgs),
    Cancel(change::CancelArgs),
    Retry(change::RetryArgs),
    Reset(change::ResetArgs),
    Start(change::StartArgs),
    Delete(change::DeleteArgs),
    Explain(explain::ExplainArgs),
    History(history::HistoryArgs),
    Log(log::LogArgs),
}

pub fn run(args: TaskArgs, session: &Session) -> Outcome {
    match args.command {
        TaskCommand::Add(args) => add::run(args, session),
        TaskCommand::List(args) => list::run(args, session),
        TaskCommand::Show(args) => show::run(args, session),
        TaskCommand::Wait(args) => wait::run(args, session),
        TaskCommand::Cancel(args) => change::cancel(args, session),
        TaskCommand::Retry(args) => change::retry(args, session),
        TaskCommand::Reset(args) => change::reset(args, session),
        TaskCommand::Start(args) => change::start(args, session),
        TaskCommand::Delete(args) => change::delete(args, session),
        TaskCommand::Explain(args) => explain::run(args, session),
        TaskCommand::History(args) => history::run(args, session),
        TaskCommand::Log(args) => log::run(args, session),
    }
}

pub use add::{read_input, read_json};
pub use list::rows_of;
pub use show::progress_text;
