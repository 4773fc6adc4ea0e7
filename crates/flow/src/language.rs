//! The language of expressions as definitions are checked with it.

use crate::context::{Context, Demand, ExprProblem, Expressions};
use crate::expr::{Expr, Names, Problem, Reads, Root, Template};
use crate::registry::EVENT_KEYS;
use crate::wide;
use kernel::ir::{self, Form};

/// CEL, and templates with CEL in them.
pub struct Language;

impl Expressions for Language {
    fn check(&self, source: &str, form: Form, context: &Context<'_>) -> Result<ir::Reads, Vec<ExprProblem>> {
        let named = context.names;
        let roots = [
            (named.input, &[Root::Input][..]),
            (named.output, &[Root::Output]),
            (named.item, &[Root::Item, Root::Index]),
            (named.last, &[Root::Iteration, Root::Last]),
            (named.run, &[Root::Run]),
            (named.event, &[Root::Event]),
        ];
        let there = roots.into_iter().filter(|(there, _)| *there).flat_map(|(_, roots)| roots.iter().copied());
        let names = Names::new(there).with_nodes(context.nodes).with_event(&EVENT_KEYS);
        match form {
            Form::Cel => Expr::compile_for(source, &names, context.wants).map(|expr| reads(expr.reads(), context)),
            Form::Template => {
                let json = wide::read(source).expect("a definition's template is JSON");
                Template::compile(&json, &names).map(|template| reads(template.reads(), context))
            }
        }
        .map_err(|problems| problems.into_iter().map(told).collect())
    }

    fn demand(&self, source: &str) -> Option<Demand> {
        Expr::demand(source)
    }
}

fn told(problem: Problem) -> ExprProblem {
    let Problem { path, offset, message, suggestion } = problem;
    ExprProblem { path, offset, message, suggestion }
}

fn reads(found: &Reads, context: &Context<'_>) -> ir::Reads {
    let has = |root: Root| found.roots.contains(&root);
    let mut nodes: Vec<ir::NodeIx> = found.nodes.iter().filter_map(|(id, _)| context.node(id).ok()).collect();
    nodes.sort_unstable();
    nodes.dedup();
    ir::Reads {
        input: has(Root::Input),
        output: has(Root::Output),
        item: has(Root::Item) || has(Root::Index),
        last: has(Root::Last) || has(Root::Iteration),
        run: has(Root::Run),
        event: has(Root::Event),
        nodes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn the_examples_compile_in_the_real_language() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/workflows");
        let mut expressions = 0;
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let text = std::fs::read(&path).unwrap();
            let compiled = crate::compile_all(&text, &Language).unwrap_or_else(|problems| {
                panic!("{}", problems.iter().map(|problem| problem.shown(&path.display().to_string())).collect::<String>())
            });
            expressions += compiled.iter().map(|one| one.ir.exprs.len()).sum::<usize>();
        }
        assert!(expressions > 20, "{expressions}");
    }

    #[test]
    fn a_mistake_in_an_expression_is_told_with_its_place() {
        let text = "workflow: w\nversion: 1\nnodes:\n  classify: {type: classifier}\n  pay:\n    type: http\n    after: classify\n    when: nodes.clasify.output.ok\n";
        let problems = crate::compile(text.as_bytes(), &Language).unwrap_err();
        let shown: Vec<String> = problems.iter().map(|problem| problem.shown("refund.yaml")).collect();
        assert_eq!(shown.len(), 1, "{shown:?}");
        assert!(shown[0].starts_with("refund.yaml:8:"), "{}", shown[0]);
        assert!(shown[0].contains("no node `clasify`") && shown[0].contains("did you mean `classify`?"), "{}", shown[0]);
    }
}
