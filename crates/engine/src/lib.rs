//! The loop: `inbox → load → decide/apply → commit → dispatch`. `tick` is synchronous and deterministic, and the
//! simulator drives it as it is; `writer` drives it for real, on one thread that decides and one that commits. Nothing is decided here that
//! the kernel could decide, and nothing leaves the house before its commit.

mod blobs;
pub mod bulk;
mod change;
pub mod clock;
mod cron;
mod deliver;
mod engine;
mod envelope;
mod events;
mod fetch;
mod flows;
mod fork;
mod inbox;
mod inputs;
mod launch;
mod load;
mod parcel;
mod presence;
mod pulse;
mod replay;
pub mod request;
mod retention;
mod revision;
mod rollups;
mod stream;
mod sweeper;
mod texts;
mod tick;
mod values;
mod watchdog;
mod webhooks;
mod writer;

pub use blobs::{PutAway, content};
pub use change::{Breach, Change, NoChange, Wanted};
pub use deliver::{Filled, payload};
pub use engine::{Engine, EngineOptions, Refused, Stopped};
pub use envelope::envelope;
pub use events::{InForce, NoRegistry, PutRegistry};
pub use fork::{Forked, Forking, NoFork};
pub use parcel::{Leaving, Parcel};
pub use replay::{At, NoReplay, Replayed};
pub use request::*;
pub use retention::Retention;
pub use revision::{Followed, Revision};
pub use rollups::{Projector, RollupState, rest_of_minute};
pub use stream::{Heard, Subscription};
pub use sweeper::{NoValue, SweepState};
pub use texts::Texts;
pub use tick::{Core, Decided, Ticked};
pub use watchdog::{Tripped, WatchdogOptions, WatchdogState};
pub use webhooks::WebhookTally;
