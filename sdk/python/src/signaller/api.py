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
    comment: str | None


class ApprovalAnswer(ApprovalAnswerOptions):
    approved: bool
    node: str


class ApprovalAnswered(TypedDict):
    approved: bool
    by: str
    node: str


class ApprovalListRequired(TypedDict):
    approvals: list[ApprovalView]


class ApprovalList(ApprovalListRequired, total=False):
    next: str | None


class ApprovalViewRequired(TypedDict):
    node: str
    run: str
    since: Instant
    who: list[str]
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


class BlobsSweptRequired(TypedDict):
    removed: int
    removed_bytes: int
    seen: int
    seen_bytes: int
    young: int


class BlobsSwept(BlobsSweptRequired, total=False):
    next: BlobRef | None
    trouble: str | None


class BlobsViewRequired(TypedDict):
    place: str
    removed: int


class BlobsView(BlobsViewRequired, total=False):
    trouble: str | None


class BlockedOnRequired(TypedDict):
    code: str
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
    bulk: str
    changed: int
    skipped: int
    would_change: int


class BulkList(TypedDict):
    bulks: list[BulkView]


class BulkViewRequired(TypedDict):
    bulk: str
    by: str
    items: int
    reason: str
    skipped: int
    started_at: Instant
    status: BulkStatus
    work: str


class BulkView(BulkViewRequired, total=False):
    families: list[str]
    filter: TaskFilter | None
    finished_at: Instant | None
    patch: Any
    per_s: int | None
    queue: str | None
    refused: list[RunRefused]
    resume_at: Instant | None
    upto: int | None
    where: str | None


class CancelledView(TypedDict):
    by: str
    cause: CancelCause
    reason: str


class Counts(TypedDict, total=False):
    blocked: int
    dead: int
    held: int
    in_runs: int
    overrides: int
    queued: int
    ready: int
    running: int
    scheduled: int


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
    released: int
    started: int


class Dispatches(DispatchesRequired, total=False):
    success_rate: float | None


class Durations(TypedDict, total=False):
    max: int | None
    p50: int | None
    p95: int | None


class EventEmitOptions(TypedDict, total=False):
    dedup_key: str | None
    id: str | None
    priority: Priority | None
    source: str | None
    trace: EventTrace | None
    ts: Instant | None


class EventEmitRequired(TypedDict):
    name: str


class EventEmit(EventEmitOptions, EventEmitRequired, total=False):
    data: Any


class EventEmittedRequired(TypedDict):
    duplicate: bool
    event: str
    handled: list[HandledView]


class EventEmitted(EventEmittedRequired, total=False):
    differs: bool
    heard: list[str]


class EventListRequired(TypedDict):
    events: list[EventView]


class EventList(EventListRequired, total=False):
    next: str | None


class EventTrace(TypedDict, total=False):
    causation_id: str | None
    correlation_id: str | None


class EventViewRequired(TypedDict):
    event: str
    family: str
    handled: list[HandledView]
    name: str
    received_at: Instant


class EventView(EventViewRequired, total=False):
    data: Any
    dedup_key: str | None
    heard: list[str]
    id: str | None
    priority: Priority | None
    replays: int
    source: str | None
    trace: EventTrace | None
    ts: Instant | None


class EventsEmit(TypedDict):
    events: list[EventEmit]


class EventsEmitted(TypedDict):
    events: list[EventEmitted]


class ExplanationRequired(TypedDict):
    blocked_on: list[BlockedOn]
    next_actions: list[str]
    sentence: str
    status: Status
    task: str


class Explanation(ExplanationRequired, total=False):
    eta: Instant | None
    eta_reason: str | None
    since: Instant | None


class FailureView(TypedDict):
    at: Instant
    code: str
    family: str
    final: bool
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
    families: str


class FamiliesListRequired(TypedDict):
    said: list[FamiliesView]


class FamiliesList(FamiliesListRequired, total=False):
    families: list[FamilyView]
    families_left: int
    note: str | None


class FamiliesPauseOptions(TypedDict, total=False):
    by: str | None
    for_ms: int | None
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
    reason: str | None


class FamiliesShed(FamiliesShedOptions):
    families: list[str]
    upto: Priority


class FamiliesViewRequired(TypedDict):
    boost: int
    families: str


class FamiliesView(FamiliesViewRequired, total=False):
    counts: Counts
    pause: PauseView | None


class FamilyStatsRequired(TypedDict):
    dispatch_duration_ms: Durations
    dispatches: Dispatches
    family: str
    promotions: Promotions
    queue_latency_ms: Latency
    tasks: TaskFigures


