#!/usr/bin/env bash
# The protobuf module: Buf's rules hold, and its Python and TypeScript examples read the same from a live topic.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
count=200
retry=$here/../../retry.sh
cp -r "$here/../../../proto" proto
cd proto

echo "python: code from the module, records of a topic"
venv=$MINTLAKE_CLIENTS_CACHE/events-$(sha256sum examples/python/requirements.txt | cut -c1-16)
if [[ ! -e $venv/done ]]; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$retry" "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --requirement examples/python/requirements.txt
  touch "$venv/done"
fi
mkdir -p examples/python/gen
"$venv/bin/python" -m grpc_tools.protoc -I . --python_out=examples/python/gen mintlake/events/v1/events.proto
"$venv/bin/python" examples/python/read_topic.py "$MINTLAKE_KAFKA" "$count" >../python

echo "typescript: Buf's rules, code from the module, records of a topic"
packages=$MINTLAKE_CLIENTS_CACHE/events-$(sha256sum examples/typescript/package-lock.json | cut -c1-16)-node
if [[ ! -e $packages/done ]]; then
  rm -rf "$packages"
  mkdir -p "$packages"
  cp examples/typescript/package{,-lock}.json "$packages/"
  (cd "$packages" && "$retry" npm ci --no-audit --no-fund --loglevel=error)
  touch "$packages/done"
fi
ln -s "$packages/node_modules" examples/typescript/node_modules
export PATH=$packages/node_modules/.bin:$PATH
"$retry" npx --yes @bufbuild/buf@1.75.0 --version >/dev/null # fetches it, once
npx --yes @bufbuild/buf@1.75.0 lint
"$here/breaking.sh" npx --yes @bufbuild/buf@1.75.0
(cd examples/typescript && npm run --silent build && node dist/read_topic.js "$MINTLAKE_KAFKA" "$count") >../typescript

echo "both read the same"
"$venv/bin/python" - "$MINTLAKE_API" <<'END'
import json, sys, urllib.request
python, typescript = ([json.loads(line) for line in open(f"../{name}")] for name in ("python", "typescript"))
position = lambda record: (record["partition"], record["offset"])
assert len(python) >= 50, f"{len(python)} records are too few to say anything"
# TypeScript read later, so partitions with fewer than COUNT records may have grown.
read = {position(record): record for record in typescript}
for record in python:
    assert read.get(position(record)) == record, f"Python read {record}, TypeScript {read.get(position(record))}"
kinds = {record["kind"] for record in python}
assert {"initialize_mint", "mint_to"} <= kinds, kinds
mint = next(record["mint"] for record in python if record["kind"] == "initialize_mint")
token = json.load(urllib.request.urlopen(f"{sys.argv[1]}/tokens/{mint}"))
assert token["mint"] == mint, token
print(f"{len(python)} records, {len(kinds)} kinds; the API knows {mint}")
END
