#!/usr/bin/env bash
# Clients of the stream that come back by themselves: Triton's @triton-one/yellowstone-grpc and Helius' helius-laserstream, both with native code. A gateway of
# its own beside the node is killed twice under each of them.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# npm ci wants packages of other platforms in the lock file, which the registry does not have.
packages=$("$here/../../npm.sh" "$here" "$MINTLAKE_CLIENTS_CACHE/reconnect" install)
cp "$here"/*.mjs "$packages/" # modules are looked for beside the script
for client in yellowstone laserstream; do
  node "$packages/reconnect.mjs" "$client" "$PWD/$client"
done