class FamilyStats(FamilyStatsRequired, total=False):
    events: dict[str, int]


class FamilyView(TypedDict):
    counts: Counts
    family: str
    paused: bool
    queues: list[str]


class FrameCounts(TypedDict, total=False):
    done: int
    dropped: int
    failed: int
    open: int
    undone: int


class HandledViewRequired(TypedDict):
    handler: str
    outcome: str
    why: str


class HandledView(HandledViewRequired, total=False):
    run: str | None
    run_status: RunStatus | None
    status: Status | None
    task: str | None


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
    run: str | None


class LogLineViewRequired(TypedDict):
    at: Instant
    fence: str
    n: int
    text: str


class LogLineView(LogLineViewRequired, total=False):
    attempt: int | None


class LogView(TypedDict):
    dropped: int
    ended: bool
    lines: list[LogLineView]


class LostHistory(TypedDict):
    owner: str
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
    queued: int
    running: int
    skipped: int
    sleeping: int
    undone: int
    waiting: int


class NodeListRequired(TypedDict):
    nodes: list[NodeView]


class NodeList(NodeListRequired, total=False):
    next: str | None


class NodeReplay(TypedDict, total=False):
    by: str | None
    config: Any
    force_replay: bool
    reason: str | None


class NodeSetBy(TypedDict):
    by: str
    reason: str


class NodeViewRequired(TypedDict):
    id: str
    node: str
    status: NodeStatus


class NodeView(NodeViewRequired, total=False):
    again_at: Instant | None
    answer: AnswerView | None
    attempts: int | None
    await_key: AwaitKey | None
    await_match: str | None
    awaits: str | None
    cause: str | None
    duration_ms: int | None
    ended_at: Instant | None
    error: TaskError | None
    frame: str
    frames: FrameCounts | None
    heard: str | None
    input: Any
    items: int | None
    last_error: TaskError | None
    message: str | None
    output: Any
    progress: float | None
    removed: int | None
    set: NodeSetBy | None
    since: Instant | None
    sub_run: str | None
    task: str | None
    then: str | None
    to: list[str]
    type: str | None
    undone: bool
    until: Instant | None
    waits_for: list[str]
    way: str | None
    why: str | None
    worker: str | None


class OutsideViewRequired(TypedDict):
    address: str
    counts: dict[str, int]


class OutsideView(OutsideViewRequired, total=False):
    trouble: str | None


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
    fix: str
    message: str
    retryable: bool


class Problem(ProblemRequired, total=False):
    changes: list[str]
    next_actions: list[NextAction]
    problems: list[ProblemAt]
    retry_after_ms: int | None
    revision: int | None


class ProblemAtRequired(TypedDict):
    message: str
    path: str


class ProblemAt(ProblemAtRequired, total=False):
    column: int | None
    line: int | None
    suggestion: str | None


class Promotions(TypedDict):
    boosts: int
    expedited: int
    raised: int
    run_now: int
    total: int


class QueueClear(TypedDict, total=False):
    by: str | None
    dry_run: bool
    filter: TaskFilter | None
    reason: str | None


class QueueConfig(TypedDict, total=False):
    backlog_full: BacklogFull
    backlog_max: int | None
    budget_ms: int
    concurrency: int | None
    fairness: Fairness | None
    heartbeat_ms: int
    idempotency_window_ms: int
    keys: dict[str, KeyLimit]
    override_slots: int
    rate: Rate | None
    require_tag: str | None
    retry: Retry


class QueueDrain(TypedDict, total=False):
    by: str | None
    filter: TaskFilter | None


class QueueListRequired(TypedDict):
    queues: list[QueueView]


class QueueList(QueueListRequired, total=False):
    note: str | None


class QueuePause(TypedDict, total=False):
    by: str | None
    for_ms: int | None
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
    tasks: list[str] | None


class QueueReprioritizeOptions(TypedDict, total=False):
    boost: bool
    by: str | None
    filter: TaskFilter | None
    key: KeyPair | None
    tasks: list[str] | None


class QueueReprioritize(QueueReprioritizeOptions):
    priority: Priority


class QueueViewRequired(TypedDict):
    config: QueueConfig
    counts: Counts
    queue: str


class QueueView(QueueViewRequired, total=False):
    boosts: list[BoostView]
    bulks: list[BulkView]
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
    record: RecordBody
    seq: Cursor


class RegistryCheckedRequired(TypedDict):
    handlers: list[str]
    queues: list[str]
    webhooks: list[str]


class RegistryChecked(RegistryCheckedRequired, total=False):
    crons: list[CronDue]
    warnings: list[str]


