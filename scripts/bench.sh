#!/usr/bin/env bash
# The ratios of aibox against what a user would have without it, measured side by side.
set -euo pipefail
cd "$(dirname "$0")/.."
make --no-print-directory build
exec go run -buildvcs=false ./test/bench "$@"
