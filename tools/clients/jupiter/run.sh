#!/usr/bin/env bash
# Jupiter's own client of its swap API, unchanged but for its base path.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
packages=$("$here/../../npm.sh" "$here" "$MINTLAKE_CLIENTS_CACHE/jupiter")
cp "$here"/*.mjs "$here/../web3/check.mjs" "$packages/" # modules are looked for beside the script
node "$packages/jupiter.mjs"
