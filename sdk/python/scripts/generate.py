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


def typed(name: str, base: str, fields: dict[str, Any]) -> str:
    """Any field may be missing; the few whose name is a word of Python are left out."""
    lines = [f"    {field}: {hint(schema)}" for field, schema in sorted(fields.items()) if not keyword.iskeyword(field)]
    return "\n".join([f"class {name}({base}, total=False):", *lines, "", ""])


def generate(described: dict[str, Any]) -> str:
    """Of all that is described, the schemas above and what they are made of."""
    schemas: dict[str, dict[str, Any]] = described["components"]["schemas"]
    names, found = set[str](), {*ROOTS, *NEW}
    while found:
        names |= found
        found = {name for one in found for name in re.findall(r"'#/components/schemas/(\w+)'", str(schemas[one]))} - names
    plain = [f"{name} = {hint(schemas[name])}" for name in sorted(names) if "properties" not in schemas[name]]
    parts = [HEAD, "\n".join(plain), "", ""]
    for name in sorted(name for name in names if "properties" in schemas[name]):
        fields, first = schemas[name]["properties"], NEW.get(name, set())
        if first:
            parts.append(typed(f"{name}Options", "TypedDict", {field: fields[field] for field in fields.keys() - first}))
        base = f"{name}Options" if first else "TypedDict"
        parts.append(typed(name, base, {field: fields[field] for field in first or fields}))
    return "\n".join(parts).rstrip("\n") + "\n"


if __name__ == "__main__":
    API.write_text(generate(json.load(sys.stdin)))
