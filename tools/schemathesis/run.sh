#!/usr/bin/env bash
# Holds a live API node, and a live swap API, to their OpenAPI documents with Schemathesis: every check, valid and invalid input, sequences of calls.
#
#   tools/schemathesis/run.sh [SCHEMATHESIS OPTION …]
#
# Needs Python 3.10 or later with pip. Schemathesis and what it needs, in the versions that requirements.txt pins, go into Mintlake's cache, once.
# They are bench/server and tools/swapserver, so neither Kafka nor ClickHouse is needed. The seed is fixed: two runs ask the same.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${MINTLAKE_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/mintlake}
python=${PYTHON:-python3}
fail() {
  echo "schemathesis: $*" >&2
  exit 1
}

"$python" -c 'import sys, pip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || fail "$python is absent, older than 3.10, or without pip: install it, or set PYTHON"
tag=$("$python" -c 'import sys; print("py%d.%d" % sys.version_info[:2])')
packages=$cache/schemathesis/$tag-$(sha256sum "$here/requirements.txt" | cut -c1-16)
if [[ ! -d $packages ]]; then
  mkdir -p "$cache/schemathesis"
  tmp=$(mktemp -d "$cache/schemathesis/.install.XXXXXX")
  trap 'rm -rf "$tmp"' EXIT
  "$here/../retry.sh" "$python" -m pip install --quiet --disable-pip-version-check --no-input --target "$tmp/packages" -r "$here/requirements.txt" >&2 ||
    fail "pip could not install what requirements.txt names: see its message above, and run this again"
  # The rename makes the folder appear whole. Who loses a race finds it there.
  mv -T "$tmp/packages" "$packages" 2>/dev/null || [[ -d $packages ]] || fail "cannot write $packages"
  rm -rf "$tmp"
fi

work=$(mktemp -d)
server=
stop() {
  [[ -n $server ]] && kill "$server" 2>/dev/null && wait "$server" 2>/dev/null
  server=
}
trap 'stop; rm -rf "$work"' EXIT

# hold FOLDER DOCUMENT ARGUMENT … -- OPTION …: start a server and hold it to its document.
hold() {
  local folder=$1 name=${1//\//-} document=$2 arguments=()
  shift 2
  while [[ $1 != -- ]]; do
    arguments+=("$1")
    shift
  done
  shift
  ${GO:-go} build -C "$here/../../$folder" -o "$work/$name" .
  "$work/$name" "${arguments[@]}" >"$work/$name.address" &
  server=$!
  for _ in $(seq 3000); do
    [[ -s $work/$name.address ]] && break
    kill -0 "$server" 2>/dev/null || fail "$name did not start: see above"
    sleep 0.1
  done
  local address
  address=$(head -n 1 "$work/$name.address")
  [[ -n $address ]] || fail "$name was not ready within five minutes"
  # Schemathesis leaves files where it runs.
  (cd "$work" && PYTHONPATH=$packages PYTHONDONTWRITEBYTECODE=1 "$python" -m schemathesis.cli run "$address/openapi.json" \
    --checks all --seed 20 --workers 1 --max-examples "${EXAMPLES:-100}" --request-timeout 30 --suppress-health-check all --warnings off "$@") ||
    fail "$name and schemas/openapi/$document disagree: see above"
  stop
}

hold bench/server openapi.yaml --tokens 1000 --stream-age 20ms -- "$@"
# Which parameters of a quote go together (one amount, that of swap_mode; a treasury with a fee only) is more than a document of parameters can say.
# So input that it allows may be refused. A stream does not end by itself.
hold tools/swapserver swap.yaml -- --exclude-checks positive_data_acceptance --exclude-path /api/v2/quote/stream "$@"
