//! Inputs for the worker. A task's own input lies in its record; that of a run's task is worked out here, off the writer,
//! from values that never change.

use crate::blobs::content;
use crate::envelope;
use crate::flows::{Library, lost, too_much};
use crate::request::Delivery;
use crate::revision::Revision;
use crate::values::{Found, Values, weight};
use flow::evaluate::{self, Programs};
use flow::wide;
use kernel::eval::{Evaluated, Json, Recipe, View};
use kernel::handler::Window;
use kernel::ids::{RecordSeq, TaskId};
use kernel::limits::{DELIVERY_BYTES_MAX, DELIVERY_COST_MAX, FETCHED_BYTES_MAX, HANDY_COST_MAX, VALUE_WAIT_MS_MAX};
use kernel::record::{Failure, Payload};
use kernel::workflow::Workflow;
use rustc_hash::FxHashMap;
use serde_json::Value;
use std::sync::{Arc, Mutex, MutexGuard};
use store::{BlobStore, Reader, StoreError};

/// What became of the inputs of some grants.
#[derive(Debug, Default)]
pub struct Filled {
    /// With their inputs.
    pub deliveries: Vec<Delivery>,
    /// Those whose input cannot be made: the task fails, and no worker sees it.
    pub failed: Vec<(Delivery, Failure)>,
    /// Those for which there was no room, or whose input cannot be read now: they go back, unburnt.
    pub left: Vec<Delivery>,
}

/// Lends a reader for one question at a time: values may lie far away, and nobody waits for them with a reader in hand that others
/// want.
pub(crate) struct Eyes<'a>(pub &'a mut dyn FnMut(Query<'_>));

type Query<'a> = &'a mut dyn FnMut(&mut dyn Reader);

impl Eyes<'_> {
    pub fn read<T>(&mut self, query: impl FnOnce(&mut dyn Reader) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let (mut query, mut answer) = (Some(query), None);
        (self.0)(&mut |reader| answer = query.take().map(|query| query(reader)));
        answer.expect("a reader is lent")
    }

    /// The payload of a record, out of the blob store if it lies there.
    pub fn payload(&mut self, blobs: &dyn BlobStore, seq: RecordSeq) -> Result<Option<Payload>, StoreError> {
        let found = self.read(|reader| Ok(reader.payloads(&[seq])?.pop().flatten()))?;
        found.map_or(Ok(None), |payload| content(blobs, payload))
    }
}

pub(crate) struct Filler<'a> {
    pub library: &'a Library,
    pub values: &'a Values,
    pub blobs: &'a dyn BlobStore,
    pub unread: &'a Unread,
    pub now_ms: u64,
}

/// Tasks whose inputs could not be read, since when and how often: one is tried again, and given up in the end.
#[derive(Default)]
pub(crate) struct Unread(Mutex<FxHashMap<TaskId, (u64, u32)>>);

/// However long it has been: the first times it may be us who slept.
const TRIES_MIN: u32 = 3;
/// Of those that nobody asks for any more none is told.
const UNREAD_MAX: usize = 10_000;

impl Unread {
    fn tasks(&self) -> MutexGuard<'_, FxHashMap<TaskId, (u64, u32)>> {
        self.0.lock().expect("no holder of the unread panics")
    }

    /// It could not be read; whether it is given up.
    fn again(&self, task: TaskId, now_ms: u64) -> bool {
        let mut tasks = self.tasks();
        if tasks.len() >= UNREAD_MAX && !tasks.contains_key(&task) {
            tasks.clear();
        }
        let (since, tries) = tasks.entry(task).or_insert((now_ms, 0));
        *tries += 1;
        let over = *tries >= TRIES_MIN && now_ms.saturating_sub(*since) >= VALUE_WAIT_MS_MAX;
        if over {
            tasks.remove(&task);
        }
        over
    }

    fn read(&self, task: TaskId) {
        let mut tasks = self.tasks();
        if !tasks.is_empty() {
            tasks.remove(&task);
        }
    }
}

