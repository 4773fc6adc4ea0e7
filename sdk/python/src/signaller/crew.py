"""What one name of a worker holds and owes, and its talk with the server: POST /v1/work, again and again.

Every lease whose end the server has not taken is in every poll, as a result or as held: one in neither is taken back.
One poll is under way at a time. While it waits for work, results do not wait with it: they go by themselves, under a name
that holds nothing, because the fence alone decides whether they count.
"""

import asyncio
import contextlib
import logging
from typing import Any

from .attempt import Context, Fail, Function, as_json, in_thread, result
from .client import Client, SignallerError

log = logging.getLogger("signaller")

# Leases that one poll may name.
POLL_TASKS_MAX = 1000
# Results beyond this wait for the next poll, as held; log lines beyond as much do, too, and each costs something by itself.
POLL_LENGTH, LINE_COST = 1024 * 1024, 120
# How long a poll waits for work, and how long its answer is waited for.
WAIT_S, ANSWER_S_MAX = 20, 30
# A worker that is full asks so often whether something should stop; one that asked in vain rests so long.
BEAT_S, REST_S = 1.0, 0.1
# A server that cannot be reached, or cannot keep a result, is asked again after this at the latest.
AGAIN_S_MAX = 5.0
# A worker that is to stop tries so long to tell the last of its results.
FAREWELL_S = 10.0
# What is cancelled to be handed back gets so long to clean up.
GRACE_S = 2.0


