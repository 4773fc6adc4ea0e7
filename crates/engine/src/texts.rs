//! The texts that the runs of one patch are to follow. Runs of one version that follow the same text get the same: it is made once,
//! however many they are.

use crate::change::{Change, NoChange, Wanted};
use crate::engine::Engine;
use kernel::bulk::{Meant, Refusal};
use kernel::ids::RunId;
use kernel::limits::BATCH_BYTES_MAX;
use kernel::names::WorkflowName;
use kernel::rejection::Rejection;
use kernel::run::{Run, RunStatus};
use rustc_hash::FxHashMap;
use store::StoreError;

/// Texts that are kept at once; beyond it they are made again.
const MADE_MAX: usize = 64;
/// The text of one run is asked for so often before the run is left for it.
const TRIES_MAX: u32 = 5;
/// Why a run is left is told in so many characters.
const WHY_CHARS_MAX: usize = 300;

/// Version of a workflow, and the text of a run of it by its digest; `None`: the version's own.
type Base = (WorkflowName, u32, Option<u128>);

pub struct Texts {
    wanted: Wanted,
    made: FxHashMap<Base, Result<Change, NoChange>>,
    /// The run whose text could not be read, and how often.
    trouble: Option<(RunId, u32)>,
}

impl Texts {
    pub fn new(wanted: Wanted) -> Texts {
        Texts { wanted, made: FxHashMap::default(), trouble: None }
    }

    /// The same runs, each with its text or why it is left; fewer, if the texts would be too much for one batch. Blocks.
    pub fn of(&mut self, engine: &Engine, runs: Vec<Meant>) -> Result<Vec<Meant>, StoreError> {
        let (mut all, mut bytes) = (Vec::with_capacity(runs.len()), 0);
        for meant in runs {
            let meant = match meant {
                Meant::Run(run) => self.one(engine, run)?,
                other => other,
            };
            if let Meant::Revised(_, new) = &meant {
                bytes += new.payload.text().len();
            }
            if bytes > BATCH_BYTES_MAX && !all.is_empty() {
                break;
            }
            all.push(meant);
        }
        Ok(all)
    }

    fn one(&mut self, engine: &Engine, id: RunId) -> Result<Meant, StoreError> {
        let tried = self.trouble.filter(|(run, _)| *run == id).map_or(0, |(_, tries)| tries);
        let found = self.found(engine, id);
        self.trouble = found.is_err().then_some((id, tried + 1));
        match found {
            // What is damaged stays so, and the others are not to wait for it.
            Err(error) if tried + 1 >= TRIES_MAX => Ok(left(id, &error.to_string())),
            found => found,
        }
    }

    fn found(&mut self, engine: &Engine, id: RunId) -> Result<Meant, StoreError> {
        let row = engine.read(|reader| reader.run(id))?;
        let Some(run) = row.map(|row| Run::from_row(&row.values)).transpose()? else {
            return Ok(left(id, &Rejection::RunNotFound { run: id }.to_string()));
        };
        // Without loading it for that.
        if run.status() == RunStatus::Done {
            return Ok(left(id, &Rejection::RunEnded { run: id, status: run.status(), verb: "patch" }.to_string()));
        }
        Ok(match self.change(engine, &run)? {
            None => left(id, &NoChange::Gone { revision: run.follows() }.told(id)),
            Some(Err(no)) => left(id, &no.told(id)),
            Some(Ok(Change { breach: Some(breach), .. })) => left(id, &breach.told(id)),
            Some(Ok(change)) => match change.revision(run.revision(), "") {
                Some(new) => Meant::Revised(id, new),
                None => left(id, "nothing was to be changed"),
            },
        })
    }

    /// What comes of the text that it follows; `None`: that is gone.
    fn change(&mut self, engine: &Engine, run: &Run) -> Result<Option<&Result<Change, NoChange>>, StoreError> {
        let (name, version) = (&run.spec().workflow, run.spec().version);
        let own = (name.clone(), version, None);
        // Nobody changes the text of a version: it need not be looked at for each.
        if run.follows() == 0 && self.made.contains_key(&own) {
            return Ok(self.made.get(&own));
        }
        let Some(followed) = engine.definition(run, None)? else { return Ok(None) };
        let base = (name.clone(), version, followed.ir.revised);
        if self.made.len() >= MADE_MAX && !self.made.contains_key(&base) {
            self.made.clear();
        }
        Ok(Some(self.made.entry(base).or_insert_with(|| engine.change(run, &followed, &self.wanted))))
    }
}

fn left(run: RunId, why: &str) -> Meant {
    Meant::Left(Refusal { run, why: why.chars().take(WHY_CHARS_MAX).collect() })
}
