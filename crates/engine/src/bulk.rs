//! Bulks over runs. Which runs are meant is found out here, off the writer and page by page, and handed to it a chunk at a time;
//! it does to them what is to be done and keeps how far it came, in one commit. So a crash or a restart changes nothing but the
//! time it takes: whoever drives begins where the bulk is.

use crate::change::Wanted;
use crate::engine::Engine;
use crate::request::{Answer, Request};
use crate::texts::Texts;
use flow::expr::RunFilter;
use kernel::bulk::{Bulk, BulkWork, Meant, Refusal, RunVerb};
use kernel::command::{Command, Reply};
use kernel::ids::{BulkId, RunId};
use kernel::limits::BULK_RUNS_MAX;
use kernel::names::Actor;
use kernel::run::Run;
use kernel::time::Time;
use rustc_hash::FxHashMap;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use store::{Reader, RunQuery, StoreError};

/// Runs that are looked at in one go, the fewest and the most.
const PAGE_MIN: usize = 2 * BULK_RUNS_MAX;
const PAGE_MAX: usize = 1_000;
/// Pages without a run that is meant, before others have their turn.
const PAGES_MAX: usize = 20;
/// How soon a stop is noticed.
const LOOK_UP: Duration = Duration::from_millis(500);
/// A chunk that takes the writer longer is halved, and one that takes it less is doubled: others wait behind it.
const CHUNK_LONG: Duration = Duration::from_millis(60);
const CHUNK_SHORT: Duration = Duration::from_millis(25);
const CHUNK_FIRST: usize = 16;
/// Why a filter gave no answer is told in so many characters.
const WHY_CHARS_MAX: usize = 300;

/// Looks for the runs that a filter means, oldest first.
pub struct Scan {
    filter: RunFilter,
    upto: Option<RunId>,
    page: usize,
}

/// What one look found.
#[derive(Debug, Default)]
pub struct Found {
    pub runs: Vec<Meant>,
    /// The last run that was looked at; go on behind it.
    pub at: Option<RunId>,
    /// There are no more.
    pub end: bool,
    /// Runs that were looked at.
    pub seen: usize,
}

impl Scan {
    pub fn new(filter: RunFilter, upto: Option<RunId>) -> Scan {
        Scan { filter, upto, page: PAGE_MIN }
    }

    /// `Err`: its filter is none, or it is not over runs.
    pub fn of(bulk: &Bulk) -> Result<Scan, String> {
        let BulkWork::Runs { filter, upto, .. } = bulk.work() else { return Err(format!("{} is not over runs", bulk.id())) };
        let told = |problems: Vec<flow::expr::Problem>| problems.first().map(ToString::to_string).unwrap_or_default();
        Ok(Scan::new(RunFilter::compile(filter).map_err(told)?, Some(*upto)))
    }

    /// The next runs behind `after` that are meant, at most `limit`. May end early: `Found::end` says whether there are more.
    pub fn look(&mut self, reader: &mut dyn Reader, after: Option<RunId>, limit: usize, now: Time) -> Result<Found, StoreError> {
        let mut found = Found { at: after, ..Found::default() };
        if self.filter.is_never() {
            return Ok(Found { end: true, ..found });
        }
        for _ in 0..PAGES_MAX {
            let rows = reader.runs(&self.query(found.at))?;
            for row in &rows {
                let run = Run::from_row(&row.values)?;
                found.at = Some(run.id());
                found.seen += 1;
                match self.filter.matches(&run, now) {
                    Ok(false) => continue,
                    Ok(true) => found.runs.push(Meant::Run(run.id())),
                    Err(error) => {
                        let why = format!("the filter gives no answer: {}", error.failure());
                        let why = why.chars().take(WHY_CHARS_MAX).collect();
                        found.runs.push(Meant::Left(Refusal { run: run.id(), why }));
                    }
                }
                if found.runs.len() == limit {
                    return Ok(found);
                }
            }
            if rows.len() < self.page {
                found.end = true;
                return Ok(found);
            }
            // Where few are meant, more are looked at in one go.
            self.page = if found.runs.len() * 4 < found.seen { (self.page * 2).min(PAGE_MAX) } else { PAGE_MIN };
        }
        Ok(found)
    }

    fn query(&self, after: Option<RunId>) -> RunQuery {
        RunQuery {
            workflow: self.filter.workflow().cloned(),
            status: self.filter.status(),
            called: (!self.filter.reads_called()).then_some(false),
            before: self.upto.and_then(|upto| RunId::from_number(upto.number() + 1)),
            after,
            oldest_first: true,
            limit: self.page,
            ..RunQuery::default()
        }
    }
}

/// Wakes the driver when a bulk was started.
#[derive(Default)]
pub(crate) struct Bell {
    rung: Mutex<bool>,
    heard: Condvar,
}

impl Bell {
    pub fn ring(&self) {
        *self.rung.lock().expect("no holder of the bell panics") = true;
        self.heard.notify_one();
    }

    /// Whether it rang, within this time.
    fn wait(&self, limit: Duration) -> bool {
        let rung = self.rung.lock().expect("no holder of the bell panics");
        let (mut rung, _) = self.heard.wait_timeout_while(rung, limit, |rung| !*rung).expect("as above");
        std::mem::take(&mut *rung)
    }
}

