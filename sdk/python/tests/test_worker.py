"""What workers do, against a real server."""

from __future__ import annotations

import asyncio
import collections
import threading
import time
from collections.abc import Awaitable
from typing import Any

from signaller import Context, Fail, Retry, SignallerError, Worker

from .house import LONG_S, House

ONCE_MORE = {"attempts": 2, "backoff_ms": 0, "jitter_percent": 0}
RICH = {"text": 'Grüße, 世界 🚂 \u0000 " \\ \u2028', "n": [1.5, -3, True, None, 2**53]}


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("nothing to say")


class Falsy(Exception):
    def __len__(self) -> int:
        return 0


RUNS: collections.Counter[str] = collections.Counter()


def behave(input: Any, context: Context) -> Any:
    """One function for the table below: it does what its input says."""
    RUNS[context.task] += 1
    match input:
        case {"return": output}:
            return output
        case {"large": size}:
            return "x" * size
        case {"deep": levels}:
            value: Any = 0
            for _ in range(levels):
                value = [value]
            return value
        case {"strange": what}:
            return {"nan": float("nan"), "object": object(), "half": "\ud800", "key": {(1, 2): 3}}[what]
        case {"raise": what}:
            kinds = {"value": ValueError, "stop": StopIteration, "exit": SystemExit, "half": RuntimeError, "mute": Mute}
            raise kinds.get(what, Falsy)("no \ud800")
        case {"fail": code}:
            raise Fail("for good", code=code)
        case {"again": code}:
            raise Fail("maybe", code=code, retryable=True)
        case {"retry": after}:
            if context.attempt == 1:
                raise Retry("not yet", after=after)
            return context.attempt
        case {"show": field}:
            return getattr(context, field)
    raise AssertionError(input)


async def behave_async(input: Any, context: Context) -> Any:
    await asyncio.sleep(0)
    return behave(input, context)


class Behaving:
    async def __call__(self, input: Any, context: Context) -> Any:
        return await behave_async(input, context)


TABLE: list[tuple[Any, str, Any, int]] = [
    ({"return": None}, "done", None, 1),
    ({"return": RICH}, "done", RICH, 1),
    ({"large": 200_000}, "done", "x" * 200_000, 1),
    ({"large": 256 * 1024 - 1}, "failed", "output_too_large", 1),
    ({"deep": 200}, "failed", "result_refused", 1),
    ({"deep": 100_000}, "failed", "result_refused", 1),
    ({"strange": "nan"}, "failed", "result_refused", 1),
    ({"strange": "object"}, "failed", "result_refused", 1),
    ({"strange": "half"}, "failed", "result_refused", 1),
    ({"strange": "key"}, "failed", "result_refused", 1),
    ({"raise": "value"}, "failed", "value_error", 2),
    ({"raise": "falsy"}, "failed", "falsy", 2),
    ({"raise": "half"}, "failed", "runtime_error", 2),
    ({"raise": "mute"}, "failed", "result_refused", 1),
    ({"fail": "no_such_order"}, "failed", "no_such_order", 1),
    ({"fail": 404}, "failed", "404", 1),
    ({"again": "http_503"}, "failed", "http_503", 2),
    ({"retry": 0.05}, "done", 2, 2),
    ({"retry": "0.05"}, "done", 2, 2),
    ({"retry": "nan"}, "done", 2, 2),
    ({"retry": "soon"}, "failed", "result_refused", 1),
    ({"show": "attempt"}, "done", 1, 1),
    ({"show": "queue"}, "done", "QUEUE", 1),
    ({"show": "run"}, "done", None, 1),
    ({"show": "cancelled"}, "done", False, 1),
]
# A coroutine cannot raise these: the one ends the program, as everywhere in asyncio, the other is an error by itself.
PLAIN_ONLY: list[tuple[Any, str, Any, int]] = [
    ({"raise": "stop"}, "failed", "runtime_error", 2),
    ({"raise": "exit"}, "failed", "runtime_error", 2),
]


