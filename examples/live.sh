#!/usr/bin/env bash
# A small live example: a server, two workers, and work coming in. Ctrl-C ends all of it.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/target/release:$PATH"
export SIGNALLER_URL="${SIGNALLER_URL:-http://127.0.0.1:7400}"
if signaller --json status >/dev/null 2>&1; then
  echo "a server answers at $SIGNALLER_URL already: stop it, or give this one another place: SIGNALLER_URL=http://127.0.0.1:7401 make run" >&2
  exit 1
fi
data="$(mktemp -d)"
workers=()
# The workers first: they hand in what they have while the server is still there.
trap 'set +e; ((${#workers[@]})) && { kill "${workers[@]}"; wait "${workers[@]}"; } 2>/dev/null; kill $(jobs -p) 2>/dev/null; wait 2>/dev/null; rm -rf "$data"' EXIT

signaller --human dev --listen "${SIGNALLER_URL#http://}" --data-dir "$data" &
server=$!
until signaller --json status >/dev/null 2>&1; do
  kill -0 "$server" 2>/dev/null || exit 1
  sleep 0.1
done

# At most two at once, one per customer, and 5 a second in all.
signaller --json queue set greet --concurrency 2 --key-concurrency customer=1 --rate 5/s >/dev/null
for n in 1 2; do
  signaller --json work --type greet --name "greeter-$n" -- ./examples/greet.sh >/dev/null 2>&1 &
  workers+=($!)
done
signaller --human watch --queue greet &
for n in $(seq 1 1000); do
  customer=$((n % 3))
  signaller --json task add greet -i "{\"name\":\"visitor $n\"}" --key customer=c$customer >/dev/null
  sleep 1
done
