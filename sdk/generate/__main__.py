"""Reads the description, and writes what is made of it."""

import json
import sys
from pathlib import Path

from . import python, typescript

SDK = Path(__file__).parents[1]
MADE = {SDK / "python/src/signaller/api.py": python.generate, SDK / "typescript/src/calls.ts": typescript.generate}

if __name__ == "__main__":
    described = json.load(sys.stdin)
    for path, generate in MADE.items():
        path.write_text(generate(described))
