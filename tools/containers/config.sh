#!/usr/bin/env bash
# Holds docker-compose.yml to Compose's own schema and rules, for the demo and for mainnet; needs no engine.
set -euo pipefail
cd "$(dirname "$0")/../.."
fail() {
  echo "compose config: $*" >&2
  exit 1
}
tool=$(mktemp -d)
trap 'rm -r "$tool"' EXIT
"${GO:-go}" build -C tools/compose -o "$tool/config" ./config
# Nobody's .env and variables take part.
run() { env -i PATH="$PATH" HOME="$HOME" "$tool/config" "$@"; }

demo=$(run /dev/null)
names=$(run /dev/null --services | sort | xargs)
[ "$names" = "api clickhouse demo enrich gateway grafana ingest kafka migrate projector prometheus swap valkey volume" ] ||
  fail "the services of the demo are $names"
grep -q 'MINTLAKE_SOURCE: geyser+http://demo:10001' <<<"$demo" || fail "ingest does not read the demo"
published=$(sed -n 's/^ *host_ip: //p' <<<"$demo" | sort -u)
[ "$published" = 127.0.0.1 ] && [ "$(grep -c 'published:' <<<"$demo")" = "$(grep -c 'host_ip: 127.0.0.1' <<<"$demo")" ] ||
  fail "a port is published beyond this machine: $published"
images=$(grep -E '^ *image:' <<<"$demo")
if grep -qE ':latest' <<<"$images" || [ -n "$(grep -Ev ':[^:/]+$|mintlake:' <<<"$images")" ]; then
  fail "an image has no tag, or latest"
fi

services=$(run .env.example --services)
grep -qx ingest-mainnet <<<"$services" || fail ".env.example does not bring ingest-mainnet"
mainnet=$(run .env.example)
grep -q 'MINTLAKE_SOURCE: geyser+https://your-provider:443' <<<"$mainnet" || fail "ingest-mainnet does not read the endpoint of .env"
grep -q 'MINTLAKE_RPC_UPSTREAM: https://your-rpc' <<<"$mainnet" || fail "the rooms do not use the RPC server of .env"
[ "$(grep -c 'scale: 0' <<<"$mainnet")" = 2 ] || fail "the demo and its ingest run beside mainnet"
grep -q '^name: mintlake-mainnet' <<<"$mainnet" || fail "mainnet shares the demo's volumes"
echo "compose config: the demo's services: $names"
