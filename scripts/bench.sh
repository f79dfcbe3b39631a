#!/usr/bin/env bash
# Compares aibox with plain Docker and git, measured side by side.
set -euo pipefail
cd "$(dirname "$0")/.."
make --no-print-directory build
exec go run -buildvcs=false ./test/bench "$@"
