#!/usr/bin/env bash
# make bench-img: cached logos beside nginx serving the same files, variants beside libvips, memory under a thousand distinct images at once.
# Needs Debian's nginx, wrk and libvips-tools, and installs them where it may.
set -euo pipefail
cd "$(dirname "$0")/../.."

missing=()
command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || missing+=(nginx-light)
command -v wrk >/dev/null || missing+=(wrk)
command -v vipsthumbnail >/dev/null || missing+=(libvips-tools)
if [ ${#missing[@]} -gt 0 ]; then
  [ "$(id -u)" = 0 ] || { echo "bench-img: install ${missing[*]} first" >&2; exit 1; }
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "${missing[@]}" >/dev/null
fi
PATH=$PATH:/usr/sbin exec "${GO:-go}" run -C bench ./img "$@"
