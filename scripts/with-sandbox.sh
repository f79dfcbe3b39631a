#!/usr/bin/env bash
# Prepares the machine, then runs a command of this checkout as an unprivileged user with
# rootless Docker and gVisor:
#
#   scripts/with-sandbox.sh [--package DEBIAN-PACKAGE]… COMMAND [ARG…]
#
# As a normal user, it runs the command in place. As root, it runs the command as the user
# $SANDBOX_USER (default aibox), in a copy of the checkout in that user's cache folder,
# since the checkout may not be readable for that user.
set -euo pipefail

checkout=$(cd "$(dirname "$0")/.." && pwd)
setup=("$checkout/scripts/setup-rootless-gvisor.sh")

main() {
	while [[ ${1-} == --package ]]; do
		setup+=(--package "$2")
		shift 2
	done
	PATH=$PATH:/usr/local/go/bin
	require_go
	if ((EUID != 0)); then
		cd "$checkout"
		exec "${setup[@]}" -- "$@"
	fi
	setup+=(--user "${SANDBOX_USER:-aibox}")
	copy_and_run "$@"
}

# require_go: checks for the Go version in go.mod.
require_go() {
	local wanted have
	wanted=$(awk '$1 == "go" {print $2}' "$checkout/go.mod")
	have=$(GOTOOLCHAIN=local GOWORK=off go -C / env GOVERSION 2>/dev/null) || have=
	have=${have#go}
	[[ $have && $(printf '%s\n' "$wanted" "$have" | sort -V | head -n 1) == "$wanted" ]] && return
	[[ $have ]] && have="found only Go $have" || have="found none"
	echo "aibox needs Go ${wanted%.0} or newer and $have: install it from https://go.dev/dl/ to /usr/local/go, then run this again" >&2
	exit 3
}

# copy_and_run COMMAND…: passes the archive as an open descriptor, so that the user needs
# no access to its file, and no other user gets any.
copy_and_run() {
	local archive
	archive=$(mktemp)
	list_files | tar -c -C "$checkout" --null --no-recursion -T - -f "$archive"
	exec 9<"$archive"
	rm -f "$archive"
	# shellcheck disable=SC2016 # all variables are the inner shell's
	exec "${setup[@]}" -- bash -euc '
		go version >/dev/null || { echo "$USER cannot run $(command -v go || echo go): install Go to /usr/local/go" >&2; exit 3; }
		copy=${XDG_CACHE_HOME:-$HOME/.cache}/aibox/checkout
		mkdir -p "${copy%/*}"
		exec 8>"$copy.lock"
		flock -n 8 || { echo "another run uses $copy: waiting for its end" >&2; flock 8; }
		rm -rf "$copy" && mkdir "$copy" && cd "$copy"
		tar -x --no-same-owner -f - <&9
		status=0 # this shell stays, since it holds the lock, which nothing that the command leaves may hold
		"$@" 8>&- 9<&- || status=$?
		exit $status' bash "$@"
}

# list_files: the files that git tracks or would track; all files without git.
list_files() {
	cd "$checkout"
	if git -c safe.directory='*' rev-parse --git-dir >/dev/null 2>&1; then
		git -c safe.directory='*' ls-files -z --cached --others --exclude-standard |
			while IFS= read -r -d '' file; do [[ ! -e $file && ! -L $file ]] || printf '%s\0' "$file"; done
	else
		find . -path ./bin -prune -o -type f -print0
	fi
}

main "$@"
