"""A real server for the tests, in a folder of its own; `SIGNALLER_BIN` says which binary."""

from __future__ import annotations

import collections
import http.server
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.request
from collections.abc import Callable
from math import inf
from pathlib import Path
from typing import Any, TypeVar

from signaller import Client, Worker

T = TypeVar("T")
Json = dict[str, Any]
# What is asked of a door, and how it asks the server; the answer, or None to hang up.
Around = Callable[[Json, Callable[[Json], Json]], Json | None]
BIN = os.environ.get("SIGNALLER_BIN") or str(Path(__file__).parents[3] / "target/debug/signaller")
LONG_S = 30.0
# What workers say of failures that the tests mean.
logging.getLogger("signaller").setLevel(logging.CRITICAL)


class House(unittest.TestCase):
    """A server, a client of it, and workers that end with the test."""

    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self.start_server()
        self.addCleanup(self.kill_server)
        self.client = Client(self.url)
        self.addCleanup(self.client.close)

    def start_server(self) -> None:
        env = {name: value for name, value in os.environ.items() if not name.startswith("SIGNALLER_")}
        args = [BIN, "--json", "serve", "--listen", f"127.0.0.1:{self.port}", "--stop-limit", "500ms"]
        args += ["--data-dir", str(self.folder / "data")]
        self.server = subprocess.Popen(args, env=env, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL)
        assert self.server.stdout
        said = self.server.stdout.readline()
        self.assertIn("ready", json.loads(said), said)

    def kill_server(self) -> None:
        """As a power cut would."""
        self.server.kill()
        self.server.communicate()

    def queue(self, name: str, **config: Any) -> None:
        self.client.queues.put(name, config)  # type: ignore[arg-type]

    def put_text(self, method: str, path: str, text: str) -> None:
        headers = {"content-type": "text/yaml"}
        urllib.request.urlopen(urllib.request.Request(self.url + path, text.encode(), headers, method=method)).close()

    def door(self, around: Around, limited: Json | None = None, times: float = inf) -> str:
        """The address of a door to the server, which may lose or change what goes through it. An `error` is answered as one;
        what is limited, so many times, is what is only looked at."""
        url = self.url

        class Door(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                nonlocal times
                times -= 1
                if limited is not None and times >= 0:
                    self.answer(json.dumps({"error": limited}).encode(), 429)
                    return
                with urllib.request.urlopen(url + self.path) as answered:
                    self.answer(answered.read(), 200)

            def do_POST(self) -> None:
                status = 200

                def ask(body: Json) -> Json:
                    nonlocal status
                    headers = {"content-type": "application/json"}
                    request = urllib.request.Request(url + self.path, json.dumps(body).encode(), headers)
                    try:
                        with urllib.request.urlopen(request) as answered:
                            return dict(json.load(answered))
                    except urllib.error.HTTPError as no:
                        status = no.code
                        return dict(json.load(no))

                answer = around(json.loads(self.rfile.read(int(self.headers["content-length"]))), ask)
                if answer is None:
                    self.close_connection = True
                else:
                    self.answer(json.dumps(answer).encode(), status if "error" not in answer or status >= 400 else 400)

            def answer(self, body: bytes, status: int) -> None:
                self.send_response(status)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Doors(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # A server that was killed, or a worker that has gone, leaves it in the middle.

        server = Doors(("127.0.0.1", 0), Door)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}"

    def work(self, worker: Worker) -> threading.Thread:
        thread = threading.Thread(target=worker.run)
        thread.start()

        def end() -> None:
            worker.stop()
            worker.stop()
            thread.join(LONG_S)
            self.assertFalse(thread.is_alive(), "the worker ends")

        self.addCleanup(end)
        return thread

    def process(self, script: str, *args: str) -> subprocess.Popen[str]:
        """A worker in a process of its own."""
        path = self.folder / f"worker{time.monotonic_ns()}.py"
        path.write_text(script)
        env = {**os.environ, "SIGNALLER_URL": self.url, "PYTHONPATH": str(Path(__file__).parents[1] / "src")}
        process = subprocess.Popen([sys.executable, str(path), *args], env=env, stdout=subprocess.PIPE, text=True)

        def end() -> None:
            process.kill()
            process.communicate()

        self.addCleanup(end)
        return process

    def ended(self, task: str) -> tuple[str, Any]:
        """How it ended, and its output or the code of its error."""
        view = self.client.tasks.wait(task, LONG_S)
        error = view.get("error")
        return view["status"], error["code"] if error else view.get("output")

    def add(self, type: str, input: Any = None, **options: Any) -> str:
        return self.client.tasks.add(type, input, **options)["task"]

    def workers(self) -> list[str]:
        """Those outside the server that it knows of."""
        names = [seen["worker"] for seen in self.client.server.status()["workers"]]
        return [name for name in names if not name.startswith("signaller")]

    def until(self, what: str, look: Callable[[], T | None]) -> T:
        end = time.monotonic() + LONG_S
        while time.monotonic() < end:
            found = look()
            if found:
                return found
            time.sleep(0.02)
        raise AssertionError(f"it never came: {what}")

    def handed_back(self, task: str) -> None:
        """No attempt burnt. A poll that was on its way may have been given it once more, and that came back, too."""
        view = self.client.tasks.show(task)
        self.assertEqual((view["status"], view["attempt"], self.counted(task)["task_released"] > 0), ("queued", 0, True))

    def counted(self, task: str) -> collections.Counter[str]:
        """How often each kind of record is in its history."""
        records = self.client.tasks.history(task)["records"]
        return collections.Counter(record["record"]["record"] for record in records)

    def terminate(self, process: subprocess.Popen[str]) -> int:
        process.send_signal(signal.SIGTERM)
        return process.wait(LONG_S)


def lossy() -> Around:
    """Loses the first answer to everything that is not a poll without results."""
    heard: list[Json] = []

    def around(body: Json, ask: Callable[[Json], Json]) -> Json | None:
        answer = ask(body)
        told = [{**result, "log": []} for result in body["results"]] if "worker" in body else [body]
        news = [each for each in told if each not in heard]
        heard.extend(news)
        return None if news else answer

    return around


def refusing(is_over: Callable[[], bool], seen: Callable[[Json], object]) -> Around:
    """Says of every result that it cannot be kept, until that is over; its lease is kept."""

    def around(body: Json, ask: Callable[[Json], Json]) -> Json | None:
        seen(body)
        if is_over():
            return ask(body)
        refused = body["results"]
        answer = ask({**body, "results": [], "holding": [*body["holding"], *map(lease, refused)]})
        answer["results"] = [
            {"task": each["task"], "ok": False, "code": "unavailable", "message": "no room"} for each in refused
        ]
        answer["holding"] = answer["holding"][: len(body["holding"])]
        return answer

    return around


def lease(result: Json) -> Json:
    return {"task": result["task"], "fence": result["fence"]}
