#!/usr/bin/env bash
# Everything: the checks, then every test with the real Docker, gVisor and agents, on a
# machine that scripts/with-sandbox.sh has prepared.
#
#   scripts/test.sh                        the checks and all packages
#   scripts/test.sh GO-TEST-ARGUMENT…      only these tests
set -euo pipefail
cd "$(dirname "$0")/.."

if [[ -z ${AIBOX_TEST_PREPARED-} ]]; then
	# Unmounting a disk of the tests needs the list of mounts, which small systems lack.
	root=()
	((EUID == 0)) || root=(sudo)
	[[ -e /etc/mtab ]] || "${root[@]}" ln -s /proc/self/mounts /etc/mtab
	exec scripts/with-sandbox.sh --package shellcheck --package e2fsprogs --package fuse2fs --package fuse3 \
		env AIBOX_TEST_PREPARED=1 scripts/test.sh "$@"
fi

# Some tests only need an image that can run a static program; the setup left one.
export AIBOX_TEST_IMAGE=${AIBOX_TEST_IMAGE:-aibox-setup-proof:1}

make --no-print-directory build
lint=0
if (($# == 0)); then
	make --no-print-directory lint || lint=$?
	(cd test/gitleaks && GOWORK=off go test ./...) || lint=$?
	set -- ./...
fi
echo "==> Docker $(docker version --format '{{.Server.Version}}'): go test $*" >&2
go test -timeout 30m "$@"
exit "$lint"
