#!/usr/bin/env bash
# The node `shout`, in Bash: one task as JSON on stdin, its output on stdout.
python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)["input"]["text"].upper() + "!"))'
