#!/usr/bin/env bash
# Builds images in the engine that DOCKER_HOST names.
#
#   tools/containers/images.sh WHAT
#
#   mintlake   mintlake:dev of this checkout, for docker compose; official base images
#   both       that, and mintlake:engine, which has the embedded engine
#   bases      stand-ins for the base images
#   own        both on stand-ins for the base images
#   standins   that, and stand-ins for every image of docker-compose.yml, tagged as the official
#              ones: for machines without an image registry
#   suites     stand-ins for the servers of the suites only: Kafka, ClickHouse and Valkey
#
# A tag that holds an image which is no stand-in is never overwritten.
set -euo pipefail
cd "$(dirname "$0")/../.."
export DOCKER_BUILDKIT=0 # Debian's engine comes without buildx
GO=${GO:-go}
cache=${MINTLAKE_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/mintlake}
work=$cache/containers/work
here=tools/containers/standins

say() { echo "containers: $* (${SECONDS} s)" >&2; }
fail() {
  echo "containers: $*" >&2
  exit 1
}
build() { docker build -q "$@" >/dev/null || fail "docker build $*"; }
# ours says whether a tag may be made: it is free, or holds a stand-in.
ours() {
  docker image inspect "$1" >/dev/null 2>&1 || return 0
  [ -n "$(docker image inspect -f '{{index .Config.Labels "mintlake.standin"}}' "$1")" ] ||
    fail "$1 is an image that is no stand-in, in the engine at ${DOCKER_HOST:-the default socket}: use the official images, or MINTLAKE_ENGINE=own"
}
# stamped says whether an image was made of what it would be made of now.
stamped() { [ "$(docker image inspect -f '{{index .Config.Labels "mintlake.stamp"}}' "$1" 2>/dev/null)" = "$stamp" ]; }
has() { docker image inspect "$1" >/dev/null 2>&1; }
# image prints the tag that docker-compose.yml has for an official image.
image() { sed -n "s|^ *image: \($1:[^ ]*\).*|\1|p" docker-compose.yml | head -n 1; }

version=$(git describe --tags --always --dirty 2>/dev/null || echo unknown)
args=(--build-arg "VERSION=$version" --build-arg "COMMIT=$(git rev-parse HEAD 2>/dev/null)" --build-arg "DATE=$(git log -1 --format=%cI 2>/dev/null)")

mintlake() {
  build "${args[@]}" --target rooms -t mintlake:dev .
  say "mintlake:dev is built"
}

