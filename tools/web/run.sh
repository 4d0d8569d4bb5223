#!/usr/bin/env bash
# Looks at the explorer in a browser: one `mintlake up` of the demo chain on free ports, in a temporary folder, and Debian's Chromium.
#
#   tools/web/run.sh                      all tests
#   tools/web/run.sh --test-name-pattern=search
#   PAYLOADS=few tools/web/run.sh         the hostile tokens are a third of them
#   PICTURES=docs/images tools/web/run.sh also writes the pictures of the docs there
#   tools/web/run.sh bench                measures the wait for a result instead
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
fail() {
  echo "web: $*" >&2
  exit 1
}
CHROMIUM=$("$here/install.sh") || exit 1
export CHROMIUM

packages=$("$here/packages.sh")
work=$(mktemp -d "${TMPDIR:-/tmp}/mintlake-web.XXXXXX")
node='' documents=''
leave() {
  [ -z "$documents" ] || kill "$documents" 2>/dev/null || true
  [ -z "$node" ] || { kill -INT "$node" 2>/dev/null && wait "$node" 2>/dev/null; } || true
  rm -rf "$work"
}
trap leave EXIT
trap 'exit 130' INT TERM
# Modules are looked for beside the script. The folder of packages is one for all checkouts.
mkdir "$work/tests"
cp "$here"/*.mjs "$work/tests/"
ln -s "$packages/node_modules" "$work/tests/node_modules"
(cd "$root" && "${GO:-go}" build -o "$work/tokens" ./tools/web/tokens)
node "$work/tests/documents.mjs" >"$work/documents" &
documents=$!
for tries in $(seq 300); do
  DOCUMENTS=$(cat "$work/documents")
  [ -z "$DOCUMENTS" ] || break
  [ "$tries" != 300 ] || fail "the server of documents did not begin within a minute"
  sleep 0.2
done
# Tests ask faster than people do. The limits have a node of their own, in gap.test.mjs.
"$root/bin/mintlake" up --data-dir "$work/data" --source 'demo:?past=0&tps=20&tokens=100' --rate-limits-enabled=false --enrich-allow-private "$DOCUMENTS" \
  --api-addr 127.0.0.1:0 --swap-addr 127.0.0.1:0 --rpc-addr 127.0.0.1:0 --stream-addr 127.0.0.1:0 --metrics-addr 127.0.0.1:0 \
  --kafka-addr 127.0.0.1:0 --clickhouse-addr 127.0.0.1:0 >"$work/stdout" 2>"$work/stderr" &
node=$!
for tries in $(seq 1500); do
  MINTLAKE_API=$(sed -n 's/^addresses .*\bapi=\([^ ]*\).*/\1/p' "$work/stdout")
  [ -n "$MINTLAKE_API" ] && curl -fso "$work/ready" "$MINTLAKE_API/readyz" && break
  kill -0 "$node" 2>/dev/null || { cat "$work/stderr" >&2; fail "the node ended: see above"; }
  [ "$tries" != 1500 ] || { tail -n 50 "$work/stderr" >&2; fail "the node was not ready within five minutes: see the end of its log above"; }
  sleep 0.2
done
address() { sed -n "s/^addresses .*\\b$1=\\([^ ]*\\).*/\\1/p" "$work/stdout"; }
MINTLAKE_SWAP=$(address swap) MINTLAKE_RPC=$(address rpc)
export MINTLAKE_API MINTLAKE_SWAP MINTLAKE_RPC DOCUMENTS TOKENS=$work/tokens MINTLAKE=$root/bin/mintlake PICTURES=${PICTURES:+$(cd "$PICTURES" && pwd)}
cd "$work/tests"
if [ "${1:-}" = bench ]; then
  node bench.mjs
  exit
fi
# Beside the others: most of its time it waits for a rate limit of its own node.
node --test "$@" gap.test.mjs >"$work/gap" 2>&1 &
gap=$!
failed=0
# Two files at a time, since each waits much. Hostile tokens come last: no other test is to meet them. That test has four tabs.
node --test --test-concurrency=2 "$@" explorer.test.mjs trouble.test.mjs quote.test.mjs docs.test.mjs || failed=1
node --test "$@" hostile.test.mjs || failed=1
wait "$gap" || failed=1
cat "$work/gap"
exit "$failed"
