#!/usr/bin/env bash
# From a bare Debian to a rootless Docker that has gVisor's runsc registered.
#
# Root is used for packages, the user, device nodes and the runsc binary; the
# daemon itself, its settings and every container belong to an unprivileged user.
# Running it again changes nothing that is in place and takes seconds.
set -Eeuo pipefail

# What is pinned. The release is gVisor's own binary, checked against the SHA-512
# published beside it; the module is the same program built from source, checked by
# Go's checksum database. Releases after mid-2026 need helper binaries beside runsc.
readonly RUNSC_RELEASE=20260323.0
readonly RUNSC_RELEASES=https://storage.googleapis.com/gvisor/releases/release
readonly RUNSC_MODULE=gvisor.dev/gvisor/runsc@v0.0.0-20260224225140-573d5e7127a8

# Ours alone, so that nothing that others installed is ever replaced.
readonly OUR_DIR=/usr/local/lib/aibox
readonly PROOF_IMAGE=aibox-setup-proof:1

# Without --ignore-cgroups runsc does not start where the user has no delegated
# cgroup; the overlay caps what a sandbox may write outside its mounts.
readonly RUNSC_ARGS='["--ignore-cgroups","--overlay2=root:self,size=10g"]'

# A command that has to be there, and the Debian package that brings it.
readonly NEEDED=(
	"dockerd docker.io" "docker docker-cli" "rootlesskit rootlesskit"
	"newuidmap uidmap" "slirp4netns slirp4netns" "fuse-overlayfs fuse-overlayfs"
	"iptables iptables" "ip iproute2" "nft nftables" "nsenter util-linux" "git git" "mmdebstrap mmdebstrap"
	"jq jq" "curl curl"
)

# Settings of the caller that mean the same to the unprivileged user: certificate
# authorities, proxies, how a program should print, and aibox's own.
readonly PASSED_ON='^(SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS|CURL_CA_BUNDLE|REQUESTS_CA_BUNDLE|GIT_SSL_CAINFO|NIX_SSL_CERT_FILE|(HTTPS?|NO|ALL)_PROXY|(https?|no|all)_proxy|TERM|COLORTERM|NO_COLOR|LANG|LC_.*|TZ|CI|VERSION|AIBOX_.*)$'
readonly PASSED_ON_GO=(GOPROXY GOFLAGS GONOSUMDB GOSUMDB GONOPROXY GOPRIVATE GOINSECURE)

user='' uid='' home='' runtime_dir='' socket='' runsc=''
user_env=() packages=() command=()
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

