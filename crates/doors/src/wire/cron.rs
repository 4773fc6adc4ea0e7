//! Crons: how they are shown.

use super::{HandledView, Instant};
use flow::registry::cron::Cron;
use kernel::ids::EventId;
use kernel::names::{CronName, EventName};
use kernel::time::Time;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// What emits an event by itself, by the clock.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CronView {
    #[serde(flatten)]
    pub due: CronDue,
    /// Its tasks pass pauses.
    pub critical: bool,
    /// When it fired last by itself, as far as events are kept, and what became of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<CronFired>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CronFired {
    #[schema(value_type = String)]
    pub event: EventId,
    pub at: Instant,
    pub handled: Vec<HandledView>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CronList {
    pub crons: Vec<CronView>,
}

/// A cron, and when it fires next.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, ToSchema)]
pub struct CronDue {
    #[schema(value_type = String)]
    pub cron: CronName,
    pub schedule: String,
    pub zone: String,
    #[schema(value_type = String)]
    pub event: EventName,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Instant>,
}

impl CronDue {
    pub fn new(cron: &Cron, now: Time) -> CronDue {
        CronDue {
            cron: cron.name.clone(),
            schedule: cron.schedule.as_str().into(),
            zone: cron.zone.name().into(),
            event: cron.event.clone(),
            next: cron.upcoming(now).next().map(Instant),
        }
    }
}

/// When a cron fires next.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct CronNext {
    #[schema(value_type = String)]
    pub cron: CronName,
    pub zone: String,
    pub at: Vec<Instant>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct CronNextQuery {
    /// How many, from 1 to 100; 5 when left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
}
