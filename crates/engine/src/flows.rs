//! The kernel's questions to workflows, answered with `flow` over the values at hand. What is not at hand is fetched off the
//! writer.

use crate::revision::Revision;
use crate::values::{Found, Values};
use flow::Language;
use flow::evaluate::{self, Programs};
use flow::expr::Budget;
use kernel::eval::{Evaluated, Flow, Scope, Shape};
use kernel::ids::RecordSeq;
use kernel::ir::{ExprIx, Ir};
use kernel::limits::{COMPILED_TEXTS_BYTES_MAX, FETCHED_BYTES_MAX};
use kernel::names::WorkflowName;
use kernel::record::{Failure, Payload};
use kernel::run::ValueAt;
use kernel::workflow::Workflow;
use rustc_hash::FxHashMap;
use serde_json::Value;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard};

/// Workflows that were compiled. What is compiled takes many times the room of its text, so there is a bound by that; beyond
/// it the shelf is cleared, and what is needed is compiled again.
struct Shelf<K> {
    programs: FxHashMap<K, Arc<Programs>>,
    texts_bytes: usize,
}

impl<K> Default for Shelf<K> {
    fn default() -> Shelf<K> {
        Shelf { programs: FxHashMap::default(), texts_bytes: 0 }
    }
}

impl<K: Eq + Hash> Shelf<K> {
    fn put(&mut self, key: K, programs: Arc<Programs>) {
        let text_bytes = text_bytes(programs.ir());
        if self.texts_bytes + text_bytes > COMPILED_TEXTS_BYTES_MAX {
            *self = Shelf::default();
        }
        if self.programs.insert(key, programs).is_none() {
            self.texts_bytes += text_bytes;
        }
    }
}

/// A version of a workflow, or a text of a run of it, by its digest.
type Title = (WorkflowName, u32, Option<u128>);

/// For the writer and for those who deliver.
#[derive(Default)]
pub struct Library {
    shelf: Mutex<Shelf<Title>>,
}

impl Library {
    pub fn find(&self, name: &WorkflowName, version: u32, revised: Option<u128>) -> Option<Arc<Programs>> {
        self.shelf().programs.get(&(name.clone(), version, revised)).cloned()
    }

    fn shelf(&self) -> MutexGuard<'_, Shelf<Title>> {
        self.shelf.lock().expect("no holder of the library panics")
    }

    fn forget(&self) {
        *self.shelf() = Shelf::default();
    }

    fn put(&self, programs: &Arc<Programs>) {
        let ir = programs.ir();
        self.shelf().put((ir.workflow.clone(), ir.version, ir.revised), programs.clone());
    }

    pub fn compile(&self, workflow: &Workflow) -> Result<Arc<Programs>, String> {
        self.made_of(workflow.name(), workflow.version(), workflow.text(), None)
    }

    /// A text that a run of this version follows.
    pub fn compile_revision(&self, name: &WorkflowName, version: u32, text: &str) -> Result<Arc<Programs>, String> {
        self.made_of(name, version, text, Some(Revision::digest(text)))
    }

    /// The same of one that was compiled already.
    pub fn shelve_revision(&self, name: &WorkflowName, version: u32, text: &str, ir: Ir) -> Arc<Ir> {
        let revised = Some(Revision::digest(text));
        if let Some(programs) = self.find(name, version, revised) {
            return programs.ir().clone();
        }
        let programs = Arc::new(Programs::new(Arc::new(Ir { workflow: name.clone(), version, revised, ..ir })));
        self.put(&programs);
        programs.ir().clone()
    }

    fn made_of(&self, name: &WorkflowName, version: u32, text: &str, revised: Option<u128>) -> Result<Arc<Programs>, String> {
        if let Some(programs) = self.find(name, version, revised) {
            return Ok(programs);
        }
        let compiled = flow::compile(text.as_bytes(), &Language).map_err(|problems| {
            let first = problems.first().map_or(String::new(), |problem| format!(": {problem}"));
            let what = if revised.is_some() { "a changed text of " } else { "" };
            format!("{what}version {version} of workflow `{name}` does not compile any more{first}")
        })?;
        let ir = Ir { workflow: name.clone(), version, revised, ..compiled.ir };
        let programs = Arc::new(Programs::new(Arc::new(ir)));
        self.put(&programs);
        Ok(programs)
    }
}

/// About as many bytes as the text has that it was made of.
fn text_bytes(ir: &Ir) -> usize {
    let exprs: usize = ir.exprs.iter().map(|expr| expr.source.len()).sum();
    64 * ir.nodes.len() + exprs + ir.input_schema.as_deref().map_or(0, str::len)
}

pub struct Flows {
    pub library: Arc<Library>,
    pub values: Arc<Values>,
    /// By where the IR lies; each keeps its own, so no other can come to lie there.
    by_ir: Shelf<usize>,
    /// What was asked since this was asked for.
    spent: u64,
}

