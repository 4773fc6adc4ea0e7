//! Inputs for the worker. A task's own input lies in its record; that of a run's task is worked out here, off the writer,
//! from values that never change.

use crate::flows::{Library, lost};
use crate::request::Delivery;
use crate::values::{Found, Values};
use flow::evaluate::{self, Programs};
use kernel::eval::{Evaluated, Recipe};
use kernel::ids::RecordSeq;
use kernel::record::{Failure, Payload};
use kernel::workflow::Workflow;
use rustc_hash::FxHashMap;
use serde_json::Value;
use std::sync::Arc;
use store::{BlobStore, Reader, StoreError};

/// What became of the inputs of some grants.
#[derive(Debug, Default)]
pub struct Filled {
    /// With their inputs.
    pub deliveries: Vec<Delivery>,
    /// Those whose input cannot be made: the task fails, and no worker sees it.
    pub failed: Vec<(Delivery, Failure)>,
}

pub(crate) struct Filler<'a> {
    pub library: &'a Library,
    pub values: &'a Values,
    pub blobs: &'a dyn BlobStore,
}

impl Filler<'_> {
    /// From memory alone; `None`: something has to be read.
    pub fn remembered(&self, deliveries: &[Delivery]) -> Option<Filled> {
        self.fill(deliveries, None).ok()?
    }

    pub fn read(&self, deliveries: &[Delivery], reader: &mut dyn Reader) -> Result<Filled, StoreError> {
        Ok(self.fill(deliveries, Some(reader))?.unwrap_or_default())
    }

    fn fill(&self, deliveries: &[Delivery], mut reader: Option<&mut (dyn Reader + '_)>) -> Result<Option<Filled>, StoreError> {
        let mut filled = Filled::default();
        let mut fetched = FxHashMap::default();
        for delivery in deliveries {
            let input = match &delivery.input {
                Some(input) => input.clone(),
                None => match &mut reader {
                    None => return Ok(None),
                    Some(reader) => match payload(&mut **reader, self.blobs, delivery.grant.input)? {
                        Some(input) => input,
                        None => {
                            let failure =
                                Failure { code: "input_lost".into(), message: "its input cannot be read any more".into() };
                            filled.failed.push((delivery.clone(), failure));
                            continue;
                        }
                    },
                },
            };
            if delivery.grant.node.is_none() {
                filled.deliveries.push(Delivery { input: Some(input), grant: delivery.grant.clone() });
                continue;
            }
            let reader = reader.as_mut().map(|reader| &mut **reader as &mut dyn Reader);
            match self.resolve(&input, reader, &mut fetched)? {
                Evaluated::Value(json) => {
                    filled.deliveries.push(Delivery { input: Some(json.payload), grant: delivery.grant.clone() });
                }
                Evaluated::Failed(failure) => filled.failed.push((delivery.clone(), failure)),
                Evaluated::Missing => return Ok(None),
            }
        }
        Ok(Some(filled))
    }

    fn resolve(
        &self,
        recipe: &Payload,
        mut reader: Option<&mut (dyn Reader + '_)>,
        fetched: &mut FxHashMap<RecordSeq, Found>,
    ) -> Result<Evaluated, StoreError> {
        let Ok(recipe) = serde_json::from_str::<Recipe>(recipe.text()) else {
            let message = "what its input is made of cannot be read".into();
            return Ok(Evaluated::Failed(Failure { code: "input_lost".into(), message }));
        };
        let Some(programs) = self.programs(&recipe, &mut reader)? else { return Ok(Evaluated::Missing) };
        loop {
            let mut asking = Asking { values: self.values, fetched, missing: Vec::new(), lost: None };
            let evaluated = evaluate::resolve(&programs, &recipe, &mut asking);
            let Asking { missing, lost: gone, .. } = asking;
            match (evaluated, gone, &mut reader) {
                (Evaluated::Missing, Some(seq), _) => return Ok(lost(seq)),
                (Evaluated::Missing, None, Some(reader)) => {
                    for seq in missing {
                        let value = payload(&mut **reader, self.blobs, seq)?;
                        let value = value.and_then(|text| serde_json::from_str::<Value>(text.text()).ok());
                        fetched.insert(seq, value.map_or(Found::Lost, |value| Found::Value(Arc::new(value))));
                    }
                }
                (evaluated, ..) => return Ok(evaluated),
            }
        }
    }

    fn programs(
        &self,
        recipe: &Recipe,
        reader: &mut Option<&mut (dyn Reader + '_)>,
    ) -> Result<Option<Arc<Programs>>, StoreError> {
        if let Some(programs) = self.library.find(&recipe.workflow, recipe.version) {
            return Ok(Some(programs));
        }
        let Some(reader) = reader else { return Ok(None) };
        let Some(row) = reader.workflow(&recipe.workflow, Some(recipe.version))? else {
            return Err(StoreError::Failed(format!("workflow `{}` has no version {}", recipe.workflow, recipe.version)));
        };
        let workflow = Workflow::from_row(&row.values)?;
        self.library.compile(&workflow).map(Some).map_err(StoreError::Failed)
    }
}

/// The payload of a record, out of the blob store if it lies there.
pub fn payload(reader: &mut dyn Reader, blobs: &dyn BlobStore, seq: RecordSeq) -> Result<Option<Payload>, StoreError> {
    let found = reader.payloads(&[seq])?.pop().flatten();
    found.map_or(Ok(None), |payload| crate::blobs::content(blobs, payload))
}

struct Asking<'a> {
    values: &'a Values,
    fetched: &'a FxHashMap<RecordSeq, Found>,
    missing: Vec<RecordSeq>,
    lost: Option<RecordSeq>,
}

impl evaluate::Values for Asking<'_> {
    fn value(&mut self, seq: RecordSeq) -> Option<Arc<Value>> {
        let found = self.fetched.get(&seq).cloned().unwrap_or_else(|| self.values.value(seq));
        match found {
            Found::Value(value) => return Some(value),
            Found::Lost => self.lost = Some(seq),
            Found::Missing => self.missing.push(seq),
        }
        None
    }

    fn text(&mut self, seq: RecordSeq) -> Option<Payload> {
        self.values.text(seq)
    }
}
