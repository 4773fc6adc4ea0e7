//! The payloads that GitHub publishes, each signed and taken through the webhook door.

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use doors::webhooks::{Secrets, verify};
use flow::registry::Registry;
use hmac::{Hmac, KeyInit, Mac};
use kernel::time::Time;
use serde_json::Value;
use sha2::Sha256;
use std::path::Path;

const SECRET: &str = "a secret of ours";

/// GitHub's own, and those of five versions of its server.
const EDITIONS: [&str; 6] = ["api.github.com", "ghes-31", "ghes-32", "ghes-33", "ghes-34", "ghes-35"];

fn examples(edition: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/npm/node_modules/@octokit/webhooks-examples");
    let text = std::fs::read_to_string(folder.join(edition).join("index.json"));
    let text = text.expect("GitHub's example payloads are not there: run `make payloads` once, which fetches them with npm");
    serde_json::from_str(&text).expect("the examples are a list")
}

fn signed(event: &str, delivery: &str, body: &[u8]) -> HeaderMap {
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).expect("any key will do");
    mac.update(body);
    let tag: String = mac.finalize().into_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    let signature = format!("sha256={tag}");
    let given = [
        ("x-hub-signature-256", signature.as_str()),
        ("x-github-event", event),
        ("x-github-delivery", delivery),
        ("content-type", "application/json"),
    ];
    let header = |(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).expect("it is plain"));
    given.map(header).into_iter().collect()
}

#[test]
fn every_payload_that_github_publishes_becomes_its_event() {
    let registry = Registry::compile(b"webhooks:\n  gh: {provider: github, secret: '${env:S}'}\n").expect("it compiles");
    let webhook = registry.webhook("gh").expect("it is there");
    let secrets = Secrets::of(webhook, |_| Some(SECRET.into()));
    let (mut count, mut names) = (0, std::collections::BTreeSet::new());
    for edition in EDITIONS {
        for kind in examples(edition) {
            let event = kind["name"].as_str().expect("a kind of event has a name");
            for payload in kind["examples"].as_array().expect("and examples") {
                count += 1;
                let delivery = format!("delivery-{count}");
                // As GitHub sends it, and as somebody might who likes to read it.
                for body in [serde_json::to_vec(payload), serde_json::to_vec_pretty(payload)] {
                    let body = body.expect("it was JSON");
                    let headers = signed(event, &delivery, &body);
                    let incoming = verify(webhook, &secrets, &headers, &body, Time::ZERO)
                        .unwrap_or_else(|refused| panic!("{edition} {event}: {refused:?}"));
                    let action = payload["action"].as_str().map(|action| format!(".{action}")).unwrap_or_default();
                    assert_eq!(incoming.spec.name.as_str(), format!("github/{event}{action}"));
                    assert_eq!(incoming.spec.key.map(|key| key.to_string()), Some(delivery.clone()));
                    assert_eq!(incoming.data.text().as_bytes(), body);
                    let mut other = body;
                    *other.last_mut().expect("it is not empty") = b' ';
                    assert_eq!(
                        verify(webhook, &secrets, &headers, &other, Time::ZERO).map_err(|no| no.code),
                        Err("unauthorized")
                    );
                    names.insert(incoming.spec.name);
                }
            }
        }
    }
    assert_eq!((count, names.len()), (726, 172), "payloads and names of the version that `make payloads` fetches");
}
