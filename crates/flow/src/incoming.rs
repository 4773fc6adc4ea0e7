//! Definitions as they come in: a text with one or more of them, each checked and cut out so that it stands alone. The
//! server and the command line read them here, so that both say the same of the same text.

use crate::define::Kind;
use crate::input::InputSchema;
use crate::problem::{At, Path, Problems};
use crate::{Compiled, Language, Problem};
use kernel::names::WorkflowName;

/// One definition with the text that compiles to it.
#[derive(Clone, Debug)]
pub struct Definition {
    pub text: String,
    pub compiled: Compiled,
    /// As it stands in the whole text it came in with.
    whole: crate::Definition,
}

/// Everything that is wrong is told at once, with its place in the whole text.
pub fn read(text: &[u8]) -> Result<Vec<Definition>, Vec<Problem>> {
    let compiled = crate::compile_all(text, &Language)?;
    let mut unusable = Problems::default();
    compiled.iter().filter_map(unusable_input).for_each(|problem| unusable.add(problem));
    for document in crate::source::parse_all(text).map_err(|problem| vec![problem])? {
        crate::built_in::check(&document, &mut unusable);
    }
    if !unusable.is_empty() {
        return Err(unusable.into_sorted());
    }
    let text = std::str::from_utf8(text).map_err(|_| vec![at_the_start("the text is not UTF-8")])?;
    if let [_] = compiled.as_slice() {
        let alone = |compiled: Compiled| Definition { text: text.to_owned(), whole: compiled.definition.clone(), compiled };
        return Ok(compiled.into_iter().map(alone).collect());
    }
    let parts = documents(text);
    if parts.len() != compiled.len() {
        let message = "its definitions cannot be told apart: put a line with nothing but --- between them";
        return Err(vec![at_the_start(message)]);
    }
    let alone = parts.into_iter().zip(compiled).map(|(part, whole)| {
        let compiled = crate::compile(part.as_bytes(), &Language)?;
        // What it is warned of stands in the whole text.
        let compiled = Compiled { warnings: whole.warnings, ..compiled };
        Ok(Definition { text: part, compiled, whole: whole.definition })
    });
    alone.collect()
}

/// A schema that no input can be held against is found out now, not at the first run.
fn unusable_input(compiled: &Compiled) -> Option<Problem> {
    let schema = compiled.ir.input_schema.as_deref()?;
    let why = InputSchema::new(schema).err()?;
    let written = compiled.definition.input.as_ref();
    let at = written.map_or_else(|| compiled.definition.workflow_at.clone(), |input| input.place(&why.pointer).clone());
    Some(Problem::new(&at, format!("the input of `{}` is no JSON Schema: {}", compiled.ir.workflow, why.message)))
}

impl Definition {
    /// The workflows that its nodes call, with their places in the whole text.
    pub fn calls(&self) -> Vec<(&WorkflowName, Option<u32>, &At)> {
        fn within<'a>(body: &'a crate::define::Body, found: &mut Vec<(&'a WorkflowName, Option<u32>, &'a At)>) {
            for node in &body.nodes {
                if let Kind::Workflow { workflow, version, .. } = &node.kind {
                    found.push((workflow, *version, &node.at));
                }
                node.kind.body().into_iter().for_each(|inner| within(inner, found));
            }
        }
        let mut found = Vec::new();
        within(&self.whole.body, &mut found);
        found
    }
}

fn at_the_start(message: &str) -> Problem {
    Problem::new(&At { line: 1, column: 1, path: Path::default() }, message)
}

/// The documents of a text. A line that begins with `---` or `...` ends one wherever it stands, also in the middle of a
/// text over several lines: YAML allows it nowhere else.
fn documents(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for line in text.split_inclusive('\n') {
        let (mark, rest) = line.split_at_checked(3).unwrap_or((line, ""));
        if matches!(mark, "---" | "...") && (rest.is_empty() || rest.starts_with(char::is_whitespace)) {
            parts.push(if rest.trim().is_empty() { String::new() } else { rest.to_owned() });
        } else {
            parts.last_mut().expect("there is always one").push_str(line);
        }
    }
    let says_something = |part: &String| {
        let mut lines = part.lines().map(str::trim);
        lines.any(|line| !line.is_empty() && !line.starts_with('#') && !line.starts_with('%'))
    };
    parts.retain(says_something);
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_into_definitions_that_stand_alone() {
        let one = "# first\nworkflow: a\nnodes:\n  x: {type: t}\n";
        let two =
            "workflow: b # second\nversion: 3\nnodes:\n  y:\n    type: t\n    with:\n      text: |\n        --- not a mark\n";
        for (text, names) in [
            (one.to_owned(), vec!["a"]),
            (format!("---\n{one}"), vec!["a"]),
            (format!("{one}---\n{two}"), vec!["a", "b"]),
            (format!("{one}--- # here\n{two}...\n"), vec!["a", "b"]),
            (format!("\n---\n{one}---\n# nothing\n---\n{two}---\n"), vec!["a", "b"]),
            (r#"{"workflow": "j", "nodes": {"x": {"type": "t"}}}"#.to_owned(), vec!["j"]),
        ] {
            let found = read(text.as_bytes()).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
            assert_eq!(found.iter().map(|one| one.compiled.ir.workflow.as_str()).collect::<Vec<_>>(), names, "{text}");
            for one in &found {
                assert_eq!(crate::compile(one.text.as_bytes(), &Language).unwrap().ir, one.compiled.ir, "{text}");
            }
        }
    }

    #[test]
    fn a_schema_that_no_input_can_be_held_against_is_told() {
        let text = "workflow: w\ninput: {type: object, properties: {a: {pattern: \"[\"}}}\nnodes:\n  x: {type: t}\n";
        let problems = read(text.as_bytes()).unwrap_err();
        assert!(problems[0].path.starts_with("input") && problems[0].message.contains("no JSON Schema"), "{problems:?}");
        // At its own place.
        let text = "workflow: w\ninput:\n  type: object\n  properties:\n    a: {minimum: x}\nnodes:\n  x: {type: t}\n";
        let problems = read(text.as_bytes()).unwrap_err();
        assert_eq!((problems[0].line, problems[0].path.as_str()), (5, "input.properties.a.minimum"), "{problems:?}");
    }
}