impl Filler<'_> {
    /// From memory alone, and at small cost; `None`: something has to be read, or much to be worked out.
    pub fn remembered(&self, deliveries: &[Delivery]) -> Option<Filled> {
        self.fill(deliveries, None, HANDY_COST_MAX).ok()?
    }

    /// From memory alone; `None`: something has to be read.
    pub fn worked_out(&self, deliveries: &[Delivery]) -> Option<Filled> {
        self.fill(deliveries, None, DELIVERY_COST_MAX).ok()?
    }

    pub fn read(&self, deliveries: &[Delivery], mut eyes: Eyes<'_>) -> Result<Filled, StoreError> {
        Ok(self.fill(deliveries, Some(&mut eyes), DELIVERY_COST_MAX)?.unwrap_or_default())
    }

    /// The same for one who has a reader of its own.
    pub fn read_with(&self, deliveries: &[Delivery], reader: &mut dyn Reader) -> Result<Filled, StoreError> {
        self.read(deliveries, Eyes(&mut |query| query(&mut *reader)))
    }

    /// `None`: something has to be read, or it costs more than it may here.
    fn fill(
        &self,
        deliveries: &[Delivery],
        mut eyes: Option<&mut Eyes<'_>>,
        cost_max: u64,
    ) -> Result<Option<Filled>, StoreError> {
        let mut filled = Filled::default();
        let mut fetched = Fetched::default();
        let (mut bytes, mut trouble) = (0, None);
        for delivery in deliveries {
            if bytes >= DELIVERY_BYTES_MAX || fetched.cost >= DELIVERY_COST_MAX {
                filled.left.push(delivery.clone());
                continue;
            }
            if fetched.cost > cost_max {
                return Ok(None);
            }
            let task = delivery.grant.task;
            let input = self.input(delivery, eyes.as_deref_mut(), &mut fetched);
            if input.is_ok() {
                self.unread.read(task);
            }
            match input {
                Ok(Evaluated::Value(json)) => {
                    bytes += json.payload.text().len();
                    filled.deliveries.push(Delivery { input: Some(json.payload), grant: delivery.grant.clone() });
                }
                Ok(Evaluated::Failed(failure)) => filled.failed.push((delivery.clone(), failure)),
                Ok(Evaluated::Missing(_)) => return Ok(None),
                // What cannot be reached at all is waited for: it is not lost.
                Err(error) if !matches!(error, StoreError::Unreached(_)) && self.unread.again(task, self.now_ms) => {
                    tracing::error!(%task, %error, "what its input is made of cannot be read; it is given up");
                    let message =
                        format!("what its input is made of could not be read for {} min: {error}", VALUE_WAIT_MS_MAX / 60_000);
                    filled.failed.push((delivery.clone(), Failure { code: "value_unread".into(), message }));
                }
                // The others need not wait until it can be read again.
                Err(error) => {
                    filled.left.push(delivery.clone());
                    trouble.get_or_insert(error);
                }
            }
        }
        match trouble {
            Some(error) if filled.deliveries.is_empty() && filled.failed.is_empty() => Err(error),
            _ => Ok(Some(filled)),
        }
    }

    /// `Missing`: something has to be read, and there is nobody to read it.
    fn input(
        &self,
        delivery: &Delivery,
        mut eyes: Option<&mut Eyes<'_>>,
        fetched: &mut Fetched,
    ) -> Result<Evaluated, StoreError> {
        if let Some((trigger, last)) = &delivery.grant.trigger
            && (trigger.whole || matches!(trigger.window, Some(Window::Batch { .. })))
        {
            let Some(eyes) = eyes else { return Ok(Evaluated::Missing(Vec::new())) };
            return envelope::input(eyes, self.blobs, &delivery.grant, trigger, *last);
        }
        let input = match (&delivery.input, &mut eyes) {
            (Some(input), _) => input.clone(),
            (None, None) => return Ok(Evaluated::Missing(Vec::new())),
            (None, Some(eyes)) => match readable(eyes.payload(self.blobs, delivery.grant.input))? {
                Some(input) => input,
                None => return Ok(Evaluated::Failed(input_lost())),
            },
        };
        if delivery.grant.node.is_none() {
            return Ok(Evaluated::Value(Json { payload: input, view: View::Other }));
        }
        self.resolve(&input, eyes, fetched)
    }

    fn resolve(&self, recipe: &Payload, mut eyes: Option<&mut Eyes<'_>>, fetched: &mut Fetched) -> Result<Evaluated, StoreError> {
        let Ok(recipe) = serde_json::from_str::<Recipe>(recipe.text()) else {
            let message = "what its input is made of cannot be read".into();
            return Ok(Evaluated::Failed(Failure { code: "input_lost".into(), message }));
        };
        let programs = match self.programs(&recipe, eyes.as_deref_mut())? {
            Some(Ok(programs)) => programs,
            Some(Err(message)) => return Ok(Evaluated::Failed(Failure { code: "bad_workflow".into(), message })),
            None => return Ok(Evaluated::Missing(Vec::new())),
        };
        // What was read for others may be of use, but not without end.
        if fetched.bytes > FETCHED_BYTES_MAX / 2 {
            fetched.forget();
        }
        let bytes_before = fetched.bytes;
        loop {
            let mut asking = Asking { values: self.values, fetched: &fetched.values, unfit: None };
            let (evaluated, cost) = evaluate::resolve(&programs, &recipe, &mut asking);
            let unfit = asking.unfit;
            fetched.cost += cost;
            match (evaluated, unfit, &mut eyes) {
                (Evaluated::Missing(_), Some(failure), _) => return Ok(Evaluated::Failed(failure)),
                (Evaluated::Missing(missing), None, Some(eyes)) => {
                    for seq in missing {
                        let text = readable(eyes.payload(self.blobs, seq))?;
                        fetched.bytes += text.as_ref().map_or(0, |text| weight(text, true));
                        if fetched.bytes - bytes_before > FETCHED_BYTES_MAX {
                            fetched.forget();
                            return Ok(Evaluated::Failed(too_much()));
                        }
                        let value = text.and_then(|text| wide::read(text.text()).ok());
                        fetched.values.insert(seq, value.map_or(Found::Lost, |value| Found::Value(Arc::new(value))));
                    }
                }
                (evaluated, ..) => return Ok(evaluated),
            }
        }
    }

    fn programs(
        &self,
        recipe: &Recipe,
        eyes: Option<&mut Eyes<'_>>,
    ) -> Result<Option<Result<Arc<Programs>, String>>, StoreError> {
        if let Some(programs) = self.library.find(&recipe.workflow, recipe.version, recipe.text.map(|text| text.digest)) {
            return Ok(Some(Ok(programs)));
        }
        let Some(eyes) = eyes else { return Ok(None) };
        if let Some(text) = recipe.text {
            let read = eyes.payload(self.blobs, text.record)?.and_then(|payload| Revision::read(&payload));
            return Ok(Some(match read {
                Some(read) => self.library.compile_revision(&recipe.workflow, recipe.version, &read.text),
                None => Err("the text that its run follows is gone or damaged".into()),
            }));
        }
        let Some(row) = eyes.read(|reader| reader.workflow(&recipe.workflow, Some(recipe.version)))? else {
            return Err(StoreError::Failed(format!("workflow `{}` has no version {}", recipe.workflow, recipe.version)));
        };
        let workflow = Workflow::from_row(&row.values)?;
        Ok(Some(self.library.compile(&workflow)))
    }
}

