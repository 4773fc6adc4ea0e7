//! What becomes of the text of a run that is to be changed: made and compiled here, off the writer, for whoever asks. Whether the
//! run may follow it is the kernel's to say.

use crate::engine::Engine;
use crate::revision::{Followed, Revision};
use flow::incoming;
use flow::patch::{Difference, Document, Operations, PatchError, difference};
use kernel::command::NewRevision;
use kernel::ids::RunId;
use kernel::ir::Ir;
use kernel::limits::{PATCH_AGENTS_ADDED_MAX, PATCH_NODES_ADDED_MAX};
use kernel::names::{NodeId, WorkflowName};
use kernel::record::Payload;
use kernel::run::Run;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use std::sync::Arc;

/// What is to become of a text.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    pub operations: Option<Operations>,
    /// `PATH=VALUE` each, and paths to take away, after the operations: what they mean depends on the text.
    pub set: Vec<String>,
    pub unset: Vec<String>,
    /// Another input for this node, as JSON.
    pub with: Option<(NodeId, Box<str>)>,
}

/// How what a bulk wants is kept with it.
#[derive(Serialize, Deserialize)]
struct Kept {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    operations: Option<Box<RawValue>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    set: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    unset: Vec<String>,
}

impl Wanted {
    pub fn is_nothing(&self) -> bool {
        self.operations.is_none() && self.set.is_empty() && self.unset.is_empty() && self.with.is_none()
    }

    /// What is wrong with it whatever the text.
    pub fn check(&self) -> Result<(), PatchError> {
        let any = Document::read(b"{}").expect("an empty document");
        self.set.iter().try_for_each(|text| any.set(text).map(|_| ()))?;
        self.unset.iter().try_for_each(|path| any.unset(path).map(|_| ()))
    }

    /// To be kept with a bulk; an input for a node is of one run, and is not.
    pub fn kept(&self) -> String {
        let operations = self
            .operations
            .as_ref()
            .map(|operations| RawValue::from_string(operations.text()).expect("operations are written as JSON"));
        let kept = Kept { operations, set: self.set.clone(), unset: self.unset.clone() };
        serde_json::to_string(&kept).expect("it has a JSON form")
    }

    /// `Err`: it cannot be read any more, and why.
    pub fn read(kept: &str) -> Result<Wanted, String> {
        let Kept { operations, set, unset } = serde_json::from_str(kept).map_err(|error| error.to_string())?;
        let operations = operations.map(|raw| Operations::read(raw.get().as_bytes())).transpose();
        let operations = operations.map_err(|error| error.to_string())?;
        Ok(Wanted { operations, set, unset, with: None })
    }
}

/// What became of it: the same for all runs of one version that follow the same text.
#[derive(Clone, Debug, Default)]
pub struct Change {
    /// None: it is as it was.
    new: Option<(Arc<Ir>, Payload)>,
    pub difference: Difference,
    /// What can run and yet may not be what was meant.
    pub warnings: Vec<flow::Problem>,
    /// It compiles, and yet it cannot be taken.
    pub breach: Option<Breach>,
}

/// What a patch may not do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Breach {
    Name {
        own: WorkflowName,
        other: WorkflowName,
    },
    /// That of the run is this one.
    Version(u32),
    /// A patch is no way to grow without bounds.
    TooMuch {
        what: &'static str,
        many: usize,
        max: usize,
    },
}

impl Breach {
    pub fn told(&self, run: RunId) -> String {
        match self {
            Breach::Name { own, other } => format!("a patch cannot change the workflow's name: `{own}` would be `{other}`"),
            Breach::Version(version) => format!("a patch cannot change the workflow's version: {run} runs version {version}"),
            Breach::TooMuch { what, many, max } => format!("it adds {many} {what}; one patch may add at most {max}"),
        }
    }

    pub const fn fix(&self) -> &'static str {
        match self {
            Breach::Name { .. } => "leave `workflow` as it is, or put a workflow of that name and start it",
            Breach::Version(_) => "leave `version` as it is, or put a new version and start it",
            Breach::TooMuch { .. } => "add fewer, or go over a list with an `each`",
        }
    }
}

