"""For programs that bring work in and ask what came of it. Each call is one request, tried again while that is safe:
what is added, emitted or started without a key is given one, so that a broken connection never does anything twice."""

from __future__ import annotations

import json
import random
import time
import uuid
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast
from urllib.parse import quote

from . import api
from .http import Http, SignallerError

if TYPE_CHECKING:
    from typing_extensions import Unpack

View = TypeVar("View", api.TaskView, api.RunView)


class Client:
    """`url` and `token` default to SIGNALLER_URL and SIGNALLER_TOKEN. `timeout`: seconds for a call, with all its tries.
    It may be used from several threads; from a coroutine, through `asyncio.to_thread`."""

    def __init__(self, url: str | None = None, token: str | None = None, *, timeout: float = 30.0) -> None:
        self._http = Http(url, token)
        self._timeout = timeout
        self.tasks = Tasks(self, "/v1/tasks")
        self.runs = Runs(self, "/v1/runs")

    def emit(self, name: str, data: Any = None, **options: Unpack[api.EventEmitOptions]) -> api.EventEmitted:
        """Durable when it returns. The same `id` again is the same event, and has no second effect."""
        body = {"id": new_key(), **options, "name": name, "data": data}
        return cast(api.EventEmitted, self.request("POST", "/v1/events", body, again=True))

    def emit_many(self, events: Iterable[api.EventEmit]) -> list[api.EventEmitted]:
        """All of them or none; at most 1,000."""
        body = {"events": [{"id": new_key(), **event} for event in events]}
        return cast("list[api.EventEmitted]", self.request("POST", "/v1/events/batch", body, again=True)["events"])

    def request(self, method: str, path: str, body: Any = None, *, again: bool = False) -> Any:
        """Anything else of the API, which describes itself at /openapi.json. `again`: it may safely be sent twice, as any
        GET may."""
        text = None if body is None else json.dumps(body, allow_nan=False)
        end, wait = time.monotonic() + self._timeout, 0.1
        while True:
            try:
                return self._http.send(method, path, text, max(end - time.monotonic(), 0.01))
            except SignallerError as error:
                rest = max(wait * random.uniform(0.5, 1.0), error.retry_after)
                may = error.retryable and (again or method == "GET")
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


class Begun(Generic[View]):
    """What was begun and goes on by itself."""

    def __init__(self, client: Client, path: str) -> None:
        self._client, self._path = client, path

    def get(self, id: str) -> View:
        return cast(View, self._client.request("GET", f"{self._path}/{quote(id, safe='')}"))

    def cancel(self, id: str, reason: str | None = None) -> None:
        """Workers that are at it are told to stop."""
        self._client.request("POST", f"{self._path}/{quote(id, safe='')}/cancel", {"reason": reason})

    def wait(self, id: str, timeout: float | None = None) -> View:
        """Until it is done, failed or cancelled. Raises `TimeoutError` after so many seconds; it goes on."""
        began, rest = time.monotonic(), 0.02
        while (view := self.get(id))["status"] not in ("done", "failed", "cancelled"):
            if timeout is not None and time.monotonic() + rest - began > timeout:
                raise TimeoutError(f"{id} is still {view['status']} after {timeout} s")
            time.sleep(rest)
            rest = min(rest * 1.5, 1.0)
        return view


class Tasks(Begun[api.TaskView]):
    def add(self, type: str, input: Any = None, **options: Unpack[api.TaskAddOptions]) -> api.TaskAdded:
        """The same `idempotency_key` again answers the same task."""
        body = {"idempotency_key": new_key(), **options, "type": type, "input": input}
        return cast(api.TaskAdded, self._client.request("POST", self._path, body, again=True))

    def add_many(self, tasks: Iterable[api.TaskAdd]) -> list[api.TaskAdded]:
        """All of them or none; at most 1,000."""
        body = {"tasks": [{"idempotency_key": new_key(), **task} for task in tasks]}
        return cast("list[api.TaskAdded]", self._client.request("POST", "/v1/tasks/batch", body, again=True)["tasks"])


class Runs(Begun[api.RunView]):
    def start(self, workflow: str, input: Any = None, **options: Unpack[api.RunStartOptions]) -> api.RunStarted:
        """The same `idempotency_key` again answers the same run."""
        body = {"idempotency_key": new_key(), **options, "workflow": workflow, "input": input}
        return cast(api.RunStarted, self._client.request("POST", self._path, body, again=True))


def new_key() -> str:
    return uuid.uuid4().hex
