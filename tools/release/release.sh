#!/usr/bin/env bash
# Makes what a release holds, in dist/: for Linux on amd64 and arm64 an archive, a Debian package
# and a CycloneDX SBOM; an archive of what deploys it (compose file, Helm chart, alerts, dashboards,
# SQL); where a Docker engine runs, the images; and SHA256SUMS of all of them.
#
#   tools/release/release.sh                   amd64 and arm64
#   ARCHES=amd64 tools/release/release.sh      one of them
#   VERSION=1.2.3 tools/release/release.sh     another version than the tag's
#   IMAGES=none tools/release/release.sh       no images
#
# Two runs over one commit give the same bytes: paths are trimmed, times are the commit's, owners
# are root, names are sorted. Images are not the same bytes: they hold what Debian has on the day.
# Needs Go, git, GNU tar and dpkg-deb (Debian's dpkg; other distributions have it as a package).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

fail() {
  echo "release: $*" >&2
  exit 1
}
for tool in git tar gzip dpkg-deb sha256sum "${GO:=go}"; do
  command -v "$tool" >/dev/null 2>&1 || fail "$tool is not installed"
done

commit=$(git rev-parse HEAD)
export SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git show -s --format=%ct HEAD)
date=$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y-%m-%dT%H:%M:%SZ)
# A commit without a tag is before every release that comes: 0.0.0~… for dpkg, 0.0.0-… for the others.
if [ -z "${VERSION:-}" ]; then
  tag=$(git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null || true)
  VERSION=${tag#v}
  [ -z "$VERSION" ] || grep -q "^## $VERSION - " CHANGELOG.md || fail "the tag $tag has no part in CHANGELOG.md: CONTRIBUTING.md says how a release is made"
  [ -n "$VERSION" ] || VERSION=0.0.0-$(date -u -d "@$SOURCE_DATE_EPOCH" +%Y%m%d%H%M%S)-${commit:0:12}
fi
[[ $VERSION =~ ^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]] || fail "version $VERSION is not MAJOR.MINOR.PATCH[-PRERELEASE]"
if [ -n "$(git status --porcelain)" ]; then
  [ "${ALLOW_CHANGES:-}" = 1 ] || fail "the checkout has changes that the commit does not have: commit them, or set ALLOW_CHANGES=1 to try"
  commit=$commit-dirty
fi

dist=${DIST:-dist}
rm -rf "$dist"
mkdir -p "$dist"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
umask 022

# put FILE DESTINATION [MODE] copies a file into the tree that a package is made of.
put() { install -D -p -m "${3:-644}" "$1" "$2"; }

# same_times gives everything below a folder the commit's time.
same_times() { find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +; }

# pack makes an archive of a folder of $work.
pack() {
  tar -C "$work" --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner -cf - "$1" | gzip -n -9 >"$dist/$1.tar.gz"
}

archive() { # archive ARCH BINARY
  local name=mintlake_${VERSION}_linux_$1
  local tree=$work/$name
  put "$2" "$tree/mintlake" 755
  put LICENSE "$tree/LICENSE"
  put NOTICE "$tree/NOTICE"
  put CHANGELOG.md "$tree/CHANGELOG.md"
  put docs/install.md "$tree/install.md"
  put deploy/systemd/mintlake.service "$tree/systemd/mintlake.service"
  put deploy/systemd/mintlake.sysusers "$tree/systemd/mintlake.sysusers"
  put deploy/systemd/mintlake.env.example "$tree/systemd/mintlake.env.example"
  put deploy/alerts/mintlake.yml "$tree/alerts/mintlake.yml"
  put deploy/clickhouse/analyst.sql "$tree/clickhouse/analyst.sql"
  for board in deploy/grafana/*.json; do put "$board" "$tree/grafana/$(basename "$board")"; done
  pack "$name"
}

# deployment is an archive of the files by which the images run, at the paths that they have in the
# repository.
deployment() {
  local name=mintlake_${VERSION}_deploy
  local tree=$work/$name file
  # The chart's alerts are a link out of it: the file itself is put there.
  git ls-files docker-compose.yml .env.example LICENSE NOTICE docs/containers.md docs/install.md deploy/alerts/mintlake.yml deploy/clickhouse \
    deploy/grafana deploy/helm deploy/prometheus | while read -r file; do put "$(readlink -f "$file")" "$tree/$file"; done
  sed -i -e "s/^version: .*/version: $VERSION/" -e "s/^appVersion: .*/appVersion: \"$VERSION\"/" "$tree/deploy/helm/mintlake/Chart.yaml"
  # Without a checkout there is nothing to build an image of: it comes with the release.
  sed -i -e "s/MINTLAKE_VERSION:-dev/MINTLAKE_VERSION:-$VERSION/" -e '/^  build:$/,/^      VERSION: /c\  pull_policy: never' "$tree/docker-compose.yml"
  pack "$name"
}

package() { # package ARCH BINARY
  local tree=$work/deb-$1
  put "$2" "$tree/usr/bin/mintlake" 755
  put deploy/systemd/mintlake.service "$tree/lib/systemd/system/mintlake.service"
  put deploy/systemd/mintlake.sysusers "$tree/usr/lib/sysusers.d/mintlake.conf"
  put deploy/systemd/mintlake.env.example "$tree/etc/mintlake/mintlake.env" 640
  chmod 750 "$tree/etc/mintlake"
  put NOTICE "$tree/usr/share/doc/mintlake/copyright" # with LICENSE behind it, as Debian has one file
  { printf '\n== LICENSE\n\n'; cat LICENSE; } >>"$tree/usr/share/doc/mintlake/copyright"
  put docs/install.md "$tree/usr/share/doc/mintlake/install.md"
  put deploy/alerts/mintlake.yml "$tree/usr/share/mintlake/alerts/mintlake.yml"
  put deploy/clickhouse/analyst.sql "$tree/usr/share/mintlake/clickhouse/analyst.sql"
  for board in deploy/grafana/*.json; do put "$board" "$tree/usr/share/mintlake/grafana/$(basename "$board")"; done
  gzip -n -9 -c CHANGELOG.md >"$work/changelog.gz"
  put "$work/changelog.gz" "$tree/usr/share/doc/mintlake/changelog.gz"
  local size
  size=$(du -sk --apparent-size "$tree" | cut -f1)
  mkdir -p "$tree/DEBIAN"
  sed -e "s/@VERSION@/${VERSION/-/\~}/" -e "s/@ARCH@/$1/" -e "s/@SIZE@/$size/" deploy/debian/control.in >"$tree/DEBIAN/control"
  echo /etc/mintlake/mintlake.env >"$tree/DEBIAN/conffiles"
  for script in postinst prerm postrm; do put "deploy/debian/$script" "$tree/DEBIAN/$script" 755; done
  same_times "$tree"
  dpkg-deb --root-owner-group -Zxz --build "$tree" "$dist/mintlake_${VERSION}_$1.deb" >/dev/null
}

# sbom is of the binary itself, so it lists what is linked and no more.
sbom() { # sbom BINARY FILE
  "$GO" tool -modfile=tools/release/go.mod cyclonedx-gomod bin -json -noserial -notimestamp -std -licenses -version "v$VERSION" \
    -output "$2" "$1" 2>"$work/sbom.log" || { cat "$work/sbom.log" >&2; fail "no SBOM"; }
}

for arch in ${ARCHES:-amd64 arm64}; do
  echo "release: mintlake $VERSION for $arch" >&2
  binary=$work/$arch/mintlake
  CGO_ENABLED=0 GOOS=linux GOARCH=$arch "$GO" build -trimpath -buildvcs=false -o "$binary" \
    -ldflags "-s -w -buildid= -X main.version=$VERSION -X main.commit=$commit -X main.date=$date" ./cmd/mintlake
  archive "$arch" "$binary"
  package "$arch" "$binary"
  sbom "$binary" "$dist/mintlake_${VERSION}_linux_$arch.cdx.json"
done
deployment
if [ "${IMAGES:-}" != none ]; then
  # shellcheck source=tools/release/images.sh
  . tools/release/images.sh
fi
(cd "$dist" && sha256sum -- mintlake_* >SHA256SUMS)
cat "$dist/SHA256SUMS"
