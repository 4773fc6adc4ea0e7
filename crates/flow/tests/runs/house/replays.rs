//! A run replayed at a record is what it was when that was its last: every row that was kept then, past or not, and every token
//! and output that was in memory.

use super::House;
use kernel::eval::Shape;
use kernel::frame::{FramePath, Token};
use kernel::ids::{RecordSeq, RunId, TaskId};
use kernel::ir::Ir;
use kernel::names::NodeId;
use kernel::node::{NodeState, Started};
use kernel::record::{Entry, Owner, Record};
use kernel::replay::{Lost, Replay};
use kernel::row::{FRAMES, FrameRow, NODES, NodeRow, RUNS, Row, TASKS};
use kernel::run::{Run, RunStatus};
use kernel::runs::Live;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What was recorded, and pictures of the runs meanwhile.
#[derive(Default)]
pub struct Album {
    pub entries: Vec<Entry>,
    pictures: Vec<Picture>,
}

/// All of a run at one moment.
#[derive(PartialEq, Debug)]
struct Picture {
    run: RunId,
    /// The last record then, of whoever.
    at: RecordSeq,
    rows: Vec<Row>,
    tasks: BTreeMap<TaskId, Row>,
    /// Of one that is in memory.
    seen: Option<Seen>,
}

#[derive(PartialEq, Debug)]
struct Seen {
    tokens: Vec<(FramePath, NodeId, NodeId, Token)>,
    outputs: BTreeMap<(FramePath, NodeId), Option<Shape>>,
}

/// Of the first commands each has its picture, of the later ones every so manieth.
const EACH_UP_TO: usize = 100;
const EVERY: usize = 9;
/// Records of a run that are left out in turn.
const GAPS_MAX: usize = 8;
/// The same of records.
const RECORDS_EACH_UP_TO: usize = 150;
const RECORDS_EVERY: usize = 11;

impl House<'_> {
    pub(super) fn take_pictures(&mut self) {
        if self.commands > EACH_UP_TO && !self.commands.is_multiple_of(EVERY) {
            return;
        }
        let Some(at) = self.album.entries.last().map(|entry| entry.seq) else { return };
        for run in self.ledger.runs.keys() {
            let shard = &self.shards[0];
            let number = run.number();
            let rows = [&RUNS, &FRAMES, &NODES].into_iter().flat_map(|table| shard.rows_of(table, number)).collect();
            // Apart from the runs, tasks have numbers of their own.
            let tasks = if self.ways.apart { Vec::new() } else { self.album.tasks_of(*run) };
            let row = |task: TaskId| shard.rows_of(&TASKS, task.number()).pop().map(|row| (task, row));
            let tasks = tasks.into_iter().filter_map(row).collect();
            let seen = shard.state.live_run(*run).map(Seen::of);
            self.album.pictures.push(Picture { run: *run, at, rows, tasks, seen });
        }
    }

    /// Every picture is what the records up to it make; how many there were.
    pub fn replays(&mut self) -> usize {
        let pictures = std::mem::take(&mut self.album.pictures);
        for picture in &pictures {
            let replay = self.album.replay(&self.irs(), picture.run, picture.at);
            let then = replay.live().expect("it was started by then");
            let (frames, nodes) = then.rows();
            let rows = std::iter::once(then.run().to_row());
            let rows = rows.chain(frames.iter().map(|frame| frame.to_row())).chain(nodes.iter().map(|node| node.to_row()));
            let name = &self.ledger.runs[&picture.run];
            assert_eq!(rows.collect::<Vec<_>>(), picture.rows, "{name} at {:?}", picture.at);
            for (task, row) in &picture.tasks {
                assert_eq!(replay.task(*task).map(|task| task.to_row()).as_ref(), Some(row), "{name} at {:?}", picture.at);
            }
            assert!(replay.lost().next().is_none(), "{name} at {:?} has lost something", picture.at);
            if let Some(seen) = &picture.seen {
                assert_eq!(Seen::of(then).tokens, seen.tokens, "tokens of {name} at {:?}", picture.at);
                let outputs = Seen::of(then).outputs;
                for (place, output) in &seen.outputs {
                    assert_eq!(outputs.get(place), Some(output), "what {place:?} of {name} gave at {:?}", picture.at);
                }
            }
            self.explained(&replay, then);
        }
        let runs: Vec<RunId> = self.ledger.runs.keys().copied().collect();
        // A patch or a restart that is missing leads astray whatever comes after it.
        if self.ways.change_percent == 0 {
            runs.iter().for_each(|run| self.album.replayed_with_gaps(&self.irs(), *run));
        }
        pictures.len() + runs.into_iter().map(|run| self.album.records_replayed(&self.irs(), run)).sum::<usize>()
    }

    fn explained(&self, replay: &Replay, then: &Live) {
        let told = replay.explain(self.now).expect("it is known");
        assert_eq!(told.status, then.run().status());
        let paused = then.run().is_paused();
        let open = then.frames().filter(|(_, frame)| frame.is_open() && !frame.is_undone());
        let at_work = open.flat_map(|(_, frame)| {
            let nodes = frame.ir().body(frame.body()).nodes.iter();
            nodes.filter(move |node| {
                matches!(
                    frame.node(**node),
                    NodeState::Started {
                        at: Started::Working { .. } | Started::Asking { .. } | Started::Sleeping { .. } | Started::Calling { .. },
                        ..
                    }
                )
            })
        });
        if then.run().status() == RunStatus::Running && !paused {
            let waits: usize = told.waits.iter().map(|wait| 1 + wait.alike).sum::<usize>() + told.more;
            assert_eq!(waits, at_work.count(), "{told:?}");
        }
    }

    pub(super) fn irs(&self) -> Vec<Arc<Ir>> {
        self.workflows.iter().map(|workflow| workflow.ir.clone()).collect()
    }
}

