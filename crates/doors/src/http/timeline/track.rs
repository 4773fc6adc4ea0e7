//! The records of a run folded into what each of its nodes was at. Records come in their order; what a node was at ends when the
//! next begins, so a node is never at two things.

use crate::wire::{Cursor, Instant, MomentKind, NodeStatus, SpanKind, TaskError, TimelineMoment, TimelineSpan, place};
use kernel::frame::FramePath;
use kernel::ids::TaskId;
use kernel::names::Actor;
use kernel::node::Started;
use kernel::record::{Entry, Failure, Owner, Record};
use kernel::run::NodeAt;
use kernel::time::Time;
use std::collections::{BTreeSet, HashMap};

/// One node in one turn or item.
#[derive(Debug)]
pub struct Track {
    pub at: NodeAt,
    pub status: NodeStatus,
    pub spans: Vec<TimelineSpan>,
    /// A restart has undone the turn or item it stands in.
    pub undone: bool,
    /// What is told of another is not of this node any more.
    task: Option<TaskId>,
    /// The last span goes on.
    open: bool,
    /// Of a backoff that goes on: when the task may be taken again.
    ready_at: Option<Time>,
}

#[derive(Default, Debug)]
pub struct Tracks {
    tracks: Vec<Track>,
    by_node: HashMap<NodeAt, usize>,
    by_task: HashMap<TaskId, usize>,
    moments: Vec<TimelineMoment>,
}

impl Tracks {
    pub fn take(&mut self, entry: &Entry) {
        let at = entry.at;
        match &entry.owner {
            Owner::Node(node) => {
                let number = self.number(node);
                if let Record::NodeStarted { at: Started::Working { task } } = &entry.record {
                    self.by_task.insert(*task, number);
                    self.tracks[number].task = Some(*task);
                }
                self.tracks[number].node(&entry.record, at);
            }
            Owner::Task(task) => {
                if let Record::TaskAdded { spec } = &entry.record
                    && let Some(node) = &spec.node
                {
                    let number = self.number(node);
                    self.by_task.insert(*task, number);
                    self.tracks[number].task = Some(*task);
                }
                let track = self.by_task.get(task).map(|number| &mut self.tracks[*number]);
                if let Some(track) = track.filter(|track| track.task == Some(*task)) {
                    track.task(&entry.record, at);
                }
            }
            Owner::Run(_) => self.moments.extend(moment(entry)),
            _ => {}
        }
    }

    fn number(&mut self, node: &NodeAt) -> usize {
        if let Some(number) = self.by_node.get(node) {
            return *number;
        }
        self.tracks.push(Track::new(node.clone()));
        self.by_node.insert(node.clone(), self.tracks.len() - 1);
        self.tracks.len() - 1
    }

    /// When the run was changed under way.
    pub fn moments(&self) -> &[TimelineMoment] {
        &self.moments
    }

    /// All of them, as they stand at the end. A backoff that is over by then has been waiting since. What restarts have undone
    /// goes on no further than the restart, though nothing is recorded of it there.
    pub fn ended(mut self, until: Instant, undone: &BTreeSet<FramePath>) -> Vec<Track> {
        let restarts: Vec<Instant> =
            self.moments.iter().filter(|moment| moment.what == MomentKind::Restarted).map(|moment| moment.at).collect();
        for track in self.tracks.iter_mut().filter(|track| undone.contains(&track.at.frame)) {
            track.undone = true;
            let began = track.spans.last().map(|span| span.from);
            if let Some(restart) = restarts.iter().find(|restart| began.is_some_and(|began| began <= **restart)) {
                track.end(restart.0, None);
            }
            track.undo();
        }
        for track in self.tracks.iter_mut().filter(|track| track.open) {
            if let Some(ready_at) = track.ready_at.take().filter(|ready_at| *ready_at < until.0) {
                track.begin(SpanKind::Queued, ready_at);
            }
            if track.spans.last().is_some_and(|span| span.what == SpanKind::Running) {
                track.status = NodeStatus::Running;
            }
        }
        self.tracks
    }
}

/// What somebody did to the run, if it shows in its time line.
fn moment(entry: &Entry) -> Option<TimelineMoment> {
    let told = |what, by: &Actor, reason: &str| TimelineMoment {
        what,
        at: Instant(entry.at),
        record: Cursor(entry.seq),
        revision: None,
        generation: None,
        node: None,
        by: by.clone(),
        reason: reason.to_owned(),
    };
    Some(match &entry.record {
        Record::RunPatched { revision, description, node, by, .. } => {
            let node = node.as_ref().map(|at| place(&at.frame, &at.node));
            TimelineMoment { revision: Some(*revision), node, ..told(MomentKind::Patched, by, description) }
        }
        Record::RunRestarted { node, generation, reason, by, .. } => {
            let node = Some(place(&node.frame, &node.node));
            TimelineMoment { generation: Some(*generation), node, ..told(MomentKind::Restarted, by, reason) }
        }
        Record::RunReopened { reason, by, .. } => told(MomentKind::Retried, by, reason),
        _ => return None,
    })
}

impl Track {
    /// One that nothing has happened to.
    pub fn new(at: NodeAt) -> Track {
        let (status, spans) = (NodeStatus::Waiting, Vec::new());
        Track { at, status, spans, undone: false, task: None, open: false, ready_at: None }
    }

