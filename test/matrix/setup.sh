#!/usr/bin/env bash
# The life of a set-up, on a bare machine: checked, made, made again, and taken back
# without anything that others put beside it.
#
#   test/matrix/machine.sh --fresh SUITE test/matrix/setup.sh
#
# As root, for a user of its own. What stays after it are packages and that user.
set -euo pipefail

readonly SETUP=$PWD/scripts/setup-rootless-gvisor.sh NAME=lodger
readonly DAEMON_JSON=/home/$NAME/.config/docker/daemon.json STATE_FILE=/var/lib/aibox/setup OURS=/usr/local/lib/aibox

main() {
	exits 3 "a bare machine needs a set-up" checked
	exits 0 "the set-up works" set_up
	exits 0 "then nothing is to do" checked
	exits 0 "a second run changes nothing" second_run
	exits 0 "daemon.json gets a key of somebody else's" edit_settings '.debug = true | .runtimes.other = {path: "/bin/true"}'
	exits 0 "a running daemon that has lost the runtime" lose_runtime
	exits 3 "is found" checked
	exits 0 "and told" set_up
	exits 0 "so that nothing is to do" checked
	exits 0 "a container runs" run_container
	exits 3 "nothing is taken back while it does" taken_back --yes
	exits 0 "all is still in place" checked
	exits 0 "the container is stopped" as_user docker rm -f guest
	exits 2 "nobody can be asked, so nothing is taken back without --yes" taken_back
	exits 3 "what would be taken back is told" taken_back --check
	exits 0 "the set-up is taken back" taken_back --yes
	exits 0 "the other key stays, the runtime is gone" holds '.debug and .runtimes.other and (.runtimes | has("runsc") | not)'
	exits 0 "no process or file of it is left" nothing_left
	exits 0 "taking back what is gone changes nothing" taken_back --yes
	exits 3 "the machine needs a set-up again" checked
	exits 0 "which works again" set_up
	exits 0 "and can be taken back with its data" taken_back --yes --purge
	exits 0 "no process or file of it is left then" nothing_left
	exits 1 "nor the data" test -e "/home/$NAME/.local/share/docker"
	exits 1 "nor a record" test -e "${STATE_FILE%/*}"
}

checked() { "$SETUP" --user "$NAME" --check; }
taken_back() { "$SETUP" --user "$NAME" --uninstall "$@" </dev/null; }
set_up() { "$SETUP" --user "$NAME"; }
second_run() { [[ $(set_up 2>&1 | grep '^==>') == "==> proved with a container under runsc:" ]]; }

as_user() { runuser -u "$NAME" -- env -C / "HOME=/home/$NAME" "DOCKER_HOST=unix:///run/user/$(id -u "$NAME")/docker.sock" "$@"; }

run_container() { as_user docker run -d --name guest --runtime=runsc --network=none aibox-setup-proof:1 /bin/busybox sleep 600; }

edit_settings() {
	jq "$1" "$DAEMON_JSON" >"/home/$NAME/edited" && cat "/home/$NAME/edited" >"$DAEMON_JSON"
}

# lose_runtime: takes it out of the settings, and waits until the daemon has seen it.
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

# exits CODE SENTENCE COMMAND…
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
