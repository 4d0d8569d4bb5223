#!/usr/bin/env bash
# The official client of the Model Context Protocol drives `mintlake mcp` over the demo chain, as a model would.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Installed once for each lock file.
packages=$MINTLAKE_CLIENTS_CACHE/mcp-$(sha256sum "$here/package-lock.json" | cut -c1-16)
if [[ ! -e $packages/done ]]; then
  rm -rf "$packages"
  mkdir -p "$packages"
  cp "$here/package.json" "$here/package-lock.json" "$packages/"
  (cd "$packages" && "$here/../../retry.sh" npm ci --ignore-scripts --no-audit --no-fund --loglevel=error)
  touch "$packages/done"
fi
cp "$here"/*.mjs "$packages/" # modules are looked for beside the script
node "$packages/mcp.mjs"
