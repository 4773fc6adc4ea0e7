"""Made by `make sdk-types` from the server's own description. Do not edit."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict
from urllib.parse import quote
from uuid import uuid4

if sys.version_info >= (3, 11):
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack


BacklogFull = Literal["refuse", "drop_oldest"]
BlobRef = str
BulkStatus = Literal["open", "done", "cancelled"]
BulkWorkView = dict[str, Any]
CancelCause = Literal["asked", "cleared", "expired", "shed", "replaced"]
Cursor = str
EndingView = Literal["cancel", "timed_out"]
Instant = str
MomentKind = Literal["patched", "restarted", "retried"]
NodeStatus = Literal["waiting", "queued", "running", "asking", "sleeping", "awaiting", "done", "failed", "skipped", "cancelled"]
NodeWork = dict[str, Any]
Priority = Literal["critical", "high", "normal", "background"] | int
RecordBody = dict[str, Any] | Any
ReleasedCause = Literal["worker", "undelivered"]
RunStatus = Literal["running", "done", "failed", "cancelled"]
RunsVerb = Literal["cancel", "retry", "pause", "resume", "restart", "patch"]
SpanKind = Literal["inside", "queued", "held", "backoff", "sleeping", "asking", "awaiting", "calling", "running"]
Status = Literal["idle", "queued", "running", "done", "failed", "cancelled"]


class AnswerViewRequired(TypedDict):
    approved: bool
    by: str


class AnswerView(AnswerViewRequired, total=False):
    comment: str


class ApprovalAnswerOptions(TypedDict, total=False):
    by: str | None
    "One of those it asks."
    comment: str | None


class ApprovalAnswer(ApprovalAnswerOptions):
    approved: bool
    node: str
    "Such as `run-7/ask`."


class ApprovalAnswered(TypedDict):
    approved: bool
    by: str
    node: str


class ApprovalListRequired(TypedDict):
    approvals: list[ApprovalView]


class ApprovalList(ApprovalListRequired, total=False):
    next: str | None
    "The cursor of the next page; null on the last."


class ApprovalViewRequired(TypedDict):
    node: str
    "What an answer names, such as `run-7/rounds[1]/ask`."
    run: str
    since: Instant
    who: list[str]
    "Who may answer; anyone when empty."
    workflow: str


class ApprovalView(ApprovalViewRequired, total=False):
    message: Any
    until: Instant | None


AwaitKey = TypedDict("AwaitKey", {"is": "Any", "of": "str"})


class BlobPutRequired(TypedDict):
    ref: BlobRef
    size: int


class BlobPut(BlobPutRequired, total=False):
    grace_ms: int | None
    "It stays so long, counted from now, until something mentions it; longer if something does. Left out: for good."


class BlobsSweptRequired(TypedDict):
    removed: int
    "Nothing mentions these and their grace period is over: they are gone, or would be."
    removed_bytes: int
    seen: int
    seen_bytes: int
    young: int
    "Nothing mentions these, but their grace period goes on."


class BlobsSwept(BlobsSweptRequired, total=False):
    next: BlobRef | None
    trouble: str | None
    "Why some of them could not be removed."


class BlobsViewRequired(TypedDict):
    place: str
    removed: int
    "Removed by the last look at all of them, as far as it has gone."


class BlobsView(BlobsViewRequired, total=False):
    trouble: str | None
    "Why it cannot be reached, or what nothing mentions cannot be removed."


class BlockedOnRequired(TypedDict):
    code: str
    "Stable: `paused`, `rate`, `no_worker` …"
    sentence: str


class BlockedOn(BlockedOnRequired, total=False):
    eta: Instant | None
    since: Instant | None


class BoostViewRequired(TypedDict):
    seconds: int


class BoostView(BoostViewRequired, total=False):
    key: KeyPair | None


class BulkAnswer(TypedDict, total=False):
    at_least: bool
    "Not all that wait were looked at: there may be more."
    bulk: str
    "The bulk that does it."
    changed: int
    "Tasks that were changed at once."
    skipped: int
    "Tasks that were not in a state to be changed."
    would_change: int
    "Of a dry run: tasks that wait now and would be changed."


class BulkList(TypedDict):
    bulks: list[BulkView]


class BulkViewRequired(TypedDict):
    bulk: str
    by: str
    items: int
    "Tasks changed so far, or runs."
    reason: str
    skipped: int
    started_at: Instant
    status: BulkStatus
    work: str
    "`clear`, `drain`, `shed`, `reprioritize`, `redrive` or `unblock`; over runs `cancel_runs`, `retry_runs`, `pause_runs`, `resume_runs`, `restart_runs` or `patch_runs`."


class BulkView(BulkViewRequired, total=False):
    families: list[str]
    "Of a shed: which families."
    filter: TaskFilter | None
    finished_at: Instant | None
    patch: Any
    "Of a patch: what it changes in each text, its `operations`, `set` and `unset`."
    per_s: int | None
    "At most so many a second."
    queue: str | None
    refused: list[RunRefused]
    "The first runs that were left as they were, and why."
    resume_at: Instant | None
    upto: int | None
    "Of a shed: the highest priority that is shed."
    where: str | None
    "Which runs, if it is over runs."


class CancelledView(TypedDict):
    by: str
    cause: CancelCause
    reason: str


class Counts(TypedDict, total=False):
    blocked: int
    "Wait for other tasks."
    dead: int
    "Dead letters."
    held: int
    "Their runs are paused."
    in_runs: int
    "Their runs hold them until these end: tasks of handlers that start a workflow. They are not among `running`."
    overrides: int
    "Hold an override slot, waiting or running."
    queued: int
    "All that wait: ready, scheduled, blocked or held."
    ready: int
    "Could be picked now, as far as the task itself goes."
    running: int
    "Workers hold them."
    scheduled: int
    "Wait for their instant."


class CronDueRequired(TypedDict):
    cron: str
    event: str
    schedule: str
    zone: str


class CronDue(CronDueRequired, total=False):
    next: Instant | None


class CronFired(TypedDict):
    at: Instant
    event: str
    handled: list[HandledView]


class CronList(TypedDict):
    crons: list[CronView]


class CronNext(TypedDict):
    at: list[Instant]
    cron: str
    zone: str


class CronViewRequired(TypedDict):
    critical: bool
    "Its tasks pass pauses."
    cron: str
    event: str
    schedule: str
    zone: str


class CronView(CronViewRequired, total=False):
    last: CronFired | None
    next: Instant | None


class DispatchesRequired(TypedDict):
    completed: int
    failed: int
    "Attempts that failed, whether another followed or not."
    released: int
    "Handed back unburnt."
    started: int


class Dispatches(DispatchesRequired, total=False):
    success_rate: float | None
    "Completed of those that completed or failed, from 0 to 1; null when there is none."


class Durations(TypedDict, total=False):
    max: int | None
    p50: int | None
    p95: int | None


class EventEmitOptions(TypedDict, total=False):
    dedup_key: str | None
    "By which handlers that ask for it tell that one came before."
    id: str | None
    "Sent again with the same id, it is the same event: the answer is the same and nothing happens twice."
    priority: Priority | None
    source: str | None
    "Who or what sent it."
    trace: EventTrace | None
    ts: Instant | None


class EventEmitRequired(TypedDict):
    name: str
    "Its family is the part before the last `/` or `.`."


class EventEmit(EventEmitOptions, EventEmitRequired, total=False):
    data: Any
    "Any JSON; null when left out."


class EventEmittedRequired(TypedDict):
    duplicate: bool
    "It had come before: this is what became of it then."
    event: str
    handled: list[HandledView]
    "Empty, and nobody heard it: it is kept, and counted as unhandled."


class EventEmitted(EventEmittedRequired, total=False):
    differs: bool
    "It had come before with another name or other data: those stay, and these are not kept."
    heard: list[str]
    "Runs that waited for it and go on with it, the first ones."


class EventListRequired(TypedDict):
    events: list[EventView]


class EventList(EventListRequired, total=False):
    next: str | None
    "The cursor of the next page, if there is one."


class EventTrace(TypedDict, total=False):
    causation_id: str | None
    correlation_id: str | None


class EventViewRequired(TypedDict):
    event: str
    family: str
    handled: list[HandledView]
    "Empty, and nobody heard it: nobody took it."
    name: str
    received_at: Instant


class EventView(EventViewRequired, total=False):
    data: Any
    dedup_key: str | None
    heard: list[str]
    "Runs that waited for it and went on with it, the first ones."
    id: str | None
    priority: Priority | None
    replays: int
    "How often it was handled again."
    source: str | None
    trace: EventTrace | None
    ts: Instant | None


class EventsEmit(TypedDict):
    events: list[EventEmit]


class EventsEmitted(TypedDict):
    events: list[EventEmitted]


class ExplanationRequired(TypedDict):
    blocked_on: list[BlockedOn]
    "Everything that stands in the way, what weighs most first."
    next_actions: list[str]
    sentence: str
    "The whole answer in one sentence."
    status: Status
    task: str


class Explanation(ExplanationRequired, total=False):
    eta: Instant | None
    eta_reason: str | None
    "Why there is no `eta`."
    since: Instant | None


class FailureView(TypedDict):
    at: Instant
    code: str
    family: str
    final: bool
    "No other attempt follows by itself."
    message: str
    queue: str
    task: str


class FairnessRequired(TypedDict):
    key: str


class Fairness(FairnessRequired, total=False):
    step_ms: int
    weights: dict[str, int]


class FamiliesBoostOptions(TypedDict, total=False):
    by: str | None


class FamiliesBoost(FamiliesBoostOptions):
    boost: Priority
    "0 takes it away."
    families: str


class FamiliesListRequired(TypedDict):
    said: list[FamiliesView]
    "What was said, of families or patterns."


class FamiliesList(FamiliesListRequired, total=False):
    families: list[FamilyView]
    "Families of which events have made something that waits or runs now, those with the most first; at most 1000."
    families_left: int
    "Families that are not among them."
    note: str | None
    "What may be a mistake: what was said is of a family that nothing knows, and holds all the same; or there was no pause to take back."


class FamiliesPauseOptions(TypedDict, total=False):
    by: str | None
    for_ms: int | None
    "Instead of `until`."
    reason: str | None
    until: Instant | None


class FamiliesPause(FamiliesPauseOptions):
    families: str


class FamiliesResumeOptions(TypedDict, total=False):
    by: str | None


class FamiliesResume(FamiliesResumeOptions):
    families: str


class FamiliesShedOptions(TypedDict, total=False):
    by: str | None
    dry_run: bool
    "Cancel nothing: say how many would be."
    reason: str | None
    "Why, for everyone who asks."


class FamiliesShed(FamiliesShedOptions):
    families: list[str]
    "Families, or patterns such as `github/*`; 1 to 64."
    upto: Priority
    "The highest priority that is shed, below critical: a task's own, without boosts."


class FamiliesViewRequired(TypedDict):
    boost: int
    "A head start for their tasks, in seconds."
    families: str
    "A family, or a pattern such as `github/*`."


class FamiliesView(FamiliesViewRequired, total=False):
    counts: Counts
    "What there is of them now. Dead letters are not counted here."
    pause: PauseView | None


class FamilyStatsRequired(TypedDict):
    dispatch_duration_ms: Durations
    "From handed to a worker to its outcome."
    dispatches: Dispatches
    family: str
    promotions: Promotions
    queue_latency_ms: Latency
    "From ready to handed to a worker."
    tasks: TaskFigures


class FamilyStats(FamilyStatsRequired, total=False):
    events: dict[str, int]
    "Events that did not become work, by what became of them at a handler: `debounced` (another took its place), `duplicate`, `skipped`, `rate_dropped`, `backlog_dropped`, `failed`, `shadow`; and, of no queue, `unhandled`, and `heard`: no handler took it, and a run that waited for it did."


class FamilyView(TypedDict):
    counts: Counts
    "In all queues together. Dead letters are not counted here."
    family: str
    paused: bool
    "By itself or by a pattern that covers it."
    queues: list[str]


class FrameCounts(TypedDict, total=False):
    done: int
    dropped: int
    failed: int
    open: int
    undone: int
    "Turns or items that restarts have undone. They are not among the others."


class HandledViewRequired(TypedDict):
    handler: str
    outcome: str
    why: str
    "A sentence."


class HandledView(HandledViewRequired, total=False):
    run: str | None
    "The run that does its work, and how that is now; likewise."
    run_status: RunStatus | None
    status: Status | None
    task: str | None
    "The task that stands for it."


class History(TypedDict):
    records: list[RecordView]


class KeyLimit(TypedDict, total=False):
    concurrency: int | None
    rate: Rate | None


class KeyPair(TypedDict):
    name: str
    value: str


class LatencyRequired(TypedDict):
    target_p95_ms: int


class Latency(LatencyRequired, total=False):
    max: int | None
    p50: int | None
    p95: int | None
    within_target: bool | None
    "Null when nothing was handed out."


class LeaseViewRequired(TypedDict):
    budget_until: Instant
    fence: str
    heartbeat_ms: int
    since: Instant
    worker: str


class LeaseView(LeaseViewRequired, total=False):
    ending: EndingView | None
    message: str | None
    progress: float | None
    "How far the worker is, from 0 to 1, and at what, by its own word."
    run: str | None
    "The run that does the work: no worker is heard of, and no budget counts."


class LogLineViewRequired(TypedDict):
    at: Instant
    fence: str
    n: int
    "From 1, over all attempts."
    text: str


class LogLineView(LogLineViewRequired, total=False):
    attempt: int | None
    "The attempt that said it, while its history is kept."


class LogViewRequired(TypedDict):
    dropped: int
    "How many lines before those that are kept were dropped."
    ended: bool
    "The task has ended: nobody says anything more."
    lines: list[LogLineView]


class LogView(LogViewRequired, total=False):
    progress: ProgressView | None


class LostHistory(TypedDict):
    owner: str
    "Whose, as records say it; empty where that cannot be read either."
    sentence: str


class NextAction(TypedDict):
    command: str
    description: str


class NodeAddedRequired(TypedDict):
    after: list[str]
    node: str
    type: str


NodeAddedSaid = TypedDict("NodeAddedSaid", {"in": "str | None"}, total=False)


class NodeAdded(NodeAddedRequired, NodeAddedSaid):
    pass


class NodeChanged(TypedDict):
    changes: list[PartChanged]
    node: str


class NodeCounts(TypedDict, total=False):
    asking: int
    awaiting: int
    cancelled: int
    done: int
    failed: int
    more: bool
    "There are more than were counted."
    queued: int
    running: int
    skipped: int
    sleeping: int
    undone: int
    "Nodes that restarts have undone, where those were asked for. They are not among the others."
    waiting: int


class NodeListRequired(TypedDict):
    nodes: list[NodeView]


class NodeList(NodeListRequired, total=False):
    next: str | None
    "The cursor of the next page; null on the last."


class NodeReplay(TypedDict, total=False):
    by: str | None
    config: Any
    "Another input for its worker, in its definition."
    force_replay: bool
    "Also if it did not fail: what follows from it is undone."
    reason: str | None
    "Why, for the history."


class NodeSetBy(TypedDict):
    by: str
    reason: str


class NodeViewRequired(TypedDict):
    id: str
    "What its definition calls it."
    node: str
    "`pay`, or `rounds[1].check[4]/lint` in a loop or an each."
    status: NodeStatus


class NodeView(NodeViewRequired, total=False):
    again_at: Instant | None
    answer: AnswerView | None
    attempts: int | None
    "How often its task was tried; of one node alone."
    await_key: AwaitKey | None
    await_match: str | None
    "What else has to hold for that event, as its `match` is written; left out where `await_key` is all of it."
    awaits: str | None
    "The name of the event that it waits for, or waited for."
    cause: str | None
    "Why it was skipped: `untaken`, or `failed` when something before it failed."
    duration_ms: int | None
    ended_at: Instant | None
    error: TaskError | None
    frame: str
    "The turn or item it stands in; left out for the run's own frame."
    frames: FrameCounts | None
    heard: str | None
    "The event by which it is done."
    input: Any
    "What it was given, of one node alone: its task's input, the called run's, what it asks, what it turns or goes over."
    items: int | None
    "Of an each: over how many it goes."
    last_error: TaskError | None
    message: str | None
    output: Any
    "Only where it was asked for; one that passes on what it was given has none of its own."
    progress: float | None
    "How far that is, from 0 to 1, and at what, by its own word; of a node that is shown alone."
    removed: int | None
    "A patch has taken it out: the first revision of the run's definition without it."
    set: NodeSetBy | None
    since: Instant | None
    sub_run: str | None
    "The run it called."
    task: str | None
    then: str | None
    "What its failure means: `fail`, `to` or `ignore`."
    to: list[str]
    "Where that way leads."
    type: str | None
    undone: bool
    "A restart has undone the turn or item that it stands in."
    until: Instant | None
    waits_for: list[str]
    "Of one that waits: the nodes before it that have not ended."
    way: str | None
    "The way it took, where there was a choice: `rules[0]`, `default`, `named`, `rejected`, `timed_out`, `max`."
    why: str | None
    "What made it so: a condition that did not hold, the way that another node went, a failure."
    worker: str | None
    "The worker that is at its task; of one that was cancelled, the worker that has still to stop."


class OutsideViewRequired(TypedDict):
    address: str
    counts: dict[str, int]
    "Since this start; `out`: now."


class OutsideView(OutsideViewRequired, total=False):
    trouble: str | None
    "Why it cannot be used now."


class PartChangedRequired(TypedDict):
    what: str


class PartChanged(PartChangedRequired, total=False):
    new: Any
    old: Any


class PauseViewRequired(TypedDict):
    by: str
    reason: str
    since: Instant


class PauseView(PauseViewRequired, total=False):
    until: Instant | None


class ProblemRequired(TypedDict):
    code: str
    "Stable: programs may match on it."
    fix: str
    "What to do about it."
    message: str
    "A sentence for people; its wording may change."
    retryable: bool
    "Whether the same request may succeed later."


class Problem(ProblemRequired, total=False):
    changes: list[str]
    next_actions: list[NextAction]
    "Commands that help, to be run as they are."
    problems: list[ProblemAt]
    "Each on its own, where a text or a value is wrong in several places."
    retry_after_ms: int | None
    revision: int | None
    "Of a run that was changed by somebody else meanwhile: the revision it is at, and what is different by that."


class ProblemAtRequired(TypedDict):
    message: str
    path: str
    "Such as `nodes.route.rules[0].to`, or `/order` in a value."


class ProblemAt(ProblemAtRequired, total=False):
    column: int | None
    "From 1, in characters."
    line: int | None
    "From 1."
    suggestion: str | None


class ProgressViewRequired(TypedDict):
    at: Instant
    fence: str
    progress: float
    "From 0 to 1."


class ProgressView(ProgressViewRequired, total=False):
    attempt: int | None
    "The attempt that said it, while its history is kept."
    message: str | None


class Promotions(TypedDict):
    boosts: int
    "Boosts of a queue or a key."
    expedited: int
    "Its queue was drained."
    raised: int
    "Its priority was raised."
    run_now: int
    total: int


class QueueClear(TypedDict, total=False):
    by: str | None
    dry_run: bool
    "Cancel nothing: say how many would be."
    filter: TaskFilter | None
    reason: str | None


class QueueConfig(TypedDict, total=False):
    backlog_full: BacklogFull
    "What becomes of one more then: it is refused, or the one that has waited longest makes room."
    backlog_max: int | None
    "As many tasks may wait."
    budget_ms: int
    "How long one attempt may run."
    concurrency: int | None
    "Tasks running at once, over all types and keys."
    fairness: Fairness | None
    heartbeat_ms: int
    "A worker silent for longer has lost its lease."
    idempotency_window_ms: int
    "How long an idempotency key is remembered."
    keys: dict[str, KeyLimit]
    override_slots: int
    "Tasks that may be run now past the limits, waiting or running."
    rate: Rate | None
    require_tag: str | None
    "Only tasks with this tag are picked; the others wait and `explain` says so."
    retry: Retry


class QueueDrain(TypedDict, total=False):
    by: str | None
    filter: TaskFilter | None


class QueueListRequired(TypedDict):
    queues: list[QueueView]


class QueueList(QueueListRequired, total=False):
    note: str | None
    "What may be a mistake: there is nothing of that family, but of some below it."


class QueuePause(TypedDict, total=False):
    by: str | None
    for_ms: int | None
    "Instead of `until`."
    reason: str | None
    until: Instant | None


class QueuePutOptions(TypedDict, total=False):
    by: str | None


class QueuePut(QueuePutOptions):
    config: QueueConfig


class QueueRedrive(TypedDict, total=False):
    by: str | None
    filter: TaskFilter | None
    per_s: int | None
    "At most so many a second; only with `filter`."
    tasks: list[str] | None
    "These tasks, at once."


class QueueReprioritizeOptions(TypedDict, total=False):
    boost: bool
    "A head start for all that is or comes in the queue; 0 removes it."
    by: str | None
    filter: TaskFilter | None
    key: KeyPair | None
    tasks: list[str] | None
    "These tasks, at once."


class QueueReprioritize(QueueReprioritizeOptions):
    priority: Priority


class QueueViewRequired(TypedDict):
    config: QueueConfig
    counts: Counts
    queue: str


class QueueView(QueueViewRequired, total=False):
    boosts: list[BoostView]
    bulks: list[BulkView]
    "Bulks under way on this queue."
    oldest_at: Instant | None
    pause: PauseView | None


class RateRequired(TypedDict):
    count: int
    per_ms: int


class Rate(RateRequired, total=False):
    burst: int


class RecordStamp(TypedDict):
    at: Instant
    seq: Cursor


class RecordView(TypedDict):
    at: Instant
    owner: str
    "Whose history it belongs to: `task-9m2`, `queue:ci`, `bulk-3`, `key:ci|tenant=acme`, `rate:ci`, `shard`, `event-7`, `registry`, `family:github/*`, `workflow:3:refund`, `run-7`, a turn or item `run-7/rounds[1]`, a node `run-7/rounds[1]/lint`."
    record: RecordBody
    seq: Cursor


class RegistryCheckedRequired(TypedDict):
    handlers: list[str]
    queues: list[str]
    webhooks: list[str]


class RegistryChecked(RegistryCheckedRequired, total=False):
    crons: list[CronDue]
    "With when each fires next."
    warnings: list[str]
    "What is right and yet may not work."


class RegistryDiff(TypedDict):
    changes: Any
    "By handlers, queues, crons and webhooks, field by field."
    lines: list[str]
    "In words."
    revision: int
    "Of the one in force."
    same: bool
    "It would change nothing."


class RegistryPutRequired(TypedDict):
    handlers: int
    revision: int
    unchanged: bool
    "This very text was in force."


class RegistryPut(RegistryPutRequired, total=False):
    warnings: list[str]
    "What is right and yet may not work, or may not last."


class RegistryStatusRequired(TypedDict):
    revision: int


class RegistryStatus(RegistryStatusRequired, total=False):
    file: str | None
    "The file that this server takes it from."
    refused: str | None
    "Why a newer one is not, if there is one."
    warnings: list[str]
    "What is right in it and yet may not work."


class RegistryViewRequired(TypedDict):
    handlers: list[str]
    queues: list[str]
    "Queues that take their rules from it."
    revision: int
    "0: none was ever put."
    text: str
    webhooks: list[str]


class RegistryView(RegistryViewRequired, total=False):
    by: str | None
    crons: list[CronDue]
    "With when each fires next."
    file: str | None
    "The file that this server takes it from: its next change replaces the one in force."
    put_at: Instant | None
    refused: str | None
    "Why the newest text that was tried is not the one in force."
    warnings: list[str]
    "What is right and yet may not work."


class Retry(TypedDict, total=False):
    attempts: int
    "Attempts in all, the first included."
    backoff_max_ms: int
    backoff_ms: int
    "Wait after the first failure; it doubles after each further one."
    jitter_percent: int
    "How much of the wait, in percent, chance may add."


class RollupsViewRequired(TypedDict):
    lag_ms: int
    "How long something that had come has waited to be in them; 0 when all is."
    lost: int
    "Records of tasks that were deleted before they were counted."
    record: int
    "The last record that is in them."


class RollupsView(RollupsViewRequired, total=False):
    trouble: str | None
    "Why they do not get further, if they do not."


class RunCancelledView(TypedDict):
    by: str
    reason: str


class RunChange(TypedDict, total=False):
    by: str | None
    reason: str | None


class RunDefinitionRequired(TypedDict):
    newest: int
    "The one that it is at."
    revision: int
    run: str
    text: str
    version: int
    workflow: str


class RunDefinition(RunDefinitionRequired, total=False):
    at: Instant | None
    by: str | None
    changes: list[str]
    description: str | None
    node: str | None
    "The node whose worker asked for it."
    operations: Any
    "The operations that made it of the one before."
    since: int | None
    "The revision that `changes` are since."


class RunExplanationRequired(TypedDict):
    next_actions: list[str]
    run: str
    sentence: str
    "The whole answer in one sentence."
    status: RunStatus
    waits: list[WaitView]


class RunExplanation(RunExplanationRequired, total=False):
    more: int
    "Waits beyond those."


class RunFork(TypedDict, total=False):
    at: str | None
    "From how it was after this record or at this instant: `r1042`, `2026-11-15T08:57:00Z`, `start`, or `end`, which it is when left out. What was under way then begins anew."
    by: str | None
    deadline: Instant | None
    deadline_ms: int | None
    "Instead of `deadline`: so long after its start."
    description: str | None
    "Why the text is another, for the history."
    dry_run: bool
    "Only tell what it would do."
    idempotency_key: str | None
    "Forking again with the same key answers the run it made the first time. Keys are of one workflow."
    input: Any
    "Another input than it had. What is taken along keeps what it gave."
    node: str | None
    "And from before this node, which had begun by then: it and all that follows from it begin anew."
    operations: list[Any] | None
    "RFC 6902 over the text that it followed then: the new run goes on by what comes of it."
    priority: Priority | None
    tags: list[str] | None
    "The other's when left out."
    with_: Any
    "With `node`: another input for that."


class RunForkedRequired(TypedDict):
    anew: list[str]
    "Nodes that had begun by then, and begin anew."
    base: int
    "The revision of the text that it was forked from."
    changes: list[str]
    "What is another in its text, a line for each."
    dry_run: bool
    duplicate: bool
    "The idempotency key was used before: this is the run it made then, and nothing of this request was used."
    kept: list[str]
    "Nodes of the run's own that it takes along with what they gave."
    origin: RunOrigin
    revision: int
    "The one that it goes on by."


class RunForked(RunForkedRequired, total=False):
    run: str | None
    "The new run; null of a dry run."
    warnings: list[ProblemAt]
    "What can run and yet may not be what was meant."


class RunHistoryRequired(TypedDict):
    records: list[RecordView]


class RunHistory(RunHistoryRequired, total=False):
    next: Cursor | None


class RunListRequired(TypedDict):
    runs: list[RunView]


class RunList(RunListRequired, total=False):
    next: str | None
    "The cursor of the next page; null on the last."


class RunNowRequired(TypedDict):
    changed: bool
    "Whether the command made a difference: one that is paused already, or was not, stays as it is."
    run: str
    status: RunStatus


class RunNow(RunNowRequired, total=False):
    caller: str | None
    "Of one that was cancelled: the node that called it, which fails by that."
    generation: int | None
    "Of one that was restarted: how often it was, with that."
    paused: bool
    "It is paused: nothing new begins in it."
    revision: int | None
    "Of one whose definition was changed: its revision with that."
    was: RunStatus | None


class RunOriginRequired(TypedDict):
    record: Cursor
    run: str


class RunOrigin(RunOriginRequired, total=False):
    node: str | None
    "It goes on from before this one."


class RunPatchOptions(TypedDict, total=False):
    by: str | None
    description: str | None
    "Why, for the history."
    dry_run: bool
    "Only tell what it would do. Whatever stands against it is `refused` in the answer, which is 200: also what could not be compiled or applied. Only what cannot be read, or is not there, or is not the worker's, is an error."
    expected_revision: int | None
    "The revision they were made for: if it is at another by now, nothing is changed. Without it they are made on whatever it is at."
    fence: str | None
    "With `task`: the fence that it was given with it."
    node_id: str | None
    "The node that asks for it, such as `plan` or `rounds[1]/plan`. Of a worker it is known by its task."
    task: str | None
    "From a worker, for the run it works in: the task that it holds. It signs by its own name."


class RunPatch(RunPatchOptions):
    operations: list[Any]
    "RFC 6902 over the text that it follows, as JSON: `[{\"op\": \"add\", \"path\": \"/nodes/audit\", \"value\": {…}}]`."


class RunPatchedRequired(TypedDict):
    added: list[NodeAdded]
    "Nodes that appear."
    changed: list[NodeChanged]
    "Nodes that are another now, and in what."
    changes: list[str]
    "The same, a line for each."
    dry_run: bool
    keeps: list[TextKept]
    "Turns and items under way that keep the text they have; the first of them."
    keeps_total: int
    "How many do, of the first 20,000 under way."
    next: list[str]
    "Nodes that have all they wait for, by this."
    removed: list[str]
    "Nodes that disappear."
    revision: int
    "The one that it is at with this."
    run: str
    unchanged: bool
    "The text is as it was before: nothing was written."
    workflow: list[PartChanged]
    "What is not about a node: input, limits, output."


class RunPatched(RunPatchedRequired, total=False):
    deadline: Instant | None
    refused: Problem | None
    warnings: list[ProblemAt]
    "What can run and yet may not be what was meant."


class RunPauseView(TypedDict):
    by: str
    reason: str
    since: Instant


class RunRefused(TypedDict):
    run: str
    why: str


class RunReplayRequired(TypedDict):
    dead_tokens: int
    "Those of ways that were not taken, or failed."
    explanation: RunExplanation
    "What it waited for, as far as its own history tells."
    first: RecordStamp
    frames: list[str]
    "The turns and items that were open, such as `rounds[1]`."
    last: RecordStamp
    place: int
    "Which of its records it is, from 1."
    record: RecordView
    "The last of its records by then."
    records: int
    "How many it has, those of its turns, items, nodes and tasks included."
    run: RunView
    "The run as it was shown then."
    time: Instant
    "The instant it is seen from: the record's, or the one that was asked for."
    tokens: list[TokenView]
    "Tokens that had been given and that the node they lead to had not taken in."


class RunReplay(RunReplayRequired, total=False):
    after: Cursor | None
    before: Cursor | None
    lost: list[LostHistory]
    "Where the history ends short."
    more_frames: int
    "Turns and items beyond those."
    more_tokens: int
    "Tokens beyond those."
    note: str | None
    "How what was asked for is to be understood, where it is not that record itself."
    unread: list[Unread]
    "Values that are not there any more, or cannot be read."


class RunRestartOptions(TypedDict, total=False):
    by: str | None
    expected_revision: int | None
    operations: list[Any] | None
    "Changes of its definition that come with it, as in a patch: also of what begins anew."
    reason: str | None
    "Why, for the history."
    with_: Any
    "Of a node that a worker does: another input for it, in its definition."


class RunRestart(RunRestartOptions):
    node: str
    "Such as `pay` or `rounds[1]/pay`: it and all that follows from it."


class RunRetry(TypedDict, total=False):
    by: str | None
    expected_revision: int | None
    node: str | None
    "Only this one, such as `rounds[1]/pay`; without it, all that failed the run."
    operations: list[Any] | None
    "Changes of its definition that come with it, as in a patch: also of what is tried again."
    reason: str | None
    "Why, for the history."
    with_: Any
    "Of a node that a worker does: another input for it, in the definition that the run follows."


class RunSkipOptions(TypedDict, total=False):
    by: str | None
    reason: str | None
    "Why, for the history."


class RunSkipRequired(TypedDict):
    node: str
    "Such as `pay` or `rounds[1]/pay`: one that waits, is under way or failed its run."


class RunSkip(RunSkipOptions, RunSkipRequired, total=False):
    output: Any
    "What it gives; null when left out."


class RunSpecViewRequired(TypedDict):
    version: int
    workflow: str


class RunSpecView(RunSpecViewRequired, total=False):
    deadline: Instant | None
    event: str | None
    "The event it was started for."
    idempotency_key: str | None
    origin: RunOrigin | None
    parent: str | None
    "The node that called it."
    priority: int | None
    tags: list[str]


class RunStartOptions(TypedDict, total=False):
    by: str | None
    deadline: Instant | None
    deadline_ms: int | None
    "Instead of `deadline`: so long after its start."
    idempotency_key: str | None
    "Starting again with the same key answers the run it made the first time. Keys are of one workflow: another may use the same."
    priority: Priority | None
    tags: list[str]
    version: int | None
    "The newest when left out."


class RunStartRequired(TypedDict):
    workflow: str


class RunStart(RunStartOptions, RunStartRequired, total=False):
    input: Any
    "As the workflow's `input` says; null when left out."


class RunStartedRequired(TypedDict):
    duplicate: bool
    "The idempotency key was used before: this is the run it made then."
    run: str


class RunStarted(RunStartedRequired, total=False):
    input_differs: bool
    "And that was for another input, which was used; nothing of this request was."


class RunViewRequired(TypedDict):
    run: str
    started_at: Instant
    status: RunStatus
    version: int
    workflow: str


class RunView(RunViewRequired, total=False):
    cancelled: RunCancelledView | None
    counts: NodeCounts | None
    deadline: Instant | None
    deleting: bool
    "What belongs to it is being deleted."
    duration_ms: int | None
    "From its first start to its end, with all that lay between: a retry or a restart later does not count from there."
    ended_at: Instant | None
    error: TaskError | None
    event: str | None
    "The event it was started for, the newest if several."
    failed_at: str | None
    "The node that failed it."
    generation: int
    "How often it was restarted from a node."
    held: bool
    "It is paused with the run that called it."
    idempotency_key: str | None
    input: Any
    nodes: list[NodeView]
    origin: RunOrigin | None
    output: Any
    parent: str | None
    "The node that called it, such as `run-7/pay`."
    pause: RunPauseView | None
    priority: int | None
    retryable: bool
    "It has ended short, and what stopped can be tried again."
    revision: int
    "How often its definition was changed."
    stopping: bool
    "It has ended, and what was under way in it is still being stopped."
    tags: list[str]
    undone: bool
    "In a list of what one run has called: a restart has undone that call."


class RunsBulkOptions(TypedDict, total=False):
    by: str | None
    description: str | None
    "Of a patch, instead of `reason`."
    dry_run: bool
    "Change nothing: say how many are meant."
    node: str | None
    "Of a restart: the node to begin anew from, such as `pay`."
    operations: list[Any] | None
    "Of a patch: RFC 6902 over the text that each follows, as JSON."
    per_s: int | None
    "At most so many a second."
    reason: str | None
    "Why, for the history of each."
    set: list[str]
    "Of a patch, after its operations: values at paths, such as `nodes.pay.timeout=1m`, wherever that is in the text of each."
    unset: list[str]
    "Of a patch, after that: paths to take away."


class RunsBulk(RunsBulkOptions):
    verb: RunsVerb
    where: str
    "CEL over one run: `workflow == \"refund\" && status == \"failed\"`. It sees `id`, `workflow`, `version`, `status`, `paused`, `tags`, `started_at`, `ended_at`, `age` (seconds since the start), `error.code`, `error.message`, `called`, `parent` and `idempotency_key`; what is not there is an empty text. Runs that others called are left out, unless it reads `called` or `parent`."


class RunsBulkAnswer(TypedDict, total=False):
    at_least: bool
    "Not all runs were looked at: there may be more."
    bulk: str | None
    count: int | None
    "Runs that are meant."
    done: int | None
    "Of a restart: so many of those that were asked are done already."
    dry_run: bool
    refused: int | None
    "So many of those would be left as they are."
    refused_first: list[RunRefused]
    "Of the first of those, why."
    sample: list[str]
    "Some of them, the oldest first."
    tried: int | None
    "So many of them, the oldest, were asked whether they would take it, as far as that is known beforehand."
    unclear: int | None
    "For so many runs the expression gives no answer; they would be left as they are."
    unclear_first: RunRefused | None


class ServerStatusRequired(TypedDict):
    commits: int
    "Since this server started."
    counts: Counts
    "Over all queues."
    records: int
    "The number of the newest record; numbers rise, with gaps."
    stopping: bool
    "No new work is handed out any more."
    store: str
    "Which store this server keeps everything in, in a sentence."
    uptime_ms: int
    version: str
    workers: list[WorkerView]


class ServerStatus(ServerStatusRequired, total=False):
    address: str | None
    blobs: BlobsView
    "Where values lie that are too large for a record, and what workers put."
    bulks: int
    "Bulks under way."
    commits_failed: int
    events: dict[str, int]
    "Of the last hour: events that did not become work, by what became of them, as in `/v1/stats`."
    outside: dict[str, OutsideView]
    "What it leans on outside, by name: `redis`."
    queues: int
    "Queues that hold something or that something was said about."
    registry: RegistryStatus | None
    rollups: RollupsView
    "How far the statistics are."
    runs: int
    "Runs that have not ended, or not come to rest."
    shard: int
    "Which part of the whole this server is."
    watchdog: WatchdogView


class Signed(TypedDict, total=False):
    by: str | None


class StatsRequired(TypedDict):
    current_depth: Counts
    "How it is now."
    dispatch_duration_ms: Durations
    "From handed to a worker to its outcome."
    dispatches: Dispatches
    families: list[FamilyStats]
    "The same of each family, those with the most dispatches first."
    promotions: Promotions
    queue_latency_ms: Latency
    "From ready to handed to a worker."
    recent_failures: list[FailureView]
    "Newest first."
    tasks: TaskFigures
    window: StatsWindow


class Stats(StatsRequired, total=False):
    events: dict[str, int]
    "Events that did not become work, by what became of them at a handler: `debounced` (another took its place), `duplicate`, `skipped`, `rate_dropped`, `backlog_dropped`, `failed`, `shadow`; and, of no queue, `unhandled`, and `heard`: no handler took it, and a run that waited for it did."
    families_left: int
    "Families that are not among them."
    note: str | None
    "What may be a mistake: there is nothing of that family, but of some below it."


StatsWindowRequired = TypedDict("StatsWindowRequired", {"found": "int", "from": "Instant", "sampled": "int", "to": "Instant", "truncated": "bool"})


class StatsWindow(StatsWindowRequired, total=False):
    truncated_why: str | None
    "What is not, and why."


class TaskAddOptions(TypedDict, total=False):
    blocked_by: list[str]
    "Waits until each of these is done."
    budget_ms: int | None
    "How long one attempt may run."
    delay_ms: int | None
    "Instead of `scheduled_for`: so long after it is added."
    idempotency_key: str | None
    "Adding again with the same key answers the task it made the first time."
    idle: bool
    "Added without entering its queue."
    keys: dict[str, str]
    "A value for each limit key it counts under."
    priority: Priority | None
    queue: str | None
    "The type's own name when left out."
    retry: Retry | None
    scheduled_for: Instant | None
    start_by: Instant | None
    tags: list[str]


class TaskAddRequired(TypedDict):
    type: str


class TaskAdd(TaskAddOptions, TaskAddRequired, total=False):
    input: Any
    "Any JSON; null when left out."


class TaskAddedRequired(TypedDict):
    duplicate: bool
    "The idempotency key was used before: this is the task it made then."
    task: str


class TaskAdded(TaskAddedRequired, total=False):
    input_differs: bool
    "And that was for another input, which was used; nothing of this request was."


class TaskCancel(TypedDict, total=False):
    by: str | None
    reason: str | None


class TaskErrorRequired(TypedDict):
    code: str


class TaskError(TaskErrorRequired, total=False):
    message: str


class TaskFigures(TypedDict):
    added: int
    cancelled: dict[str, int]
    "By cause."
    failed: int
    "Failed for good."
    queued: int
    "Put into their queue after they were added: again, or for the first time."
    retried: int
    "Attempts that were followed by another."


class TaskFilter(TypedDict, total=False):
    error_code: str | None
    "Code of the last failure."
    family: str | None
    "Made by events of this family, or of those that a pattern such as `github/*` covers. What no event made has none."
    key: KeyPair | None
    tag: str | None
    type: str | None


class TaskListRequired(TypedDict):
    tasks: list[TaskView]


class TaskList(TaskListRequired, total=False):
    next: str | None
    "The cursor of the next page; null on the last."


class TaskSpecViewRequired(TypedDict):
    priority: int
    queue: str
    type: str


class TaskSpecView(TaskSpecViewRequired, total=False):
    blocked_by: list[str]
    budget_ms: int | None
    idempotency_key: str | None
    idle: bool
    keys: dict[str, str]
    node: str | None
    "The node of a run that it is the work of, such as `run-7/pay`."
    retry: Retry | None
    scheduled_for: Instant | None
    start_by: Instant | None
    tags: list[str]
    trigger: TriggerView | None


class TaskStart(TypedDict, total=False):
    by: str | None
    force: bool
    "Even when it is blocked by other tasks."


class TaskStatus(TypedDict):
    status: Status
    task: str


class TaskViewRequired(TypedDict):
    attempt: int
    "Attempts begun."
    created_at: Instant
    priority: int
    queue: str
    status: Status
    task: str
    type: str


class TaskView(TaskViewRequired, total=False):
    blocked_by: list[str]
    cancelled: CancelledView | None
    error: TaskError | None
    finished_at: Instant | None
    held: bool
    "Its run is paused."
    idempotency_key: str | None
    input: Any
    keys: dict[str, str]
    lease: LeaseView | None
    node: str | None
    "The node of that run, such as `rounds[1].check[4]/lint`."
    output: Any
    ready_at: Instant | None
    run: str | None
    "The run it is work of."
    run_now: bool
    "Waits on an override slot, past the queue's limits."
    scheduled_for: Instant | None
    since: Instant | None
    start_by: Instant | None
    tags: list[str]
    trigger: TriggerView | None


class TasksAdd(TypedDict):
    tasks: list[TaskAdd]


class TasksAdded(TypedDict):
    tasks: list[TaskAdded]


class TextKept(TypedDict):
    frame: str
    "The turn or item, such as `rounds[1]`."
    node: str
    "The node that is why: it has begun, and is another in the new text."


class TimelineRequired(TypedDict):
    rows: list[TimelineRow]
    "In the order of the definition."
    run: str
    started_at: Instant
    status: RunStatus
    until: Instant
    "Where the time line ends: when the run did, or now."
    version: int
    workflow: str


class Timeline(TimelineRequired, total=False):
    ended_at: Instant | None
    generation: int
    "How often it was restarted from a node."
    left_out: int
    "Rows beyond the limit."
    moments: list[TimelineMoment]
    "When the run was changed under way, in that order."
    more: bool
    "The run has more records than are looked at: what came later is not here."
    revision: int
    "How often its definition was changed."


class TimelineMomentRequired(TypedDict):
    at: Instant
    by: str
    record: Cursor
    "The record of it."
    what: MomentKind


class TimelineMoment(TimelineMomentRequired, total=False):
    generation: int | None
    "Of a restart: the generation that began with it."
    node: str | None
    "The node it was restarted from, or whose worker asked for the patch; such as `rounds[1]/pay`."
    reason: str
    "Why; of a patch, what it does."
    revision: int | None
    "Of a patch: the revision it made."


class TimelineRowRequired(TypedDict):
    id: str
    instances: int
    "How many it stands for."
    node: str
    "`pay`, `rounds[1]/pay`, or `rounds[*]/pay` for many together. One that was opened after a restart says in which generation: `rounds[1@2]/pay`."
    spans: list[TimelineSpan]
    "By when they began; none of one that waits or was skipped. Of many: when any of them was at it, those that failed apart, with the first error."
    status: NodeStatus
    "Of many: of the one that most is to be said of: what goes on, then what failed."
    totals: TimelineTotals
    "Of many: the sum over all of them, so it may be more than the run took."


class TimelineRow(TimelineRowRequired, total=False):
    failed: int
    "Of those, how many failed."
    removed: int | None
    "A patch has taken it out: the first revision of the run's definition without it."
    type: str | None
    undone: bool
    "A restart has undone the turn or item, or all of them."


TimelineSpanRequired = TypedDict("TimelineSpanRequired", {"from": "Instant", "what": "SpanKind"})


class TimelineSpan(TimelineSpanRequired, total=False):
    attempt: int | None
    error: TaskError | None
    to: Instant | None
    undone: bool
    "A restart has undone it."
    worker: str | None


class TimelineTotals(TypedDict, total=False):
    asking_ms: int
    attempts: int
    "Attempts that were begun."
    awaiting_ms: int
    backoff_ms: int
    calling_ms: int
    held_ms: int
    inside_ms: int
    queued_ms: int
    running_ms: int
    sleeping_ms: int


TokenView = TypedDict("TokenView", {"from": "str", "to": "str"})


class TriggerViewRequired(TypedDict):
    event: str
    "The newest, where there are several."
    events: int
    "How many events came together in it."
    handler: str
    name: str


class TriggerView(TriggerViewRequired, total=False):
    critical: bool
    window: str | None
    "`debounce` or `batch`."
    workflow: str | None
    "A run of it does the work."


class Unread(TypedDict):
    of: str
    "`input`, `output`, or the node it is of."
    sentence: str


class WaitViewRequired(TypedDict):
    code: str
    "Stable: `task`, `approval`, `sleep`, `event`, `run`, `loading`."
    node: str
    "Such as `rounds[1]/pay`."
    sentence: str


class WaitView(WaitViewRequired, total=False):
    alike: int
    "Others that wait for the same: of the same node in other turns or items, and tasks of other nodes that stand in their queue alike."
    called: RunExplanation | None
    eta: Instant | None
    message: Any
    "What it asks."
    since: Instant | None
    sub_run: str | None
    "The run it called."
    task: Explanation | None
    who: list[str]
    "Who may answer; anyone when empty."


class WatchdogViewRequired(TypedDict):
    trips: int
    "How often something did, since this start."


class WatchdogView(WatchdogViewRequired, total=False):
    lasted_ms: int | None
    "For how long."
    reason: str | None
    "`tick_hung`, `dispatch_hung` or `backlog_idle`, while it does."


class WebhookList(TypedDict):
    webhooks: list[WebhookView]


class WebhookRefusal(TypedDict):
    at: Instant
    why: str
    "A sentence."


class WebhookViewRequired(TypedDict):
    accepted: int
    path: str
    "Where its sender posts to."
    provider: str
    "`github`, `stripe`, `hmac` or `secret`."
    refused: int
    secret_set: bool
    "Without one, every request is refused."
    webhook: str


class WebhookView(WebhookViewRequired, total=False):
    last_refusal: WebhookRefusal | None
    unset: list[str]
    "Variables of the environment that it names as secrets and that are not set."


class WorkerView(TypedDict):
    asked_ms_ago: int
    holding: int
    "Leases it holds."
    types: list[str]
    worker: str


class WorkflowCheckedRequired(TypedDict):
    nodes: int
    "Those of loops and eaches included."
    workflow: str


class WorkflowChecked(WorkflowCheckedRequired, total=False):
    version: int | None
    "As the text says; without one it gets the next when it is put."


class WorkflowDisabled(TypedDict):
    by: str
    reason: str
    since: Instant


class WorkflowList(TypedDict):
    workflows: list[WorkflowView]
    "The newest version of each, by name."


class WorkflowNodeRequired(TypedDict):
    node: str
    type: str


class WorkflowNode(WorkflowNodeRequired, total=False):
    after: list[str]
    when: str | None
    "It is skipped if this is false."
    within: str | None
    "The loop or each whose body it stands in."


class WorkflowNow(TypedDict):
    disabled: bool
    unchanged: bool
    "It was so before."
    workflow: str


class WorkflowPut(TypedDict):
    unchanged: bool
    "This very text was there already."
    version: int
    workflow: str


class WorkflowVersion(TypedDict):
    put_at: Instant
    put_by: str
    version: int


class WorkflowViewRequired(TypedDict):
    put_at: Instant
    put_by: str
    version: int
    workflow: str


class WorkflowView(WorkflowViewRequired, total=False):
    disabled: WorkflowDisabled | None
    input: Any
    "The JSON Schema of its input."
    nodes: list[WorkflowNode]
    text: str | None
    versions: list[WorkflowVersion]
    "All that there are, the newest first."


class WorkflowsCheckedRequired(TypedDict):
    workflows: list[WorkflowChecked]


class WorkflowsChecked(WorkflowsCheckedRequired, total=False):
    warnings: list[ProblemAt]
    "What is right and yet may not be what was meant."


class WorkflowsPutRequired(TypedDict):
    workflows: list[WorkflowPut]


class WorkflowsPut(WorkflowsPutRequired, total=False):
    warnings: list[ProblemAt]
    "What was put and yet may not be what was meant."


class WorkTask:
    attempt: int  #: From 1.
    budget_ms: int  #: How long this attempt may take.
    fence: str  #: Proves the lease; with it a worker may also patch its own run.
    heartbeat_ms: int  #: Poll at least so often, with this lease in `holding`.
    idempotency_key: str  #: The same over all attempts: that of the run's node, the caller's, or the task's id.
    input: Any
    node: str | None = None  #: The node of that run it is the work of, such as `rounds[1].check[4]/lint`.
    queue: str
    run: str | None = None  #: The run it is part of.
    task: str
    trigger: TriggerView | None = None
    type: str


class Calls:
    def __init__(self, client: Any) -> None:
        self._client = client


def part(of: str) -> str:
    """As a part of a path."""
    return quote(of, safe="")


def plain(options: Any) -> dict[str, Any]:
    """`with_` is `with`, which is a word of Python."""
    return {name.rstrip("_"): value for name, value in options.items()}


class Approvals(Calls):
    def list(self, *, workflow: str | None = None, limit: int | None = None, cursor: str | None = None) -> ApprovalList:
        """List what waits for somebody's answer, the longest waiting first."""
        return self._client.request("GET", "/v1/approvals", query={"workflow": workflow, "limit": limit, "cursor": cursor})

    def answer(self, node: str, approved: bool, **options: Unpack[ApprovalAnswerOptions]) -> ApprovalAnswered:
        """Answer yes or no."""
        return self._client.request("POST", "/v1/approvals", {**options, "node": node, "approved": approved})


