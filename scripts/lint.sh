#!/usr/bin/env bash
# Runs all static checks. It fails if one of them does.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 3

failed=0
check() {
	echo "==> $1" >&2
	shift
	"$@" || failed=1
}

shell_scripts() {
	find . -path ./.git -prune -o -path ./bin -prune -o -type f \( -name '*.sh' -o -path ./.ci/run \) -print0
}

# golangci-lint runs all of go vet (.golangci.yml), except on generated code.
check "go vet, generated code" go vet ./api/aibox/v1/... ./api/e2b/... ./review/risk/secrets
check "go vet, test/gitleaks" env -C test/gitleaks GOWORK=off go vet ./...
# Without the flag it fails at a lock file in /tmp that another user has left.
check "golangci-lint, formatting included (make fmt fixes it)" scripts/tool.sh golangci-lint run --allow-parallel-runners
check "shellcheck" xargs -0 -a <(shell_scripts) shellcheck
exit $failed
