#!/usr/bin/env bash
# Makes the release for this machine twice and compares the bytes; unpacks the package into an empty root and runs the demo with it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fail() {
  echo "test-release: $*" >&2
  exit 1
}
arch=$(dpkg --print-architecture)
work=$(mktemp -d)
pid=
stop() {
  [ -z "$pid" ] || { kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; } || true
  rm -rf "$work"
}
trap stop EXIT

export ARCHES=$arch VERSION=1.2.3-test.1 ALLOW_CHANGES=1
DIST=$work/a tools/release/release.sh >/dev/null
DIST=$work/b tools/release/release.sh >/dev/null
cmp "$work/a/SHA256SUMS" "$work/b/SHA256SUMS" || fail "two releases of one commit differ"
(cd "$work/a" && sha256sum --check --quiet SHA256SUMS)

archive=$work/a/mintlake_${VERSION}_linux_$arch.tar.gz
listing=$(tar -tzf "$archive")
for file in mintlake LICENSE NOTICE systemd/mintlake.service alerts/mintlake.yml; do
  grep -qx "mintlake_${VERSION}_linux_$arch/$file" <<<"$listing" || fail "the archive lacks $file"
done
sbom=$work/a/mintlake_${VERSION}_linux_$arch.cdx.json
for module in github.com/segmentio/kafka-go google.golang.org/grpc; do
  grep -q "pkg:golang/$module@" "$sbom" || fail "the SBOM lacks $module"
done

# Installed as dpkg installs it, in a root of its own: files, modes, control data. Its scripts need a system and are left out.
deb=$work/a/mintlake_${VERSION}_$arch.deb
root=$work/root
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
: >"$root/var/lib/dpkg/status"
dpkg-deb -R "$deb" "$work/raw" && rm -f "$work/raw/DEBIAN/postinst" "$work/raw/DEBIAN/prerm" "$work/raw/DEBIAN/postrm"
dpkg-deb --root-owner-group -Znone --build "$work/raw" "$work/files.deb" >/dev/null
dpkg --root="$root" --force-depends --force-not-root --force-bad-path --log=/dev/null --install "$work/files.deb" >"$work/dpkg.log" 2>&1 || fail "$(cat "$work/dpkg.log")"
[ "$(dpkg-query --admindir="$root/var/lib/dpkg" --show --showformat='${Version} ${Conffiles}' mintlake | cut -d' ' -f1)" = 1.2.3~test.1 ] || fail "another version is installed"
[ "$(stat -c %a "$root/etc/mintlake/mintlake.env")" = 640 ] || fail "mintlake.env can be read by everybody"
for script in postinst prerm postrm; do dpkg-deb -I "$deb" "$script" | sh -n || fail "$script is no shell"; done

grep -q '^mintlake 1.2.3-test.1 (commit ' <<<"$("$root/usr/bin/mintlake" version)" || fail "the binary tells another version"

# The service's command with the example's settings, ports of its own, and the engine that `mintlake deps` would fetch.
set -a
# shellcheck source=/dev/null
. <(grep '^MINTLAKE_' "$root/etc/mintlake/mintlake.env" | sed 's/=\(.*\)/="\1"/')
set +a
MINTLAKE_DATA_DIR=$work/data "$root/usr/bin/mintlake" up --api-addr 127.0.0.1:0 --swap-addr 127.0.0.1:0 --rpc-addr 127.0.0.1:0 --rpc-ws-addr off \
  --stream-addr 127.0.0.1:0 --metrics-addr 127.0.0.1:0 --kafka-addr 127.0.0.1:0 --clickhouse-addr 127.0.0.1:0 >"$work/out" 2>"$work/err" &
pid=$!
for _ in $(seq 120); do
  api=$(sed -n 's/^addresses .*api=\([^ ]*\).*/\1/p' "$work/out")
  [ -z "$api" ] || break
  kill -0 "$pid" 2>/dev/null || fail "the demo ended: $(tail -3 "$work/err")"
  sleep 1
done
[ -n "$api" ] || fail "the demo did not start in two minutes: $(tail -3 "$work/err")"
for _ in $(seq 60); do
  grep -q '"mint"' <<<"$(curl -fsS "$api/tokens?limit=1" 2>/dev/null)" && found=1 && break
  sleep 1
done
[ "${found:-}" = 1 ] || fail "the demo serves no token: $(tail -3 "$work/err")"
kill "$pid" && wait "$pid" || fail "it did not stop cleanly: $(tail -3 "$work/err")"
pid=
echo "the release of $arch is reproducible, installs and runs"