class Blobs(Calls):
    def put(self, data: bytes) -> BlobPut:
        """Keep bytes, up to 64 MiB. The same bytes have the same name and are kept once."""
        return self._client.request("PUT", "/v1/blobs", bytes(memoryview(data)), kind="application/octet-stream", again=True)

    def sweep(self, *, dry_run: bool | None = None, after: str | None = None) -> BlobsSwept:
        """Look at some of the blobs and remove those that nothing mentions and whose grace period is over. The server does so by itself every hour; go on with `after` until `next` is left out."""
        return self._client.request("POST", "/v1/blobs/sweep", query={"dry_run": dry_run, "after": after}, again=True)

    def get(self, ref: str) -> bytes:
        """The bytes of a blob. They never change, so whoever has them may keep them; `HEAD` says whether they are there."""
        return self._client.request("GET", f"/v1/blobs/{part(ref)}")


class Bulks(Calls):
    def list(self) -> BulkList:
        """List bulks, newest first."""
        return self._client.request("GET", "/v1/bulks")

    def show(self, bulk: str) -> BulkView:
        """Show a bulk and how far it is."""
        return self._client.request("GET", f"/v1/bulks/{part(bulk)}")

    def cancel(self, bulk: str, **options: Unpack[Signed]) -> BulkView:
        """Stop a bulk; what it did stays done."""
        return self._client.request("POST", f"/v1/bulks/{part(bulk)}/cancel", {**options}, again=True)


