#!/usr/bin/env bash
# Runs all tests on bare Debian and Ubuntu machines with different versions of Docker,
# RootlessKit and tools. Debian 13, the default, has Docker 26; Debian 12 has Docker 20.10.
#
#   test/matrix/run.sh [--fresh] [SUITE…] [-- GO-TEST-ARGUMENT…]
#
# Without arguments for go test, it runs everything, like `make test`. --fresh recreates each
# machine, so that it has only git, make, certificates and Go. A failure on one machine does
# not stop the others. The table at the end lists all results; any failure exits with 1.
set -euo pipefail
cd "$(dirname "$0")/../.."

fresh=() suites=()
while (($# > 0)); do
	case $1 in
	--fresh) fresh=(--fresh) ;;
	--) shift && break ;;
	-*) sed -n 's/^# \{0,1\}//; 2,9p' "$0" >&2 && exit 2 ;;
	*) suites+=("$1") ;;
	esac
	shift
done
((${#suites[@]} > 0)) || suites=(trixie)

table='' failed=0
for suite in "${suites[@]}"; do
	began=$SECONDS result=passed
	test/matrix/machine.sh "${fresh[@]}" "$suite" scripts/test.sh "$@" || { result="failed with exit code $?" failed=1; }
	printf -v row '%-10s %s after %d min %d s\n' "$suite" "$result" $(((SECONDS - began) / 60)) $(((SECONDS - began) % 60))
	table+=$row
done
printf '%s' "$table"
exit "$failed"
