#!/usr/bin/env bash
# Runs unchanged client libraries of others against a whole Mintlake: one `mintlake up` of the demo chain on free ports, in a temporary folder.
#
#   tools/clients/run.sh
#   SUITES='clickhouse kafka' tools/clients/run.sh   only these
#   KEEP=1 tools/clients/run.sh                      leaves the node's folder and log behind
#
# A suite is a folder beside this file with an executable run.sh. It installs what it needs, in pinned versions, into $MINTLAKE_CLIENTS_CACHE,
# says on stdout what it does, and fails with a status that is not 0. It starts in a working folder of its own, which is empty and goes
# afterwards, and gets:
#
#   MINTLAKE_API, MINTLAKE_SWAP, MINTLAKE_RPC, MINTLAKE_STREAM, MINTLAKE_CLICKHOUSE   http://host:port
#   MINTLAKE_RPC_WS                                                                 ws://host:port, the port after that of MINTLAKE_RPC
#   MINTLAKE_METRICS                                                                http://host:port/metrics
#   MINTLAKE_KAFKA                                                                  host:port
#   MINTLAKE_BIN                                                                    the binary, which does not take these variables for settings
#   MINTLAKE_CLIENTS_CACHE                                                          folder for packages that outlives the run
#
# The node is shared: a suite leaves no tables, topics or settings behind, and does not stop it.
# Settings of the node that a suite needs go into the environment below, as MINTLAKE_… variables of the configuration.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
limit=${SUITE_SECONDS:-1200} # what one suite may take
tokens=50                   # what must be listed before the suites begin
fail() {
  echo "clients: $*" >&2
  exit 1
}

suites=()
for name in ${SUITES:-$(cd "$here" && ls -d */)}; do
  name=${name%/}
  [[ -x $here/$name/run.sh ]] || fail "there is no suite $name: $here/$name/run.sh is not there, or is not executable"
  suites+=("$name")
done

work=$(mktemp -d "${TMPDIR:-/tmp}/mintlake-clients.XXXXXX")
node=
stop() { # says whether the node ended as it should
  local status=0
  if [[ -n $node ]]; then
    kill -INT "$node" 2>/dev/null || true
    wait "$node" || status=$?
    node=
  fi
  return "$status"
}
leave() {
  stop || true
  [[ -n ${KEEP:-} ]] && echo "clients: the node's folder and log are in $work" || rm -rf "$work"
}
trap leave EXIT
trap 'exit 130' INT TERM

(cd "$root" && ${GO:-go} build -o bin/mintlake ./cmd/mintlake)
bin=$root/bin/mintlake

# Solana's clients look for WebSockets at the port after the RPC address, so two free ones in a row are wanted. They are below those that the kernel
# gives to others meanwhile.
rpc_port=$(python3 - <<'END'
import random, socket
first = int(open("/proc/sys/net/ipv4/ip_local_port_range").read().split()[0])
while True:
    port = random.randrange(10_000, first - 1 if first > 11_000 else 32_767)
    with socket.socket() as a, socket.socket() as b:
        try:
            a.bind(("127.0.0.1", port))
            b.bind(("127.0.0.1", port + 1))
        except OSError:
            continue
        print(port)
        break
END
)

# Nothing outside this machine is asked for. A slow machine may take long to stop. A program that says by X-Forwarded-For who it is has a rate limit
# of its own.
MINTLAKE_ENRICH_OFFCHAIN=false MINTLAKE_STOP_TIMEOUT=2m MINTLAKE_API_TRUSTED_PROXIES=127.0.0.1 "$bin" up --data-dir "$work/data" --source 'demo:?past=0&tps=50&tokens=200' \
  --api-addr 127.0.0.1:0 --swap-addr 127.0.0.1:0 --rpc-addr "127.0.0.1:$rpc_port" --stream-addr 127.0.0.1:0 --metrics-addr 127.0.0.1:0 \
  --kafka-addr 127.0.0.1:0 --clickhouse-addr 127.0.0.1:0 >"$work/stdout" 2>"$work/stderr" &
node=$!
# await COMMAND…: until it succeeds, for five minutes at most, as long as the node lives.
await() {
  for _ in $(seq 1500); do
    "$@" && return
    kill -0 "$node" 2>/dev/null || { cat "$work/stderr" >&2; fail "the node ended: see above"; }
    sleep 0.2
  done
  tail -n 50 "$work/stderr" >&2
  fail "the node was not ready within five minutes ($*): see the end of its log above"
}
await grep -qs '^addresses ' "$work/stdout"
for pair in $(sed -n 's/^addresses //p' "$work/stdout"); do
  name=${pair%%=*}
  export "MINTLAKE_${name^^}=${pair#*=}"
done
export MINTLAKE_BIN=$work/mintlake
printf '#!/bin/sh\nfor name in API SWAP RPC RPC_WS STREAM METRICS KAFKA CLICKHOUSE BIN CLIENTS_CACHE; do unset MINTLAKE_$name; done\nexec %q "$@"\n' "$bin" >"$MINTLAKE_BIN"
chmod +x "$MINTLAKE_BIN"
export MINTLAKE_CLIENTS_CACHE=${MINTLAKE_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/mintlake}/clients
mkdir -p "$MINTLAKE_CLIENTS_CACHE"
await curl -fso "$work/ready" "$MINTLAKE_API/readyz"
listed() { (($(curl -fs "$MINTLAKE_API/status" | grep -o '"registry":{"tokens":[0-9]*' | grep -o '[0-9]*$' || echo 0) >= tokens)); }
await listed

passed=0 failed=0
for name in "${suites[@]}"; do
  printf '\n-- %s\n' "$name"
  begin=$SECONDS status=0
  mkdir "$work/$name"
  (cd "$work/$name" && exec timeout --kill-after=10 "$limit" "$here/$name/run.sh") || status=$?
  rm -rf "${work:?}/$name"
  took=$((SECONDS - begin))
  case $status in
  0) echo "-- $name passed in $took s" && passed=$((passed + 1)) && continue ;;
  124) echo "-- $name FAILED: not done within $limit s" ;;
  *) echo "-- $name FAILED with status $status after $took s" ;;
  esac
  failed=$((failed + 1))
done

if ! kill -0 "$node" 2>/dev/null || ! stop; then
  echo "-- the node did not end cleanly; its log ends with:"
  tail -n 50 "$work/stderr"
  failed=$((failed + 1))
fi
printf '\n%d passed, %d failed\n' "$passed" "$failed"
((failed == 0))
