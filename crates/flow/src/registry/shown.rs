//! What a registry states, field by field and in words: what means the same is shown the same, however it was written.

use super::cron::{CatchUp, Cron, Missed};
use super::event::EventExpr;
use super::handler::*;
use super::queue::QueueRule;
use super::webhook::{Algorithm, Encoding, IdFrom, Layout, Naming, Proof, Signed, Webhook};
use crate::define::scalars::show_duration;
use kernel::limits::{OVERRIDE_SLOTS_DEFAULT, PAYLOAD_BYTES_MAX};
use kernel::priority::Priority;
use kernel::queue::{BacklogFull, QueueConfig};
use kernel::rate::Rate;
use kernel::retry::RetryPolicy;

/// Fields and what they say, those that were left out left out.
pub type Shown = Vec<(String, String)>;

#[derive(Default)]
struct Page(Shown);

impl Page {
    fn say(&mut self, field: &str, said: impl Into<String>) {
        self.0.push((field.to_owned(), said.into()));
    }

    fn may(&mut self, field: &str, said: Option<String>) {
        self.0.extend(said.map(|said| (field.to_owned(), said)));
    }
}

fn by(key: Option<&EventExpr>) -> String {
    key.map(|key| format!(" by {}", key.source())).unwrap_or_default()
}

pub fn rate(rate: &Rate) -> String {
    let burst = if rate.burst == 1 { String::new() } else { format!(" burst {}", rate.burst) };
    format!("{}/{}{burst}", rate.count, show_duration(rate.per_ms))
}

pub fn priority(priority: Priority) -> String {
    priority.name().map_or_else(|| format!("{}s", priority.head_start_s()), str::to_owned)
}

fn retry(retry: &RetryPolicy) -> String {
    let (first, most) = (show_duration(retry.backoff_ms), show_duration(retry.backoff_max_ms));
    format!("{} attempts, {first} to {most} apart, jitter {}%", retry.attempts, retry.jitter_percent)
}

pub fn gathering(gather: &Gathering) -> String {
    let by = by(gather.key());
    match gather {
        Gathering::Debounce { period_ms, max_wait_ms, .. } => {
            let most = max_wait_ms.map(|ms| format!(", at most {}", show_duration(ms))).unwrap_or_default();
            format!("{}{most}{by}", show_duration(*period_ms))
        }
        Gathering::Batch { size, timeout_ms, .. } => format!("{size} or {}{by}", show_duration(*timeout_ms)),
    }
}

fn statements(page: &mut Page, states: &Statements) {
    page.may(
        "fairness",
        states.fairness.as_ref().map(|Stated { value: rule, .. }| {
            let by = match &rule.by {
                FairBy::Key(name) => name.to_string(),
                FairBy::Expr(expr) => expr.source().to_owned(),
            };
            let weights: Vec<String> = rule.weights.iter().map(|(value, weight)| format!("{value} {weight}")).collect();
            let weights = if weights.is_empty() { String::new() } else { format!(", weights {}", weights.join(", ")) };
            format!("by {by}, step {}{weights}", show_duration(rule.step_ms))
        }),
    );
    page.may(
        "backlog",
        states.backlog.as_ref().map(|Stated { value: backlog, .. }| match backlog.full {
            BacklogFull::Refuse => format!("{}, then refuse", backlog.max),
            BacklogFull::DropOldest => format!("{}, then drop the oldest", backlog.max),
        }),
    );
    page.may("heartbeat", states.heartbeat_ms.as_ref().map(|stated| show_duration(u64::from(stated.value))));
    page.may("require_tag", states.require_tag.as_ref().map(|stated| stated.value.to_string()));
}

