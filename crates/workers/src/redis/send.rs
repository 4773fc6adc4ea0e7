//! The half that sends, for one type: it leases what there is room for, puts it on the stream, and keeps alive what is out.

use super::held::{End, Lease, Out, Sent};
use super::line::Line;
use super::{Bridge, Outlet, Shut, token};
use crate::inside::{failed, filled, report};
use engine::{Answer, Delivery, Engine, Held as Kept, Holding, Refused, Work, Worked};
use futures_util::future::join_all;
use kernel::command::{Grant, Outcome};
use kernel::limits::{HEARTBEAT_MS_DEFAULT, POLL_TASKS_MAX};
use kernel::record::Payload;
use redis::RedisError;
use std::collections::BTreeSet;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use store::StoreError;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

/// How long a poll may wait for work; and while a token is to stop.
const WAIT: Duration = Duration::from_secs(20);
const WAIT_STOPPING: Duration = Duration::from_millis(500);
/// And while one is over and to leave its stream, or something that is ready waits for that.
const WAIT_LEFT: Duration = Duration::from_millis(50);
/// Where there is little room, so long is waited for more of it, so that few polls carry much.
const GATHER: Duration = Duration::from_millis(5);
/// A worker that does a token that was cancelled has so long to tell of it.
pub(super) const STOP_GRACE: Duration = Duration::from_secs(10);
/// Blobs that are asked for at once.
pub(super) const BLOBS_AT_ONCE: usize = 8;
/// Where it is told.
const CALLED_OFF: &str = "wf.cancelled";

/// A token on its way out.
pub(super) struct Going {
    pub lease: Lease,
    pub sent: Arc<Sent>,
    /// What is mirrored.
    pub text: Option<Payload>,
}

impl Going {
    pub fn bytes(&self) -> usize {
        self.sent.token.len() + self.text.as_ref().map_or(0, |text| text.text().len())
    }
}

pub(super) async fn run(bridge: &Bridge, outlet: &Outlet) {
    let mut lines = bridge.line.subscribe();
    loop {
        end_stopped(bridge, outlet).await;
        let line = lines.borrow_and_update().clone();
        let want = if line.is_some() { room(bridge, outlet).await } else { 0 };
        let mut poll = Work { want, wait_ms: wait(bridge, outlet).as_millis() as u64, ..bridge.poll(outlet) };
        let sent = poll.holding.clone();
        let is_idle = want == 0 && sent.is_empty();
        if is_idle {
            poll.wait_ms = 0;
        }
        let answer = tokio::select! {
            answer = bridge.engine.work(poll) => answer,
            // One that asks for nothing cannot be given anything.
            () = outlet.room.notified(), if want == 0 => continue,
            // Nothing is taken on while it could not go out. What is being given goes back.
            _ = lines.changed() => continue,
        };
        match answer {
            Ok(Answer::Worked(worked)) => {
                let stopping = worked.stopping;
                if let Err(error) = answered(bridge, outlet, line, &sent, worked).await {
                    bridge.break_line(error);
                    // Whoever keeps the line closes it.
                    _ = alive(bridge, outlet, lines.changed()).await;
                } else if is_idle || stopping {
                    rest(bridge, outlet, &mut lines).await;
                }
            }
            // The engine has ended, and with it all that is done here.
            Err(Refused::Down) => return std::future::pending().await,
            Ok(_) | Err(Refused::Full { .. }) => sleep(super::REST).await,
        }
    }
}

impl Bridge {
    fn poll(&self, outlet: &Outlet) -> Work {
        let held = self.held();
        let named = held.of_kind(&outlet.kind).filter(|(_, out)| out.end != Some(End::Over));
        let holding = named.map(|((task, fence), _)| Holding { task: *task, fence: *fence }).collect();
        let (worker, types) = (outlet.worker.clone(), [outlet.kind.clone()].into());
        Work { worker, types, queues: [].into(), want: 0, wait_ms: 0, results: Vec::new(), holding }
    }
}

