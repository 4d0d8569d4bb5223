# A part of test.sh: who downloads the archive does what docs/install.md says, in an empty folder.
#
# shellcheck shell=bash disable=SC2154 # test.sh sets work, arch, archive, VERSION and pid

# test_archive runs the page's commands as they stand. The last one starts the demo, here with ports
# of the system's choice.
test_archive() {
  local folder=$work/download page api mint told
  mkdir "$folder"
  cp "$work/a/SHA256SUMS" "$archive" "$folder/"
  page=$(commands "The binary" 1 "$arch")
  [[ ${page##*$'\n'} == "./mintlake up "* ]] || fail "docs/install.md ends with another command than mintlake up: ${page##*$'\n'}"
  sed '$s/^/exec /' <<<"$page" >"$work/page.sh"
  (
    cd "$folder"
    for surface in API SWAP RPC STREAM METRICS KAFKA CLICKHOUSE; do export "MINTLAKE_${surface}_ADDR=127.0.0.1:0"; done
    MINTLAKE_RPC_WS_ADDR=off exec bash -euo pipefail "$work/page.sh"
  ) >"$work/out" 2>"$work/err" &
  pid=$!
  # It may have to download libchdb.
  for _ in $(seq 600); do
    api=$(sed -n 's/^addresses .*api=\([^ ]*\).*/\1/p' "$work/out")
    [ -z "$api" ] || break
    kill -0 "$pid" 2>/dev/null || fail "the page's commands ended: $(tail -n 3 "$work/out" "$work/err")"
    sleep 1
  done
  [ -n "$api" ] || fail "the demo did not start in ten minutes: $(tail -n 3 "$work/err")"
  told=$(cat "$work/out")
  grep -q "^${archive##*/}: OK\$" <<<"$told" || fail "the page's commands checked no checksum: $told"
  grep -q "^mintlake $VERSION (commit " <<<"$told" || fail "the binary tells another version: $told"
  for _ in $(seq 120); do
    mint=$(curl -fsS "$api/tokens?limit=1" 2>/dev/null | sed -n 's/.*"mint":"\([^"]*\)".*/\1/p') || true
    [ -z "$mint" ] || break
    sleep 1
  done
  [ -n "$mint" ] || fail "the demo serves no token: $(tail -n 3 "$work/err")"
  grep -qF "\"mint\":\"$mint\"" <<<"$(curl -fsS "$api/tokens/$mint")" || fail "the demo does not find the token that it lists, $mint"
  grep -q '/explorer/assets/' <<<"$(curl -fsS "$api/")" || fail "the binary was built without the explorer"
  kill -INT "$pid" && wait "$pid" || fail "it did not stop cleanly: $(tail -n 3 "$work/err")"
  pid=
  echo "test-release: the archive unpacks, checks, runs the demo and stops, by the commands of docs/install.md"
}

# test_sbom holds an SBOM to what Go wrote into the binary: the same modules, each in the same version.
test_sbom() { # test_sbom SBOM BINARY
  "${GO:-go}" version -m "$2" | python3 -c '
import json, sys

linked = set()
for words in map(str.split, sys.stdin):
    if words[:1] == ["dep"]:
        name, version = words[1], words[2]
        linked.add((name, version))
    elif words[:1] == ["=>"]: # in place of the one before
        linked.remove((name, version))
        linked.add((words[1], words[2]))
parts = json.load(open(sys.argv[1]))["components"]
listed = {(part["name"], part.get("version")) for part in parts if part["name"] != "std"}
if len(linked) < 50 or linked != listed or len(listed) + 1 != len(parts):
    sys.exit(f"{len(linked)} modules are linked; only linked: {linked - listed}; only listed: {listed - linked}")
' "$1" || fail "the SBOM tells of other modules than the binary"
  echo "test-release: the SBOM has the modules of the binary and no others"
}
