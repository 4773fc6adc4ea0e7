"""The calls that the SDKs have, in words of no language: what each is given, how it is sent, and what comes back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

Schema = dict[str, Any]
JSON, BYTES = "application/json", "application/octet-stream"
# For workers, webhooks and whoever looks after the process; and what is there twice.
LEFT_OUT = {"blobs_post", "events_deliver", "server_described", "server_health", "server_ready", "workers_work"}
# These change nothing the second time, so they may be sent again when no answer came; so may GET, PUT, and what has a key.
AGAIN = {"boost", "cancel", "check", "diff", "disable", "enable", "pause", "put", "resume", "simulate", "sweep"}
# What may be left out and comes first all the same.
PAYLOADS = {"EventEmit": "data", "RunSkip": "output", "RunStart": "input", "TaskAdd": "input"}
# Said again with the same value here, it is the same.
KEYS = {"EventEmit": "id", "RunFork": "idempotency_key", "RunStart": "idempotency_key", "TaskAdd": "idempotency_key"}


@dataclass
class Operation:
    group: str
    name: str
    method: str
    path: str
    summary: str
    #: Parts of the path.
    holes: list[str] = field(default_factory=list)
    #: Of the query: whether it has to be said, and what it is.
    query: dict[str, tuple[bool, Schema]] = field(default_factory=dict)
    #: The name of the body's schema, if that is JSON; what of it comes first, with whether it has to be said; the rest.
    body: str | None = None
    first: dict[str, tuple[bool, Schema]] = field(default_factory=dict)
    options: dict[str, Schema] = field(default_factory=dict)
    #: What the body is, if it is no JSON.
    kind: str | None = None
    answer: Schema = field(default_factory=dict)
    #: Where in the body it says by what it is known when it comes again: `id`, or `events.id` of each of a list.
    key: str | None = None
    again: bool = False
    #: It can wait until what it shows has ended.
    waits: bool = False


def operations(described: dict[str, Any]) -> list[Operation]:
    """By what they are about, as they stand."""
    schemas, found = described["components"]["schemas"], []
    for path, methods in described["paths"].items():
        for method, said in methods.items():
            good: Schema = next((of for status, of in said["responses"].items() if status in ("200", "201")), {})
            kinds = good.get("content", {})
            if said["operationId"] in LEFT_OUT or not kinds.keys() & {JSON, BYTES}:
                continue
            group = said["tags"][0]
            name, summary = said["operationId"].removeprefix(f"{group}_"), " ".join(said["summary"].split())
            made = Operation(group, name, method.upper(), path, summary)
            made.answer = {"format": "binary"} if BYTES in kinds else kinds[JSON]["schema"]
            for of in said.get("parameters", []):
                if of["in"] == "path":
                    made.holes.append(of["name"])
                else:
                    made.query[of["name"]] = (of["required"], of["schema"])
            shown = schemas.get(named(made.answer), {}).get("properties", {})
            made.waits = "wait_ms" in made.query and "status" in shown
            made.again = made.name in AGAIN
            take_body(made, said.get("requestBody", {}).get("content", {}), schemas)
            found.append(made)
    return sorted(found, key=lambda each: each.group)


def take_body(made: Operation, content: dict[str, Any], schemas: dict[str, Schema]) -> None:
    if JSON not in content:
        made.kind = next(iter(content), None)
        return
    made.body = named(content[JSON]["schema"])
    schema = schemas[made.body]
    fields: dict[str, Schema] = schema["properties"]
    made.first = {name: (True, fields[name]) for name in schema.get("required", [])}
    if payload := PAYLOADS.get(made.body):
        made.first[payload] = (False, fields[payload])
    made.options = {name: of for name, of in fields.items() if name not in made.first}
    made.key = None if made.again else KEYS.get(made.body)
    for name in made.first:
        if key := KEYS.get(named(fields[name].get("items", {}))):
            made.key = f"{name}.{key}"


def named(schema: Schema) -> str:
    return str(schema.get("$ref", "")).rpartition("/")[2]
