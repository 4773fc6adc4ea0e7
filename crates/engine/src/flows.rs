//! The kernel's questions to workflows, answered with `flow` over the values at hand. What is not at hand is fetched off the
//! writer.

use crate::values::{Found, Values};
use flow::Language;
use flow::evaluate::{self, Programs};
use kernel::eval::{Evaluated, Flow, Scope, Shape};
use kernel::ids::RecordSeq;
use kernel::ir::{ExprIx, Ir};
use kernel::limits::FETCHED_BYTES_MAX;
use kernel::names::WorkflowName;
use kernel::record::{Failure, Payload};
use kernel::run::ValueAt;
use kernel::workflow::Workflow;
use rustc_hash::FxHashMap;
use serde_json::Value;
use std::sync::{Arc, Mutex};

/// Workflows that were compiled, for the writer and for those who deliver.
#[derive(Default)]
pub struct Library {
    programs: Mutex<FxHashMap<(WorkflowName, u32), Arc<Programs>>>,
}

impl Library {
    pub fn find(&self, name: &WorkflowName, version: u32) -> Option<Arc<Programs>> {
        self.programs.lock().expect("no holder of the library panics").get(&(name.clone(), version)).cloned()
    }

    fn forget(&self) {
        self.programs.lock().expect("no holder of the library panics").clear();
    }

    fn put(&self, programs: &Arc<Programs>) {
        let ir = programs.ir();
        let mut all = self.programs.lock().expect("no holder of the library panics");
        all.insert((ir.workflow.clone(), ir.version), programs.clone());
    }

    pub fn compile(&self, workflow: &Workflow) -> Result<Arc<Programs>, String> {
        if let Some(programs) = self.find(workflow.name(), workflow.version()) {
            return Ok(programs);
        }
        let compiled = flow::compile(workflow.text().as_bytes(), &Language).map_err(|problems| {
            let first = problems.first().map_or(String::new(), |problem| format!(": {problem}"));
            format!("version {} of workflow `{}` does not compile any more{first}", workflow.version(), workflow.name())
        })?;
        let ir = Ir { version: workflow.version(), ..compiled.ir };
        let programs = Arc::new(Programs::new(Arc::new(ir)));
        self.put(&programs);
        Ok(programs)
    }
}

pub struct Flows {
    pub library: Arc<Library>,
    pub values: Arc<Values>,
    /// By where the IR lies; each keeps its own, so no other can come to lie there.
    by_ir: FxHashMap<usize, Arc<Programs>>,
}

impl Flows {
    pub fn new(library: Arc<Library>, values: Arc<Values>) -> Flows {
        Flows { library, values, by_ir: FxHashMap::default() }
    }

    /// What was kept may never have become true.
    pub fn forget(&mut self) {
        self.library.forget();
        self.values.forget();
        self.by_ir.clear();
    }

    fn programs(&mut self, ir: &Arc<Ir>) -> Arc<Programs> {
        let programs = self.by_ir.entry(Arc::as_ptr(ir) as usize).or_insert_with(|| {
            let programs = Arc::new(Programs::new(ir.clone()));
            self.library.put(&programs);
            programs
        });
        programs.clone()
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
        let ir = programs.ir().clone();
        self.by_ir.insert(Arc::as_ptr(&ir) as usize, programs);
        Ok(ir)
    }

    fn eval(&mut self, ir: &Arc<Ir>, expr: ExprIx, scope: &Scope) -> Evaluated {
        let programs = self.programs(ir);
        let mut asking = self.asking();
        let evaluated = evaluate::eval(&programs, expr, scope, &mut asking);
        asking.answered(evaluated)
    }

    fn misfit(&mut self, ir: &Arc<Ir>, input: &Payload) -> Option<Failure> {
        self.programs(ir).misfit(input)
    }

    fn gather(&mut self, shape: &Shape) -> Evaluated {
        let mut asking = self.asking();
        let evaluated = evaluate::gather(shape, &mut asking);
        asking.answered(evaluated)
    }

    fn list(&mut self, items: &[ValueAt]) -> Evaluated {
        let mut asking = self.asking();
        let evaluated = evaluate::list(items, &mut asking);
        asking.answered(evaluated)
    }
}