class Outcomes(House):
    def check(self, type: str, table: list[tuple[Any, str, Any, int]]) -> None:
        tasks = [self.client.tasks.add(type, input)["task"] for input, *_ in table]
        for task, (input, status, said, attempt) in zip(tasks, table, strict=True):
            with self.subTest(type=type, input=input):
                expected = type if said == "QUEUE" else said
                self.assertEqual(self.ended(task), (status, expected))
                self.assertEqual((self.client.tasks.show(task)["attempt"], RUNS[task]), (attempt, attempt))

    def test_what_a_function_does_is_what_the_task_becomes(self) -> None:
        worker = Worker(self.url, concurrency=4)
        worker.task("plain")(behave)
        worker.task("async")(behave_async)
        worker.task("object")(Behaving())
        worker.task("wrapped")(lambda input, context: behave_async(input, context))
        worker.batch("batch", size=8)(lambda inputs, contexts: [one(*each) for each in zip(inputs, contexts, strict=True)])
        for type in ("plain", "async", "object", "wrapped", "batch"):
            self.queue(type, retry=ONCE_MORE)
        self.work(worker)
        RUNS.clear()
        self.check("plain", TABLE + PLAIN_ONLY)
        for type in ("async", "object", "wrapped", "batch"):
            self.check(type, TABLE)

    def test_what_is_done_was_not_cancelled(self) -> None:
        contexts: list[Context] = []
        worker = Worker(self.url)
        worker.task("quick")(lambda _, context: contexts.append(context))
        self.work(worker)
        for _ in range(60):
            self.assertEqual(self.ended(self.add("quick")), ("done", None))
        self.assertEqual([context.task for context in contexts if context.cancelled], [])

    def test_a_batch_is_many_tasks_in_one_call(self) -> None:
        sizes: list[int] = []
        worker = Worker(self.url)

        @worker.batch("embed", size=8)
        async def embed(inputs: list[Any]) -> list[Any]:
            sizes.append(len(inputs))
            return [{"n": n} for n in inputs]

        @worker.batch("short")
        def short(inputs: list[Any]) -> list[Any]:
            return inputs[1:]

        @worker.batch("broken")
        def broken(inputs: list[Any]) -> list[Any]:
            raise Fail("all of them", code="no_model")

        added = self.client.tasks.add_many([{"type": "embed", "input": n} for n in range(50)])["tasks"]
        others = [self.add(type, n) for type in ("short", "broken") for n in range(3)]
        self.queue("short", retry={"attempts": 1})
        self.work(worker)
        self.assertEqual([self.ended(task["task"]) for task in added], [("done", {"n": n}) for n in range(50)])
        self.assertEqual([self.ended(task)[1] for task in others], ["type_error"] * 3 + ["no_model"] * 3)
        self.assertEqual((sum(sizes), max(sizes)), (50, 8))

    def test_no_more_run_at_once_than_may(self) -> None:
        now, most, lock = 0, 0, threading.Lock()
        worker = Worker(self.url, concurrency=3)

        @worker.task("count")
        def count(input: Any) -> None:
            nonlocal now, most
            with lock:
                now += 1
                most = max(most, now)
            time.sleep(0.01)
            with lock:
                now -= 1

        self.work(worker)
        tasks = [self.add("count") for _ in range(40)]
        self.assertEqual({self.ended(task) for task in tasks}, {("done", None)})
        self.assertEqual(most, 3)

    def test_work_of_a_run_and_of_an_event_says_so(self) -> None:
        worker = Worker(self.url)
        seen: list[Context] = []

        @worker.task("look")
        def look(input: Any, context: Context) -> Any:
            seen.append(context)
            return input

        registry = "handlers:\n  look: {on: order/paid, task: look}\n"
        self.put_text("PUT", "/v1/registry", registry)
        self.put_text("POST", "/v1/workflows", "workflow: one\nnodes: {first: {type: look, with: {n: '${input.n}'}}}\n")
        self.work(worker)
        run = self.client.runs.start("one", {"n": 7})["run"]
        self.assertEqual(self.client.runs.wait(run, LONG_S)["status"], "done")
        event = self.client.emit("order/paid", {"order": 1})["event"]
        self.until("the event's task", lambda: len(seen) == 2)
        self.assertEqual((seen[0].run, seen[0].node, seen[0].input), (run, "first", {"n": 7}))
        self.assertIn(run, seen[0].idempotency_key)
        assert seen[1].trigger
        self.assertEqual((seen[1].trigger["event"], seen[1].trigger["handler"]), (event, "look"))


def one(input: Any, context: Context) -> Any:
    try:
        return behave(input, context)
    except Exception as error:
        return error


