#!/usr/bin/env bash
# Tests `aibox netguard --site host` with a real Docker that runs as root: what a container on
# a session's bridge reaches before and while the guard is up, the report of a missing rule,
# and the tables afterwards.
#
#   test/matrix/rootful.sh [PROGRAM]
#
# It needs root or sudo, Docker and runsc as `make setup` installs them, and about fifteen
# seconds. PROGRAM is an aibox; without one, it is built. The daemon runs in a network
# namespace of its own with its own folders, so nothing else on the machine changes.
set -euo pipefail
((EUID == 0)) || exec sudo -- "$0" "$@"

readonly OURS=/usr/local/lib/aibox # the setup installs runsc and a static busybox here
readonly GUARD=10.200.200.1 GATEWAY=10.99.1.1 WORLD=203.0.113.2 LAN=203.0.113.1
readonly IMAGE=aibox-rootful:1 BRIDGE=aibox-rootful1
export PATH=$PATH:/usr/sbin:/sbin:/usr/local/go/bin
checkout=$(cd "$(dirname "$0")/../.." && pwd)

# enter PROGRAM: runs this script again in namespaces of its own.
enter() {
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
	[[ ${1-} ]] || CGO_ENABLED=0 go build -C "$checkout" -o "$scratch/aibox" ./cmd/aibox
	SCRATCH=$scratch unshare --net --mount --propagation private "$0" "${1:-$scratch/aibox}"
}

main() {
	readonly AIBOX=$1 scratch=$SCRATCH
	export DOCKER_HOST=unix://$scratch/docker.sock HOME=$scratch/home XDG_RUNTIME_DIR=$scratch/home/run XTABLES_LOCKFILE=$scratch/lock
	mkdir "$HOME" "$XDG_RUNTIME_DIR"
	trap finish EXIT
	make_world
	start_docker
	tar -c -C "$OURS/proof" bin | docker import - "$IMAGE" >/dev/null
	docker network create -d bridge -o com.docker.network.bridge.name="$BRIDGE" -o com.docker.network.bridge.enable_ip_masquerade=false \
		-o com.docker.network.bridge.enable_icc=false --subnet "${GATEWAY%.*}.0/29" "$BRIDGE" >/dev/null
	run_checks
	((failed == 0)) || exit 1
}

run_checks() {
	expect "without the guard, a container reaches the other hosts" reached runsc "$GATEWAY:8000 $LAN:8000 $WORLD:8000"
	tables >"$scratch/before"
	expect "the guard is not up" prints "all of it *not up" status
	expect "a dry run changes nothing" eval 'aibox up --dry-run && unchanged before'
	expect "the guard goes up" aibox up
	expect "it is up" prints "all of it *up" status
	tables >"$scratch/up"
	serve "$GUARD" 11434
	for runtime in runsc runc; do
		expect "under $runtime, a container reaches only the guard's ports" reached $runtime "$GUARD:11434"
	done
	expect "a second time, nothing changes" eval 'aibox up && unchanged up'
	iptables -D INPUT -i aibox-+ -j AIBOX-INPUT
	expect "a missing rule is reported" prints "differs .*INPUT" status
	expect "then the guard is not up" prints "all of it *not up" status
	expect "the rule is added again" eval 'aibox up && unchanged up'
	expect "the guard goes down, and the tables are as before" eval 'aibox down && unchanged before'
	expect "going down again changes nothing" eval 'aibox down && unchanged before'
	expect "the guard goes up again" aibox up
	stop_docker # which adds its rules again when it starts, in another order
	start_docker
	expect "after a restart of Docker, a container reaches only the guard's ports" reached runsc "$GUARD:11434"
	expect "the guard is up after at most one more command" eval 'aibox up && prints "all of it *up" status'
	expect "the guard goes down" aibox down
	expect "nothing of it is left" nothing_left
}

aibox() { "$AIBOX" netguard "$1" --site host "${@:2}"; }

