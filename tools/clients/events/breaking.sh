#!/usr/bin/env bash
# Holds the protobuf module to what it was in each earlier commit that changed it: what was written
# then is still read, binary and JSON.
#
#   tools/clients/events/breaking.sh BUF...     the command that runs Buf
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() {
  echo "events: $*" >&2
  exit 1
}

# The check itself is live: without a field it refuses, also where the number is reserved.
cp -r "$root/proto" "$work/less"
sed -i '/^message TokenEvent {/,/^}/s/^  bytes mint = \([0-9]*\);/  reserved "mint";\n  reserved \1;/' "$work/less/mintlake/events/v1/events.proto"
said=$("$@" breaking "$work/less" --against "$root/proto" 2>&1) && fail "buf breaking lets a field go"
grep -q mint <<<"$said" || fail "buf breaking says: $said"

mapfile -t commits < <(git -C "$root" rev-list HEAD -- proto/mintlake)
[ "${#commits[@]}" -gt 0 ] || fail "no commit has the module: is this a checkout?"
for commit in "${commits[@]}"; do
  mkdir "$work/$commit"
  git -C "$root" archive "$commit" proto | tar -x -C "$work/$commit"
  "$@" breaking "$root/proto" --against "$work/$commit/proto" || fail "the module of ${commit:0:12} is broken"
done
echo "nothing is taken from the module of any of ${#commits[@]} commits"
