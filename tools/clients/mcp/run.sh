#!/usr/bin/env bash
# The official client of the Model Context Protocol drives `mintlake mcp` over the demo chain, as a model would.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
packages=$("$here/../../npm.sh" "$here" "$MINTLAKE_CLIENTS_CACHE/mcp")
cp "$here"/*.mjs "$packages/" # modules are looked for beside the script
node "$packages/mcp.mjs"
