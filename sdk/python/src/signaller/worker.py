"""A worker: functions that do the work of tasks, and when to begin and to end."""

import asyncio
import os
import random
import re
import signal
import socket
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from .attempt import Function
from .client import Client
from .crew import Crew

F = TypeVar("F", bound=Callable[..., Any])
# The server's bound is 128, and `/12/results` may be added.
NAME_BYTES_MAX = 110


class Worker:
    """Does the work of tasks: `@worker.task("greet")` says how, `worker.run()` goes on until it is told to stop.

    `name` is used by no other worker; without one it is made of host, process and chance. `concurrency`: tasks at once,
    batches apart. `stop_limit`: seconds that what runs may take when the worker is to stop; then it is handed back.
    `queues`: only from these. `signals`: whether SIGTERM and Ctrl-C stop it, where it runs in the main thread.
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
        signals: bool = True,
    ) -> None:
        host = re.sub(r"[^A-Za-z0-9._-]", "", socket.gethostname())[:60] or "worker"
        self.name = name or f"{host}-{os.getpid()}-{random.randrange(0x10000):04x}"
        if len(self.name.encode()) > NAME_BYTES_MAX:
            raise ValueError(f"name `{self.name}` is longer than {NAME_BYTES_MAX} bytes")
        self.stop_limit = float(stop_limit)
        self._signals = (signal.SIGTERM, signal.SIGINT) if signals else ()
        self._client = Client(url, token)
        self._queues = queues or []
        self._concurrency = bounded("concurrency", concurrency)
        # By the name they are asked for under: batches have one each.
        self._functions: dict[str, dict[str, Function]] = {}
        self._crews: list[Crew] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stops = 0

    def task(self, type: str) -> Callable[[F], F]:
        """The function gets the input, and a `Context` if it takes two arguments; what it returns is the output, as JSON.
        A plain function has a thread to itself, an `async` one runs in the worker's event loop."""
        return self._taking(type, None)

    def batch(self, type: str, size: int = 32) -> Callable[[F], F]:
        """The function gets a list of inputs, as many as there are up to `size`, and a list of `Context` if it takes two
        arguments. It returns a list with an output for each, or an exception in the place of one that failed."""
        return self._taking(type, bounded("size", size))

    def run(self) -> None:
        """Works until SIGTERM, Ctrl-C or `stop()`. Raises `SignallerError` if the server will not have this worker."""
        asyncio.run(self.serve())

    async def serve(self) -> None:
        """The same in an event loop that is there already. Cancelled, it first hands back what it holds."""
        if not self._functions:
            raise ValueError("this worker has nothing to do: say how with @worker.task")
        self._loop = asyncio.get_running_loop()
        self._crews = [
            Crew(self._client, name, self._queues, functions, self._concurrency if name == self.name else 1)
            for name, functions in self._functions.items()
        ]
        is_main = threading.current_thread() is threading.main_thread()
        before = {name: signal.signal(name, lambda *_: self.stop()) for name in self._signals if is_main}
        working = [asyncio.create_task(crew.work()) for crew in self._crews]
        try:
            if self._stops:
                self._close(self.stop_limit)
            try:
                await asyncio.shield(asyncio.gather(*working))
            finally:
                self._close(0.0)  # If one was refused for good, the others hand back what they hold.
                await asyncio.wait(working)
        finally:
            for name, handler in before.items():
                signal.signal(name, handler or signal.SIG_DFL)
            self._loop, self._crews, self._stops = None, [], 0
            self._client.close()

    def stop(self) -> None:
        """Takes nothing more on and lets what runs finish; the second time, hands it back. From any thread."""
        self._stops += 1
        if loop := self._loop:
            loop.call_soon_threadsafe(self._close, self.stop_limit if self._stops == 1 else 0.0)

    def _close(self, limit: float) -> None:
        for crew in self._crews:
            crew.close(limit)

    def _taking(self, type: str, batch: int | None) -> Callable[[F], F]:
        if not isinstance(type, str):
            raise TypeError('say which type of task: @worker.task("greet")')

        def take(function: F) -> F:
            if any(type in functions for functions in self._functions.values()):
                raise ValueError(f"this worker has a function for type `{type}` already")
            name = f"{self.name}/{len(self._functions) + 1}" if batch else self.name
            self._functions.setdefault(name, {})[type] = Function(function, batch)
            return function

        return take


def bounded(what: str, number: int) -> int:
    if not (isinstance(number, int) and 1 <= number <= 1000):
        raise ValueError(f"{what} is {number!r}; it must be a whole number between 1 and 1000")
    return number
