# A part of release.sh: where a Docker engine runs, the two images of the Dockerfile in one archive
# for `docker load`, each with a CycloneDX SBOM. They are for the engine's own architecture.
# IMAGES=standins builds them on stand-ins of the base images: to test this, not to publish.
#
# shellcheck shell=bash disable=SC2154 # release.sh sets commit, date, work and dist

images() {
  local arch id image name target
  if ! arch=$(timeout 20 docker version --format '{{.Server.Arch}}' 2>/dev/null); then
    echo "release: no Docker engine answers, so no image is made" >&2
    return
  fi
  case " ${ARCHES:-amd64 arm64} " in
    *" $arch "*) ;;
    *) echo "release: the Docker engine is one of $arch, which is not released, so no image is made" >&2 && return ;;
  esac
  # libchdb is had for amd64 only.
  local targets=(rooms)
  [ "$arch" != amd64 ] || targets+=(engine)
  [ "${IMAGES:-}" != standins ] || tools/containers/images.sh bases
  local tags=()
  for target in "${targets[@]}"; do
    image=mintlake:$VERSION
    [ "$target" = rooms ] || image=$image-$target
    DOCKER_BUILDKIT=${DOCKER_BUILDKIT:-0} docker build -q --build-arg "VERSION=$VERSION" --build-arg "COMMIT=$commit" --build-arg "DATE=$date" \
      --target "$target" -t "$image" . >/dev/null || fail "docker build --target $target"
    tags+=("$image")
    # What is in the image, and not what was meant to be.
    id=$(docker create "$image")
    mkdir -p "$work/$target"
    docker cp "$id:/usr/local/bin/mintlake" "$work/$target/mintlake"
    docker cp "$id:/var/lib/dpkg/status" "$work/$target/status"
    docker rm "$id" >/dev/null
    sbom "$work/$target/mintlake" "$work/$target/binary.cdx.json"
    name=mintlake_${VERSION}_linux_${arch}_$target-image.cdx.json
    local library=()
    [ "$target" = rooms ] || library=(-libchdb "$PWD/embedded/clickhouse/libchdb.pin")
    "$GO" -C tools/imagesbom run . -version "v$VERSION" -binary "$work/$target/binary.cdx.json" -status "$work/$target/status" \
      "${library[@]}" >"$dist/$name" || fail "no SBOM of $image"
  done
  # Layers that both have are there once.
  docker save "${tags[@]}" | gzip -n >"$dist/mintlake_${VERSION}_linux_${arch}_images.tar.gz"
  echo "release: images ${tags[*]}" >&2
}
images
