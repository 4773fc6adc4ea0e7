"""The types of the API as the server describes it, as far as this package uses them: `make sdk-types` writes `api.py`."""

from __future__ import annotations

import json
import keyword
import re
import sys
from pathlib import Path
from typing import Any

ROOTS = ["EventEmitted", "RunStarted", "RunView", "TaskAdded", "TaskView"]
# What is told of something new, and which of it are no options.
NEW = {"EventEmit": {"name", "data"}, "RunStart": {"workflow", "input"}, "TaskAdd": {"type", "input"}}
# What a function is told of its task is an object of its own kind.
TOLD = ["WorkTask"]
API = Path(__file__).parents[1] / "src/signaller/api.py"
HEAD = '''"""Made by `make sdk-types` from the server's own description. Do not edit."""

from __future__ import annotations

from typing import Any, Literal, TypedDict
'''
PLAIN = {"string": "str", "integer": "int", "number": "float", "boolean": "bool", "null": "None"}


def hint(schema: dict[str, Any]) -> str:
    match schema:
        case {"$ref": str(path)}:
            return path.rsplit("/", 1)[1]
        case {"oneOf": kinds}:
            return " | ".join(map(hint, kinds))
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


def typed(name: str, bases: list[str], fields: dict[str, Any], total: bool) -> str:
    """The few fields whose name is a word of Python are left out."""
    lines = [f"    {field}: {hint(schema)}" for field, schema in sorted(fields.items()) if not keyword.iskeyword(field)]
    heads = [*(bases or ["TypedDict"]), *([] if total else ["total=False"])]
    return "\n".join([f"class {name}({', '.join(heads)}):", *(lines or ["    pass"]), "", ""])


def types(name: str, schema: dict[str, Any]) -> list[str]:
    """One class, or more: options have one of their own, and so has what is never missing, where other fields may be."""
    fields, bases, made = schema["properties"], [], []
    required, options = {*schema.get("required", [])}, fields.keys() - NEW[name] if name in NEW else set()
    for part, chosen in ((f"{name}Options", options), (f"{name}Required", required)):
        if chosen and chosen != fields.keys():
            made.append(typed(part, [], {field: fields[field] for field in chosen}, part.endswith("Required")))
            bases.append(part)
            fields = {field: fields[field] for field in fields.keys() - chosen}
    return [*made, typed(name, bases, fields, fields.keys() == required)]


def told(name: str, schema: dict[str, Any]) -> str:
    """A class whose attributes are None where they may be missing."""
    lines = [f"class {name}:"]
    for field, of in schema["properties"].items():
        missing = "" if field in schema["required"] else " = None"
        lines.append(f"    {field}: {hint(of)}{missing}" + (f"  #: {of['description']}" if "description" in of else ""))
    return "\n".join([*lines, "", ""])


def generate(described: dict[str, Any]) -> str:
    """Of all that is described, the schemas above and what they are made of."""
    schemas: dict[str, dict[str, Any]] = described["components"]["schemas"]
    names, found = set[str](), {*ROOTS, *NEW, *TOLD}
    while found:
        names |= found
        found = {name for one in found for name in re.findall(r"'#/components/schemas/(\w+)'", str(schemas[one]))} - names
    plain = [f"{name} = {hint(schemas[name])}" for name in sorted(names) if "properties" not in schemas[name]]
    fields = sorted(name for name in names - {*TOLD} if "properties" in schemas[name])
    made = [part for name in fields for part in types(name, schemas[name])] + [told(name, schemas[name]) for name in TOLD]
    return "\n".join([HEAD, "\n".join(plain), "", "", *made]).rstrip("\n") + "\n"


if __name__ == "__main__":
    API.write_text(generate(json.load(sys.stdin)))