usage() {
	cat <<'USAGE'
Sets up rootless Docker with gVisor (runsc) on Debian, then proves that it works.

  scripts/setup-rootless-gvisor.sh                    as a normal user with sudo: for that user
  scripts/setup-rootless-gvisor.sh --user NAME        as root: for NAME, made if missing (default aibox)
  scripts/setup-rootless-gvisor.sh … -- COMMAND…      afterwards run COMMAND as that user, daemon at hand

  --user NAME      the unprivileged user who owns the daemon (root only)
  --package NAME   also install this Debian package (may be repeated)
  -h, --help       this text

Exit codes: 0 done (or COMMAND's own), 2 wrong usage, 3 the machine is not ready; the text says what to do.
USAGE
}

main() {
	parse "$@"
	PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin
	check_platform
	install_packages
	choose_user
	give_subordinate_ids
	open_devices
	load_bridge_filter
	give_runtime_dir
	fill_user_env
	check_user_namespaces
	install_runsc
	install_proof_program
	register_runsc
	start_daemon
	take_over_settings
	prove
	say_how_to_reach_it
	[[ ${#command[@]} == 0 ]] || run_command
}

# --- talking -----------------------------------------------------------------

step() { printf '==> %s\n' "$*" >&2; }
note() { printf '    %s\n' "$*" >&2; }

# die SENTENCE [HINT…]: each hint is something to type or to do.
die() {
	printf 'setup: %s\n' "$1" >&2
	shift
	(($# == 0)) || printf '  try: %s\n' "$@" >&2
	exit 3
}

wrong_usage() {
	printf 'setup: %s (see --help)\n' "$1" >&2
	exit 2
}

trap 'printf "setup: stopped at line %s (%s)\n  try: run it again; if it stops there again, run it with bash -x and read the last lines\n" "$LINENO" "$BASH_COMMAND" >&2; exit 3' ERR

parse() {
	while (($# > 0)); do
		case $1 in
		--user | --package) [[ ${2-} && $2 != -* ]] || wrong_usage "$1 needs a name" ;;
		esac
		case $1 in
		--user) user=$2 ;;
		--package) packages+=("$2") ;;
		-h | --help) usage && exit 0 ;;
		--) shift && command=("$@") && break ;;
		*) wrong_usage "unknown argument '$1'" ;;
		esac
		shift 2
	done
	[[ -z $user || $user =~ ^[a-z_][a-z0-9_-]*$ ]] || wrong_usage "'$user' is not a user name"
	[[ $user != root ]] || wrong_usage "rootless Docker needs a user other than root"
}

# --- who does what -----------------------------------------------------------

# as_root COMMAND…: as it is for root, through sudo for everybody else.
as_root() {
	if ((EUID == 0)); then
		"$@"
		return
	fi
	command -v sudo >/dev/null ||
		die "this needs root: $*" "install sudo and allow $(id -un) to use it, or run this script as root with --user $(id -un)"
	sudo -n true 2>/dev/null || { : </dev/tty; } 2>/dev/null ||
		die "this needs root, sudo asks for a password, and there is no terminal to type it: $*" "run this in a terminal, or as root with --user $(id -un)"
	sudo -- "$@"
}

# as_user COMMAND…: as the daemon's owner, in its home, with a clean environment.
as_user() {
	local switch=()
	((EUID == uid)) || switch=(runuser -u "$user" --)
	"${switch[@]}" env -i -C "$home" "${user_env[@]}" "$@"
}

# has_systemd: is systemd the init of this machine?
has_systemd() { [[ -d /run/systemd/system ]]; }

# --- the machine -------------------------------------------------------------

check_platform() {
	[[ $(uname -s) == Linux ]] ||
		die "aibox needs Linux; this is $(uname -s)" "run it in a Linux machine such as Lima (macOS) or WSL 2 (Windows)"
	case $(uname -m) in
	x86_64 | aarch64) ;;
	*) die "gVisor runs on x86_64 and aarch64; this is $(uname -m)" ;;
	esac
}

# missing_packages: prints the Debian packages whose command is not here.
missing_packages() {
	local pair
	for pair in "${NEEDED[@]}"; do
		command -v "${pair% *}" >/dev/null || echo "${pair#* }"
	done
	[[ -s /etc/ssl/certs/ca-certificates.crt ]] || echo ca-certificates
	! has_systemd || [[ -e /usr/lib/systemd/user/dbus.socket ]] || echo dbus-user-session
	for pair in "${packages[@]}"; do
		dpkg-query -W -f '${db:Status-Abbrev}' "$pair" 2>/dev/null | grep -q ^ii || echo "$pair"
	done
}

