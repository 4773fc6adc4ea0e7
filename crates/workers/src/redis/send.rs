//! The half that sends: it leases what there is room for, puts it on the streams, and keeps alive what is out.

use super::held::{Lease, Out, Sent};
use super::line::Line;
use super::{Bridge, Rest, token};
use crate::inside::{filled, report};
use engine::{Answer, Delivery, Engine, Held as Kept, Holding, Refused, Request, Work};
use kernel::command::{Grant, Outcome};
use kernel::limits::HEARTBEAT_MS_DEFAULT;
use kernel::names::TypeName;
use kernel::record::Failure;
use kernel::task::Task;
use redis::RedisError;
use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use store::StoreError;
use tokio::time::{Instant, sleep};

/// How long a poll may wait for work; and while a token is to stop.
const WAIT: Duration = Duration::from_secs(20);
const WAIT_STOPPING: Duration = Duration::from_millis(500);
/// A worker that does a token that was cancelled has so long to tell of it.
const STOP_GRACE: Duration = Duration::from_secs(10);
/// Where it is told.
const CALLED_OFF: &str = "wf.cancelled";
/// How often what is out is compared with what Redis knows.
const COMPARE_EVERY: Duration = Duration::from_secs(10);
/// What could not be sent is handed back after this.
const UNSENT_MAX: Duration = Duration::from_secs(10);

pub(super) async fn run(bridge: &Bridge) {
    recover(bridge).await;
    let (mut rest, mut trouble_since, mut line) = (Rest::new(), None, None);
    let mut compared = Instant::now();
    loop {
        let open = match line.take() {
            Some(open) => Ok(open),
            None => alive(bridge, open(bridge)).await,
        };
        let (want, wait) = match &open {
            Ok(_) => (room(bridge), if is_stopping(bridge) { WAIT_STOPPING } else { WAIT }),
            Err(_) => (0, Duration::ZERO),
        };
        let mut poll = Work { want, wait_ms: wait.as_millis() as u64, ..bridge.poll(bridge.types.clone()) };
        if poll.want == 0 && poll.holding.is_empty() {
            poll.wait_ms = 0;
        }
        let sent = poll.holding.clone();
        let answer = tokio::select! {
            answer = bridge.engine.work(poll) => answer,
            // One that asks for nothing cannot be given anything.
            () = bridge.room.notified(), if want == 0 && open.is_ok() => {
                line = open.ok();
                continue;
            }
            // Nothing is taken on while it could not go out. What is being given goes back.
            () = bridge.broken.notified(), if open.is_ok() => continue,
        };
        let mut granted = Vec::new();
        match answer {
            Ok(Answer::Worked(worked)) => {
                heard(bridge, &sent, &worked.holding);
                granted = alive(bridge, taken_on(bridge, worked.deliveries)).await;
            }
            // The engine has ended, and with it all that is done here.
            Err(Refused::Down) => return std::future::pending().await,
            Ok(_) | Err(Refused::Full { .. }) => sleep(super::REST).await,
        }
        let went = match open {
            Ok(mut open) => alive(bridge, go_on(bridge, &mut open, &granted, &mut compared)).await.map(|()| open),
            Err(error) => Err(error),
        };
        match went {
            Ok(open) => {
                (rest, trouble_since, line) = (Rest::new(), None, Some(open));
            }
            Err(error) => {
                let since = *trouble_since.get_or_insert_with(Instant::now);
                if since.elapsed() > UNSENT_MAX {
                    hand_back_unsent(bridge).await;
                }
                alive(bridge, rest.after(bridge, &error)).await;
            }
        }
        end_stopped(bridge).await;
    }
}

impl Bridge {
    fn poll(&self, types: Arc<[TypeName]>) -> Work {
        let holding = self.held().leases().map(|(task, fence)| Holding { task, fence }).collect();
        Work { worker: self.worker.clone(), types, queues: [].into(), want: 0, wait_ms: 0, results: Vec::new(), holding }
    }
}

/// Waits for something, and keeps all that is out alive meanwhile, however long that takes.
async fn alive<T>(bridge: &Bridge, something: impl Future<Output = T>) -> T {
    let mut something = pin!(something);
    loop {
        let beat = bridge.beat.load(Ordering::Relaxed);
        tokio::select! {
            done = &mut something => return done,
            () = sleep(Duration::from_millis(u64::from(beat) / 3)) => {}
        }
        let poll = bridge.poll([].into());
        let sent = poll.holding.clone();
        if !sent.is_empty()
            && let Ok(Answer::Worked(worked)) = bridge.engine.work(poll).await
        {
            heard(bridge, &sent, &worked.holding);
        }
    }
}

