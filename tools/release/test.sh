#!/usr/bin/env bash
# Makes the release for this machine twice and compares the bytes; does with the archive and with the
# Debian package what docs/install.md says; holds the SBOM to the binary, and the compose file and
# the chart to their tools; where a Docker engine can run, loads the images and runs them.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fail() {
  echo "test-release: $*" >&2
  exit 1
}
arch=$(dpkg --print-architecture)
work=$(mktemp -d)
mkdir "$work/given"
for part in page machine test-archive test-deb; do
  # shellcheck source=/dev/null
  . "tools/release/$part.sh"
done
export ARCHES=$arch VERSION=1.2.3-test.1 ALLOW_CHANGES=1
image=mintlake:$VERSION
pid= engine=
stop() {
  [ -z "$pid" ] || { kill "$pid" 2>/dev/null && wait "$pid" 2>/dev/null; } || true
  machine_stop
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
tar -C "$work/given" -xzf "$archive"
test_sbom "$work/a/mintlake_${VERSION}_linux_$arch.cdx.json" "$work/given/mintlake_${VERSION}_linux_$arch/mintlake"

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

# Who downloads the archive, and who installs the package.
test_archive
if machine_start >"$work/why"; then
  test_deb "$work/a/mintlake_${VERSION}_$arch.deb"
else
  echo "test-release: the package is not installed, since no machine of its own can be here: $(cat "$work/why")" >&2
fi
echo "the release of $arch is reproducible, installs and runs"
