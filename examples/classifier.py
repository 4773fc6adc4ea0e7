#!/usr/bin/env python3
"""A command for tasks of type `classifier`: a text in, a label out. Set up in examples/signaller.toml.

The task comes as JSON on stdin, the last line on stdout is its output, stderr is its log. Exit 65: the data is wrong, another
attempt would not help. Exit 75: not now, try again later.
"""

import json
import sys

LABELS = {
    "refund": ("refund", "money back", "charge back", "pay out"),
    "outage": ("down", "outage", "error 500", "unreachable"),
}


def label(text):
    found = [name for name, words in LABELS.items() if any(word in text.lower() for word in words)]
    return found[0] if found else "other"


task = json.load(sys.stdin)
text = task["input"].get("text") if isinstance(task["input"], dict) else None
if not isinstance(text, str):
    print('the input has no text: give {"text": "…"}', file=sys.stderr)
    sys.exit(65)
print(f"attempt {task['attempt']} at {len(text)} characters", file=sys.stderr)
print(json.dumps({"label": label(text)}))
