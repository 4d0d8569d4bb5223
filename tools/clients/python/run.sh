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
# The programs of the README, as they stand. The second one goes on until it is stopped.
"$python" - "$client/README.md" <<'END'
import os, pathlib, re, sys

programs = re.findall(r"```python\n(.*?)```", pathlib.Path(sys.argv[1]).read_text(), re.S)
for number, text in enumerate(programs, 1):
    for written, address in (("http://127.0.0.1:8080", "MINTLAKE_API"), ("http://127.0.0.1:8081", "MINTLAKE_SWAP")):
        text = text.replace(written, os.environ[address])
    pathlib.Path(f"readme{number}.py").write_text(text)
END
"$python" readme1.py
status=0
timeout 10 "$python" -u readme2.py >followed || status=$?
[[ $status == 124 ]] && grep -q '^go on from ' followed || { echo "python: the README's program that follows ended with $status, or had no cursor:" >&2; cat followed >&2; exit 1; }
