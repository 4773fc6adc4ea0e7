"""One request, one answer: JSON over connections that are kept open. Nothing is tried twice here."""

from __future__ import annotations

import http.client
import json
import os
import time
from typing import Any
from urllib.parse import urlsplit

from .errors import SignallerError

# The server closes a connection that says nothing for 15 s; one about to be closed is not used.
IDLE_S_MAX = 8.0


class Http:
    """Safe to use from several threads: each request has a connection to itself."""

    def __init__(self, url: str | None, token: str | None) -> None:
        self.url = (url or os.environ.get("SIGNALLER_URL") or "http://127.0.0.1:7400").rstrip("/")
        self.token = token if token is not None else os.environ.get("SIGNALLER_TOKEN")
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"`{self.url}` is no address of a server: write it as http://127.0.0.1:7400")
        self._kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._host, self._port, self._base = parts.hostname, parts.port, parts.path
        self._closed = False
        self._idle: list[tuple[float, http.client.HTTPConnection]] = []

    def send(self, method: str, path: str, body: bytes | None = None, timeout: float = 30.0) -> Any:
        """The answer's JSON. Raises `SignallerError`, also when the server cannot be reached."""
        headers = {"accept": "application/json"}
        if body is not None:
            headers["content-type"] = "application/json"
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        connection = self._connection(timeout)
        try:
            connection.request(method, self._base + path, body, headers)
            response = connection.getresponse()
            status, text = response.status, response.read()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            what = str(error) or type(error).__name__
            raise SignallerError("unreachable", f"the server at {self.url} did not answer: {what}", 0) from error
        if response.will_close or self._closed:
            connection.close()
        else:
            self._idle.append((time.monotonic(), connection))
        return _read(status, text)

    def close(self) -> None:
        """Closes the connections, those in use when they are answered."""
        self._closed = True
        while self._idle:
            self._idle.pop()[1].close()

    def _connection(self, timeout: float) -> http.client.HTTPConnection:
        while self._idle:
            try:
                since, connection = self._idle.pop()
            except IndexError:
                break
            if time.monotonic() - since < IDLE_S_MAX and connection.sock is not None:
                connection.sock.settimeout(timeout)
                return connection
            connection.close()
        return self._kind(self._host, self._port, timeout=timeout)


def _read(status: int, text: bytes) -> Any:
    try:
        answer = json.loads(text)
    except ValueError:
        shown = text[:200].decode("utf-8", "replace")
        raise SignallerError("not_json", f"the answer is no JSON: {shown}", status) from None
    if status < 400:
        return answer
    problem = answer.get("error") if isinstance(answer, dict) else None
    if not isinstance(problem, dict):
        raise SignallerError("not_signaller", f"the answer is {status}, and not of a Signaller server", status)
    raise SignallerError(problem.get("code", ""), problem.get("message", ""), status, problem)
