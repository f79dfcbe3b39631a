#!/usr/bin/env bash
# Walks through a first run of aibox on a bare machine without Docker, by keys on a terminal:
# it sets up the machine, bakes an image, runs an agent, and accepts its change. It prints
# the time of each step.
#
#   test/matrix/walk.sh [SUITE]     by default bookworm
#
# Needs root or sudo, and ten to twenty minutes, most of them for installing packages and
# for building runsc if this machine cannot download it.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
[[ ${1-} == --inside ]] || exec "$here/machine.sh" --fresh "${1:-bookworm}" test/matrix/walk.sh --inside

# A user as an installer creates one: with sudo, and with the folder that a login creates.
apt-get -q update >&2
apt-get -q install -y --no-install-recommends sudo >&2
useradd --create-home --shell /bin/bash tess
echo 'tess ALL=(ALL) NOPASSWD: ALL' >/etc/sudoers.d/tess
uid=$(id -u tess)
install -d -m 0755 /run/user
install -d -m 0700 -o tess -g tess "/run/user/$uid"

# The test's home is a temporary folder, and Docker's images need a disk.
runuser -u tess -- env HOME=/home/tess USER=tess LOGNAME=tess "XDG_RUNTIME_DIR=/run/user/$uid" TMPDIR=/var/tmp \
	go test ./test/e2e -run TestAWalkFromAnEmptyMachineToABranchIsTimed -count=1 -v -timeout 1h -walk.bare
