#!/usr/bin/env bash
# Installs Debian's prometheus, which brings promtool, unless it is there. Needs root.
set -euo pipefail
if command -v prometheus >/dev/null && command -v promtool >/dev/null; then
  exit 0
fi
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "prometheus and promtool are not installed: apt-get install prometheus" >&2
  exit 1
fi
# Another apt may hold the lock. The server needs no service of the system: tests start their own.
export DEBIAN_FRONTEND=noninteractive
"$(dirname "$0")/../retry.sh" sh -c 'apt-get -o DPkg::Lock::Timeout=120 update -qq &&
  apt-get -o DPkg::Lock::Timeout=120 install -y -qq --no-install-recommends prometheus >/dev/null'
