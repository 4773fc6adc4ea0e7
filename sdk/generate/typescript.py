"""`sdk/typescript/src/calls.ts`: a method for each call. The types that it speaks of are made by openapi-typescript."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

from .operations import Operation, Schema, named, operations

HEAD = """// Made by `make sdk-types` from the server's own description. Do not edit.

import { randomUUID } from "node:crypto";
import type { components } from "./api.js";

/** What the API takes and answers. */
export type Schemas = components["schemas"];

/** What is undefined is left out. */
export type Given<T> = { [K in keyof T]: T[K] | undefined };

/** How a call is sent. */
export interface Sent {
  body?: unknown;
  /** What the body is, if it is not to be JSON: then it is bytes. */
  kind?: string;
  query?: object;
  /** It may safely be sent twice, as may any GET or PUT. */
  again?: boolean;
  /** Instead of the client's own, if that is longer. */
  timeoutMs?: number;
}

class Calls {
  constructor(protected readonly api: Api) {}
}

const part = encodeURIComponent;
"""
API = """/** All calls, by what they are about. */
export abstract class Api {
  abstract request<T>(method: string, path: string, sent?: Sent): Promise<T>;
  abstract ended<T extends { status: string }>(path: string, options: { timeoutMs?: number }): Promise<T>;
"""
PLAIN = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}


def generate(described: dict[str, Any]) -> str:
    groups = {group: [*of] for group, of in itertools.groupby(operations(described), lambda call: call.group)}
    about = [
        f"export class {group.capitalize()} extends Calls {{\n" + "\n\n".join(map(method, of)) + "\n}\n"
        for group, of in groups.items()
    ]
    lines = [f"  readonly {group} = new {group.capitalize()}(this);" for group in groups]
    about.append("\n".join([API, *lines, "}", ""]))
    return "\n".join([HEAD, *about])


def hint(schema: Schema) -> str:
    if "enum" in schema:
        return " | ".join(map(json.dumps, schema["enum"]))
    if schema.get("format") == "binary":
        return "Uint8Array"
    return f'Schemas["{named(schema)}"]' if "$ref" in schema else PLAIN.get(schema.get("type", ""), "any")


def camel(name: str) -> str:
    return re.sub(r"_(\w)", lambda found: found[1].upper(), name)


def method(call: Operation) -> str:
    body = f'Schemas["{call.body}"]'
    given = [f"{hole}: string" for hole in call.holes]
    for name, (must, of) in call.first.items():
        kind = f'{body}["{name}"]'
        given.append(f"{name}{':' if must else '?:'} {f'Readonly<{kind}>' if of.get('type') == 'array' else kind}")
    path = re.sub(r"\{(\w+)\}", r"${part(\1)}", call.path)
    sent = []
    if call.kind:
        given.append("data: Uint8Array" if call.kind.endswith("octet-stream") else "text: string")
        # Which is refused here, if it is no such thing.
        whole = "Buffer.concat([data])" if given[-1].startswith("data") else 'Buffer.from(text, "utf8")'
        sent += [f"body: {whole}", f'kind: "{call.kind}"']
    if call.body and call.options:
        left = " | ".join(f'"{name}"' for name in call.first)
        rest = f"Omit<{body}, {left}>" if left else body
        given.append(f"options: Given<{rest}> = {{}}")
    if call.body:
        said = [*(["...options"] if call.options else []), *call.first]
        if call.key:  # Known again by one of its own, if none is said.
            key, _, each = call.key.partition(".")
            if each:
                said[said.index(key)] = f"{key}: {key}.map((each) => ({{ ...each, {each}: each.{each} ?? randomUUID() }}))"
            else:
                said.append(f"{key}: options.{key} ?? randomUUID()")
        sent.append("body: options" if said == ["...options"] else f"body: {{ {', '.join(said)} }}")
    if call.query:
        musts = [name for name, (must, _) in call.query.items() if must]
        mays = [f"{name}?: {hint(of)} | undefined" for name, (must, of) in call.query.items() if not must]
        given += [f"{name}: {hint(call.query[name][1])}" for name in musts]
        given += [f"query: {{ {'; '.join(mays)} }} = {{}}"] if mays else []
        said = [*musts, *(["...query"] if mays else [])]
        sent.append("query" if said == ["...query"] else f"query: {{ {', '.join(said)} }}")
    sent += ["again: true"] if call.key or call.again else []
    how = f", {{ {', '.join(sent)} }}" if sent else ""
    lines = [
        f"  /** {call.summary} */",
        f"  async {camel(call.name)}({', '.join(given)}): Promise<{hint(call.answer)}> {{",
        f'    return this.api.request("{call.method}", `{path}`{how});',
        "  }",
    ]
    if call.waits:
        holes = ", ".join(given[: len(call.holes)])
        lines += [
            "",
            "  /** Until it is done, failed or cancelled. Throws a `TimeoutError` if it goes on after `timeoutMs`. */",
            f"  wait({holes}, options: {{ timeoutMs?: number }} = {{}}): Promise<{hint(call.answer)}> {{",
            f"    return this.api.ended(`{path}`, options);",
            "  }",
        ]
    return "\n".join(lines)
