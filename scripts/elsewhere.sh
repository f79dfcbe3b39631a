#!/usr/bin/env bash
# Tests the real Aider and the real Crush, as far as they are named, where PyPI and Crush's
# release page cannot be reached:
#
#   AIDER=DIR CRUSH=DIR scripts/elsewhere.sh [GO-TEST-ARGUMENT…]
#
# AIDER is a folder with Aider's source, CRUSH one with Crush's or "module": then the Go
# module proxy has it. Everybody can read both folders. With -update as an argument it
# measures how they end when their model server fails, for docs/agents.md.
set -euo pipefail
cd "$(dirname "$0")/.."

[[ ${AIDER-}${CRUSH-} ]] || {
	echo "usage: make elsewhere AIDER=DIR CRUSH=DIR|module" >&2
	exit 2
}
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
chmod 0755 "$made"
given=()
if [[ ${AIDER-} ]]; then given+=(-aider "$(realpath "$AIDER")"); fi
if [[ ${CRUSH-} == module ]]; then
	version=$(sed -n 's/^ARG VERSION=//p' dockerfiles/crush.Dockerfile)
	GOFLAGS=-mod=mod CGO_ENABLED=0 GOBIN=$made go install "github.com/charmbracelet/crush@v$version"
elif [[ ${CRUSH-} ]]; then
	env -C "$CRUSH" GOWORK=off GOFLAGS=-mod=mod CGO_ENABLED=0 go build -buildvcs=false -trimpath -o "$made/crush" .
fi
if [[ ${CRUSH-} ]]; then given+=(-crush "$made/crush"); fi
scripts/with-sandbox.sh go test ./test/e2e -count=1 -timeout 60m \
	-run 'AnAgentFromElsewhere|EveryAgentEndsWhenItsModelFails/.*_(aider|crush)$' "$@" "${given[@]}"
