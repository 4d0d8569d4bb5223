#!/usr/bin/env bash
# Runs a command that fetches packages, up to three times: a package server may be away for a moment. Its status is that of the last try.
#
#   tools/retry.sh npm ci
set -euo pipefail
command -v "$1" >/dev/null || exec "$@" # which says that it is not installed
for pause in 5 20; do
  status=0
  "$@" || status=$?
  [ "$status" != 0 ] || exit 0
  echo "retry: $1 ended with status $status, again in $pause s" >&2
  sleep "$pause"
done
exec "$@"
