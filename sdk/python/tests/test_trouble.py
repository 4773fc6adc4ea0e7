"""What a worker does when the server, the connection or the program around it is in trouble."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any
from unittest import mock

from signaller import Context, SignallerError, Worker, attempt, crew

from .house import LONG_S, House, Json, refusing


class Trouble(House):
    def test_a_worker_whose_results_cannot_be_kept_takes_no_more_and_tells_them_later(self) -> None:
        polls: list[Json] = []
        over = threading.Event()
        worker = Worker(self.door(refusing(over.is_set, polls.append)), concurrency=600)

        @worker.task("count")
        async def count(input: int) -> int:
            return input

        tasks = [
            task["task"]
            for first in (0, 700)
            for task in self.client.tasks.add_many([{"type": "count", "input": first + n} for n in range(700)])["tasks"]
        ]
        self.work(worker)
        self.until("results were refused often", lambda: sum(bool(poll["results"]) for poll in polls) > 5)
        named = [len(poll["results"]) + len(poll["holding"]) for poll in polls]
        self.assertLessEqual(max(named), 1000)
        self.assertEqual([poll["want"] for poll in polls[-3:]], [0, 0, 0])
        over.set()
        self.assertEqual([self.ended(task) for task in tasks], [("done", n) for n in range(1400)])
        self.assertEqual({self.client.tasks.show(task)["attempt"] for task in tasks[::100]}, {1})

    def test_of_large_results_none_waits_for_the_poll(self) -> None:
        worker = Worker(self.url, name="n" * 110, concurrency=8)
        begun: list[asyncio.Event] = []

        @worker.task("large")
        async def large(input: Any) -> str:
            begun.append(asyncio.Event())
            await begun[-1].wait()
            return "x" * 200_000

        self.work(worker)
        tasks = [self.add("large") for _ in range(4)]
        self.until("they run", lambda: len(begun) == 4)
        assert worker._loop
        for event in begun:
            worker._loop.call_soon_threadsafe(event.set)
        for task in tasks:
            self.assertEqual(self.client.tasks.wait(task, 8)["status"], "done")

    def test_a_result_that_comes_late_in_a_stop_is_told_for_as_long_as_any(self) -> None:
        away, told = threading.Event(), threading.Event()

        def around(body: Json, ask: Callable[[Json], Json]) -> Json | None:
            if away.is_set():
                if body["results"]:
                    told.set()
                return None
            return ask(body)

        worker, begun, go = Worker(self.door(around)), threading.Event(), threading.Event()

        @worker.task("late")
        def late(input: Any) -> str:
            begun.set()
            go.wait(LONG_S)
            return "kept"

        with mock.patch.object(crew, "FAREWELL_S", 1.5):
            thread = self.work(worker)
            task = self.add("late")
            self.assertTrue(begun.wait(LONG_S))
            away.set()
            worker.stop()
            time.sleep(2.0)  # Longer than a farewell.
            go.set()
            self.assertTrue(told.wait(LONG_S))
            away.clear()
            self.assertEqual(self.ended(task), ("done", "kept"))
            thread.join(LONG_S)

    def test_what_was_said_in_a_poll_that_failed_is_told_again(self) -> None:
        lost: list[str] = []

        def around(body: Json, ask: Callable[[Json], Json]) -> Json | None:
            lines = [line for each in [*body["holding"], *body["results"]] for line in each["log"] if line not in lost]
            lost.extend(lines)
            return None if lines else ask(body)

        worker, go = Worker(self.door(around), concurrency=1), threading.Event()

        @worker.task("talk")
        def talk(input: Any, context: Context) -> None:
            context.log("first")
            go.wait(LONG_S)
            context.log("last")

        self.queue("talk", heartbeat_ms=3000)
        self.work(worker)
        task = self.add("talk")
        self.until("a line was lost", lambda: lost)
        go.set()
        self.assertEqual(self.ended(task), ("done", None))
        lines = self.client.tasks.log(task)["lines"]
        self.assertEqual(([line["text"] for line in lines], lost), (["first", "last"], ["first", "last"]))

    def test_what_is_said_by_many_at_once_is_told_in_several_polls(self) -> None:
        worker, begun, go = Worker(self.url, concurrency=200), [], threading.Event()

        @worker.task("talk")
        async def talk(input: Any, context: Context) -> None:
            for _ in range(100):
                context.log("\u4e16" * 500)
            begun.append(context.task)
            while not go.is_set():  # noqa: ASYNC110
                await asyncio.sleep(0.05)

        self.queue("talk", heartbeat_ms=3000)
        tasks = [task["task"] for task in self.client.tasks.add_many([{"type": "talk"}] * 200)["tasks"]]
        self.work(worker)
        self.until("they run", lambda: len(begun) == 200)
        go.set()
        self.assertEqual({self.ended(task) for task in tasks}, {("done", None)})

    def test_a_slow_answer_to_one_result_costs_no_other_lease(self) -> None:
        def around(body: Json, ask: Callable[[Json], Json]) -> Json | None:
            answer = ask(body)
            if body["worker"].endswith("/results"):
                time.sleep(3.5)
            return answer

        worker = Worker(self.door(around))

        @worker.task("slow")
        async def slow(input: float) -> float:
            await asyncio.sleep(input)
            return input

        self.queue("slow", heartbeat_ms=1500)
        self.work(worker)
        tasks = [self.add("slow", 5.0), self.add("slow", 0.5)]
        self.assertEqual([self.ended(task) for task in tasks], [("done", 5.0), ("done", 0.5)])
        self.assertEqual([self.client.tasks.show(task)["attempt"] for task in tasks], [1, 1])

    def test_a_poll_for_which_no_thread_is_to_be_had_is_tried_again(self) -> None:
        worker, failed = Worker(self.url), threading.Event()

        def in_thread(*arguments: Any) -> Any:
            if not failed.is_set():
                failed.set()
                raise RuntimeError("can't start new thread")
            return attempt.in_thread(*arguments)

        @worker.task("steady")
        async def steady(input: Any) -> str:
            return "done"

        with mock.patch.object(crew, "in_thread", in_thread):
            self.work(worker)
            self.assertEqual(self.ended(self.add("steady")), ("done", "done"))

    def test_what_somebody_else_answers_in_between_ends_no_worker(self) -> None:
        odd: list[Json] = [
            {"error": "upstream unavailable"},
            {"error": {"type": "bad_gateway"}},
            {"error": None},
            {"ok": True},
        ]

        def around(body: Json, ask: Callable[[Json], Json]) -> Json | None:
            return odd.pop() if odd and begun.is_set() else ask(body)

        worker, begun = Worker(self.door(around)), threading.Event()

        @worker.task("steady")
        def steady(input: Any) -> str:
            begun.set()
            self.until("all were told", lambda: not odd)
            return "done"

        self.queue("steady", heartbeat_ms=3000)
        self.work(worker)
        task = self.add("steady")
        self.assertEqual(self.ended(task), ("done", "done"))
        self.assertEqual(self.client.tasks.show(task)["attempt"], 1)

    def test_when_one_type_is_refused_the_others_hand_back_what_they_hold(self) -> None:
        begun = threading.Event()

        def around(body: Json, ask: Callable[[Json], Json]) -> Json | None:
            if begun.is_set() and body["worker"].endswith("/1"):
                return {"error": {"code": "invalid", "message": "no", "retryable": False}}
            return ask({**body, "wait_ms": 0, "want": 0 if begun.is_set() else body["want"]})

        worker = Worker(self.door(around))
        worker.batch("refused")(lambda inputs: inputs)

        @worker.task("endless")
        async def endless(input: Any) -> None:
            begun.set()
            await asyncio.sleep(3600)

        task = self.add("endless")
        with self.assertRaises(SignallerError):
            worker.run()
        self.handed_back(task)


class Embedded(House):
    def endless(self, **options: Any) -> tuple[Worker, asyncio.Event]:
        worker, begun = Worker(self.url, stop_limit=0.0, **options), asyncio.Event()

        @worker.task("endless")
        async def endless(input: Any) -> None:
            begun.set()
            await asyncio.sleep(3600)

        return worker, begun

    def test_a_worker_that_is_cancelled_hands_back_what_it_holds(self) -> None:
        task = self.add("endless")

        async def main() -> None:
            worker, begun = self.endless()
            serving = asyncio.create_task(worker.serve())
            await asyncio.wait_for(begun.wait(), LONG_S)
            serving.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await serving

        asyncio.run(main())
        self.handed_back(task)

    def test_the_signals_of_a_program_are_its_own_again(self) -> None:
        heard: list[int] = []
        before = {name: signal.signal(name, lambda name, _: heard.append(name)) for name in (signal.SIGTERM, signal.SIGINT)}
        for name, handler in before.items():
            self.addCleanup(signal.signal, name, handler)
        task = self.add("endless")

        async def main() -> None:
            worker, begun = self.endless()
            serving = asyncio.create_task(worker.serve())
            await asyncio.wait_for(begun.wait(), LONG_S)
            os.kill(os.getpid(), signal.SIGTERM)
            await asyncio.wait_for(serving, LONG_S)

        asyncio.run(main())
        self.handed_back(task)
        self.assertEqual(heard, [])
        os.kill(os.getpid(), signal.SIGTERM)
        os.kill(os.getpid(), signal.SIGINT)
        self.assertEqual(heard, [signal.SIGTERM, signal.SIGINT])

        async def unheeded() -> None:
            worker, begun = self.endless(signals=False)
            serving = asyncio.create_task(worker.serve())
            await asyncio.wait_for(begun.wait(), LONG_S)
            os.kill(os.getpid(), signal.SIGTERM)
            worker.stop()
            await asyncio.wait_for(serving, LONG_S)

        asyncio.run(unheeded())
        self.assertEqual(heard, [signal.SIGTERM, signal.SIGINT, signal.SIGTERM])
