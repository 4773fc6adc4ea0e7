"""The node `count`, by a worker that knows nothing but Redis: it reads a stream and answers on a list."""

import json
import os

import redis

line = redis.Redis.from_url(os.environ.get("REDIS_URL", "redis://127.0.0.1:6379/0"), decode_responses=True)
try:
    line.xgroup_create("wf.tasks.count", "counters", id="0", mkstream=True)
except redis.ResponseError:
    pass  # It is there already.
while True:
    for _, entries in line.xreadgroup("counters", "counter-1", {"wf.tasks.count": ">"}, count=10, block=5000) or []:
        for entry, fields in entries:
            token = json.loads(fields["token"])
            signal = {
                "version": "1.0",
                "job_id": token["id"],
                "run_id": token["run_id"],
                "node_id": token["node_id"],
                "status": "completed",
                "result_data": len(token["payload"]["words"]),
                "metadata": {},
            }
            line.rpush("completion_signals", json.dumps(signal))
            line.xack("wf.tasks.count", "counters", entry)
