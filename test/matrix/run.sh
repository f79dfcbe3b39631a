#!/usr/bin/env bash
# The test command on other machines: bare Debians and Ubuntus, whose Docker, RootlessKit
# and tools differ. Debian 13, the default, has Docker 26; Debian 12 has Docker 20.10.
#
#   test/matrix/run.sh [--fresh] [SUITE…] [-- GO-TEST-ARGUMENT…]
#
# Without go test arguments everything runs, as in `make test`. With --fresh each machine is
# made again first, so that nothing is there but git, make, certificates and Go. A machine
# that fails does not stop the next; the table at the end names each, and the exit code is 1.
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
