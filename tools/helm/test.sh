#!/usr/bin/env bash
# Holds the chart deploy/helm/mintlake to what clusters and Mintlake accept: helm lint, helm template for each set of values in ci/,
# the schemas of kubernetes-validate, our own rules, and `mintlake config` for every container's settings.
#
# Needs Go, and Python 3.10 or later with pip. helm is built from the Go proxy; the validator goes into Mintlake's cache, once.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
cache=${MINTLAKE_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/mintlake}
python=${PYTHON:-python3}
GO=${GO:-go}
fail() {
  echo "test-helm: $*" >&2
  exit 1
}

"$python" -c 'import sys, pip; sys.exit(sys.version_info < (3, 10))' 2>/dev/null || fail "$python is absent, older than 3.10, or without pip: install it, or set PYTHON"
tag=$("$python" -c 'import sys; print("py%d.%d" % sys.version_info[:2])')
packages=$cache/helm-test/$tag-$(sha256sum "$here/requirements.txt" | cut -c1-16)
if [[ ! -d $packages ]]; then
  mkdir -p "$cache/helm-test"
  tmp=$(mktemp -d "$cache/helm-test/.install.XXXXXX")
  "$here/../retry.sh" "$python" -m pip install --quiet --disable-pip-version-check --no-input --target "$tmp/packages" -r "$here/requirements.txt" >&2 ||
    fail "pip could not install what requirements.txt names: see its message above, and run this again"
  # The rename makes the folder appear whole. Who loses a race finds it there.
  mv -T "$tmp/packages" "$packages" 2>/dev/null || [[ -d $packages ]] || fail "cannot write $packages"
  rm -rf "$tmp"
fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mintlake=${MINTLAKE_BINARY:-$work/mintlake}
[[ -x $mintlake ]] || "$GO" build -o "$mintlake" ./cmd/mintlake
"$GO" tool -modfile="$here/go.mod" helm version --short >&2 # builds it, the first time: four minutes of a core
helm=$("$GO" tool -n -modfile="$here/go.mod" helm)
helm() { "$helm" "$@"; }
chart=deploy/helm/mintlake

for values in "$chart"/ci/*-values.yaml; do
  name=$(basename "$values" -values.yaml)
  helm lint --strict --quiet "$chart" --values "$values" || fail "helm lint: $name"
  helm template mintlake "$chart" --namespace registry --kube-version 1.34.0 --values "$values" >"$work/$name.yaml" || fail "helm template: $name"
done

# What must be refused, and what it must be told by. Each line: a text of the error, then the arguments.
refused() {
  local want=$1 said
  shift
  said=$(helm template mintlake "$chart" "$@" 2>&1 >/dev/null) && fail "helm template accepts $*"
  grep -qF -- "$want" <<<"$said" || fail "helm template $* says: $said"
}
refused "kafka.bundled.enabled" # nothing named at all
refused "clickhouse.existingSecret" --set 'kafka.brokers={a:9092}'
refused "exclude each other" --values "$chart/ci/bundled-values.yaml" --set 'kafka.brokers={a:9092}'
refused "replicas" --values "$chart/ci/bundled-values.yaml" --set rooms.volume.replicas=2
refused "rooms.ingest.standby" --values "$chart/ci/bundled-values.yaml" --set rooms.ingest.replicas=2,rooms.ingest.standby=false
refused "typo" --values "$chart/ci/bundled-values.yaml" --set kafka.typo=1
refused "existingSecret" --values "$chart/ci/bundled-values.yaml" --set kafka.sasl.mechanism=plain
bundled=(--values "$chart/ci/bundled-values.yaml")
msk=(--values "$chart/ci/msk-values.yaml")
refused "kafka.tls.enabled" "${msk[@]}" --set kafka.tls.enabled=false
refused "AWS role" "${msk[@]}" --set kafka.sasl.existingSecret=login
refused "AWS role" "${msk[@]}" --set kafka.sasl.username=mintlake
refused "rooms.projector.replicas: 6, of which 2 would have nothing to read: kafka.partitions is 4" "${bundled[@]}" --set rooms.projector.replicas=6
refused "rooms.projector.replicas: 12, of which 4" "${msk[@]}" --set config.kafka.partitions=8
refused "rooms.enrich.autoscaling.maxReplicas: 12, of which 1" "${msk[@]}" --set kafka.partitions=11 --set rooms.projector.replicas=2
refused "the bundled server speaks plain text" "${bundled[@]}" --set clickhouse.tls.existingSecret=ca
refused "rateLimits.existingSecret" "${bundled[@]}" --set rateLimits.tls.existingSecret=ca
refused "clickhouse.tls.existingSecret" "${msk[@]}" --set clickhouse.tls.existingSecret=
refused "certKey and keyKey go together" "${msk[@]}" --set clickhouse.tls.keyKey=
refused "rooms.gateway does not start without keys: name keys.rpc.existingSecret" "${bundled[@]}" --set keys.rpc.existingSecret=
refused "rooms.swap does not start without keys: name keys.swap.existingSecret" "${bundled[@]}" --set keys.swap.existingSecret=
helm template mintlake "$chart" "${bundled[@]}" --set keys.swap.existingSecret= --set rooms.swap.enabled=false >/dev/null || fail "swap is off, and needs no keys"
refused "demo" --values "$chart/ci/bundled-values.yaml" --set source.url=demo:

PYTHONPATH=$packages "$python" "$here/check.py" --mintlake "$mintlake" "$work"/*.yaml