class Crons(Calls):
    def list(self) -> CronList:
        """List the crons of the registry in force."""
        return self._client.request("GET", "/v1/crons")

    def next(self, cron: str, *, count: int | None = None) -> CronNext:
        """Tell when a cron fires next."""
        return self._client.request("GET", f"/v1/crons/{part(cron)}/next", query={"count": count})

    def run(self, cron: str, **options: Unpack[Signed]) -> EventEmitted:
        """Fire a cron now, beside its schedule."""
        return self._client.request("POST", f"/v1/crons/{part(cron)}/run", {**options})


class Events(Calls):
    def list(self, *, name: str | None = None, unhandled: bool | None = None, outcome: str | None = None, handler: str | None = None, id: str | None = None, since: Instant | None = None, limit: int | None = None, cursor: str | None = None) -> EventList:
        """List events, newest first."""
        return self._client.request("GET", "/v1/events", query={"name": name, "unhandled": unhandled, "outcome": outcome, "handler": handler, "id": id, "since": since, "limit": limit, "cursor": cursor})

    def emit(self, name: str, data: Any = None, **options: Unpack[EventEmitOptions]) -> EventEmitted:
        """Take an event in: durable when it is answered, with what each handler makes of it."""
        return self._client.request("POST", "/v1/events", {**options, "name": name, "data": data, "id": options.get("id") or uuid4().hex}, again=True)

    def emit_many(self, events: Sequence[EventEmit]) -> EventsEmitted:
        """Take many events in, in order."""
        return self._client.request("POST", "/v1/events/batch", {"events": [{**each, "id": each.get("id") or uuid4().hex} for each in events]}, again=True)

    def show(self, event: str) -> EventView:
        """Show an event with its data and what became of it."""
        return self._client.request("GET", f"/v1/events/{part(event)}")

    def replay(self, event: str, **options: Unpack[Signed]) -> EventEmitted:
        """Handle an event once more, by the registry in force; that it came before is no reason not to."""
        return self._client.request("POST", f"/v1/events/{part(event)}/replay", {**options})