# base makes debian:bookworm-slim from Debian's packages.
base() {
  ours debian:bookworm-slim
  has debian:bookworm-slim && return
  command -v debootstrap >/dev/null ||
    (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends debootstrap) >/dev/null 2>&1 ||
    fail "debootstrap is not installed, and apt-get could not install it"
  rm -rf "$work/root" && mkdir -p "$work/root"
  debootstrap --variant=minbase bookworm "$work/root" >"$work/debootstrap.log" 2>&1 || fail "debootstrap: see $work/debootstrap.log"
  rm -rf "$work"/root/var/cache/apt/archives/*.deb "$work"/root/var/lib/apt/lists/* "$work"/root/usr/share/doc/* "$work"/root/usr/share/locale/*
  tar -C "$work/root" -c . | docker import -c 'LABEL mintlake.standin=debian' -c 'CMD ["bash"]' - debian:bookworm-slim >/dev/null
  rm -rf "$work/root"
  say "debian:bookworm-slim is made"
}

# golang and nodeimage take what this machine fetches, so that a build of an image fetches nothing.
# golang holds the modules compiled, too.
golang() {
  ours golang:1.26-bookworm
  stamp=$({ $GO version && cat go.sum "$here/golang.Dockerfile" tools/containers/images.sh; } | sha256sum | cut -c1-16)
  stamped golang:1.26-bookworm && return
  rm -rf "$work/go" "$work/modcache" && mkdir -p "$work/go"
  cp -rl "$($GO env GOROOT)" "$work/go/go" 2>/dev/null || cp -r "$($GO env GOROOT)" "$work/go/go"
  rm -rf "$work/go/go/test" "$work/go/go/doc" "$work/go/go/api"
  cp -L /etc/ssl/certs/ca-certificates.crt "$work/go/"
  # Into a cache of its own, as the build in the image does it: that reads go.mod files, too, of modules that it does not download.
  GOMODCACHE=$work/modcache GOFLAGS=-modcacherw GOPROXY="file://$($GO env GOMODCACHE)/cache/download,$($GO env GOPROXY)" $GO mod download ||
    fail "go mod download"
  mv "$work/modcache/cache/download" "$work/go/modules"
  rm -rf "$work/modcache" "$work/go/modules/sumdb"
  mkdir "$work/go/compile"
  cp -r go.mod go.sum third_party "$work/go/compile/"
  $GO list -deps -f '{{if .Module}}{{if not .Module.Main}}{{.ImportPath}}{{end}}{{end}}' ./cmd/mintlake | sed '/^$/d' >"$work/go/compile/packages"
  build --label "mintlake.stamp=$stamp" -f "$here/golang.Dockerfile" -t golang:1.26-bookworm "$work/go"
  rm -rf "$work/go"
  say "golang:1.26-bookworm is made"
}

# libchdb is a layer that images share which need the engine's library.
libchdb() {
  stamp=$({ tools/deps/libchdb.sh --pin && cat "$here/libchdb.Dockerfile"; } | sha256sum | cut -c1-16)
  stamped mintlake-standin-libchdb && return
  folder=$(dirname "$(tools/deps/libchdb.sh)")
  rm -rf "$work/libchdb" && mkdir -p "$work/libchdb/libchdb"
  cp -rl "$folder" "$work/libchdb/libchdb/" 2>/dev/null || cp -r "$folder" "$work/libchdb/libchdb/"
  build --label "mintlake.stamp=$stamp" -f "$here/libchdb.Dockerfile" -t mintlake-standin-libchdb "$work/libchdb"
  rm -rf "$work/libchdb"
  say "the layer with libchdb is made"
}

# nodeimage has this machine's Node with npm, and in npm's cache what the explorer's build fetches.
# The build itself runs in the image. The function is not called node: it would hide the program.
nodeimage() {
  ours node:20-bookworm-slim
  libchdb
  command -v node >/dev/null && command -v npm >/dev/null || fail "node and npm are not installed"
  # The explorer's own code is no part of it: the cache holds packages only.
  stamp=$({ node --version && npm --version && cat web/explorer/package-lock.json "$here/node.Dockerfile" \
    tools/containers/images.sh && tools/deps/libchdb.sh --pin; } | sha256sum | cut -c1-16)
  stamped node:20-bookworm-slim && return
  rm -rf "$work/node" && mkdir -p "$work/node/fill/web" "$work/node/context/lib/node_modules" "$work/node/context/bin"
  cp -r schemas docs "$work/node/fill/"
  tar -C web --exclude=node_modules -c explorer | tar -C "$work/node/fill/web" -x
  (cd "$work/node/fill/web/explorer" && export npm_config_cache=$work/node/context/npm &&
    npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && npm run --silent build) >&2 || fail "the explorer cannot be built"
  cp "$(node -p process.execPath)" "$work/node/context/bin/node"
  cp -rL "$(npm root -g)/npm" "$work/node/context/lib/node_modules/"
  build --label "mintlake.stamp=$stamp" -f "$here/node.Dockerfile" -t node:20-bookworm-slim "$work/node/context"
  rm -rf "$work/node"
  say "node:20-bookworm-slim is made"
}

serversbase() {
  has mintlake-standin-base || build -t mintlake-standin-base - <"$here/base.Dockerfile"
  say "the servers' base is made"
}

# servers makes stand-ins for servers that docker-compose.yml names: all, or the given ones.
servers() {
  serversbase
  rm -rf "$work/kafka" && mkdir -p "$work/kafka"
  cp -rl "$(tools/kafka/install.sh)" "$work/kafka/jars"
  cp "$here"/kafka-*.sh "$work/kafka/"
  cp "$here/kafka.Dockerfile" "$work/kafka/Dockerfile"
  rm -rf "$work/small" && mkdir -p "$work/small"
  CGO_ENABLED=0 $GO build -o "$work/small/grafana-standin" "./$here/grafana"
  $GO build -o "$work/small/clickhouse-standin" "./$here/clickhouse"
  [ $# -gt 0 ] || set -- apache/kafka valkey/valkey prom/prometheus clickhouse/clickhouse-server grafana/grafana
  for name in "$@"; do
    tag=$(image "$name")
    [ -n "$tag" ] || fail "docker-compose.yml has no image $name"
    ours "$tag"
    case $name in
      apache/kafka) build -t "$tag" "$work/kafka" ;;
      clickhouse/*) build -t "$tag" -f "$here/clickhouse.Dockerfile" "$work/small" ;;
      *) build -t "$tag" -f "$here/${name%%/*}.Dockerfile" "$work/small" ;;
    esac
  done
  rm -rf "$work/kafka" "$work/small"
  say "the stand-ins for the servers are made"
}

# engineimage is the Dockerfile's default target, with libchdb.
engineimage() {
  build "${args[@]}" -t mintlake:engine .
  say "the image with the embedded engine is built"
}

both() {
  mintlake
  engineimage
}

bases() {
  mkdir -p "$work"
  base
  golang
  nodeimage
}

own() {
  bases
  both
}

standins() {
  own
  servers
}

suites() {
  mkdir -p "$work"
  base
  libchdb
  servers apache/kafka valkey/valkey clickhouse/clickhouse-server
}

case "${1:-}" in
  mintlake | both | bases | own | standins | suites) "$1" ;;
  base | golang | libchdb | nodeimage | engineimage | serversbase | servers) mkdir -p "$work" && "$1" ;; # a part of standins
  *) fail "usage: images.sh mintlake|both|own|standins|suites" ;;
esac
