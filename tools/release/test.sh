#!/usr/bin/env bash
# Makes the release for this machine twice and compares the bytes; unpacks the package into an empty
# root and runs the demo with it; holds the compose file and the chart to their tools; where a
# Docker engine can run, loads the images and runs them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fail() {
  echo "test-release: $*" >&2
  exit 1
}
arch=$(dpkg --print-architecture)
work=$(mktemp -d)
export ARCHES=$arch VERSION=1.2.3-test.1 ALLOW_CHANGES=1
image=mintlake:$VERSION
pid= engine=
stop() {
  [ -z "$pid" ] || { kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; } || true
  if [ "$engine" = yes ]; then
    docker rmi -f "$image" "$image-engine" >/dev/null 2>&1 || true
    case $DOCKER_HOST in *mintlake/containers/engine/docker.sock) tools/containers/engine.sh stop || true ;; esac
  fi
  rm -rf "$work"
}
trap stop EXIT

said=0
host=$(tools/containers/engine.sh start) || said=$?
case $said in
  0) engine=yes IMAGES=${IMAGES:-standins} && export DOCKER_HOST=$host IMAGES ;;
  2) engine=no && export DOCKER_HOST=unix:///nonexistent && echo "test-release: no Docker engine can run here, so there are no images to test" >&2 ;;
  *) exit "$said" ;;
esac
DIST=$work/a tools/release/release.sh >/dev/null
IMAGES=none DIST=$work/b tools/release/release.sh >/dev/null
diff <(grep -v 'image' "$work/a/SHA256SUMS") "$work/b/SHA256SUMS" || fail "two releases of one commit differ"
(cd "$work/a" && sha256sum --check --quiet SHA256SUMS)

archive=$work/a/mintlake_${VERSION}_linux_$arch.tar.gz
listing=$(tar -tzf "$archive")
for file in mintlake LICENSE NOTICE systemd/mintlake.service alerts/mintlake.yml clickhouse/analyst.sql; do
  grep -qx "mintlake_${VERSION}_linux_$arch/$file" <<<"$listing" || fail "the archive lacks $file"
done
sbom=$work/a/mintlake_${VERSION}_linux_$arch.cdx.json
for module in github.com/segmentio/kafka-go google.golang.org/grpc; do
  grep -q "pkg:golang/$module@" "$sbom" || fail "the SBOM lacks $module"
done

# What deploys the release: the compose file holds to Compose's rules and finds each file that it
# mounts; the chart takes the image of this version.
tar -C "$work" -xzf "$work/a/mintlake_${VERSION}_deploy.tar.gz"
deploy=$work/mintlake_${VERSION}_deploy
config=$(env -i PATH="$PATH" HOME="$HOME" "$(tools/containers/compose.sh)" --env-file /dev/null -f "$deploy/docker-compose.yml" config) || fail "docker compose config refuses the compose file"
grep -q "image: $image\$" <<<"$config" || fail "the compose file has another version"
! grep -q 'build:' <<<"$config" || fail "the compose file builds an image, and there is no source"
mapfile -t mounted < <(sed -n 's/^ *source: \(\/.*\)/\1/p' <<<"$config" | sort -u)
[ "${#mounted[@]}" -ge 4 ] || fail "the compose file mounts ${#mounted[@]} files of its own"
for path in "${mounted[@]}"; do [ -e "$path" ] || fail "the compose file mounts $path, which the archive lacks"; done
for file in .env.example LICENSE NOTICE docs/install.md deploy/clickhouse/analyst.sql; do [ -s "$deploy/$file" ] || fail "the archive of the deployment lacks $file"; done
"${GO:-go}" tool -modfile=tools/helm/go.mod helm version >/dev/null
helm() { "$("${GO:-go}" tool -n -modfile=tools/helm/go.mod helm)" "$@"; }
chart=$deploy/deploy/helm/mintlake
helm lint --strict --quiet "$chart" --values "$chart/ci/external-values.yaml" || fail "helm lint"
rendered=$(helm template mintlake "$chart" --kube-version 1.34.0 --values "$chart/ci/external-values.yaml") || fail "helm template"
grep -q "image: $image\$" <<<"$rendered" || fail "the chart takes another image"
grep -q 'alert: MintlakeLag' <<<"$rendered" || fail "the chart lacks the alerts"

# The images, as who downloads them has them.
if [ "$engine" = yes ]; then
  targets=(rooms) tags=("$image")
  [ "$arch" != amd64 ] || { targets+=(engine) && tags+=("$image-engine"); }
  docker rmi "${tags[@]}" >/dev/null
  docker load --quiet --input "$work/a/mintlake_${VERSION}_linux_${arch}_images.tar.gz" >/dev/null
  for tag in "${tags[@]}"; do
    said=$(docker run --rm --read-only --tmpfs /tmp "$tag" version)
    grep -q '^mintlake 1.2.3-test.1 (commit ' <<<"$said" || fail "$tag is $said"
  done
  for target in "${targets[@]}"; do
    parts=$(cat "$work/a/mintlake_${VERSION}_linux_${arch}_$target-image.cdx.json")
    for part in pkg:golang/google.golang.org/grpc@ pkg:deb/debian/libc6@; do grep -qF "$part" <<<"$parts" || fail "the SBOM of $target lacks $part"; done
    [ "$target" = "$(grep -qF pkg:npm/%40chdb/ <<<"$parts" && echo engine || echo rooms)" ] || fail "the SBOM of $target is wrong about libchdb"
  done
fi

# Installed as dpkg installs it, in a root of its own: files, modes, control data. Its scripts need a system and are left out.
deb=$work/a/mintlake_${VERSION}_$arch.deb
root=$work/root
mkdir -p "$root/var/lib/dpkg/info" "$root/var/lib/dpkg/updates"
: >"$root/var/lib/dpkg/status"
dpkg-deb -R "$deb" "$work/raw" && rm -f "$work/raw/DEBIAN/postinst" "$work/raw/DEBIAN/prerm" "$work/raw/DEBIAN/postrm"
dpkg-deb --root-owner-group -Znone --build "$work/raw" "$work/files.deb" >/dev/null
[ -s "$work/raw/usr/share/mintlake/clickhouse/analyst.sql" ] || fail "the package lacks analyst.sql"
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
