//! An expression that says which runs are meant: `workflow == "refund" && status == "failed"`. It sees one run's row and nothing
//! else, so that a million of them can be looked at. Each name has the same type for every run, so that an expression which
//! fits one fits all: what is not there is an empty text.

use super::limits::*;
use super::names::{Names, Root};
use super::node::{Binary, Form, Literal, Node};
use super::{Bindings, Budget, EvalError, Expr, Problem};
use crate::instant;
use kernel::names::WorkflowName;
use kernel::run::{Run, RunStatus};
use kernel::time::Time;
use serde_json::json;

/// What a filter can read of a run.
pub const RUN_FILTER_KEYS: [&str; 13] = [
    "id",
    "workflow",
    "version",
    "status",
    "paused",
    "tags",
    "started_at",
    "ended_at",
    "age",
    "error",
    "called",
    "parent",
    "idempotency_key",
];

#[derive(Debug)]
pub struct RunFilter {
    expr: Expr,
    /// What must be so, whatever else is: to be asked of the store, so that not all runs are looked at.
    workflow: Option<WorkflowName>,
    status: Option<RunStatus>,
    reads_called: bool,
    /// It asks for a workflow or a status that no run can have.
    never: bool,
}

impl RunFilter {
    pub fn compile(text: &str) -> Result<RunFilter, Vec<Problem>> {
        if text.trim().is_empty() {
            let empty = Problem::new(0, "the filter is empty").suggest("write `true` if all runs are meant".to_owned());
            return Err(vec![empty]);
        }
        let expr = Expr::compile_flag(text, &Names::of_run(&RUN_FILTER_KEYS))?;
        let mut filter = RunFilter { expr, workflow: None, status: None, reads_called: false, never: false };
        let (mut equal, mut keys) = (Vec::new(), Vec::new());
        required(&filter.expr.node, &mut equal);
        read(&filter.expr.node, Root::Run, &mut keys);
        filter.reads_called = keys.iter().any(|key| key.is_none_or(|key| matches!(key, "called" | "parent")));
        let mut problems = Vec::new();
        for (key, text, at) in equal {
            match key {
                "workflow" => match WorkflowName::parse(text) {
                    Ok(name) => filter.never |= filter.workflow.replace(name.clone()).is_some_and(|other| other != name),
                    Err(_) => filter.never = true,
                },
                "status" => match RunStatus::parse(text) {
                    Some(status) => filter.never |= filter.status.replace(status).is_some_and(|other| other != status),
                    None => {
                        let known = RunStatus::ALL.map(RunStatus::as_str);
                        let problem = Problem::new(at, format!("no run has the status `{}`", crate::source::short(text)));
                        let meant = crate::problem::did_you_mean(text, known);
                        problems.push(problem.suggest(meant.or_else(|| Some(format!("one of {}", known.join(", "))))));
                    }
                },
                _ => {}
            }
        }
        if problems.is_empty() { Ok(filter) } else { Err(problems) }
    }

    pub fn source(&self) -> &str {
        self.expr.source()
    }

    /// Every run that is meant is of this workflow.
    pub fn workflow(&self) -> Option<&WorkflowName> {
        self.workflow.as_ref()
    }

    pub fn status(&self) -> Option<RunStatus> {
        self.status
    }

    /// Whether it may mean runs that others called. They are left out unless it asks for that: they live with their callers.
    pub fn reads_called(&self) -> bool {
        self.reads_called
    }

    /// No run can be meant.
    pub fn is_never(&self) -> bool {
        self.never
    }

    pub fn matches(&self, run: &Run, now: Time) -> Result<bool, EvalError> {
        let spec = run.spec();
        let instant = |at: Option<Time>| at.map(|at| instant::show(at.us())).unwrap_or_default();
        let error = run.failure().map_or(("", ""), |failure| (&failure.code, &failure.message));
        let shown = json!({
            "id": run.id().to_string(),
            "workflow": spec.workflow.as_str(),
            "version": spec.version,
            "status": run.status().as_str(),
            "paused": run.is_paused(),
            "tags": spec.tags.iter().map(|tag| tag.as_str()).collect::<Vec<_>>(),
            "started_at": instant(Some(run.started_at())),
            "ended_at": instant(run.ended_at()),
            "age": now.ms_since(run.started_at()) / 1_000,
            "error": {"code": error.0, "message": error.1},
            "called": spec.parent.is_some(),
            "parent": spec.parent.as_ref().map(|at| at.run.to_string()).unwrap_or_default(),
            "idempotency_key": spec.idempotency_key.as_ref().map_or("", |key| key.as_str()),
        });
        let scope = Bindings::new().bind(Root::Run, &shown);
        self.expr.eval_flag(&scope, &mut Budget::new(FILTER_COST_MAX, FILTER_BUILT_BYTES_MAX))
    }
}

