"""Made by `make sdk-types` from the server's own description. Do not edit."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

CancelCause = Literal["asked", "cleared", "expired", "shed", "replaced"]
Cursor = str
EndingView = Literal["cancel", "timed_out"]
Instant = str
NodeStatus = Literal["waiting", "queued", "running", "asking", "sleeping", "awaiting", "done", "failed", "skipped", "cancelled"]
Priority = Literal["critical", "high", "normal", "background"] | int
RunStatus = Literal["running", "done", "failed", "cancelled"]
Status = Literal["idle", "queued", "running", "done", "failed", "cancelled"]


class AnswerViewRequired(TypedDict):
    approved: bool
    by: str


class AnswerView(AnswerViewRequired, total=False):
    comment: str


class AwaitKey(TypedDict):
    of: str


class CancelledView(TypedDict):
    by: str
    cause: CancelCause
    reason: str


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


class EventTrace(TypedDict, total=False):
    causation_id: str | None
    correlation_id: str | None


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


class Retry(TypedDict, total=False):
    attempts: int
    backoff_max_ms: int
    backoff_ms: int
    jitter_percent: int


class RunCancelledView(TypedDict):
    by: str
    reason: str


class RunOriginRequired(TypedDict):
    record: Cursor
    run: str


class RunOrigin(RunOriginRequired, total=False):
    node: str | None


class RunPauseView(TypedDict):
    by: str
    reason: str
    since: Instant


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


class TaskErrorRequired(TypedDict):
    code: str


class TaskError(TaskErrorRequired, total=False):
    message: str


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


class TriggerViewRequired(TypedDict):
    event: str
    events: int
    handler: str
    name: str


class TriggerView(TriggerViewRequired, total=False):
    critical: bool
    window: str | None
    workflow: str | None


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
