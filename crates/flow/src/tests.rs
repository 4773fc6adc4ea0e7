//! The crate seen through its front door, `compile`: problems as tables, the examples as golden summaries, and properties.

mod at_once;
pub mod docs;
mod edge_list;
pub mod examples;
pub mod fake;
pub mod generated;
mod native;
mod promises;
pub mod soup;
mod speed;
mod summary;

use crate::{Compiled, compile};

pub fn compiled(text: &str) -> Compiled {
    match compile(text.as_bytes(), &fake::Fake) {
        Ok(compiled) => compiled,
        Err(problems) => {
            let shown: Vec<String> = problems.iter().map(|problem| problem.shown("test")).collect();
            panic!("{}\n{text}", shown.join("\n"))
        }
    }
}

/// Every problem of a text, as it is shown; several are separated by lines.
fn told(text: &str) -> String {
    match compile(text.as_bytes(), &fake::Fake) {
        Ok(_) => "no problem".to_owned(),
        Err(problems) => problems.iter().map(|problem| problem.to_string()).collect::<Vec<_>>().join("\n"),
    }
}

/// A table of texts and what is told about them.
fn check(cases: &[(&str, &str)]) {
    let mut wrong = Vec::new();
    for (text, expected) in cases {
        let found = told(text);
        if found != *expected {
            wrong.push(format!("for:\n{text}\nexpected:\n{expected}\ntold:\n{found}\n"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
