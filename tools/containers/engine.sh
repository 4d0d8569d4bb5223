#!/usr/bin/env bash
# A Docker engine for the tests.
#
#   tools/containers/engine.sh start   print DOCKER_HOST of the running engine, or start one and print its own
#   tools/containers/engine.sh stop    end the engine that start has started; another one is left alone
#
# An engine that start has started keeps its data below the cache folder and listens on a socket there. Exit code 2: none can run.
set -euo pipefail

cache=${MINTLAKE_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/mintlake}/containers
dir=${MINTLAKE_ENGINE_DIR:-$cache/engine}
socket=$dir/docker.sock

none() {
  echo "containers: no Docker engine can run here: $*" >&2
  exit 2
}
answers() { DOCKER_HOST=$1 timeout 20 docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

start() {
  # Whose engine runs already uses that. MINTLAKE_ENGINE=own is for a machine whose engine is not to be touched.
  if [ "${MINTLAKE_ENGINE:-}" != own ] && command -v docker >/dev/null; then
    for host in "${DOCKER_HOST:-}" unix:///var/run/docker.sock; do
      if [ -n "$host" ] && [ "$host" != "unix://$socket" ] && answers "$host"; then
        echo "$host"
        return
      fi
    done
  fi
  if command -v docker >/dev/null && [ -S "$socket" ] && answers "unix://$socket"; then
    echo "unix://$socket"
    return
  fi
  [ "$(id -u)" = 0 ] || none "none is running, and starting one needs root"
  if ! command -v dockerd >/dev/null; then
    command -v apt-get >/dev/null || none "dockerd is not installed, and there is no apt-get to install it with"
    echo "containers: installing Debian's docker.io" >&2
    (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends docker.io iptables) \
      >/dev/null 2>&1 || none "apt-get could not install docker.io"
  fi
  mkdir -p "$dir"
  # The socket's path is bounded to 108 bytes; the engine's own sockets lie below exec-root.
  setsid dockerd --data-root "$dir/data" --exec-root "$dir/exec" --pidfile "$dir/docker.pid" -H "unix://$socket" \
    >"$dir/dockerd.log" 2>&1 </dev/null &
  for _ in $(seq 60); do
    if answers "unix://$socket"; then
      echo "unix://$socket"
      return
    fi
    kill -0 $! 2>/dev/null || break
    sleep 0.5
  done
  tail -n 5 "$dir/dockerd.log" >&2
  none "dockerd did not start; its log is $dir/dockerd.log"
}

stop() {
  [ -f "$dir/docker.pid" ] || return 0
  if [ -n "$(DOCKER_HOST=unix://$socket timeout 20 docker ps -q 2>/dev/null)" ]; then
    echo "containers: the engine at $socket has running containers, so it is left running" >&2
    return 0
  fi
  pid=$(cat "$dir/docker.pid")
  kill "$pid" 2>/dev/null || return 0
  for _ in $(seq 60); do
    kill -0 "$pid" 2>/dev/null || return 0
    sleep 0.5
  done
  echo "containers: dockerd ($pid) does not end" >&2
  exit 1
}

case "${1:-}" in
  start | stop) "$1" ;;
  *)
    echo "usage: engine.sh start|stop" >&2
    exit 1
    ;;
esac
