//! Where a picture goes: to a file, to whoever reads stdout, never unasked onto a terminal.

use crate::output::{Answer, Failure, Outcome};
use clap::Args;
use serde_json::json;
use std::io::IsTerminal;

#[derive(Args, Debug)]
pub struct SvgArgs {
    /// As SVG, for a browser or a page
    #[arg(long)]
    pub svg: bool,
    /// Write the SVG into this file; - for stdout, also on a terminal
    #[arg(short, long, value_name = "FILE", requires = "svg")]
    pub output: Option<String>,
}

impl SvgArgs {
    /// Before anything is asked for: a page of markup is not for a terminal.
    pub fn check(&self, json: bool) -> Result<(), Failure> {
        if self.svg && self.output.is_none() && !json && std::io::stdout().is_terminal() {
            let message = "an SVG is not for a terminal";
            return Err(Failure::usage(message).fix("name a file with -o FILE, or -o - to have it here all the same"));
        }
        Ok(())
    }

    /// `what` names it in JSON.
    pub fn deliver(&self, what: &str, svg: String, json: bool) -> Outcome {
        match self.output.as_deref().filter(|file| *file != "-") {
            None => Ok(Answer { verbatim: !json, ..Answer::new(&json!({what: svg}), svg) }),
            Some(file) => {
                let wrong = |error| {
                    Failure::usage(format!("`{file}` cannot be written: {error}")).fix("name a file in a folder that is there")
                };
                std::fs::write(file, &svg).map_err(wrong)?;
                Ok(Answer::new(&json!({"file": file, "bytes": svg.len()}), format!("Wrote {file}.")))
            }
        }
    }
}