/// What the engine says of those that were named in this poll, and what it gives. What is over leaves its stream before anything else goes
/// there.
async fn answered(
    bridge: &Bridge,
    outlet: &Outlet,
    line: Option<Line>,
    sent: &[Holding],
    worked: Worked,
) -> Result<(), RedisError> {
    heard(bridge, outlet, sent, &worked.holding);
    let ready = alive(bridge, outlet, taken_on(bridge, outlet, worked.deliveries)).await;
    outlet.withheld().extend(ready);
    let Some(mut line) = line else { return Ok(()) };
    let over: Vec<Lease> = {
        let held = bridge.held();
        held.of_kind(&outlet.kind).filter(|(_, out)| out.end == Some(End::Over)).map(|(lease, _)| *lease).collect()
    };
    if !over.is_empty() {
        alive(bridge, outlet, line.drop_tokens(&over)).await?;
        let mut held = bridge.held();
        over.iter().for_each(|lease| _ = held.remove(lease));
        outlet.room.notify_one();
    }
    let going = released(bridge, outlet);
    alive(bridge, outlet, go_out(bridge, &mut line, &going)).await?;
    let untold: Vec<Lease> = {
        let held = bridge.held();
        let is_untold = |out: &Out| out.stop_by.is_some() && !out.called_off && !out.is_being_made();
        let untold = held.of_kind(&outlet.kind).filter(|(_, out)| is_untold(out));
        untold.map(|(lease, _)| *lease).collect()
    };
    if !untold.is_empty() {
        alive(bridge, outlet, line.call_off(CALLED_OFF, &untold)).await?;
        let mut held = bridge.held();
        untold.iter().for_each(|lease| _ = held.get_mut(lease).map(|out| out.called_off = true));
    }
    Ok(())
}

/// Waits for something, and keeps all that is out alive meanwhile, however long that takes.
async fn alive<T>(bridge: &Bridge, outlet: &Outlet, something: impl Future<Output = T>) -> T {
    let mut something = pin!(something);
    loop {
        tokio::select! {
            done = &mut something => return done,
            () = sleep(beat(outlet)) => {}
        }
        let poll = bridge.poll(outlet);
        let sent = poll.holding.clone();
        if !sent.is_empty()
            && let Ok(Answer::Worked(worked)) = bridge.engine.work(poll).await
        {
            heard(bridge, outlet, &sent, &worked.holding);
        }
    }
}

/// When what is out is to be named again.
fn beat(outlet: &Outlet) -> Duration {
    Duration::from_millis(u64::from(outlet.beat.load(Ordering::Relaxed)) / 3)
}

/// How many may be asked for.
async fn room(bridge: &Bridge, outlet: &Outlet) -> usize {
    let slots = bridge.options.slots;
    let most = POLL_TASKS_MAX.min(outlet.fits.load(Ordering::Relaxed));
    let free = || slots.saturating_sub(bridge.held().count_of_kind(&outlet.kind)).min(most);
    match (outlet.is_shut(), free()) {
        (Some(shut), _) if shut.until > Instant::now() => 0,
        (Some(_), free) => free.min(1),
        (None, 0) => 0,
        (None, few) if few < slots.div_ceil(4).min(POLL_TASKS_MAX) => {
            sleep(GATHER).await;
            free()
        }
        (None, free) => free,
    }
}

fn wait(bridge: &Bridge, outlet: &Outlet) -> Duration {
    let (mut is_stopping, mut is_over) = (false, false);
    for (_, out) in bridge.held().of_kind(&outlet.kind) {
        is_stopping |= out.stop_by.is_some();
        is_over |= out.end == Some(End::Over);
    }
    let is_left = (is_over || !outlet.withheld().is_empty()) && bridge.line.borrow().is_some();
    let shut = outlet.is_shut().map(|shut| shut.until.saturating_duration_since(Instant::now()));
    let wait = match is_stopping {
        _ if is_left => WAIT_LEFT,
        true => WAIT_STOPPING,
        false => WAIT,
    };
    shut.filter(|left| !left.is_zero()).map_or(wait, |left| wait.min(left))
}

/// There is nothing to ask until something changes, or the next heartbeat is due.
async fn rest(bridge: &Bridge, outlet: &Outlet, lines: &mut watch::Receiver<Option<Line>>) {
    tokio::select! {
        _ = lines.changed() => {}
        () = outlet.room.notified() => {}
        () = sleep(wait(bridge, outlet).min(beat(outlet))) => {}
    }
}

