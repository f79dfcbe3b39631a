#!/usr/bin/env bash
# Everything: the checks, then every test with the real Docker, gVisor and agents.
# Runs as an unprivileged user with the daemon at hand (scripts/with-sandbox.sh).
set -euo pipefail
cd "$(dirname "$0")/.."

make --no-print-directory build
lint=0
make --no-print-directory lint || lint=$?
echo "==> go test ./..." >&2
go test -timeout 30m ./...
exit $lint
