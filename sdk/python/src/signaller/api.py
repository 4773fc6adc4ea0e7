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


class AnswerView(TypedDict, total=False):
    approved: bool
    by: str
    comment: str


class AwaitKey(TypedDict, total=False):
    of: str


class CancelledView(TypedDict, total=False):
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


class EventEmit(EventEmitOptions, total=False):
    data: Any
    name: str


class EventEmitted(TypedDict, total=False):
    differs: bool
    duplicate: bool
    event: str
    handled: list[HandledView]
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


class HandledView(TypedDict, total=False):
    handler: str
    outcome: str
    run: str | None
    run_status: RunStatus | None
    status: Status | None
    task: str | None
    why: str


class LeaseView(TypedDict, total=False):
    budget_until: Instant
    ending: EndingView | None
    fence: str
    heartbeat_ms: int
    message: str | None
    progress: float | None
    run: str | None
    since: Instant
    worker: str


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


class NodeSetBy(TypedDict, total=False):
    by: str
    reason: str


class NodeView(TypedDict, total=False):
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
    id: str
    input: Any
    items: int | None
    last_error: TaskError | None
    message: str | None
    node: str
    output: Any
    progress: float | None
    removed: int | None
    set: NodeSetBy | None
    since: Instant | None
    status: NodeStatus
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


class RunCancelledView(TypedDict, total=False):
    by: str
    reason: str


class RunOrigin(TypedDict, total=False):
    node: str | None
    record: Cursor
    run: str


class RunPauseView(TypedDict, total=False):
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


class RunStart(RunStartOptions, total=False):
    input: Any
    workflow: str


class RunStarted(TypedDict, total=False):
    duplicate: bool
    input_differs: bool
    run: str


class RunView(TypedDict, total=False):
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
    run: str
    started_at: Instant
    status: RunStatus
    stopping: bool
    tags: list[str]
    undone: bool
    version: int
    workflow: str


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


class TaskAdd(TaskAddOptions, total=False):
    input: Any
    type: str


class TaskAdded(TypedDict, total=False):
    duplicate: bool
    task: str


class TaskError(TypedDict, total=False):
    code: str
    message: str


class TaskView(TypedDict, total=False):
    attempt: int
    blocked_by: list[str]
    cancelled: CancelledView | None
    created_at: Instant
    error: TaskError | None
    finished_at: Instant | None
    held: bool
    idempotency_key: str | None
    input: Any
    keys: dict[str, str]
    lease: LeaseView | None
    node: str | None
    output: Any
    priority: int
    queue: str
    ready_at: Instant | None
    run: str | None
    run_now: bool
    scheduled_for: Instant | None
    since: Instant | None
    start_by: Instant | None
    status: Status
    tags: list[str]
    task: str
    trigger: TriggerView | None
    type: str


class TriggerView(TypedDict, total=False):
    critical: bool
    event: str
    events: int
    handler: str
    name: str
    window: str | None
    workflow: str | None