class RegistryDiff(TypedDict):
    changes: Any
    lines: list[str]
    revision: int
    same: bool


class RegistryPutRequired(TypedDict):
    handlers: int
    revision: int
    unchanged: bool


class RegistryPut(RegistryPutRequired, total=False):
    warnings: list[str]


class RegistryStatusRequired(TypedDict):
    revision: int


class RegistryStatus(RegistryStatusRequired, total=False):
    file: str | None
    refused: str | None
    warnings: list[str]


class RegistryViewRequired(TypedDict):
    handlers: list[str]
    queues: list[str]
    revision: int
    text: str
    webhooks: list[str]


class RegistryView(RegistryViewRequired, total=False):
    by: str | None
    crons: list[CronDue]
    file: str | None
    put_at: Instant | None
    refused: str | None
    warnings: list[str]


class Retry(TypedDict, total=False):
    attempts: int
    backoff_max_ms: int
    backoff_ms: int
    jitter_percent: int


class RollupsViewRequired(TypedDict):
    lag_ms: int
    lost: int
    record: int


class RollupsView(RollupsViewRequired, total=False):
    trouble: str | None


class RunCancelledView(TypedDict):
    by: str
    reason: str


class RunChange(TypedDict, total=False):
    by: str | None
    reason: str | None


class RunDefinitionRequired(TypedDict):
    newest: int
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
    operations: Any
    since: int | None


class RunExplanationRequired(TypedDict):
    next_actions: list[str]
    run: str
    sentence: str
    status: RunStatus
    waits: list[WaitView]


class RunExplanation(RunExplanationRequired, total=False):
    more: int


class RunFork(TypedDict, total=False):
    at: str | None
    by: str | None
    deadline: Instant | None
    deadline_ms: int | None
    description: str | None
    dry_run: bool
    idempotency_key: str | None
    input: Any
    node: str | None
    operations: list[Any] | None
    priority: Priority | None
    tags: list[str] | None
    with_: Any


class RunForkedRequired(TypedDict):
    anew: list[str]
    base: int
    changes: list[str]
    dry_run: bool
    duplicate: bool
    kept: list[str]
    origin: RunOrigin
    revision: int


class RunForked(RunForkedRequired, total=False):
    run: str | None
    warnings: list[ProblemAt]


class RunHistoryRequired(TypedDict):
    records: list[RecordView]


class RunHistory(RunHistoryRequired, total=False):
    next: Cursor | None


class RunListRequired(TypedDict):
    runs: list[RunView]


class RunList(RunListRequired, total=False):
    next: str | None


class RunNowRequired(TypedDict):
    changed: bool
    run: str
    status: RunStatus


class RunNow(RunNowRequired, total=False):
    caller: str | None
    generation: int | None
    paused: bool
    revision: int | None
    was: RunStatus | None


class RunOriginRequired(TypedDict):
    record: Cursor
    run: str


class RunOrigin(RunOriginRequired, total=False):
    node: str | None


class RunPatchOptions(TypedDict, total=False):
    by: str | None
    description: str | None
    dry_run: bool
    expected_revision: int | None
    fence: str | None
    node_id: str | None
    task: str | None


class RunPatch(RunPatchOptions):
    operations: list[Any]


class RunPatchedRequired(TypedDict):
    added: list[NodeAdded]
    changed: list[NodeChanged]
    changes: list[str]
    dry_run: bool
    keeps: list[TextKept]
    keeps_total: int
    next: list[str]
    removed: list[str]
    revision: int
    run: str
    unchanged: bool
    workflow: list[PartChanged]


class RunPatched(RunPatchedRequired, total=False):
    deadline: Instant | None
    refused: Problem | None
    warnings: list[ProblemAt]


class RunPauseView(TypedDict):
    by: str
    reason: str
    since: Instant


class RunRefused(TypedDict):
    run: str
    why: str


class RunReplayRequired(TypedDict):
    dead_tokens: int
    explanation: RunExplanation
    first: RecordStamp
    frames: list[str]
    last: RecordStamp
    place: int
    record: RecordView
    records: int
    run: RunView
    time: Instant
    tokens: list[TokenView]


class RunReplay(RunReplayRequired, total=False):
    after: Cursor | None
    before: Cursor | None
    lost: list[LostHistory]
    more_frames: int
    more_tokens: int
    note: str | None
    unread: list[Unread]


class RunRestartOptions(TypedDict, total=False):
    by: str | None
    expected_revision: int | None
    operations: list[Any] | None
    reason: str | None
    with_: Any


class RunRestart(RunRestartOptions):
    node: str


