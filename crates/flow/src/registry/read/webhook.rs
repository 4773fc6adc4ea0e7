//! `webhooks:` → [`Webhook`].

use super::expression::{expr, template, word};
use crate::context::Wants;
use crate::define::fields::Fields;
use crate::define::scalars::{duration, int, name, text, wrong};
use crate::expr::Names;
use crate::limits::*;
use crate::problem::{Problem, Problems};
use crate::registry::forward::is_variable;
use crate::registry::webhook::*;
use crate::source::{Data, Entry, Value, short};
use kernel::limits::PAYLOAD_BYTES_MAX;
use kernel::names::{EventName, WebhookName};

pub fn webhook(entry: &Entry, problems: &mut Problems) -> Option<Webhook> {
    let before = problems.count();
    let called = WebhookName::parse(&entry.key).map_err(|bad| problems.say(&entry.key_at, bad.to_string())).ok();
    if &*entry.key == "cron" {
        problems.say(&entry.key_at, "a webhook may not be called `cron`: the ids of its events would look like those of crons");
    }
    let mut fields = Fields::of(&entry.value, format!("webhook `{}`", short(&entry.key)), problems)?;
    let provider = fields.require("provider", problems)?;
    let provider = word(&provider.value, &Provider::ALL.map(|provider| (provider.as_str(), provider)), problems)?;
    fields.rename(format!("webhook `{}` of provider {}", short(&entry.key), provider.as_str()));
    let secrets = secrets(&mut fields, problems);
    let body_bytes_max = fields.take("body_max").and_then(|entry| bytes(&entry.value, problems));
    let id_header = fields.take("id_header");
    let id_expr = fields.take("id");
    if let (Some(_), Some(other)) = (id_header, id_expr) {
        problems.say(&other.key_at, "`id` and `id_header` say the same thing twice: leave one of them out");
    }
    let names = Names::of_event(&REQUEST_KEYS);
    let id = match (id_header, id_expr) {
        (Some(entry), _) => header(&entry.value, problems).map(IdFrom::Header),
        (None, Some(entry)) => expr(&entry.value, &names, Wants::Anything, problems).map(IdFrom::Expr),
        (None, None) => match provider {
            Provider::Github => Some(IdFrom::Header(Header::known("x-github-delivery"))),
            Provider::Stripe => Some(IdFrom::Body("id")),
            Provider::Hmac | Provider::Secret => None,
        },
    };
    let id_in_header = matches!(id, Some(IdFrom::Header(_)));
    let proof = proof(provider, id_in_header, &mut fields, problems);
    let naming = naming(&entry.key, provider, &mut fields, problems);
    fields.finish(problems);
    if problems.count() > before {
        return None;
    }
    Some(Webhook {
        name: called?,
        provider,
        proof: proof?,
        secrets,
        body_bytes_max: body_bytes_max.unwrap_or(PAYLOAD_BYTES_MAX),
        naming: naming?,
        id,
    })
}

