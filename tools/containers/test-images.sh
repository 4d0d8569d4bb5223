#!/usr/bin/env bash
# Builds the two images of the Dockerfile and starts them as docs/containers.md says: a read-only
# root file system, no capability, no root.
#
#   tools/containers/test-images.sh              with a running Docker engine and official images,
#                                                else with an engine of its own and stand-ins
#   IMAGES=standins|official …                   either, wherever it runs
#   tools/containers/test-images.sh start        start what is built; test-compose.sh does that
#
# A port of the machine's choice is taken, so it runs beside all else. Exit code 2: no Docker engine
# can run here.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=tools/containers
limit=${LIMIT:-600} # seconds that each step may take

DOCKER_HOST=$($here/engine.sh start) || exit $?
export DOCKER_HOST
own=no
case $DOCKER_HOST in *mintlake/containers/engine/docker.sock) own=yes ;; esac
if [ "$own" = yes ]; then images=${IMAGES:-standins}; else images=${IMAGES:-official}; fi

engine=mintlake:engine rooms=mintlake:dev id=
say() { echo "images: $* (${SECONDS} s)"; }
fail() {
  echo "images: $*" >&2
  [ -z "$id" ] || docker logs --tail 30 "$id" >&2 || true
  exit 1
}
finish() {
  code=$?
  trap - EXIT
  [ -z "$id" ] || docker rm -fv "$id" >/dev/null 2>&1 || true
  [ "$own" = no ] || [ "${1:-}" = start ] || $here/engine.sh stop || true
  exit "$code"
}
trap 'finish "${1:-}"' EXIT
trap 'exit 130' INT TERM

# What a container may have, by docs/containers.md.
bare=(--read-only --tmpfs /tmp --cap-drop ALL --security-opt no-new-privileges)
# until_true WHAT COMMAND… waits for a command to succeed while the container runs.
until_true() {
  local what=$1 end=$((SECONDS + limit))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$(docker inspect -f '{{.State.Running}}' "$id")" = true ] || fail "$what: the container ended"
    [ "$SECONDS" -lt "$end" ] || fail "$what: not within $limit s"
    sleep 1
  done
  say "$what"
}
inside() { docker exec "$id" "$@"; }

if [ "${1:-}" != start ]; then
  if [ "$images" = standins ]; then $here/images.sh own; else $here/images.sh both; fi
  say "both are built, with base images that are $images"
fi

# The default image: everything, over the demo chain.
version=$(docker image inspect -f '{{index .Config.Labels "org.opencontainers.image.version"}}' "$engine")
id=$(docker run -d "${bare[@]}" --memory 4g -p 127.0.0.1::8080 "$engine" up --source 'demo:?past=0&tps=100&tokens=50')
api=http://$(docker port "$id" 8080/tcp | head -n 1)
items() { [ "$(curl -sS --fail --max-time 10 "$api/tokens?limit=3" | python3 -c 'import json,sys; print(len(json.load(sys.stdin)["items"]))')" = 3 ]; }
healthy() { [ "$(docker inspect -f '{{.State.Health.Status}}' "$id")" = healthy ]; }
until_true "the default image serves tokens" items
until_true "its health check is well" healthy
for port in 8080 8081 8899; do until_true "port $port is ready" inside mintlake probe "http://127.0.0.1:$port/readyz"; done
[ "$(inside id -u)" = 10001 ] || fail "it runs as root"
! inside touch /usr/written 2>/dev/null || fail "it can write to its root file system"
grep -qF "mintlake ${version#v} (" <<<"$(inside mintlake version)" || fail "it is $(inside mintlake version), its label says $version"
for file in LICENSE NOTICE; do inside test -s "/usr/share/doc/mintlake/$file" || fail "it has no $file"; done
# The explorer was built in the image; a binary without it serves a page that says so.
page=$(curl -sS --fail --max-time 60 "$api/")
grep -q '/explorer/assets/' <<<"$page" || fail "it serves no explorer: $page"
curl -sS --fail --max-time 60 "$api/docs" >/dev/null || fail "it serves no documents"
say "it runs as user 10001, writes to no root file system, has its explorer and its licences"
docker stop --time 120 "$id" >/dev/null
[ "$(docker inspect -f '{{.State.ExitCode}}' "$id")" = 0 ] || fail "it does not stop cleanly: exit code $(docker inspect -f '{{.State.ExitCode}}' "$id")"
docker rm -fv "$id" >/dev/null
id=

# The rooms' image: the same binary without the engine. A room of it that needs no server is the
# demo's node.
id=$(docker run -d "${bare[@]}" --memory 1g "$rooms" demo --chain 'demo:?past=0&tps=20&tokens=20' --geyser-addr 0.0.0.0:10001 --http-addr 0.0.0.0:8898 --state /var/lib/mintlake/demo.json)
until_true "the rooms' image runs a room" inside mintlake probe http://127.0.0.1:8898/health
[ "$(inside id -u)" = 10001 ] || fail "it runs as root"
! inside touch /usr/written 2>/dev/null || fail "it can write to its root file system"
! inside test -e /usr/local/lib/mintlake || fail "it holds the engine"
docker stop --time 60 "$id" >/dev/null
[ "$(docker inspect -f '{{.State.ExitCode}}' "$id")" = 0 ] || fail "it does not stop cleanly: exit code $(docker inspect -f '{{.State.ExitCode}}' "$id")"

for image in "$engine" "$rooms"; do say "$image: $(($(docker image inspect -f '{{.Size}}' "$image") / 1000000)) MB"; done
say "passed"
