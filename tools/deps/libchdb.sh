#!/usr/bin/env bash
# Puts libchdb, the embedded ClickHouse engine, into Mintlake's cache, once.
#
#   tools/deps/libchdb.sh            install if it is absent; print the path of libchdb.so
#   tools/deps/libchdb.sh --verify   also hash the installed file again (about a second)
#   tools/deps/libchdb.sh --path     print the path and do nothing
#   tools/deps/libchdb.sh --pin      print version, package and hashes for `mintlake deps` and do nothing
#
# Cache: $MINTLAKE_CACHE_DIR, else $XDG_CACHE_HOME/mintlake, else ~/.cache/mintlake.
# Safe to run twice at once (flock) and after being killed (the library appears by one rename, after its hash was checked).
set -euo pipefail

# The one place of the pin: the binary embeds what --pin prints (make gen; a test compares the two). Do not go back to 26.5: its
# engine answers WHERE … ORDER BY … LIMIT wrongly.
version=26.7.3-stable.1
package=@chdb/lib-linux-x64-gnu
tarball_sha256=c0d32b129e988f2b9a9a31c9141aecf5e1e2453f9a079efc4d36ab8e3f92b2ad
tarball_sha512=5cff7b98caa7739b59a4a432c11f0dedc2d3b073624e61ebdf4a42e66ce8de35a6ba48ca9f62016bad1cd81fe059435cb858ce3235a8a2b408082a81563e70a7 # the registry's dist.integrity, as hex
library_sha256=36ad4e999882821ef13cf2d0f52c93f48e6ee1b4498b35a201c23ce4b8d15bf5
library_bytes=566330096
need_mb=800 # tarball and unpacked library together, for the moment of the installation

fail() {
  echo "libchdb: $*" >&2
  exit 1
}

if [ "${1:-}" = --pin ]; then
  echo "# Written by tools/deps/libchdb.sh --pin (make gen); change it there."
  for name in version package tarball_sha256 library_sha256 library_bytes; do echo "$name=${!name}"; done
  exit 0
fi

cache=${MINTLAKE_CACHE_DIR:-}
if [ -z "$cache" ]; then
  if [ -n "${XDG_CACHE_HOME:-}" ]; then
    cache=$XDG_CACHE_HOME/mintlake
  elif [ -n "${HOME:-}" ]; then
    cache=$HOME/.cache/mintlake
  else
    fail "no place for the cache: set MINTLAKE_CACHE_DIR (neither XDG_CACHE_HOME nor HOME is set)"
  fi
fi
dir=$cache/libchdb/$version
lib=$dir/libchdb.so

sha256_of() { sha256sum "$1" | cut -d' ' -f1; }

# installed_ok says whether a complete library is in place. It appears only by a rename after its hash was checked, so its
# size is enough for the every-day case.
installed_ok() { [ -f "$lib" ] && [ "$(stat -c %s "$lib")" = "$library_bytes" ]; }

case "${1:-}" in
  "") ;;
  --path)
    echo "$lib"
    exit 0
    ;;
  --verify)
    installed_ok || fail "$lib is not installed: run tools/deps/libchdb.sh"
    [ "$(sha256_of "$lib")" = "$library_sha256" ] || fail "$lib was changed: delete it and run tools/deps/libchdb.sh"
    echo "$lib"
    exit 0
    ;;
  *) fail "unknown argument $1 (known: --path, --pin, --verify)" ;;
esac

if installed_ok; then
  echo "$lib"
  exit 0
fi

[ "$(uname -s)/$(uname -m)" = Linux/x86_64 ] ||
  fail "the embedded engine runs on Linux x86_64 only, this is $(uname -s) $(uname -m): use a ClickHouse server and --clickhouse-dsn"
getconf GNU_LIBC_VERSION >/dev/null 2>&1 ||
  fail "the embedded engine needs glibc, this system has another C library: use a ClickHouse server and --clickhouse-dsn"
for tool in npm tar sha256sum sha512sum flock; do
  command -v "$tool" >/dev/null 2>&1 || fail "$tool is not installed: install it, or put libchdb.so $version at $lib yourself"
done

mkdir -p "$dir" 2>/dev/null || fail "cannot create $dir: set MINTLAKE_CACHE_DIR to a folder that you may write to"
exec 9>"$dir/.lock"
flock -n 9 || {
  echo "libchdb: another installation is running, waiting for it" >&2
  flock -w 900 9 || fail "another installation has held $dir/.lock for 15 minutes: end it and try again"
}
if installed_ok; then
  echo "$lib"
  exit 0
fi

find "$dir" -maxdepth 1 -name 'new.*' -exec rm -rf {} + # left by a killed run; nobody else holds the lock
free_mb=$(df -Pm "$dir" | awk 'NR==2 {print $4}')
[ "$free_mb" -ge "$need_mb" ] || fail "$dir has $free_mb MB free, $need_mb MB are needed"
new=$(mktemp -d "$dir/new.XXXXXX")
trap 'rm -rf "$new"' EXIT

echo "libchdb: fetching $package@$version (178 MB)" >&2
# A package server may be away for a moment. This file is also used alone, so it has no tools/retry.sh beside it.
fetch() { (cd "$new" && npm pack --loglevel=error --ignore-scripts "$package@$version" >/dev/null); }
fetch || { sleep 5 && fetch; } || { sleep 20 && fetch; } ||
  fail "npm could not fetch $package@$version: see npm's message above, check the network, run this again"
tarball=$(find "$new" -maxdepth 1 -name '*.tgz' | head -n 1)
[ -n "$tarball" ] || fail "npm pack left no tarball: run 'npm pack $package@$version' by hand to see why"
[ "$(sha256_of "$tarball")" = "$tarball_sha256" ] || fail "the tarball has another SHA-256 than the pinned one: nothing was installed"
[ "$(sha512sum "$tarball" | cut -d' ' -f1)" = "$tarball_sha512" ] ||
  fail "the tarball has another SHA-512 than the registry published for it: nothing was installed"
tar -xzf "$tarball" -C "$new" --no-same-owner package/libchdb.so || fail "cannot unpack $tarball: is the disk full?"
[ "$(sha256_of "$new/package/libchdb.so")" = "$library_sha256" ] || fail "libchdb.so has another SHA-256 than the pinned one: nothing was installed"
chmod 0755 "$new/package/libchdb.so"
sync "$new/package/libchdb.so" 2>/dev/null || true
mv -f "$new/package/libchdb.so" "$lib"
echo "$lib"