/// Which of a run's keys are compared with a text, where nothing else can be true.
fn required<'n>(node: &'n Node, equal: &mut Vec<(&'n str, &'n str, usize)>) {
    let Form::Binary(binary, sides) = &node.form else { return };
    match binary {
        Binary::And => sides.iter().for_each(|side| required(side, equal)),
        Binary::Equal => {
            for [key, text] in [[&sides[0], &sides[1]], [&sides[1], &sides[0]]] {
                if let (Some(key), Form::Literal(Literal::Text(literal))) = (key_of_run(key), &text.form) {
                    equal.push((key, literal, text.at as usize));
                }
            }
        }
        _ => {}
    }
}

fn key_of_run(node: &Node) -> Option<&str> {
    key_of(node, Root::Run)
}

/// `root.key`, however it is written.
fn key_of(node: &Node, root: Root) -> Option<&str> {
    let (of, key) = keyed(node)?;
    matches!(of.form, Form::Root(found) if found == root).then_some(key)
}

/// `of.key`, `of["key"]` or `has(of.key)`.
fn keyed(node: &Node) -> Option<(&Node, &str)> {
    match &node.form {
        Form::Select(of, key) | Form::Has(of, key) => Some((of, key)),
        Form::Binary(Binary::Index, sides) => match &sides[1].form {
            Form::Literal(Literal::Text(key)) => Some((&sides[0], key)),
            _ => None,
        },
        _ => None,
    }
}

/// The keys of a root that are read; `None`: all of it is.
pub(super) fn read<'n>(node: &'n Node, root: Root, keys: &mut Vec<Option<&'n str>>) {
    match key_of(node, root) {
        Some(key) => keys.push(Some(key)),
        None if matches!(node.form, Form::Root(found) if found == root) => keys.push(None),
        None => each_part(node, &mut |part| read(part, root, keys)),
    }
}

/// The keys that are read of one key of a root; `None`: all of it is.
pub(super) fn read_below<'n>(node: &'n Node, root: Root, key: &str, keys: &mut Vec<Option<&'n str>>) {
    let is_it = |node: &Node| key_of(node, root) == Some(key) && !matches!(node.form, Form::Has(..));
    match keyed(node) {
        Some((of, below)) if is_it(of) => keys.push(Some(below)),
        _ if key_of(node, root) == Some(key) || matches!(node.form, Form::Root(found) if found == root) => keys.push(None),
        // Another key of the root.
        _ if key_of(node, root).is_some() => {}
        _ => each_part(node, &mut |part| read_below(part, root, key, keys)),
    }
}

