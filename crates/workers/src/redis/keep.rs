//! What is out, and what Redis knows to be out, are one and the same: at the start, whenever a line is opened, and from time to time.

use super::held::{Lease, Out};
use super::line::{BYTES_MAX, Line};
use super::send::{BLOBS_AT_ONCE, Going, give_up, go_out};
use super::{Bridge, Half, Outlet, Rest, token};
use crate::inside::with_blobs;
use engine::{Answer, Engine, Refused, Request};
use futures_util::{StreamExt, stream};
use kernel::command::Outcome;
use kernel::ids::TaskId;
use kernel::names::TypeName;
use kernel::record::Payload;
use kernel::task::Task;
use redis::RedisError;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;
use store::{BlobId, Hold, StoreError};
use tokio::time::{Instant, sleep};

/// How often what is out is compared with what Redis knows.
const COMPARE_EVERY: Duration = Duration::from_secs(10);
/// What could not be sent is handed back after this.
const UNSENT_MAX: Duration = Duration::from_secs(10);

/// What an earlier process had sent, by the leases that the engine knows of. Before that is known, nothing in Redis is nobody's.
pub(super) async fn recover(bridge: &Bridge) -> Vec<Lease> {
    let mut leases = Vec::new();
    for outlet in bridge.outlets.values() {
        for (lease, out) in recovered(bridge, outlet).await {
            bridge.held().insert(lease, out);
            leases.push(lease);
        }
    }
    leases
}

async fn recovered(bridge: &Bridge, outlet: &Outlet) -> Vec<(Lease, Out)> {
    loop {
        let leases = match bridge.engine.ask(Request::Leases { worker: outlet.worker.clone() }).await {
            Ok(Answer::Leases(leases)) => leases,
            Err(Refused::Down) => return std::future::pending().await,
            Ok(_) | Err(Refused::Full { .. }) => {
                sleep(super::REST).await;
                continue;
            }
        };
        let (engine, kind) = (bridge.engine.clone(), outlet.kind.clone());
        match tokio::task::spawn_blocking(move || outs_of(&engine, &kind, leases)).await {
            Ok(Ok(found)) => return found,
            unread => {
                tracing::error!(?unread, "what was out cannot be read; trying again");
                sleep(super::REST_MAX).await;
            }
        }
    }
}

/// With the nodes they are of.
fn outs_of(engine: &Engine, kind: &TypeName, leases: Vec<Lease>) -> Result<Vec<(Lease, Out)>, StoreError> {
    engine.read(|reader| {
        let mut found = Vec::with_capacity(leases.len());
        for lease in leases {
            if let Some(row) = reader.task(lease.0)? {
                let node = Task::from_row(&row.values)?.card().node().cloned().map(Box::new);
                found.push((lease, Out { is_sent: true, ..Out::new(kind.clone(), node) }));
            }
        }
        Ok(found)
    })
}

/// Holds the large inputs of what an earlier process had sent again, which its tokens only name; beside all else, since blobs may be
/// far away. Until then their grace period is left.
pub(super) async fn hold_again(bridge: &Bridge, recovered: Vec<Lease>) {
    let each = async |lease: Lease| {
        while bridge.held().contains(&lease) {
            match with_blobs(&bridge.engine, move |engine| hold_of(engine, lease.0)).await {
                Ok(Ok(hold)) => {
                    if let Some(out) = bridge.held().get_mut(&lease) {
                        out._hold = hold.map(Arc::new);
                    }
                    return;
                }
                Ok(Err(error)) => return tracing::warn!(task = %lease.0, %error, "the input of what is out cannot be held again"),
                // From where nothing can be reached nothing is removed.
                Err(_) => sleep(super::REST_MAX).await,
            }
        }
    };
    stream::iter(recovered).for_each_concurrent(BLOBS_AT_ONCE, each).await;
}

/// Nothing where the token has all of it. Blocks.
fn hold_of(engine: &Engine, task: TaskId) -> Result<Option<Hold>, StoreError> {
    let Some(row) = engine.read(|reader| reader.task(task))? else { return Ok(None) };
    let Some(input) = engine.given(&Task::from_row(&row.values)?)?.filter(token::is_large) else { return Ok(None) };
    match engine.blobs().hold(&BlobId::of(input.text().as_bytes()))? {
        Some((hold, _)) => Ok(Some(hold)),
        None => token::keep(engine, &input).map(Some),
    }
}