pub fn handler(handler: &Handler) -> Shown {
    let mut page = Page::default();
    page.say("on", handler.on.iter().map(|pattern| pattern.as_str()).collect::<Vec<_>>().join(", "));
    page.may("if", handler.condition.as_ref().map(|condition| condition.source().to_owned()));
    match &handler.does {
        Does::Workflow(workflow) => page.say("workflow", workflow.as_str()),
        Does::Task(kind) => page.say("task", kind.as_str()),
        Does::Forward(forward) => {
            page.say("forward.url", format!("{} {}", forward.method.as_str(), forward.url));
            page.say("forward.shape", forward.shape.as_str());
            page.say("forward.timeout", show_duration(forward.timeout_ms));
            let headers: Vec<String> =
                forward.headers.iter().map(|(name, value)| format!("{}: {value}", name.as_str())).collect();
            page.may("forward.headers", (!headers.is_empty()).then(|| headers.join(", ")));
        }
    }
    page.say("queue", handler.queue.as_str());
    page.say("input", if handler.whole { "event" } else { "data" });
    page.say("mode", handler.mode.as_str());
    page.may("critical", handler.critical.then(|| "true".to_owned()));
    let urgency = |urgency: &Urgency| match urgency {
        Urgency::Fixed(fixed) => priority(*fixed),
        Urgency::Expr(expr) => expr.source().to_owned(),
    };
    page.may("priority", handler.priority.as_ref().map(urgency));
    for limit in &handler.limits {
        let field = |what: &str| limit.key.as_ref().map_or(what.to_owned(), |key| format!("{what} by {}", key.source()));
        page.may(&field("concurrency"), limit.concurrency.map(|slots| slots.to_string()));
        page.may(&field("rate"), limit.rate.as_ref().map(rate));
    }
    let dropping = |drop_rate: &Dropping| rate(&drop_rate.rate) + &by(drop_rate.key.as_ref());
    page.may("drop_rate", handler.drop_rate.as_ref().map(dropping));
    if let Some(gather) = &handler.gather {
        page.say(if matches!(gather, Gathering::Batch { .. }) { "batch" } else { "debounce" }, gathering(gather));
    }
    let next = |single: &Single| (if single.replace { "replace" } else { "skip" }).to_owned() + &by(single.key.as_ref());
    page.may("singleton", handler.singleton.as_ref().map(next));
    let dedup = |dedup: &Deduping| show_duration(dedup.window_ms) + &by(dedup.key.as_ref());
    page.may("dedup", handler.dedup.as_ref().map(dedup));
    page.may("delay", (handler.delay_ms > 0).then(|| show_duration(handler.delay_ms)));
    page.may("start_within", handler.start_within_ms.map(show_duration));
    page.may("retry", handler.retry.as_ref().map(retry));
    page.may("timeout", handler.budget_ms.map(show_duration));
    let tags: Vec<&str> = handler.tags.iter().map(|tag| tag.as_str()).collect();
    page.may("tags", (!tags.is_empty()).then(|| tags.join(", ")));
    statements(&mut page, &handler.states);
    bounds(&mut page, &handler.bounds);
    page.0
}

fn bounds(page: &mut Page, bounds: &Bounds) {
    let span = |low: String, high: String| format!("{low} to {high}");
    page.may("bounds.priority", bounds.priority.map(|(low, high)| span(priority(low), priority(high))));
    page.may("bounds.concurrency", bounds.concurrency.map(|(low, high)| span(low.to_string(), high.to_string())));
    for (field, may) in [("bounds.pause", bounds.pause), ("bounds.shed", bounds.shed), ("bounds.batch", bounds.batch)] {
        page.may(field, may.then(|| "true".to_owned()));
    }
}

pub fn queue(rule: &QueueRule) -> Shown {
    let (mut page, config, usual) = (Page::default(), &rule.config, QueueConfig::default());
    page.may("concurrency", config.concurrency.map(|slots| slots.to_string()));
    page.may("rate", config.rate.as_ref().map(rate));
    for key in &rule.keys {
        let field = |what: &str| format!("keys.{}.{what}", key.name);
        page.may(&field("key"), key.from.as_ref().map(|from| from.source().to_owned()));
        page.may(&field("concurrency"), key.limit.concurrency.map(|slots| slots.to_string()));
        page.may(&field("rate"), key.limit.rate.as_ref().map(rate));
    }
    statements(&mut page, &rule.states);
    page.may("retry", (config.retry != usual.retry).then(|| retry(&config.retry)));
    page.may("timeout", (config.budget_ms != usual.budget_ms).then(|| show_duration(config.budget_ms)));
    page.may("override_slots", (config.override_slots != OVERRIDE_SLOTS_DEFAULT).then(|| config.override_slots.to_string()));
    let window_ms = config.idempotency_window_ms;
    page.may("idempotency_window", (window_ms != usual.idempotency_window_ms).then(|| show_duration(window_ms)));
    page.0
}

