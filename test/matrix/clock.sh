#!/usr/bin/env bash
# Sets the machine's clock an hour ahead and back, and an hour behind and back, while sessions
# and sandboxes run, and tests that none of them ends, ages or loses its work for that.
#
#   test/matrix/clock.sh USER [PROGRAM]
#
# It needs root or sudo, and a USER with a rootless Docker as `make setup` installs it.
# PROGRAM is an aibox; without one, it is built. It takes about a minute. The clock of the
# whole machine is wrong for a few seconds at a time, four times.
set -euo pipefail
((EUID == 0)) || exec sudo -- "$0" "$@"

readonly HOUR=3600
export PATH=$PATH:/usr/sbin:/sbin:/usr/local/go/bin
checkout=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
server=''

main() {
	[[ ${1-} ]] || { grep '^#   test' "$0" && exit 2; }
	readonly user=$1
	uid=$(id -u "$user")
	AIBOX=${2-$scratch/aibox}
	[[ ${2-} ]] || CGO_ENABLED=0 GOFLAGS=-buildvcs=false go build -C "$checkout" -o "$AIBOX" ./cmd/aibox
	trap finish EXIT
	install -d -o "$user" "$scratch" "$scratch/home" "$scratch/repository"
	cd "$scratch/repository"
	as git init --quiet --initial-branch=main
	as git -c user.name=clock -c user.email=clock@example.org commit --quiet --allow-empty --message=start
	run_checks
}

run_checks() {
	aibox bake shell >/dev/null
	aibox bake code >/dev/null
	# Python sleeps by the time since the boot. The shell's sleep waits for a time of day, and
	# under gVisor an hour longer if the clock is set back by one.
	session=$(aibox run shell --detach --inference scripted --timeout 10m --idle-timeout 5m -- python3 -uc '
import time
for i in range(400):
    print("line", i)
    time.sleep(0.1)
open("made.txt", "w").write("work")')
	serve
	sandbox=$(aibox sandbox create --timeout 10m --idle-timeout 5m)
	work_at $HOUR "an hour ahead"
	work_at -$HOUR "an hour behind"
	expect "the session ends by itself" ends
	expect "its whole output is there" whole_output
	expect "its audit log is whole" aibox audit --verify "$session"
	set_clock -$HOUR
	expect "its work is accepted by a clock that is an hour behind" aibox accept "$session" --branch clock
	set_clock 0
	expect "the accepted work is on the branch" as git show clock:made.txt
	expect "the sandbox is still there" answers
	expect "it is destroyed" aibox sandbox rm "$sandbox"
	expect "nothing is left to repair" aibox gc
}

# work_at SECONDS WORDS: sets the clock, works, restarts the server, and sets the clock back.
work_at() {
	set_clock "$1"
	expect "$2: the session runs" runs
	expect "$2: it answers" aibox exec "$session" -- true
	expect "$2: the sandbox answers" answers
	expect "$2: a new session ends as it should" aibox run shell --inference scripted -- true
	expect "$2: the cleanup removes nothing that runs" aibox gc
	stop_server
	serve
	expect "$2: after a restart of the server, the sandbox answers" answers
	set_clock 0
	expect "$2 and back: the session runs" runs
	expect "$2 and back: it answers" aibox exec "$session" -- true
	expect "$2 and back: the sandbox answers" answers
}

# set_clock SECONDS: sets the clock this much ahead of the right time. The time since the boot,
# which no setting changes, says what the right time is.
set_clock() {
	local up
	read -r up _ </proc/uptime
	date --set "@$(awk -v boot="$boot" -v up="$up" -v ahead="$1" 'BEGIN {printf "%.2f", boot + up + ahead}')" >/dev/null
}

# boot_time: prints when the machine was booted, in seconds since 1970.
boot_time() {
	local up
	read -r up _ </proc/uptime
	awk -v now="$(date +%s.%N)" -v up="$up" 'BEGIN {printf "%.2f", now - up}'
}

as() {
	runuser -u "$user" -- env HOME="$scratch/home" XDG_RUNTIME_DIR="/run/user/$uid" DOCKER_HOST="unix:///run/user/$uid/docker.sock" "$@"
}

aibox() { as "$AIBOX" "$@"; }

# serve: starts the server, and waits until it listens. Without one, `aibox sandbox` does its
# work itself.
serve() {
	aibox serve >"$scratch/server" 2>&1 &
	server=$!
	local end=$((SECONDS + 10))
	until grep -q 'listening on' "$scratch/server"; do ((SECONDS < end)); done
}

stop_server() {
	pkill -TERM -P "$server" || true
	wait "$server" || true
}

# state FILTER: whether it is true for the state of the session.
state() { aibox ls --json | jq -e --arg id "$session" ".[] | select(.id == \$id) | .state | $1"; }

runs() { state '.phase == "running"'; }

ends() { aibox logs --follow "$session" >/dev/null && state '.phase == "ended" and .result.exit_code == 0'; }

whole_output() { [[ $(aibox logs "$session" | grep -c '^line ') == 400 ]]; }

answers() { aibox sandbox exec "$sandbox" -- true; }

# expect SENTENCE COMMAND…
expect() {
	local output
	if ! output=$("${@:2}" 2>&1 </dev/null); then
		set_clock 0
		printf '%s\n' "$output" | tail -n 30 >&2
		echo "FAIL $1" >&2
		exit 1
	fi
	echo "ok   $1" >&2
}

finish() {
	set_clock 0
	[[ -z ${sandbox-} ]] || aibox sandbox rm "$sandbox" >/dev/null 2>&1 || true
	[[ -z ${session-} ]] || aibox stop --force "$session" >/dev/null 2>&1 || true
	[[ -z $server ]] || stop_server
	rm -rf "$scratch"
}

boot=$(boot_time)
readonly boot
main "$@"
