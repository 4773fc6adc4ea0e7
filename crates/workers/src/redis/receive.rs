//! The half that hears: signals are taken, held against what is out, told to the engine, and let go when that is durable.

use super::held::{End, Lease, Meant};
use super::line::{self, Ear, Line, Mark, Taken};
use super::signal::{self, Said, Signal};
use super::token::{id_of, lease_of};
use super::{Bridge, Half, Rest};
use crate::inside::{AGAIN_AFTER, Away, bounded, put_away, with_blobs};
use engine::{Answer, Refused, Request};
use futures_util::future::join_all;
use kernel::command::{Command, Outcome, Reply};
use kernel::rejection::Rejection;
use redis::RedisError;
use std::convert::Infallible;
use std::hash::{BuildHasher, RandomState};
use store::BlobId;
use tokio::time::sleep;

pub(super) async fn run(bridge: &Bridge) {
    let mut rest = Rest::new(Half::Hearing);
    loop {
        let Err(error) = listen(bridge, &mut rest).await;
        if line::is_broken(&error) {
            bridge.break_line(error.clone());
        }
        rest.after(bridge, &error).await;
    }
}

async fn listen(bridge: &Bridge, rest: &mut Rest) -> Result<Infallible, RedisError> {
    let options = &bridge.options;
    let mut line = Line::open(&options.url, &options.signals).await?;
    let mut ear = Ear::open(&options.url).await?;
    loop {
        let taken = line.take().await?;
        if taken.texts.is_empty() {
            bridge.tell(Half::Hearing, None);
            ear.wait(&line).await?;
        } else {
            hear(bridge, &mut line, &taken).await?;
            bridge.tell(Half::Hearing, None);
        }
        rest.is_over();
    }
}

/// One signal that may be meant for something.
struct Heard<'a> {
    lease: Lease,
    signal: Signal<'a>,
    said: Said,
    /// Where it stands among those that were taken.
    at: usize,
    text: &'a [u8],
    /// The text that it is kept under, if it does not name its token itself: heard again, it means the same token and no later one.
    marked: Option<String>,
}

impl Heard<'_> {
    fn text(&self) -> &[u8] {
        self.marked.as_ref().map_or(self.text, |text| text.as_bytes())
    }
}

async fn hear(bridge: &Bridge, line: &mut Line, taken: &Taken) -> Result<(), RedisError> {
    let heard: Vec<Heard<'_>> = taken.texts.iter().enumerate().filter_map(|(at, text)| understood(bridge, at, text)).collect();
    let marks = heard.iter().filter_map(|heard| Some(Mark { at: heard.at, was: heard.text, text: heard.marked.as_deref()? }));
    line.mark(taken, &marks.collect::<Vec<_>>()).await?;
    let mut finishing = Vec::with_capacity(heard.len());
    // On large outputs, until all of these are finished.
    let mut holds = Vec::new();
    // What cannot be kept or read now, since the blobs cannot be reached: it holds up no other.
    let mut again = Vec::new();
    for heard in &heard {
        let outcome = match &heard.said {
            Said::Is(outcome) => Ok(outcome.clone()),
            Said::Lies(at) => found(bridge, line, &heard.signal, at).await?,
        };
        let kept = match outcome {
            Ok(outcome) => put_away(&bridge.engine, bounded(outcome)).await,
            Err(away) => Err(away),
        };
        match kept {
            Ok((outcome, hold)) => {
                holds.extend(hold);
                finishing.push(finish(bridge, heard.lease, outcome, heard.text));
            }
            Err(away) => {
                tracing::warn!(task = %heard.lease.0, %away, "a result from Redis waits");
                again.push(heard.text());
            }
        }
    }
    let ended: Vec<Lease> = join_all(finishing).await;
    drop(holds);
    bridge.note_refused().await;
    line.let_go(taken, &again, &ended).await?;
    for lease in &ended {
        let out = bridge.held().remove(lease);
        // One permit is kept for who is not waiting yet, however often it is told.
        out.and_then(|out| bridge.outlets.get(&out.kind)).inspect(|outlet| outlet.room.notify_one());
    }
    bridge.show();
    if !again.is_empty() {
        sleep(AGAIN_AFTER).await;
    }
    Ok(())
}

