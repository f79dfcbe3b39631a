#!/usr/bin/env bash
# The suites that depend on Docker's version, on a machine with another one: Debian 13
# has Docker 26, where networks and RootlessKit differ from Debian 12's Docker 20.10.
#
#   test/matrix/run.sh [GO-TEST-ARGUMENT…]     default: the box, build and network suites
set -euo pipefail
cd "$(dirname "$0")/../.."

(($# > 0)) || set -- ./runtime/docker ./bakery/docker ./netguard/rules ./test/...
exec test/matrix/machine.sh trixie scripts/test.sh "$@"
