//! Notices what stands still though it should move, says so, tries what may help, and when nothing does ends the process, so that
//! whoever supervises it starts it anew: what was acknowledged is on the disk. It judges by progress and not by the clock: a
//! disk that is slow but comes to an end is no standstill, and of a time in which the watchdog itself did not run, because
//! the machine slept, next to nothing counts.

use crate::engine::{Engine, Stopped};
use crate::pulse::{Phase, Pulse, Seen};
use crate::request::{Answer, Backlog, Request};
use kernel::command::Command;
use kernel::watchdog::Standstill;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};
use store::StoreError;
use tokio::sync::{oneshot, watch};

const LOOK_EVERY: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WatchdogOptions {
    /// How long something may stand still before that is told.
    pub after: Duration,
    /// How long before the process ends for it.
    pub exit_after: Duration,
}

impl Default for WatchdogOptions {
    fn default() -> WatchdogOptions {
        WatchdogOptions { after: Duration::from_secs(30), exit_after: Duration::from_secs(120) }
    }
}

/// What stands still now, and since when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tripped {
    pub reason: Standstill,
    pub lasted: Duration,
}

impl std::fmt::Display for Tripped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} for {} s", self.reason.sentence(), self.lasted.as_secs())
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WatchdogState {
    pub tripped: Option<Tripped>,
    /// How often something stood still, since the start.
    pub trips: u64,
}

/// What is to be done after a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum News {
    Stands(Tripped),
    Moves(Tripped),
    GiveUp(Tripped),
}

/// What one look sees.
#[derive(Debug, Clone, Copy)]
struct Look {
    writer: Seen,
    carrier: Seen,
    /// What the writer answered since the last look, if it was asked.
    backlog: Option<Backlog>,
}

/// One thing that may stand still.
#[derive(Debug, Default, Clone, Copy)]
struct Still {
    lasted: Duration,
    told: bool,
}

struct Judge {
    options: WatchdogOptions,
    /// The longest that one look may count, however late it comes.
    look_max: Duration,
    before: Option<Look>,
    /// The last answer, and what has passed since.
    backlog: Option<Backlog>,
    backlog_age: Duration,
    still: [Still; Standstill::ALL.len()],
}

impl Judge {
    fn new(options: WatchdogOptions, look_every: Duration) -> Judge {
        let (before, backlog, backlog_age, still) = Default::default();
        Judge { options, look_max: 2 * look_every, before, backlog, backlog_age, still }
    }

    /// `passed`: since the last look.
    fn look(&mut self, look: Look, passed: Duration) -> Vec<News> {
        let passed = passed.min(self.look_max);
        let before = self.before.replace(look);
        let stuck = |phases: &[Phase]| {
            let same = |seen: Seen, before: Seen| seen == before && phases.contains(&seen.phase());
            before.is_some_and(|before| same(look.writer, before.writer) || same(look.carrier, before.carrier))
        };
        let (tick, dispatch) = (stuck(&[Phase::Deciding, Phase::Committing]), stuck(&[Phase::Dispatching]));
        self.backlog_age += passed;
        let idle = look.backlog.map(|now| {
            let age = std::mem::take(&mut self.backlog_age);
            let before = self.backlog.replace(now);
            let idle = now.idle && before.is_some_and(|before| before.idle && before.granted == now.granted);
            idle.then_some(age)
        });
        let mut news = Vec::new();
        for reason in Standstill::ALL {
            let lasts = match reason {
                Standstill::TickHung => Some(tick.then_some(passed)),
                Standstill::DispatchHung => Some(dispatch.then_some(passed)),
                // Nothing is known of it between two answers.
                Standstill::BacklogIdle => idle,
            };
            let Some(lasts) = lasts else { continue };
            news.extend(self.still[reason as usize].judge(reason, lasts, self.options));
        }
        news
    }

    fn tripped(&self) -> Option<Tripped> {
        let told = |reason: &Standstill| self.still[*reason as usize].told;
        let reason = Standstill::ALL.into_iter().find(told)?;
        Some(Tripped { reason, lasted: self.still[reason as usize].lasted })
    }
}