class Families(Calls):
    def list(self) -> FamiliesList:
        """List the families that are paused or boosted, and those of which something waits or runs."""
        return self._client.request("GET", "/v1/families")

    def boost(self, families: str, boost: Priority, **options: Unpack[FamiliesBoostOptions]) -> FamiliesList:
        """Give tasks of these families a head start, or take it away with 0."""
        return self._client.request("POST", "/v1/families/boost", {**options, "families": families, "boost": boost}, again=True)

    def pause(self, families: str, **options: Unpack[FamiliesPauseOptions]) -> FamiliesList:
        """Hand out no more tasks of these families; what runs goes on, and what is critical."""
        return self._client.request("POST", "/v1/families/pause", {**options, "families": families}, again=True)

    def resume(self, families: str, **options: Unpack[FamiliesResumeOptions]) -> FamiliesList:
        """Hand out tasks of these families again. It takes back the pause with this very pattern."""
        return self._client.request("POST", "/v1/families/resume", {**options, "families": families}, again=True)

    def shed(self, families: Sequence[str], upto: Priority, **options: Unpack[FamiliesShedOptions]) -> BulkAnswer:
        """Cancel what waits of these families, in whatever queue, up to a priority. What runs goes on, and what is critical stays."""
        return self._client.request("POST", "/v1/families/shed", {**options, "families": families, "upto": upto})


