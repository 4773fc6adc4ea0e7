//! The text of a registry, decoded: one file for each thing it may state. Decoding goes on after a mistake, so that several are
//! told at once.

mod expression;
mod webhook;

use super::Registry;
use crate::define::fields::Fields;
use crate::limits::*;
use crate::problem::Problems;
use crate::source::{Data, Entry, Value};

pub fn registry(document: &Value, problems: &mut Problems) -> Option<Registry> {
    let mut fields = Fields::of(document, "a registry", problems)?;
    let webhooks = fields.take("webhooks").map_or(&[][..], |entry| entries(entry, WEBHOOKS_MAX, problems));
    let webhooks = webhooks.iter().filter_map(|entry| webhook::webhook(entry, problems));
    let webhooks = webhooks.map(|webhook| (webhook.name.clone(), webhook)).collect();
    fields.finish(problems);
    Some(Registry { webhooks })
}

/// Things by their names.
fn entries<'a>(entry: &'a Entry, most: usize, problems: &mut Problems) -> &'a [Entry] {
    match &entry.value.data {
        Data::Map(entries) if entries.len() > most => {
            problems.say(&entry.key_at, format!("there are {} {}; at most {most} are read", entries.len(), entry.key));
            &[]
        }
        Data::Map(entries) => entries,
        Data::Null => &[],
        _ => {
            let told = format!("`{}` is a map from names to what they stand for, not {}", entry.key, entry.value.kind());
            problems.say(&entry.value.at, told);
            &[]
        }
    }
}