pub fn cron(cron: &Cron) -> Shown {
    let mut page = Page::default();
    page.say("schedule", cron.schedule.as_str());
    page.say("zone", cron.zone.name());
    page.say("event", cron.event.as_str());
    page.say("data", &*cron.data);
    let CatchUp { slots, within_ms } = cron.catch_up;
    let within = show_duration(within_ms);
    page.say(
        "catch_up",
        match slots {
            Missed::Skip => "skip".to_owned(),
            Missed::One => format!("one within {within}"),
            Missed::All { max } => format!("all, at most {max}, within {within}"),
        },
    );
    page.may("jitter", (cron.jitter_ms > 0).then(|| show_duration(cron.jitter_ms)));
    page.say("overlap", cron.overlap.as_str());
    page.may("critical", cron.critical.then(|| "true".to_owned()));
    page.0
}

pub fn webhook(webhook: &Webhook) -> Shown {
    let mut page = Page::default();
    page.say("provider", webhook.provider.as_str());
    page.say("secrets", webhook.secrets.iter().map(|secret| format!("${{env:{}}}", secret.env)).collect::<Vec<_>>().join(", "));
    match &webhook.proof {
        Proof::Shared { header, prefix } => {
            page.say("header", header.as_str());
            page.may("header_prefix", (!prefix.is_empty()).then(|| prefix.to_string()));
        }
        Proof::Signature(signature) => {
            let signed = |signed: &Signed| match signed {
                Signed::Text(text) => text.to_string(),
                Signed::Timestamp => "${timestamp}".to_owned(),
                Signed::Id => "${id}".to_owned(),
                Signed::Body => "${body}".to_owned(),
            };
            page.say("header", signature.header.as_str());
            let layout = match &signature.layout {
                Layout::Words { prefix } if prefix.is_empty() => String::new(),
                Layout::Words { prefix } => format!(", after {prefix}"),
                Layout::Pairs => ", as t=…,v1=…".to_owned(),
            };
            let algorithm = Algorithm::NAMED.iter().find(|(_, known)| *known == signature.algorithm).map_or("", |known| known.0);
            let encoding = Encoding::NAMED.iter().find(|(_, known)| *known == signature.encoding).map_or("", |known| known.0);
            page.say("signature", format!("{algorithm} in {encoding}{layout}"));
            page.say("signs", signature.signed.iter().map(signed).collect::<String>());
            if let Some(stamp) = &signature.stamp {
                page.may("timestamp_header", stamp.header.as_ref().map(|header| header.as_str().to_owned()));
                page.say("tolerance", show_duration(stamp.tolerance_ms));
            }
        }
    }
    page.say(
        "event",
        match &webhook.naming {
            Naming::Fixed(name) => name.to_string(),
            Naming::Github { prefix } => format!("{prefix}/ and what X-GitHub-Event and `action` say"),
            Naming::Stripe { prefix } => format!("{prefix}/ and what `type` says"),
            Naming::Template { written, .. } => written.to_string(),
        },
    );
    page.may(
        "id",
        webhook.id.as_ref().map(|id| match id {
            IdFrom::Header(header) => format!("header {}", header.as_str()),
            IdFrom::Body(key) => format!("event.data.{key}"),
            IdFrom::Expr(expr) => expr.source().to_owned(),
        }),
    );
    page.may("body_max", (webhook.body_bytes_max != PAYLOAD_BYTES_MAX).then(|| webhook.body_bytes_max.to_string()));
    page.0
}
