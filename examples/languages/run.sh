#!/usr/bin/env bash
# One workflow whose nodes run in Python, TypeScript, Bash and over Redis at once: starts a Redis server, a Signaller and the
# four workers, runs the workflow once, says what came out, and ends everything. `make languages` calls it with what it needs.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
signaller=${SIGNALLER_BIN:-signaller}
unset SIGNALLER_BIN
typescript_worker=${TYPESCRIPT_WORKER:?name the compiled worker.mts: make languages does}
folder=$(mktemp -d)
workers=()
finish() {
  # The workers before the servers, or they would look for them.
  for pids in "${workers[*]:2}" "${workers[*]:0:2}"; do
    kill $pids 2>/dev/null || true
    wait $pids 2>/dev/null || true
  done
  rm -rf "$folder"
}
trap finish EXIT
until_it_can() {
  for _ in {1..300}; do "$@" >/dev/null 2>&1 && return; sleep 0.1; done
  echo "in vain for 30 s: $*" >&2
  cat "$folder"/*.log >&2
  exit 1
}
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

redis_port=$(free_port)
export REDIS_URL="redis://127.0.0.1:$redis_port/0"
redis-server --port "$redis_port" --bind 127.0.0.1 --save "" --appendonly no --dir "$folder" >"$folder/redis.log" &
workers+=($!)
until_it_can redis-cli -p "$redis_port" ping

printf '[redis]\nurl = "%s"\ntypes = ["count"]\n' "$REDIS_URL" > "$folder/signaller.toml"
port=$(free_port)
export SIGNALLER_URL="http://127.0.0.1:$port"
"$signaller" serve --config "$folder/signaller.toml" --listen "127.0.0.1:$port" --data-dir "$folder/data" >/dev/null 2>"$folder/server.log" &
workers+=($!)
until_it_can "$signaller" status

python3 "$here/worker.py" & workers+=($!)
"${NODE:-node}" "$typescript_worker" & workers+=($!)
"$signaller" work --type shout -- "$here/shout.sh" >/dev/null & workers+=($!)
python3 "$here/redis_worker.py" & workers+=($!)

"$signaller" workflow put "$here/languages.yaml" >/dev/null
"$signaller" --json run start languages --input '{"text": "a signaller decides which train goes next"}' --wait --timeout 1m \
  | tail -1 | python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)["result"]["output"]))'
