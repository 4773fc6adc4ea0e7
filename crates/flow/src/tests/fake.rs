//! A language just good enough to test with: it finds names by looking at words, and knows no grammar.

use crate::{Context, ExprProblem, Expressions, Wants};
use kernel::ir::{Form, Reads};

pub struct Fake;

impl Expressions for Fake {
    fn check(&self, source: &str, form: Form, context: &Context<'_>) -> Result<Reads, Vec<ExprProblem>> {
        let mut reading = Reading { context, reads: Reads::default(), problems: Vec::new(), path: String::new() };
        match form {
            Form::Cel => {
                reading.words(source, 0);
                if context.wants == Wants::Truth && source.parse::<f64>().is_ok() {
                    reading.problem(0, format!("`{source}` is not true or false"), None);
                }
                if let Some(at) = source.find("syntax error") {
                    reading.problem(at, "this cannot be parsed".to_owned(), None);
                }
            }
            Form::Template => reading.template(&serde_json::from_str(source).expect("a template is JSON")),
        }
        reading.reads.nodes.sort_unstable();
        reading.reads.nodes.dedup();
        if reading.problems.is_empty() { Ok(reading.reads) } else { Err(reading.problems) }
    }
}

struct Reading<'a> {
    context: &'a Context<'a>,
    reads: Reads,
    problems: Vec<ExprProblem>,
    path: String,
}

impl Reading<'_> {
    fn problem(&mut self, offset: usize, message: String, suggestion: Option<String>) {
        self.problems.push(ExprProblem { path: self.path.clone(), offset, message, suggestion });
    }

    fn template(&mut self, value: &serde_json::Value) {
        let path = self.path.clone();
        match value {
            serde_json::Value::String(text) => {
                for (opening, closing) in [("${", "}"), ("$nodes.", " ")] {
                    let mut rest = 0;
                    while let Some(at) = text[rest..].find(opening) {
                        let start = rest + at + if closing == "}" { 2 } else { 1 };
                        let end = text[start..].find(closing).map_or(text.len(), |end| start + end);
                        self.words(&text[start..end], start);
                        rest = end;
                    }
                }
            }
            serde_json::Value::Array(values) => {
                for (at, value) in values.iter().enumerate() {
                    self.path = format!("{path}/{at}");
                    self.template(value);
                }
            }
            serde_json::Value::Object(entries) => {
                for (key, value) in entries {
                    self.path = format!("{path}/{}", key.replace('~', "~0").replace('/', "~1"));
                    self.template(value);
                }
            }
            _ => {}
        }
        self.path = path;
    }

    fn need(&mut self, there: bool, at: usize, name: &str) -> bool {
        if !there {
            self.problem(at, format!("`{name}` has no value here"), None);
        }
        true
    }

    fn words(&mut self, text: &str, offset: usize) {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let bound = text.contains("(item, ");
        let names = self.context.names;
        let mut at = 0;
        let mut quote = None;
        while at < text.len() {
            let rest = &text[at..];
            let next = rest.chars().next().expect("there is more");
            if quote.is_some() || matches!(next, '\'' | '"') {
                quote = match quote {
                    None => Some(next),
                    Some(open) if open == next => None,
                    open => open,
                };
                at += next.len_utf8();
                continue;
            }
            if !word(next) {
                at += next.len_utf8();
                continue;
            }
            let end = at + rest.find(|c| !word(c)).unwrap_or(rest.len());
            let here = offset + at;
            match &text[at..end] {
                _ if text[..at].ends_with('.') => {}
                "input" => self.reads.input = self.need(names.input, here, "input"),
                "output" => self.reads.output = self.need(names.output, here, "output"),
                "item" if bound => {}
                name @ ("item" | "index") => self.reads.item = self.need(names.item, here, name),
                name @ ("iteration" | "last") => self.reads.last = self.need(names.last, here, name),
                "run" => self.reads.run = self.need(names.run, here, "run"),
                "event" => self.reads.event = self.need(names.event, here, "event"),
                "nodes" => {
                    at = end + self.node(&text[end..], here);
                    continue;
                }
                _ => {}
            }
            at = end;
        }
    }

    /// `.id` or `["id"]`; how much of the text that was.
    fn node(&mut self, after: &str, here: usize) -> usize {
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let id = match after.strip_prefix("[\"") {
            Some(quoted) => quoted.split('"').next().unwrap_or_default(),
            None => after.strip_prefix('.').and_then(|id| id.split(|c| !word(c)).next()).unwrap_or_default(),
        };
        match self.context.node(id) {
            Ok(node) => self.reads.nodes.push(node),
            Err((message, suggestion)) => self.problem(here, message, suggestion),
        }
        after.find(id).unwrap_or(0) + id.len()
    }
}
