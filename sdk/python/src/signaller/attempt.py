"""One attempt at a task: what its function is told, how it is called, and what the server is told of it."""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

OUTPUT_BYTES_MAX = 256 * 1024
LOG_LINES_MAX, LOG_LINE_LENGTH_MAX = 100, 500
RETRY_AFTER_S_MAX = 7 * 24 * 3600


class Fail(Exception):
    """Ends the task as failed; it is not tried again unless `retryable` is said."""

    def __init__(self, message: str = "", *, code: str = "failed", retryable: bool = False) -> None:
        super().__init__(message)
        self.code, self.retryable = code, retryable
        self.after: float | None = None


class Retry(Fail):
    """Ends this attempt; the next one comes not before `after`, in seconds, and if attempts are left."""

    def __init__(self, message: str = "", *, after: float | None = None, code: str = "retry") -> None:
        super().__init__(message, code=code, retryable=True)
        self.after = after


class Context:
    """All that the server says of the task, and whether to stop."""

    task: str
    type: str
    queue: str
    input: Any
    attempt: int  #: From 1.
    idempotency_key: str  #: The same over all attempts.
    fence: str  #: Proves the lease; with it a worker may patch its own run.
    budget_ms: int  #: How long this attempt may take.
    heartbeat_ms: int
    run: str | None = None  #: The run and the node it is the work of, if it is.
    node: str | None = None
    trigger: dict[str, Any] | None = None  #: The event it was made of, if it was.

    def __init__(self, task: dict[str, Any]) -> None:
        vars(self).update(task)
        self._lines: deque[str] = deque(maxlen=LOG_LINES_MAX)
        self._unheard: list[str] = []
        self._cancelled = threading.Event()
        self._is_awaited = False
        self._progress: float | None = None

    @property
    def cancelled(self) -> bool:
        """It was cancelled, its time is over, or its lease is lost: stop, what comes of it does not count."""
        return self._cancelled.is_set()

    def progress(self, share: float) -> None:
        """From 0 to 1, told with the next heartbeat."""
        self._progress = min(max(0.0, float(share)), 1.0)  # In this order, what is not a number is 0.

    def log(self, line: str) -> None:
        """For people: kept with the task, told with the next heartbeat or the result. Of too many by then, the last are."""
        self._lines.append(str(line)[:LOG_LINE_LENGTH_MAX].encode("utf-8", "replace").decode())

    def _said(self) -> list[str]:
        """What the server has not been told, or has not heard."""
        said = [self._lines.popleft() for _ in range(len(self._lines))]
        lines, self._unheard = [*self._unheard, *said][-LOG_LINES_MAX:], []
        return lines


class Function:
    """What does the work of a type of task: as a batch of so many tasks in a call, or one by itself."""

    def __init__(self, call: Callable[..., Any], batch: int | None) -> None:
        self._call, self.is_batch, self.size = call, batch is not None, batch or 1
        self.is_async = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)
        kinds = [parameter.kind for parameter in inspect.signature(call).parameters.values()]
        self._arguments = sum(kind < inspect.Parameter.KEYWORD_ONLY for kind in kinds)

    async def perform(self, contexts: list[Context]) -> list[Any]:
        """An outcome for each: an output, or an exception."""
        inputs = [context.input for context in contexts]
        given: list[Any] = [inputs, contexts] if self.is_batch else [inputs[0], contexts[0]]
        arguments = given[: self._arguments]
        output = self._call(*arguments) if self.is_async else await in_thread(self._call, *arguments)
        if inspect.isawaitable(output):  # Also that of a plain function around a coroutine's.
            for context in contexts:
                context._is_awaited = True
            output = await output
        if not self.is_batch:
            return [output]
        if not isinstance(output, (list, tuple)) or len(output) != len(contexts):
            raise TypeError(f"a batch of {len(contexts)} tasks of type `{contexts[0].type}` needs a list of as many outputs")
        return list(output)


def result(context: Context, outcome: Any) -> str:
    """What a poll says of it, as JSON without the last brace: its log comes then. There is a result of whatever comes."""
    try:
        told = told_of(outcome, context.cancelled)
    except Exception as error:
        told = told_of(Fail(f"its end cannot be told: {type(error).__name__}", code="result_refused"), False)
    return f"{json.dumps({'task': context.task, 'fence': context.fence})[:-1]}, {told}"


def told_of(outcome: Any, is_cancelled: bool) -> str:
    """An exception that is none of ours may be tried again; its class is the code."""
    if not isinstance(outcome, BaseException):
        try:
            output = json.dumps(outcome, allow_nan=False, ensure_ascii=False)
            if len(output.encode()) <= OUTPUT_BYTES_MAX:
                return f'"status": "done", "output": {output}'
            outcome = Fail(f"the output is larger than {OUTPUT_BYTES_MAX} bytes of JSON", code="output_too_large")
        except Exception as error:
            outcome = Fail(f"the output is no JSON: {error}", code="output_not_json")
    elif is_cancelled:
        return '"status": "released"'
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(outcome).__name__).lower()
    fail = outcome if isinstance(outcome, Fail) else Fail(code=name, retryable=True)
    told: dict[str, Any] = {"status": "failed", "retryable": bool(fail.retryable)}
    told["error"] = {"code": str(fail.code), "message": str(outcome)[:2000]}
    if fail.after is not None:
        told["retry_after_ms"] = round(min(max(0.0, float(fail.after)), RETRY_AFTER_S_MAX) * 1000)
    # Half a surrogate pair is no text, and the server would not read the poll.
    return json.dumps(told, ensure_ascii=False).encode("utf-8", "replace").decode()[1:-1]


def in_thread(function: Callable[..., Any], *arguments: Any) -> asyncio.Future[Any]:
    """The call in a thread of its own, which does not keep the process from ending."""
    future: Future[Any] = Future()
    future.set_running_or_notify_cancel()

    def call() -> None:
        try:
            future.set_result(function(*arguments))
        except BaseException as error:
            # No coroutine can raise StopIteration, and what ends a program ends only this attempt.
            fits = isinstance(error, Exception) and not isinstance(error, StopIteration)
            future.set_exception(error if fits else RuntimeError(repr(error)))

    threading.Thread(target=call, daemon=True).start()
    return asyncio.wrap_future(future)
