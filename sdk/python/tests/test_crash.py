"""Nothing is lost and nothing counts twice: the server, the worker and the connection between them are killed."""

from __future__ import annotations

import collections
import signal
import threading
import time
from typing import Any

from signaller import Client, Worker

from .house import LONG_S, House, lossy

SLOW = """
import logging, sys, time
from signaller import Worker

logging.getLogger("signaller").setLevel("CRITICAL")
worker = Worker(name=sys.argv[1], concurrency=2, stop_limit=float(sys.argv[2]))

@worker.task("slow")
def slow(input, context):
    print(context.task, flush=True)
    time.sleep(input)
    return sys.argv[1]

worker.run()
print("over", flush=True)
"""


class Crash(House):
    def test_the_server_is_killed_under_load_and_nothing_is_lost_or_counted_twice(self) -> None:
        done: collections.Counter[int] = collections.Counter()
        worker = Worker(self.url, concurrency=8)

        @worker.task("count")
        def count(input: int) -> int:
            time.sleep(0.002)
            done[input] += 1
            return input

        @worker.batch("many", size=16)
        async def many(inputs: list[int]) -> list[int]:
            done.update(inputs)
            return inputs

        added: list[str] = []

        def add() -> None:
            with Client(self.url, timeout=LONG_S) as client:
                for first in range(0, 400, 10):
                    type = "count" if first % 20 else "many"
                    tasks = client.tasks.add_many([{"type": type, "input": first + n} for n in range(10)])["tasks"]
                    added.extend(task["task"] for task in tasks)

        self.work(worker)
        adding = threading.Thread(target=add)
        adding.start()
        for share in (50, 150, 250):
            self.until("some are done", lambda: sum(done.values()) >= share)  # noqa: B023
            self.kill_server()
            self.start_server()
        adding.join(LONG_S)
        self.assertEqual([self.ended(task) for task in added], [("done", n) for n in range(400)])
        listed = self.client.tasks.list(limit=1000)["tasks"]
        self.assertEqual((len(listed), len(set(added))), (400, 400))
        for task in added:
            self.assertEqual((self.counted(task)["task_done"], self.client.tasks.show(task)["attempt"]), (1, 1), task)
        self.assertEqual(done, collections.Counter(range(400)))

    def test_a_result_whose_answer_is_lost_is_told_again_and_counts_once(self) -> None:
        worker = Worker(self.door(lossy()), concurrency=4)
        done: collections.Counter[int] = collections.Counter()

        @worker.task("count")
        def count(input: int) -> int:
            done[input] += 1
            return input

        self.work(worker)
        tasks = [self.add("count", n) for n in range(20)]
        self.assertEqual([self.ended(task) for task in tasks], [("done", n) for n in range(20)])
        for task in tasks:
            self.assertEqual((self.counted(task)["task_done"], self.client.tasks.show(task)["attempt"]), (1, 1), task)
        self.assertEqual(done, collections.Counter(range(20)))

    def test_a_server_that_stops_and_comes_back_gets_the_result(self) -> None:
        worker, begun, go = Worker(self.url, concurrency=2), threading.Event(), threading.Event()

        @worker.task("wait")
        def wait(input: Any) -> str:
            begun.set()
            go.wait(LONG_S)
            return "kept"

        self.work(worker)
        task = self.add("wait")
        self.assertTrue(begun.wait(LONG_S))
        self.server.send_signal(signal.SIGTERM)
        self.server.communicate(timeout=LONG_S)
        go.set()
        self.start_server()
        self.assertEqual(self.ended(task), ("done", "kept"))
        self.assertEqual(self.client.tasks.show(task)["attempt"], 1)

    def test_a_killed_worker_loses_its_lease_and_another_does_the_work(self) -> None:
        self.queue("slow", heartbeat_ms=500, retry={"attempts": 10, "backoff_ms": 0, "jitter_percent": 0})
        task = self.add("slow", 0.3)
        first = self.process(SLOW, "first", "10")
        assert first.stdout
        self.assertEqual(first.stdout.readline().strip(), task)
        first.kill()
        self.process(SLOW, "second", "10")
        self.assertEqual(self.ended(task), ("done", "second"))
        self.assertEqual(self.counted(task)["task_done"], 1)

    def test_a_worker_that_was_frozen_is_fenced_and_goes_on(self) -> None:
        self.queue("slow", heartbeat_ms=500, retry={"attempts": 10, "backoff_ms": 0, "jitter_percent": 0})
        task = self.add("slow", 1)
        frozen = self.process(SLOW, "frozen", "10")
        assert frozen.stdout
        self.assertEqual(frozen.stdout.readline().strip(), task)
        frozen.send_signal(signal.SIGSTOP)
        other = self.process(SLOW, "other", "10")
        self.assertEqual(self.ended(task), ("done", "other"))
        self.assertEqual(self.terminate(other), 0)
        frozen.send_signal(signal.SIGCONT)
        self.assertEqual(self.ended(self.add("slow", 0)), ("done", "frozen"))
        self.assertEqual((self.ended(task), self.counted(task)["task_done"]), (("done", "other"), 1))

    def test_a_worker_that_is_to_stop_finishes_or_hands_back(self) -> None:
        for name, limit, seconds in [("finishes", "20", 0.5), ("hands-back", "0.1", 60)]:
            with self.subTest(name):
                task = self.add("slow", seconds)
                worker = self.process(SLOW, name, limit)
                assert worker.stdout
                self.assertEqual(worker.stdout.readline().strip(), task)
                self.assertEqual(self.terminate(worker), 0)
                self.assertEqual(worker.stdout.read(), "over\n")
                view = self.client.tasks.show(task)
                if name == "finishes":
                    self.assertEqual((view["status"], view.get("output"), view["attempt"]), ("done", name, 1))
                else:
                    self.handed_back(task)
                self.assertEqual(self.workers(), [])

    def test_who_hears_of_the_end_twice_hands_back_at_once(self) -> None:
        task = self.add("slow", 60)
        worker = self.process(SLOW, "twice", "600")
        assert worker.stdout
        self.assertEqual(worker.stdout.readline().strip(), task)
        worker.send_signal(signal.SIGINT)
        time.sleep(0.05)  # Two that come together are one.
        self.assertEqual(self.terminate(worker), 0)
        self.assertEqual(self.client.tasks.show(task)["status"], "queued")
