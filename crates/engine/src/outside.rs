//! What the server leans on outside its own process: how each of them is, for whoever asks. Nothing is decided by it.

use crate::Engine;
use kernel::ids::{Fence, TaskId};
use kernel::names::{TypeName, WorkerName};
use std::collections::BTreeMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex};

#[derive(Clone, Debug)]
pub struct Outside {
    /// Where it is, without anything secret.
    pub address: String,
    /// Why it cannot be used now.
    pub trouble: Option<String>,
    /// Types whose tasks alone wait, and why.
    pub shut: BTreeMap<TypeName, String>,
    pub counts: BTreeMap<&'static str, u64>,
    /// Tasks of these types go there.
    pub types: Arc<[TypeName]>,
    pub where_is: WhereIs,
}

impl Outside {
    /// All that is wrong there.
    pub fn told(&self) -> Option<String> {
        let shut = self.shut.iter().map(|(kind, why)| format!("tasks of type `{kind}` wait: {why}"));
        let told: Vec<String> = self.trouble.iter().cloned().chain(shut).collect();
        (!told.is_empty()).then(|| told.join("; "))
    }

    /// Why a task of this type cannot go there now.
    pub fn trouble_of(&self, kind: &TypeName) -> Option<&str> {
        self.trouble.as_deref().or_else(|| Some(self.shut.get(kind)?))
    }
}

/// Whether others stand behind a worker of the server's own, who go on when the server stops: it is called `signaller:NAME/…` then.
pub(crate) fn outlives(worker: &WorkerName) -> bool {
    worker.as_str().strip_prefix("signaller:").is_some_and(|name| name.contains('/'))
}

/// Asks out there where the work of one lease is now, in a sentence.
#[derive(Clone)]
pub struct WhereIs(Arc<dyn Fn(TaskId, Fence) -> Told + Send + Sync>);

type Told = Pin<Box<dyn Future<Output = Option<String>> + Send>>;

impl WhereIs {
    pub fn new<F: Future<Output = Option<String>> + Send + 'static>(
        ask: impl Fn(TaskId, Fence) -> F + Send + Sync + 'static,
    ) -> WhereIs {
        WhereIs(Arc::new(move |task, fence| Box::pin(ask(task, fence))))
    }

    pub async fn ask(&self, task: TaskId, fence: Fence) -> Option<String> {
        (self.0)(task, fence).await
    }
}

impl fmt::Debug for WhereIs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WhereIs")
    }
}

#[derive(Debug, Default)]
pub(crate) struct Outsides(Mutex<BTreeMap<&'static str, Outside>>);

impl Engine {
    pub fn set_outside(&self, name: &'static str, outside: Outside) {
        self.outsides().0.lock().expect("nobody panics with it").insert(name, outside);
    }

    /// By name.
    pub fn outside(&self) -> BTreeMap<&'static str, Outside> {
        self.outsides().0.lock().expect("nobody panics with it").clone()
    }
}