/// Asked for only when there is a good part of it, so that few polls carry much.
fn room(bridge: &Bridge) -> usize {
    let slots = bridge.options.slots;
    let free = slots.saturating_sub(bridge.held().len());
    if free >= slots.div_ceil(4) { free.min(kernel::limits::POLL_TASKS_MAX) } else { 0 }
}

fn is_stopping(bridge: &Bridge) -> bool {
    bridge.held().all().any(|(_, out)| out.stop_by.is_some())
}

/// What an earlier process had sent, by the leases that the engine knows of. Before that is known, nothing in Redis is nobody's.
async fn recover(bridge: &Bridge) {
    loop {
        let leases = match bridge.engine.ask(Request::Leases { worker: bridge.worker.clone() }).await {
            Ok(Answer::Leases(leases)) => leases,
            Err(Refused::Down) => return std::future::pending().await,
            Ok(_) | Err(Refused::Full { .. }) => {
                sleep(super::REST).await;
                continue;
            }
        };
        let engine = bridge.engine.clone();
        match tokio::task::spawn_blocking(move || outs_of(&engine, leases)).await {
            Ok(Ok(found)) => return found.into_iter().for_each(|(lease, out)| bridge.held().insert(lease, out)),
            unread => {
                tracing::error!(?unread, "what was out cannot be read; trying again");
                sleep(super::REST_MAX).await;
            }
        }
    }
}

/// With the nodes they are of.
fn outs_of(engine: &Engine, leases: Vec<Lease>) -> Result<Vec<(Lease, Out)>, StoreError> {
    engine.read(|reader| {
        let mut found = Vec::with_capacity(leases.len());
        for lease in leases {
            if let Some(row) = reader.task(lease.0)? {
                let node = Task::from_row(&row.values)?.card().node().cloned().map(Box::new);
                found.push((lease, Out { is_sent: true, ..Out::new(node) }));
            }
        }
        Ok(found)
    })
}

/// A line, and all that is out is what Redis knows to be out.
async fn open(bridge: &Bridge) -> Result<Line, RedisError> {
    let mut line = Line::open(&bridge.options.url, &bridge.options.signals).await?;
    compare(bridge, &mut line).await?;
    bridge.tell(None);
    Ok(line)
}

/// What Redis has lost goes out again; of what an earlier process sent the input is not known here, so that is handed back. What
/// Redis has and nobody holds is nobody's.
async fn compare(bridge: &Bridge, line: &mut Line) -> Result<(), RedisError> {
    let held: Vec<Lease> = bridge.held().leases().collect();
    let is_out = line.is_out(&held).await?;
    let lost: BTreeSet<Lease> = held.iter().zip(is_out).filter(|(_, is_out)| !is_out).map(|(lease, _)| *lease).collect();
    // Meanwhile the other half may have heard of some.
    let lost: Vec<(Lease, Out)> = {
        let held = bridge.held();
        let lost = held.all().filter(|(lease, out)| !out.is_ending && !out.is_being_made() && lost.contains(lease));
        lost.map(|(lease, out)| (*lease, out.clone())).collect()
    };
    let (known, unknown): (Vec<_>, Vec<_>) = lost.into_iter().partition(|(_, out)| out.token.is_some());
    send(bridge, line, &known).await?;
    for (lease, _) in unknown {
        give_up(bridge, lease, Outcome::Released).await;
    }
    let found = line.all_out().await?;
    let stray: Vec<Lease> = found.into_iter().filter(|lease| !bridge.held().contains(lease)).collect();
    if stray.is_empty() { Ok(()) } else { line.drop(&stray, 0, &[]).await }
}

async fn go_on(bridge: &Bridge, line: &mut Line, granted: &[(Lease, Out)], compared: &mut Instant) -> Result<(), RedisError> {
    send(bridge, line, granted).await?;
    let (to_stop, held) = {
        let held = bridge.held();
        let untold = held.all().filter(|(_, out)| out.stop_by.is_some() && !out.called_off);
        (untold.map(|(lease, _)| *lease).collect::<Vec<Lease>>(), held.len())
    };
    if !to_stop.is_empty() {
        line.call_off(CALLED_OFF, &to_stop).await?;
        let mut held = bridge.held();
        to_stop.iter().for_each(|lease| _ = held.get_mut(lease).map(|out| out.called_off = true));
    }
    if compared.elapsed() > COMPARE_EVERY {
        *compared = Instant::now();
        if line.count_out().await? != held {
            compare(bridge, line).await?;
        }
        bridge.tell(None);
    }
    Ok(())
}