class Crew:
    """`functions`: by type, one batch or any number of others. `slots`: calls at once."""

    def __init__(self, client: Client, name: str, queues: list[str], functions: dict[str, Function], slots: int) -> None:
        self._client, self._name, self._queues, self._functions, self._slots = client, name, queues, functions, slots
        self._size = max(function.size for function in functions.values())
        # What was given is held; then its result is owed until the server has taken it.
        self._held: dict[Context, None] = {}
        self._owed: dict[Context, str] = {}
        self._calls: dict[asyncio.Task[list[Any]], list[Context]] = {}
        self._wake = asyncio.Event()
        self._waits = self._in_vain = self._closing = self._is_known = False
        # Tries since the server last took all it was told, and when there was last a reason to begin trying.
        self._tried, self._tries_since = 0, 0.0

    async def work(self) -> None:
        while self._held or self._owed or not self._closing:
            if not self._owed and (self._in_vain or self._closing or len(self._calls) == self._slots):
                await self._woken(REST_S if self._in_vain else self._beat(BEAT_S))
            self._waits = False
            asking = asyncio.create_task(self._poll())
            asking.add_done_callback(lambda _: self._wake.set())
            try:
                # One that waits is overtaken when the worker is to stop: what it brings after that is not its own.
                while not asking.done() and not (self._waits and self._closing):
                    if self._waits and self._owed:
                        await self._poll(apart=True)
                    else:
                        await self._woken()
                await asyncio.wait([asking], timeout=REST_S)  # By then the server has it, and hears later that it is over.
                if asking.done():
                    asking.result()
            finally:
                asking.cancel()
        with contextlib.suppress(SignallerError):  # Who wants nothing and holds nothing takes its leave.
            await self._poll()

    def close(self, limit: float) -> None:
        """Takes nothing more on; what still runs after `limit` is handed back."""
        loop = asyncio.get_running_loop()
        self._closing, self._tries_since = True, loop.time()
        self._wake.set()
        loop.call_later(limit, lambda: self._cancel(*self._held))
        loop.call_later(limit + GRACE_S, lambda: self._owe(asyncio.CancelledError(), *self._held))

    async def _woken(self, timeout: float | None = None) -> None:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(self._wake.wait(), timeout)
        self._wake.clear()

    def _beat(self, most: float) -> float:
        """How long the server may hear nothing."""
        return min([most, *(context.heartbeat_ms / 3000 for context in [*self._held, *self._owed])])

    async def _poll(self, apart: bool = False) -> None:
        results: dict[Context, str] = {}
        said: dict[Context, list[str]] = {}
        room = max(POLL_LENGTH >> self._tried, 1)  # Less, if so much was too much.
        for context in [*self._owed, *([] if apart else self._held)]:
            said[context] = [context._lines.popleft() for _ in range(len(context._lines))] if room > 0 else []
            if room > 0 and context in self._owed:
                results[context] = self._owed[context]
            room -= len(results.get(context, "")) + sum(len(line) + LINE_COST for line in said[context])
        holding = [] if apart else [context for context in said if context not in results]
        # Who could not tell what it has done takes nothing more on until it can.
        wants = not (apart or self._closing or self._tried)
        free = (self._slots - len(self._calls)) * self._size - len(self._owed) + len(results)
        want = max(0, min(free, POLL_TASKS_MAX - len(self._held) - len(self._owed))) if wants else 0
        waits = want > 0 and not results
        self._waits = self._waits or waits
        head = {
            "worker": self._name + "/results" if apart else self._name,
            "types": [] if apart else list(self._functions),
            "queues": self._queues,
            "want": want,
            "wait_ms": WAIT_S * 1000 if waits else 0,
            "holding": [{**each._lease, **each._far, "log": said[each]} for each in holding],
        }
        told = ", ".join(f"{text}, {as_json({**each._far, 'log': said[each]})[1:]}" for each, text in results.items())
        try:
            body = f'{as_json(head)[:-1]}, "results": [{told}]}}'
            # Heartbeats wait for one that goes by itself, and a stop for all of them.
            patience = self._beat(ANSWER_S_MAX) if apart else FAREWELL_S if self._closing else ANSWER_S_MAX
            answer = await in_thread(self._client.send_once, "POST", "/v1/work", body.encode(), patience)
            if not isinstance(answer, dict) or "tasks" not in answer:
                raise SignallerError("not_signaller", f"the server at {self._client.url} is no Signaller: {answer!r:.200}", 200)
            self._is_known = True
        except (SignallerError, RuntimeError) as error:  # The latter, if no thread is to be had.
            for context, lines in said.items():
                context._lines.extendleft(reversed(lines))
            await self._rest(error if isinstance(error, SignallerError) else SignallerError("unreachable", str(error), 0))
            return
        unkept = None
        for context, taken in zip(results, answer["results"], strict=True):
            text, code = self._owed.pop(context), taken.get("code")
            if code == "unavailable":
                self._owed[context] = text  # It is told again, after the others.
                unkept = SignallerError(code, f"a result cannot be kept now: {taken['message']}", 503)
            elif not taken["ok"]:
                log.warning("the result of %s was not taken: %s", context.task, taken["message"])
            if code == "invalid":
                self._owe(Fail(taken["message"], code="result_refused"), context)
        for context, held in zip(holding, answer["holding"], strict=True):
            if held["cancel"] and context in self._held:  # Its result may have been taken meanwhile.
                self._cancel(context)
            if not held["ok"]:
                self._held.pop(context, None)
        # What comes when the worker is to stop is not named by the next poll, and so goes back.
        contexts = [] if self._closing else [Context(task) for task in answer["tasks"]]
        for first in range(0, len(contexts), self._size):
            self._start(contexts[first : first + self._size])
        self._in_vain = waits and not contexts
        if unkept:
            await self._rest(unkept)
        else:
            self._tried = 0

    async def _rest(self, error: SignallerError) -> None:
        """Until the next try, if there is one."""
        self._tried += 1
        waited = asyncio.get_running_loop().time() - self._tries_since
        # What has been one is no Signaller for a while, if somebody between them answers instead.
        may_pass = error.retryable or (self._is_known and error.code == "not_signaller")
        if not may_pass or (self._closing and not self._held and waited > FAREWELL_S):
            raise error
        if self._tried == 1:
            log.warning("%s; trying again", error)
        await asyncio.sleep(error.wait(self._tried, self._beat(AGAIN_S_MAX)))

    # ---- Attempts -----------------------------------------------------------------------------------------------

    def _start(self, contexts: list[Context]) -> None:
        self._held.update(dict.fromkeys(contexts))
        call = asyncio.create_task(self._functions[contexts[0].type].perform(contexts))
        self._calls[call] = contexts
        call.add_done_callback(self._ended)

    def _ended(self, call: asyncio.Task[list[Any]]) -> None:
        contexts = self._calls.pop(call)
        error = asyncio.CancelledError() if call.cancelled() else call.exception()
        for context, outcome in zip(contexts, call.result() if error is None else [error] * len(contexts), strict=True):
            if context in self._held:
                self._owe(outcome, context)
        self._wake.set()

    def _cancel(self, *contexts: Context) -> None:
        for context in contexts:
            if not context.cancelled:
                log.info("%s is told to stop", context.task)
                context.cancelled = True
        for call, given in self._calls.items():
            # One of a batch is not ended while others of it are wanted; a thread cannot be ended.
            if given[0]._is_awaited and all(each.cancelled for each in given):
                given[0]._is_awaited = False  # Once.
                call.cancel()

    def _owe(self, outcome: Any, *contexts: Context) -> None:
        for context in contexts:
            self._held.pop(context, None)
            self._owed[context] = result(context, outcome)
            if isinstance(outcome, Exception) and not isinstance(outcome, Fail):
                log.warning("%s of type %s failed", context.task, context.type, exc_info=outcome)
        self._tries_since = asyncio.get_running_loop().time()
        self._wake.set()
