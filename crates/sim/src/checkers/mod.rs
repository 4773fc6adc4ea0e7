//! What must hold, each under a name. Some look at every durable record just before the model takes it over, others at
//! what a tick left behind. They know the records, the requests and the answers; only `memory`, `order` and `explain`
//! look into the engine, to compare.

mod acks;
mod answers;
mod approvals;
mod attempts;
pub(crate) mod blobs;
mod blockers;
mod bulks;
mod causes;
mod changes;
mod counters;
mod events;
mod explain;
mod frames;
mod handed;
mod history;
mod leases;
mod limits;
mod memory;
mod order;
mod patience;
mod pauses;
mod starts;
mod timers;
mod tokens;
mod waits;
mod works;

pub use events::{Made, made};

use crate::ledger::Ledger;
use crate::model::Model;
use crate::presence::Presence;
use crate::turn::Turn;
use engine::Core;
use kernel::record::Entry;
use store::MemoryBlobs;
use store::memory::MemoryDisk;

pub type Check = Result<(), String>;

/// Everything a checker may look at.
pub struct Scene<'a> {
    pub model: &'a Model,
    pub turn: &'a Turn,
    /// For a record: as it was when the tick began. For a tick: as it is now.
    pub presence: &'a Presence,
    pub ledger: &'a Ledger,
    /// Down after a crash.
    pub core: Option<&'a Core>,
    pub disk: &'a MemoryDisk,
    pub blobs: &'a MemoryBlobs,
    /// Now and then everything is looked at, not only what moved.
    pub thorough: bool,
    /// And rarely the whole history.
    pub historic: bool,
    /// Values are on their way to the engine.
    pub fetching: bool,
}

pub type RecordChecker = fn(&Scene<'_>, &Entry) -> Check;
pub type TickChecker = fn(&Scene<'_>) -> Check;

pub const EACH_RECORD: [(&str, RecordChecker); 32] = [
    ("records follow one another", history::follows),
    ("legal transitions only", history::transition),
    ("no task leased twice, fences rise", leases::granted),
    ("a lease ends by the word of its holder, or for its silence", causes::ended),
    ("nothing moves unasked", causes::asked),
    ("slots are never exceeded", limits::slots),
    ("override slots are never exceeded", limits::overrides),
    ("rates are kept in every window", limits::rates),
    ("permits are recorded", limits::permits),
    ("no eligible task is passed by one with a later order", order::leased),
    ("attempts are counted right", attempts::counted),
    ("bulks do what they count", bulks::counted),
    ("one key makes one task", acks::once),
    ("only who is done or gone unblocks", blockers::let_go),
    ("who is deleted hands its blockers on", blockers::handed_on),
    ("one key starts one run", starts::once),
    ("nodes are entered and skipped as their tokens say", tokens::entered),
    ("a paused run begins nothing", tokens::paused),
    ("no task of a paused run is leased", pauses::leased),
    ("frames open one after another, as many as may", frames::opened),
    ("what closes has nothing open in it", frames::closed),
    ("a run is given up only for its deadline or a stall", patience::lost),
    ("a value is lost only with its blob", blobs::only_if_spoilt),
    ("nothing is changed in a run unasked", changes::asked),
    ("what has begun keeps its text", changes::frozen),
    ("events are handled once, by the registry in force", events::routed),
    ("events become what their handlers say", events::handled),
    ("a task is handed over to a run of its own", handed::over),
    ("of a singleton there is one", handed::alone),
    ("nothing starts after its hour", handed::in_time),
    ("who waits hears the first event that is the one", waits::heard),
    ("who hears an event is noted with it", waits::noted),
];

pub const EACH_TICK: [(&str, TickChecker); 29] = [
    ("what is mentioned is there", blobs::there),
    ("answers only after the commit", answers::durable),
    ("answers tell the truth", answers::true_),
    ("every acknowledged add is still there", acks::kept),
    ("fold equals live", memory::rows),
    ("every acknowledged run is still there", starts::kept),
    ("a run is in memory while it is live", memory::runs),
    ("nothing that may move stands still", tokens::moving),
    ("every token is there that should be", tokens::conserved),
    ("nodes, their tasks and their runs agree", works::agree),
    ("what is refused leaves no record, what is taken one", changes::answered),
    ("what is undone is stopped", changes::stopped),
    ("a pause goes down to everything, and so does its end", pauses::heard),
    ("an approval is answered once", approvals::once),
    ("what is deleted leaves nothing behind", works::gone),
    ("a rebuilt state behaves the same", memory::rebuilt),
    ("the next task is the right one", order::next),
    ("no work waits beside an idle worker", order::offered),
    ("timers are never late", timers::kept),
    ("who is to stop is told at once", leases::told_to_stop),
    ("counters are conserved", counters::conserved),
    ("who is done unblocks", blockers::current),
    ("explain names the causes", explain::causes),
    ("records fold to the rows", memory::verified),
    ("what events were to do is done", events::carried_out),
    ("the same event has the same answer", events::answered),
    ("every event is still there", events::kept),
    ("a task is held as long as its run goes on", handed::held),
    ("no event is missed by who waits for it", waits::none_missed),
];

/// Says what was expected when it is not so.
pub fn ensure(holds: bool, why: impl FnOnce() -> String) -> Check {
    if holds { Ok(()) } else { Err(why()) }
}
