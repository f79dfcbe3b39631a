#!/usr/bin/env bash
# Runs the static checks, then all tests with the real Docker, gVisor and agents. It first
# prepares the machine with scripts/with-sandbox.sh.
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
	test/testnet/setup.sh
	packages=()
	for package in shellcheck e2fsprogs fuse2fs fuse3 acl less procps dbus passt git-lfs openssh-client python3-git python3-pip; do
		# Ubuntu 22.04 has no passt, nor a RootlessKit that uses it.
		[[ $package == passt ]] && grep -q '^VERSION_CODENAME=jammy' /etc/os-release || packages+=(--package "$package")
	done
	exec scripts/with-sandbox.sh "${packages[@]}" \
		env AIBOX_TEST_PREPARED=1 scripts/test.sh "$@"
fi

# On a full disk dozens of tests fail, each with another message.
for folder in "$HOME" "${TMPDIR:-/tmp}"; do
	free=$(df --output=avail -k "$folder" | tail -1)
	if ((free < 3 * 1024 * 1024)); then
		echo "test.sh: $folder has $((free / 1024)) MiB left; the tests need 3 GiB" >&2
		echo "hint: \`go clean -cache\` and \`docker system prune\` usually free the most space" >&2
		exit 1
	fi
done

# Some tests only need an image that can run a static program. The setup creates one.
export AIBOX_TEST_IMAGE=${AIBOX_TEST_IMAGE:-aibox-setup-proof:1}

# One package creates and syncs thousands of small repositories, which takes half the time
# in memory, if programs can run from there. The name is fixed, so that Go can cache test
# results.
memory=/dev/shm/aibox-test-$EUID
in_memory() {
	[[ $(df --output=avail -k /dev/shm 2>/dev/null | tail -1) -gt 524288 ]] || return
	[[ -d $memory ]] || mkdir -m 0700 "$memory" || return
	[[ -O $memory && ! -L $memory ]] || return
	printf '#!/bin/sh\n' >"$memory/run.$$" && chmod +x "$memory/run.$$" && "$memory/run.$$"
}
if in_memory; then export AIBOX_TEST_MEMORY=$memory; fi
trap 'rm -f "$memory/run.$$"' EXIT # the folder stays: another run can use it

# Without -trimpath, as in go test, so that the program, the checks and the tests share what is
# compiled.
make --no-print-directory build TRIM=
lint=0
if (($# == 0)); then
	# As in the program, for the same reason.
	export CGO_ENABLED=0
	make --no-print-directory lint || lint=$?
	(cd test/gitleaks && GOWORK=off go test ./...) || lint=$?
	# The longest package first: its tests mostly wait, and the others run meanwhile. The checks
	# have run go vet.
	set -- -vet=off ./test/e2e ./...
fi
echo "==> Docker $(docker version --format '{{.Server.Version}}'): go test $*" >&2
# The end-to-end tests take half an hour on two processors, and twice as long on a busy machine.
go test -timeout 80m "$@"
exit "$lint"
