#!/usr/bin/env bash
# An analyst's first hour: connect, look around, ask the questions of docs/analytics.md, draw a picture.
#
#   PNG=volume.png tools/clients/analyst/run.sh   keeps the picture there
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
target=$MINTLAKE_CLIENTS_CACHE/analyst/$(sha256sum <"$here/requirements.txt" | cut -c1-16)
python=${PYTHON:-python3}
if [[ ! -d $target ]]; then
  mkdir -p "${target%/*}"
  tmp=$(mktemp -d "${target%/*}/.install.XXXXXX")
  "$here/../../retry.sh" "$python" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-input --no-deps --target "$tmp" -r "$here/requirements.txt" >&2 ||
    { rm -rf "$tmp"; echo "analyst: the pinned packages could not be installed: see above" >&2; exit 1; }
  mv -T "$tmp" "$target" 2>/dev/null || rm -rf "$tmp" # whoever loses a race finds it there
fi
MPLCONFIGDIR=$PWD PYTHONPATH=$target PYTHONDONTWRITEBYTECODE=1 "$python" "$here/first_hour.py" "$here/../../../docs/analytics.md" "${PNG:-volume.png}"
