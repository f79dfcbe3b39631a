#!/usr/bin/env bash
# Tests the setup script on a bare machine: check, set up, set up again, and uninstall
# without touching other settings.
#
#   test/matrix/machine.sh --fresh SUITE test/matrix/setup.sh
#
# It runs as root and creates a user. Packages and that user stay on the machine.
set -euo pipefail

readonly SETUP=$PWD/scripts/setup-rootless-gvisor.sh NAME=tester
readonly DAEMON_JSON=/home/$NAME/.config/docker/daemon.json STATE_FILE=/var/lib/aibox/setup OURS=/usr/local/lib/aibox

main() {
	exits 3 "a bare machine needs the setup" check
	exits 0 "the setup works" set_up
	exits 0 "then nothing is left to do" check
	exits 0 "a second run changes nothing" second_run
	exits 0 "another program adds keys to daemon.json" edit_settings '.debug = true | .runtimes.other = {path: "/bin/true"}'
	exits 0 "a running daemon loses the runtime" lose_runtime
	exits 3 "the check finds it" check
	exits 0 "the setup registers it again" set_up
	exits 0 "then nothing is left to do" check
	exits 0 "a container runs" run_container
	exits 3 "uninstalling fails while it runs" uninstall --yes
	exits 0 "the setup is still complete" check
	exits 0 "the container is stopped" as_user docker rm -f sleeper
	exits 2 "without a terminal, uninstalling needs --yes" uninstall
	exits 3 "--uninstall --check lists what would be removed" uninstall --check
	exits 0 "the setup is uninstalled" uninstall --yes
	exits 0 "the other keys stay and the runtime is gone" holds '.debug and .runtimes.other and (.runtimes | has("runsc") | not)'
	exits 0 "no process or file is left" nothing_left
	exits 0 "uninstalling again changes nothing" uninstall --yes
	exits 3 "the machine needs the setup again" check
	exits 0 "the setup works again" set_up
	exits 0 "the setup is uninstalled with its data" uninstall --yes --purge
	exits 0 "again no process or file is left" nothing_left
	exits 1 "the data is gone" test -e "/home/$NAME/.local/share/docker"
	exits 1 "the records are gone" test -e "${STATE_FILE%/*}"
}

check() { "$SETUP" --user "$NAME" --check; }
uninstall() { "$SETUP" --user "$NAME" --uninstall "$@" </dev/null; }
set_up() { "$SETUP" --user "$NAME"; }
second_run() { [[ $(set_up 2>&1 | grep '^==>') == "==> tested with a container under runsc:" ]]; }

as_user() { runuser -u "$NAME" -- env -C / "HOME=/home/$NAME" "DOCKER_HOST=unix:///run/user/$(id -u "$NAME")/docker.sock" "$@"; }

run_container() { as_user docker run -d --name sleeper --runtime=runsc --network=none aibox-setup-proof:1 /bin/busybox sleep 600; }

edit_settings() {
	jq "$1" "$DAEMON_JSON" >"/home/$NAME/edited" && cat "/home/$NAME/edited" >"$DAEMON_JSON"
}

# lose_runtime: removes the runtime from the settings and waits for the daemon to reload.
lose_runtime() {
	edit_settings 'del(.runtimes.runsc)'
	kill -HUP "$(<"/run/user/$(id -u "$NAME")/docker.pid")"
	while as_user docker info --format '{{json .Runtimes}}' | grep runsc; do sleep 0.2; done
}

holds() { jq -e "$1" "$DAEMON_JSON"; }

nothing_left() {
	local process
	for process in /proc/[0-9]*; do
		[[ $(stat -c %U "$process" 2>/dev/null) != "$NAME" ]] || { tr '\0' ' ' <"$process/cmdline" && return 1; }
	done
	[[ ! -e $OURS && ! -e /etc/modules-load.d/aibox.conf ]]
}

# exits CODE SENTENCE COMMAND…: runs the command and expects the exit code.
exits() {
	local started=$SECONDS output code=0
	output=$("${@:3}" 2>&1) || code=$?
	if ((code != $1)); then
		printf '%s\n' "$output" | tail -n 30 >&2
		echo "FAIL $2: exit code $code" >&2
		exit 1
	fi
	echo "ok   $2 ($((SECONDS - started)) s)" >&2
}

main