class Queues(Calls):
    def list(self, *, family: str | None = None) -> QueueList:
        """List every queue that holds something or that something was said about."""
        return self._client.request("GET", "/v1/queues", query={"family": family})

    def show(self, queue: str) -> QueueView:
        """Show a queue: its configuration, what waits and what runs. A queue nobody used yet is shown with its defaults."""
        return self._client.request("GET", f"/v1/queues/{part(queue)}")

    def put(self, queue: str, config: QueueConfig, **options: Unpack[QueuePutOptions]) -> QueueView:
        """Replace a queue's configuration whole; numbers act at once."""
        return self._client.request("PUT", f"/v1/queues/{part(queue)}", {**options, "config": config}, again=True)

    def clear(self, queue: str, **options: Unpack[QueueClear]) -> BulkAnswer:
        """Cancel what waits in a queue."""
        return self._client.request("POST", f"/v1/queues/{part(queue)}/clear", {**options})

    def dead(self, queue: str, *, type: str | None = None, tag: str | None = None, key: str | None = None, error_code: str | None = None, family: str | None = None, limit: int | None = None, cursor: str | None = None) -> TaskList:
        """List a queue's dead letters, newest first."""
        return self._client.request("GET", f"/v1/queues/{part(queue)}/dead", query={"type": type, "tag": tag, "key": key, "error_code": error_code, "family": family, "limit": limit, "cursor": cursor})

    def drain(self, queue: str, **options: Unpack[QueueDrain]) -> BulkAnswer:
        """Run what waits in a queue now, past rate and schedule."""
        return self._client.request("POST", f"/v1/queues/{part(queue)}/drain", {**options})

    def pause(self, queue: str, **options: Unpack[QueuePause]) -> QueueView:
        """Stop handing out a queue's tasks; adds and running work go on."""
        return self._client.request("POST", f"/v1/queues/{part(queue)}/pause", {**options}, again=True)

    def redrive(self, queue: str, **options: Unpack[QueueRedrive]) -> BulkAnswer:
        """Queue dead letters again, oldest first, attempts starting over."""
        return self._client.request("POST", f"/v1/queues/{part(queue)}/redrive", {**options})

    def reprioritize(self, queue: str, priority: Priority, **options: Unpack[QueueReprioritizeOptions]) -> BulkAnswer:
        """Change the order: of some tasks, of all that fit a filter, or by a boost on the queue or one key."""
        return self._client.request("POST", f"/v1/queues/{part(queue)}/reprioritize", {**options, "priority": priority})

    def resume(self, queue: str, **options: Unpack[Signed]) -> QueueView:
        """Hand out a queue's tasks again."""
        return self._client.request("POST", f"/v1/queues/{part(queue)}/resume", {**options}, again=True)