/// Drives all bulks over runs, until the engine stops. `under_way`: some were open when the last server ended.
pub(crate) fn start(engine: Engine, under_way: bool) -> Result<(), StoreError> {
    let thread = std::thread::Builder::new().name("bulks".into());
    let started = thread.spawn(move || {
        let mut driver = Driver::default();
        let mut wait = under_way.then_some(Duration::ZERO);
        while engine.is_up() {
            let pause = wait.unwrap_or(LOOK_UP).min(LOOK_UP);
            let rung = if pause.is_zero() { false } else { engine.bell().wait(pause) };
            if rung || wait.is_some() {
                wait = driver.turn(&engine);
            }
        }
    });
    started.map(|_| ()).map_err(|error| StoreError::Failed(format!("cannot start the bulks' thread: {error}")))
}

/// What is known of the bulks under way; all of it can be found out again.
#[derive(Default)]
struct Driver {
    open: FxHashMap<BulkId, Open>,
}

struct Open {
    scan: Scan,
    /// Of a patch.
    texts: Option<Texts>,
    /// Where the bulk is, and how far behind that was looked already.
    cursor: Option<RunId>,
    at: Option<RunId>,
    chunk: usize,
}

impl Open {
    fn of(bulk: &Bulk) -> Result<Open, String> {
        let texts = match bulk.work() {
            BulkWork::Runs { verb: RunVerb::Patch { change }, .. } => Some(Texts::new(Wanted::read(change)?)),
            _ => None,
        };
        Ok(Open { scan: Scan::of(bulk)?, texts, cursor: bulk.after_run(), at: bulk.after_run(), chunk: CHUNK_FIRST })
    }
}

impl Driver {
    /// One chunk of each bulk whose turn it is. How long to rest after it; `None`: there is none under way.
    fn turn(&mut self, engine: &Engine) -> Option<Duration> {
        let bulks = match engine.ask_blocking(Request::RunBulks) {
            Ok(Answer::RunBulks(bulks)) => bulks,
            // The store has trouble, or we are on our way out.
            _ => return Some(LOOK_UP),
        };
        self.open.retain(|id, _| bulks.iter().any(|bulk| bulk.id() == *id));
        let mut rest = None;
        for bulk in &bulks {
            let left = self.advance(engine, bulk);
            rest = Some(rest.map_or(left, |rest: Duration| rest.min(left)));
        }
        rest
    }

    /// How long this one rests.
    fn advance(&mut self, engine: &Engine, bulk: &Bulk) -> Duration {
        let now = now();
        if let Some(at) = bulk.resume_at().filter(|at| *at > now) {
            return Duration::from_millis(at.ms_since(now).max(1));
        }
        let open = match self.open.entry(bulk.id()) {
            std::collections::hash_map::Entry::Occupied(open) => open.into_mut(),
            std::collections::hash_map::Entry::Vacant(vacant) => match Open::of(bulk) {
                Ok(open) => vacant.insert(open),
                Err(why) => {
                    // It was read before it was started; this is another version of the language.
                    tracing::warn!(bulk = %bulk.id(), why, "what a bulk means cannot be read any more: it is cancelled");
                    let by = Actor::parse("signaller").expect("a name");
                    _ = engine.ask_blocking(Request::Command(Command::CancelBulk { bulk: bulk.id(), by }));
                    return Duration::ZERO;
                }
            },
        };
        if open.cursor != bulk.after_run() {
            (open.cursor, open.at) = (bulk.after_run(), bulk.after_run());
        }
        let limit = bulk.allowance().min(open.chunk);
        let found = match engine.read(|reader| open.scan.look(reader, open.at, limit, now)) {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(%error, bulk = %bulk.id(), "runs cannot be looked for");
                return LOOK_UP;
            }
        };
        let Found { runs, at, end, .. } = found;
        if runs.is_empty() && !end {
            open.at = at;
            return Duration::ZERO;
        }
        let found = runs.len();
        let runs = match &mut open.texts {
            None => Ok(runs),
            Some(texts) => texts.of(engine, runs),
        };
        let runs = match runs {
            Ok(runs) => runs,
            Err(error) => {
                tracing::warn!(%error, bulk = %bulk.id(), "the text of a run cannot be read");
                return LOOK_UP;
            }
        };
        let whole = runs.len() == found;
        let end = end && whole;
        let ids: Vec<RunId> = runs.iter().map(Meant::run).collect();
        let asked = Instant::now();
        let command = Command::AdvanceBulk { bulk: bulk.id(), from: open.cursor, runs, done: end };
        match engine.ask_blocking(Request::Command(command)) {
            Ok(Answer::Reply(Ok(Reply::Items { changed, skipped }))) => {
                let done = changed + skipped;
                open.cursor = ids[..done].last().copied().or(open.cursor);
                open.at = if whole && done == ids.len() { at } else { open.cursor };
                match asked.elapsed() {
                    long if long > CHUNK_LONG => open.chunk = (open.chunk / 2).max(1),
                    short if short < CHUNK_SHORT => open.chunk = (open.chunk * 2).min(BULK_RUNS_MAX),
                    _ => {}
                }
                // The text of the first was changed meanwhile, and what was read may be as old for a moment.
                if done == 0 && !ids.is_empty() { Duration::from_millis(1) } else { Duration::ZERO }
            }
            // It was cancelled or moved, or nothing is known of what became of it: what is so is asked for in the next turn.
            Ok(Answer::Reply(Err(_))) => Duration::from_millis(1),
            _ => LOOK_UP,
        }
    }
}

fn now() -> Time {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_us(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
}
