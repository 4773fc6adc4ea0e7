"""A worker for `signaller worker-check -- python3 check_worker.py`: it does what the input of a task says."""

import os
import time
from typing import Any

from signaller import Context, Fail, Retry, Worker

worker = Worker(concurrency=8)


@worker.task(os.environ.get("SIGNALLER_CHECK_TYPE", "check"))
def check(input: dict[str, Any], context: Context) -> Any:
    match input["do"]:
        case "echo":
            return input["value"]
        case "sleep":
            time.sleep(input["ms"] / 1000)
            return input["value"]
        case "grow":
            return "x" * input["bytes"]
        case "fail" if input["retryable"]:
            after = input.get("retry_after_ms")
            raise Retry(input["message"], code=input["code"], after=after and after / 1000)
        case "fail":
            raise Fail(input["message"], code=input["code"])
        case "wait":
            while not context.cancelled:
                time.sleep(0.02)
            return None
        case other:
            raise Fail(f"nobody knows how to {other}")


if __name__ == "__main__":
    worker.run()
