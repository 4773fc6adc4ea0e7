"""What the server takes and answers, as far as this package reads it; a test holds them against its description."""

from __future__ import annotations

from typing import Any, Literal, TypedDict

Priority = int | Literal["critical", "high", "normal", "background"]


class TaskError(TypedDict):
    code: str
    message: str


class EventEmit(TypedDict, total=False):
    name: str
    data: Any
    id: str
    source: str
    priority: Priority
    dedup_key: str
    ts: str
    trace: dict[str, Any]


class EventEmitted(TypedDict, total=False):
    event: str
    duplicate: bool
    differs: bool
    handled: list[dict[str, Any]]


class TaskAdd(TypedDict, total=False):
    type: str
    input: Any
    queue: str
    priority: Priority
    keys: dict[str, str]
    tags: list[str]
    delay_ms: int
    budget_ms: int
    idempotency_key: str
    blocked_by: list[str]
    retry: dict[str, Any]
    scheduled_for: str
    start_by: str
    idle: bool


class TaskAdded(TypedDict):
    task: str
    duplicate: bool


class TaskView(TypedDict, total=False):
    task: str
    type: str
    queue: str
    status: Literal["idle", "queued", "running", "done", "failed", "cancelled"]
    attempt: int
    input: Any
    output: Any
    error: TaskError | None
    cancelled: dict[str, Any] | None
    created_at: str
    finished_at: str | None
    keys: dict[str, str]
    tags: list[str]
    run: str | None
    node: str | None


class RunStarted(TypedDict, total=False):
    run: str
    duplicate: bool
    input_differs: bool


class RunView(TypedDict, total=False):
    run: str
    workflow: str
    version: int
    status: Literal["running", "done", "failed", "cancelled"]
    input: Any
    output: Any
    error: TaskError | None
    failed_at: str | None
    cancelled: dict[str, Any] | None
    started_at: str
    ended_at: str | None
    duration_ms: int | None
    tags: list[str]
    pause: dict[str, Any] | None
