"""What is shown in the READMEs and in `examples/` runs as it is written."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .house import LONG_S, House, Json, lossy, refusing

HERE = Path(__file__).parents[1]


class Examples(House):
    def check(self, table: list[tuple[str, Any, tuple[str, Any]]]) -> None:
        for type, input, ended in table:
            self.assertEqual(self.ended(self.add(type, input)), ended)

    def test_the_worker_and_the_client_work(self) -> None:
        worker, client = [block.split("```")[0] for block in (HERE / "README.md").read_text().split("```python\n")[1:]]
        self.queue("classify", retry={"attempts": 2, "backoff_ms": 0, "jitter_percent": 0})
        process = self.process(worker)
        script = self.folder / "client.py"
        script.write_text(client)
        env = {**os.environ, "SIGNALLER_URL": self.url, "PYTHONPATH": str(HERE / "src")}
        said = subprocess.run([sys.executable, script], env=env, capture_output=True, text=True, timeout=LONG_S)
        self.assertEqual((said.returncode, said.stderr), (0, ""))
        greeted, done, refused, report, blocked = said.stdout.splitlines()
        self.assertEqual(greeted, "{'greeting': 'Hello, Ada!'}")
        self.assertEqual((done, refused), ("done", "workflow_not_found 404 False"))
        self.assertEqual(report, "b'bytes, up to 64 MiB'")
        self.assertEqual(blocked, "queue_paused")
        self.check(
            [
                ("greet", {}, ("failed", "no_name")),
                ("classify", None, ("done", {"class": "letter"})),
                ("embed", "four", ("done", 4)),
                ("embed", "", ("failed", "empty")),
            ]
        )
        self.assertEqual(self.terminate(process), 0)

    def test_the_worker_on_the_first_page_works(self) -> None:
        self.process((HERE.parents[1] / "README.md").read_text().split("```python\n")[1].split("```")[0])
        self.check([("greet", {"name": "Ada"}, ("done", {"greeting": "Hello, Ada!"}))])

    def test_the_example_works(self) -> None:
        process = self.process((HERE.parents[1] / "examples/greet.py").read_text())
        self.check(
            [
                ("greet", {"name": "Ada"}, ("done", {"greeting": "Hello, Ada!"})),
                ("greet", {"name": "Bob", "busy": True, "seconds": 0.1}, ("done", {"greeting": "Hello, Bob!"})),
                ("greet", {}, ("failed", "no_name")),
                ("translate", "world", ("done", {"german": "Welt"})),
                ("translate", "word", ("failed", "unknown")),
            ]
        )
        self.assertEqual(self.terminate(process), 0)

    def test_the_worker_without_a_library_outlives_what_the_others_do(self) -> None:
        """It loses half of its heartbeats and the first answer to its result, which cannot be kept for a while."""
        script = (HERE.parents[1] / "examples/worker.py").read_text()
        beats, told = 0, 0
        lost = lossy()

        def count(body: Json) -> None:
            nonlocal told
            told += len(body["results"])

        kept = refusing(lambda: told > 3, count)

        def around(body: Json, ask: Callable[[Json], Json]) -> Json | None:
            nonlocal beats
            body = {"results": [], "holding": [], **body}
            beats += len(body["holding"])
            if body["holding"] and beats % 2:
                return None
            return lost(body, lambda body: kept(body, ask) or {})

        self.queue("greet", heartbeat_ms=3000)
        self.process(script.replace("http://127.0.0.1:7400", self.door(around)).replace("SIGNALLER_URL", "NO_URL"), "greet")
        task = self.add("greet", {"name": "slow", "seconds": 3.5})
        self.assertEqual(self.ended(task), ("done", {"greeting": "Hello, slow!"}))
        self.assertEqual(self.client.tasks.show(task)["attempt"], 1)
        self.assertTrue(beats > 1 and told > 3, (beats, told))
