//! `GET /v1/stream`: records as server-sent events, live, and from `Last-Event-ID` on when a listener comes back. A
//! listener that falls behind catches up from the store.

use super::Door;
use super::answer::No;
use super::body::Params;
use super::peer::Peer;
use crate::wire::*;
use axum::Extension;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue};
use axum::response::sse::{Event, KeepAlive, Sse};
use engine::{Heard, Said, Subscription};
use futures_util::stream::{self, Stream};
use kernel::ids::{RecordSeq, RunId, TaskId};
use kernel::names::QueueName;
use kernel::record::{Entry, Owner, Record};
use kernel::task::Task;
use std::collections::{HashMap, HashSet, VecDeque};
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use store::{Reader, StoreError};
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{OwnedSemaphorePermit, broadcast};

/// Records read at a time while catching up.
const PAGE: usize = 1_000;
/// Tasks whose queue and run a listener remembers.
const TASKS_REMEMBERED: usize = 100_000;

/// Follow the records. Each event's id is its cursor, its name the kind of record, its data the record.
#[utoipa::path(get, path = "/v1/stream", tag = "server",
    params(StreamQuery, ("last-event-id" = Option<String>, Header, description = "go on after this cursor")),
    responses((status = 200, body = String, content_type = "text/event-stream")))]
pub async fn stream(
    State(door): State<Door>,
    Extension(peer): Extension<Arc<Peer>>,
    headers: HeaderMap,
    Params(query): Params<StreamQuery>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, No> {
    let filter = query.filter()?;
    let place = door.look_on()?;
    let cursor = headers.get("last-event-id").map(cursor).transpose()?;
    // Subscribed before anything is read, so that nothing falls between the two.
    let subscription = door.engine.subscribe();
    let said = filter.logs.then(|| door.engine.logs().subscribe());
    let mut tail = Tail {
        subscription,
        said,
        filter,
        after: door.read(|reader| reader.last_record()).await?,
        behind: false,
        events: VecDeque::new(),
        tasks: HashMap::new(),
        door: door.clone(),
        peer,
        _place: place,
    };
    let opened = Event::default().comment("subscribed");
    // An id without data is no event, but a listener remembers it: one whose connection ends before the first record
    // comes back with it, and misses nothing either.
    let now = Cursor(tail.after).to_string();
    match cursor {
        None => tail.events.push_back(opened.id(now)),
        Some(cursor) if cursor.0 > tail.after => {
            // A cursor of another store, or of one that was put back: what it has seen cannot be told.
            tail.events.extend([opened, Event::default().event(STREAM_RESET).id(now).data("{}")]);
        }
        Some(cursor) => {
            tail.events.push_back(opened);
            tail.after = cursor.0;
            tail.behind = true;
        }
    }
    let events = stream::unfold(tail, |mut tail| async move {
        let event = tail.next().await?;
        Some((Ok(event), tail))
    });
    let every = Duration::from_millis(STREAM_COMMENT_EVERY_MS);
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(every)))
}

fn cursor(header: &HeaderValue) -> Result<Cursor, Problem> {
    let text = String::from_utf8_lossy(header.as_bytes());
    let wrong = || {
        let fix = "send the id of an event seen before, such as r1042; r0 is the beginning";
        Problem::new("invalid", format!("`{text}` is not a cursor of this stream"), fix)
    };
    Cursor::parse(&text).ok_or_else(wrong)
}

struct Tail {
    door: Door,
    peer: Arc<Peer>,
    _place: OwnedSemaphorePermit,
    subscription: Subscription,
    /// What workers say, if that is wanted.
    said: Option<broadcast::Receiver<Said>>,
    filter: StreamFilter,
    after: RecordSeq,
    behind: bool,
    events: VecDeque<Event>,
    tasks: HashMap<TaskId, Option<Where>>,
}

/// Where a task belongs.
struct Where {
    queue: QueueName,
    run: Option<RunId>,
}

