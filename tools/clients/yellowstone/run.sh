#!/usr/bin/env bash
# Triton's own Yellowstone client for Node.js with its native code: the compressed filters that it builds are those that the stream is tested with.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# Installed once for each lock file.
packages=$MINTLAKE_CLIENTS_CACHE/yellowstone-$(sha256sum "$here/package-lock.json" | cut -c1-16)
if [[ ! -e $packages/done ]]; then
  rm -rf "$packages"
  mkdir -p "$packages"
  cp "$here/package.json" "$here/package-lock.json" "$packages/"
  # npm ci wants packages of other platforms in the lock file, which the registry does not have.
  (cd "$packages" && "$here/../../retry.sh" npm install --ignore-scripts --no-audit --no-fund --loglevel=error)
  touch "$packages/done"
fi
cp "$here"/*.mjs "$packages/" # modules are looked for beside the script
echo vectors
node "$packages/vectors.mjs" >cuckoo.json
diff -q "$here/../../../gateway/stream/testdata/cuckoo.json" cuckoo.json
