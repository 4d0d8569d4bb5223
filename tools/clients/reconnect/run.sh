#!/usr/bin/env bash
# Clients of the stream that come back by themselves: Triton's @triton-one/yellowstone-grpc and Helius' helius-laserstream, both with native code. A gateway of
# its own beside the node is killed twice under each of them.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Installed once for each lock file.
packages=$MINTLAKE_CLIENTS_CACHE/reconnect-$(sha256sum "$here/package-lock.json" | cut -c1-16)
if [[ ! -e $packages/done ]]; then
  rm -rf "$packages"
  mkdir -p "$packages"
  cp "$here/package.json" "$here/package-lock.json" "$packages/"
  # npm ci wants packages of other platforms in the lock file, which the registry does not have.
  (cd "$packages" && "$here/../../retry.sh" npm install --ignore-scripts --no-audit --no-fund --loglevel=error)
  touch "$packages/done"
fi
cp "$here"/*.mjs "$packages/" # modules are looked for beside the script
for client in yellowstone laserstream; do
  node "$packages/reconnect.mjs" "$client" "$PWD/$client"
done
