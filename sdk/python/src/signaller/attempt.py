"""One attempt at a task: what its function is told, how it is called, and what the server is told of it."""

import asyncio
import inspect
import json
import re
import threading
import traceback
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from .api import WorkTask

OUTPUT_BYTES_MAX = 256 * 1024
LOG_LINES_MAX, LOG_LINE_LENGTH_MAX = 100, 500
RETRY_AFTER_S_MAX = 7 * 24 * 3600


as_json = json.JSONEncoder(allow_nan=False, ensure_ascii=False).encode


def text(said: Any) -> str:
    """Half a surrogate pair is none, and the server would not read the poll."""
    return str(said)[:LOG_LINE_LENGTH_MAX].encode("utf-8", "replace").decode()


class Fail(Exception):
    """Ends the task as failed; it is not tried again unless `retryable` is said."""

    def __init__(self, message: str = "", *, code: str = "failed", retryable: bool = False, after: float | None = None) -> None:
        super().__init__(message)
        self.code, self.retryable, self.after = code, retryable, after


class Retry(Fail):
    """Ends this attempt; the next one comes not before `after`, in seconds, and if attempts are left."""

    def __init__(self, message: str = "", *, after: float | None = None, code: str = "retry") -> None:
        super().__init__(message, code=code, retryable=True, after=after)


class Context(WorkTask):
    """All that the server says of the task, and whether to stop."""

    #: It was cancelled, its time is over, or its lease is lost: stop, what comes of it does not count.
    cancelled = False
    _is_awaited = False

    def __init__(self, task: dict[str, Any]) -> None:
        vars(self).update(task)
        self._lease = {"task": self.task, "fence": self.fence}
        self._far: dict[str, Any] = {}
        self._lines: deque[str] = deque(maxlen=LOG_LINES_MAX)

    def progress(self, share: float, message: str | None = None) -> None:
        """From 0 to 1, and what it is at; told with the next heartbeat or the result."""
        # In this order, what is not a number is 0.
        self._far = {"progress": min(max(0.0, float(share)), 1.0), "message": message and text(message)}

    def log(self, line: str) -> None:
        """For people: kept with the task, told with the next heartbeat or the result. At most 100 wait for it."""
        self._lines.append(text(line))


class Function:
    """What does the work of a type of task: as a batch of so many tasks in a call, or one by itself."""

    def __init__(self, call: Callable[..., Any], batch: int | None) -> None:
        self._call, self._is_batch, self.size = call, batch is not None, batch or 1
        self._is_async = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)
        kinds = [parameter.kind for parameter in inspect.signature(call).parameters.values()]
        self._arguments = min(sum(kind < inspect.Parameter.KEYWORD_ONLY for kind in kinds), 2)
        inspect.signature(call).bind(*[None] * self._arguments)  # What needs more cannot be called.

    async def perform(self, contexts: list[Context]) -> list[Any]:
        """An outcome for each: an output, or an exception."""
        inputs = [context.input for context in contexts]
        given = ((inputs, contexts) if self._is_batch else (inputs[0], contexts[0]))[: self._arguments]
        output = self._call(*given) if self._is_async else await in_thread(self._call, *given)
        if inspect.isawaitable(output):  # Also that of a plain function around a coroutine's.
            contexts[0]._is_awaited = True
            output = await output
        if not self._is_batch:
            return [output]
        if not isinstance(output, (list, tuple)) or len(output) != len(contexts):
            raise TypeError(f"a batch of {len(contexts)} tasks of type `{contexts[0].type}` needs a list of as many outputs")
        return list(output)


def result(context: Context, outcome: Any) -> str:
    """What a poll says of it, as JSON without the last brace: its log comes then. There is a result of whatever comes."""
    try:
        # Whatever one says that was to stop: nobody knows whether that is all of it.
        told = '"status": "released"' if context.cancelled else told_of(outcome)
    except Exception as error:
        why = traceback.format_exception_only(error)[-1].strip()  # Also of an error that cannot say what it is.
        told = told_of(Fail(f"its result cannot be told: {why}", code="result_refused"))
    return f"{as_json(context._lease)[:-1]}, {told}"


def told_of(outcome: Any) -> str:
    if not isinstance(outcome, BaseException):
        output = as_json(outcome)
        if len(output.encode()) <= OUTPUT_BYTES_MAX:
            return f'"status": "done", "output": {output}'
        return told_of(Fail(f"the output is larger than {OUTPUT_BYTES_MAX} bytes of JSON", code="output_too_large"))
    # An exception that is none of ours may be tried again; its class is the code.
    name = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", type(outcome).__name__).lower()
    fail = outcome if isinstance(outcome, Fail) else Fail(code=name, retryable=True)
    error = {"code": str(fail.code), "message": str(outcome)[:2000]}
    after = None if fail.after is None else round(min(max(0.0, float(fail.after)), RETRY_AFTER_S_MAX) * 1000)
    told = {"status": "failed", "error": error, "retryable": bool(fail.retryable), "retry_after_ms": after}
    # Half a surrogate pair is no text, and the server would not read the poll.
    return as_json(told).encode("utf-8", "replace").decode()[1:-1]


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