    /// A restart has undone all that it was at.
    fn undo(&mut self) {
        self.spans.iter_mut().for_each(|span| span.undone = true);
    }

    /// From now on it is at this.
    fn begin(&mut self, what: SpanKind, at: Time) -> &mut TimelineSpan {
        self.end(at, None);
        self.open = true;
        self.status = match what {
            SpanKind::Queued | SpanKind::Held | SpanKind::Backoff => NodeStatus::Queued,
            SpanKind::Sleeping => NodeStatus::Sleeping,
            SpanKind::Asking => NodeStatus::Asking,
            SpanKind::Awaiting => NodeStatus::Awaiting,
            SpanKind::Inside | SpanKind::Calling | SpanKind::Running => NodeStatus::Running,
        };
        self.spans.push(TimelineSpan {
            what,
            from: Instant(at),
            to: None,
            attempt: None,
            worker: None,
            error: None,
            undone: false,
        });
        let last = self.spans.len() - 1;
        &mut self.spans[last]
    }

    fn end(&mut self, at: Time, failure: Option<&Failure>) {
        let Some(span) = self.spans.last_mut().filter(|_| std::mem::take(&mut self.open)) else { return };
        span.error = failure.map(TaskError::from);
        span.to = Some(Instant(at));
        if let Some(ready_at) = self.ready_at.take().filter(|ready_at| *ready_at < at) {
            span.to = Some(Instant(ready_at));
            let queued = TimelineSpan { what: SpanKind::Queued, from: Instant(ready_at), to: Some(Instant(at)), ..span.clone() };
            self.spans.push(queued);
        }
    }

    /// It has ended. One that was never at anything was decided at once.
    fn over(&mut self, status: NodeStatus, at: Time, failure: Option<&Failure>) {
        if self.status == NodeStatus::Waiting && status != NodeStatus::Skipped && status != NodeStatus::Cancelled {
            self.begin(SpanKind::Running, at);
        }
        self.end(at, failure);
        if let (Some(failure), Some(span)) = (failure, self.spans.last_mut()) {
            span.error = Some(TaskError::from(failure));
        }
        self.status = status;
    }

    fn node(&mut self, record: &Record, at: Time) {
        match record {
            Record::NodeStarted { at: started } => {
                let what = match started {
                    // Its task may have been taken in the meantime: that is told by the task.
                    Started::Working { .. } if self.open => return,
                    Started::Working { .. } => SpanKind::Queued,
                    Started::Calling { .. } => SpanKind::Calling,
                    Started::Asking { .. } => SpanKind::Asking,
                    Started::Sleeping { .. } => SpanKind::Sleeping,
                    Started::Awaiting(_) => SpanKind::Awaiting,
                    Started::Turning { .. } | Started::Spreading { .. } => SpanKind::Inside,
                };
                self.begin(what, at);
            }
            Record::NodeDone { .. } | Record::NodeSet { .. } => self.over(NodeStatus::Done, at, None),
            Record::NodeFailed { failure, .. } => self.over(NodeStatus::Failed, at, Some(failure)),
            Record::NodeSkipped { .. } => self.over(NodeStatus::Skipped, at, None),
            Record::NodeCancelled {} => self.over(NodeStatus::Cancelled, at, None),
            Record::NodeReopened { .. } => {
                // A loop, an each or a call goes on where it was.
                let was = self.spans.last().map(|span| span.what);
                self.end(at, None);
                self.status = NodeStatus::Waiting;
                self.task = None;
                if let Some(was @ (SpanKind::Inside | SpanKind::Calling)) = was {
                    self.begin(was, at);
                }
            }
            Record::NodeReset {} => {
                self.end(at, None);
                self.undo();
                (self.status, self.task) = (NodeStatus::Waiting, None);
            }
            // It goes on; what it was at before stays.
            Record::NodeRewound { .. } if !self.open => _ = self.begin(SpanKind::Inside, at),
            _ => {}
        }
    }

    fn task(&mut self, record: &Record, at: Time) {
        match record {
            Record::TaskAdded { .. } if !self.open => _ = self.begin(SpanKind::Queued, at),
            Record::TaskQueued { .. } | Record::TaskReleased { .. } => _ = self.begin(SpanKind::Queued, at),
            Record::TaskLeased { worker, attempt, .. } => {
                let span = self.begin(SpanKind::Running, at);
                (span.worker, span.attempt) = (Some(worker.clone()), Some(*attempt));
            }
            Record::TaskRetried { failure, retry_at, .. } => {
                self.end(at, Some(failure));
                self.begin(SpanKind::Backoff, at);
                self.ready_at = Some(*retry_at);
            }
            Record::TaskHeld { .. } if self.status == NodeStatus::Queued => _ = self.begin(SpanKind::Held, at),
            Record::TaskLetGo { .. } if self.status == NodeStatus::Queued => _ = self.begin(SpanKind::Queued, at),
            Record::TaskDone { .. } | Record::TaskCancelled { .. } => self.end(at, None),
            Record::TaskFailed { failure, .. } => self.end(at, Some(failure)),
            _ => {}
        }
    }
}
