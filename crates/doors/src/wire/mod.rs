//! The public JSON shapes, and nowhere else: the server and its clients share them. What a client sends refuses fields
//! it does not know; what the server answers may grow fields. Times are RFC 3339 in UTC, durations are `*_ms` integers,
//! inputs and outputs are raw JSON text, passed on as it came.
//!
//! Names and ids are the kernel's own types, so a value that came through here cannot be wrong any more. Nothing in
//! here knows HTTP beyond the status that belongs to a [`Problem`].

mod approval;
mod blob;
mod bulk;
mod change;
mod cron;
mod event;
mod explain;
mod fork;
mod instant;
mod log;
mod node;
mod object;
mod problem;
mod queue;
mod record;
mod registry;
mod replay;
mod run;
mod scalars;
mod server;
mod spec;
mod stats;
mod task;
mod timeline;
mod work;
mod workflow;

pub use approval::*;
pub use blob::*;
pub use bulk::*;
pub use change::*;
pub use cron::*;
pub use event::*;
pub use explain::*;
pub use fork::*;
pub use instant::*;
pub use log::*;
pub use node::*;
pub use problem::*;
pub use queue::*;
pub use record::*;
pub use registry::*;
pub use replay::*;
pub use run::*;
pub use scalars::*;
pub use server::*;
pub use spec::*;
pub use stats::*;
pub use task::*;
pub use timeline::*;
pub use work::*;
pub use workflow::*;

use kernel::limits::REASON_BYTES_MAX;
use kernel::names::Actor;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// For numbers that are left out then.
pub fn is_zero<N: Default + PartialEq>(number: &N) -> bool {
    *number == N::default()
}

/// The body of a request that says nothing but who sends it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct Signed {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
}

object::objects!(Signed);

/// Who a command comes from when the caller does not say.
pub fn signed_by(by: Option<Actor>) -> Actor {
    by.unwrap_or_else(|| Actor::parse("api").expect("`api` is a legal name"))
}

/// Words of a person, kept as they are or not at all; `name` is what the field is called.
pub fn reason(name: &str, raw: Option<String>) -> Result<String, Problem> {
    let raw = raw.unwrap_or_default();
    match raw.len() {
        0..=REASON_BYTES_MAX => Ok(raw),
        bytes => Err(Problem::invalid(format!("{name} is {bytes} bytes; at most {REASON_BYTES_MAX} are allowed"))),
    }
}

#[cfg(test)]
mod tests;
