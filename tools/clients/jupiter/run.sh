#!/usr/bin/env bash
# Jupiter's own client of its swap API, unchanged but for its base path.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Installed once for each lock file.
packages=$MINTLAKE_CLIENTS_CACHE/jupiter-$(sha256sum "$here/package-lock.json" | cut -c1-16)
if [[ ! -e $packages/done ]]; then
  rm -rf "$packages"
  mkdir -p "$packages"
  cp "$here/package.json" "$here/package-lock.json" "$packages/"
  (cd "$packages" && "$here/../../retry.sh" npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
  touch "$packages/done"
fi
cp "$here"/*.mjs "$here/../web3/check.mjs" "$packages/" # modules are looked for beside the script
node "$packages/jupiter.mjs"
