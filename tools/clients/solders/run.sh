#!/usr/bin/env bash
# solders, Solana's Rust types in Python: transactions of all versions are sent, what comes back is
# read by Rust's own types, and swaps have its bytes.
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
for script in send swap; do
  echo "$script"
  PYTHONDONTWRITEBYTECODE=1 "$python" "$here/$script.py"
done
