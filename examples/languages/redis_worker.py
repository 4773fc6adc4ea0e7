"""The node `count`, by a worker that knows nothing but Redis: it reads a stream and answers on a list."""

import json
import os
import sys
import time
import urllib.request

import redis

STREAM, GROUP, NAME = "wf.tasks.count", "counters", "counter-1"
SIGNALLER = os.environ.get("SIGNALLER_URL", "http://127.0.0.1:7400")

line = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0"), decode_responses=True)


def input_of(token):
    """An input of more than 4 KiB goes by its reference."""
    if "payload_ref" not in token:
        return token["payload"]
    headers = {"Authorization": f"Bearer {os.environ['SIGNALLER_TOKEN']}"} if "SIGNALLER_TOKEN" in os.environ else {}
    with urllib.request.urlopen(urllib.request.Request(f"{SIGNALLER}/v1/blobs/{token['payload_ref']}", headers=headers)) as answer:
        return json.load(answer)


def work(entry, token):
    signal = {
        "version": "1.0",
        "job_id": token["id"],
        "run_id": token["run_id"],
        "node_id": token["node_id"],
        "status": "completed",
        "metadata": {},
    }
    try:
        signal["result_data"] = len(input_of(token)["words"])
    except Exception as error:  # Whatever it is, the task is told of it.
        signal.update(status="failed", error=str(error))
    line.rpush("completion_signals", json.dumps(signal))
    line.xack(STREAM, GROUP, entry)


def listen():
    try:
        line.xgroup_create(STREAM, GROUP, id="0", mkstream=True)
    except redis.ResponseError:
        pass  # It is there already.
    # First what this worker had taken when it ended, and then what is new.
    after = "0"
    while True:
        for _, entries in line.xreadgroup(GROUP, NAME, {STREAM: after}, count=10, block=2000) or []:
            if after != ">":
                after = entries[-1][0] if entries else ">"
            for entry, fields in entries:
                if fields:
                    work(entry, json.loads(fields["token"]))
                else:  # It has ended meanwhile, and left the stream.
                    line.xack(STREAM, GROUP, entry)


while True:
    try:
        listen()
    except redis.RedisError as error:  # It is away, or has forgotten the group.
        print(f"Redis: {error}; trying again", file=sys.stderr)
        time.sleep(1)
