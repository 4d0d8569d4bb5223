#!/bin/sh
# Runs every fuzz test of the module, one after another, each for $1 (default 10s). `go test -fuzz` takes one target at a time.
set -eu
time=${1:-10s}
go list -f '{{.Dir}} {{join .TestGoFiles " "}} {{join .XTestGoFiles " "}}' ./... | while read -r dir files; do
	for file in $files; do
		sed -n 's/^func \(Fuzz[A-Za-z0-9_]*\)(.*/\1/p' "$dir/$file" | while read -r target; do
			echo "== $dir $target"
			(cd "$dir" && go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" .) || exit 1
		done
	done
done
