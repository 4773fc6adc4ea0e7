#!/usr/bin/env python3
"""A worker without a library: lease a task, say that it is being worked on, report what came of it.

    python3 examples/worker.py greet        # SIGNALLER_URL and SIGNALLER_TOKEN as for the command line
"""
import http.client, json, os, socket, sys, threading, time, urllib.request

URL = os.environ.get("SIGNALLER_URL", "http://127.0.0.1:7400")
WORKER = f"{socket.gethostname()}-{os.getpid()}"  # Used by no other worker: one poll at a time for each name.


class Busy(Exception):
    """Worth another attempt; any other exception is not."""


def handle(task):
    if task["input"].get("busy") and task["attempt"] == 1:
        raise Busy("the first attempt is turned away")
    time.sleep(task["input"].get("seconds", 0))
    return {"greeting": f"Hello, {task['input']['name']}!"}


def poll(**body):
    """One round trip, again until it is answered: a result that is sent twice counts once."""
    headers = {"content-type": "application/json"}
    if token := os.environ.get("SIGNALLER_TOKEN"):
        headers["authorization"] = f"Bearer {token}"
    request = urllib.request.Request(URL + "/v1/work", json.dumps({"worker": WORKER, **body}).encode(), headers)
    while True:
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return json.load(answer)
        except (OSError, http.client.HTTPException, ValueError) as error:
            if 400 <= getattr(error, "code", 0) < 429:
                raise  # The server will not have this worker: it would say so for ever.
            print(error, file=sys.stderr)
            time.sleep(0.5)


def work(task):
    lease, outcome = {"task": task["task"], "fence": task["fence"]}, {}

    def attempt():
        try:
            output = handle(task)
            json.dumps(output, allow_nan=False)  # What is no JSON fails this task, and not the poll.
            outcome.update(status="done", output=output)
        except Exception as error:
            failure = {"code": type(error).__name__.lower(), "message": str(error)}
            outcome.update(status="failed", error=failure, retryable=isinstance(error, Busy))

    thread = threading.Thread(target=attempt, daemon=True)
    thread.start()
    while thread.join(task["heartbeat_ms"] / 3000) or thread.is_alive():
        held = poll(types=[], holding=[lease])["holding"][0]  # A heartbeat; `cancel` in it asks to stop early.
        if not held["ok"]:
            return  # The lease is lost: what comes of it no longer counts.
    while (taken := poll(types=[], results=[{**lease, **outcome}])["results"][0]).get("code") not in (None, "lease_lost"):
        print(taken["message"], file=sys.stderr)
        if taken["code"] == "unavailable":
            time.sleep(0.5)  # It cannot be kept now.
        elif outcome["status"] == "failed":
            return
        else:
            outcome = {"status": "failed", "error": {"code": "result_refused", "message": taken["message"]}, "retryable": False}


while True:
    for task in poll(types=sys.argv[1:], want=1, wait_ms=20_000)["tasks"]:
        work(task)
