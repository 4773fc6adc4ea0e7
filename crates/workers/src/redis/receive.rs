//! The half that hears: signals are taken, held against what is out, told to the engine, and let go when that is durable.

use super::held::{Lease, Meant};
use super::line::{Ear, Line};
use super::signal::{self, Said};
use super::token::lease_of;
use super::{Bridge, Rest};
use crate::inside::{AGAIN_AFTER, Away, bounded, failed, put_away, with_blobs};
use engine::{Answer, Refused, Request};
use futures_util::future::join_all;
use kernel::command::{Command, Outcome, Reply};
use kernel::rejection::Rejection;
use redis::RedisError;
use std::hash::{BuildHasher, RandomState};
use store::BlobId;
use tokio::time::sleep;

pub(super) async fn run(bridge: &Bridge) {
    let mut rest = Rest::new();
    loop {
        if let Err(error) = listen(bridge, &mut rest).await {
            bridge.broken.notify_one();
            rest.after(bridge, &error).await;
        }
    }
}

async fn listen(bridge: &Bridge, rest: &mut Rest) -> Result<(), RedisError> {
    let options = &bridge.options;
    let mut line = Line::open(&options.url, &options.signals).await?;
    let mut ear = Ear::open(&options.url).await?;
    loop {
        let texts = line.take().await?;
        *rest = Rest::new();
        if texts.is_empty() {
            ear.wait(&line).await?;
        } else {
            hear(bridge, &mut line, &texts).await?;
        }
    }
}

/// One signal that may be meant for something.
struct Heard<'a> {
    lease: Lease,
    said: Said,
    text: &'a [u8],
}

async fn hear(bridge: &Bridge, line: &mut Line, texts: &[Vec<u8>]) -> Result<(), RedisError> {
    let heard: Vec<Heard<'_>> = texts.iter().filter_map(|text| understood(bridge, text)).collect();
    let mut finishing = Vec::with_capacity(heard.len());
    // On large outputs, until all of these are finished.
    let mut holds = Vec::new();
    // What cannot be kept or read now, since the blobs cannot be reached: it holds up no other.
    let mut again = Vec::new();
    for Heard { lease, said, text } in heard {
        let outcome = match said {
            Said::Is(outcome) => Ok(outcome),
            Said::Lies(at) => found(bridge, line, &at).await?,
        };
        let kept = match outcome {
            Ok(outcome) => put_away(&bridge.engine, bounded(outcome)).await,
            Err(away) => Err(away),
        };
        match kept {
            Ok((outcome, hold)) => {
                holds.extend(hold);
                finishing.push(finish(bridge, lease, outcome, text));
            }
            Err(away) => {
                tracing::warn!(task = %lease.0, %away, "a result from Redis waits");
                again.push(text);
            }
        }
    }
    let ended: Vec<Lease> = join_all(finishing).await;
    drop(holds);
    ended.iter().for_each(|lease| _ = bridge.held().get_mut(lease).map(|out| out.is_ending = true));
    line.drop(&ended, texts.len(), &again).await?;
    if !again.is_empty() {
        sleep(AGAIN_AFTER).await;
    }
    let mut held = bridge.held();
    ended.iter().for_each(|lease| _ = held.remove(lease));
    drop(held);
    bridge.show();
    bridge.room.notify_one();
    Ok(())
}

/// Which token it is about, by its id, or by run and node where that is clear.
fn understood<'a>(bridge: &Bridge, text: &'a [u8]) -> Option<Heard<'a>> {
    let shown = || String::from_utf8_lossy(text).into_owned();
    let read = std::str::from_utf8(text).map_err(|_| "it is no text".to_owned()).and_then(signal::read);
    let (signal, said) = match read {
        Ok(read) => read,
        Err(why) => {
            bridge.refuse("garbled", &format!("{why}: {}", shown()));
            return None;
        }
    };
    if let Some(lease) = signal.job_id.as_deref().and_then(lease_of) {
        return Some(Heard { lease, said, text });
    }
    let named = (signal.run_id.as_deref().unwrap_or_default(), signal.node_id.as_deref().unwrap_or_default());
    match bridge.held().meant(named.0, named.1) {
        Meant::One(lease) => Some(Heard { lease, said, text }),
        Meant::None => {
            bridge.refuse("unknown", &format!("nothing of {}/{} is out: {}", named.0, named.1, shown()));
            None
        }
        Meant::Several(several) => {
            bridge.refuse("ambiguous", &format!("{several} of {}/{} are out: {}", named.0, named.1, shown()));
            None
        }
    }
}

/// A result by reference: in the blob store, or in Redis.
async fn found(bridge: &Bridge, line: &mut Line, at: &str) -> Result<Result<Outcome, Away>, RedisError> {
    if let Some(id) = BlobId::parse(at.strip_prefix("blob:").unwrap_or(at)) {
        match with_blobs(&bridge.engine, move |engine| engine.blobs().get(&id)).await {
            Ok(Ok(Some(bytes))) => return Ok(Ok(Outcome::Done { output: signal::result(&bytes) })),
            Ok(Ok(None)) => {}
            Ok(Err(error)) => {
                return Ok(Ok(failed("result_unread", format!("its result {at} could not be read: {error}"), true)));
            }
            Err(away) => return Ok(Err(away)),
        }
    }
    let missing = || failed("result_missing", format!("its result {at} lies neither in the blob store nor in Redis"), true);
    Ok(Ok(line.value(at).await?.map_or_else(missing, |bytes| Outcome::Done { output: signal::result(&bytes) })))
}

/// Until it is answered. The lease is over then, one way or the other.
async fn finish(bridge: &Bridge, (task, fence): Lease, outcome: Outcome, text: &[u8]) -> Lease {
    let shown = || String::from_utf8_lossy(text).into_owned();
    loop {
        let jitter = RandomState::new().hash_one(fence) as u32;
        let command = Command::Finish { task, fence, outcome: outcome.clone(), jitter };
        match bridge.engine.ask(Request::Command(command)).await {
            Ok(Answer::Reply(Ok(Reply::Finished { duplicate: true }))) => bridge.refuse("duplicate", &shown()),
            Ok(Answer::Reply(Ok(_))) if matches!(outcome, Outcome::Done { .. }) => bridge.count("completed", 1),
            Ok(Answer::Reply(Ok(_))) => bridge.count("failed", 1),
            Ok(Answer::Reply(Err(Rejection::TaskNotFound { .. }))) => bridge.refuse("unknown", &shown()),
            Ok(Answer::Reply(Err(_))) => bridge.refuse("late", &shown()),
            Err(Refused::Down) => return std::future::pending().await,
            Ok(_) | Err(Refused::Full { .. }) => {
                sleep(super::REST).await;
                continue;
            }
        }
        return (task, fence);
    }
}
