#!/usr/bin/env bash
# Runs the suites that speak to Kafka, ClickHouse and Redis, and the rooms end to end, against servers in containers: tools/containers/kit.
#
#   tools/containers/test-containers.sh                     with a running Docker engine and official images, else with an engine of its own and stand-ins
#   IMAGES=standins|official …                              either, wherever it runs
#   tools/containers/test-containers.sh -run TestKafka      what follows is given to `go test`
#
# Stand-ins: Apache Kafka's own jars, Redis for Valkey; ClickHouse-is-our-embedded-engine.
# Exit code 2: no Docker engine can run here.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."

DOCKER_HOST=$($here/engine.sh start) || exit $?
# The reaper of testcontainers-go is an image. The kit removes its containers itself.
export DOCKER_HOST TESTCONTAINERS_RYUK_DISABLED=true
own=no
case $DOCKER_HOST in *mintlake/containers/engine/docker.sock) own=yes ;; esac
if [ "$own" = yes ]; then images=${IMAGES:-standins}; else images=${IMAGES:-official}; fi

finish() {
  code=$?
  trap - EXIT
  # What a crash of the kit left.
  left=$(docker ps -aq --filter label=mintlake.kit=1)
  [ -z "$left" ] || docker rm -fv $left >/dev/null 2>&1 || true
  docker network prune -f --filter label=mintlake.kit=1 >/dev/null 2>&1 || true
  [ "$own" = no ] || $here/engine.sh stop || true
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

if [ "$images" = standins ]; then $here/images.sh suites; fi
cd "$here/kit"
${GO:-go} test -count=1 -timeout 120m -v "$@" ./...
