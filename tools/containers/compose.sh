#!/usr/bin/env bash
# Prints the path of a Docker Compose in the version that tools/compose/go.mod pins, built from its Go module once.
set -euo pipefail
module=$(cd "$(dirname "${BASH_SOURCE[0]}")/../compose" && pwd)
version=$(sed -n 's|.*github.com/docker/compose/v2 \(v[^ ]*\).*|\1|p' "$module/go.mod")
cache=${MINTLAKE_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/mintlake}
binary=$cache/compose/$version/docker-compose
if [ ! -x "$binary" ]; then
  mkdir -p "$(dirname "$binary")"
  echo "containers: building Docker Compose $version (some two minutes of two cores)" >&2
  (cd "$module" && ${GO:-go} build -ldflags "-s -w -X github.com/docker/compose/v2/internal.Version=$version" \
    -o "$binary.$$" github.com/docker/compose/v2/cmd)
  mv "$binary.$$" "$binary"
fi
echo "$binary"
