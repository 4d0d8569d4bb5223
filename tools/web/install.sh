#!/usr/bin/env bash
# Installs Debian's chromium, unless a Chromium is there, and prints its path. Needs root.
set -euo pipefail
find_chromium() { command -v chromium || command -v chromium-browser || command -v google-chrome || command -v google-chrome-stable; }
find_chromium && exit 0
if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null; then
  echo "there is no Chromium to look at the explorer with: apt-get install chromium" >&2
  exit 1
fi
# Another apt may hold the lock.
export DEBIAN_FRONTEND=noninteractive
if ! "$(dirname "$0")/../retry.sh" sh -c 'apt-get -o DPkg::Lock::Timeout=120 update -qq &&
  apt-get -o DPkg::Lock::Timeout=120 install -y -qq --no-install-recommends chromium' >/dev/null 2>&1; then
  echo "there is no Chromium to look at the explorer with, and apt-get could not install chromium" >&2
  exit 1
fi
find_chromium