/// Which token it is about, by its id, or by run and node where that is clear; what is said of it for people is taken at once. None if
/// that is all.
fn understood<'a>(bridge: &Bridge, at: usize, text: &'a [u8]) -> Option<Heard<'a>> {
    let shown = || String::from_utf8_lossy(text).into_owned();
    let read = std::str::from_utf8(text).map_err(|_| "it is no text".to_owned());
    let (whole, signal, said) = match read.and_then(|whole| signal::read(whole).map(|(signal, said)| (whole, signal, said))) {
        Ok(read) => read,
        Err(why) => {
            bridge.refuse("garbled", &format!("{why}: {}", shown()));
            return None;
        }
    };
    let (run, node) = (signal.run_id.as_deref().unwrap_or_default(), signal.node_id.as_deref().unwrap_or_default());
    let named = signal.job_id.as_deref().and_then(lease_of);
    let meant = named.map_or_else(|| bridge.held().meant(run, node), Meant::One);
    let lease = match meant {
        Meant::One(lease) => lease,
        Meant::None => {
            let what = if run.is_empty() && node.is_empty() {
                "no token is called that".into()
            } else {
                format!("nothing of {run}/{node} is out")
            };
            bridge.refuse("unknown", &format!("{what}: {}", shown()));
            return None;
        }
        Meant::Several(several) => {
            bridge.refuse("ambiguous", &format!("{several} of {run}/{node} are out: {}", shown()));
            return None;
        }
    };
    let is_out = bridge.held().contains(&lease);
    if is_out {
        let (logs, (task, fence)) = (bridge.engine.logs(), lease);
        logs.add(task, fence, signal.lines());
        signal.progress().inspect(|(permille, message)| logs.set_progress(task, fence, *permille, message.as_deref()));
    }
    let Some(said) = said else {
        if !is_out {
            bridge.refuse("late", &shown());
        }
        return None;
    };
    let marked = named.is_none().then(|| signal::named(whole, &id_of(lease)));
    Some(Heard { lease, signal, said, at, text, marked })
}

/// What lies where a signal says: in the blob store, or in Redis.
async fn found(bridge: &Bridge, line: &mut Line, signal: &Signal<'_>, at: &str) -> Result<Result<Outcome, Away>, RedisError> {
    let unread = |why: String| signal.lost("result_unread", format!("its result {at} could not be read: {why}"));
    if let Some(id) = BlobId::parse(at.strip_prefix("blob:").unwrap_or(at)) {
        match with_blobs(&bridge.engine, move |engine| engine.blobs().get(&id)).await {
            Ok(Ok(Some(bytes))) => return Ok(Ok(signal.lying(&bytes))),
            Ok(Ok(None)) => {}
            Ok(Err(error)) => return Ok(Ok(unread(error.to_string()))),
            Err(away) => return Ok(Err(away)),
        }
    }
    Ok(Ok(match line.value(at).await? {
        Ok(Some(bytes)) => signal.lying(&bytes),
        Ok(None) => signal.lost("result_missing", format!("its result {at} lies neither in the blob store nor in Redis")),
        Err(why) => unread(why),
    }))
}

/// Until it is answered. The lease is over then, one way or the other.
async fn finish(bridge: &Bridge, (task, fence): Lease, outcome: Outcome, text: &[u8]) -> Lease {
    _ = bridge.held().get_mut(&(task, fence)).map(|out| out.end = Some(End::Heard));
    let shown = || String::from_utf8_lossy(text).into_owned();
    loop {
        let jitter = RandomState::new().hash_one(fence) as u32;
        let command = Command::Finish { task, fence, outcome: outcome.clone(), jitter };
        match bridge.engine.ask(Request::Command(command)).await {
            Ok(Answer::Reply(Ok(Reply::Finished { duplicate: true }))) => bridge.refuse("duplicate", &shown()),
            Ok(Answer::Reply(Ok(_))) => {
                bridge.engine.logs().ended(task);
                bridge.count(if matches!(outcome, Outcome::Done { .. }) { "completed" } else { "failed" }, 1);
            }
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
