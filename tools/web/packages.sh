#!/usr/bin/env bash
# Installs the npm packages of the tests in a browser, once for each lock file, and prints their folder.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
exec "$here/../npm.sh" "$here" "${MINTLAKE_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/mintlake}/web"
