#!/usr/bin/env bash
# Our own package for TypeScript: packed, judged by npm's checkers, installed, compiled with --strict under a user's program, which then has its day.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
client=$here/../../../clients/typescript
packages=$("$here/../../npm.sh" "$here" "$MINTLAKE_CLIENTS_CACHE/typescript")
export PATH=$packages/node_modules/.bin:$PATH

tarball=$PWD/$(cd "$client" && npm pack --silent --pack-destination "$OLDPWD")
for file in package.json README.md LICENSE dist/index.js dist/index.d.ts dist/openapi.d.ts dist/swapapi.d.ts; do
  tar -tf "$tarball" "package/$file" >/dev/null || { echo "the package lacks $file" >&2; exit 1; }
done
publint run "$tarball" --strict
attw "$tarball" --profile esm-only --format ascii

# The program of a user of Node, whose types are Node's only.
cp "$here/day.ts" "$here/tsconfig.json" .
echo '{"type": "module", "private": true}' >package.json
npm install --silent --ignore-scripts --no-audit --no-fund --offline "$tarball"
tsc -p . --typeRoots "$packages/node_modules/@types"
node day.js
