//! The binary `signaller`. Here the arguments become a command, and its outcome an answer and an exit code.

#![allow(clippy::result_large_err, reason = "a command fails once, and then the process ends")]

mod blobs;
mod built_in;
mod canvas;
mod client;
mod commands;
mod config;
mod drawing;
mod forwarding;
mod json_text;
mod ndjson;
mod output;
mod place;
mod plain;
mod progress;
mod registry_file;
mod server;
mod signals;
mod stream;
mod table;
mod telling;
mod telling_events;
mod telling_runs;
mod units;

use clap::error::ErrorKind;
use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser};
use commands::Command;
use config::Globals;
use output::{Failure, Screen};
use std::ffi::OsString;
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Takes work in, decides what runs next, and makes it run durably.
#[derive(Parser, Debug)]
#[command(
    name = "signaller",
    version,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    after_help = "Exit codes: 0 ok, 1 the work failed, 2 usage, 3 not found, 4 conflict, 5 confirmation needed, 6 limited or out of time \
                  (it may work later), 7 unavailable.\n\n\
                  Off a terminal every command answers with one JSON document: {ok, command, result, error?, fix?, next_actions}. \
                  Others: `watch` and `run watch` give a line for each record before it, `dev` and `serve` a line {\"ready\":…}; `bench` \
                  gives {\"results\":[…]} alone, `completions` a script, `workflow graph` and `workflow schema` what they are."
)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    globals: Globals,
}

fn main() -> ExitCode {
    let args: Vec<OsString> = std::env::args_os().collect();
    let exit = match Cli::command().try_get_matches_from(&args) {
        Ok(matches) => {
            let name = command_name(&matches);
            match Cli::from_arg_matches(&matches) {
                Ok(cli) => {
                    let screen = Screen::new(cli.globals.json, cli.globals.human);
                    for name in place::unknown_variables(std::env::vars_os()) {
                        screen.note(&format!("note: {name} is set, but means nothing to signaller"));
                    }
                    screen.finish(&name, commands::run(cli.command, &cli.globals, screen))
                }
                Err(error) => return refuse(&args, &error),
            }
        }
        Err(error) => return refuse(&args, &error),
    };
    ExitCode::from(exit as u8)
}

/// `task add`, without the name of the binary.
fn command_name(matches: &ArgMatches) -> String {
    let mut names = Vec::new();
    let mut matches = matches;
    while let Some((name, deeper)) = matches.subcommand() {
        names.push(name);
        matches = deeper;
    }
    names.join(" ")
}

/// Arguments that make no command: help and version are for people, the rest is a failure like any other.
fn refuse(args: &[OsString], error: &clap::Error) -> ExitCode {
    let texts: Vec<&str> = args.iter().skip(1).filter_map(|arg| arg.to_str()).take_while(|arg| *arg != "--").collect();
    let screen = Screen::new(texts.contains(&"--json"), texts.contains(&"--human"));
    let asked = matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion);
    // Whoever names half a command is shown the rest.
    let half = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    if asked || (half && screen.people) {
        let _ = error.print();
        return ExitCode::from(error.exit_code() as u8);
    }
    let failure = usage_failure(error, &words_of(&texts));
    ExitCode::from(screen.finish(&words_of(&texts), Err(failure)) as u8)
}

fn usage_failure(error: &clap::Error, name: &str) -> Failure {
    let help = if name.is_empty() { "--help".to_owned() } else { format!("{name} --help") };
    let text = match error.kind() {
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => "a command is missing".to_owned(),
        _ => error.render().to_string(),
    };
    // Clap's text ends in usage and a pointer to --help; the first paragraph is the error itself.
    let message = text.split("\n\n").next().unwrap_or("").trim_start_matches("error: ").trim();
    let message = message.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let tip = text.lines().find_map(|line| line.trim().strip_prefix("tip: "));
    let tip = tip.map_or_else(String::new, |tip| format!("{tip}; "));
    Failure::usage(message).fix(format!("{tip}see `signaller {help}`")).next(help, "every argument, with examples")
}

