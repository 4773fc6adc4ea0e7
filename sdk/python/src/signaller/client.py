"""For programs that bring work in and ask what came of it. Each call is one request, tried again while that is safe:
what is added, emitted or started without a key is given one, so that a broken connection never does anything twice."""

import json
import os
import random
import time
from contextlib import AbstractContextManager
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from math import inf
from typing import Any
from urllib.parse import urlencode, urlsplit

from . import api

# The server closes a connection that says nothing for 15 s; one about to be closed is not used.
IDLE_S_MAX, CALL_S_MAX = 8.0, 24 * 3600.0
# How long the server waits for an end before it is asked again, and how much later its answer may come.
WAIT_S_MAX, LATE_S_MAX = 20.0, 1.0
JSON, BYTES = "application/json", "application/octet-stream"
BODY_BYTES_MAX = 64 * 1024 * 1024


class SignallerError(Exception):
    """The server's answer was a no, or there was none (then `status` is 0 and `code` is `unreachable`)."""

    def __init__(self, code: str, message: str, status: int, problem: dict[str, Any] | None = None) -> None:
        super().__init__(code, message, status, problem)
        self.code, self.message, self.status = code, message, status
        #: All that the server says of it: `fix`, `problems`, `next_actions` and more.
        self.problem = problem or {}
        #: Whether the same request may succeed later.
        self.retryable: bool = self.problem.get("retryable", status == 0 or status >= 500)
        self.retry_after: float = (self.problem.get("retry_after_ms") or 0) / 1000

    def wait(self, tried: int, most: float = 2.0) -> float:
        """Seconds to wait after so many tries: longer each time, by chance, and as long as the server asks."""
        return max(min(0.1 * 2.0 ** min(tried - 1, 10), most) * random.uniform(0.5, 1.0), self.retry_after)

    def __str__(self) -> str:
        fix = self.problem.get("fix")
        return f"{self.message} ({self.code})" + (f"; {fix}" if fix else "")


class Client(api.Api, AbstractContextManager["Client"]):
    """`url` and `token` default to SIGNALLER_URL and SIGNALLER_TOKEN. `timeout`: seconds for a call, with all its tries.
    It may be used from several threads; from a coroutine, through `asyncio.to_thread`."""

    def __init__(self, url: str | None = None, token: str | None = None, *, timeout: float = 30.0) -> None:
        super().__init__()
        self.emit = self.events.emit
        self.url = (url or os.environ.get("SIGNALLER_URL") or "http://127.0.0.1:7400").rstrip("/")
        self._place = urlsplit(self.url)
        if self._place.scheme not in ("http", "https") or not self._place.hostname:
            raise ValueError(f"`{self.url}` is no address of a server: write it as http://127.0.0.1:7400")
        token = (token if token is not None else os.environ.get("SIGNALLER_TOKEN") or "").strip()
        self._headers = {"authorization": f"Bearer {token}"} if token else {}
        self._timeout = min(timeout, CALL_S_MAX)
        self._idle: list[tuple[float, HTTPConnection]] = []

    def request(
        self, method: str, path: str, body: Any = None, query: Any = (), kind: str = JSON, again: bool = False, end: float = inf
    ) -> Any:
        """What the calls are made of. `kind`: what the body is, as bytes, if it is not to be JSON. `again`: it may safely be
        sent twice, as may any GET or PUT. `end`: when to give up, if the client does not before."""
        said = {name: value for name, value in dict(query).items() if value is not None}
        said |= {name: str(value).lower() for name, value in said.items() if isinstance(value, bool)}
        wait_ms = said.get("wait_ms", 0)
        sent = json.dumps(body, allow_nan=False).encode() if kind == JSON and body is not None else body
        may = again or method in ("GET", "PUT")
        if not may:
            self.close()  # On one that the server has closed it would fail, and nobody could tell whether it was done.
        until, tried = time.monotonic() + wait_ms / 1000, 0
        end = min(until + self._timeout, end)
        while True:
            tried, now = tried + 1, time.monotonic()
            if wait_ms:  # After a try that was in vain there is less of it.
                said["wait_ms"] = max(round((until - now) * 1000), 0)
            try:
                return self.send_once(method, f"{path}?{urlencode(said)}" if said else path, sent, max(end - now, 0.01), kind)
            except SignallerError as error:
                rest = error.wait(tried)
                if not (may and error.retryable) or time.monotonic() + rest >= end:
                    raise
                time.sleep(rest)

    def send_once(self, method: str, path: str, body: bytes | None, timeout: float, kind: str = JSON) -> Any:
        """The answer's JSON, or its bytes. Raises `SignallerError`, also when the server cannot be reached."""
        if body and len(body) > BODY_BYTES_MAX:  # It would hang up before it has read them.
            raise SignallerError("too_large", f"{path} takes at most {BODY_BYTES_MAX} bytes, and these are {len(body)}", 413)
        connection = self._connection(timeout)
        try:
            connection.request(method, self._place.path + path, body, {**self._headers, "content-type": kind})
            response = connection.getresponse()
            status, text = response.status, response.read()
        except (OSError, HTTPException) as error:
            connection.close()
            said = f"the server at {self.url} did not answer: {str(error) or type(error).__name__}"
            raise SignallerError("unreachable", said, 0) from error
        self._idle.append((time.monotonic(), connection))
        try:
            if status < 400:
                return text if response.headers["content-type"] == BYTES else json.loads(text)
            problem = json.loads(text)["error"]
            code, said = problem["code"], problem["message"]
        except (ValueError, LookupError, TypeError):
            problem, code = None, "not_signaller"
            said = f"what the server at {self.url} answered is not of Signaller's API: {status} {text[:200]!r}"
        raise SignallerError(code, said, status, problem)

    def ended(self, path: str, timeout: float | None) -> Any:
        """What is there, when it has ended: what `wait` of tasks and runs is made of."""
        end = time.monotonic() + (inf if timeout is None else timeout)
        while True:
            wait = max(min(end - time.monotonic(), WAIT_S_MAX), 0.0)
            view = self.request("GET", path, query={"wait_ms": round(wait * 1000)}, end=end + LATE_S_MAX)
            if view["status"] in ("done", "failed", "cancelled"):
                return view
            if time.monotonic() >= end:
                raise TimeoutError(f"after {timeout} s {path.rpartition('/')[2]} is still {view['status']}")

    def _connection(self, timeout: float) -> HTTPConnection:
        try:
            since, connection = self._idle.pop()
        except IndexError:  # There is no other.
            kind = HTTPSConnection if self._place.scheme == "https" else HTTPConnection
            since, connection = 0.0, kind(str(self._place.hostname), self._place.port)
        if time.monotonic() - since > IDLE_S_MAX:
            connection.close()  # It is opened again when it is used.
        connection.timeout = timeout
        if connection.sock:
            connection.sock.settimeout(timeout)
        return connection

    def close(self) -> None:
        while self._idle:  # Others may take some of them meanwhile.
            self._connection(0).close()

    def __exit__(self, *_: object) -> None:
        self.close()