impl Still {
    /// `lasts`: by how much longer it stands still; `None`: it moves.
    fn judge(&mut self, reason: Standstill, lasts: Option<Duration>, options: WatchdogOptions) -> Option<News> {
        let Some(more) = lasts else {
            let Still { lasted, told } = std::mem::take(self);
            return told.then_some(News::Moves(Tripped { reason, lasted }));
        };
        self.lasted += more;
        let tripped = Tripped { reason, lasted: self.lasted };
        if self.lasted >= options.exit_after {
            self.told = true;
            return Some(News::GiveUp(tripped));
        }
        (self.lasted >= options.after && !std::mem::replace(&mut self.told, true)).then_some(News::Stands(tripped))
    }
}

/// Where the state is for whoever asks.
#[derive(Default)]
pub(crate) struct Kennel(Mutex<WatchdogState>);

impl Kennel {
    pub fn state(&self) -> WatchdogState {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, tripped: Option<Tripped>, trips: u64) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.tripped = tripped;
        state.trips += trips;
    }
}

/// Looks until the writer has ended.
pub(crate) fn start(
    engine: Engine,
    pulse: Arc<Pulse>,
    kennel: Arc<Kennel>,
    options: WatchdogOptions,
    // The writer's own: if that goes, so must the channel.
    announce: Weak<watch::Sender<Option<Stopped>>>,
) -> Result<(), StoreError> {
    let look_every = LOOK_EVERY.min(options.after / 4);
    let thread = std::thread::Builder::new().name("watchdog".into());
    let started = thread.spawn(move || {
        let mut judge = Judge::new(options, look_every);
        let mut asked = Asked { answer: None, since: Instant::now(), every: options.after / 3 };
        let mut looked_at = Instant::now();
        while pulse.wait(look_every) {
            let backlog = asked.backlog(&engine, &pulse);
            let look = Look { writer: pulse.writer.seen(), carrier: pulse.carrier.seen(), backlog };
            let passed = looked_at.elapsed();
            looked_at = Instant::now();
            let news = judge.look(look, passed);
            let trips = news.iter().filter(|news| matches!(news, News::Stands(_))).count() as u64;
            kennel.set(judge.tripped(), trips);
            for news in news {
                if act(&engine, news, &announce) {
                    return;
                }
            }
        }
    });
    started.map(|_| ()).map_err(|error| StoreError::Failed(format!("cannot start the watchdog's thread: {error}")))
}

/// True: it is over.
fn act(engine: &Engine, news: News, announce: &Weak<watch::Sender<Option<Stopped>>>) -> bool {
    match news {
        News::Stands(tripped) => {
            tracing::error!(reason = %tripped.reason, "{tripped}");
            engine.tell(Request::Command(Command::NoteStandstill { reason: tripped.reason, over_ms: None }));
            // That it was asked about has offered it again already; what memory has wrong, the store may have right.
            if tripped.reason == Standstill::BacklogIdle {
                engine.tell(Request::Reload);
            }
            false
        }
        News::Moves(Tripped { reason, lasted }) => {
            tracing::warn!(%reason, "it moves again after {} s", lasted.as_secs());
            let over_ms = Some(u64::try_from(lasted.as_millis()).unwrap_or(u64::MAX));
            engine.tell(Request::Command(Command::NoteStandstill { reason, over_ms }));
            false
        }
        News::GiveUp(tripped) => {
            tracing::error!(reason = %tripped.reason, "{tripped}, and nothing helped: the process ends, to be started again");
            if let Some(announce) = announce.upgrade() {
                announce.send_replace(Some(Stopped::Hung(tripped.to_string())));
            }
            true
        }
    }
}

/// The question whether work and workers wait for each other, asked from time to time while there are both.
struct Asked {
    answer: Option<oneshot::Receiver<Answer>>,
    since: Instant,
    every: Duration,
}

