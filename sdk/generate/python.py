"""`sdk/python/src/signaller/api.py`: types, and a method for each call, which a client has to `request`."""

from __future__ import annotations

import itertools
import json
import keyword
import re
from collections.abc import Iterable
from typing import Any

from .operations import Operation, Schema, operations

# What a function is told of its task is an object of its own kind.
TOLD = "WorkTask"
HEAD = '''"""Made by `make sdk-types` from the server's own description. Do not edit."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypedDict
from urllib.parse import quote
from uuid import uuid4

if sys.version_info >= (3, 11):
    from typing import Unpack
elif TYPE_CHECKING:
    from typing_extensions import Unpack
'''
CALLS = '''class Calls:
    def __init__(self, client: Any) -> None:
        self._client = client


def part(of: str) -> str:
    """As a part of a path."""
    return quote(of, safe="")


def plain(options: Any) -> dict[str, Any]:
    """`with_` is `with`, which is a word of Python."""
    return {name.rstrip("_"): value for name, value in options.items()}
'''
API = '''class Api:
    """All calls, by what they are about."""

    def __init__(self) -> None:'''
WAIT = "Until it is done, failed or cancelled. Raises `TimeoutError` if it goes on after so many seconds."
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def generate(described: dict[str, Any]) -> str:
    """The calls, and of the schemas those that they speak of."""
    calls, schemas = operations(described), {**described["components"]["schemas"]}
    for name, schema in schemas.items():
        if "allOf" in schema:
            schemas[name] = joined(schema, schemas)
    new = {call.body: call.options.keys() for call in calls if call.body}
    names, found = set[str](), {TOLD, *re.findall(r"'#/components/schemas/(\w+)'", str(calls)), *filter(None, new)}
    while found:
        names |= found
        found = {name for one in found for name in re.findall(r"'#/components/schemas/(\w+)'", str(schemas[one]))} - names
    plain = [f"{name} = {hint(schemas[name])}" for name in sorted(names) if "properties" not in schemas[name]]
    made = [part for name in sorted(names - {TOLD}) for part in types(name, schemas[name], new.get(name, ()))]
    groups = {group: [*of] for group, of in itertools.groupby(calls, lambda call: call.group)}
    about = [f"class {group.capitalize()}(Calls):\n" + "\n".join(map(method, of)) for group, of in groups.items()]
    lines = [f"        self.{group} = {group.capitalize()}(self)" for group in groups]
    api = "\n".join([API, *lines])
    return "\n\n".join([HEAD, "\n".join(plain) + "\n", *made, told(schemas[TOLD]), CALLS, *about, api]) + "\n"


def hint(schema: Schema) -> str:
    match schema:
        case {"$ref": str(path)}:
            return path.rsplit("/", 1)[1]
        case {"format": "binary"}:
            return "bytes"
        case {"oneOf": kinds}:
            return " | ".join(dict.fromkeys(map(hint, kinds)))
        case {"type": [*kinds]}:
            return " | ".join(hint({**schema, "type": kind}) for kind in kinds)
        case {"enum": values}:
            return f"Literal[{', '.join(map(json.dumps, values))}]"
        case {"type": "array", "items": items}:
            return f"list[{hint(items)}]"
        case {"type": "object"}:
            values = schema.get("additionalProperties")
            return f"dict[str, {hint(values) if isinstance(values, dict) else 'Any'}]"
    return PLAIN.get(schema.get("type", ""), "Any")


def joined(schema: Schema, schemas: dict[str, Schema]) -> Schema:
    """All parts of it as one object."""
    parts = [schemas[hint(part)] if "$ref" in part else part for part in schema["allOf"]]
    fields = {name: of for part in parts for name, of in part["properties"].items()}
    return {"properties": fields, "required": [name for part in parts for name in part.get("required", [])]}


def typed(name: str, bases: list[str], fields: dict[str, Schema], total: bool) -> str:
    heads = [*(bases or ["TypedDict"]), *([] if total else ["total=False"])]
    if any(map(keyword.iskeyword, fields)):  # Words of Python can be said only so.
        said = braced(f'"{field}": "{hint(schema)}"' for field, schema in sorted(fields.items()))
        other = f"{name}Said" if bases else name
        made = f'{other} = TypedDict("{other}", {said}{"" if total else ", total=False"})\n'
        return made + (f"\n\nclass {name}({', '.join([*bases, other])}):\n    pass\n" if bases else "")
    lines = [line for field, schema in sorted(fields.items()) for line in (f"    {field}: {hint(schema)}", *meant(schema))]
    return "\n".join([f"class {name}({', '.join(heads)}):", *(lines or ["    pass"])]) + "\n"


