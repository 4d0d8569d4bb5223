#!/usr/bin/env bash
# Installs the npm packages of the tests in a browser, once for each lock file, and prints their folder.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
packages=${MINTLAKE_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/mintlake}/web-$(sha256sum "$here/package-lock.json" | cut -c1-16)
if [ ! -e "$packages/done" ]; then
  rm -rf "$packages"
  mkdir -p "$packages"
  cp "$here/package.json" "$here/package-lock.json" "$packages/"
  (cd "$packages" && "$here/../retry.sh" npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) >&2
  touch "$packages/done"
fi
echo "$packages"
