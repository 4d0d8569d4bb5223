#!/usr/bin/env bash
# What generators make of our OpenAPI documents, as a node serves them: it compiles, and a user's day runs with it. A day is search, batch, history,
# feed, quote, a swap that lands, errors, and a rate limit that is waited for. ONLY='go typescript' runs some of:
#
#   python      openapi-generator: day_generator.py
#   go          openapi-generator: day.go
#   client      openapi-python-client: day_client.py
#   typescript  openapi-typescript with openapi-fetch: day.ts
#   own         no generator but our client for Go, whose types are made of the same documents: own/main.go
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
retry=$here/../../retry.sh
only=${ONLY:-python go client typescript own}
work=$PWD

venv=$MINTLAKE_CLIENTS_CACHE/generated-$(sha256sum "$here/requirements.txt" | cut -c1-16)
if [[ ! -e $venv/done ]]; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$retry" "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
  touch "$venv/done"
fi
packages=$("$here/../../npm.sh" "$here" "$MINTLAKE_CLIENTS_CACHE/generated-npm")

curl -fsS "$MINTLAKE_API/openapi.json" -o tokens.json
curl -fsS "$MINTLAKE_SWAP/openapi.json" -o swaps.json
# quiet NAME COMMAND…: what it says is shown if it fails.
quiet() { "${@:2}" >"$work/$1.log" 2>&1 || { cat "$work/$1.log" >&2; echo "generated: $1 failed" >&2; return 1; }; }
# openapi GENERATOR DOCUMENT FOLDER PROPERTIES
openapi() {
  quiet "openapi-generator-$1-$2" "$venv/bin/openapi-generator-cli" generate --input-spec "$2.json" --generator-name "$1" --output "$3" --additional-properties "$4" \
    --global-property apiTests=false,modelTests=false,apiDocs=false,modelDocs=false
}
build_python() {
  local name
  for name in tokens swaps; do openapi python "$name" "python/$name" "packageName=mintlake_$name"; done
  for name in tokens swaps; do mv "python/$name/mintlake_$name" python/; done
  cp "$here/day_generator.py" python/
  (cd python && quiet mypy-python "$venv/bin/python" -m mypy --strict --follow-imports silent --cache-dir "$work/mypy" day_generator.py)
}
build_go() {
  local name
  mkdir -p go
  for name in tokens swaps; do openapi go "$name" "go/$name" "packageName=$name,isGoSubmodule=true,withGoMod=false,enumClassPrefix=true"; done
  cp "$here/go/"* go/
  (cd go && GOFLAGS=-mod=readonly quiet go "${GO:-go}" build -o ../day-go . && GOFLAGS=-mod=readonly quiet go-vet "${GO:-go}" vet ./...)
}
build_client() {
  local name
  mkdir -p client
  for name in tokens swaps; do
    quiet "openapi-python-client-$name" "$venv/bin/openapi-python-client" generate --path "$name.json" --meta none --output-path "client/mintlake_$name"
  done
  cp "$here/day_client.py" client/
  (cd client && quiet mypy-client "$venv/bin/python" -m mypy --strict --follow-imports silent --cache-dir "$work/mypy" day_client.py)
}
build_typescript() {
  local name
  mkdir typescript && cp "$here/day.ts" "$here/tsconfig.json" "$here/package.json" typescript/ && ln -s "$packages/node_modules" typescript/
  for name in tokens swaps; do
    quiet "openapi-typescript-$name" node "$packages/node_modules/openapi-typescript/bin/cli.js" "$name.json" --default-non-nullable=false --output "typescript/$name.d.ts"
  done
  (cd typescript && quiet tsc node_modules/.bin/tsc)
}
build_own() { quiet own "${GO:-go}" build -C "$here/own" -o "$work/day-own" .; }
day() { # NAME FROM
  set -- "$MINTLAKE_API" "$MINTLAKE_SWAP" "$2" "$work/$1.json" "$(sed -n "s/^$1 //p" "$work/wallets")" "$1"
  case $6 in
  python) PYTHONPATH=$work/python "$venv/bin/python" python/day_generator.py "${@:1:5}" ;;
  go) "$work/day-go" "${@:1:5}" ;;
  client) PYTHONPATH=$work/client "$venv/bin/python" client/day_client.py "${@:1:5}" ;;
  typescript) node typescript/out/day.js "${@:1:5}" ;;
  own) "$work/day-own" "$3" ;;
  *) echo "there is no $6" >&2 && return 2 ;;
  esac
}

"$venv/bin/python" "$here/wallets.py" $only >wallets
status=0
built=()
for name in $only; do
  if "build_$name"; then built+=("$name"); else status=1; fi
done
# All at once: each waits for its own minute to be over.
days=()
for i in "${!built[@]}"; do
  day "${built[i]}" "192.0.2.$((20 + i))" &
  days+=($!)
done
for i in "${!built[@]}"; do
  wait "${days[i]}" || { echo "generated: the day of ${built[i]} failed: see above" >&2 && status=1; }
done
exit "$status"