class RunRetry(TypedDict, total=False):
    by: str | None
    expected_revision: int | None
    node: str | None
    operations: list[Any] | None
    reason: str | None
    with_: Any


class RunSkipOptions(TypedDict, total=False):
    by: str | None
    reason: str | None


class RunSkipRequired(TypedDict):
    node: str


class RunSkip(RunSkipOptions, RunSkipRequired, total=False):
    output: Any


class RunSpecViewRequired(TypedDict):
    version: int
    workflow: str


class RunSpecView(RunSpecViewRequired, total=False):
    deadline: Instant | None
    event: str | None
    idempotency_key: str | None
    origin: RunOrigin | None
    parent: str | None
    priority: int | None
    tags: list[str]


class RunStartOptions(TypedDict, total=False):
    by: str | None
    deadline: Instant | None
    deadline_ms: int | None
    idempotency_key: str | None
    priority: Priority | None
    tags: list[str]
    version: int | None


class RunStartRequired(TypedDict):
    workflow: str


class RunStart(RunStartOptions, RunStartRequired, total=False):
    input: Any


class RunStartedRequired(TypedDict):
    duplicate: bool
    run: str


class RunStarted(RunStartedRequired, total=False):
    input_differs: bool


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
    duration_ms: int | None
    ended_at: Instant | None
    error: TaskError | None
    event: str | None
    failed_at: str | None
    generation: int
    held: bool
    idempotency_key: str | None
    input: Any
    nodes: list[NodeView]
    origin: RunOrigin | None
    output: Any
    parent: str | None
    pause: RunPauseView | None
    priority: int | None
    retryable: bool
    revision: int
    stopping: bool
    tags: list[str]
    undone: bool


class RunsBulkOptions(TypedDict, total=False):
    by: str | None
    description: str | None
    dry_run: bool
    node: str | None
    operations: list[Any] | None
    per_s: int | None
    reason: str | None
    set: list[str]
    unset: list[str]


class RunsBulk(RunsBulkOptions):
    verb: RunsVerb
    where: str


class RunsBulkAnswer(TypedDict, total=False):
    at_least: bool
    bulk: str | None
    count: int | None
    done: int | None
    dry_run: bool
    refused: int | None
    refused_first: list[RunRefused]
    sample: list[str]
    tried: int | None
    unclear: int | None
    unclear_first: RunRefused | None


class ServerStatusRequired(TypedDict):
    commits: int
    counts: Counts
    records: int
    stopping: bool
    store: str
    uptime_ms: int
    version: str
    workers: list[WorkerView]


class ServerStatus(ServerStatusRequired, total=False):
    address: str | None
    blobs: BlobsView
    bulks: int
    commits_failed: int
    events: dict[str, int]
    outside: dict[str, OutsideView]
    queues: int
    registry: RegistryStatus | None
    rollups: RollupsView
    runs: int
    shard: int
    watchdog: WatchdogView


class Signed(TypedDict, total=False):
    by: str | None


class StatsRequired(TypedDict):
    current_depth: Counts
    dispatch_duration_ms: Durations
    dispatches: Dispatches
    families: list[FamilyStats]
    promotions: Promotions
    queue_latency_ms: Latency
    recent_failures: list[FailureView]
    tasks: TaskFigures
    window: StatsWindow


class Stats(StatsRequired, total=False):
    events: dict[str, int]
    families_left: int
    note: str | None


StatsWindowRequired = TypedDict("StatsWindowRequired", {"found": "int", "from": "Instant", "sampled": "int", "to": "Instant", "truncated": "bool"})


class StatsWindow(StatsWindowRequired, total=False):
    truncated_why: str | None


class TaskAddOptions(TypedDict, total=False):
    blocked_by: list[str]
    budget_ms: int | None
    delay_ms: int | None
    idempotency_key: str | None
    idle: bool
    keys: dict[str, str]
    priority: Priority | None
    queue: str | None
    retry: Retry | None
    scheduled_for: Instant | None
    start_by: Instant | None
    tags: list[str]


class TaskAddRequired(TypedDict):
    type: str


class TaskAdd(TaskAddOptions, TaskAddRequired, total=False):
    input: Any


class TaskAdded(TypedDict):
    duplicate: bool
    task: str


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
    failed: int
    queued: int
    retried: int


class TaskFilter(TypedDict, total=False):
    error_code: str | None
    family: str | None
    key: KeyPair | None
    tag: str | None
    type: str | None


class TaskListRequired(TypedDict):
    tasks: list[TaskView]