fn proof(provider: Provider, id_in_header: bool, fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Proof> {
    let signature = |header, layout, signed, stamp| {
        let (algorithm, encoding) = (Algorithm::Sha256, Encoding::Hex);
        Proof::Signature(Signature { header, layout, algorithm, encoding, signed, stamp })
    };
    let words = |prefix: &str| Layout::Words { prefix: prefix.into() };
    match provider {
        Provider::Github => Some(signature(Header::known("x-hub-signature-256"), words("sha256="), vec![Signed::Body], None)),
        Provider::Stripe => {
            let stamp = Stamp { header: None, tolerance_ms: tolerance(fields, problems) };
            let signed = vec![Signed::Timestamp, Signed::Text(".".into()), Signed::Body];
            Some(signature(Header::known("stripe-signature"), Layout::Pairs, signed, Some(stamp)))
        }
        Provider::Hmac => hmac(id_in_header, fields, problems),
        Provider::Secret => {
            let header = fields.require("header", problems).and_then(|entry| header(&entry.value, problems));
            let prefix = fields.take("header_prefix").and_then(|entry| text(&entry.value, problems));
            Some(Proof::Shared { header: header?, prefix: prefix.as_deref().unwrap_or_default().into() })
        }
    }
}

fn hmac(id_in_header: bool, fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Proof> {
    let signature_header = fields.require("header", problems).and_then(|entry| header(&entry.value, problems));
    let prefix = fields.take("header_prefix").and_then(|entry| text(&entry.value, problems));
    let algorithm = fields.take("algorithm").and_then(|entry| word(&entry.value, &Algorithm::NAMED, problems));
    let encoding = fields.take("encoding").and_then(|entry| word(&entry.value, &Encoding::NAMED, problems));
    let stamp = fields.take("timestamp_header").map(|entry| {
        let header = header(&entry.value, problems);
        Stamp { header, tolerance_ms: tolerance(fields, problems) }
    });
    let signed = match fields.take("signs") {
        Some(entry) => signs(&entry.value, stamp.is_some(), id_in_header, problems)?,
        None if stamp.is_some() => vec![Signed::Timestamp, Signed::Text(".".into()), Signed::Body],
        None => vec![Signed::Body],
    };
    Some(Proof::Signature(Signature {
        header: signature_header?,
        layout: Layout::Words { prefix: prefix.as_deref().unwrap_or_default().into() },
        algorithm: algorithm.unwrap_or(Algorithm::Sha256),
        encoding: encoding.unwrap_or(Encoding::Hex),
        signed,
        stamp,
    }))
}

fn tolerance(fields: &mut Fields<'_>, problems: &mut Problems) -> u64 {
    let entry = fields.take("tolerance");
    entry.and_then(|entry| duration(&entry.value, problems)).unwrap_or(WEBHOOK_TOLERANCE_MS_DEFAULT)
}

/// `v0:${timestamp}:${body}`.
fn signs(value: &Value, stamped: bool, id_in_header: bool, problems: &mut Problems) -> Option<Vec<Signed>> {
    let written = text(value, problems)?;
    let (mut parts, mut rest) = (Vec::new(), &*written);
    while let Some((plain, after)) = rest.split_once("${") {
        let Some((called, after)) = after.split_once('}') else {
            problems.say(&value.at, "`${` has no closing `}`");
            return None;
        };
        if !plain.is_empty() {
            parts.push(Signed::Text(plain.into()));
        }
        parts.push(match called.trim() {
            "body" => Signed::Body,
            "timestamp" if stamped => Signed::Timestamp,
            "id" if id_in_header => Signed::Id,
            "timestamp" => {
                problems.say(&value.at, "a timestamp that is signed stands in a header: name it in `timestamp_header`");
                return None;
            }
            "id" => {
                problems.say(&value.at, "an id that is signed stands in a header: name it in `id_header`");
                return None;
            }
            other => {
                let told = format!("`${{{}}}` is none of ${{body}}, ${{timestamp}}, ${{id}}", short(other));
                problems.say(&value.at, told);
                return None;
            }
        });
        rest = after;
    }
    if !rest.is_empty() {
        parts.push(Signed::Text(rest.into()));
    }
    if !parts.contains(&Signed::Body) {
        problems.say(&value.at, "`signs` must hold ${body}: what is not signed can be exchanged");
        return None;
    }
    if stamped && !parts.contains(&Signed::Timestamp) {
        problems.say(&value.at, "`signs` must hold ${timestamp}: one that is not signed proves nothing");
        return None;
    }
    Some(parts)
}

fn naming(called: &str, provider: Provider, fields: &mut Fields<'_>, problems: &mut Problems) -> Option<Naming> {
    let given = provider == Provider::Github || provider == Provider::Stripe;
    let prefix = if given { fields.take("prefix") } else { None };
    let event = fields.take("event");
    if let (Some(_), Some(event)) = (prefix, event) {
        problems.say(&event.key_at, "`event` names the whole event: leave `prefix` out, or write it in front");
        return None;
    }
    if let Some(event) = event {
        if let Data::Text(text) = &event.value.data
            && text.text.contains("${")
        {
            let template = template(&event.value, &Names::of_event(&REQUEST_KEYS), problems)?;
            return Some(Naming::Template { template, written: (*text.text).into() });
        }
        return name(&event.value, EventName::parse, problems).map(Naming::Fixed);
    }
    let prefix = match prefix {
        Some(entry) => name(&entry.value, EventName::parse, problems)?.as_str().into(),
        None => provider.as_str().into(),
    };
    match provider {
        Provider::Github => Some(Naming::Github { prefix }),
        Provider::Stripe => Some(Naming::Stripe { prefix }),
        Provider::Hmac | Provider::Secret => EventName::parse(called).ok().map(Naming::Fixed),
    }
}

fn secrets(fields: &mut Fields<'_>, problems: &mut Problems) -> Vec<Secret> {
    let (one, several) = (fields.take("secret"), fields.take("secrets"));
    match (one, several) {
        (Some(_), Some(other)) => {
            problems.say(&other.key_at, "`secret` and `secrets` say the same thing twice: put all of them in `secrets`");
            Vec::new()
        }
        (Some(entry), None) => secret(&entry.value, problems).into_iter().collect(),
        (None, Some(entry)) => {
            let found = crate::define::scalars::list(&entry.value, WEBHOOK_SECRETS_MAX, problems, secret);
            if matches!(&entry.value.data, Data::List(values) if values.is_empty()) {
                problems.say(&entry.value.at, "at least one secret is expected, not an empty list");
            }
            found
        }
        (None, None) => {
            let problem = Problem::new(fields.at, format!("{} needs `secret`", fields.what()));
            problems.add(problem.suggest("write `secret: ${env:NAME}` and put the secret in that variable of the environment"));
            Vec::new()
        }
    }
}

/// `${env:NAME}` and nothing else: a secret that stands in the text is refused, and not repeated.
fn secret(value: &Value, problems: &mut Problems) -> Option<Secret> {
    let env = match &value.data {
        Data::Text(text) => env_name(&text.text),
        _ => None,
    };
    if env.is_none() {
        let problem = Problem::new(&value.at, "a secret does not stand in the registry: its text is no place to hide");
        problems.add(problem.suggest("write ${env:NAME} and put the secret in that variable of the environment"));
    }
    env.map(|env| Secret { env: env.into() })
}

/// The variable that `${env:NAME}` names.
fn env_name(text: &str) -> Option<&str> {
    text.trim().strip_prefix("${env:")?.strip_suffix('}').filter(|env| is_variable(env))
}

pub fn header(value: &Value, problems: &mut Problems) -> Option<Header> {
    let found = Header::parse(&text(value, problems)?);
    if found.is_none() {
        wrong(value, "the name of a header such as X-Signature", problems);
    }
    found
}

/// A number, or `64KiB`, `1MiB`.
fn bytes(value: &Value, problems: &mut Problems) -> Option<usize> {
    if let Data::Text(text) = &value.data {
        for (unit, size) in [("KiB", 1_024), ("MiB", 1_024 * 1_024)] {
            let count = text.text.strip_suffix(unit).and_then(|count| count.trim().parse::<usize>().ok());
            if let Some(bytes) =
                count.and_then(|count| count.checked_mul(size)).filter(|bytes| (1..=PAYLOAD_BYTES_MAX).contains(bytes))
            {
                return Some(bytes);
            }
        }
        wrong(value, &format!("a number of bytes up to {PAYLOAD_BYTES_MAX}, or 64KiB"), problems);
        return None;
    }
    int(value, 1, PAYLOAD_BYTES_MAX as i64, problems).map(|bytes| bytes as usize)
}