install_packages() {
	local missing
	mapfile -t missing < <(missing_packages | sort -u)
	if ((${#missing[@]} == 0)); then
		return
	fi
	command -v apt-get >/dev/null ||
		die "these packages are missing and this is not Debian or Ubuntu: ${missing[*]}" "install them with this system's package manager and run this again"
	step "installing Debian packages: ${missing[*]}"
	quietly "Debian's package lists could not be fetched" "check the network and /etc/apt/sources.list*, then: apt-get update" \
		as_root apt-get -o DPkg::Lock::Timeout=300 update
	# One package holds daemon and client until Debian 12.
	if ! apt-cache show docker-cli >/dev/null 2>&1; then
		mapfile -t missing < <(printf '%s\n' "${missing[@]/#docker-cli/docker.io}" | sort -u)
	fi
	local new_docker=yes
	! command -v dockerd >/dev/null || new_docker=no
	# RUNLEVEL=1 keeps invoke-rc.d from starting a root daemon where there is no systemd.
	quietly "apt-get could not install ${missing[*]}" "apt-get install ${missing[*]}" \
		as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
		apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "${missing[@]}"
	if [[ $new_docker == yes ]] && has_systemd; then
		note "switching off the root daemon that came with the package; rootless Docker does not need it"
		as_root systemctl disable --now docker.service docker.socket containerd.service >/dev/null 2>&1 || true
	fi
}

# quietly SENTENCE HINT COMMAND…: shows the command's output only if it fails.
quietly() {
	local sentence=$1 hint=$2 output
	shift 2
	if ! output=$("$@" 2>&1 </dev/null); then
		tail -n 15 <<<"$output" | sed 's/^/    /' >&2
		die "$sentence" "$hint"
	fi
}

choose_user() {
	if ((EUID != 0)); then
		[[ -z $user || $user == "$(id -un)" ]] ||
			die "setting up the user $user needs root; you are $(id -un)" "sudo $0 --user $user"
		user=$(id -un)
	else
		user=${user:-aibox}
		if ! id -u "$user" >/dev/null 2>&1; then
			step "making the unprivileged user $user"
			quietly "the user $user could not be made" "useradd --create-home $user" \
				useradd --create-home --shell /bin/bash "$user"
		fi
	fi
	uid=$(id -u "$user")
	((uid != 0)) || die "$user is root under another name" "choose another one with --user"
	home=$(getent passwd "$user" | cut -d: -f6)
	[[ -d $home && $(stat -c %u "$home") == "$uid" ]] ||
		die "the home of $user ($home) is missing or belongs to someone else" "mkhomedir_helper $user, or choose another user with --user"
}

# give_subordinate_ids: rootless containers need 65,536 ids of their own.
give_subordinate_ids() {
	local file flag first
	for file in /etc/subuid /etc/subgid; do
		if awk -F: -v n="$user" -v u="$uid" '($1 == n || $1 == u) && $3 >= 65536 {found = 1} END {exit !found}' "$file" 2>/dev/null; then
			continue
		fi
		flag=--add-subuids
		[[ $file == /etc/subuid ]] || flag=--add-subgids
		first=$(awk -F: 'BEGIN {end = 100000} $2 + $3 > end {end = $2 + $3} END {print end}' /etc/subuid /etc/subgid 2>/dev/null || echo 100000)
		step "giving $user subordinate ids in $file"
		quietly "$user could not be given subordinate ids" "usermod $flag $first-$((first + 65535)) $user" \
			as_root usermod "$flag" "$first-$((first + 65535))" "$user"
	done
}

# open_devices: slirp4netns needs /dev/net/tun; fuse-overlayfs, on old kernels,
# /dev/fuse. udev makes both 0666, where there is no udev they are root's.
open_devices() {
	open_device /dev/net/tun 200 tun
	open_device /dev/fuse 229 fuse
}

open_device() {
	local device=$1 minor=$2 module=$3
	if [[ ! -c $device ]]; then
		step "making $device"
		as_root modprobe "$module" 2>/dev/null || true
		as_root mkdir -p "${device%/*}"
		[[ -c $device ]] || as_root mknod -m 0666 "$device" c 10 "$minor" ||
			die "$device cannot be made here" "load the kernel module $module: modprobe $module"
	fi
	[[ $(stat -c %a "$device") == 666 ]] || as_root chmod 0666 "$device" ||
		die "$device is closed to $user" "chmod 666 $device"
}

# load_bridge_filter: without this module Docker refuses a network whose containers may
# not talk to each other, as aibox's are; rootless Docker cannot load it by itself.
load_bridge_filter() {
	[[ ! -d /proc/sys/net/bridge ]] || return 0
	step "loading the kernel module br_netfilter, now and at every boot"
	as_root modprobe br_netfilter 2>/dev/null ||
		die "the kernel module br_netfilter cannot be loaded" "modprobe br_netfilter (if the kernel was just updated, reboot first; in a container, on its host)"
	as_root mkdir -p /etc/modules-load.d
	as_root tee /etc/modules-load.d/aibox.conf <<<br_netfilter >/dev/null
}

# give_runtime_dir: the folder of the daemon's socket. systemd makes it for a user
# who logs in or lingers; elsewhere it has to be made, after every boot.
give_runtime_dir() {
	runtime_dir=/run/user/$uid
	if ((EUID == uid)) && [[ -O ${XDG_RUNTIME_DIR:-/nonexistent} ]]; then
		runtime_dir=$XDG_RUNTIME_DIR
	fi
	if has_systemd && [[ ! -e /var/lib/systemd/linger/$user ]]; then
		step "letting the daemon of $user run without a login (linger)"
		quietly "lingering could not be switched on" "loginctl enable-linger $user" as_root loginctl enable-linger "$user"
		wait_until 30 test -d "$runtime_dir" || true
	fi
	if [[ ! -d $runtime_dir ]]; then
		as_root mkdir -p -m 0755 /run/user
		as_root install -d -m 0700 -o "$user" -g "$(id -g "$user")" "$runtime_dir"
	fi
	[[ $(stat -c '%u %a' "$runtime_dir") == "$uid 700" ]] ||
		die "$runtime_dir has to belong to $user alone" "chown $user $runtime_dir; chmod 700 $runtime_dir"
	socket=$runtime_dir/docker.sock
}

# fill_user_env: what programs of the unprivileged user see, and nothing else.
fill_user_env() {
	local name value
	user_env=("HOME=$home" "USER=$user" "LOGNAME=$user" "SHELL=/bin/bash" "PATH=$(user_path)"
		"XDG_RUNTIME_DIR=$runtime_dir" "DOCKER_HOST=unix://$socket")
	[[ ! -S $runtime_dir/bus ]] || user_env+=("DBUS_SESSION_BUS_ADDRESS=unix:path=$runtime_dir/bus")
	((EUID != uid)) || [[ -z ${XDG_CONFIG_HOME-} ]] || user_env+=("XDG_CONFIG_HOME=$XDG_CONFIG_HOME")
	while IFS= read -r name; do
		[[ ! $name =~ $PASSED_ON ]] || user_env+=("$name=${!name}")
	done < <(compgen -e)
	command -v go >/dev/null || return 0
	for name in "${PASSED_ON_GO[@]}"; do
		value=$(cd / && GOTOOLCHAIN=local go env "$name" 2>/dev/null) || continue
		[[ -z $value ]] || user_env+=("$name=$value")
	done
}

# user_path: the system's folders, Go's, and Debian's folder of rootless scripts.
user_path() {
	local go
	go=$(command -v go || true)
	printf '%s' "${go:+$(dirname "$go"):}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/share/docker.io/contrib"
}

# check_user_namespaces: says in one sentence which setting of the kernel forbids them.
check_user_namespaces() {
	as_user unshare --user --map-root-user true 2>/dev/null && return
	local clone=/proc/sys/kernel/unprivileged_userns_clone max=/proc/sys/user/max_user_namespaces
	local apparmor=/proc/sys/kernel/apparmor_restrict_unprivileged_userns
	[[ ! -e $clone || $(<$clone) != 0 ]] ||
		die "this kernel's settings forbid user namespaces to normal users" "sysctl -w kernel.unprivileged_userns_clone=1 (and put that line into /etc/sysctl.d/60-aibox.conf)"
	[[ ! -e $max || $(<$max) != 0 ]] ||
		die "this kernel allows no user namespaces (user.max_user_namespaces is 0)" "sysctl -w user.max_user_namespaces=28633 (and put that line into /etc/sysctl.d/60-aibox.conf)"
	if [[ -e $apparmor && $(<$apparmor) == 1 ]]; then
		note "AppArmor restricts user namespaces here; if the daemon does not start: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"
		return
	fi
	[[ -e $max ]] || die "this kernel was built without user namespaces" "use a kernel with CONFIG_USER_NS=y, such as Debian's own"
	die "$user cannot make a user namespace" "in a container or a chroot this is forbidden from outside: use a real or a virtual machine; otherwise try as $user: unshare -Ur true"
}

# --- gVisor ------------------------------------------------------------------

# install_runsc: sets $runsc. What was installed before is not fetched again.
install_runsc() {
	local release=$OUR_DIR/runsc-release-$RUNSC_RELEASE module=$OUR_DIR/runsc-${RUNSC_MODULE#*@}
	local file
	for file in "$release" "$module"; do
		[[ ! -x $file ]] || runsc=$file
		[[ -z $runsc ]] || return 0
	done
	local build=$scratch
	if fetch_runsc "$build"; then
		runsc=$release
	else
		build_runsc "$build"
		runsc=$module
	fi
	"$build/runsc" --version >/dev/null || die "the runsc that was fetched does not run here" "$0 again, or report it with the output of: $build/runsc --version"
	as_root install -D -m 0755 "$build/runsc" "$runsc"
}

# fetch_runsc DIR: gVisor's own release; fails where it cannot be reached.
fetch_runsc() {
	local base
	base=$RUNSC_RELEASES/$RUNSC_RELEASE/$(uname -m)
	step "fetching runsc, gVisor's release $RUNSC_RELEASE"
	if ! curl -fsS --connect-timeout 5 --max-time 20 -o "$1/runsc.sha512" "$base/runsc.sha512" 2>/dev/null; then
		note "gVisor's releases cannot be reached from here"
		return 1
	fi
	curl -fsS --connect-timeout 5 --max-time 600 -o "$1/runsc" "$base/runsc" ||
		die "the download of runsc broke off" "run this again"
	(cd "$1" && sha512sum --check --status runsc.sha512) ||
		die "runsc does not match its published SHA-512" "run this again; if it stays so, something on the way changes downloads"
	chmod 0755 "$1/runsc"
}

# build_runsc DIR: the same program from source, verified by Go's checksum database.
build_runsc() {
	command -v go >/dev/null ||
		die "runsc can be neither fetched nor built: there is no Go here" "install Go 1.26 or newer from https://go.dev/dl/ (to /usr/local/go) and run this again"
	step "building runsc from source with Go (about a minute): ${RUNSC_MODULE#*@}"
	quietly "runsc could not be built" "check that Go can fetch modules: go install $RUNSC_MODULE" \
		env CGO_ENABLED=0 GOBIN="$1" GOWORK=off GOTOOLCHAIN=local go install -trimpath -ldflags '-s -w' "$RUNSC_MODULE"
}

# install_proof_program: a static busybox for the image that proves the set-up; no
# registry is needed for it, and the package is only unpacked, not installed.
install_proof_program() {
	[[ ! -x $OUR_DIR/proof/bin/busybox ]] || return 0
	step "fetching a static busybox for the proof"
	quietly "Debian's busybox-static could not be fetched" "apt-get update, then run this again" \
		env -C "$scratch" apt-get download busybox-static
	dpkg-deb -x "$scratch"/busybox-static_*.deb "$scratch"
	# /bin until Debian 12, /usr/bin since.
	as_root install -D -m 0755 "$(find "$scratch" -type f -path '*/bin/busybox')" "$OUR_DIR/proof/bin/busybox"
}

# --- the daemon --------------------------------------------------------------

daemon_json() {
	local config=$home/.config
	((EUID != uid)) || config=${XDG_CONFIG_HOME:-$config}
	echo "$config/docker/daemon.json"
}

# register_runsc: merges the runtime into daemon.json. A runsc that somebody else
# registered stays as it is; ours gets the pinned path and whatever flag it lacks.
register_runsc() {
	local file old new
	file=$(daemon_json)
	old=$(as_user cat "$file" 2>/dev/null || true)
	[[ $old =~ [^[:space:]] ]] || old='{}'
	jq -e 'type == "object"' <<<"$old" >/dev/null 2>&1 ||
		die "$file is not valid JSON, so nothing was changed in it" "jq . $file shows the place; mend it and run this again"
	new=$(jq --arg path "$runsc" --arg ours "$OUR_DIR/" --argjson args "$RUNSC_ARGS" '
		def flag: split("=")[0];
		if .runtimes.runsc and ((.runtimes.runsc.path // "") | startswith($ours) | not) then .
		else .runtimes.runsc |= ((. // {}) | .path = $path | .runtimeArgs = ((.runtimeArgs // []) as $have
			| $have + [$args[] | select(flag as $f | all($have[]; flag != $f))])) end' <<<"$old")
	warn_about_foreign_runsc "$new"
	if [[ $(jq -S . <<<"$old") != "$(jq -S . <<<"$new")" ]]; then
		step "registering runsc in $file"
		as_user mkdir -p "${file%/*}"
		# shellcheck disable=SC2016 # $1 is the inner shell's
		as_user sh -c 'cat >"$1.new" && mv -f -- "$1.new" "$1"' sh "$file" <<<"$new" ||
			die "$file cannot be written by $user" "chown -R $user ${file%/*}"
	fi
}

warn_about_foreign_runsc() {
	local path
	path=$(jq -r '.runtimes.runsc.path // ""' <<<"$1")
	[[ $path == "$runsc" ]] && return
	note "a runtime named runsc is registered already ($path); it is kept"
	as_user test -x "$path" ||
		die "the registered runsc ($path) cannot be executed by $user" "install it there, or remove runtimes.runsc from $(daemon_json) and run this again"
	jq -r --argjson args "$RUNSC_ARGS" '(.runtimes.runsc.runtimeArgs // []) as $have | $args[]
		| select(split("=")[0] as $f | all($have[]; split("=")[0] != $f))' <<<"$1" |
		while IFS= read -r path; do note "it lacks the argument $path, which aibox needs: add it in $(daemon_json)"; done
}

daemon_answers() { as_user docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

# wait_until SECONDS COMMAND…
wait_until() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@"; do
		((SECONDS < deadline)) || return 1
		sleep 0.2
	done
}

start_daemon() {
	daemon_answers && return
	rootless_script=$(as_user sh -c 'command -v dockerd-rootless.sh') ||
		die "dockerd-rootless.sh is missing, the part of Docker that runs it without root" "with Docker's own packages: apt-get install docker-ce-rootless-extras"
	clear_stale_pids
	step "starting rootless Docker for $user"
	if has_systemd; then
		start_with_systemd && return
	else
		start_detached && return
	fi
	daemon_log | tail -n 15 | sed 's/^/    /' >&2
	die "rootless Docker did not come up; its last lines are above" "$(log_hint)" "then run this again"
}

# clear_stale_pids: dockerd will not start while its pid file names a process, and it
# waits in vain for a containerd that its pid file names; after a kill -9 or a reboot
# such a number may be a zombie's or anybody's.
clear_stale_pids() {
	local file=$runtime_dir/docker.pid
	if runs "$file" dockerd; then
		wait_until 20 daemon_answers && return
		die "dockerd of $user runs (process $(<"$file")) but does not answer on $socket" "kill $(<"$file"), then run this again"
	fi
	as_user rm -f "$file"
	file=$runtime_dir/docker/containerd/containerd.pid
	wait_until 2 not runs "$file" containerd || return 0
	as_user rm -f "$file"
}

# runs FILE PROGRAM: does the pid file name a living process of that program?
runs() {
	local pid
	pid=$(cat "$1" 2>/dev/null) || return 1
	[[ $pid =~ ^[0-9]+$ && $(as_user readlink "/proc/$pid/exe") == */$2* ]]
}

not() { ! "$@"; }

# start_detached: a daemon in a session of its own, which keeps none of the caller's
# open files. It may meet the remains of one that was killed a moment ago and end at
# once, so it gets three tries.
start_detached() {
	local log=$runtime_dir/dockerd-rootless.log pidfile=$runtime_dir/dockerd-rootless.pid attempt
	for attempt in 1 2 3; do
		# shellcheck disable=SC2016 # all variables are the inner shell's
		as_user bash -c 'for fd in /proc/self/fd/*; do fd=${fd##*/}; ((fd <= 2)) || eval "exec $fd>&-"; done
			exec setsid --fork bash -c '\''echo $$ >"$1" && exec "$0"'\'' "$0" "$2" >"$1" 2>&1 </dev/null' \
			"$rootless_script" "$log" "$pidfile"
		wait_until 90 daemon_answers_or_ended "$pidfile" || return 1
		daemon_answers && return
		note "attempt $attempt ended early"
	done
	return 1
}

daemon_answers_or_ended() {
	daemon_answers || { [[ -s $1 ]] && ! as_user test -r "/proc/$(<"$1")/exe"; }
}

start_with_systemd() {
	local tool=${rootless_script%/*}/dockerd-rootless-setuptool.sh
	wait_until 60 as_user systemctl --user show-environment >/dev/null 2>&1 ||
		die "the systemd manager of $user does not answer" "systemctl status user@$uid.service" "apt-get install dbus-user-session libpam-systemd"
	as_user systemctl --user start dbus.socket 2>/dev/null || true
	as_root modprobe -a ip_tables nf_tables 2>/dev/null || true
	has_unit || make_unit "$tool"
	as_user systemctl --user enable docker.service >/dev/null 2>&1 || true
	daemon_answers && return
	as_user systemctl --user restart docker.service && wait_until 90 daemon_answers
}

has_unit() { as_user systemctl --user cat docker.service >/dev/null 2>&1; }

# make_unit TOOL: Docker's tool writes the unit. Debian's ends with an error after
# that, as it looks for the docker client in its own folder; so the unit is what counts.
make_unit() {
	local output
	output=$(as_user "$1" install --force 2>&1 </dev/null) || has_unit || {
		tail -n 15 <<<"$output" | sed 's/^/    /' >&2
		die "Docker's own set-up tool refused; it says above what it needs" "do that and run this again"
	}
}

daemon_log() {
	if has_systemd; then
		as_user journalctl --user -u docker.service -n 15 --no-pager 2>/dev/null || true
	else
		as_user cat "$runtime_dir/dockerd-rootless.log" 2>/dev/null || true
	fi
}

log_hint() {
	if has_systemd; then
		echo "journalctl --user -u docker.service (as $user)"
	else
		echo "less $runtime_dir/dockerd-rootless.log"
	fi
}

# knows_runsc: does the running daemon have the runtime as daemon.json has it?
knows_runsc() {
	local wanted known
	wanted=$(as_user cat "$(daemon_json)" | jq -cS '.runtimes.runsc | {path, args: (.runtimeArgs // [])}')
	known=$(as_user docker info --format '{{json .Runtimes}}' | jq -cS '.runsc | {path, args: (.runtimeArgs // [])}')
	[[ $wanted == "$known" ]]
}

# take_over_settings: a running daemon reads its runtimes again on SIGHUP, which
# harms no container. Only where that is not enough it is restarted, and only if idle.
take_over_settings() {
	knows_runsc && return
	local pid
	pid=$(cat "$runtime_dir/docker.pid" 2>/dev/null || true)
	if [[ $pid ]]; then
		step "telling the running daemon about runsc"
		as_user kill -HUP "$pid" 2>/dev/null || true
		wait_until 5 knows_runsc && return
	fi
	[[ -z $(as_user docker ps -q) ]] ||
		die "the running daemon has to be restarted to know runsc, but containers are running on it" "stop them (docker ps), then run this again"
	step "restarting the daemon, on which nothing runs"
	if has_systemd && as_user systemctl --user is-active --quiet docker.service; then
		as_user systemctl --user restart docker.service
	elif [[ $pid ]]; then
		as_user kill "$pid"
		wait_until 30 daemon_is_gone || die "the daemon (process $pid) does not end" "kill -9 $pid, then run this again"
		start_daemon
	fi
	wait_until 60 daemon_answers || die "the daemon did not come back" "$(log_hint)"
	knows_runsc || die "the daemon does not take over the runtime from $(daemon_json)" "is it started with --config-file or another DOCKER_CONFIG? $(log_hint)"
}

daemon_is_gone() { [[ ! -e $runtime_dir/docker.pid ]] && ! daemon_answers; }

# --- the proof ---------------------------------------------------------------

prove() {
	local dir answer inside_uid kernel outside_uid
	as_user docker info --format '{{.SecurityOptions}}' | grep -q name=rootless ||
		die "the daemon on $socket is not rootless" "stop it and run this again; aibox needs a daemon of its own user"
	as_user docker image inspect "$PROOF_IMAGE" >/dev/null 2>&1 ||
		tar -c -C "$OUR_DIR/proof" bin | as_user docker import - "$PROOF_IMAGE" >/dev/null ||
		die "the image for the proof could not be imported" "docker system df (is the disk full?)"
	dir=$(as_user mktemp -d)
	# The sandbox answers with its user, its kernel, and a file of its making.
	answer=$(as_user docker run --rm --runtime=runsc --network=none -v "$dir:/proof" "$PROOF_IMAGE" /bin/busybox sh -c \
		'busybox id -u; busybox uname -sr; busybox touch /proof/file; busybox dmesg' 2>&1) || {
		as_user rm -rf "$dir"
		tail -n 8 <<<"$answer" | sed 's/^/    /' >&2
		die "a container under runsc does not start; Docker's words are above" "$(proof_hint "$answer")"
	}
	outside_uid=$(stat -c %u "$dir/file" 2>/dev/null || echo unknown)
	as_user rm -rf "$dir"
	inside_uid=$(sed -n 1p <<<"$answer") kernel=$(sed -n 2p <<<"$answer")
	grep -qi gvisor <<<"$answer" ||
		die "the container ran, but not on gVisor's kernel (it saw $kernel)" "look at runtimes.runsc in $(daemon_json)"
	[[ $inside_uid == 0 && $outside_uid == "$uid" ]] ||
		die "uid $inside_uid inside came out as uid $outside_uid, not as $user ($uid)" "is another daemon behind $socket? docker info"
	step "proved with a container under runsc:"
	note "kernel    $kernel inside, gVisor's ($(grep -im1 gvisor <<<"$answer" | sed 's/^\[[^]]*\] *//')); the host's is $(uname -sr)"
	note "user      uid 0 inside is uid $outside_uid ($user) outside"
	note "daemon    Docker $(as_user docker version --format '{{.Server.Version}}'), rootless, on $socket"
	note "runtime   $(as_user docker info --format '{{json .Runtimes}}' | jq -r '.runsc | [.path] + (.runtimeArgs // []) | join(" ")')"
}

proof_hint() {
	case $1 in
	*cgroup*) echo "add --ignore-cgroups to runtimes.runsc.runtimeArgs in $(daemon_json)" ;;
	*"no space"*) echo "free some disk space: docker system prune" ;;
	*) echo "look for the reason: $(log_hint)" ;;
	esac
}

say_how_to_reach_it() {
	if ((EUID == 0)); then
		note "use it as $user, for example: $0 --user $user -- docker ps"
	elif [[ ${XDG_RUNTIME_DIR-} != "$runtime_dir" ]]; then
		note "in every new shell (or in ~/.profile):"
		note "  export XDG_RUNTIME_DIR=$runtime_dir DOCKER_HOST=unix://$socket"
	elif [[ ${DOCKER_HOST:-unix://$socket} != "unix://$socket" ]]; then
		note "DOCKER_HOST names another daemon here; for this one: export DOCKER_HOST=unix://$socket"
	fi
}

# run_command: a normal user's own environment stays, root's stays behind.
run_command() {
	rm -rf "$scratch"
	if ((EUID == uid)); then
		PATH=$PATH XDG_RUNTIME_DIR=$runtime_dir DOCKER_HOST=unix://$socket exec "${command[@]}"
	fi
	exec runuser -u "$user" -- env -i -C "$home" "${user_env[@]}" "${command[@]}"
}

main "$@"
