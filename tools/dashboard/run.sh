#!/usr/bin/env bash
# Starts a node over the demo chain, makes a dead letter, and drives its dashboard in headless
# Chromium (CHROMIUM=/usr/bin/chromium: that one). Screenshots go to bin/dashboard.
set -euo pipefail
cd "$(dirname "$0")/../.."
GO=${GO:-go} CHROMIUM=${CHROMIUM:-$(tools/web/install.sh)}
(cd tools/dashboard && ../retry.sh npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
work=$(mktemp -d)
export MINTLAKE_ADMIN_TOKEN=a-token-of-test-dashboard
free=127.0.0.1:0
bin/mintlake up --data-dir "$work/data" --source 'demo:?past=0&tps=50&tokens=100' --kafka-addr $free --clickhouse-addr $free --api-addr $free --rpc-addr $free \
	--stream-addr $free --swap-addr $free --metrics-addr $free --admin-addr $free >"$work/log" 2>&1 &
node=$!
trap 'kill $node 2>/dev/null; wait $node 2>/dev/null || true; rm -rf "$work"' EXIT
for tries in $(seq 3000); do
	grep -q '^addresses' "$work/log" && break
	kill -0 $node 2>/dev/null || { tail -5 "$work/log"; exit 1; }
	[ "$tries" != 3000 ] || { tail -n 50 "$work/log"; echo "test-dashboard: the node was not ready within five minutes"; exit 1; }
	sleep 0.1
done
at() { grep '^addresses' "$work/log" | tr ' ' '\n' | sed -n "s/^$1=//p"; }
$GO run ./tools/dashboard/letter "$(at kafka)" </dev/null
mkdir -p bin/dashboard
export SHOTS=$PWD/bin/dashboard LETTERS=1 TOKEN=$MINTLAKE_ADMIN_TOKEN CHROMIUM
ADMIN=$(at admin) RPC=$(at rpc)
export ADMIN RPC
node tools/dashboard/drive.mjs
node -e 'import("./tools/web/payloads.mjs").then(({ payloads }) => console.log(JSON.stringify(payloads)))' >"$work/texts"
$GO run ./tools/dashboard/letter "$(at kafka)" <"$work/texts"
node tools/dashboard/hostile.mjs
