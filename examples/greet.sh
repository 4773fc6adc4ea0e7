#!/usr/bin/env bash
# A worker's command: the task comes in as JSON on stdin, the result goes out as JSON on stdout.
set -euo pipefail
name="$(sed -E 's/.*"name":"([^"]*)".*/\1/' <<<"$(cat)")"
sleep 0.5
printf '{"greeting":"Hello, %s!"}\n' "$name"
