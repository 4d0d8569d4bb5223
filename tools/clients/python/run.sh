#!/usr/bin/env bash
# Our own package for Python: built as a wheel, installed, and used as a user's program does, typed.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
client=$here/../../../clients/python

venv=$MINTLAKE_CLIENTS_CACHE/python-$(sha256sum "$here/requirements.txt" | cut -c1-16)
python=$venv/bin/python
if [[ ! -e $venv/done ]]; then
  rm -rf "$venv"
  python3 -m venv "$venv"
  "$here/../../retry.sh" "$python" -m pip install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
  touch "$venv/done"
fi
"$python" "$client/generate.py" --check
"$python" -m build --wheel --no-isolation --outdir "$PWD/wheel" "$client" >build.log || { cat build.log >&2; exit 1; }
"$python" -m twine check --strict wheel/*.whl
# Without its libraries, which are there in pinned versions; over the wheel of an earlier run.
"$python" -m pip install --quiet --disable-pip-version-check --force-reinstall --no-deps wheel/*.whl
"$python" -m mypy --strict --cache-dir "$PWD/mypy" "$client/tests"
"$python" -m unittest discover --start-directory "$client/tests"
"$python" "$client/tests/usage.py" "$MINTLAKE_API" "$MINTLAKE_SWAP"
