//! `signaller webhook`: where senders post to, and what came of it.

use super::Session;
use crate::output::{Answer, Outcome};
use crate::table::{cell, table};
use crate::units::{now, show_age};
use clap::{Args, Subcommand};
use comfy_table::Color;
use doors::wire::{WebhookList, WebhookView};

/// Webhooks: list them, with what came to each and why it was refused
#[derive(Args, Debug)]
pub struct WebhookArgs {
    #[command(subcommand)]
    command: WebhookCommand,
}

#[derive(Subcommand, Debug)]
enum WebhookCommand {
    /// List the webhooks of the registry in force; counts are since the server started, and secrets are never shown
    #[command(after_help = "Examples:\n  signaller webhook list")]
    List,
}

pub fn run(args: WebhookArgs, session: &Session) -> Outcome {
    let WebhookCommand::List = args.command;
    let list: WebhookList = session.client.get("/v1/webhooks")?;
    if list.webhooks.is_empty() {
        let text = "The registry in force has no webhook. Add one under `webhooks:`.";
        return Ok(Answer::new(&list, text).next("registry show", "the registry in force"));
    }
    let at = now();
    let rows = list.webhooks.iter().map(|webhook| {
        let secret = cell(secret_text(webhook));
        let refusal = webhook.last_refusal.as_ref();
        vec![
            cell(&webhook.webhook),
            cell(&webhook.provider),
            cell(&webhook.path),
            if webhook.secret_set { secret } else { secret.fg(Color::Red) },
            cell(webhook.accepted),
            cell(webhook.refused),
            cell(refusal.map_or_else(String::new, |refusal| format!("{}: {}", show_age(refusal.at, at), refusal.why))),
        ]
    });
    let header = ["WEBHOOK", "PROVIDER", "PATH", "SECRET", "ACCEPTED", "REFUSED", "LAST REFUSAL"];
    let text = table(&session.screen, &header, rows);
    Ok(Answer::new(&list, text).next("event list --since 1h", "what came in"))
}

fn secret_text(webhook: &WebhookView) -> String {
    match (webhook.secret_set, webhook.unset.is_empty()) {
        (true, true) => "set".into(),
        (true, false) => format!("set; {} not", webhook.unset.join(", ")),
        (false, _) => format!("not set: {}", webhook.unset.join(", ")),
    }
}