class Stopping(House):
    def test_a_cancelled_task_is_told_to_its_function(self) -> None:
        for slots in (1, 4):
            with self.subTest(slots=slots):
                self.cancelled_with(slots)

    def cancelled_with(self, slots: int) -> None:
        ended: list[str] = []
        worker = Worker(self.url, concurrency=slots)

        @worker.task("plain")
        def plain(input: Any, context: Context) -> None:
            ended.append("began")
            while not context.cancelled:
                time.sleep(0.005)
            ended.append("plain")

        @worker.task("async")
        async def asynchronous(input: Any) -> None:
            ended.append("began")
            try:
                await asyncio.sleep(3600)
            finally:
                ended.append("async")

        @worker.task("late")
        def late(input: Any, context: Context) -> Awaitable[None]:
            plain(input, context)
            return asynchronous(input)

        worker.task("wrapped")(lambda input: asynchronous(input))
        thread = self.work(worker)
        for type, said in (("plain", "plain"), ("async", "async"), ("wrapped", "async"), ("late", "async")):
            task = self.add(type)
            self.until("it runs", lambda: ended and ended[-1] == "began")
            self.client.tasks.cancel(task, reason="not needed")
            self.assertEqual(self.ended(task)[0], "cancelled")
            self.until("the function ends", lambda: ended[-1] == said)  # noqa: B023
            self.until("its lease ends", lambda: "lease" not in self.client.tasks.show(task))  # noqa: B023
        worker.stop()
        thread.join(LONG_S)

    def test_one_of_a_batch_is_cancelled_and_the_others_go_on(self) -> None:
        worker = Worker(self.url)
        begun, go = threading.Event(), threading.Event()

        @worker.batch("embed", size=4)
        async def embed(inputs: list[Any], contexts: list[Context]) -> list[Any]:
            begun.set()
            while not go.is_set() or not any(context.cancelled for context in contexts):  # noqa: ASYNC110
                await asyncio.sleep(0.005)
            return [Fail("left out") if context.cancelled else input for input, context in zip(inputs, contexts, strict=True)]

        tasks = [
            task["task"] for task in self.client.tasks.add_many([{"type": "embed", "input": n} for n in range(3)])["tasks"]
        ]
        self.work(worker)
        self.assertTrue(begun.wait(LONG_S))
        self.client.tasks.cancel(tasks[1])
        go.set()
        self.assertEqual([self.ended(task)[0] for task in tasks], ["done", "cancelled", "done"])

    def test_a_coroutine_is_cancelled_to_be_handed_back_and_the_worker_takes_its_leave(self) -> None:
        ended: list[str] = []
        worker = Worker(self.url, name="leaving", stop_limit=0.05)

        @worker.task("endless")
        async def endless(input: Any) -> None:
            ended.append("began")
            try:
                await asyncio.sleep(3600)
            finally:
                ended.append("ended")

        task = ""
        for held in (0, 1):
            task = self.add("endless") if held else task
            thread = self.work(worker)
            self.until("it is there", lambda: self.workers() == ["leaving"] and len(ended) == held)  # noqa: B023
            worker.stop()
            thread.join(LONG_S)
            self.assertEqual(self.workers(), [])
        view = self.client.tasks.show(task)
        self.assertEqual((ended, view["status"], view["attempt"]), (["began", "ended"], "queued", 0))

    def test_what_ends_early_to_be_handed_back_is_not_done_whatever_it_returns(self) -> None:
        worker, begun = Worker(self.url, stop_limit=0.05), threading.Barrier(3)

        @worker.task("plain")
        def plain(input: Any, context: Context) -> str:
            begun.wait(LONG_S)
            while not context.cancelled:
                time.sleep(0.01)
            return "partial"

        @worker.task("coroutine")
        async def coroutine(input: Any) -> str:
            await asyncio.to_thread(begun.wait, LONG_S)
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                return "partial"
            return "whole"

        tasks = [self.add("plain"), self.add("coroutine")]
        thread = self.work(worker)
        begun.wait(LONG_S)
        worker.stop()
        thread.join(LONG_S)
        views = [self.client.tasks.show(task) for task in tasks]
        self.assertEqual([(view["status"], view["attempt"]) for view in views], [("queued", 0)] * 2)

    def test_a_task_whose_time_is_over_is_ended(self) -> None:
        worker = Worker(self.url)

        @worker.task("slow")
        async def slow(input: Any) -> None:
            await asyncio.sleep(3600)

        self.queue("slow", retry={"attempts": 1})
        self.work(worker)
        self.assertEqual(self.ended(self.add("slow", budget_ms=200)), ("failed", "timed_out"))

    def test_what_a_function_says_is_the_log_of_its_task(self) -> None:
        worker = Worker(self.url)
        go = threading.Event()

        @worker.task("talk")
        def talk(input: Any, context: Context) -> None:
            context.progress(float("nan"))
            context.log("begun \ud800")
            go.wait(LONG_S)
            for line in range(1000):
                context.log(f"{line} " + "x" * 10_000)
            context.progress(0.9, "row 9 \ud800")

        def said() -> list[str]:
            return [line["text"] for line in self.client.tasks.log(task)["lines"]]

        self.queue("talk", heartbeat_ms=3000)
        self.work(worker)
        task = self.add("talk")
        self.assertEqual(self.until("it says something", said), ["begun ?"])
        go.set()
        self.assertEqual(self.ended(task), ("done", None))
        self.assertEqual((len(said()), said()[1][:6], said()[-1][:6]), (101, "900 xx", "999 xx"))
        far = self.client.tasks.log(task).get("progress")
        self.assertEqual(far and (far["progress"], far.get("message")), (0.9, "row 9 ?"))

    def test_heartbeats_keep_a_lease_whether_or_not_the_worker_is_full(self) -> None:
        def slow(input: Any, context: Context) -> int:
            for step in range(25):
                context.progress(step / 25)
                time.sleep(0.1)
            return context.attempt

        for slots in (1, 4):
            self.queue(f"slow-{slots}", heartbeat_ms=1000, retry=ONCE_MORE)
            worker = Worker(self.url, concurrency=slots)
            worker.task(f"slow-{slots}")(slow)
            self.work(worker)
        tasks = [self.add("slow-1"), self.add("slow-4")]
        self.assertEqual([self.ended(task) for task in tasks], [("done", 1), ("done", 1)])

    def test_a_worker_that_lost_its_lease_drops_the_result_and_goes_on(self) -> None:
        for type in ("plain", "async"):
            with self.subTest(type=type):
                self.lost_by(type)

    def lost_by(self, type: str) -> None:
        worker = Worker(self.url, name=f"shared-{type}", concurrency=1)
        begun: list[str] = []
        ended: list[str] = []

        @worker.task("plain")
        def plain(input: Any, context: Context) -> int:
            begun.append(context.fence)
            while len(begun) == 1 and not context.cancelled:
                time.sleep(0.005)
            ended.append(context.fence)
            return len(ended)

        @worker.task("async")
        async def asynchronous(input: Any, context: Context) -> int:
            begun.append(context.fence)
            try:
                await asyncio.sleep(3600 if len(begun) == 1 else 0)
            finally:
                ended.append(context.fence)
            return len(ended)

        self.queue(type, heartbeat_ms=600, retry=ONCE_MORE)
        thread = self.work(worker)
        task = self.add(type)
        self.until("it runs", lambda: begun)
        # Somebody else takes this name, and does not know of the task.
        self.client.request("POST", "/v1/work", {"worker": f"shared-{type}", "types": []})
        self.assertEqual(self.ended(task), ("done", 2))
        self.assertEqual((len(set(begun)), begun), (2, ended))
        worker.stop()
        thread.join(LONG_S)

    def test_a_worker_that_is_refused_says_why(self) -> None:
        for name, types, code in [("w 1", "t", "invalid"), ("w", "no type", "invalid"), ("signaller", "t", "invalid")]:
            worker = Worker(self.url, name=name)
            worker.task(types)(lambda input: input)
            with self.assertRaises(SignallerError) as refused:
                worker.run()
            self.assertEqual(refused.exception.code, code)

    def test_what_cannot_be_is_said_at_once(self) -> None:
        worker = Worker(self.url)
        worker.task("a")(lambda input: input)
        for wrong in [
            lambda: worker.task("a")(lambda input: input),
            lambda: worker.batch("a")(lambda inputs: inputs),
            lambda: worker.batch("b", size=0),
            lambda: Worker(self.url, concurrency=1001),
            lambda: Worker(self.url, concurrency=1.5),  # type: ignore[arg-type]
            lambda: Worker(self.url, stop_limit="soon"),  # type: ignore[arg-type]
            lambda: Worker("localhost:7400"),
            lambda: Worker(self.url, name="n" * 111),
            Worker(self.url).run,
        ]:
            with self.assertRaises(ValueError):
                wrong()
        functions: list[Any] = [lambda input, context, more: more, lambda input, *, context: context]
        for function in functions:
            self.assertRaises(TypeError, worker.task("c"), function)
        self.assertRaises(TypeError, worker.task, print)
        worker.task("c")(lambda input, context=None, more=1: input)
