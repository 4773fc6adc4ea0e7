//! What the server leans on outside its own process: how each of them is, for whoever asks. Nothing is decided by it.

use crate::Engine;
use kernel::names::TypeName;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Outside {
    /// Where it is, without anything secret.
    pub address: String,
    /// Why it cannot be used now.
    pub trouble: Option<String>,
    pub counts: BTreeMap<&'static str, u64>,
    /// Tasks of these types go there.
    pub types: Arc<[TypeName]>,
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
