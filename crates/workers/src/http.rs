//! Work done by a request: `http` tasks, and those of types that a preset serves. What comes back is the output; what it was
//! not expected to be is a failure, and whether that may be tried again, and when, is the peer's to say.
//!
//! Invariant: it connects to public addresses and to those that were allowed, on every redirect anew; and no secret that went out
//! is in what is kept, told or logged.

mod answer;
mod redirect;
mod request;

pub use request::{Asked, FIELDS};

use crate::client::{Answered, Client, Cut, NotAnswered};
use crate::inside::{AGAIN_AFTER, Job, Performs, Place, Say, with_blobs};
use crate::secrets::{Mask, Secrets};
use answer::{Apart, Kept, keep};
use engine::Engine;
use flow::expr::{Bindings, Budget, Expr, Names, Root, Template};
use kernel::command::Outcome;
use kernel::limits::PAYLOAD_BYTES_MAX;
use kernel::names::{TypeName, WorkerName, clip};
use kernel::record::{Failure, Payload};
use redirect::{follow, is_redirect};
use request::{Prepared, bad, host_of, prepare};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use store::StoreError;
use tokio::time::Instant;

/// The type of tasks that say themselves what is sent.
pub const HTTP_TYPE: &str = "http";
/// What is read of an answer.
pub const RESPONSE_BYTES_MAX: usize = 8 * 1_024 * 1_024;
/// What is told of one that is a "no".
const TOLD_BYTES_MAX: usize = 300;
/// What making a request of a preset, or an output of its answer, may cost.
const COST_MAX: u64 = 200_000;
const BUILT_BYTES_MAX: u64 = 4 * 1_024 * 1_024;

/// A request that tasks of a type are made into.
#[derive(Debug)]
pub struct Preset {
    /// The fields of an `http` task; `${input.…}` in their texts is of the task's own input.
    request: Template,
    /// What of the answer (`output`) is the task's output.
    output: Option<Expr>,
}

impl Preset {
    pub fn new(request: &Value, output: Option<&str>) -> Result<Preset, String> {
        let told =
            |problems: Vec<flow::expr::Problem>| problems.first().map(|problem| problem.message.clone()).unwrap_or_default();
        let request = Template::compile(request, &Names::new([Root::Input])).map_err(told)?;
        let output = output.map(|text| Expr::compile(text, &Names::new([Root::Output]))).transpose();
        let output = output.map_err(|problems| format!("output: {}", told(problems)))?;
        Ok(Preset { request, output })
    }

    fn asked(&self, input: &Payload) -> Result<Asked, Failure> {
        let input: Value = serde_json::from_str(input.text()).map_err(|error| bad(error.to_string()))?;
        let made = self.request.resolve(&Bindings::new().bind(Root::Input, &input), &mut Budget::new(COST_MAX, BUILT_BYTES_MAX));
        let made = made.map_err(|error| bad(format!("its preset cannot be filled in: {error}")))?;
        serde_json::from_value(made).map_err(|error| bad(format!("its preset gives no request: {error}")))
    }
}

/// What of an answer is the output.
fn picked(pick: &Expr, answer: &Payload) -> Result<Payload, Failure> {
    let unfit = |why: String| Failure {
        code: "unfit_response".into(),
        message: format!("its preset finds no output in the answer: {why}"),
    };
    let answer: Value = serde_json::from_str(answer.text()).map_err(|error| unfit(error.to_string()))?;
    let picked = pick.eval(&Bindings::new().bind(Root::Output, &answer), &mut Budget::new(COST_MAX, BUILT_BYTES_MAX));
    Ok(Payload(picked.map_err(|error| unfit(error.to_string()))?.to_string().into()))
}

pub struct Http {
    engine: Engine,
    client: Client,
    secrets: Arc<Secrets>,
    presets: BTreeMap<TypeName, Arc<Preset>>,
    response_bytes_max: usize,
}

impl Http {
    pub fn new(
        engine: Engine,
        client: Client,
        secrets: Arc<Secrets>,
        presets: BTreeMap<TypeName, Arc<Preset>>,
        response_bytes_max: usize,
    ) -> Http {
        Http { engine, client, secrets, presets, response_bytes_max }
    }

    /// The worker that sends, so many requests at a time.
    pub fn place(&self, slots: usize, stop_limit: Duration) -> Place {
        let worker = WorkerName::parse("signaller:http").expect("it is a name");
        let own = TypeName::parse(HTTP_TYPE).expect("it is a type");
        let types = std::iter::once(own).chain(self.presets.keys().cloned()).collect();
        Place { worker, types, slots, stop_limit }
    }

    /// `Err`: why it failed.
    async fn send(&self, job: &Job) -> Result<Payload, Outcome> {
        let preset = self.presets.get(&job.grant.kind);
        let asked = match preset {
            Some(preset) => preset.asked(&job.input).map_err(lasting)?,
            None => serde_json::from_str(job.input.text())
                .map_err(|error| lasting(bad(format!("the input of an http task cannot be sent: {error}"))))?,
        };
        let prepared = prepare(asked, &self.secrets, &job.work_key(), self.response_bytes_max).map_err(lasting)?;
        let mask = prepared.revealed.mask();
        let (host, answered) = self.exchange(&prepared, &mask).await?;
        if !prepared.expect.holds(answered.status) {
            return Err(unexpected(&host, &answered, &mask));
        }
        match answered.cut {
            Some(Cut::Long) => {
                let message = format!("{host} answered with more than {} bytes", self.response_bytes_max);
                return Err(lasting(Failure { code: "response_too_large".into(), message }));
            }
            Some(Cut::Broken) => return Err(passing("broken_off", format!("{host} did not send all of its answer"))),
            None => {}
        }
        let pick = preset.and_then(|preset| preset.output.as_ref());
        // What is picked may be small, however large it is picked from.
        let inline_bytes_max = if pick.is_some() { usize::MAX } else { PAYLOAD_BYTES_MAX };
        let output = match keep(answered, prepared.response, &mask, inline_bytes_max).map_err(lasting)? {
            Kept::Inline(output) => output,
            Kept::Apart(apart) => self.put_away(apart, &job.say).await?,
        };
        pick.map_or(Ok(output.clone()), |pick| picked(pick, &output)).map_err(lasting)
    }