pub(crate) fn input_lost() -> Failure {
    let message = "its input cannot be read any more: it is gone or damaged".into();
    Failure { code: "input_lost".into(), message }
}

/// What is damaged is as good as gone: whoever needs it is told, and the others go on.
pub(crate) fn readable(read: Result<Option<Payload>, StoreError>) -> Result<Option<Payload>, StoreError> {
    match read {
        Err(StoreError::Corrupt(bad)) => {
            tracing::error!(%bad, "a value cannot be read");
            Ok(None)
        }
        read => read,
    }
}

/// Values that were read for the inputs of one answer and what they weigh, and what it cost to work the inputs out.
#[derive(Default)]
struct Fetched {
    values: FxHashMap<RecordSeq, Found>,
    bytes: usize,
    cost: u64,
}

impl Fetched {
    fn forget(&mut self) {
        self.values.clear();
        self.bytes = 0;
    }
}

/// The same for one who has a reader of its own, that nobody else wants; all others ask `Engine::payload`.
pub fn payload(reader: &mut dyn Reader, blobs: &dyn BlobStore, seq: RecordSeq) -> Result<Option<Payload>, StoreError> {
    Eyes(&mut |query| query(&mut *reader)).payload(blobs, seq)
}

struct Asking<'a> {
    values: &'a Values,
    fetched: &'a FxHashMap<RecordSeq, Found>,
    unfit: Option<Failure>,
}

impl evaluate::Values for Asking<'_> {
    fn value(&mut self, seq: RecordSeq) -> Option<Arc<Value>> {
        let found = self.fetched.get(&seq).cloned().unwrap_or_else(|| self.values.value(seq));
        match found {
            Found::Value(value) => return Some(value),
            Found::Lost => self.unfit = Some(lost(seq)),
            // For the writer's question it was; this one is asked on its own.
            Found::TooMuch | Found::Missing => {}
        }
        None
    }

    fn text(&mut self, seq: RecordSeq) -> Option<Payload> {
        self.values.text(seq)
    }
}
