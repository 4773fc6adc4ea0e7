//! The registry and families: how they are put, said and shown.

use super::object::objects;
use super::{Counts, CronDue, Instant, PauseView, Priority, Problem};
use kernel::command::PauseUntil;
use kernel::names::*;
use kernel::registry::Control;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

objects!(FamiliesPause, FamiliesResume, FamiliesBoost, FamiliesShed);

/// The registry in force.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RegistryView {
    /// 0: none was ever put.
    pub revision: u32,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub put_at: Option<Instant>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
    #[schema(value_type = Vec<String>)]
    pub handlers: Vec<HandlerName>,
    /// Queues that take their rules from it.
    #[schema(value_type = Vec<String>)]
    pub queues: Vec<QueueName>,
    #[schema(value_type = Vec<String>)]
    pub webhooks: Vec<WebhookName>,
    /// With when each fires next.
    #[serde(default)]
    pub crons: Vec<CronDue>,
    pub text: String,
    /// Why the newest text that was tried is not the one in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
    /// The file that this server takes it from: its next change replaces the one in force.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What is right and yet may not work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// Who puts it.
#[derive(Clone, Debug, Default, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields, default)]
#[into_params(parameter_in = Query)]
pub struct RegistryPutQuery {
    #[serde(skip_serializing_if = "Option::is_none")]
    #[param(value_type = Option<String>)]
    pub by: Option<Actor>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RegistryPut {
    pub revision: u32,
    /// This very text was in force.
    pub unchanged: bool,
    pub handlers: u64,
    /// What is right and yet may not work, or may not last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// A text that may be put.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RegistryChecked {
    #[schema(value_type = Vec<String>)]
    pub handlers: Vec<HandlerName>,
    #[schema(value_type = Vec<String>)]
    pub queues: Vec<QueueName>,
    #[schema(value_type = Vec<String>)]
    pub webhooks: Vec<WebhookName>,
    /// With when each fires next.
    #[serde(default)]
    pub crons: Vec<CronDue>,
    /// What is right and yet may not work.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

/// What another registry would change.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct RegistryDiff {
    /// Of the one in force.
    pub revision: u32,
    /// It would change nothing.
    pub same: bool,
    /// In words.
    pub lines: Vec<String>,
    /// By handlers, queues, crons and webhooks, field by field.
    #[schema(value_type = serde_json::Value)]
    pub changes: Box<RawValue>,
}

/// What was said about the families that a pattern covers.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct FamiliesView {
    /// A family, or a pattern such as `github/*`.
    #[schema(value_type = String)]
    pub families: Pattern,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<PauseView>,
    /// A head start for their tasks, in seconds.
    #[schema(value_type = i32)]
    pub boost: Priority,
    /// What there is of them now. Dead letters are not counted here.
    #[serde(default)]
    pub counts: Counts,
}

impl FamiliesView {
    pub fn new(control: &Control, counts: Counts) -> FamiliesView {
        FamiliesView {
            families: control.families().clone(),
            pause: control.pause().map(PauseView::from),
            boost: Priority(control.boost()),
            counts,
        }
    }
}

/// A family of which something waits or runs now.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct FamilyView {
    pub family: String,
    /// In all queues together. Dead letters are not counted here.
    pub counts: Counts,
    #[schema(value_type = Vec<String>)]
    pub queues: Vec<QueueName>,
    /// By itself or by a pattern that covers it.
    pub paused: bool,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct FamiliesList {
    /// What was said, of families or patterns.
    pub said: Vec<FamiliesView>,
    /// Families of which events have made something that waits or runs now, those with the most first; at most 1000.
    #[serde(default)]
    pub families: Vec<FamilyView>,
    /// Families that are not among them.
    #[serde(default)]
    pub families_left: u64,
    /// What may be a mistake: what was said is of a family that nothing knows, and holds all the same; or there was no pause to take back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Cancel what waits of some families, in whatever queue. What runs goes on, and what is critical stays.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct FamiliesShed {
    /// Families, or patterns such as `github/*`; 1 to 64.
    #[schema(value_type = Vec<String>)]
    pub families: Vec<Pattern>,
    /// The highest priority that is shed, below critical: a task's own, without boosts.
    pub upto: Priority,
    /// Why, for everyone who asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Cancel nothing: say how many would be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub dry_run: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
}

/// Hand out no task that an event of these families made, in whatever queue; events go on coming in.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct FamiliesPause {
    #[schema(value_type = String)]
    pub families: Pattern,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Instant>,
    /// Instead of `until`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub for_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
}

impl FamiliesPause {
    pub fn until(&self) -> Result<PauseUntil, Problem> {
        super::queue::pause_until(self.until, self.for_ms)
    }
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct FamiliesResume {
    #[schema(value_type = String)]
    pub families: Pattern,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields, remote = "Self")]
pub struct FamiliesBoost {
    #[schema(value_type = String)]
    pub families: Pattern,
    /// 0 takes it away.
    pub boost: Priority,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub by: Option<Actor>,
}

/// A webhook of the registry in force, and what came to it since this server started. Its secret is never shown.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WebhookView {
    #[schema(value_type = String)]
    pub webhook: WebhookName,
    /// `github`, `stripe`, `hmac` or `secret`.
    pub provider: String,
    /// Where its sender posts to.
    pub path: String,
    /// Without one, every request is refused.
    pub secret_set: bool,
    /// Variables of the environment that it names as secrets and that are not set.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unset: Vec<String>,
    pub accepted: u64,
    pub refused: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_refusal: Option<WebhookRefusal>,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WebhookRefusal {
    pub at: Instant,
    /// A sentence.
    pub why: String,
}

#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WebhookList {
    pub webhooks: Vec<WebhookView>,
}

/// The answer to a webhook's sender.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct WebhookTaken {
    /// Tasks that it made or joined.
    pub queued: u64,
    #[schema(value_type = String)]
    pub event: kernel::ids::EventId,
    /// It had come before.
    pub duplicate: bool,
    /// With another name or other data, which stay.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub differs: bool,
}