impl Flows {
    pub fn new(library: Arc<Library>, values: Arc<Values>) -> Flows {
        Flows { library, values, by_ir: Shelf::default(), spent: 0 }
    }

    /// What was kept may never have become true.
    pub fn forget(&mut self) {
        self.library.forget();
        self.values.forget();
        self.by_ir = Shelf::default();
    }

    pub fn compile_revision(&mut self, name: &WorkflowName, version: u32, text: &str) -> Result<Arc<Ir>, String> {
        let programs = self.library.compile_revision(name, version, text)?;
        self.shelve(&programs);
        Ok(programs.ir().clone())
    }

    fn programs(&mut self, ir: &Arc<Ir>) -> Arc<Programs> {
        if let Some(programs) = self.by_ir.programs.get(&(Arc::as_ptr(ir) as usize)) {
            return programs.clone();
        }
        // One that was compiled elsewhere has its programs there.
        let known = self.library.find(&ir.workflow, ir.version, ir.revised).filter(|known| Arc::ptr_eq(known.ir(), ir));
        let programs = known.unwrap_or_else(|| {
            let programs = Arc::new(Programs::new(ir.clone()));
            self.library.put(&programs);
            programs
        });
        self.shelve(&programs);
        programs
    }

    fn shelve(&mut self, programs: &Arc<Programs>) {
        self.by_ir.put(Arc::as_ptr(programs.ir()) as usize, programs.clone());
    }

    fn asking(&mut self) -> Asking<'_> {
        Asking { values: &self.values, unfit: None }
    }
}

/// Values for one question.
struct Asking<'a> {
    values: &'a Values,
    /// Why there is no answer.
    unfit: Option<Failure>,
}

impl evaluate::Values for Asking<'_> {
    fn value(&mut self, seq: RecordSeq) -> Option<Arc<Value>> {
        match self.values.value(seq) {
            Found::Value(value) => return Some(value),
            Found::Lost => self.unfit = Some(lost(seq)),
            Found::TooMuch => self.unfit = Some(too_much()),
            Found::Missing => {}
        }
        None
    }

    fn text(&mut self, seq: RecordSeq) -> Option<Payload> {
        self.values.text(seq)
    }
}

impl Asking<'_> {
    fn answered(self, evaluated: Evaluated) -> Evaluated {
        match (evaluated, self.unfit) {
            (Evaluated::Missing(_), Some(failure)) => Evaluated::Failed(failure),
            (evaluated, _) => evaluated,
        }
    }
}

pub fn lost(seq: RecordSeq) -> Failure {
    let message = format!("the value of record {} cannot be read any more: it is gone or damaged", seq.0);
    Failure { code: "value_lost".into(), message }
}

/// One who reads so much at once would take the memory of all.
pub fn too_much() -> Failure {
    let message = format!("the values that it reads weigh more than {FETCHED_BYTES_MAX} bytes in all");
    Failure { code: "values_too_large".into(), message }
}

impl Flow for Flows {
    fn keep(&mut self, seq: RecordSeq, payload: &Payload) {
        self.values.keep(seq, payload);
    }

    fn compile(&mut self, workflow: &Workflow) -> Result<Arc<Ir>, String> {
        let programs = self.library.compile(workflow)?;
        self.shelve(&programs);
        Ok(programs.ir().clone())
    }

    fn eval(&mut self, ir: &Arc<Ir>, expr: ExprIx, scope: &Scope) -> Evaluated {
        let programs = self.programs(ir);
        let mut asking = self.asking();
        let mut budget = Budget::default();
        let evaluated = evaluate::eval_within(&programs, expr, scope, &mut asking, &mut budget);
        let evaluated = asking.answered(evaluated);
        self.spent += budget.cost_spent();
        evaluated
    }

    fn misfit(&mut self, ir: &Arc<Ir>, input: &Payload) -> Option<Failure> {
        let (misfit, cost) = self.programs(ir).misfit(input);
        self.spent += cost;
        misfit
    }

    fn gather(&mut self, shape: &Shape) -> Evaluated {
        let mut asking = self.asking();
        let evaluated = evaluate::gather(shape, &mut asking);
        let evaluated = asking.answered(evaluated);
        self.spent += evaluate::cost_of(&evaluated);
        evaluated
    }

    fn list(&mut self, items: &[ValueAt]) -> Evaluated {
        let mut asking = self.asking();
        let evaluated = evaluate::list(items, &mut asking);
        let evaluated = asking.answered(evaluated);
        self.spent += evaluate::cost_of(&evaluated);
        evaluated
    }

    fn spent(&mut self) -> u64 {
        std::mem::take(&mut self.spent)
    }
}
