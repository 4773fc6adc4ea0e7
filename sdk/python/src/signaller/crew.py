"""What one name of a worker holds and owes, and its talk with the server: POST /v1/work, again and again.

Every lease whose end the server has not taken is in every poll, as a result or as held: one in neither is taken back.
One poll is under way at a time. While it waits, results do not wait with it: they go by themselves, under a name that holds
nothing, because the fence alone decides whether they count. A poll that asks for nothing only listens, for word that
something should stop. It can be given no task, so the next poll may overtake it.
"""

from __future__ import annotations

import asyncio
import contextvars
import json
import logging
import random
import threading
from collections.abc import Callable, Coroutine, Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from .errors import Fail, SignallerError, told
from .transport import Http

T = TypeVar("T")
log = logging.getLogger("signaller")

PAYLOAD_BYTES_MAX = 256 * 1024
POLL_TASKS_MAX = 1000
# Results beyond this wait for the next poll, as held.
POLL_RESULTS_BYTES = 512 * 1024
WAIT_S = 20.0
# Beyond the wait it asked for, a poll is given up after so long.
ANSWER_S_MAX = 10.0
# What takes less is over before there is anything to hear of it.
LISTEN_AFTER_S = 0.5
# A poll has reached the server after so long. One that came there later would not name what the next was given.
SETTLED_S = 0.2
RETRY_S_FIRST, RETRY_S_MAX = 0.1, 5.0
# A worker that is to stop waits so long for a server that went away.
FAREWELL_S = 10.0
# What is cancelled to be handed back gets so long to clean up.
GRACE_S = 2.0


class Context:
    """One attempt at a task: what it is, and whether it should stop."""

    def __init__(self, task: dict[str, Any]) -> None:
        self.task: str = task["task"]
        self.type: str = task["type"]
        self.queue: str = task["queue"]
        self.input: Any = task["input"]
        #: From 1.
        self.attempt: int = task["attempt"]
        #: The same over all attempts.
        self.idempotency_key: str = task["idempotency_key"]
        #: Proves the lease; with it a worker may patch its own run.
        self.fence: str = task["fence"]
        #: Seconds that this attempt may take.
        self.budget: float = task["budget_ms"] / 1000
        #: The run and the node it is the work of, if it is.
        self.run: str | None = task.get("run")
        self.node: str | None = task.get("node")
        #: The event it was made of, if it was.
        self.trigger: dict[str, Any] | None = task.get("trigger")
        self._cancelled = threading.Event()
        self._progress: float | None = None

    @property
    def cancelled(self) -> bool:
        """It was cancelled, its time is over, or its lease is lost: stop, what comes of it does not count."""
        return self._cancelled.is_set()

    def progress(self, share: float) -> None:
        """From 0 to 1, told with the next heartbeat."""
        self._progress = min(max(float(share), 0.0), 1.0)


class Call(NamedTuple):
    function: Callable[[list[Context]], Coroutine[Any, Any, list[Any]]]
    is_async: bool


@dataclass(eq=False)
class Lease:
    key: tuple[str, str]
    context: Context
    heartbeat_s: float
    # Why its function ends, if not by itself: `stopped` or `released`.
    fate: str = ""
    # As JSON, once there is one, and its status.
    result: str = ""
    status: str = ""
    telling: bool = False
    # The server no longer knows it, while its result is on the way: that has come, or does not count.
    gone: bool = False


@dataclass(eq=False)
class Attempt:
    leases: list[Lease]
    # Of a coroutine alone: a thread cannot be ended.
    ends: Callable[[], object] | None = None


@dataclass(eq=False)
class Poll:
    sent: float
    want: int
    wait: float
    results: list[Lease]
    holding: list[Lease]