/// Onto the streams. Of a stream that cannot be written they go back, and none are asked for.
pub(super) async fn go_out(bridge: &Bridge, line: &mut Line, going: &[Going]) -> Result<(), RedisError> {
    if going.is_empty() {
        return Ok(());
    }
    let refused = line.send(going).await?;
    for (lease, why) in &refused {
        let kind = bridge.held().get_mut(lease).map(|out| out.kind.clone());
        if let Some(outlet) = kind.and_then(|kind| bridge.outlets.get(&kind)) {
            tracing::warn!(stream = outlet.stream, why, "a stream cannot be written");
            let why = format!("the stream `{}` cannot be written: {why}", outlet.stream);
            bridge.set_shut(outlet, Some(Shut { until: Instant::now() + super::SHUT, why }));
        }
    }
    let (mut fresh, mut kinds) = (0, Vec::new());
    for Going { lease, .. } in going.iter().filter(|going| refused.iter().all(|(lease, _)| *lease != going.lease)) {
        if let Some(out) = bridge.held().get_mut(lease) {
            fresh += usize::from(!std::mem::replace(&mut out.is_sent, true));
            if kinds.last() != Some(&out.kind) {
                kinds.push(out.kind.clone());
            }
        }
    }
    bridge.count("sent", fresh);
    for outlet in kinds.iter().filter_map(|kind| bridge.outlets.get(kind)).filter(|outlet| outlet.is_shut().is_some()) {
        bridge.set_shut(outlet, None);
    }
    bridge.show();
    give_up(bridge, refused.into_iter().map(|(lease, _)| lease).collect(), &Outcome::Released).await;
    Ok(())
}

/// Those of them that may go out now. A worker that makes ids of its own says which node it did and not for which token, so one whose node
/// has another out, as when it begins anew, is withheld until that one is over.
fn released(bridge: &Bridge, outlet: &Outlet) -> Vec<Going> {
    let ready = std::mem::take(&mut *outlet.withheld());
    if ready.is_empty() {
        return ready;
    }
    let mut held = bridge.held();
    let behind = held.behind_others(ready.iter().map(|going| going.lease));
    let (mut going, mut withheld) = (Vec::with_capacity(ready.len()), Vec::new());
    for ready in ready {
        let Some(out) = held.get_mut(&ready.lease) else { continue };
        if behind.contains(&ready.lease) {
            withheld.push(ready);
        } else {
            out.token = Some(ready.sent.clone());
            going.push(ready);
        }
    }
    drop(held);
    if !withheld.is_empty() {
        *outlet.withheld() = withheld;
        bridge.show();
    }
    going
}

/// What was granted, as it is to go out; held from here on.
async fn taken_on(bridge: &Bridge, outlet: &Outlet, deliveries: Vec<Delivery>) -> Vec<Going> {
    if deliveries.is_empty() {
        return Vec::new();
    }
    let mut granted: Vec<Lease> = Vec::with_capacity(deliveries.len());
    for Grant { task, fence, node, heartbeat_ms, .. } in deliveries.iter().map(|delivery| &delivery.grant) {
        granted.push((*task, *fence));
        outlet.beat.fetch_min(*heartbeat_ms, Ordering::Relaxed);
        bridge.held().insert((*task, *fence), Out::new(outlet.kind.clone(), node.clone().map(|(at, _)| at)));
    }
    let mut going = Vec::with_capacity(granted.len());
    for (lease, made) in made(bridge, outlet, deliveries).await {
        match made {
            Ok((sent, text)) => going.push(Going { lease, sent: Arc::new(sent), text }),
            // It can be tried again when they can be reached.
            Err(error) if bridge.engine.blobs().trouble().is_some() => {
                let why = format!("a large input cannot be kept now: {error}");
                bridge.set_shut(outlet, Some(Shut { until: Instant::now() + super::SHUT, why }));
                give_up(bridge, vec![lease], &Outcome::Released).await;
            }
            Err(error) => {
                let message = format!("its input could not be written: {error}");
                give_up(bridge, vec![lease], &failed("input_unkept", message, true)).await;
            }
        }
    }
    // Of some nothing could be made: those have gone back.
    let ready: BTreeSet<Lease> = going.iter().map(|going| going.lease).collect();
    let mut held = bridge.held();
    granted.iter().filter(|lease| !ready.contains(lease)).for_each(|lease| _ = held.remove(lease));
    going
}