class TaskList(TaskListRequired, total=False):
    next: str | None


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
    retry: Retry | None
    scheduled_for: Instant | None
    start_by: Instant | None
    tags: list[str]
    trigger: TriggerView | None


class TaskStart(TypedDict, total=False):
    by: str | None
    force: bool


class TaskStatus(TypedDict):
    status: Status
    task: str


class TaskViewRequired(TypedDict):
    attempt: int
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
    idempotency_key: str | None
    input: Any
    keys: dict[str, str]
    lease: LeaseView | None
    node: str | None
    output: Any
    ready_at: Instant | None
    run: str | None
    run_now: bool
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
    node: str


class TimelineRequired(TypedDict):
    rows: list[TimelineRow]
    run: str
    started_at: Instant
    status: RunStatus
    until: Instant
    version: int
    workflow: str


class Timeline(TimelineRequired, total=False):
    ended_at: Instant | None
    generation: int
    left_out: int
    moments: list[TimelineMoment]
    more: bool
    revision: int


class TimelineMomentRequired(TypedDict):
    at: Instant
    by: str
    record: Cursor
    what: MomentKind


class TimelineMoment(TimelineMomentRequired, total=False):
    generation: int | None
    node: str | None
    reason: str
    revision: int | None


class TimelineRowRequired(TypedDict):
    id: str
    instances: int
    node: str
    spans: list[TimelineSpan]
    status: NodeStatus
    totals: TimelineTotals


class TimelineRow(TimelineRowRequired, total=False):
    failed: int
    removed: int | None
    type: str | None
    undone: bool


TimelineSpanRequired = TypedDict("TimelineSpanRequired", {"from": "Instant", "what": "SpanKind"})


class TimelineSpan(TimelineSpanRequired, total=False):
    attempt: int | None
    error: TaskError | None
    to: Instant | None
    undone: bool
    worker: str | None


class TimelineTotals(TypedDict, total=False):
    asking_ms: int
    attempts: int
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
    events: int
    handler: str
    name: str


class TriggerView(TriggerViewRequired, total=False):
    critical: bool
    window: str | None
    workflow: str | None


class Unread(TypedDict):
    of: str
    sentence: str


class WaitViewRequired(TypedDict):
    code: str
    node: str
    sentence: str


class WaitView(WaitViewRequired, total=False):
    alike: int
    called: RunExplanation | None
    eta: Instant | None
    message: Any
    since: Instant | None
    sub_run: str | None
    task: Explanation | None
    who: list[str]


class WatchdogViewRequired(TypedDict):
    trips: int


class WatchdogView(WatchdogViewRequired, total=False):
    lasted_ms: int | None
    reason: str | None


class WebhookList(TypedDict):
    webhooks: list[WebhookView]


class WebhookRefusal(TypedDict):
    at: Instant
    why: str


class WebhookViewRequired(TypedDict):
    accepted: int
    path: str
    provider: str
    refused: int
    secret_set: bool
    webhook: str


class WebhookView(WebhookViewRequired, total=False):
    last_refusal: WebhookRefusal | None
    unset: list[str]


class WorkerView(TypedDict):
    asked_ms_ago: int
    holding: int
    types: list[str]
    worker: str


class WorkflowCheckedRequired(TypedDict):
    nodes: int
    workflow: str


class WorkflowChecked(WorkflowCheckedRequired, total=False):
    version: int | None


class WorkflowDisabled(TypedDict):
    by: str
    reason: str
    since: Instant


class WorkflowList(TypedDict):
    workflows: list[WorkflowView]


class WorkflowNodeRequired(TypedDict):
    node: str
    type: str


class WorkflowNode(WorkflowNodeRequired, total=False):
    after: list[str]
    when: str | None
    within: str | None


class WorkflowNow(TypedDict):
    disabled: bool
    unchanged: bool
    workflow: str


class WorkflowPut(TypedDict):
    unchanged: bool
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
    nodes: list[WorkflowNode]
    text: str | None
    versions: list[WorkflowVersion]


class WorkflowsCheckedRequired(TypedDict):
    workflows: list[WorkflowChecked]


class WorkflowsChecked(WorkflowsCheckedRequired, total=False):
    warnings: list[ProblemAt]


class WorkflowsPutRequired(TypedDict):
    workflows: list[WorkflowPut]


class WorkflowsPut(WorkflowsPutRequired, total=False):
    warnings: list[ProblemAt]


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
        """Until it is done, failed or cancelled. Raises `TimeoutError` after so many seconds; it goes on."""
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
        """Until it is done, failed or cancelled. Raises `TimeoutError` after so many seconds; it goes on."""
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