class Registry(Calls):
    def show(self) -> RegistryView:
        """Show the registry in force."""
        return self._client.request("GET", "/v1/registry")

    def put(self, text: str, *, by: str | None = None) -> RegistryPut:
        """Put a registry in force, whole, or say all that is wrong with it and change nothing."""
        return self._client.request("PUT", "/v1/registry", str.encode(text), kind="text/yaml", query={"by": by}, again=True)

    def schema(self) -> Any:
        """The JSON Schema of registries."""
        return self._client.request("GET", "/v1/registry.schema.json")

    def check(self, text: str) -> RegistryChecked:
        """Check a registry without putting it."""
        return self._client.request("POST", "/v1/registry/check", str.encode(text), kind="text/yaml", again=True)

    def diff(self, text: str) -> RegistryDiff:
        """Say what another registry would change, without putting it."""
        return self._client.request("POST", "/v1/registry/diff", str.encode(text), kind="text/yaml", again=True)

    def simulate(self, name: str, data: Any = None, **options: Unpack[EventEmitOptions]) -> Any:
        """Say what would become of an event, handler by handler, without taking it in."""
        return self._client.request("POST", "/v1/registry/simulate", {**options, "name": name, "data": data}, again=True)


class Runs(Calls):
    def list(self, *, workflow: str | None = None, status: Literal["running", "done", "failed", "cancelled"] | None = None, paused: bool | None = None, tag: str | None = None, parent: str | None = None, called: bool | None = None, idempotency_key: str | None = None, limit: int | None = None, cursor: str | None = None) -> RunList:
        """List runs, newest first."""
        return self._client.request("GET", "/v1/runs", query={"workflow": workflow, "status": status, "paused": paused, "tag": tag, "parent": parent, "called": called, "idempotency_key": idempotency_key, "limit": limit, "cursor": cursor})

    def start(self, workflow: str, input: Any = None, **options: Unpack[RunStartOptions]) -> RunStarted:
        """Start a run of a workflow."""
        return self._client.request("POST", "/v1/runs", {**options, "workflow": workflow, "input": input, "idempotency_key": options.get("idempotency_key") or uuid4().hex}, again=True)

    def bulk(self, verb: RunsVerb, where: str, **options: Unpack[RunsBulkOptions]) -> RunsBulkAnswer:
        """Cancel, retry, pause, resume, restart or patch all runs that an expression means, or say how many there are."""
        return self._client.request("POST", "/v1/runs/bulk", {**options, "verb": verb, "where": where})

    def show(self, run: str, *, nodes: int | None = None, all_generations: bool | None = None, wait_ms: int | None = None) -> RunView:
        """Show a run with its input, its output and its nodes; with `wait_ms`, when it has ended."""
        return self._client.request("GET", f"/v1/runs/{part(run)}", query={"nodes": nodes, "all_generations": all_generations, "wait_ms": wait_ms})

    def wait(self, run: str, timeout: float | None = None) -> RunView:
        """Until it is done, failed or cancelled. Raises `TimeoutError` if it goes on after so many seconds."""
        return self._client.ended(f"/v1/runs/{part(run)}", timeout)

    def delete(self, run: str, *, by: str | None = None) -> RunNow:
        """Delete a run that has ended, with its nodes, their tasks, and its history."""
        return self._client.request("DELETE", f"/v1/runs/{part(run)}", query={"by": by})

    def cancel(self, run: str, **options: Unpack[RunChange]) -> RunNow:
        """Cancel a run: what waits in it is dropped, what runs is asked to stop. The node that called it, if any, fails by that."""
        return self._client.request("POST", f"/v1/runs/{part(run)}/cancel", {**options}, again=True)

    def definition(self, run: str, *, revision: int | None = None, since: int | None = None) -> RunDefinition:
        """The text that a run follows, or followed in an earlier revision, and what is different since the one before."""
        return self._client.request("GET", f"/v1/runs/{part(run)}/definition", query={"revision": revision, "since": since})

    def explain(self, run: str) -> RunExplanation:
        """What a run waits for, or how it ended and what can be done."""
        return self._client.request("GET", f"/v1/runs/{part(run)}/explain")

    def fork(self, run: str, **options: Unpack[RunFork]) -> RunForked:
        """Start a new run from how another was after any of its records, or from before any of its nodes."""
        return self._client.request("POST", f"/v1/runs/{part(run)}/fork", {**plain(options), "idempotency_key": options.get("idempotency_key") or uuid4().hex}, again=True)

    def history(self, run: str, *, limit: int | None = None, cursor: str | None = None) -> RunHistory:
        """Everything that happened in a run, to its nodes and to their tasks, oldest first."""
        return self._client.request("GET", f"/v1/runs/{part(run)}/history", query={"limit": limit, "cursor": cursor})

    def node(self, run: str, node: str) -> NodeView:
        """Show one node of a run: how it stands, what it was given, what it gave."""
        return self._client.request("GET", f"/v1/runs/{part(run)}/node", query={"node": node})

    def nodes(self, run: str, *, status: Literal["waiting", "queued", "running", "asking", "sleeping", "awaiting", "done", "failed", "skipped", "cancelled"] | None = None, frame: str | None = None, output: bool | None = None, all_generations: bool | None = None, limit: int | None = None, cursor: str | None = None) -> NodeList:
        """List the nodes of a run that something has happened to."""
        return self._client.request("GET", f"/v1/runs/{part(run)}/nodes", query={"status": status, "frame": frame, "output": output, "all_generations": all_generations, "limit": limit, "cursor": cursor})

    def replay_node(self, run: str, node: str, **options: Unpack[NodeReplay]) -> RunNow:
        """Do one node once more: one that failed its run is tried again, another begins anew with all that follows from it."""
        return self._client.request("POST", f"/v1/runs/{part(run)}/nodes/{part(node)}/replay", {**options})

    def patch(self, run: str, operations: Sequence[Any], **options: Unpack[RunPatchOptions]) -> RunPatched:
        """Change the definition that a run follows, now and for what is to come: what has begun in it stays as it is."""
        return self._client.request("POST", f"/v1/runs/{part(run)}/patch", {**options, "operations": operations})

    def pause(self, run: str, **options: Unpack[RunChange]) -> RunNow:
        """Begin nothing new in a run; what runs may finish."""
        return self._client.request("POST", f"/v1/runs/{part(run)}/pause", {**options}, again=True)

    def replay(self, run: str, *, at: str | None = None, nodes: int | None = None, output: bool | None = None) -> RunReplay:
        """Show a run as it was after one of its records, or at an instant."""
        return self._client.request("GET", f"/v1/runs/{part(run)}/replay", query={"at": at, "nodes": nodes, "output": output})

    def restart(self, run: str, node: str, **options: Unpack[RunRestartOptions]) -> RunNow:
        """Begin anew from a node: it and all that follows from it are undone, what came before stays."""
        return self._client.request("POST", f"/v1/runs/{part(run)}/restart", {**plain(options), "node": node})

    def resume(self, run: str, **options: Unpack[Signed]) -> RunNow:
        """Go on with a run that was paused."""
        return self._client.request("POST", f"/v1/runs/{part(run)}/resume", {**options}, again=True)

    def retry(self, run: str, **options: Unpack[RunRetry]) -> RunNow:
        """Go on with a run that failed or was cancelled: what failed it is tried again, what is done stays done."""
        return self._client.request("POST", f"/v1/runs/{part(run)}/retry", {**plain(options)})

    def skip(self, run: str, node: str, output: Any = None, **options: Unpack[RunSkipOptions]) -> RunNow:
        """Say what a node gives, instead of its worker: it is done with that, and the run goes on."""
        return self._client.request("POST", f"/v1/runs/{part(run)}/skip", {**options, "node": node, "output": output})

    def timeline(self, run: str, *, node: str | None = None, all: bool | None = None, all_generations: bool | None = None, limit: int | None = None) -> Timeline:
        """When each node of a run did what: waited in its queue, ran, was tried again, slept, asked."""
        return self._client.request("GET", f"/v1/runs/{part(run)}/timeline", query={"node": node, "all": all, "all_generations": all_generations, "limit": limit})


