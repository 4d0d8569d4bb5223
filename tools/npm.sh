#!/usr/bin/env bash
# Installs the npm packages that a folder's lock file names, once for each lock file, and prints where they are.
#
#   tools/npm.sh FOLDER CACHE [install]   into CACHE-<hash of the lock file>; "install" is for lock files without the packages of other platforms
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
packages=$2-$(sha256sum "$1/package-lock.json" | cut -c1-16)
if [[ ! -e $packages/done ]]; then
  rm -rf "$packages"
  mkdir -p "$packages"
  cp "$1/package.json" "$1/package-lock.json" "$packages/"
  (cd "$packages" && "$here/retry.sh" npm "${3:-ci}" --ignore-scripts --no-audit --no-fund --loglevel=error) >&2
  touch "$packages/done"
fi
echo "$packages"