type Made = Result<(Sent, Option<Payload>), StoreError>;

async fn made(bridge: &Bridge, outlet: &Outlet, deliveries: Vec<Delivery>) -> Vec<(Lease, Made)> {
    let granted = deliveries.len();
    let mut deliveries = filled(&bridge.engine, deliveries).await.unwrap_or_default();
    match deliveries.len() {
        0 => return Vec::new(),
        some if some < granted => outlet.fits.store(some, Ordering::Relaxed),
        all => _ = outlet.fits.fetch_max(all + all / 4 + 1, Ordering::Relaxed),
    }
    let is_large = |delivery: &Delivery| delivery.input.as_ref().is_some_and(token::is_large);
    let at_once = if deliveries.iter().any(is_large) { BLOBS_AT_ONCE } else { 1 };
    let each = deliveries.len().div_ceil(at_once);
    let mut making = Vec::with_capacity(at_once);
    while !deliveries.is_empty() {
        let part: Vec<Delivery> = deliveries.drain(..each.min(deliveries.len())).collect();
        let (engine, stream, mirror) = (bridge.engine.clone(), outlet.stream.clone(), bridge.options.mirror);
        making.push(tokio::task::spawn_blocking(move || made_of(&engine, part, &stream, mirror)));
    }
    let made = join_all(making).await;
    made.into_iter().flat_map(Result::unwrap_or_default).collect()
}

/// Blocks.
fn made_of(engine: &Engine, deliveries: Vec<Delivery>, stream: &str, mirror: bool) -> Vec<(Lease, Made)> {
    let mut made = Vec::with_capacity(deliveries.len());
    for Delivery { grant, input } in deliveries {
        let input = input.expect("a delivery is filled");
        let token = token::token(engine, &grant, &input, stream, mirror);
        let token = token.map(|sent| {
            let text = sent.mirror.is_some().then_some(input);
            (sent, text)
        });
        made.push(((grant.task, grant.fence), token));
    }
    made
}

/// What the engine says of those that were named.
fn heard(bridge: &Bridge, outlet: &Outlet, sent: &[Holding], kept: &[Kept]) {
    let mut held = bridge.held();
    let mut beat = HEARTBEAT_MS_DEFAULT;
    for (sent, kept) in sent.iter().zip(kept) {
        let lease = (sent.task, sent.fence);
        if !kept.held {
            if held.get_mut(&lease).is_some_and(|out| *out.end.get_or_insert(End::Over) == End::Heard) {
                held.remove(&lease);
            }
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
    outlet.beat.store(beat, Ordering::Relaxed);
}

/// Tokens that were to stop, and whose workers have not told so, or which no worker has.
async fn end_stopped(bridge: &Bridge, outlet: &Outlet) {
    let now = Instant::now();
    let is_over = |out: &Out| out.end.is_none() && out.stop_by.is_some_and(|by| by <= now || out.is_being_made());
    let over: Vec<Lease> = {
        let held = bridge.held();
        held.of_kind(&outlet.kind).filter(|(_, out)| is_over(out)).map(|(lease, _)| *lease).collect()
    };
    tell(bridge, &over, &failed("stopped", "it was to stop, and its worker did not say that it has", false)).await;
    let mut held = bridge.held();
    over.iter().for_each(|lease| _ = held.get_mut(lease).map(|out| _ = out.end.get_or_insert(End::Over)));
}

/// What is on no stream.
pub(super) async fn give_up(bridge: &Bridge, leases: Vec<Lease>, outcome: &Outcome) {
    tell(bridge, &leases, outcome).await;
    let mut held = bridge.held();
    leases.iter().for_each(|lease| _ = held.remove(lease));
}

async fn tell(bridge: &Bridge, leases: &[Lease], outcome: &Outcome) {
    join_all(leases.iter().map(|(task, fence)| report(&bridge.engine, *task, *fence, outcome.clone()))).await;
}