fn each_part<'n>(node: &'n Node, see: &mut dyn FnMut(&'n Node)) {
    match &node.form {
        Form::Root(_) | Form::Literal(_) | Form::NodeField(..) | Form::HasNodeField(..) | Form::Variable(_) => {}
        Form::Select(of, _) | Form::Has(of, _) | Form::Unary(_, of) | Form::Matches(of, _) => see(of),
        Form::Binary(_, sides) => sides.iter().for_each(see),
        Form::Conditional(parts) => parts.iter().for_each(see),
        Form::List(list) | Form::Call(_, list) => list.iter().for_each(see),
        Form::Map(map) => map.iter().for_each(|(key, value)| {
            see(key);
            see(value);
        }),
        Form::Fold(fold) => {
            [Some(&fold.over), fold.keep.as_ref(), Some(&fold.body)].into_iter().flatten().for_each(see);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kernel::ids::{RecordSeq, RunId};
    use kernel::names::{Actor, IdempotencyKey, NodeId, Tag};
    use kernel::record::{Entry, Failure, Owner, Record};
    use kernel::run::{NodeAt, RunSpec};

    fn folded(spec: RunSpec, records: Vec<Record>) -> Run {
        let id = RunId::new(7, 0);
        let started = Record::RunStarted { spec: Box::new(spec), by: Actor::parse("ann").expect("a name") };
        let mut run = None;
        for (at, record) in [started].into_iter().chain(records).enumerate() {
            let seq = RecordSeq(at as u64 + 1);
            let at = Time::from_ms(1_000_000 * (at as i64 + 1));
            run = Run::fold(run, id, &Entry { seq, prev: RecordSeq::NONE, at, owner: Owner::Run(id), record, payload: None });
        }
        run.expect("it is there")
    }

    fn refund() -> RunSpec {
        let spec = RunSpec::new(WorkflowName::parse("refund").expect("a name"), 3);
        let tags = vec![Tag::parse("eu").expect("a tag")];
        RunSpec { tags, idempotency_key: Some(IdempotencyKey::parse("k1").expect("a key")), ..spec }
    }

    fn failed() -> Run {
        let failure = Failure { code: "exit_1".into(), message: "no money".into() };
        folded(refund(), vec![Record::RunFailed { failure, node: None, closed: true }])
    }

    fn called() -> Run {
        let parent = NodeAt { run: RunId::new(5, 0), frame: Default::default(), node: NodeId::parse("sub").expect("an id") };
        let paused = Record::RunPaused { reason: String::new(), by: Actor::parse("ann").expect("a name"), told: true };
        folded(RunSpec { parent: Some(parent), idempotency_key: None, tags: Vec::new(), ..refund() }, vec![paused])
    }

    #[test]
    fn a_filter_sees_what_a_run_is() {
        let (failed, called) = (failed(), called());
        let now = Time::from_ms(5_000_000);
        for (text, of_failed, of_called) in [
            ("true", true, true),
            (r#"workflow == "refund" && status == "failed""#, true, false),
            (r#"run.workflow == "refund" && run.status != "failed""#, false, true),
            ("version > 2 && version < 4", true, true),
            ("paused", false, true),
            (r#""eu" in tags"#, true, false),
            ("tags.exists(tag, tag.startsWith('e'))", true, false),
            (r#"started_at == "1970-01-01T00:16:40.000000Z""#, true, true),
            (r#"ended_at < "1970-01-02" && ended_at > "1970-01-01""#, true, false),
            (r#"ended_at == """#, false, true),
            ("age == 4000", true, true),
            ("age > 3600 * 2", false, false),
            (r#"error.code == "exit_1""#, true, false),
            (r#"error.message.contains("money")"#, true, false),
            (r#"error.code == """#, false, true),
            ("called", false, true),
            (r#"parent == "run-5""#, false, true),
            (r#"idempotency_key == "k1""#, true, false),
            (r#"id == "run-7" && run["id"] == id"#, true, true),
            ("has(run.error)", true, true),
        ] {
            let filter = RunFilter::compile(text).unwrap_or_else(|problems| panic!("{text}: {problems:?}"));
            let matches = |run| filter.matches(run, now).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((matches(&failed), matches(&called)), (of_failed, of_called), "{text}");
        }
    }

    #[test]
    fn what_is_required_is_asked_of_the_store() {
        let asked = |text: &str| {
            let filter = RunFilter::compile(text).expect(text);
            let status = filter.status().map_or("-", RunStatus::as_str);
            let flags = [(filter.reads_called(), "called"), (filter.is_never(), "never")];
            let flags: Vec<&str> = flags.into_iter().filter(|(flag, _)| *flag).map(|(_, name)| name).collect();
            format!("{} {status} {}", filter.workflow().map_or("-", |name| name.as_str()), flags.join(" ")).trim().to_owned()
        };
        for (text, expected) in [
            (r#"workflow == "refund" && status == "failed""#, "refund failed"),
            (r#""failed" == run.status && (age > 5 && "refund" == run["workflow"])"#, "refund failed"),
            (r#"workflow == "refund" || status == "failed""#, "- -"),
            (r#"!(workflow == "refund")"#, "- -"),
            (r#"workflow != "refund" && status in ["failed"]"#, "- -"),
            (r#"workflow == "a" && workflow == "b""#, "b - never"),
            (r#"status == "failed" && status == "done""#, "- done never"),
            (r#"workflow == "no name""#, "- - never"),
            (r#"workflow == "refund" && called"#, "refund - called"),
            (r#"parent == "run-5" || false"#, "- - called"),
            ("size(run) > 0", "- - called"),
            (r#"(status == "failed") == true"#, "- -"),
        ] {
            assert_eq!(asked(text), expected, "{text}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_filter_is_told_with_its_place() {
        for (text, expected) in [
            ("", "the filter is empty (at 0); write `true` if all runs are meant"),
            (r#"wokflow == "refund""#, "there is no name `wokflow` (at 0); did you mean `workflow`?"),
            (r#"status == "faild""#, "no run has the status `faild` (at 10); did you mean `failed`?"),
            (r#"status == "broken""#, "no run has the status `broken` (at 10); one of running, done, failed, cancelled"),
            ("workflow", "a condition must be true or false; this gives a string (at 0); compare it with something"),
            (
                "input.amount > 5",
                "`input` is not known here (at 0); known are `id`, `workflow`, `version`, `status`, `paused`, `tags`, `started_at`, `ended_at`, \
                 `age`, `error`, `called`, `parent`, `idempotency_key`",
            ),
            (
                "run.stauts == 'x'",
                "`run` has `id`, `workflow`, `version`, `status`, `paused`, `tags`, `started_at`, `ended_at`, `age`, `error`, \
                 `called`, `parent` and `idempotency_key`, but no `stauts` (at 3); did you mean `status`?",
            ),
        ] {
            let problems = RunFilter::compile(text).expect_err(text);
            assert_eq!(problems[0].to_string(), expected, "{text}");
        }
    }

    #[test]
    fn a_filter_that_does_not_fit_says_so() {
        let filter = RunFilter::compile("age > workflow").expect("only its values tell");
        let error = filter.matches(&failed(), Time::from_ms(5_000_000)).expect_err("a number and a text");
        assert!(error.to_string().contains("run.workflow"), "{error}");
    }
}
