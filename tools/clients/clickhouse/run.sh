#!/usr/bin/env bash
# Clients of ClickHouse against the embedded engine, and DuckDB over an export. ONLY='python js java duckdb' runs some of them.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=$MINTLAKE_CLIENTS_CACHE/clickhouse
retry=$here/../../retry.sh
only=${ONLY:-python js java duckdb}
mkdir -p "$cache"

# installed FILE… COMMAND: a folder that COMMAND filled once for these pins; it gets the folder as $1.
installed() {
  local command=${*: -1} target tmp
  target=$cache/$(cat "${@:1:$#-1}" | sha256sum | cut -c1-16)
  if [[ ! -d $target ]]; then
    tmp=$(mktemp -d "$cache/.install.XXXXXX")
    "$command" "$tmp" >&2 || { rm -rf "$tmp"; echo "clickhouse: the pinned packages could not be installed: see above" >&2; return 1; }
    # The rename makes the folder appear whole. Who loses a race finds it there.
    mv -T "$tmp" "$target" 2>/dev/null || rm -rf "$tmp"
  fi
  echo "$target"
}
python=${PYTHON:-python3}
packages() { "$retry" "$python" -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --no-input --target "$1" -r "$here/requirements.txt"; }
modules() { cp "$here"/js/package*.json "$1" && "$retry" npm ci --silent --prefix "$1"; }
jars() { "$retry" mvn -B -q -Dstyle.color=never -f "$here/java/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$1"; }

one() {
  local folder
  case $1 in
  python | duckdb)
    folder=$(installed "$here/requirements.txt" packages) || return
    PYTHONPATH=$folder PYTHONDONTWRITEBYTECODE=1 "$python" "$here/$([[ $1 = python ]] && echo connect.py || echo export.py)"
    ;;
  js)
    folder=$(installed "$here"/js/package*.json modules) || return
    mkdir js && cp "$here/js/client.mjs" js && ln -s "$folder/node_modules" js # Node looks for modules beside the script
    node js/client.mjs
    ;;
  java)
    folder=$(installed "$here/java/pom.xml" jars) || return
    java -cp "$folder/*" "$here/java/Jdbc.java"
    ;;
  *) echo "there is no $1" >&2 && return 2 ;;
  esac
}

status=0
for name in $only; do
  one "$name" || { echo "clickhouse: $name failed" >&2 && status=1; }
done
exit $status