/// The leading words of the arguments that name a command.
fn words_of(args: &[&str]) -> String {
    let root = Cli::command();
    let (mut command, mut names) = (&root, Vec::new());
    for arg in args.iter().filter(|arg| !arg.starts_with('-')) {
        let Some(deeper) = command.find_subcommand(arg) else { break };
        names.push(deeper.get_name());
        command = deeper;
    }
    names.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_command_has_help_and_most_an_example() {
        fn walk(command: &clap::Command, path: &str, missing: &mut Vec<String>) {
            let path = format!("{path} {}", command.get_name());
            if command.get_about().is_none() {
                missing.push(format!("{path}: no help"));
            }
            let leaf = command.get_subcommands().next().is_none();
            if leaf && !command.get_after_help().is_some_and(|text| text.to_string().contains("signaller ")) {
                missing.push(format!("{path}: no example"));
            }
            let silent = command.get_arguments().filter(|argument| !argument.is_hide_set() && argument.get_help().is_none());
            missing.extend(silent.map(|argument| format!("{path} {}: no help", argument.get_id())));
            let shown = command.get_subcommands().filter(|deeper| !deeper.is_hide_set());
            shown.for_each(|deeper| walk(deeper, &path, missing));
        }
        let mut missing = Vec::new();
        let root = Cli::command();
        root.get_subcommands().filter(|command| !command.is_hide_set()).for_each(|command| walk(command, "", &mut missing));
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn usage_errors_are_one_sentence() {
        for (args, name, message) in [
            ("task ad", "task", "unrecognized subcommand 'ad'"),
            ("task add", "task add", "the following required arguments were not provided: <TYPE>"),
            ("task wait task-1 --timeout 5", "task wait", "invalid value '5' for '--timeout <DURATION>': `5` is not a duration"),
            ("task show run-1", "task show", "`run-1` is a run, not a task: see `signaller run show run-1`"),
            ("status --josn", "status", "unexpected argument '--josn' found"),
            ("", "", "a command is missing"),
        ] {
            let args: Vec<&str> = args.split_whitespace().collect();
            let error =
                Cli::command().try_get_matches_from(std::iter::once("signaller").chain(args.iter().copied())).unwrap_err();
            assert_eq!(words_of(&args), name);
            let failure = usage_failure(&error, name);
            assert!(failure.message.contains(message), "{}", failure.message);
        }
        let error = Cli::command().try_get_matches_from(["signaller", "task", "ad"]).unwrap_err();
        let fix = usage_failure(&error, "task").fix;
        assert!(fix.as_deref().is_some_and(|fix| fix.starts_with("a similar subcommand exists: 'add'; see")), "{fix:?}");
    }

    /// The arguments of every example in every help text parse.
    #[test]
    fn examples_parse() {
        fn walk(command: &clap::Command, lines: &mut Vec<String>) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            lines.extend(help.lines().filter_map(|line| line.trim().strip_prefix("signaller ").map(str::to_owned)));
            command.get_subcommands().for_each(|deeper| walk(deeper, lines));
        }
        let mut lines = Vec::new();
        walk(&Cli::command(), &mut lines);
        assert!(lines.len() > 20);
        for line in lines {
            let line = line.split(" | ").next().unwrap_or("").split(" > ").next().unwrap_or("");
            let parsed = Cli::command().try_get_matches_from(std::iter::once("signaller".to_owned()).chain(shell_words(line)));
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
    }

    /// Words as a shell would split them, with single quotes only.
    fn shell_words(line: &str) -> Vec<String> {
        let mut words = vec![String::new()];
        let mut quoted = false;
        for c in line.chars() {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                c => words.last_mut().expect("there is always a word").push(c),
            }
        }
        words.retain(|word| !word.is_empty());
        words
    }
}