def meant(schema: Schema) -> list[str]:
    """What the server says of a field, where editors look for it."""
    said = " ".join(schema.get("description", "").split())
    return [f"    {json.dumps(said, ensure_ascii=False)}"] if said else []


def types(name: str, schema: Schema, options: Any) -> list[str]:
    """One class, or more: options have one of their own, and so has what is never missing, where other fields may be."""
    if "properties" not in schema:
        return []
    # What is said as an argument cannot be called as a word of Python is.
    fields = {f"{name}_" if options and keyword.iskeyword(name) else name: of for name, of in schema["properties"].items()}
    options = {f"{name}_" if keyword.iskeyword(name) else name for name in options}
    bases, made = [], []
    required = {*schema.get("required", [])}
    for part, chosen in ((f"{name}Options", {*options}), (f"{name}Required", required)):
        if chosen and chosen != fields.keys():
            made.append(typed(part, [], {field: fields[field] for field in chosen}, part.endswith("Required")))
            bases.append(part)
            fields = {field: fields[field] for field in fields.keys() - chosen}
    return [*made, typed(name, bases, fields, fields.keys() == required)]


def told(schema: Schema) -> str:
    """A class whose attributes are None where they may be missing."""
    lines = [f"class {TOLD}:"]
    for name, of in schema["properties"].items():
        missing = "" if name in schema["required"] else " = None"
        lines.append(f"    {name}: {hint(of)}{missing}" + (f"  #: {of['description']}" if "description" in of else ""))
    return "\n".join(lines) + "\n"


def method(call: Operation) -> str:
    given = ["self", *(f"{hole}: str" for hole in call.holes)]
    given += [f"{name}: {taken(of)}" + ("" if must else " = None") for name, (must, of) in call.first.items()]
    path = re.sub(r"\{(\w+)\}", r"{part(\1)}", call.path)
    sent = [f'"{call.method}"', ("f" if call.holes else "") + f'"{path}"']
    if call.kind:
        given.append("data: bytes" if call.kind.endswith("octet-stream") else "text: str")
        # Which is refused here, if it is no such thing.
        sent += ["bytes(memoryview(data))" if given[-1] == "data: bytes" else "str.encode(text)", f'kind="{call.kind}"']
    if call.body:
        options = "**plain(options)" if any(map(keyword.iskeyword, call.options)) else "**options"
        said = {name: name for name in call.first}
        if call.key:  # Known again by one of its own, if none is said.
            of, _, each = call.key.partition(".")
            said[of] = f'[{{**each, "{each}": each.get("{each}") or uuid4().hex}} for each in {of}]' if each else known(of)
        sent.append(braced([*([options] if call.options else []), *(f'"{name}": {value}' for name, value in said.items())]))
    if call.options and call.body:
        given.append(f"**options: Unpack[{call.body}{'Options' if call.first else ''}]")
    if call.query:
        musts = [f"{name}: {hint(of)}" for name, (must, of) in call.query.items() if must]
        mays = [f"{name}: {hint(of)} | None = None" for name, (must, of) in call.query.items() if not must]
        given += [*musts, *(["*"] if mays else []), *mays]
        sent.append("query=" + braced(f'"{name}": {name}' for name in call.query))
    sent += ["again=True"] if call.key or call.again else []
    lines = [f"    def {call.name}({', '.join(given)}) -> {hint(call.answer)}:", f'        """{call.summary}"""']
    lines += [f"        return self._client.request({', '.join(sent)})", ""]
    if call.waits:
        given = [*given[: 1 + len(call.holes)], "timeout: float | None = None"]
        lines.append(f"    def wait({', '.join(given)}) -> {hint(call.answer)}:")
        lines += [f'        """{WAIT}"""', f"        return self._client.ended({sent[1]}, timeout)", ""]
    return "\n".join(lines)


def known(key: str) -> str:
    return f'options.get("{key}") or uuid4().hex'


def braced(parts: Iterable[str]) -> str:
    return f"{{{', '.join(parts)}}}"


def taken(schema: Schema) -> str:
    return f"Sequence[{hint(schema['items'])}]" if schema.get("type") == "array" else hint(schema)