class Crew:
    def __init__(self, http: Http, name: str, queues: list[str], calls: dict[str, Call], slots: int, size: int) -> None:
        self._http, self._name, self._queues = http, name, queues
        self._calls, self._slots, self._size = calls, slots, size
        self._leases: dict[tuple[str, str], Lease] = {}
        self._attempts: set[Attempt] = set()
        self._asking: Poll | None = None
        self._telling: Poll | None = None
        self._loop = asyncio.get_running_loop()
        self._wake = asyncio.Event()
        self._closing = self._left = self._away = False
        self._ask_at = self._retry_at = self._heard = self._give_up_at = 0.0
        self._retry_s = RETRY_S_FIRST
        self._fatal: BaseException | None = None

    async def work(self) -> None:
        while not self._fatal:
            now = self._loop.time()
            if self._closing and not self._leases and (self._left or now >= self._give_up_at):
                return
            self._wake.clear()
            due = max(self._retry_at, self._step(now)) if now >= self._retry_at else self._retry_at
            alarm = self._loop.call_at(due, self._wake.set)
            await self._wake.wait()
            alarm.cancel()
        raise self._fatal

    def close(self, limit: float) -> None:
        """Takes nothing more on; what still runs after `limit` is handed back."""
        self._closing = True
        self._give_up_at = self._loop.time() + FAREWELL_S
        self._loop.call_later(limit, self._hand_back)
        self._wake.set()

    def _hand_back(self) -> None:
        for attempt in self._attempts:
            for lease in attempt.leases:
                lease.fate = lease.fate or "released"
                lease.context._cancelled.set()
            if attempt.ends:
                attempt.ends()
        # Its task goes back while a thread is still at it; a coroutine may clean up first.
        grace = GRACE_S if any(attempt.ends for attempt in self._attempts) else 0.0
        self._loop.call_later(grace, self._release, self._leases.values())

    def _release(self, leases: Iterable[Lease]) -> None:
        for lease in leases:
            if not lease.result:
                log.warning("%s is handed back", lease.context.task)
                self._owe(lease, {"status": "released"})

    # ---- Polls --------------------------------------------------------------------------------------------------

    def _step(self, now: float) -> float:
        """Sends what is due, and says when to look again if nothing happens before."""
        owes = any(lease.result and not lease.telling for lease in self._leases.values())
        free = min((self._slots - len(self._attempts)) * self._size, POLL_TASKS_MAX - len(self._leases))
        free = 0 if self._closing else max(free, 0)
        beat = min((lease.heartbeat_s for lease in self._leases.values()), default=3 * WAIT_S) / 3
        listen_at = self._heard + min(LISTEN_AFTER_S, beat)
        asking, never = self._asking, now + WAIT_S
        if asking is None:
            if owes or (self._closing and not self._leases):
                self._poll(now, free, 0.0)
            elif free and now >= self._ask_at:
                self._poll(now, free, min(WAIT_S, beat))
            elif self._leases and now >= listen_at:
                self._poll(now, 0, min(WAIT_S, beat))
            else:
                return min(listen_at if self._leases else never, self._ask_at if free else never)
        elif asking.wait:
            settled, only_listens = asking.sent + SETTLED_S, asking.want == 0
            over = self._closing and (asking.want > 0 or not self._leases)
            if over or (only_listens and (owes or free) and now >= settled):
                self._poll(now, free, 0.0)  # What the other one brings is no longer ours.
            elif owes and not self._telling:
                self._telling = self._send(Poll(now, 0, 0.0, self._results(), []), self._name + "/results")
            return settled if only_listens and free and now < settled else never
        return never

    def _poll(self, now: float, want: int, wait: float) -> None:
        results = self._results()
        chosen = set(results)
        holding = [lease for lease in self._leases.values() if lease not in chosen and not lease.gone]
        self._asking = self._send(Poll(now, want, wait, results, holding), self._name)

    def _results(self) -> list[Lease]:
        chosen: list[Lease] = []
        size = 0
        for lease in self._leases.values():
            size += 0 if lease.telling else len(lease.result)
            if lease.result and not lease.telling and (not chosen or size <= POLL_RESULTS_BYTES):
                lease.telling = True
                chosen.append(lease)
        return chosen

    def _send(self, poll: Poll, name: str) -> Poll:
        held = [{"task": lease.key[0], "fence": lease.key[1], "progress": lease.context._progress} for lease in poll.holding]
        head = {"worker": name, "types": list(self._calls), "queues": self._queues, "want": poll.want, "holding": held}
        head["wait_ms"] = int(poll.wait * 1000)
        body = json.dumps(head)[:-1] + ', "results": [' + ", ".join(lease.result for lease in poll.results) + "]}"
        sent = in_thread(self._http.send, "POST", "/v1/work", body.encode(), poll.wait + ANSWER_S_MAX)
        sent.add_done_callback(lambda answer: self._answered(poll, answer))
        return poll

    def _answered(self, poll: Poll, sent: asyncio.Future[Any]) -> None:
        self._wake.set()
        # What it told is told again unless it was taken.
        for lease in poll.results:
            lease.telling = False
        current = poll in (self._asking, self._telling)
        told_apart = poll is self._telling
        self._asking = None if poll is self._asking else self._asking
        self._telling = None if told_apart else self._telling
        error = sent.exception()
        if not current:
            return
        if error is None:
            self._left = poll.want == 0 and not poll.holding and not told_apart
            try:
                self._hear(poll, sent.result())
            except (KeyError, TypeError, ValueError) as unread:
                self._fatal = SignallerError("not_signaller", f"this is no answer to a worker: {unread!r}", 200)
        elif isinstance(error, SignallerError) and error.retryable:
            self._unheard(error)
        else:
            self._fatal = error

    def _unheard(self, error: SignallerError) -> None:
        now = self._loop.time()
        if self._closing and now >= self._give_up_at and not self._attempts:
            log.error("%s; what this worker still held goes to another when its lease lapses", error)
            self._leases.clear()
        else:
            if not self._away:
                log.warning("%s; trying again", error)
            self._away = True
            self._retry_at = now + max(self._retry_s * random.uniform(0.5, 1.0), (error.retry_after_ms or 0) / 1000)
            self._retry_s = min(self._retry_s * 2, RETRY_S_MAX)

    def _hear(self, poll: Poll, answer: dict[str, Any]) -> None:
        now = self._loop.time()
        if self._away:
            log.warning("the server answers again")
        self._away, self._retry_s = False, RETRY_S_FIRST
        self._heard = now
        for lease, taken in zip(poll.results, answer["results"], strict=True):
            self._taken(lease, taken)
        for lease, held in zip(poll.holding, answer["holding"], strict=True):
            if lease.result:
                lease.gone = not held["ok"]
            elif lease.key in self._leases:
                self._held(lease, held)
        leases = [self._lease(task) for task in answer["tasks"]]
        if answer["stopping"]:
            self._ask_at = now + random.uniform(0.5, 1.0)
        elif not leases and now < poll.sent + poll.wait / 2 and all(held["ok"] for held in answer["holding"]):
            self._ask_at = now + random.uniform(0.05, 0.1)  # It was answered at once, with nothing.
        if self._closing:
            self._release(leases)
        elif leases and self._size > 1:
            self._start(leases)
        else:
            for lease in leases:
                self._start([lease])

    def _taken(self, lease: Lease, taken: dict[str, Any]) -> None:
        if lease.key not in self._leases:
            return
        if taken["ok"] or taken["code"] == "lease_lost" or lease.status != "done":
            del self._leases[lease.key]
            if not taken["ok"]:
                log.warning("the result of %s was not taken: %s", lease.context.task, taken["message"])
        else:
            self._owe(lease, told(Fail(taken["message"], code="result_refused")))

    def _held(self, lease: Lease, held: dict[str, Any]) -> None:
        if not held["ok"]:
            log.warning("%s is stopped: its lease is lost", lease.context.task)
            del self._leases[lease.key]
        elif held["cancel"]:
            lease.fate = lease.fate or "stopped"
        else:
            lease.heartbeat_s = held["heartbeat_ms"] / 1000
            return
        if lease.context.cancelled:
            return
        lease.context._cancelled.set()
        # One of a batch is not ended while others of it are wanted.
        for attempt in self._attempts:
            if attempt.ends and lease in attempt.leases and all(each.context.cancelled for each in attempt.leases):
                attempt.ends()

    # ---- Attempts -----------------------------------------------------------------------------------------------

    def _lease(self, task: dict[str, Any]) -> Lease:
        lease = Lease((task["task"], task["fence"]), Context(task), task["heartbeat_ms"] / 1000)
        self._leases[lease.key] = lease
        return lease

    def _start(self, leases: list[Lease]) -> None:
        call = self._calls[leases[0].context.type]
        running = asyncio.ensure_future(call.function([lease.context for lease in leases]))
        attempt = Attempt(leases, running.cancel if call.is_async else None)
        self._attempts.add(attempt)
        running.add_done_callback(lambda ended: self._ended(attempt, ended))

    def _ended(self, attempt: Attempt, ended: asyncio.Future[list[Any]]) -> None:
        self._wake.set()
        self._attempts.discard(attempt)
        self._give_up_at = self._loop.time() + FAREWELL_S
        error = Fail("it was cancelled", code="cancelled", retryable=True) if ended.cancelled() else ended.exception()
        outcomes = [error] * len(attempt.leases) if error else ended.result()
        for lease, outcome in zip(attempt.leases, outcomes, strict=True):
            if lease.key in self._leases and not lease.result:
                self._owe(lease, self._result(lease, outcome))

    def _result(self, lease: Lease, outcome: Any) -> dict[str, Any]:
        if not isinstance(outcome, BaseException):
            return {"status": "done", "output": outcome}
        if lease.fate == "released":
            return {"status": "released"}
        if lease.fate == "stopped":
            return told(Fail("the worker ended it on request", code="stopped"))
        if not isinstance(outcome, Fail):
            log.warning("%s of type %s failed", lease.context.task, lease.context.type, exc_info=outcome)
        return told(outcome)

    def _owe(self, lease: Lease, result: dict[str, Any]) -> None:
        output = ""
        if result["status"] == "done":
            try:
                output = json.dumps(result.pop("output"), allow_nan=False, ensure_ascii=False)
                if len(output.encode()) > PAYLOAD_BYTES_MAX:
                    large = f"the output is larger than {PAYLOAD_BYTES_MAX} bytes of JSON"
                    output, result = "", told(Fail(large, code="output_too_large"))
            except (TypeError, ValueError, RecursionError) as error:
                output, result = "", told(Fail(f"the output is no JSON: {error}", code="output_not_json"))
        text = json.dumps({"task": lease.key[0], "fence": lease.key[1], **result})
        lease.result = f'{text[:-1]}, "output": {output}}}' if output else text
        lease.status = result["status"]
        self._wake.set()


def in_thread(function: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
    """The call in a thread of its own, which does not keep the process from ending."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def call() -> None:
        try:
            value = context.run(function, *arguments)
            settle: Callable[[], None] = lambda: future.set_result(value)  # noqa: E731
        except BaseException as raised:
            # A future takes no StopIteration, and what ends a program ends only this attempt.
            takes = isinstance(raised, Exception) and not isinstance(raised, StopIteration)
            error = raised if takes else RuntimeError(repr(raised))
            settle = lambda: future.set_exception(error)  # noqa: E731
        if not loop.is_closed():
            loop.call_soon_threadsafe(lambda: None if future.done() else settle())

    threading.Thread(target=call, daemon=True).start()
    return future
