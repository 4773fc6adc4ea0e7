//! The values of a run's records, and flow's evaluator over them. Values are not always at hand: one that is missing is
//! fetched, and is there when it is asked for again.

use crate::chance::Chance;
use flow::evaluate::{self, Programs, Values};
use kernel::eval::{Evaluated, Flow, Recipe, Scope, Shape};
use kernel::ids::RecordSeq;
use kernel::ir::{ExprIx, Ir};
use kernel::names::WorkflowName;
use kernel::record::Payload;
use kernel::run::ValueAt;
use kernel::workflow::Workflow;
use serde_json::Value as Json;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

pub struct Book {
    programs: BTreeMap<(WorkflowName, u32, Option<u128>), Arc<Programs>>,
    shelf: Shelf,
    spent: u64,
    dearer: u64,
}

struct Shelf {
    values: BTreeMap<RecordSeq, Arc<Json>>,
    at_hand: BTreeSet<RecordSeq>,
    missing_percent: u64,
    missed: usize,
    chance: Chance,
}

impl Values for Shelf {
    fn value(&mut self, seq: RecordSeq) -> Option<Arc<Json>> {
        let value = self.values.get(&seq).unwrap_or_else(|| panic!("record {} holds no value", seq.0));
        if self.at_hand.insert(seq) && self.chance.percent(self.missing_percent) {
            self.missed += 1;
            return None;
        }
        Some(value.clone())
    }
}

impl Book {
    /// `dearer`: how many times what it costs an answer counts.
    pub fn new(irs: &[Arc<Ir>], missing_percent: u64, dearer: u64, seed: u64) -> Book {
        let program = |ir: &Arc<Ir>| ((ir.workflow.clone(), ir.version, ir.revised), Arc::new(Programs::new(ir.clone())));
        let (values, at_hand) = (BTreeMap::new(), BTreeSet::new());
        let shelf = Shelf { values, at_hand, missing_percent, missed: 0, chance: Chance::new(seed) };
        Book { programs: irs.iter().map(program).collect(), shelf, spent: 0, dearer }
    }

    pub fn forget(&mut self) {
        self.shelf.at_hand.clear();
    }

    pub fn missed(&self) -> usize {
        self.shelf.missed
    }

    pub fn value(&self, at: ValueAt) -> Json {
        match at {
            ValueAt::Null => Json::Null,
            ValueAt::Own => panic!("what a record holds itself is found by its number"),
            ValueAt::Record(seq) => (*self.shelf.values[&seq]).clone(),
            ValueAt::Item(seq, index) => self.shelf.values[&seq][index as usize].clone(),
        }
    }

    pub fn whole(&self, shape: &Shape) -> Json {
        match shape {
            Shape::At(value) => self.value(*value),
            Shape::Object(parts) => parts.iter().map(|(id, part)| (id.to_string(), self.whole(part))).collect(),
        }
    }

    pub fn programs(&mut self, ir: &Arc<Ir>) -> Arc<Programs> {
        let title = (ir.workflow.clone(), ir.version, ir.revised);
        self.programs.entry(title).or_insert_with(|| Arc::new(Programs::new(ir.clone()))).clone()
    }

    /// What a worker is given; whatever is missing is fetched.
    pub fn input(&mut self, recipe: &Recipe) -> Result<Json, kernel::record::Failure> {
        let programs = self.programs[&(recipe.workflow.clone(), recipe.version, recipe.text.map(|text| text.digest))].clone();
        loop {
            match evaluate::resolve(&programs, recipe, &mut self.shelf).0 {
                Evaluated::Missing(_) => {}
                Evaluated::Failed(failure) => return Err(failure),
                Evaluated::Value(json) => return Ok(serde_json::from_str(json.payload.text()).expect("a payload is JSON")),
            }
        }
    }
}

/// From the text that was put.
pub fn compile(workflow: &Workflow) -> Result<Arc<Ir>, String> {
    let compiled = flow::compile(workflow.text().as_bytes(), &flow::Language);
    compiled.map(|compiled| Arc::new(compiled.ir)).map_err(|problems| problems[0].to_string())
}

/// From a text that a run follows.
pub fn revised(version: u32, payload: &Payload) -> Arc<Ir> {
    let text: Json = serde_json::from_str(payload.text()).expect("a payload is JSON");
    let text = text["text"].as_str().expect("it has a text");
    let compiled = flow::compile(text.as_bytes(), &flow::Language).unwrap_or_else(|problems| panic!("{}", problems[0]));
    let digest = u128::from(crate::chance::hash(0, text));
    Arc::new(Ir { version, revised: Some(digest), ..compiled.ir })
}

impl Flow for Book {
    fn keep(&mut self, seq: RecordSeq, payload: &Payload) {
        self.shelf.values.insert(seq, Arc::new(serde_json::from_str(payload.text()).expect("a payload is JSON")));
    }

    fn compile(&mut self, workflow: &Workflow) -> Result<Arc<Ir>, String> {
        compile(workflow)
    }

    fn eval(&mut self, ir: &Arc<Ir>, expr: ExprIx, scope: &Scope) -> Evaluated {
        let programs = self.programs(ir);
        let mut budget = flow::expr::Budget::default();
        let evaluated = evaluate::eval_within(&programs, expr, scope, &mut self.shelf, &mut budget);
        // As dear as if it were worked out over thousands of elements.
        self.spent += budget.cost_spent() * self.dearer;
        evaluated
    }

    fn misfit(&mut self, ir: &Arc<Ir>, input: &Payload) -> Option<kernel::record::Failure> {
        self.programs(ir).misfit(input).0
    }

    fn gather(&mut self, shape: &Shape) -> Evaluated {
        evaluate::gather(shape, &mut self.shelf)
    }

    fn list(&mut self, items: &[ValueAt]) -> Evaluated {
        evaluate::list(items, &mut self.shelf)
    }

    fn spent(&mut self) -> u64 {
        std::mem::take(&mut self.spent)
    }
}