class Server(Calls):
    def stats(self, *, since: str | None = None, for_ms: int | None = None, queue: str | None = None, family: str | None = None, target_p95_ms: int | None = None, failures: int | None = None) -> Stats:
        """What became of the work of a while: dispatches, waits, durations, families, failures."""
        return self._client.request("GET", "/v1/stats", query={"since": since, "for_ms": for_ms, "queue": queue, "family": family, "target_p95_ms": target_p95_ms, "failures": failures})

    def status(self) -> ServerStatus:
        """What the server is doing, over all queues."""
        return self._client.request("GET", "/v1/status")


class Tasks(Calls):
    def list(self, *, queue: str | None = None, type: str | None = None, status: Status | None = None, tag: str | None = None, key: str | None = None, error_code: str | None = None, family: str | None = None, limit: int | None = None, cursor: str | None = None) -> TaskList:
        """List tasks, newest first."""
        return self._client.request("GET", "/v1/tasks", query={"queue": queue, "type": type, "status": status, "tag": tag, "key": key, "error_code": error_code, "family": family, "limit": limit, "cursor": cursor})

    def add(self, type: str, input: Any = None, **options: Unpack[TaskAddOptions]) -> TaskAdded:
        """Add a task."""
        return self._client.request("POST", "/v1/tasks", {**options, "type": type, "input": input, "idempotency_key": options.get("idempotency_key") or uuid4().hex}, again=True)

    def add_many(self, tasks: Sequence[TaskAdd]) -> TasksAdded:
        """Add many tasks, all of them or none."""
        return self._client.request("POST", "/v1/tasks/batch", {"tasks": [{**each, "idempotency_key": each.get("idempotency_key") or uuid4().hex} for each in tasks]}, again=True)

    def show(self, task: str, *, wait_ms: int | None = None) -> TaskView:
        """Show a task with its input and output; with `wait_ms`, when it has ended."""
        return self._client.request("GET", f"/v1/tasks/{part(task)}", query={"wait_ms": wait_ms})

    def wait(self, task: str, timeout: float | None = None) -> TaskView:
        """Until it is done, failed or cancelled. Raises `TimeoutError` if it goes on after so many seconds."""
        return self._client.ended(f"/v1/tasks/{part(task)}", timeout)

    def delete(self, task: str, *, by: str | None = None) -> TaskStatus:
        """Delete a task that does not run; those it blocked inherit its blockers."""
        return self._client.request("DELETE", f"/v1/tasks/{part(task)}", query={"by": by})

    def cancel(self, task: str, **options: Unpack[TaskCancel]) -> TaskStatus:
        """Cancel a task that waits or runs."""
        return self._client.request("POST", f"/v1/tasks/{part(task)}/cancel", {**options}, again=True)

    def explain(self, task: str) -> Explanation:
        """Why a task is not running, or what it waits for."""
        return self._client.request("GET", f"/v1/tasks/{part(task)}/explain")

    def history(self, task: str) -> History:
        """What happened to a task, oldest first: at most its newest 1,000 records."""
        return self._client.request("GET", f"/v1/tasks/{part(task)}/history")

    def log(self, task: str, *, after: int | None = None, limit: int | None = None, wait_ms: int | None = None) -> LogView:
        """What workers said while they worked on a task, oldest first; with `wait_ms`, what they say next."""
        return self._client.request("GET", f"/v1/tasks/{part(task)}/log", query={"after": after, "limit": limit, "wait_ms": wait_ms})

    def reset(self, task: str, **options: Unpack[Signed]) -> TaskStatus:
        """Take a task out of its queue, or make a finished one idle."""
        return self._client.request("POST", f"/v1/tasks/{part(task)}/reset", {**options})

    def retry(self, task: str, **options: Unpack[Signed]) -> TaskStatus:
        """Put a task into its queue (again), attempts starting over."""
        return self._client.request("POST", f"/v1/tasks/{part(task)}/retry", {**options})

    def start(self, task: str, **options: Unpack[TaskStart]) -> TaskStatus:
        """Run a task now, past the limits, through an override slot."""
        return self._client.request("POST", f"/v1/tasks/{part(task)}/start", {**options})


