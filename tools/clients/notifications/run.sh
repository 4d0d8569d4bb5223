#!/usr/bin/env bash
# The stream's notifications, of real transactions of all versions, are read by Rust's own types. It needs the shared data, but not the node.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
venv=$MINTLAKE_CLIENTS_CACHE/solders-$(sha256sum "$here/requirements.txt" | cut -c1-16)
python=$venv/bin/python
if [[ ! -e $venv/done ]]; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$here/../../retry.sh" "$python" -m pip install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
  touch "$venv/done"
fi
MINTLAKE_NOTIFICATIONS=$PWD/notifications.jsonl MINTLAKE_REQUIRE_SHARED=1 ${GO:-go} test -C "$here/../../.." -count=1 -run '^TestNotificationsForSolders$' ./gateway/stream >&2
"$python" "$here/read.py" notifications.jsonl
