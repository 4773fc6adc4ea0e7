//! `signaller completions`: a script that teaches a shell this program's arguments.

use crate::Cli;
use crate::output::{Answer, Outcome};
use clap::{Args, CommandFactory};
use clap_complete::Shell;

/// Print a completion script for a shell
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  signaller completions bash > ~/.local/share/bash-completion/completions/signaller\n  signaller completions zsh > ~/.zfunc/_signaller"
)]
pub struct CompletionsArgs {
    /// Which shell it is for
    shell: Shell,
}

pub fn run(args: CompletionsArgs, json: bool) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "signaller", &mut script);
    let script = String::from_utf8_lossy(&script).into_owned();
    let result = serde_json::json!({"shell": args.shell.to_string(), "script": script});
    Ok(Answer { verbatim: !json, ..Answer::new(&result, script) })
}