# prints PATTERN COMMAND: succeeds if `aibox netguard COMMAND` prints a line with PATTERN.
prints() { aibox "$2" | grep "$1"; }

# tables: prints the firewall, the routing rules and the addresses, without packet counts.
tables() {
	{
		iptables-save
		ip6tables-save
		ip rule
		ip -6 rule
		ip addr show lo
		cat /proc/sys/net/ipv4/icmp_ratelimit
	} | sed -e '/^#/d' -e 's/\[[0-9:]*\]//'
}

# unchanged NAME: compares the tables with those in a file.
unchanged() { tables | diff "$scratch/$1" -; }

nothing_left() { ! tables | grep -i -e aibox- -e "$GUARD" | grep -v "$BRIDGE"; }

# reached RUNTIME ADDRESSES: compares what a container reaches with the addresses.
reached() {
	local all=("$GUARD:11434" "$GUARD:8000" "$GATEWAY:8000" "$LAN:8000" "$WORLD:8000") got
	# shellcheck disable=SC2016 # expanded in the container
	got=$(docker run --rm --runtime="$1" --network="$BRIDGE" "$IMAGE" /bin/busybox sh -c \
		'for a; do busybox nc -w 2 "${a%:*}" "${a#*:}" </dev/null >/dev/null 2>&1 && busybox echo "$a"; done; :' sh "${all[@]}" | xargs)
	[[ $got == "$2" ]] || { echo "it reaches: ${got:-nothing}" && return 1; }
}

# make_world: adds another host, which this one forwards packets to, and servers on both.
make_world() {
	ip link set lo up
	unshare --net sleep infinity &
	world=$!
	until [[ $(readlink "/proc/$world/ns/net") != "$(readlink /proc/self/ns/net)" ]]; do :; done
	ip link add world type veth peer name eth0 netns "$world"
	ip addr add "$LAN/24" dev world
	ip link set world up
	nsenter --net="/proc/$world/ns/net" sh -ec "ip link set lo up; ip addr add $WORLD/24 dev eth0; ip link set eth0 up; ip route add default via $LAN"
	serve "$WORLD" 8000 nsenter --net="/proc/$world/ns/net"
	serve "$LAN" 8000
}

# serve ADDRESS PORT [PREFIX…]: answers there and on every other address of the namespace, and
# waits until it does, for up to ten seconds.
serve() {
	"${@:3}" "$OURS/proof/bin/busybox" nc -ll -p "$2" -e /bin/true &
	servers+=($!)
	local end=$((SECONDS + 10))
	until (: <"/dev/tcp/$1/$2") 2>/dev/null; do
		((SECONDS < end)) || { echo "nothing answers at $1:$2" >&2 && exit 1; }
	done
}

start_docker() {
	printf '{"runtimes": {"runsc": {"path": "%s", "runtimeArgs": ["--ignore-cgroups"]}}}\n' "$(compgen -G "$OURS/runsc-v*" | tail -n 1)" >"$scratch/daemon.json"
	dockerd --config-file "$scratch/daemon.json" --data-root "$scratch/data" --exec-root "$scratch/exec" --pidfile "$scratch/docker.pid" \
		-H "$DOCKER_HOST" >>"$scratch/log" 2>&1 &
	dockerd=$!
	until docker version >/dev/null 2>&1; do
		kill -0 "$dockerd" || { tail -n 20 "$scratch/log" && exit 1; }
	done
}

stop_docker() {
	kill "$dockerd"
	wait "$dockerd" || true
}

finish() {
	stop_docker 2>/dev/null || true
	kill "${servers[@]}" "$world" 2>/dev/null || true
}

failed=0 servers=()
expect() {
	local name=$1 out
	shift
	if out=$("$@" 2>&1); then
		echo "ok      $name"
	else
		echo "FAILED  $name"
		echo "$out"
		failed=1
	fi
}

if [[ ${SCRATCH-} ]]; then main "$@"; else enter "$@"; fi
