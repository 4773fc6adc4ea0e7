"""One request, one answer: JSON over connections that are kept open. Nothing is tried twice here."""

from __future__ import annotations

import json
import os
import time
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlsplit

# The server closes a connection that says nothing for 15 s; one about to be closed is not used.
IDLE_S_MAX = 8.0


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

    def __str__(self) -> str:
        fix = self.problem.get("fix")
        return f"{self.message} ({self.code})" + (f"; {fix}" if fix else "")


class Http:
    """Safe to use from several threads: each request has a connection to itself."""

    def __init__(self, url: str | None, token: str | None) -> None:
        self.url = (url or os.environ.get("SIGNALLER_URL") or "http://127.0.0.1:7400").rstrip("/")
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"`{self.url}` is no address of a server: write it as http://127.0.0.1:7400")
        self._kind = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._host, self._port, self._base = parts.hostname, parts.port, parts.path
        self._headers = {"content-type": "application/json"}
        if token := token if token is not None else os.environ.get("SIGNALLER_TOKEN"):
            self._headers["authorization"] = f"Bearer {token}"
        self._idle: list[tuple[float, HTTPConnection]] = []

    def send(self, method: str, path: str, body: str | None = None, timeout: float = 30.0) -> Any:
        """The answer's JSON. Raises `SignallerError`, also when the server cannot be reached."""
        connection = self._connection(timeout)
        try:
            connection.request(method, self._base + path, body and body.encode(), self._headers)
            response = connection.getresponse()
            status, text = response.status, response.read()
        except (OSError, HTTPException) as error:
            connection.close()
            what = str(error) or type(error).__name__
            raise SignallerError("unreachable", f"the server at {self.url} did not answer: {what}", 0) from error
        self._idle.append((time.monotonic(), connection))
        try:
            answer = json.loads(text)
            problem = answer["error"] if status >= 400 else None
        except (ValueError, LookupError, TypeError):
            said = f"the server at {self.url} is no Signaller: {status} {text[:200]!r}"
            raise SignallerError("not_signaller", said, status) from None
        if problem:
            raise SignallerError(problem["code"], problem["message"], status, problem)
        return answer

    def close(self) -> None:
        while self._idle:
            self._idle.pop()[1].close()

    def _connection(self, timeout: float) -> HTTPConnection:
        while self._idle:
            since, connection = self._idle.pop()
            if connection.sock and time.monotonic() - since < IDLE_S_MAX:
                connection.sock.settimeout(timeout)
                return connection
            connection.close()
        return self._kind(self._host, self._port, timeout=timeout)
