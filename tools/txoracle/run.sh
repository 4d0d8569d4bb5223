#!/usr/bin/env bash
# Holds our reader of transactions to Solana's own code, over random and damaged ones: to solders, which is built on solana-message 4, and
# with CRATE=1 to the crate solana-transaction 6 too.
#
#   tools/txoracle/run.sh
#   CRATE=1 SEEDS='1 2 3' tools/txoracle/run.sh
#
# Needs Python with pip, and with CRATE=1 cargo. What they install goes into Mintlake's cache.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${MINTLAKE_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/mintlake}/txoracle
venv=$cache/solders-$(sha256sum "$here/requirements.txt" | cut -c1-16)
if [[ ! -e $venv/done ]]; then
  rm -rf "$venv"
  mkdir -p "$cache"
  python3 -m venv "$venv"
  "$here/../retry.sh" "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
  touch "$venv/done"
fi

hold() { # hold NAME LIMITS COMMAND…: once for each seed
  for seed in ${SEEDS:-1}; do
    echo "$1, seed $seed"
    MINTLAKE_TEST_TXORACLE_SEED=$seed MINTLAKE_TEST_TXORACLE_LIMITS=$2 MINTLAKE_TEST_TXORACLE="${*:3}" \
      "${GO:-go}" test -C "$here/../.." -count=1 -run '^TestOracle$' ./solana/txwire
  done
}

hold solders 1 "$venv/bin/python" "$here/solders_oracle.py"
if [[ -n ${CRATE:-} ]]; then
  mkdir -p "$cache/crate"
  cp -r "$here/crate/." "$cache/crate" # cargo writes a lock file beside the manifest
  (cd "$cache/crate" && cargo build --quiet --release)
  hold crate 0 "$cache/crate/target/release/txoracle"
fi
