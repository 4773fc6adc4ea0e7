"""A worker: functions that do the work of tasks, and what they are told about the task they are at."""

from __future__ import annotations

import asyncio
import inspect
import os
import random
import re
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from .crew import Call, Context, Crew, in_thread
from .transport import Http

F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["Context", "Worker"]


class Worker:
    """Does the work of tasks: `@worker.task("greet")` says how, `worker.run()` goes on until it is told to stop.

    `name` is used by no other worker; without one it is made of host, process and chance. `concurrency`: tasks at once,
    batches apart. `stop_limit`: seconds that what runs may take when the worker is to stop; then it is handed back.
    `queues`: only from these.
    """

    def __init__(
        self,
        url: str | None = None,
        token: str | None = None,
        name: str | None = None,
        concurrency: int = 10,
        *,
        queues: list[str] | None = None,
        stop_limit: float = 25.0,
    ) -> None:
        self.name = name or default_name()
        self.stop_limit = stop_limit
        self._http = Http(url, token)
        self._queues = queues or []
        self._concurrency = bounded("concurrency", concurrency)
        self._tasks: dict[str, Call] = {}
        self._batches: dict[str, tuple[int, Call]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._crews: list[Crew] = []
        self._stops = 0

    def task(self, type: str) -> Callable[[F], F]:
        """The function gets the input, and a `Context` if it takes two arguments; what it returns is the output, as JSON.
        A plain function has a thread to itself, an `async` one runs in the worker's event loop."""

        def take(function: F) -> F:
            call = calling(function)

            async def one(contexts: list[Context]) -> list[Any]:
                return [await call(contexts[0].input, contexts[0])]

            self._new(type)
            self._tasks[type] = Call(one, inspect.iscoroutinefunction(function))
            return function

        return take

    def batch(self, type: str, size: int = 32) -> Callable[[F], F]:
        """The function gets a list of inputs, as many as there are up to `size`, and a list of `Context` if it takes two
        arguments. It returns a list with an output for each, or an exception in the place of one that failed."""
        bounded("size", size)

        def take(function: F) -> F:
            call = calling(function)

            async def many(contexts: list[Context]) -> list[Any]:
                outputs = await call([context.input for context in contexts], contexts)
                if not isinstance(outputs, (list, tuple)) or len(outputs) != len(contexts):
                    raise TypeError(f"a batch of {len(contexts)} tasks of type `{type}` needs a list of as many outputs")
                return list(outputs)

            self._new(type)
            self._batches[type] = (size, Call(many, inspect.iscoroutinefunction(function)))
            return function

        return take

    def run(self) -> None:
        """Works until SIGTERM, Ctrl-C or `stop()`. Raises `SignallerError` if the server will not have this worker."""
        asyncio.run(self.serve())

    async def serve(self) -> None:
        """The same in an event loop that is there already."""
        if not self._tasks and not self._batches:
            raise ValueError("this worker has nothing to do: say how with @worker.task")
        self._loop = asyncio.get_running_loop()
        self._crews = [
            Crew(self._http, f"{self.name}/{number}", self._queues, {type: call}, 1, size)
            for number, (type, (size, call)) in enumerate(self._batches.items(), 1)
        ]
        if self._tasks:
            self._crews.insert(0, Crew(self._http, self.name, self._queues, self._tasks, self._concurrency, 1))
        handled = self._on_signals(self._loop)
        if self._stops:
            self._close()
        working = [asyncio.ensure_future(crew.work()) for crew in self._crews]
        try:
            await asyncio.wait(working, return_when=asyncio.FIRST_EXCEPTION)
            if any(work.done() and work.exception() for work in working):
                # One was refused for good: the others hand back what they hold.
                for crew in self._crews:
                    crew.close(0.0)
            await asyncio.gather(*working)
        finally:
            for work in working:
                work.cancel()
            for name in handled:
                self._loop.remove_signal_handler(name)
            self._loop, self._crews, self._stops = None, [], 0
            self._http.close()

    def stop(self) -> None:
        """Takes nothing more on and lets what runs finish; the second time, hands it back. From any thread."""
        self._stops += 1
        if loop := self._loop:
            loop.call_soon_threadsafe(self._close)

    def _close(self) -> None:
        for crew in self._crews:
            crew.close(self.stop_limit if self._stops == 1 else 0.0)

    def _new(self, type: str) -> None:
        if type in self._tasks or type in self._batches:
            raise ValueError(f"this worker has a function for type `{type}` already")

    def _on_signals(self, loop: asyncio.AbstractEventLoop) -> list[signal.Signals]:
        if threading.current_thread() is not threading.main_thread():
            return []
        handled = []
        for name in (signal.SIGTERM, signal.SIGINT):
            try:
                loop.add_signal_handler(name, self.stop)
                handled.append(name)
            except NotImplementedError:  # Not on this system: there Ctrl-C ends the worker as it ends any program.
                pass
        return handled


def calling(function: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """The function as one that may be awaited and takes a context, whether it does or not."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    wanted = sum(parameter.kind in positional for parameter in parameters)
    both = wanted > 1 or any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for parameter in parameters)

    async def call(given: Any, context: Any) -> Any:
        arguments = (given, context) if both else (given,)
        if inspect.iscoroutinefunction(function):
            return await function(*arguments)
        return await in_thread(function, *arguments)

    return call


def bounded(what: str, number: int) -> int:
    if not 1 <= number <= 1000:
        raise ValueError(f"{what} is {number}; it must lie between 1 and 1000")
    return number


def default_name() -> str:
    host = re.sub(r"[^A-Za-z0-9._-]", "", socket.gethostname())[:60] or "worker"
    return f"{host}-{os.getpid()}-{random.randrange(0x10000):04x}"
