#!/usr/bin/env bash
# Measures the gateway's stream, each figure with its peer in the same run.
#
#   bench/gateway/run.sh                 fan-out, idle memory, replay, latency, reads, filter engine
#   ONLY=fanout bench/gateway/run.sh     fanout, idle, replay, latency, reads or engine
#   bench/gateway/run.sh --rounds 9      flags of bench-gateway
#
# fan-out is compared with the binary of the commit before the stream had an index, built here in a worktree; the filter engine with the Rust
# crate richat-filter (one matcher per client, as its server has), for which cargo is needed;
# reads with Debian's nginx, which is installed where that may be.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
go=${GO:-go}
base=db8d7234485a3c03 # the commit before the index
cache=${MINTLAKE_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/mintlake}/bench-gateway
block=${MINTLAKE_BENCH_BLOCK:-$root/../shared/data/blocks/332254855.confirmedblock.pb}
only=${ONLY:-}
mkdir -p "$cache"
work=$(mktemp -d "${TMPDIR:-/tmp}/mintlake-bench.XXXXXX")
trap 'git -C "$root" worktree remove --force "$work/base" 2>/dev/null || true; rm -rf "$work"' EXIT

cd "$root"
$go build -o bin/mintlake ./cmd/mintlake
(cd bench && $go build -o ../bin/bench-gateway ./gateway)

if [[ -z $only || $only == fanout ]]; then
  if [[ ! -x $cache/mintlake-$base ]]; then
    git worktree add --quiet --detach "$work/base" "$base"
    (cd "$work/base" && $go build -o "$cache/mintlake-$base" ./cmd/mintlake)
  fi
  echo "== fan-out"
  bin/bench-gateway --server bin/mintlake --base "$cache/mintlake-$base" --block "$block" --only fanout "$@"
fi
if [[ -z $only || $only == idle ]]; then
  echo "== idle clients"
  bin/bench-gateway --server bin/mintlake --only idle "$@"
fi
if [[ -z $only || $only == replay ]]; then
  echo "== replay"
  bin/bench-gateway --server bin/mintlake --block "$block" --only replay "$@"
fi
if [[ -z $only || $only == latency ]]; then
  echo "== latency beside direct Geyser"
  bin/bench-gateway --server bin/mintlake --block "$block" --only latency "$@"
fi
if [[ -z $only || $only == reads ]]; then
  echo "== reads through JSON-RPC"
  if ! command -v nginx >/dev/null && [[ ! -x /usr/sbin/nginx ]]; then
    [[ $(id -u) == 0 ]] || { echo "bench-gateway: install nginx-light first" >&2; exit 1; }
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq nginx-light >/dev/null
  fi
  PATH=$PATH:/usr/sbin bin/bench-gateway --server bin/mintlake --only reads "$@"
fi
if [[ -z $only || $only == engine ]]; then
  echo "== filter engine: one block of 1,500 transactions, 1,000 clients of 20 addresses"
  command -v cargo >/dev/null || { echo "bench-gateway: cargo is needed for the peer richat-filter" >&2; exit 1; }
  (cd "$here/richat" && CARGO_TARGET_DIR=$cache/richat cargo build --release --quiet)
  for _ in 1 2 3; do # in turns
    MINTLAKE_BENCH_DIR=$work $go test -run '^$' -bench '^BenchmarkEngine$' -benchtime 3s ./gateway/stream |
      tee -a "$work/engine" | grep -o '[0-9.]* median-µs/block' | cut -d' ' -f1 >>"$work/ours"
    "$cache/richat/release/richat-bench" "$work/messages" "$work/filters" 6 >"$work/round"
    grep -q '^updates 3000$' "$work/round" || { echo "bench-gateway: richat-filter selects something else: $(tail -n 1 "$work/round")" >&2; exit 1; }
    grep -v updates "$work/round" >>"$work/theirs"
  done
  median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
  bin/bench-gateway --medians "$(awk -v ours="$(median "$work/ours")" -v theirs="$(median "$work/theirs")" 'BEGIN { print ours / 1000 "," theirs / 1000 }')"
fi
