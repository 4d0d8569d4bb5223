#!/usr/bin/env bash
# Triton's own Yellowstone client for Node.js with its native code: the compressed filters that it builds are those that the stream is tested with.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

# npm ci wants packages of other platforms in the lock file, which the registry does not have.
packages=$("$here/../../npm.sh" "$here" "$MINTLAKE_CLIENTS_CACHE/yellowstone" install)
cp "$here"/*.mjs "$packages/" # modules are looked for beside the script
echo vectors
node "$packages/vectors.mjs" >cuckoo.json
diff -q "$here/../../../gateway/stream/testdata/cuckoo.json" cuckoo.json