impl Asked {
    fn backlog(&mut self, engine: &Engine, pulse: &Pulse) -> Option<Backlog> {
        if let Some(answer) = &mut self.answer {
            let backlog = match answer.try_recv() {
                Ok(Answer::Backlog(backlog)) => Some(backlog),
                // Not yet, or not at all: then it is the writer that stands still.
                Err(oneshot::error::TryRecvError::Empty) => return None,
                Ok(_) | Err(_) => None,
            };
            self.answer = None;
            return backlog;
        }
        if !pulse.may_be_idle.load(Ordering::Relaxed) {
            return Some(Backlog::default());
        }
        if self.since.elapsed() >= self.every {
            self.since = Instant::now();
            self.answer = engine.begin(Request::Backlog).ok();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// Looks, one a second unless it says how many: `d3` the writer decides its third batch, `c3` the carrier commits, `h3` it
    /// hands out, `r` both rest, `i5` idle work with 5 leases so far, `b` no such. Gives what was told, and at which look.
    #[track_caller]
    fn check(looks: &str, expected: &str) {
        let options = WatchdogOptions { after: 3 * SECOND, exit_after: 6 * SECOND };
        let (mut judge, mut told) = (Judge::new(options, SECOND), Vec::new());
        for (at, word) in looks.split(' ').enumerate() {
            let (word, passed) = word.split_once('@').unwrap_or((word, "1"));
            let (kind, count) = word.split_at(1);
            let count: u64 = count.parse().unwrap_or(0);
            let rest = Seen::new(0, Phase::Resting);
            let (mut writer, mut carrier, mut backlog) = (rest, rest, None);
            match kind {
                "d" => writer = Seen::new(count, Phase::Deciding),
                "c" => carrier = Seen::new(count, Phase::Committing),
                "h" => carrier = Seen::new(count, Phase::Dispatching),
                "i" => backlog = Some(Backlog { idle: true, granted: count }),
                "b" => backlog = Some(Backlog { idle: false, granted: count }),
                _ => {}
            }
            let passed = Duration::from_secs(passed.parse().unwrap());
            for news in judge.look(Look { writer, carrier, backlog }, passed) {
                let (word, Tripped { reason, lasted }) = match news {
                    News::Stands(tripped) => ("stands", tripped),
                    News::Moves(tripped) => ("moves", tripped),
                    News::GiveUp(tripped) => ("gives up", tripped),
                };
                told.push(format!("{at}: {reason} {word} {}", lasted.as_secs()));
            }
        }
        assert_eq!(told.join(", "), expected, "{looks}");
    }

    #[test]
    fn what_does_not_move_is_told_once_and_given_up_in_the_end() {
        check("r r r r r r r r r r", "");
        check("d1 d1 d1 d1 d1 d2", "3: tick_hung stands 3, 5: tick_hung moves 4");
        check("c1 c1 c1 c1 c1 c1 c1", "3: tick_hung stands 3, 6: tick_hung gives up 6");
        check("h1 h1 h1 h1 r", "3: dispatch_hung stands 3, 4: dispatch_hung moves 3");
        check("i5 i5 i5 i5 i5", "3: backlog_idle stands 3");
        check("i5 r r i5 r r i5", "3: backlog_idle stands 3, 6: backlog_idle gives up 6");
    }

    #[test]
    fn what_moves_slowly_is_left_alone() {
        // Each batch takes two seconds, each commit two.
        check("d1 d1 d2 d2 d3 d3 d4 d4 d5 d5", "");
        check("c1 c1 c2 c2 c3 c3 c4 c4", "");
        // Work waits at every look, but leases are granted in between.
        check("i1 i2 i3 i4 i5 i6 i7 i8", "");
        check("i1 i1 b1 i1 i1 b1", "");
    }

    #[test]
    fn a_machine_that_slept_is_no_standstill() {
        check("d1 d1@3600 d2", "");
        check("d1 d1@3600 d1 d2", "2: tick_hung stands 3, 3: tick_hung moves 3");
    }
}
