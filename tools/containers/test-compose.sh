#!/usr/bin/env bash
# Brings the whole system up by the shipped docker-compose.yml and Dockerfile, asks what the README asks, and takes it down again.
#
#   tools/containers/test-compose.sh              with a running Docker engine and official images, else with an engine of its own and stand-ins
#   IMAGES=standins|official …                    either, wherever it runs
#   KEEP=1 …                                      leave it running
#
# Stand-ins: Apache Kafka's own jars, Redis for Valkey, Debian's Prometheus; ClickHouse-is-our-embedded-engine; Grafana-is-a-query-runner.
# Exit code 2: no Docker engine can run here.
set -euo pipefail
cd "$(dirname "$0")/../.."
here=tools/containers
limit=${LIMIT:-900} # seconds that the system may take until it answers

say() { echo "compose: $* (${SECONDS} s)"; }
DOCKER_HOST=$($here/engine.sh start) || exit $?
export DOCKER_HOST
own=no
case $DOCKER_HOST in *mintlake/containers/engine/docker.sock) own=yes ;; esac
if [ "$own" = yes ]; then images=${IMAGES:-standins}; else images=${IMAGES:-official}; fi
project=mintlake-test
compose() { env -u MINTLAKE_CACHE_DIR "$binary" --env-file /dev/null -p "$project" "$@"; }

fail() {
  echo "compose: $*" >&2
  compose ps -a >&2 || true
  compose logs --tail 15 >&2 || true
  exit 1
}
finish() {
  code=$?
  trap - EXIT
  if [ -z "${KEEP:-}" ]; then
    [ -z "${binary:-}" ] || compose down -v --timeout 20 >/dev/null 2>&1 || true
    [ "$own" = no ] || $here/engine.sh stop || true
  fi
  exit "$code"
}
trap finish EXIT
trap 'exit 130' INT TERM

binary=$($here/compose.sh)
if [ "$images" = standins ]; then $here/images.sh standins; else $here/images.sh both; fi
say "images are there: $images"
$here/test-images.sh start

compose up -d --quiet-pull || fail "docker compose up -d failed"
say "docker compose up -d returned"

started=$SECONDS

# README's commands as they stand there.
mapfile -t curls < <(sed -n "s/^\(curl 'http[^#]*[^# ]\) *\(#.*\)\?$/\1/p" README.md)
[ "${#curls[@]}" -ge 3 ] || fail "the README has ${#curls[@]} curl commands, 3 or more are expected"
answered() {
  local out
  out=$(eval "${1/curl/curl -sS --fail-with-body --max-time 10}" 2>&1) || return 1
  case $1 in
    */tokens*) [ "$(python3 -c 'import json,sys; print(len(json.load(sys.stdin)["items"]))' <<<"$out")" = 3 ] ;;
    */status*) python3 -c 'import json,sys; s=json.load(sys.stdin); sys.exit(s["registry"]["tokens"] < 500 or not s["source"])' <<<"$out" ;;
    *8123*) grep -q . <<<"$out" ;;
    *) return 1 ;;
  esac
}
for command in "${curls[@]}"; do
  until answered "$command" 2>/dev/null; do
    [ "$SECONDS" -lt "$((started + limit))" ] || fail "not answered within $limit s: $command"
    sleep 2
  done
  say "answered: $command"
done

# Each service is well, runs as no root, and cannot write to its root file system.
services=$(compose config --services)
for service in $services; do
  id=$(compose ps -aq "$service")
  if [ "$service" = migrate ]; then
    [ "$(docker inspect -f '{{.State.Status}} {{.State.ExitCode}}' "$id")" = "exited 0" ] || fail "migrate did not end well"
    continue
  fi
  until [ "$(docker inspect -f '{{.State.Health.Status}} {{.RestartCount}}' "$id")" = "healthy 0" ]; do
    [ "$SECONDS" -lt "$((started + limit))" ] || fail "$service is not well: $(docker inspect -f '{{json .State}} restarts={{.RestartCount}}' "$id")"
    sleep 2
  done
  case $(docker inspect -f '{{.Config.Image}}' "$id") in
    mintlake:*)
      [ "$(compose exec -T "$service" id -u)" = 10001 ] || fail "$service runs as root"
      if compose exec -T "$service" touch /usr/written 2>/dev/null; then fail "$service can write to its root file system"; fi
      ;;
  esac
done
say "every service is well"

rpc_key=ml_rpc_Hs99QfUCTVQSGoxvRWCkdGJqw5jFtTjN2jriKAoGf8re
call() { curl -sS --max-time 10 -H "X-API-KEY: $rpc_key" -H 'content-type: application/json' "http://127.0.0.1:$1" -d "$2"; }
slot() { call 8899 '{"jsonrpc":"2.0","id":1,"method":"getSlot"}' | sed -n 's/.*"result":\([0-9]*\).*/\1/p'; }
[ -n "$(slot)" ] || fail "the gateway gives no slot"
ranking='http://127.0.0.1:8081/readyz'
curl -sSf "$ranking" >/dev/null || fail "swap is not ready"
prom() { curl -sS --get --data-urlencode "query=$1" http://127.0.0.1:9090/api/v1/query; }
until [ "$(prom 'count(up{job="mintlake"} == 1)' | sed -n 's/.*,"\([0-9]*\)"\].*/\1/p')" = 7 ]; do
  [ "$SECONDS" -lt "$((started + limit))" ] || fail "Prometheus does not reach every room: $(prom 'up')"
  sleep 2
done
grep -q MintlakeLag <<<"$(curl -sS http://127.0.0.1:9090/api/v1/rules)" || fail "Prometheus has no alerts"
say "gateway, swap and Prometheus answer"

if [ "$images" = standins ]; then
  # The first rates need two scrapes.
  sleep 25
  curl -sS --max-time 150 http://127.0.0.1:3000/standin/queries | python3 -c '
import json, sys
results = json.load(sys.stdin)
bad = [r for r in results if r.get("Error")]
for r in bad: print(r["Dashboard"], "/", r["Panel"], ":", r["Error"][:300], file=sys.stderr)
filled = sum(1 for r in results if r["Rows"])
print(f"compose: Grafana-is-a-query-runner: {len(results)} queries, {filled} with data, {len(bad)} refused")
sys.exit(1 if bad or filled * 2 < len(results) else 0)' || fail "dashboards have queries that are refused or empty"
else
  grep -q mintlake- <<<"$(curl -sSf http://127.0.0.1:3000/api/search?type=dash-db)" || fail "Grafana has no dashboards"
fi

# The demo's node goes on with its chain after a restart, and ingest follows.
before=$(slot)
compose restart --timeout 20 demo >/dev/null 2>&1
until now=$(slot 2>/dev/null) && [ "${now:-0}" -gt "$((before + 20))" ]; do
  [ "$SECONDS" -lt "$((started + limit + 60))" ] || fail "the demo did not go on behind slot $before: ${now:-no answer}"
  sleep 1
done
head=$(curl -sS http://127.0.0.1:8080/status | python3 -c 'import json,sys; print(json.load(sys.stdin)["source"]["slot"])')
until later=$(curl -sS http://127.0.0.1:8080/status | python3 -c 'import json,sys; print(json.load(sys.stdin)["source"]["slot"])') && [ "$later" -gt "$((head + 5))" ]; do
  [ "$SECONDS" -lt "$((started + limit + 90))" ] || fail "ingest does not follow the demo after its restart: slot $later"
  sleep 1
done
say "passed"
