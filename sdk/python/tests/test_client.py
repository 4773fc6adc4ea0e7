"""What programs bring in and ask for, against a real server."""

from __future__ import annotations

import inspect
import pickle
import threading
import typing
from typing import Any
from unittest import mock

from generate.__main__ import MADE

from signaller import Client, SignallerError, Worker, api

from .house import LONG_S, House, lossy

REGISTRY = "handlers:\n  mail: {on: order/paid, task: mail}\n"
WORKFLOW = """
workflow: double
input: {type: object, required: [n]}
nodes:
  first: {type: twice, with: {n: "${input.n}"}}
  second: {type: twice, after: first, with: {n: "${output}"}}
output: nodes.second.output
"""


class Bringing(House):
    def test_events_go_to_their_handlers_and_the_same_id_is_the_same_event(self) -> None:
        self.put_text("PUT", "/v1/registry", REGISTRY)
        first = self.client.emit("order/paid", {"order": "Ä 🚂"}, id="order-1", source="shop", priority="high")
        again = self.client.emit("order/paid", {"order": "Ä 🚂"}, id="order-1")
        other = self.client.emit("order/paid", {"order": 2}, id="order-1")
        self.assertEqual([first["duplicate"], again["duplicate"], other.get("differs")], [False, True, True])
        self.assertEqual({first["event"], again["event"], other["event"]}, {first["event"]})
        task = self.client.tasks.show(first["handled"][0]["task"] or "")
        self.assertEqual(task["input"], {"order": "Ä 🚂"})
        paid: list[api.EventEmit] = [{"name": "order/paid", "data": n} for n in range(20)]
        many = self.client.events.emit_many([*paid, {"name": "nobody"}])["events"]
        self.assertEqual([len(event["handled"]) for event in many], [1] * 20 + [0])
        self.assertEqual(self.client.emit("nobody")["handled"], [])

    def test_tasks_are_added_looked_at_cancelled_and_waited_for(self) -> None:
        first = self.client.tasks.add("a", {"n": 1}, idempotency_key="k", queue="q", keys={"tenant": "x"}, tags=["t"])
        again = self.client.tasks.add("a", {"n": 1}, idempotency_key="k", queue="q")
        self.assertEqual((again["task"], again["duplicate"]), (first["task"], True))
        view = self.client.tasks.show(first["task"])
        self.assertEqual((view["status"], view["queue"], view["keys"], view["tags"]), ("queued", "q", {"tenant": "x"}, ["t"]))
        limited = {"code": "limited", "message": "so many wait", "retryable": True, "retry_after_ms": 5000}
        full = Client(self.door(lambda body, ask: ask(body), limited))
        self.addCleanup(full.close)
        away = Client("http://127.0.0.1:9")
        with self.assertRaisesRegex(TimeoutError, f"after 0.05 s {first['task']} is still queued"):
            self.client.tasks.wait(first["task"], timeout=0.05)
        for client, said in ((away, "did not answer"), (full, "so many wait")):
            with self.assertRaisesRegex(SignallerError, said):
                client.tasks.wait(first["task"], timeout=0.05)
        # However short its own time, a client asks once, and not until the end.
        with Client(self.url, timeout=0.2) as quick, mock.patch.object(quick, "send_once", wraps=quick.send_once) as asked:
            with self.assertRaisesRegex(TimeoutError, "after 0.5 s"):
                quick.tasks.wait(first["task"], timeout=0.5)
            self.assertLessEqual(asked.call_count, 2)
        # What a try in vain has cost is not waited for once more.
        soon = Client(self.door(lambda body, ask: ask(body), {**limited, "retry_after_ms": 1000}, times=1))
        self.addCleanup(soon.close)
        with self.assertRaisesRegex(TimeoutError, "after 1.5 s"):
            soon.tasks.wait(first["task"], timeout=1.5)
        later = self.client.tasks.add("a", delay_ms=3_600_000, blocked_by=[first["task"]])
        for task in (later, first):
            self.client.tasks.cancel(task["task"], reason="a test")
            self.assertEqual(self.client.tasks.wait(task["task"])["status"], "cancelled")

    def test_runs_are_started_waited_for_and_cancelled(self) -> None:
        self.put_text("POST", "/v1/workflows", WORKFLOW)
        stuck = self.client.runs.start("double", {"n": 1}, tags=["stuck"])["run"]
        self.client.runs.cancel(stuck, reason="a test")
        self.assertEqual(self.client.runs.wait(stuck)["status"], "cancelled")
        worker = Worker(self.url)
        worker.task("twice")(lambda input: input["n"] * 2)
        self.work(worker)
        started = self.client.runs.start("double", {"n": 5}, idempotency_key="five")
        self.assertEqual(self.client.runs.start("double", {"n": 5}, idempotency_key="five"), {**started, "duplicate": True})
        run = self.client.runs.wait(started["run"], LONG_S)
        self.assertEqual((run["status"], run["output"], run["workflow"]), ("done", 20, "double"))

    def test_bytes_are_put_and_got(self) -> None:
        data = bytes(range(256)) * 400
        ref = self.client.blobs.put(data)["ref"]
        self.assertRegex(ref, "^blob:sha256-[0-9a-f]{64}$")
        self.assertEqual((self.client.blobs.put(data)["ref"], self.client.blobs.get(ref)), (ref, data))
        self.assertEqual(self.client.blobs.get(self.client.blobs.put(b"")["ref"]), b"")

    def test_a_no_is_an_error_with_a_code(self) -> None:
        asks: list[tuple[typing.Callable[[], Any], str, int]] = [
            (lambda: self.client.tasks.show("task-zzz"), "task_not_found", 404),
            (lambda: self.client.tasks.show("no id/at all"), "task_not_found", 404),
            (lambda: self.client.runs.start("nothing"), "workflow_not_found", 404),
            (lambda: self.client.blobs.get("blob:sha256-" + "0" * 64), "blob_not_found", 404),
            (lambda: self.client.blobs.put(bytes(64 * 1024 * 1024 + 1)), "too_large", 413),
            (lambda: self.client.emit(""), "invalid", 400),
            (lambda: self.client.tasks.add("a", "x" * 300_000), "too_large", 413),
            (lambda: self.client.request("GET", "/v1/nowhere"), "not_found", 404),
            (lambda: Client("http://127.0.0.1:9", timeout=0.2).emit("a"), "unreachable", 0),
        ]
        for ask, code, status in asks:
            with self.assertRaises(SignallerError) as no:
                ask()
            self.assertEqual((no.exception.code, no.exception.status), (code, status))
            self.assertIn(no.exception.message, str(no.exception))
            self.assertEqual(str(pickle.loads(pickle.dumps(no.exception))), str(no.exception))

    def test_what_is_no_bytes_and_no_text_is_not_taken_for_it(self) -> None:
        asks: list[typing.Callable[[typing.Any], Any]] = [
            self.client.blobs.put,
            self.client.registry.put,
            self.client.workflows.put,
        ]
        nothing: list[Any] = [None, {}, 1]
        for ask in asks:
            for given in nothing:
                self.assertRaises(TypeError, ask, given)
        self.assertRaises(TypeError, asks[0], "text")
        client = Client(self.url, "a\n")
        self.addCleanup(client.close)
        self.assertTrue(client.server.status()["version"])

    def test_a_call_outlives_the_server_and_does_nothing_twice(self) -> None:
        self.client.tasks.add("a")
        self.kill_server()
        answers: list[Any] = []
        calls = [lambda: self.client.tasks.add("a"), lambda: self.client.emit("e"), lambda: self.client.tasks.show("task-1")]
        threads = [threading.Thread(target=lambda call=call: answers.append(call())) for call in calls]
        for thread in threads:
            thread.start()
        self.start_server()
        for thread in threads:
            thread.join(LONG_S)
        self.assertEqual(len(answers), 3)
        self.assertEqual(len(self.client.tasks.list()["tasks"]), 2)

    def test_what_was_done_though_its_answer_was_lost_is_not_done_twice(self) -> None:
        client = Client(self.door(lossy()))
        self.addCleanup(client.close)
        self.put_text("POST", "/v1/workflows", WORKFLOW)
        self.put_text("PUT", "/v1/registry", REGISTRY)
        client.emit("order/paid", id=None)
        client.events.emit_many([{"name": "order/paid", "id": None}])
        many = client.tasks.add_many([{"type": "a", "idempotency_key": None}])["tasks"]
        tasks = [client.tasks.add("a", idempotency_key=None), *many]
        run = client.runs.start("double", {"n": 1}, idempotency_key=None)["run"]
        self.assertEqual(len(self.client.runs.list()["runs"]), 1)
        added = [task["type"] for task in self.client.tasks.list()["tasks"]]
        self.assertEqual(sorted(added), ["a", "a", "mail", "mail", "twice"])
        for _ in range(2):
            client.tasks.cancel(tasks[0]["task"])
            client.runs.cancel(run)
        self.assertEqual(client.tasks.show(tasks[0]["task"])["status"], "cancelled")
        worker = Worker(self.url)
        worker.task("a")(lambda input: input)
        self.work(worker)
        self.assertEqual(self.ended(tasks[1]["task"]), ("done", None))
        with self.assertRaises(SignallerError) as no:
            client.tasks.cancel(tasks[1]["task"])
        self.assertEqual(no.exception.code, "wrong_state")

    def test_there_is_a_call_for_everything(self) -> None:
        """With something in every place that has to be filled, none goes where nothing is."""
        fillings = {"bool": True, "bytes": b"", "float | None": 0, "Priority": "high", "QueueConfig": {}, "RunsVerb": "cancel"}
        groups = [group for group in vars(self.client).values() if isinstance(group, api.Calls)]
        calls = [call for group in groups for name, call in inspect.getmembers(group, inspect.ismethod) if name != "__init__"]
        self.assertGreater(len(calls), 70)
        for call in calls:
            kinds = [of.annotation for of in inspect.signature(call).parameters.values() if of.kind == of.POSITIONAL_OR_KEYWORD]
            try:
                call(*(fillings.get(kind, [] if kind.startswith("Sequence") else "x") for kind in kinds))
            except SignallerError as no:
                known = no.code not in ("not_found", "method_not_allowed", "not_signaller", "unreachable")
                self.assertTrue(known, f"{call.__qualname__}: {no}")

    def test_what_is_asked_is_said(self) -> None:
        self.put_text("POST", "/v1/workflows", WORKFLOW)
        run = self.client.runs.start("double", {"n": 1})["run"]
        added = [self.client.tasks.add("a", queue=queue)["task"] for queue in ("q", "x/y", "x/y")]
        self.assertEqual([task["task"] for task in self.client.tasks.list(queue="x/y", limit=1)["tasks"]], [added[2]])
        self.assertEqual(self.client.events.list(id="a&b=c ü%")["events"], [])
        self.assertEqual(self.client.runs.show(run, nodes=1, all_generations=True)["nodes"][0]["node"], "first")
        self.assertEqual(self.client.events.list(unhandled=True, name=None)["events"], [])
        put = self.client.registry.put(REGISTRY, by="ana")
        self.assertEqual(self.client.registry.show()["revision"], put["revision"])
        self.assertEqual(self.client.queues.put("q", {"concurrency": 3})["config"]["concurrency"], 3)
        retried = self.client.runs.cancel(run) and self.client.runs.retry(run, node="first", with_={"n": 2})
        self.assertEqual(retried["status"], "running")

    def test_what_might_be_done_twice_is_not_sent_again(self) -> None:
        task = self.client.tasks.add("a")["task"]
        self.client.tasks.cancel(task)
        client = Client(self.door(lossy()))
        self.addCleanup(client.close)
        with self.assertRaises(SignallerError) as no:
            client.tasks.retry(task)
        self.assertEqual((no.exception.code, self.client.tasks.show(task)["status"]), ("unreachable", "queued"))
        self.assertEqual(client.queues.pause("a", for_ms=60_000)["queue"], "a")

    def test_what_is_sent_once_goes_by_a_connection_that_is_there(self) -> None:
        tasks = [self.add("a"), self.add("a")]
        for task in tasks:
            self.client.tasks.cancel(task)
            self.kill_server()
            self.start_server()
            self.assertEqual(self.client.tasks.retry(task)["status"], "queued")

    def test_a_bulk_is_cancelled_though_the_answer_was_lost(self) -> None:
        self.put_text("POST", "/v1/workflows", WORKFLOW)
        for n in range(3):
            self.client.runs.start("double", {"n": n})
        bulk = self.client.runs.bulk("cancel", "true", per_s=1).get("bulk") or ""
        client = Client(self.door(lossy()))
        self.addCleanup(client.close)
        self.assertEqual(client.bulks.cancel(bulk)["status"], "cancelled")

    def test_what_a_type_says_is_always_there_is(self) -> None:
        with self.assertRaises(SignallerError):
            self.client.events.emit_many([{"data": 1}])  # type: ignore[typeddict-item]
        self.assertEqual(api.EventEmit.__required_keys__, {"name"})
        added = self.client.tasks.add("a")
        self.assertLessEqual(api.TaskAdded.__required_keys__, added.keys())
        self.assertLessEqual(api.TaskView.__required_keys__, self.client.tasks.show(added["task"]).keys())
        self.assertLessEqual({"output", "error"}, api.TaskView.__optional_keys__)

    def test_a_long_wait_stays_a_short_one_after_any_number_of_tries(self) -> None:
        self.assertLessEqual(SignallerError("unreachable", "away", 0).wait(100_000), 5)

    def test_types_are_as_the_server_describes_them(self) -> None:
        described = self.client.request("GET", "/openapi.json")
        for path, generate in MADE.items():
            self.assertEqual(path.read_text(), generate(described), "run `make sdk-types`")