    async fn put_away(&self, apart: Apart, say: &Say) -> Result<Payload, Outcome> {
        let apart = Arc::new(apart);
        loop {
            let put = apart.clone();
            match with_blobs(&self.engine, move |engine| engine.put_blob(&put.bytes)).await {
                Ok(Ok(hold)) => {
                    let output = apart.output(format!("blob:{}", hold.id()));
                    say.keep(hold);
                    return Ok(output);
                }
                Ok(Err(error)) => {
                    let (code, message) = ("output_unkept", format!("its answer could not be written: {error}"));
                    // What is refused would be so again.
                    return Err(match error {
                        StoreError::Refused(_) => lasting(Failure { code: code.into(), message }),
                        _ => passing(code, message),
                    });
                }
                // For that alone it is not sent again.
                Err(away) => {
                    tracing::warn!(%away, "an answer waits");
                    tokio::time::sleep(AGAIN_AFTER).await;
                }
            }
        }
    }

    /// The last answer, after the redirects that may be followed, and who gave it.
    async fn exchange(&self, prepared: &Prepared, mask: &Mask) -> Result<(String, Answered), Outcome> {
        let until = Instant::now() + prepared.sending.time_max;
        let (mut sending, mut followed) = (prepared.sending.clone(), 0);
        loop {
            let host = if followed == 0 { prepared.shown.clone() } else { mask.text(host_of(&sending.url)) };
            sending.time_max = until.saturating_duration_since(Instant::now());
            let sent = self.client.send(sending.clone()).await;
            let answered = sent.map_err(|unheard| {
                let led = if followed == 0 { String::new() } else { format!(" (where {} redirects to)", prepared.shown) };
                not_answered((&host, &led), unheard, prepared.sending.time_max, mask)
            })?;
            if !is_redirect(answered.status) || prepared.expect.holds(answered.status) {
                return Ok((host, answered));
            }
            let redirected = |why: String| {
                lasting(Failure {
                    code: "redirected".into(),
                    message: format!("{host} redirects{}: {why}; name the final address", told_place(&answered, mask)),
                })
            };
            if followed == prepared.redirects_max {
                return Err(redirected(format!("no more than {followed} redirects are followed")));
            }
            followed += 1;
            let next = follow(&sending, answered.status, answered.location(), !prepared.revealed.is_empty());
            sending = next.map_err(|why| redirected(why.to_string()))?;
        }
    }
}

impl Performs for Http {
    async fn perform(&self, job: Job) -> Outcome {
        match self.send(&job).await {
            Ok(output) => Outcome::Done { output },
            Err(failed) => failed,
        }
    }
}

/// Where a redirect leads, as far as that may be told.
fn told_place(answered: &Answered, mask: &Mask) -> String {
    answered.location().map_or_else(String::new, |place| format!(" to {}", clip(&mask.text(place), TOLD_BYTES_MAX)))
}

/// No answer came. Where the address is refused it will be so again; else nobody knows whether it arrived, and it is tried again,
/// with the same key.
fn not_answered((host, led): (&str, &str), unheard: NotAnswered, time_max: Duration, mask: &Mask) -> Outcome {
    let code = match &unheard {
        NotAnswered::Refused(refused) => {
            return lasting(Failure { code: "address_refused".into(), message: mask.text(&refused.to_string()) + led });
        }
        // Of the whole, and not of the last hop alone.
        NotAnswered::TimedOut(_) => {
            return passing("timed_out", format!("{host}{led}: {}", NotAnswered::TimedOut(time_max.as_millis())));
        }
        NotAnswered::Unreachable(_) => "unreachable",
        NotAnswered::BrokenOff(_) => "broken_off",
    };
    passing(code, format!("{host}{led}: {}", mask.text(&unheard.to_string())))
}

/// An answer that was not expected.
fn unexpected(host: &str, answered: &Answered, mask: &Mask) -> Outcome {
    let status = answered.status;
    let told = mask.bytes(answered.body.clone());
    let told = clip(String::from_utf8_lossy(&told).trim(), TOLD_BYTES_MAX);
    let told = if told.is_empty() { told } else { format!(": {told}") };
    let failure = Failure { code: format!("http_{}", status.as_u16()), message: format!("{host} answered {status}{told}") };
    let retryable = crate::client::is_passing(status);
    let retry_after_ms = if retryable { answered.retry_after_ms(SystemTime::now()) } else { None };
    Outcome::Failed { failure, retryable, retry_after_ms }
}

/// Trying again would not help.
fn lasting(failure: Failure) -> Outcome {
    Outcome::Failed { failure, retryable: false, retry_after_ms: None }
}

fn passing(code: &str, message: String) -> Outcome {
    Outcome::Failed { failure: Failure { code: code.into(), message }, retryable: true, retry_after_ms: None }
}