impl Tail {
    /// `None` ends the stream: nobody listens any more, the door closes, the engine has stopped, or the store cannot be read.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if self.behind {
                let after = self.after;
                let entries = tokio::select! {
                    entries = self.door.read(move |reader| reader.records(after, PAGE)) => entries.ok()?,
                    () = self.peer.dismissed() => return None,
                };
                self.behind = !entries.is_empty();
                self.take(&entries).await?;
                continue;
            }
            tokio::select! {
                heard = self.subscription.next() => match heard {
                    Heard::Records(entries) => self.take(&entries).await?,
                    Heard::Missed => self.behind = true,
                    Heard::Ended => return None,
                },
                said = next_said(&mut self.said) => self.tell(said).await?,
                () = self.peer.dismissed() => return None,
            }
        }
    }

    async fn take(&mut self, entries: &[Entry]) -> Option<()> {
        let fresh: Vec<&Entry> = entries.iter().filter(|entry| entry.seq > self.after).collect();
        if let Some(last) = fresh.last() {
            self.after = last.seq;
        }
        if !self.filter.queues.is_empty() || !self.filter.runs.is_empty() {
            self.learn_tasks(&fresh).await?;
        }
        for entry in fresh {
            if self.wanted(entry) {
                let view = serde_json::to_string(&RecordView::from(entry)).ok()?;
                let event = Event::default().id(Cursor(entry.seq).to_string()).event(entry.record.kind()).data(view);
                self.events.push_back(event);
            }
        }
        Some(())
    }

    /// What is said of the tasks that are listened to.
    async fn tell(&mut self, said: Said) -> Option<()> {
        if !self.filter.queues.is_empty() || !self.filter.runs.is_empty() {
            let tasks: Vec<TaskId> = match &said {
                Said::Lines(lines) => lines.iter().map(|(task, _)| *task).collect(),
                Said::Progress(task, _) => vec![*task],
            };
            self.look_up(tasks.into_iter().filter(|task| !self.tasks.contains_key(task)).collect()).await?;
        }
        match said {
            Said::Lines(lines) => {
                for (task, line) in lines.iter() {
                    if self.is_of(task) {
                        let said = LogSaid { task: *task, at: line.at.into(), fence: line.fence, text: line.text.clone() };
                        self.events.push_back(Event::default().event(STREAM_LOG).data(serde_json::to_string(&said).ok()?));
                    }
                }
            }
            Said::Progress(task, progress) if self.is_of(&task) => {
                let (fence, message) = (progress.fence, progress.message.clone());
                let said = ProgressSaid { task, fence, progress: progress.share(), message };
                self.events.push_back(Event::default().event(STREAM_PROGRESS).data(serde_json::to_string(&said).ok()?));
            }
            Said::Progress(..) => {}
        }
        Some(())
    }

    /// This task is listened to.
    fn is_of(&self, task: &TaskId) -> bool {
        let StreamFilter { tasks, queues, runs, .. } = &self.filter;
        let place = self.tasks.get(task).and_then(Option::as_ref);
        let run = || place.and_then(|place| place.run);
        (tasks.is_empty() || tasks.contains(task))
            && (queues.is_empty() || place.is_some_and(|place| queues.contains(&place.queue)))
            && (runs.is_empty() || run().is_some_and(|run| runs.contains(&run)))
    }

    fn wanted(&self, entry: &Entry) -> bool {
        let kind = self.filter.kinds.is_empty() || self.filter.kinds.contains(&entry.record.kind());
        let task = self.filter.tasks.is_empty() || matches!(&entry.owner, Owner::Task(id) if self.filter.tasks.contains(id));
        let known = |id: &TaskId| self.tasks.get(id).and_then(Option::as_ref);
        let queue = || match &entry.owner {
            Owner::Task(id) => known(id).map(|task| &task.queue),
            Owner::Queue(queue) => Some(queue),
            Owner::Key(key) => Some(&key.queue),
            _ => None,
        };
        let run = || match &entry.owner {
            Owner::Task(id) => known(id).and_then(|task| task.run),
            Owner::Run(run) | Owner::Frame(run, _) => Some(*run),
            Owner::Node(at) => Some(at.run),
            _ => None,
        };
        let queue = self.filter.queues.is_empty() || queue().is_some_and(|queue| self.filter.queues.contains(queue));
        kind && task && queue && (self.filter.runs.is_empty() || run().is_some_and(|run| self.filter.runs.contains(&run)))
    }

    /// A task's records do not repeat its queue and run: they are learnt from the first, from its row, or from the last. Of
    /// one that has been deleted since, only the last is left.
    async fn learn_tasks(&mut self, entries: &[&Entry]) -> Option<()> {
        if self.tasks.len() > TASKS_REMEMBERED {
            self.tasks.clear();
        }
        let mut unknown = HashSet::new();
        for entry in entries {
            let Owner::Task(id) = entry.owner else { continue };
            if let Record::TaskAdded { spec } = &entry.record {
                let run = spec.node.as_ref().map(|at| at.run);
                self.tasks.insert(id, Some(Where { queue: spec.queue.clone(), run }));
            } else if let Record::TaskDeleted { queue, .. } = &entry.record {
                let run = self.tasks.remove(&id).flatten().and_then(|task| task.run);
                self.tasks.insert(id, Some(Where { queue: queue.clone(), run }));
                unknown.remove(&id);
            } else if !self.tasks.contains_key(&id) {
                unknown.insert(id);
            }
        }
        self.look_up(unknown).await
    }

    async fn look_up(&mut self, unknown: HashSet<TaskId>) -> Option<()> {
        if unknown.is_empty() {
            return Some(());
        }
        let found = self.door.read(move |reader| {
            let each = unknown.into_iter().map(|id| Ok((id, where_is(reader, id)?)));
            each.collect::<Result<Vec<_>, StoreError>>()
        });
        self.tasks.extend(found.await.ok()?);
        Some(())
    }
}

/// Whoever falls behind misses some: all lines that are kept can be read.
async fn next_said(said: &mut Option<broadcast::Receiver<Said>>) -> Said {
    loop {
        match said {
            None => std::future::pending().await,
            Some(receiver) => match receiver.recv().await {
                Ok(said) => return said,
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => *said = None,
            },
        }
    }
}

fn where_is(reader: &mut dyn Reader, task: TaskId) -> Result<Option<Where>, StoreError> {
    let Some(row) = reader.task(task)? else { return Ok(None) };
    let task = Task::from_row(&row.values)?;
    let card = task.card();
    Ok(Some(Where { queue: card.route().queue().clone(), run: card.node().map(|at| at.run) }))
}
