# A part of test.sh: commands of docs/install.md, as they stand there.
#
# shellcheck shell=bash

# commands prints the commands below a heading of the page, with an architecture's name in place of
# amd64.
commands() { # commands HEADING NUMBER ARCH, the first block is 1
  local text
  text=$(awk -v heading="## $1" -v number="$2" '
    /^## / { here = $0 == heading }
    here && /^```sh/ { block++; inside = 1; next }
    /^```/ { inside = 0 }
    here && inside && block == number' docs/install.md)
  [ -n "$text" ] || fail "docs/install.md has no block $2 of commands below $1"
  sed "s/amd64/$3/" <<<"$text"
}