class Webhooks(Calls):
    def list(self) -> WebhookList:
        """List the webhooks of the registry in force, with what came to each since this server started."""
        return self._client.request("GET", "/v1/webhooks")


class Workflows(Calls):
    def schema(self) -> Any:
        """What a definition may hold, as a JSON Schema for editors."""
        return self._client.request("GET", "/v1/workflow.schema.json")

    def list(self) -> WorkflowList:
        """List workflows, each in its newest version."""
        return self._client.request("GET", "/v1/workflows")

    def put(self, text: str, *, by: str | None = None) -> WorkflowsPut:
        """Put definitions, all of them or none: each becomes a new version of its workflow, unless this very text is there already."""
        return self._client.request("POST", "/v1/workflows", str.encode(text), kind="text/yaml", query={"by": by}, again=True)

    def check(self, text: str) -> WorkflowsChecked:
        """Look whether definitions are right, without putting them."""
        return self._client.request("POST", "/v1/workflows/check", str.encode(text), kind="text/yaml", again=True)

    def show(self, workflow: str, *, version: int | None = None) -> WorkflowView:
        """Show a workflow: its text, its nodes, and which versions there are."""
        return self._client.request("GET", f"/v1/workflows/{part(workflow)}", query={"version": version})

    def disable(self, workflow: str, **options: Unpack[RunChange]) -> WorkflowNow:
        """Let no new runs of a workflow start, until it is enabled; those that go on go on, also after a new version is put."""
        return self._client.request("POST", f"/v1/workflows/{part(workflow)}/disable", {**options}, again=True)

    def enable(self, workflow: str, **options: Unpack[Signed]) -> WorkflowNow:
        """Let new runs of a workflow start again."""
        return self._client.request("POST", f"/v1/workflows/{part(workflow)}/enable", {**options}, again=True)


class Api:
    """All calls, by what they are about."""

    def __init__(self) -> None:
        self.approvals = Approvals(self)
        self.blobs = Blobs(self)
        self.bulks = Bulks(self)
        self.crons = Crons(self)
        self.events = Events(self)
        self.families = Families(self)
        self.queues = Queues(self)
        self.registry = Registry(self)
        self.runs = Runs(self)
        self.server = Server(self)
        self.tasks = Tasks(self)
        self.webhooks = Webhooks(self)
        self.workflows = Workflows(self)
