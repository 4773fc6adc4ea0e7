"""For programs that bring work in and ask what came of it. Each call is one request, tried again while that is safe:
what is added, emitted or started without a key is given one, so that a broken connection never does anything twice."""

from __future__ import annotations

import json
import random
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar, cast
from urllib.parse import quote

from .errors import SignallerError
from .transport import Http
from .types import EventEmit, EventEmitted, Priority, RunStarted, RunView, TaskAdd, TaskAdded, TaskView

View = TypeVar("View", TaskView, RunView)


def given(**fields: Any) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


class Client:
    """`url` and `token` default to SIGNALLER_URL and SIGNALLER_TOKEN. `timeout`: seconds for a call, with all its tries.
    It may be used from several threads; from a coroutine, through `asyncio.to_thread`."""

    def __init__(self, url: str | None = None, token: str | None = None, *, timeout: float = 30.0) -> None:
        self._http = Http(url, token)
        self._timeout = timeout
        self.tasks = Tasks(self)
        self.runs = Runs(self)

    def emit(
        self,
        name: str,
        data: Any = None,
        *,
        id: str | None = None,
        source: str | None = None,
        priority: Priority | None = None,
        dedup_key: str | None = None,
    ) -> EventEmitted:
        """Durable when it returns. The same `id` again is the same event, and has no second effect."""
        event = given(id=id or new_key(), source=source, priority=priority, dedup_key=dedup_key)
        answer = self.request("POST", "/v1/events", {"name": name, "data": data, **event}, again=True)
        return cast(EventEmitted, answer)

    def emit_many(self, events: Iterable[EventEmit]) -> list[EventEmitted]:
        """All of them or none; at most 1,000."""
        body = {"events": [{"id": new_key(), **event} for event in events]}
        return cast("list[EventEmitted]", self.request("POST", "/v1/events/batch", body, again=True)["events"])

    def request(self, method: str, path: str, body: Any = None, *, again: bool | None = None) -> Any:
        """Anything else of the API, which describes itself at /openapi.json. `again`: it may safely be sent twice, which
        is taken for granted of a GET."""
        text = None if body is None else json.dumps(body, allow_nan=False, ensure_ascii=False).encode()
        end, wait = time.monotonic() + self._timeout, 0.1
        while True:
            left = end - time.monotonic()
            try:
                return self._http.send(method, path, text, max(left, 0.01))
            except SignallerError as error:
                rest = max(wait * random.uniform(0.5, 1.0), (error.retry_after_ms or 0) / 1000)
                may = error.retryable and (again if again is not None else method == "GET")
                if not may or time.monotonic() + rest >= end:
                    raise
            time.sleep(rest)
            wait = min(wait * 2, 2.0)

    def close(self) -> None:
        self._http.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Tasks:
    def __init__(self, client: Client) -> None:
        self._client = client

    def add(
        self,
        type: str,
        input: Any = None,
        *,
        queue: str | None = None,
        priority: Priority | None = None,
        keys: Mapping[str, str] | None = None,
        tags: Sequence[str] | None = None,
        delay: float | None = None,
        budget: float | None = None,
        blocked_by: Sequence[str] | None = None,
        idempotency_key: str | None = None,
    ) -> TaskAdded:
        """`delay` and `budget` (how long one attempt may run) in seconds. The same key again answers the same task."""
        body = given(queue=queue, priority=priority, keys=keys, tags=tags, delay_ms=ms(delay), budget_ms=ms(budget))
        body |= given(blocked_by=blocked_by, idempotency_key=idempotency_key or new_key(), type=type, input=input)
        return cast(TaskAdded, self._client.request("POST", "/v1/tasks", body, again=True))

    def add_many(self, tasks: Iterable[TaskAdd]) -> list[TaskAdded]:
        """All of them or none; at most 1,000."""
        body = {"tasks": [{"idempotency_key": new_key(), **task} for task in tasks]}
        return cast("list[TaskAdded]", self._client.request("POST", "/v1/tasks/batch", body, again=True)["tasks"])

    def get(self, task: str) -> TaskView:
        return cast(TaskView, self._client.request("GET", f"/v1/tasks/{quote(task, safe='')}"))

    def cancel(self, task: str, reason: str | None = None) -> None:
        """A worker that is at it is told to stop."""
        self._client.request("POST", f"/v1/tasks/{quote(task, safe='')}/cancel", given(reason=reason))

    def wait(self, task: str, timeout: float | None = None) -> TaskView:
        """Until it is done, failed or cancelled. Raises `TimeoutError`; the task goes on."""
        return wait(task, self.get, {"done", "failed", "cancelled"}, timeout)


class Runs:
    def __init__(self, client: Client) -> None:
        self._client = client

    def start(
        self,
        workflow: str,
        input: Any = None,
        *,
        version: int | None = None,
        priority: Priority | None = None,
        tags: Sequence[str] | None = None,
        deadline: float | None = None,
        idempotency_key: str | None = None,
    ) -> RunStarted:
        """`deadline` in seconds from now. The same key again answers the same run."""
        body = given(workflow=workflow, input=input, version=version, priority=priority, tags=tags)
        body |= given(deadline_ms=ms(deadline), idempotency_key=idempotency_key or new_key())
        return cast(RunStarted, self._client.request("POST", "/v1/runs", body, again=True))

    def get(self, run: str) -> RunView:
        return cast(RunView, self._client.request("GET", f"/v1/runs/{quote(run, safe='')}"))

    def cancel(self, run: str, reason: str | None = None) -> None:
        self._client.request("POST", f"/v1/runs/{quote(run, safe='')}/cancel", given(reason=reason))

    def wait(self, run: str, timeout: float | None = None) -> RunView:
        """Until it is done, failed or cancelled. Raises `TimeoutError`; the run goes on."""
        return wait(run, self.get, {"done", "failed", "cancelled"}, timeout)


def wait(what: str, get: Callable[[str], View], ends: set[str], timeout: float | None) -> View:
    began, rest = time.monotonic(), 0.02
    while True:
        view = get(what)
        if view["status"] in ends:
            return view
        if timeout is not None and time.monotonic() + rest - began > timeout:
            raise TimeoutError(f"{what} is still {view['status']} after {timeout} s")
        time.sleep(rest)
        rest = min(rest * 1.5, 1.0)


def ms(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * 1000)


def new_key() -> str:
    return uuid.uuid4().hex
