#!/usr/bin/env bash
# Puts the jars of Apache Kafka, in the version that pom.xml pins, into the cache and prints their folder.
# Needs mvn and a Java of 17 or later. Does nothing when the folder is there already; safe to run several times at once.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
version=$(sed -n 's:.*<kafka.version>\(.*\)</kafka.version>.*:\1:p' "$here/pom.xml")
cache=${MINTLAKE_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/mintlake}
# Another list of jars is another folder.
target=$cache/kafka/$version-$(cksum <"$here/pom.xml" | cut -d ' ' -f 1)

if [[ ! -d $target ]]; then
  for tool in mvn java; do
    command -v "$tool" >/dev/null || { echo "install Apache Kafka: $tool is not installed" >&2; exit 1; }
  done
  mkdir -p "$cache/kafka"
  tmp=$(mktemp -d "$cache/kafka/.install.XXXXXX")
  trap 'rm -rf "$tmp"' EXIT
  "$here/../retry.sh" mvn -B -q -Dstyle.color=never -f "$here/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$tmp/jars" >&2
  [[ -e $tmp/jars/kafka_2.13-$version.jar ]] || { echo "install Apache Kafka: kafka_2.13-$version.jar did not arrive" >&2; exit 1; }
  # The rename makes the folder appear whole. Who loses a race finds it there.
  mv -T "$tmp/jars" "$target" 2>/dev/null || [[ -d $target ]]
fi
echo "$target"
