#!/bin/sh
# An agent that changes the run it works in. Its lease is its right: no run has to be named, and another that is named is refused.
#
#   signaller workflow put examples/workflows/patched-by-agent.yaml
#   signaller work --type function --type agent -- examples/patching-agent.sh
#   signaller run start patched-by-agent -i '{"topic":"tea"}' --wait
set -eu
cat >/dev/null

case "$SIGNALLER_NODE" in
plan)
    # Made again after a crash, it changes nothing more: what is there already stays as it is.
    signaller run patch --description 'look at the prices, then report' -f - >&2 <<'OPERATIONS'
[
  {"op": "add", "path": "/nodes/prices", "value": {"type": "function", "after": ["plan"], "with": {"plan": "${nodes.plan.output}"}}},
  {"op": "add", "path": "/nodes/report", "value": {"type": "function", "after": ["prices"]}},
  {"op": "add", "path": "/output", "value": "nodes.report.output"}
]
OPERATIONS
    echo '{"steps": ["prices", "report"]}'
    ;;
*)
    printf '{"did": "%s"}\n' "$SIGNALLER_NODE"
    ;;
esac
