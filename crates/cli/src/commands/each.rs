//! Several tasks or runs changed by one command, in the order they were named. One that is refused does not hold up the
//! others; a server that cannot be reached does. Each is answered for by name.

use crate::commands::Session;
use crate::output::{Answer, Exit, Failure, Outcome};
use crate::units::count_of;
use serde::Serialize;
use serde_json::{Value, json};
use std::fmt::Display;

/// Changes each once. `noun` is what one of them is called, here and in the answer.
pub fn each<I: Copy + PartialEq + Display, N: Serialize>(
    session: &Session,
    noun: &'static str,
    named: &[I],
    change: impl Fn(I) -> Result<N, Failure>,
    tell: impl Fn(&N) -> String,
) -> Outcome {
    let mut wanted: Vec<I> = Vec::new();
    for id in named {
        if !wanted.contains(id) {
            wanted.push(*id);
        }
    }
    let refused = |id: &I, code: &str, message: &str| json!({noun: id.to_string(), "ok": false, "error": {"code": code, "message": message}});
    let (mut all, mut lines, mut first) = (Vec::<Value>::new(), Vec::new(), None::<(I, Failure)>);
    let (mut away, mut not_done) = (false, 0);
    for id in &wanted {
        if away {
            all.push(refused(id, "not_tried", "the server could not be asked about the one before"));
            lines.push(format!("{id} was not tried."));
            not_done += 1;
            continue;
        }
        match change(*id) {
            Ok(now) => {
                lines.push(tell(&now));
                let mut one = json!({noun: id.to_string(), "ok": true});
                let rest = serde_json::to_value(&now).expect("an answer has a JSON form");
                one.as_object_mut().expect("it is one").extend(rest.as_object().cloned().unwrap_or_default());
                all.push(one);
            }
            Err(failure) => {
                away = failure.exit == Exit::Unavailable;
                lines.push(format!("{id} was not changed: {}.", failure.message));
                all.push(refused(id, &failure.code, &failure.message));
                not_done += 1;
                first.get_or_insert((*id, failure));
            }
        }
    }
    let changed = json!({format!("{noun}s"): all});
    let Some((id, failure)) = first else { return Ok(Answer::new(&changed, lines.join("\n"))) };
    let failure = if wanted.len() == 1 {
        failure
    } else {
        // For people each is told of; in JSON the result does it.
        if session.screen.people {
            session.screen.line(&lines.join("\n"));
        }
        let many = count_of(wanted.len() as u64, noun);
        let message = format!("{not_done} of {many} not done; the first: {}", failure.message);
        Failure { message, ..failure }
    };
    let failure = failure.result(&changed);
    // There is nothing to show of one that is not there.
    let there = !matches!(failure.exit, Exit::NotFound | Exit::Unavailable);
    Err(if there { failure.next(format!("{noun} show {id}"), "see how it stands") } else { failure })
}
