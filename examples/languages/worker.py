"""The node `words`, in Python with the SDK."""

from signaller import Worker

worker = Worker()


@worker.task("words")
def words(input: dict[str, str]) -> list[str]:
    return input["text"].split()


worker.run()
