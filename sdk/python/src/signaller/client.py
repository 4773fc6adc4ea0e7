"""For programs that bring work in and ask what came of it. Each call is one request, tried again while that is safe:
what is added, emitted or started without a key is given one, so that a broken connection never does anything twice."""

from __future__ import annotations

import json
import os
import random
import time
import uuid
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import quote, urlsplit

from . import api

if TYPE_CHECKING:
    from typing_extensions import Unpack

# The server closes a connection that says nothing for 15 s; one about to be closed is not used.
IDLE_S_MAX, CALL_S_MAX = 8.0, 24 * 3600.0
BYTES = "application/octet-stream"
BLOB_BYTES_MAX = 64 * 1024 * 1024
View = TypeVar("View", api.TaskView, api.RunView)


class SignallerError(Exception):
    """The server's answer was a no, or there was none (then `status` is 0 and `code` is `unreachable`)."""

    def __init__(self, code: str, message: str, status: int, problem: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, status
        #: All that the server says of it: `fix`, `problems`, `next_actions` and more.
        self.problem = problem or {}
        #: Whether the same request may succeed later.
        self.retryable: bool = self.problem.get("retryable", status == 0 or status >= 500)
        self.retry_after: float = (self.problem.get("retry_after_ms") or 0) / 1000

    def wait(self, tried: int, most: float = 5.0) -> float:
        """Seconds to wait after so many tries: longer each time, by chance, and as long as the server asks."""
        return max(min(0.1 * 2.0 ** min(tried - 1, 10), most) * random.uniform(0.5, 1.0), self.retry_after)

    def __str__(self) -> str:
        fix = self.problem.get("fix")
        return f"{self.message} ({self.code})" + (f"; {fix}" if fix else "")


class Client(AbstractContextManager["Client"]):
    """`url` and `token` default to SIGNALLER_URL and SIGNALLER_TOKEN. `timeout`: seconds for a call, with all its tries.
    It may be used from several threads; from a coroutine, through `asyncio.to_thread`."""

    def __init__(self, url: str | None = None, token: str | None = None, *, timeout: float = 30.0) -> None:
        self.url = (url or os.environ.get("SIGNALLER_URL") or "http://127.0.0.1:7400").rstrip("/")
        self._place = urlsplit(self.url)
        if self._place.scheme not in ("http", "https") or not self._place.hostname:
            raise ValueError(f"`{self.url}` is no address of a server: write it as http://127.0.0.1:7400")
        self._headers = {"content-type": "application/json"}
        if token := token if token is not None else os.environ.get("SIGNALLER_TOKEN"):
            self._headers["authorization"] = f"Bearer {token}"
        self._timeout = timeout
        self._idle: list[tuple[float, HTTPConnection]] = []
        self.tasks = Tasks(self, "/v1/tasks")
        self.runs = Runs(self, "/v1/runs")
        self.blobs = Blobs(self)

    def emit(self, name: str, data: Any = None, **options: Unpack[api.EventEmitOptions]) -> api.EventEmitted:
        """Durable when it returns. The same `id` again is the same event, and has no second effect."""
        return self.request("POST", "/v1/events", keyed("id", {**options, "name": name, "data": data}), again=True)

    def emit_many(self, events: Iterable[api.EventEmit]) -> list[api.EventEmitted]:
        """All of them or none; at most 1,000."""
        body = {"events": [keyed("id", event) for event in events]}
        return self.request("POST", "/v1/events/batch", body, again=True)["events"]

    def request(self, method: str, path: str, body: Any = None, *, again: bool = False) -> Any:
        """Anything else of the API, which describes itself at /openapi.json. `again`: it may safely be sent twice, as any
        GET may. Bytes go and come as they are, everything else as JSON."""
        sent = body if body is None or isinstance(body, bytes) else json.dumps(body, allow_nan=False)
        end, tried = time.monotonic() + self._timeout, 0
        while True:
            tried += 1
            try:
                return self.send_once(method, path, sent, min(max(end - time.monotonic(), 0.01), CALL_S_MAX))
            except SignallerError as error:
                rest = error.wait(tried)
                may = error.retryable and (again or method == "GET")
                if not may or time.monotonic() + rest >= end:
                    raise
                time.sleep(rest)

    def send_once(self, method: str, path: str, body: str | bytes | None = None, timeout: float = 30.0) -> Any:
        """The answer's JSON, or its bytes. Raises `SignallerError`, also when the server cannot be reached."""
        connection = self._connection(timeout)
        try:
            headers = self._headers | ({"content-type": BYTES} if isinstance(body, bytes) else {})
            sent = body.encode() if isinstance(body, str) else body
            connection.request(method, self._place.path + path, sent, headers)
            response = connection.getresponse()
            status, text = response.status, response.read()
        except (OSError, HTTPException) as error:
            connection.close()
            said = f"the server at {self.url} did not answer: {str(error) or type(error).__name__}"
            raise SignallerError("unreachable", said, 0) from error
        self._idle.append((time.monotonic(), connection))
        if status < 400 and response.headers["content-type"] == BYTES:
            return text
        try:
            answer = json.loads(text)
            if status < 400:
                return answer
            no = SignallerError(answer["error"]["code"], answer["error"]["message"], status, answer["error"])
        except (ValueError, LookupError, TypeError):
            no = SignallerError("not_signaller", f"the server at {self.url} is no Signaller: {status} {text[:200]!r}", status)
        raise no

    def _connection(self, timeout: float) -> HTTPConnection:
        while self._idle:
            since, connection = self._idle.pop()
            if connection.sock and time.monotonic() - since < IDLE_S_MAX:
                connection.sock.settimeout(timeout)
                return connection
            connection.close()
        kind = HTTPSConnection if self._place.scheme == "https" else HTTPConnection
        return kind(str(self._place.hostname), self._place.port, timeout=timeout)

    def close(self) -> None:
        while self._idle:
            self._idle.pop()[1].close()

    def __exit__(self, *_: object) -> None:
        self.close()


class Begun(Generic[View]):
    """What was begun and goes on by itself."""

    def __init__(self, client: Client, path: str) -> None:
        self._client, self._path = client, path

    def get(self, id: str) -> View:
        return self._client.request("GET", f"{self._path}/{quote(id, safe='')}")

    def cancel(self, id: str, reason: str | None = None) -> None:
        """Workers that are at it are told to stop. One that is cancelled already stays so."""
        try:
            self._client.request("POST", f"{self._path}/{quote(id, safe='')}/cancel", {"reason": reason}, again=True)
        except SignallerError as no:
            if no.status != 409 or self.get(id)["status"] != "cancelled":
                raise

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
        body = keyed("idempotency_key", {**options, "type": type, "input": input})
        return self._client.request("POST", self._path, body, again=True)

    def add_many(self, tasks: Iterable[api.TaskAdd]) -> list[api.TaskAdded]:
        """All of them or none; at most 1,000."""
        body = {"tasks": [keyed("idempotency_key", task) for task in tasks]}
        return self._client.request("POST", "/v1/tasks/batch", body, again=True)["tasks"]


class Runs(Begun[api.RunView]):
    def start(self, workflow: str, input: Any = None, **options: Unpack[api.RunStartOptions]) -> api.RunStarted:
        """The same `idempotency_key` again answers the same run."""
        body = keyed("idempotency_key", {**options, "workflow": workflow, "input": input})
        return self._client.request("POST", self._path, body, again=True)


class Blobs:
    """Bytes, up to 64 MiB, under a name that values may mention; they stay as long as one does."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def put(self, data: bytes) -> str:
        """Durable when it returns. The same bytes have the same name."""
        if len(data) > BLOB_BYTES_MAX:
            raise SignallerError("too_large", f"a blob has at most {BLOB_BYTES_MAX} bytes, and these are {len(data)}", 413)
        return self._client.request("PUT", "/v1/blobs", data, again=True)["ref"]

    def get(self, ref: str) -> bytes:
        return self._client.request("GET", f"/v1/blobs/{quote(ref, safe='')}")


def keyed(key: str, body: Mapping[str, object]) -> Mapping[str, object]:
    """With a key of its own if it has none: then it may be sent twice."""
    return {**body, key: uuid.uuid4().hex} if body.get(key) is None else body
