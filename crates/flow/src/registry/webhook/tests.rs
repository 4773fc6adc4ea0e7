use super::*;
use crate::registry::Registry;
use serde_json::json;

fn compiled(text: &str) -> Registry {
    Registry::compile(text.as_bytes()).unwrap_or_else(|problems| panic!("{text}\n{problems:#?}"))
}

fn webhook(fields: &str) -> Registry {
    compiled(&format!("webhooks:\n  shop: {{{fields}, secret: \"${{env:S}}\"}}"))
}

#[test]
fn providers_are_put_in_the_same_words() {
    let registry = compiled("webhooks:\n  gh:\n    provider: github\n    secret: ${env:GITHUB_SECRET}\n");
    let github = registry.webhook("gh").expect("it is there");
    assert_eq!(github.secrets, [Secret { env: "GITHUB_SECRET".into() }]);
    let Proof::Signature(signature) = &github.proof else { panic!("{:?}", github.proof) };
    assert_eq!((signature.header.as_str(), &signature.stamp), ("x-hub-signature-256", &None));
    assert_eq!(signature.layout, Layout::Words { prefix: "sha256=".into() });

    let registry = webhook("provider: stripe, tolerance: 1m");
    let Proof::Signature(signature) = &registry.webhook("shop").expect("it is there").proof else { panic!() };
    assert_eq!(signature.layout, Layout::Pairs);
    assert_eq!(signature.stamp, Some(Stamp { header: None, tolerance_ms: 60_000 }));
    assert_eq!(signature.signed, [Signed::Timestamp, Signed::Text(".".into()), Signed::Body]);

    let registry = webhook(
        "provider: hmac, header: X-Sign, timestamp_header: X-Time, id_header: X-Id, signs: 'v0:${id}:${timestamp}:${body}'",
    );
    let Proof::Signature(signature) = &registry.webhook("shop").expect("it is there").proof else { panic!() };
    let (v0, colon) = (Signed::Text("v0:".into()), Signed::Text(":".into()));
    assert_eq!(signature.signed, [v0, Signed::Id, colon.clone(), Signed::Timestamp, colon, Signed::Body]);
}

#[test]
fn events_get_names_and_ids() {
    let push = json!({"ref": "main"});
    let opened = json!({"action": "opened", "id": 7});
    let paid = json!({"id": "evt_1", "type": "invoice.paid"});
    for (fields, headers, body, name, id) in [
        ("provider: github", &[("X-GitHub-Event", "push"), ("X-GitHub-Delivery", "d1")][..], &push, "github/push", "d1"),
        ("provider: github, prefix: gh/acme", &[("x-github-event", "pull_request")], &opened, "gh/acme/pull_request.opened", "-"),
        ("provider: github", &[], &push, "the request has no header X-GitHub-Event, which names the event", "-"),
        (
            "provider: github",
            &[("x-github-event", "a b")],
            &push,
            "event name `github/a b` may hold only letters a-z and A-Z, digits and _ - . / :",
            "-",
        ),
        ("provider: stripe", &[], &paid, "stripe/invoice.paid", "evt_1"),
        ("provider: stripe", &[], &push, "the request has no `type` in its body, which names the event", "-"),
        ("provider: hmac, header: X-Sign", &[], &push, "shop", "-"),
        ("provider: hmac, header: X-Sign, event: shop/order, id: event.data.id", &[], &opened, "shop/order", "7"),
        (
            "provider: secret, header: X-Token, event: \"shop/${event.headers['x-topic']}\", id_header: X-Id",
            &[("X-Topic", "order"), ("X-Id", "9")],
            &push,
            "shop/order",
            "9",
        ),
        (
            "provider: secret, header: X-Token, event: \"shop/${event.data.topic}\"",
            &[],
            &push,
            "event.data.topic: no key `topic` in event.data, where event.data = {\"ref\":\"main\"}",
            "-",
        ),
        (
            "provider: secret, header: X-Token, id: event.data",
            &[],
            &push,
            "shop",
            "`id` gives {\"ref\":\"main\"}, and an id is a text or a number",
        ),
    ] {
        let registry = webhook(fields);
        let webhook = registry.webhook("shop").expect("it is there");
        let request = Request::new(headers.iter().copied(), body.clone());
        let found = webhook.event_name(&request).map_or_else(|why| why, |name| name.to_string());
        assert_eq!(found, name, "{fields}");
        let found = webhook.event_key(&request).map_or_else(|why| why, |id| id.map_or("-".to_owned(), |id| id.to_string()));
        assert_eq!(found, id, "{fields}");
    }
}

#[test]
fn what_is_wrong_with_a_webhook_is_told() {
    for (fields, expected) in [
        ("provider: githob, secret: x", "`githob` is none of github, stripe, hmac, secret\n  did you mean `github`?"),
        (
            "provider: github",
            "webhook `w` of provider github needs `secret`\n  write `secret: ${env:NAME}` and put the secret in that variable of the environment",
        ),
        (
            "provider: github, secret: hunter2",
            "a secret does not stand in the registry: its text is no place to hide\n  write ${env:NAME} and put the secret in that variable of the environment",
        ),
        (
            "provider: github, secret: \"${env:A}\", secrets: [\"${env:B}\"]",
            "`secret` and `secrets` say the same thing twice: put all of them in `secrets`",
        ),
        ("provider: github, secrets: []", "at least one secret is expected, not an empty list"),
        ("provider: hmac, secret: \"${env:A}\"", "webhook `w` of provider hmac needs `header`"),
        (
            "provider: hmac, header: X, secret: \"${env:A}\", signs: '${timestamp}${body}'",
            "a timestamp that is signed stands in a header: name it in `timestamp_header`",
        ),
        (
            "provider: hmac, header: X, timestamp_header: T, secret: \"${env:A}\", signs: '${body}'",
            "`signs` must hold ${timestamp}: one that is not signed proves nothing",
        ),
        (
            "provider: hmac, header: X, secret: \"${env:A}\", signs: x",
            "`signs` must hold ${body}: what is not signed can be exchanged",
        ),
        ("provider: hmac, header: a b, secret: \"${env:A}\"", "the name of a header such as X-Signature is expected, not `a b`"),
        (
            "provider: stripe, secret: \"${env:A}\", tolerence: 5m",
            "webhook `w` of provider stripe has no field `tolerence`\n  did you mean `tolerance`?",
        ),
        ("provider: stripe, secret: \"${env:A}\", event: \"${event.body.x}\"", "`event` has `headers` and `data`, but no `body`"),
        (
            "provider: stripe, secret: \"${env:A}\", body_max: 1GiB",
            "a number of bytes up to 262144, or 64KiB is expected, not `1GiB`",
        ),
    ] {
        let problems = Registry::compile(format!("webhooks:\n  w: {{{fields}}}").as_bytes()).expect_err(fields);
        let told: Vec<String> = problems.iter().map(|problem| problem.to_string()).collect();
        let plain = told[0].splitn(3, ':').nth(2).unwrap_or_default().trim_start();
        assert_eq!((plain, told.len()), (expected, 1), "{fields}: {told:?}");
        assert!(!told.concat().contains("hunter2"));
    }
}
