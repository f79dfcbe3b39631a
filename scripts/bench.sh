#!/usr/bin/env bash
# Compares aibox with plain Docker and git, measured side by side.
set -euo pipefail
cd "$(dirname "$0")/.."
make --no-print-directory build
# Installed as Docker is: the kernel maps what the linker wrote in smaller pieces than a copy,
# so that a start of bin/aibox itself takes two milliseconds longer until the next boot.
installed=$(mktemp -d)
trap 'rm -rf "$installed"' EXIT
install -m 0755 bin/aibox "$installed/aibox"
go run -buildvcs=false ./test/bench --aibox "$installed/aibox" "$@"
