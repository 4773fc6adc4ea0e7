//! Who drives bulks over runs: looks at the disk as the engine's own driver does, and hands in what it finds. It may be late, and
//! it may have found something from where the bulk is no more.

use crate::client::{Client, actor};
use crate::mail::Sender;
use crate::model::runs::RunModel;
use crate::world::World;
use engine::Request;
use engine::bulk::Scan;
use kernel::bulk::{Bulk, BulkWork, Meant, Refusal, RunVerb};
use kernel::command::Command;
use kernel::ids::{BulkId, RunId};
use kernel::names::Actor;
use kernel::run::RunStatus;

type Means = fn(&RunModel) -> bool;

/// What bulks are over, and what that means by the model.
const FILTERS: [(&str, Means); 6] = [
    ("true", |_| true),
    ("status == 'failed' || status == 'cancelled'", |run| matches!(run.status, RunStatus::Failed | RunStatus::Cancelled)),
    ("status == 'running'", |run| run.status == RunStatus::Running),
    ("run.status == 'running' && !paused", |run| run.status == RunStatus::Running && !run.paused),
    ("paused", |run| run.paused),
    // For no run is there an answer.
    ("tags[0] == 'a'", |_| false),
];

pub fn means(filter: &str, run: &RunModel) -> bool {
    FILTERS.iter().any(|(text, means)| *text == filter && means(run))
}

impl Client<'_> {
    pub fn bulk_of_runs(&mut self) -> Command {
        let (filter, _) = *self.chance.pick(&FILTERS);
        let patch = RunVerb::Patch { change: "{}".into() };
        let verbs = [RunVerb::Cancel, RunVerb::Retry, RunVerb::Retry, RunVerb::Pause, RunVerb::Resume, patch];
        // Texts of their own have the runs of worlds with changes alone.
        let known = verbs.len() - usize::from(!self.temper.changes);
        let verb = self.chance.pick(&verbs[..known]).clone();
        let per_s = self.chance.maybe(400, |chance| *chance.pick(&[1, 5, 40]));
        *self.inputs += 1;
        // A name of its own, to tell by it what it did.
        let by = Actor::parse(&format!("bulk{}", self.inputs)).unwrap_or_else(|_| actor());
        let work = BulkWork::Runs { verb, filter: filter.into(), upto: RunId::new(0, 0), per_s };
        Command::StartBulk { work, by, reason: String::new() }
    }
}

impl World {
    pub(crate) fn drive_bulks(&mut self) {
        let open = self.model.bulks.iter().filter(|(_, bulk)| bulk.open && bulk.work.is_over_runs());
        let open: Vec<BulkId> = open.map(|(id, _)| *id).collect();
        for id in open {
            if self.chance.permille(600) {
                self.drive(id);
            }
        }
    }

    fn drive(&mut self, id: BulkId) {
        let store = self.disk.open();
        let mut reader = store::Store::reader(&store).expect("memory can be read");
        let Ok(Some(row)) = reader.bulk(id) else { return };
        let bulk = Bulk::from_row(&row.values).expect("a stored row decodes");
        if bulk.resume_at().is_some_and(|at| at > self.now) && self.chance.permille(900) {
            return;
        }
        let limit = 1 + self.chance.below(bulk.allowance().min(5));
        let mut scan = Scan::of(&bulk).expect("its filter is one");
        let found = scan.look(&mut *reader, bulk.after_run(), limit, self.now).expect("memory can be read");
        let runs = match bulk.work() {
            BulkWork::Runs { verb: RunVerb::Patch { .. }, .. } => self.with_texts(found.runs),
            _ => found.runs,
        };
        let command = Command::AdvanceBulk { bulk: id, from: bulk.after_run(), runs, done: found.end };
        // Asked for twice, it is done once.
        let times = if self.chance.permille(200) { 2 } else { 1 };
        for _ in 0..times {
            self.mail.send(Sender::Door, Request::Command(command.clone()));
        }
    }

    /// Each with a text of its own, made of the one it follows or, now and then, of another.
    fn with_texts(&mut self, runs: Vec<Meant>) -> Vec<Meant> {
        let with_text = |meant| match meant {
            Meant::Run(run) => match self.client().new_revision(run) {
                Some(new) => Meant::Revised(run, new),
                None => Meant::Left(Refusal { run, why: "nobody has an idea".into() }),
            },
            other => other,
        };
        runs.into_iter().map(with_text).collect()
    }
}
