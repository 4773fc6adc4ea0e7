#!/usr/bin/env python3
"""A worker with the SDK for Python: greets one by one, and translates in batches.

    PYTHONPATH=sdk/python/src python3 examples/greet.py        # SIGNALLER_URL and SIGNALLER_TOKEN as for the command line
"""

import asyncio

from signaller import Context, Fail, Retry, Worker

worker = Worker(concurrency=4)


@worker.task("greet")
async def greet(input, context: Context):
    if "name" not in input:
        raise Fail("the input has no name", code="no_name")  # Another attempt would not help.
    if input.get("busy") and context.attempt == 1:
        raise Retry("the first attempt is turned away", after=0.1)
    await asyncio.sleep(input.get("seconds", 0))  # Heartbeats go on meanwhile; a cancelled task ends here.
    return {"greeting": f"Hello, {input['name']}!"}


@worker.batch("translate", size=16)
def translate(inputs):
    """All that wait, up to 16, in one call, as a model would like it."""
    words = {"hello": "Hallo", "world": "Welt"}
    return [{"german": words[word]} if word in words else Fail(f"`{word}` is not known", code="unknown") for word in inputs]


worker.run()
