#!/usr/bin/env bash
# Runs a pinned development tool. It is built from source on first use and kept in the
# user's cache:
#
#   scripts/tool.sh NAME [ARG…]
set -euo pipefail

case ${1-} in
golangci-lint) module=github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0 ;;
govulncheck) module=golang.org/x/vuln/cmd/govulncheck@v1.9.0 ;;
*)
	echo "usage: scripts/tool.sh golangci-lint|govulncheck [ARG…]" >&2
	exit 2
	;;
esac

# A tool reads the packages of the Go version that it was built with.
bin=${XDG_CACHE_HOME:-$HOME/.cache}/aibox/tools/${module##*@}-$(go env GOVERSION)
if [[ ! -x $bin/$1 ]]; then
	echo "==> building $1 ${module##*@} (once; golangci-lint takes two or three minutes)" >&2
	CGO_ENABLED=0 GOBIN=$bin GOFLAGS=-buildvcs=false go install -ldflags '-s -w' "$module" 2> >(grep -v '^go: downloading' >&2)
fi
exec "$bin/$1" "${@:2}"