impl Seen {
    /// Outputs of what is in memory: of what is past nobody asks there.
    fn of(live: &Live) -> Seen {
        let mut outputs = BTreeMap::new();
        let counts = |path: &FramePath| path.is_root() || live.goes_on(path);
        for (path, frame) in live.frames().filter(|(path, frame)| !frame.is_past() && counts(path)) {
            for node in &frame.ir().body(frame.body()).nodes {
                if matches!(frame.node(*node), NodeState::Done { .. }) {
                    outputs.insert((path.clone(), frame.ir().node(*node).id.clone()), live.output_of(&path, *node));
                }
            }
        }
        Seen { tokens: live.tokens(), outputs }
    }
}

/// With the text of a patch before it.
fn took(replay: &mut Replay, entry: &Entry) -> bool {
    if let Record::RunPatched { revision, .. } = &entry.record {
        replay.revise(*revision, super::book::revised(1, entry.payload.as_ref().expect("it has a text")));
    }
    replay.take(entry)
}

impl Album {
    pub(super) fn replay(&self, irs: &[Arc<Ir>], run: RunId, at: RecordSeq) -> Replay {
        let mut replay = Replay::new(run);
        irs.iter().for_each(|ir| replay.define(ir.clone()));
        let tasks = self.tasks_of(run);
        for entry in self.entries.iter().filter(|entry| entry.seq <= at) {
            let ours = match &entry.owner {
                Owner::Run(of) | Owner::Frame(of, _) => *of == run,
                Owner::Node(at) => at.run == run,
                Owner::Task(task) => tasks.contains(task),
                _ => false,
            };
            assert!(!ours || took(&mut replay, entry), "{} does not follow", entry.owner);
        }
        replay
    }

    /// Also between the records of one command, the run is what each of its parts is by its own records alone.
    fn records_replayed(&self, irs: &[Arc<Ir>], run: RunId) -> usize {
        let mut replay = Replay::new(run);
        irs.iter().for_each(|ir| replay.define(ir.clone()));
        let (mut own, mut frames, mut nodes) = (None, BTreeMap::new(), BTreeMap::new());
        let (mut records, mut compared) = (0, 0);
        for entry in &self.entries {
            match &entry.owner {
                Owner::Run(of) if *of == run => own = Run::fold(own.take(), run, entry),
                Owner::Frame(of, path) if *of == run => {
                    let frame = FrameRow::fold(frames.remove(&path.to_string()), run, path, entry);
                    frames.insert(path.to_string(), frame);
                }
                Owner::Node(at) if at.run == run => {
                    let key = (at.frame.to_string(), at.node.to_string());
                    let node = NodeRow::fold(nodes.remove(&key), at, entry);
                    nodes.insert(key, node);
                }
                _ => continue,
            }
            assert!(took(&mut replay, entry), "{} does not follow", entry.owner);
            records += 1;
            if records > RECORDS_EACH_UP_TO && records % RECORDS_EVERY > 0 {
                continue;
            }
            compared += 1;
            let then = replay.live().expect("it was started");
            let (its_frames, its_nodes) = then.rows();
            assert_eq!(Some(then.run()), own.as_ref(), "at {:?}", entry.seq);
            assert!(its_frames.iter().eq(frames.values()), "frames of {run} at {:?}", entry.seq);
            assert!(its_nodes.iter().eq(nodes.values()), "nodes of {run} at {:?}", entry.seq);
        }
        compared
    }

    /// One of its records is gone: whoever has others after it is told, and of the others nothing is.
    fn replayed_with_gaps(&self, irs: &[Arc<Ir>], run: RunId) {
        let of_run = |entry: &&Entry| match &entry.owner {
            Owner::Run(of) | Owner::Frame(of, _) => *of == run,
            Owner::Node(at) => at.run == run,
            _ => false,
        };
        let entries: Vec<&Entry> = self.entries.iter().filter(of_run).collect();
        let most = (entries.len() / GAPS_MAX).max(1);
        for (gap, gone) in entries.iter().enumerate().step_by(most) {
            let mut replay = Replay::new(run);
            irs.iter().for_each(|ir| replay.define(ir.clone()));
            entries.iter().enumerate().filter(|(at, _)| *at != gap).for_each(|(_, entry)| _ = replay.take(entry));
            let after = entries[gap + 1..].iter().find(|entry| entry.owner == gone.owner);
            let told = replay.lost().find(|(owner, _)| **owner == gone.owner).map(|(_, lost)| lost);
            assert_eq!(told, after.map(|after| Lost { known: gone.prev, at: after.seq }), "{run} without {:?}", gone.seq);
            let frame_gone = matches!(gone.record, Record::FrameOpened { .. } | Record::RunStarted { .. });
            assert!(frame_gone || replay.lost().count() <= 1, "{run} without {:?}", gone.seq);
            if matches!(gone.record, Record::RunStarted { .. }) {
                assert!(replay.live().is_none() && replay.explain(gone.at).is_none());
            } else {
                assert!(replay.explain(gone.at).is_some());
            }
        }
    }

    /// The tasks that nodes of a run have started.
    fn tasks_of(&self, run: RunId) -> Vec<TaskId> {
        let task = |entry: &Entry| match (&entry.owner, &entry.record) {
            (Owner::Node(at), Record::NodeStarted { at: Started::Working { task } }) if at.run == run => Some(*task),
            _ => None,
        };
        self.entries.iter().filter_map(task).collect()
    }
}
