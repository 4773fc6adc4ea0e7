"""What can go wrong: a "no" of the server, and what a task says of itself."""

from __future__ import annotations

import re
from datetime import timedelta
from typing import Any


class SignallerError(Exception):
    """The server's answer was a no, or there was none (then `status` is 0 and `code` is `unreachable`)."""

    def __init__(self, code: str, message: str, status: int, problem: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        #: The whole body of the problem: `fix`, `problems`, `next_actions` and more.
        self.problem = problem or {}
        self.fix: str = self.problem.get("fix", "")
        #: Whether the same request may succeed later.
        self.retryable: bool = self.problem.get("retryable", status == 0 or status >= 500)
        self.retry_after_ms: int | None = self.problem.get("retry_after_ms")

    def __str__(self) -> str:
        return f"{self.message} ({self.code})" + (f"; {self.fix}" if self.fix else "")


class Fail(Exception):
    """Ends the task as failed; it is not tried again unless `retryable` is said."""

    def __init__(self, message: str = "", *, code: str = "failed", retryable: bool = False) -> None:
        super().__init__(message)
        self.code = code
        self.retryable = retryable
        self.after: float | timedelta | None = None


class Retry(Fail):
    """Ends this attempt; the next one comes not before `after`, in seconds, and if attempts are left."""

    def __init__(self, message: str = "", *, after: float | timedelta | None = None, code: str = "retry") -> None:
        super().__init__(message, code=code, retryable=True)
        self.after = after


def told(error: BaseException) -> dict[str, Any]:
    """The result that says it. An exception that is none of ours may be tried again; its class is the code."""
    if isinstance(error, Fail):
        code, retryable, after = error.code, error.retryable, error.after
    else:
        code, retryable, after = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(error).__name__).lower(), True, None
    seconds = after.total_seconds() if isinstance(after, timedelta) else after
    # Half a surrogate pair is no text, and the server would not read the poll.
    words = {"code": code[:64], "message": str(error)[:2000]}
    readable = {name: word.encode("utf-8", "replace").decode() for name, word in words.items()}
    result: dict[str, Any] = {"status": "failed", "error": readable, "retryable": retryable}
    if seconds is not None:
        result["retry_after_ms"] = min(max(0, round(seconds * 1000)), 7 * 24 * 3_600_000)
    return result
