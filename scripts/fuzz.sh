#!/usr/bin/env bash
# Runs each fuzz target for a time, with what it found before. A failing input is kept in the
# package's testdata/fuzz, the other targets still run, and the exit code is 1.
#
#   scripts/fuzz.sh [TIME] [FOLDER…]
#
# TIME is that of go test -fuzztime, 10s by default. Without folders, all are searched.
set -euo pipefail
cd "$(dirname "$0")/.."

time=${1:-10s}
folders=("${@:2}")
((${#folders[@]} > 0)) || folders=(.)

failed=0
while IFS=: read -r file line; do
	target=${line#func }
	target=${target%%(*}
	printf '==> %s %s\n' "$(dirname "$file")" "$target"
	# Without a bound, Go spends a minute on making each new input smaller.
	go test -run '^$' -fuzz "^$target\$" -fuzztime "$time" -fuzzminimizetime 10x "./$(dirname "$file")" || failed=1
done < <(grep -r --include='*_test.go' -o '^func Fuzz[A-Za-z0-9_]*(' "${folders[@]}" | sort)
exit "$failed"