/// Why no text comes of it.
#[derive(Clone, Debug)]
pub enum NoChange {
    /// The text that it follows is gone or damaged.
    Gone { revision: u32 },
    /// The operations do not fit the text.
    Failed(PatchError),
    /// What would come of it is not a workflow.
    Unfit(Vec<flow::Problem>),
}

impl NoChange {
    pub fn told(&self, run: RunId) -> String {
        let problems = match self {
            NoChange::Gone { revision } => return format!("the text of revision {revision} of {run} is gone or damaged"),
            NoChange::Failed(error) => return PatchError { suggestion: None, ..error.clone() }.to_string(),
            NoChange::Unfit(problems) => problems,
        };
        let first = problems.first().map(|first| {
            let path = if first.path.is_empty() { String::new() } else { format!("{}: ", first.path) };
            format!(": {path}{}", first.message)
        });
        let more = if problems.len() > 1 { format!(" ({} in all)", flow::problem::counted(problems)) } else { String::new() };
        format!("what {run} would follow is not a workflow that can run{}{more}", first.unwrap_or_default())
    }
}

impl Change {
    /// To ask the kernel with, for a run that is at `base`; `None`: there is nothing to ask for.
    pub fn revision(&self, base: u32, description: &str) -> Option<Box<NewRevision>> {
        let (ir, payload) = self.new.clone()?;
        Some(Box::new(NewRevision { base, ir, payload, description: description.to_owned(), alone: false }))
    }
}

impl Engine {
    /// Changes a text that a run follows, or followed, and compiles what comes of it. Takes its time; not for an async thread.
    pub fn change(&self, run: &Run, base: &Followed, wanted: &Wanted) -> Result<Change, NoChange> {
        let document = Document::read(base.text.as_bytes()).map_err(|_| NoChange::Gone { revision: base.revision })?;
        let mut operations = wanted.operations.clone().unwrap_or_default();
        let mut changed = document.apply(&operations).map_err(NoChange::Failed)?;
        if !(wanted.set.is_empty() && wanted.unset.is_empty()) {
            let (sets, done) = changed.set_all(&wanted.set, &wanted.unset).map_err(NoChange::Failed)?;
            operations.extend(sets);
            changed = done;
        }
        if let Some((node, input)) = &wanted.with {
            let with = changed.with(node, input.as_bytes()).map_err(NoChange::Failed)?;
            changed = changed.apply(&with).map_err(NoChange::Failed)?;
            operations.extend(with);
        }
        if changed == document {
            return Ok(Change::default());
        }
        let text = changed.text();
        let mut read = incoming::read(text.as_bytes()).map_err(NoChange::Unfit)?;
        let one = read.pop().filter(|_| read.is_empty());
        let compiled = one.ok_or_else(|| NoChange::Unfit(Vec::new()))?.compiled;
        let (name, version) = (&run.spec().workflow, run.spec().version);
        let own = not_its_own(name, version, &compiled);
        let warnings = compiled.warnings;
        let ir = self.revised(run, &text, compiled.ir);
        let difference = difference(&base.ir, &ir);
        let breach = own.or_else(|| too_much(&difference));
        let operations = RawValue::from_string(operations.text()).ok();
        let payload = Revision { text, operations }.payload();
        Ok(Change { new: Some((ir, payload)), difference, warnings, breach })
    }
}

/// A run stays one of its version, whatever its text.
fn not_its_own(name: &WorkflowName, version: u32, compiled: &flow::Compiled) -> Option<Breach> {
    let other = &compiled.ir.workflow;
    if other != name {
        return Some(Breach::Name { own: name.clone(), other: other.clone() });
    }
    compiled.definition.version.filter(|written| *written != version).map(|_| Breach::Version(version))
}

fn too_much(difference: &Difference) -> Option<Breach> {
    match (difference.added.len(), difference.agents_added) {
        (many, _) if many > PATCH_NODES_ADDED_MAX => Some(Breach::TooMuch { what: "nodes", many, max: PATCH_NODES_ADDED_MAX }),
        (_, many) if many > PATCH_AGENTS_ADDED_MAX => Some(Breach::TooMuch { what: "agents", many, max: PATCH_AGENTS_ADDED_MAX }),
        _ => None,
    }
}