async fn send(bridge: &Bridge, line: &mut Line, outs: &[(Lease, Out)]) -> Result<(), RedisError> {
    let tokens: Vec<_> = outs.iter().filter_map(|(lease, out)| Some((*lease, out.token.as_deref()?))).collect();
    if tokens.is_empty() {
        return Ok(());
    }
    line.send(&tokens).await?;
    bridge.count("sent", tokens.len());
    let mut held = bridge.held();
    tokens.iter().for_each(|(lease, _)| _ = held.get_mut(lease).map(|out| out.is_sent = true));
    drop(held);
    bridge.show();
    Ok(())
}

/// What was granted, as it goes out; held from here on.
async fn taken_on(bridge: &Bridge, deliveries: Vec<Delivery>) -> Vec<(Lease, Out)> {
    let mut granted: Vec<Lease> = Vec::with_capacity(deliveries.len());
    for Grant { task, fence, node, heartbeat_ms, .. } in deliveries.iter().map(|delivery| &delivery.grant) {
        granted.push((*task, *fence));
        bridge.beat.fetch_min(*heartbeat_ms, Ordering::Relaxed);
        bridge.held().insert((*task, *fence), Out::new(node.clone().map(|(at, _)| at)));
    }
    let made = made(bridge, deliveries).await;
    let mut outs = Vec::with_capacity(made.len());
    for (lease, token) in made {
        match token {
            Ok(token) => {
                if let Some(out) = bridge.held().get_mut(&lease) {
                    out.token = Some(Arc::new(token));
                    outs.push((lease, out.clone()));
                }
            }
            // It can be tried again when they can be reached.
            Err(_) if bridge.engine.blobs().trouble().is_some() => give_up(bridge, lease, Outcome::Released).await,
            Err(error) => {
                let failure =
                    Failure { code: "input_unkept".into(), message: format!("its input could not be written: {error}") };
                give_up(bridge, lease, Outcome::Failed { failure, retryable: true, retry_after_ms: None }).await;
            }
        }
    }
    // Of some nothing could be made: those have gone back.
    let mut held = bridge.held();
    for lease in &granted {
        if held.get_mut(lease).is_some_and(|out| out.is_being_made()) {
            held.remove(lease);
        }
    }
    outs
}

async fn made(bridge: &Bridge, deliveries: Vec<Delivery>) -> Vec<(Lease, Result<Sent, StoreError>)> {
    let Some(deliveries) = filled(&bridge.engine, deliveries).await else { return Vec::new() };
    let (engine, options) = (bridge.engine.clone(), bridge.options.clone());
    let make = move || {
        let mut made = Vec::with_capacity(deliveries.len());
        for delivery in deliveries {
            let input = delivery.input.clone().expect("a delivery is filled");
            let stream = options.streams.get(&delivery.grant.kind).cloned().unwrap_or_default();
            let token = token::token(&engine, &delivery.grant, &input, &stream, options.mirror);
            made.push(((delivery.grant.task, delivery.grant.fence), token));
        }
        made
    };
    tokio::task::spawn_blocking(make).await.unwrap_or_default()
}

/// What the engine says of those that were named.
fn heard(bridge: &Bridge, sent: &[Holding], kept: &[Kept]) {
    let mut held = bridge.held();
    let mut beat = HEARTBEAT_MS_DEFAULT;
    for (sent, kept) in sent.iter().zip(kept) {
        let lease = (sent.task, sent.fence);
        if !kept.held {
            // Redis is told when it is compared.
            held.remove(&lease);
            continue;
        }
        beat = beat.min(kept.heartbeat_ms);
        if kept.cancel
            && let Some(out) = held.get_mut(&lease)
            && out.stop_by.is_none()
        {
            out.stop_by = Some(Instant::now() + STOP_GRACE);
        }
    }
    bridge.beat.store(beat, Ordering::Relaxed);
}

/// Tokens that were to stop, and whose workers have not told so.
async fn end_stopped(bridge: &Bridge) {
    let now = Instant::now();
    let over: Vec<Lease> =
        bridge.held().all().filter(|(_, out)| out.stop_by.is_some_and(|by| by <= now)).map(|(lease, _)| *lease).collect();
    for lease in over {
        let message = "it was to stop, and its worker did not say that it has".to_owned();
        let failure = Failure { code: "stopped".into(), message };
        give_up(bridge, lease, Outcome::Failed { failure, retryable: false, retry_after_ms: None }).await;
    }
}

async fn hand_back_unsent(bridge: &Bridge) {
    let unsent: Vec<Lease> = bridge.held().all().filter(|(_, out)| !out.is_sent).map(|(lease, _)| *lease).collect();
    for lease in unsent {
        give_up(bridge, lease, Outcome::Released).await;
    }
}

async fn give_up(bridge: &Bridge, lease: Lease, outcome: Outcome) {
    report(&bridge.engine, lease.0, lease.1, outcome).await;
    bridge.held().remove(&lease);
}