/// Keeps a line open for those who send.
pub(super) async fn run(bridge: &Bridge) {
    let (mut rest, mut since) = (Rest::new(Half::Sending), None);
    loop {
        bridge.broken.lock().expect("nobody panics with it").take();
        let error = match open(bridge).await {
            Ok(line) => {
                rest.is_over();
                since = None;
                bridge.tell(Half::Sending, None);
                bridge.line.send_replace(Some(line.clone()));
                let error = until_it_breaks(bridge, line).await;
                bridge.line.send_replace(None);
                error
            }
            Err(error) => error,
        };
        if since.get_or_insert_with(Instant::now).elapsed() > UNSENT_MAX {
            hand_back_unsent(bridge).await;
        }
        rest.after(bridge, &error).await;
    }
}

/// A line, and all that is out is what Redis knows to be out.
async fn open(bridge: &Bridge) -> Result<Line, RedisError> {
    let mut line = Line::open(&bridge.options.url, &bridge.options.signals).await?;
    compare(bridge, &mut line).await?;
    Ok(line)
}

async fn until_it_breaks(bridge: &Bridge, mut line: Line) -> RedisError {
    loop {
        tokio::select! {
            () = bridge.broke.notified() => {}
            () = sleep(COMPARE_EVERY) => {}
        }
        if let Some(error) = bridge.broken.lock().expect("nobody panics with it").take() {
            return error;
        }
        let held = bridge.held().len();
        let compared = match line.count_out().await {
            Ok(count) if count == held => Ok(()),
            Ok(_) => compare(bridge, &mut line).await,
            Err(error) => Err(error),
        };
        if let Err(error) = compared {
            return error;
        }
    }
}

/// What Redis has lost goes out again; of what an earlier process sent the input is not known here, so that is handed back. What
/// Redis has and nobody holds any more is nobody's.
async fn compare(bridge: &Bridge, line: &mut Line) -> Result<(), RedisError> {
    let held: Vec<Lease> = bridge.held().leases().collect();
    let is_out = line.is_out(&held).await?;
    let lost: BTreeSet<Lease> = held.iter().zip(is_out).filter(|(_, is_out)| !is_out).map(|(lease, _)| *lease).collect();
    // Meanwhile the other half may have heard of some.
    let lost: Vec<(Lease, Out)> = {
        let held = bridge.held();
        let lost = held.all().filter(|(lease, out)| out.end.is_none() && !out.is_being_made() && lost.contains(lease));
        lost.map(|(lease, out)| (*lease, out.clone())).collect()
    };
    let (mut going, mut bytes, mut unknown) = (Vec::new(), 0, Vec::new());
    for (lease, out) in lost {
        match again(bridge, lease, out).await {
            Some(again) => {
                bytes += again.bytes();
                going.push(again);
            }
            None => unknown.push(lease),
        }
        if bytes > BYTES_MAX {
            go_out(bridge, line, &std::mem::take(&mut going)).await?;
            bytes = 0;
        }
    }
    go_out(bridge, line, &going).await?;
    give_up(bridge, unknown, &Outcome::Released).await;
    let found = line.all_out().await?;
    let stray: Vec<Lease> = found.into_iter().filter(|lease| bridge.held().is_over(lease)).collect();
    if stray.is_empty() { Ok(()) } else { line.drop_tokens(&stray).await }
}

/// A token as it went out before. None: what it needs cannot be had here.
async fn again(bridge: &Bridge, lease: Lease, out: Out) -> Option<Going> {
    let sent = out.token?;
    let Some(mirror) = sent.mirror.clone() else { return Some(Going { lease, sent, text: None }) };
    let bytes = with_blobs(&bridge.engine, move |engine| engine.blobs().get(&mirror.blob)).await.ok()?.ok()??;
    Some(Going { lease, sent, text: Some(Payload(String::from_utf8(bytes).ok()?.into())) })
}

async fn hand_back_unsent(bridge: &Bridge) {
    let unsent: Vec<Lease> = bridge.held().all().filter(|(_, out)| !out.is_sent).map(|(lease, _)| *lease).collect();
    give_up(bridge, unsent, &Outcome::Released).await;
}
