#!/usr/bin/env bash
# solana-go, the Go client of others, for JSON-RPC, a WebSocket and the sending of transactions.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
"${GO:-go}" run -C "$here" .
