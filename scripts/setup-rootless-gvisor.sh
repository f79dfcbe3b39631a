#!/usr/bin/env bash
# From a bare Debian or Ubuntu to a rootless Docker that has gVisor's runsc registered,
# and back (--uninstall).
#
# Root is used for packages, the user, device nodes, settings of systemd and AppArmor, and
# the runsc binary; the daemon itself, its settings and every container belong to an
# unprivileged user. Running it again changes nothing that is in place and takes seconds.
#
# The set-up is a list of items (ITEMS), each with two functions: need_ITEM prints what is
# to do, a line each and nothing where all is in place; make_ITEM does it. A line that
# begins with "by hand: " is for a person. What is taken back (TAKEN_BACK) has left_ITEM
# and undo_ITEM likewise.
set -Eeuo pipefail

# What is pinned. The release is gVisor's own binary, by SHA-512: the server that has the
# binary is not asked for its checksum. The values are those of Kubespray, which installs
# the same binaries (roles/kubespray_defaults/vars/main/checksums.yml). The module is the
# same program built from source, by the hash of Go's checksum database; its own go.sum,
# which that hash covers, pins the modules below it. Releases after mid-2026 need helper
# binaries beside runsc.
readonly RUNSC_RELEASE=20260323.0
readonly RUNSC_RELEASES=https://storage.googleapis.com/gvisor/releases/release
readonly -A RUNSC_SHA512=(
	[x86_64]=8cfc4e0580e49a0463fafd51661305ac4e69d27eea68de4fc569760a55a7f2c4a2cc75d43d7edeae982288ebfdf4644d6840533b95167bb5f0758cb237e49217
	[aarch64]=2aacb4de88e9c4fadceb9c81c47b9aebf3ecb16df4f68d7def428d844bf3bc3ca1cc7d61a30bf73996e2485cea6a8c12ef86823fa473d0eb6489a95898be7d98
)
readonly RUNSC_MODULE=gvisor.dev/gvisor@v0.0.0-20260224225140-573d5e7127a8
readonly RUNSC_MODULE_SUM=h1:Zy8IV/+FMLxy6j6p87vk/vQGKcdnbprwjTxc8UiUtsA=

# Ours alone, so that nothing that others installed is ever replaced or taken away.
readonly OUR_DIR=/usr/local/lib/aibox
readonly MODULES_FILE=/etc/modules-load.d/aibox.conf
readonly DELEGATION_FILE=/etc/systemd/system/user@.service.d/aibox.conf
readonly APPARMOR_FILE=/etc/apparmor.d/aibox-rootlesskit
readonly UDEV_FILE=/etc/udev/rules.d/80-aibox.rules
readonly PROOF_IMAGE=aibox-setup-proof:1

# What was made here and cannot be told by its name, a line each such as "linger ann"; what
# is a user's own is in that user's ~/.local/state/aibox/setup.
readonly STATE_FILE=/var/lib/aibox/setup

# Without --ignore-cgroups runsc does not start where the user has no delegated
# cgroup; the overlay caps what a sandbox may write outside its mounts.
readonly RUNSC_ARGS='["--ignore-cgroups","--overlay2=root:self,size=10g"]'

# What a user's systemd has to be given to hold limits for that user's processes.
readonly CONTROLLERS="cpu cpuset io memory pids"

# Where this is tried, as ID-VERSION_ID of os-release.
readonly TRIED="debian-12 debian-13 ubuntu-22.04 ubuntu-24.04 ubuntu-26.04"

# A command that has to be there and the packages that may bring it, of which the first
# that exists is taken: one package holds daemon and client in Debian 12 and in Ubuntu.
readonly NEEDED=(
	"dockerd docker.io" "docker docker-cli docker.io" "rootlesskit rootlesskit"
	"newuidmap uidmap" "slirp4netns slirp4netns" "fuse-overlayfs fuse-overlayfs"
	"iptables iptables" "ip iproute2" "nft nftables" "nsenter util-linux" "git git" "mmdebstrap mmdebstrap"
	"jq jq" "curl curl"
)

# The order is that in which one needs the other.
readonly ITEMS=(
	packages user subordinate_ids devices bridge_filter delegation linger runtime_dir apparmor
	user_namespaces runsc proof_program registration rootless_script daemon settings
)
readonly TAKEN_BACK=(
	daemon data registration runsc apparmor linger delegation bridge_filter devices subordinate_ids
)

# Settings of the caller that mean the same to the unprivileged user: certificate
# authorities, proxies, how a program should print, and aibox's own.
readonly PASSED_ON='^(SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS|CURL_CA_BUNDLE|REQUESTS_CA_BUNDLE|GIT_SSL_CAINFO|NIX_SSL_CERT_FILE|(HTTPS?|NO|ALL)_PROXY|(https?|no|all)_proxy|TERM|COLORTERM|NO_COLOR|LANG|LC_.*|TZ|CI|VERSION|AIBOX_.*)$'
readonly PASSED_ON_GO=(GOPROXY GOFLAGS GONOSUMDB GOSUMDB GONOPROXY GOPRIVATE GOINSECURE)

root='' # what the machine's own paths begin with; only tests put a folder here
check=no uninstall=no purge=no yes=no replace_runtime=no
user='' uid='' home='' runtime_dir='' socket='' others='' scratch=''
user_env=() packages=() command=()

usage() {
	cat <<'USAGE'
Sets up rootless Docker with gVisor (runsc) on Debian or Ubuntu, then proves that it works.

  scripts/setup-rootless-gvisor.sh                    as a normal user with sudo: for that user
  scripts/setup-rootless-gvisor.sh --user NAME        as root: for NAME, made if missing (default aibox)
  scripts/setup-rootless-gvisor.sh … -- COMMAND…      afterwards run COMMAND as that user, daemon at hand
  scripts/setup-rootless-gvisor.sh … --check          say what it would do, and change nothing
  scripts/setup-rootless-gvisor.sh … --uninstall      take back what it made

  --user NAME      the unprivileged user who owns the daemon (root only)
  --package NAME   also install this package (may be repeated)
  --check          a line for each item: ok, todo (and what would be done) or hand (what a
                   person has to do); with --uninstall: what would be taken back
  --replace-runtime
                   put aibox's runsc in the place of another runtime of that name in
                   daemon.json; --uninstall puts the other one back
  --uninstall      stop the daemon it started and remove that daemon's unit, runsc and its
                   entry in daemon.json, the AppArmor profile, lingering, delegation, the
                   kernel module's file and the rights to devices: each only if this script
                   made it, what the machine shares only when no other user needs it.
                   Packages, the user, and Docker's images and data stay
  --purge          with --uninstall: remove Docker's images and data as well, and the
                   subordinate ids that they belong to
  --yes            with --uninstall: do not ask
  -h, --help       this text

Exit codes: 0 done (with --check: nothing is to do; with COMMAND: its own), 2 wrong usage,
3 the machine is not ready (with --check: something is to do); the text says what to do.
USAGE
}

main() {
	parse "$@"
	PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin
	scratch=$(mktemp -d)
	trap 'rm -rf "$scratch"' EXIT
	trap 'stopped "$LINENO" "$BASH_COMMAND"' ERR
	check_platform
	choose_user
	if [[ $uninstall == yes ]]; then
		uninstall
	elif [[ $check == yes ]]; then
		check
	else
		set_up
	fi
}

set_up() {
	local item todo
	for item in "${ITEMS[@]}"; do
		todo=$(need_"$item")
		[[ -z $todo ]] || make_"$item"
	done
	prove
	say_how_to_reach_it
	((${#command[@]} == 0)) || run_command
}

# check: what set_up would do. Later items are told as far as they can be known while
# earlier ones are missing.
check() {
	local item todo count=0
	for item in "${ITEMS[@]}"; do
		todo=$(need_"$item")
		case $todo in
		'') say_item ok "$item" '' ;;
		"by hand: "*) say_item hand "$item" "${todo#by hand: }" ;;
		*) say_item todo "$item" "$todo" ;;
		esac
		[[ -z $todo ]] || count=$((count + 1))
	done
	if ((count == 0)); then
		echo "nothing is to do for $user"
	else
		echo "$count of ${#ITEMS[@]} items are to do for $user"
		exit 3
	fi
}

# say_item STATE ITEM LINES: as one line, however many LINES are.
say_item() { printf '%-5s %-16s %s\n' "$1" "${2//_/ }" "${3//$'\n'/; }" | sed 's/ *$//'; }

uninstall() {
	local item todo count=0
	others=$(other_users)
	for item in "${TAKEN_BACK[@]}"; do
		todo=$(left_"$item")
		[[ -z $todo ]] || say_item undo "$item" "$todo"
		[[ -z $todo ]] || count=$((count + 1))
	done
	[[ -z $others ]] || echo "what the machine shares stays, since it also serves $others"
	if ((count == 0)); then
		echo "nothing that the set-up made for $user is here"
		return
	fi
	[[ $check == no ]] || exit 3
	refuse_while_boxes_run
	confirm
	for item in "${TAKEN_BACK[@]}"; do
		todo=$(left_"$item")
		[[ -z $todo ]] || undo_"$item"
	done
	say_what_stays
	forget_user
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

# stopped LINE COMMAND: an error that nobody foresaw.
stopped() {
	printf 'setup: stopped at line %s (%s)\n  try: run it again; if it stops there again, run it with bash -x and read the last lines\n' "$1" "$2" >&2
	exit 3
}

# confirm: a person's yes to what was just listed.
confirm() {
	local answer=''
	[[ $yes == no ]] || return 0
	[[ -t 0 ]] || wrong_usage "nobody can be asked here; --yes takes it back without a question"
	read -r -p "Take this back? [y/N] " answer || true
	[[ $answer =~ ^[Yy]([Ee][Ss])?$ ]] || { echo "nothing was changed" && exit 0; }
}

parse() {
	while (($# > 0)); do
		case $1 in
		--user | --package) [[ ${2-} && $2 != -* ]] || wrong_usage "$1 needs a name" ;;
		esac
		case $1 in
		--user) user=$2 && shift ;;
		--package) packages+=("$2") && shift ;;
		--check) check=yes ;;
		--uninstall) uninstall=yes ;;
		--purge) purge=yes ;;
		--replace-runtime) replace_runtime=yes ;;
		--yes) yes=yes ;;
		-h | --help) usage && exit 0 ;;
		--) shift && command=("$@") && break ;;
		*) wrong_usage "unknown argument '$1'" ;;
		esac
		shift
	done
	[[ -z $user || $user =~ ^[a-z_][a-z0-9_-]*$ ]] || wrong_usage "'$user' is not a user name"
	[[ $user != root ]] || wrong_usage "rootless Docker needs a user other than root"
	[[ $uninstall == yes || $purge$yes == nono ]] || wrong_usage "--purge and --yes go with --uninstall"
	[[ $uninstall$replace_runtime != yesyes ]] || wrong_usage "--replace-runtime goes with the set-up, not with --uninstall"
	[[ $uninstall$check == nono ]] || ((${#command[@]} == 0)) || wrong_usage "a command is run after the set-up only"
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
	if ! sudo -n true 2>/dev/null; then
		{ : </dev/tty; } 2>/dev/null ||
			die "this needs root, sudo asks for a password, and there is no terminal to type it: $*" "run this in a terminal, or as root with --user $(id -un)"
		sudo -- true ||
			die "this needs root, and sudo does not give it to $(id -un): $*" "run it again and type your own password" "where you may not use sudo: whoever is root runs this script with --user $(id -un)"
	fi
	sudo -- "$@"
}

# as_user COMMAND…: as the daemon's owner, in its home, with a clean environment.
as_user() {
	local switch=()
	((EUID == uid)) || switch=(runuser -u "$user" --)
	"${switch[@]}" env -i -C "$home" "${user_env[@]}" "$@"
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

# as_told NEED_FUNCTION: runs, as root, the very lines that it prints.
as_told() {
	local lines words line
	mapfile -t lines < <("$1")
	for line in "${lines[@]}"; do
		step "$line"
		read -ra words <<<"$line"
		quietly "that did not work" "as root: $line" as_root "${words[@]}"
	done
}

# wait_until SECONDS COMMAND…
wait_until() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@"; do
		((SECONDS < deadline)) || return 1
		sleep 0.2
	done
}

not() { ! "$@"; }

# has_systemd: is systemd the init of this machine?
has_systemd() { [[ -d $root/run/systemd/system ]]; }

# setting NAME VALUE: is this setting of the kernel there, with this value?
setting() { [[ -r $root/proc/sys/${1//.//} && $(<"$root/proc/sys/${1//.//}") == "$2" ]]; }

# install_file FILE: makes it of standard input, for everybody to read.
install_file() {
	cat >"$scratch/file"
	as_root install -D -m 0644 "$scratch/file" "$root$1"
}

# record KIND WORD…: notes for --uninstall that this was made here. What is the user's own
# is noted by the user, who may have no way to become root.
record() {
	! recorded "$@" || return 0
	case $1 in
	daemon.json | data | unit | runtime)
		# shellcheck disable=SC2016 # these are the inner shell's
		as_user sh -c 'mkdir -p -m 0700 "${1%/*}" && echo "$2" >>"$1"' sh "$(own_state_file)" "$*"
		;;
	*) { cat "$root$STATE_FILE" 2>/dev/null || true; echo "$*"; } | install_file "$STATE_FILE" ;;
	esac
}

recorded() { grep -qxF -- "$*" <<<"$(cat "$root$STATE_FILE" 2>/dev/null || true; own_records)"; }

own_records() { [[ -z $uid ]] || as_user cat "$(own_state_file)" 2>/dev/null || true; }

own_state_file() {
	local dir=$home/.local/state
	((EUID != uid)) || dir=${XDG_STATE_HOME:-$dir}
	echo "$dir/aibox/setup"
}

# recorded_of KIND: prints what was recorded of it.
recorded_of() { sed -n "s/^$1 //p" "$root$STATE_FILE" 2>/dev/null || true; }

# --- the machine -------------------------------------------------------------

check_platform() {
	[[ $(uname -s) == Linux ]] ||
		die "aibox needs Linux; this is $(uname -s)" "run it in a Linux machine such as Lima (macOS) or WSL 2 (Windows)"
	case $(uname -m) in
	x86_64 | aarch64) ;;
	*) die "gVisor runs on x86_64 and aarch64; this is $(uname -m)" ;;
	esac
	[[ " $TRIED " == *" $(os_release ID)-$(os_release VERSION_ID) "* ]] || ! command -v apt-get >/dev/null ||
		note "$(os_release PRETTY_NAME) is not among the systems this was tried on ($TRIED); it is treated as they are"
}

# os_release NAME: prints that line of os-release.
os_release() {
	# shellcheck disable=SC1091 # the file is the machine's
	(set +u && . "$root/etc/os-release" && printf '%s' "${!1}") 2>/dev/null || true
}

choose_user() {
	if ((EUID != 0)); then
		[[ -z $user || $user == "$(id -un)" ]] ||
			die "setting up the user $user needs root; you are $(id -un)" "sudo $0 --user $user"
		user=$(id -un)
	fi
	user=${user:-aibox}
	learn_user
}

# learn_user: what follows from the user's name, as far as the user and its folders are there.
learn_user() {
	uid=$(id -u "$user" 2>/dev/null) || uid=''
	[[ $uid ]] || return 0
	((uid != 0)) || die "$user is root under another name" "choose another one with --user"
	home=$(getent passwd "$user" | cut -d: -f6)
	[[ -d $home && $(stat -c %u "$home") == "$uid" ]] ||
		die "the home of $user ($home) is missing or belongs to someone else" "mkhomedir_helper $user, or choose another user with --user"
	runtime_dir=$root/run/user/$uid
	if ((EUID == uid)) && [[ -O ${XDG_RUNTIME_DIR:-/nonexistent} ]]; then
		runtime_dir=$XDG_RUNTIME_DIR
	fi
	socket=$runtime_dir/docker.sock
	fill_user_env
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

# config_dir: where the user's programs look for their settings.
config_dir() {
	local dir=$home/.config
	((EUID != uid)) || dir=${XDG_CONFIG_HOME:-$dir}
	echo "$dir"
}

# missing_packages: prints the packages that are not here, by their commands.
missing_packages() {
	local words package
	for package in "${NEEDED[@]}"; do
		read -ra words <<<"$package"
		command -v "${words[0]}" >/dev/null || known_package "${words[@]:1}"
	done
	[[ -s $root/etc/ssl/certs/ca-certificates.crt ]] || echo ca-certificates
	# With this key mmdebstrap makes the Debian that images stand on.
	[[ -e $root/usr/share/keyrings/debian-archive-keyring.gpg ]] || echo debian-archive-keyring
	! has_systemd || [[ -e $root/usr/lib/systemd/user/dbus.socket ]] || echo dbus-user-session
	for package in "${packages[@]}"; do
		dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q ^ii || echo "$package"
	done
}

# known_package NAME…: the first that apt knows, else the first.
known_package() {
	local name
	for name in "$@"; do
		! has_candidate "$name" || { echo "$name" && return; }
	done
	echo "$1"
}

# has_candidate PACKAGE: can apt install it by that name?
has_candidate() { [[ $(LC_ALL=C apt-cache policy "$1" 2>/dev/null) =~ Candidate:\ [^\(] ]]; }

need_packages() {
	local missing
	missing=$(missing_packages | sort -u | xargs)
	if [[ -z $missing ]]; then
		return
	elif command -v apt-get >/dev/null; then
		echo "apt-get install --no-install-recommends $missing"
	else
		echo "by hand: install what Debian calls $missing"
	fi
}

make_packages() {
	local missing new_docker=yes
	mapfile -t missing < <(missing_packages | sort -u)
	command -v apt-get >/dev/null ||
		die "this script installs packages with apt-get, which $(os_release PRETTY_NAME) does not have; missing are: ${missing[*]}" \
			"install them with this system's package manager (the names are Debian's), then run this again"
	! command -v dockerd >/dev/null || new_docker=no
	quietly "the lists of packages could not be fetched" "check the network and /etc/apt/sources.list*, then: apt-get update" \
		as_root apt-get -o DPkg::Lock::Timeout=300 update
	mapfile -t missing < <(missing_packages | sort -u)
	install_packages "${missing[@]}"
	if [[ $new_docker == yes ]] && has_systemd; then
		note "switching off the root daemon that came with the package; rootless Docker does not need it"
		as_root systemctl disable --now docker.service docker.socket containerd.service >/dev/null 2>&1 || true
	fi
}

# install_packages NAME…: by apt-get, whose lists are fresh.
install_packages() {
	local name
	step "installing packages: $*"
	for name in "$@"; do
		has_candidate "$name" ||
			die "$(os_release PRETTY_NAME) has no package $name" "in Ubuntu: add-apt-repository universe; then run this again"
	done
	# RUNLEVEL=1 keeps invoke-rc.d from starting a root daemon where there is no systemd.
	quietly "apt-get could not install $*" "apt-get install $*" \
		as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
		apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends "$@"
	for name in "$@"; do record package "$name"; done
}

need_user() { [[ $uid ]] || echo "useradd --create-home --shell /bin/bash $user"; }

make_user() {
	as_told need_user
	record user "$user"
	learn_user
}

# need_subordinate_ids: rootless containers need 65,536 ids of their own. useradd gives
# them to a user who is yet to be made.
need_subordinate_ids() {
	local file first
	[[ $uid ]] || return 0
	first=$(awk -F: 'BEGIN {end = 100000} $2 + $3 > end {end = $2 + $3} END {print end}' "$root/etc/subuid" "$root/etc/subgid" 2>/dev/null) || first=100000
	for file in subuid subgid; do
		awk -F: -v n="$user" -v u="$uid" '($1 == n || $1 == u) && $3 >= 65536 {found = 1} END {exit !found}' "$root/etc/$file" 2>/dev/null ||
			echo "usermod --add-${file}s $first-$((first + 65535)) $user"
	done
}

make_subordinate_ids() {
	local given
	given=$(need_subordinate_ids)
	as_told need_subordinate_ids
	while IFS= read -r given; do record "${given/usermod --add-/}"; done <<<"$given"
}

left_subordinate_ids() {
	[[ $purge == yes ]] || return 0
	local kind range name
	while read -r kind range name; do
		[[ $kind != sub[ug]ids || $name != "$user" ]] || ! holds_range "${kind%s}" "$range" ||
			echo "usermod --del-$kind $range $user"
	done < <(cat "$root$STATE_FILE" 2>/dev/null)
}

# holds_range FILE FIRST-LAST: does the user have exactly these ids?
holds_range() { grep -qsx "$user:${2%-*}:$((${2#*-} - ${2%-*} + 1))" "$root/etc/$1"; }

# undo_subordinate_ids: usermod takes no ids from a user who runs something.
undo_subordinate_ids() {
	local lines words line
	mapfile -t lines < <(left_subordinate_ids)
	for line in "${lines[@]}"; do
		step "$line"
		read -ra words <<<"$line"
		as_root "${words[@]}" 2>/dev/null || note "that stays, since $user is logged in; later, as root: $line"
	done
}

# need_devices: slirp4netns needs /dev/net/tun; fuse-overlayfs, on old kernels,
# /dev/fuse. On most systems udev opens both for everybody. Where they are root's, the
# user alone gets a right to them, by an access control list.
need_devices() {
	need_device /dev/net/tun 200
	need_device /dev/fuse 229
}

need_device() {
	if ! is_device "$1"; then
		echo "mknod -m 0600 $root$1 c 10 $2"
		need_right "$1"
	elif [[ -z $uid ]] || ! may_use "$1"; then
		! everybody_may_use "$1" || return 0
		need_right "$1"
	fi
}

need_right() {
	echo "setfacl --modify user:$user:rw $root$1"
	! has_udev || grep -qsF "$(udev_line "$1")" "$root$UDEV_FILE" || echo "the same at every boot ($UDEV_FILE)"
}

is_device() { [[ -c $root$1 ]]; }

everybody_may_use() { [[ $(stat -c %a "$root$1") =~ [67]$ ]]; }

# may_use DEVICE: by whatever right, a group's included.
# shellcheck disable=SC2016 # $1 is the inner shell's
may_use() { as_user sh -c '[ -r "$1" ] && [ -w "$1" ]' sh "$root$1"; }

# has_udev: does something make the devices again at every boot, as its rules say?
has_udev() { has_systemd && [[ -d $root/etc/udev/rules.d ]]; }

# udev_line DEVICE: udev sets modes before it runs programs, so that no mode masks the list.
udev_line() {
	echo "KERNEL==\"${1##*/}\", SUBSYSTEM==\"misc\", RUN+=\"$(command -v setfacl || echo /usr/bin/setfacl) --modify user:$user:rw $1\""
}

make_devices() {
	local device
	as_root modprobe -a tun fuse 2>/dev/null || true
	as_root mkdir -p "$root/dev/net"
	command -v setfacl >/dev/null || install_packages acl
	for device in /dev/net/tun:200 /dev/fuse:229; do
		make_device "${device%:*}" "${device#*:}"
	done
}

make_device() {
	local device=$1
	[[ $(need_device "$1" "$2") ]] || return 0
	if ! is_device "$device"; then
		step "mknod -m 0600 $root$device c 10 $2"
		as_root mknod -m 0600 "$root$device" c 10 "$2"
		record device "$device" none
	fi
	if has_udev && ! grep -qsF "$(udev_line "$device")" "$root$UDEV_FILE"; then
		{ cat "$root$UDEV_FILE" 2>/dev/null || true; udev_line "$device"; } | install_file "$UDEV_FILE"
	fi
	step "setfacl --modify user:$user:rw $root$device"
	as_root setfacl --modify "user:$user:rw" "$root$device" ||
		die "$user cannot be given a right to $device: the file system of /dev has no access control lists" \
			"add $user to a group that may use it: chgrp GROUP $device; chmod 0660 $device; usermod --append --groups GROUP $user"
	record right "$device" "$user"
}

# left_devices: rights of this user; a device that was made, and a mode of an earlier
# version of this script, where no other user needs them.
left_devices() {
	local device mode name
	while read -r device name; do
		[[ $name != "$user" ]] || ! has_right "$device" || echo "setfacl --remove user:$user $root$device"
	done < <(recorded_of right)
	! grep -qs "user:$user:rw" "$root$UDEV_FILE" || echo "remove $user from $UDEV_FILE"
	[[ -z $others ]] || return 0
	while read -r device mode; do
		if is_device "$device" && [[ $mode == none ]]; then
			echo "rm $root$device"
		elif is_device "$device" && [[ $(stat -c %a "$root$device") == 666 ]]; then
			echo "chmod $mode $root$device"
		fi
	done < <(recorded_of device)
}

has_right() { is_device "$1" && getfacl -cp "$root$1" 2>/dev/null | grep -q "^user:$user:"; }

undo_devices() {
	local lines words line
	mapfile -t lines < <(left_devices)
	for line in "${lines[@]}"; do
		step "$line"
		read -ra words <<<"$line"
		case $line in
		"remove "*) undo_udev ;;
		"setfacl "*) undo_right "${words[-1]}" ;;
		*) as_root "${words[@]}" ;;
		esac
	done
}

# undo_right FILE: with the last right of a user the list itself goes, and its mask, so
# that the mode is again what it was.
undo_right() {
	as_root setfacl --remove "user:$user" "$1"
	getfacl -cp "$1" | grep -qE '^(user|group):[^:]+:' || as_root setfacl --remove-all "$1"
}

undo_udev() {
	grep -v "user:$user:rw" "$root$UDEV_FILE" >"$scratch/rules" || true
	install_file "$UDEV_FILE" <"$scratch/rules"
	[[ -s $root$UDEV_FILE ]] || as_root rm -f -- "$root$UDEV_FILE"
}

# need_bridge_filter: without this module Docker refuses a network whose containers may
# not talk to each other, as aibox's are; rootless Docker cannot load it by itself.
need_bridge_filter() {
	[[ -d $root/proc/sys/net/bridge ]] || echo "modprobe br_netfilter, now and at every boot ($MODULES_FILE)"
}

make_bridge_filter() {
	step "loading the kernel module br_netfilter, now and at every boot"
	as_root modprobe br_netfilter 2>/dev/null ||
		die "the kernel module br_netfilter cannot be loaded" "modprobe br_netfilter (if the kernel was just updated, reboot first; in a container, on its host)"
	install_file "$MODULES_FILE" <<<br_netfilter
}

# The module itself stays until the next boot: who uses it by then cannot be known.
left_bridge_filter() { left_file "$MODULES_FILE"; }
undo_bridge_filter() { as_told left_bridge_filter; }

# left_file FILE: about a file that the whole machine shares.
left_file() { [[ $others || ! -e $root$1 ]] || echo "rm $root$1"; }

# need_delegation: a user's systemd holds limits only with controllers it was given;
# of itself it is given some of them, in Debian and Ubuntu without cpuset and io.
need_delegation() {
	local given
	has_systemd && [[ -e $root/sys/fs/cgroup/cgroup.controllers ]] || return 0
	given=$(systemctl show --property DelegateControllers --value "user@${uid:-1000}.service" 2>/dev/null) || true
	[[ -z $(lacking_of "$given") ]] || echo "delegate $CONTROLLERS to the systemd of users ($DELEGATION_FILE)"
}

make_delegation() {
	step "delegating $CONTROLLERS to the systemd of users"
	printf '[Service]\nDelegate=%s\n' "$CONTROLLERS" | install_file "$DELEGATION_FILE"
	as_root systemctl daemon-reload
	[[ -z $uid || ! -e $(manager_cgroup) || $(lacking_of "$(<"$(manager_cgroup)")") == '' ]] ||
		note "that counts when the systemd of $user starts again: log out and in, or reboot"
}

# manager_cgroup: the file that says what the user's systemd was given.
manager_cgroup() { echo "$root/sys/fs/cgroup/user.slice/user-$uid.slice/user@$uid.service/cgroup.controllers"; }

# lacking_of LIST: prints the controllers that are not in it.
lacking_of() {
	local name
	for name in $CONTROLLERS; do
		[[ " $1 " == *" $name "* ]] || echo "$name"
	done
}

left_delegation() { left_file "$DELEGATION_FILE"; }

undo_delegation() {
	as_told left_delegation
	as_root rmdir "$root${DELEGATION_FILE%/*}" 2>/dev/null || true
	as_root systemctl daemon-reload
}

# need_linger: without a login, systemd runs the daemon only of a user who lingers.
need_linger() {
	! has_systemd || [[ -e $root/var/lib/systemd/linger/$user ]] || echo "loginctl enable-linger $user"
}

make_linger() {
	as_told need_linger
	record linger "$user"
	wait_until 30 test -d "$runtime_dir" || true
	learn_user
}

left_linger() {
	! recorded linger "$user" || [[ ! -e $root/var/lib/systemd/linger/$user ]] || echo "loginctl disable-linger $user"
}

undo_linger() { as_told left_linger; }

# need_runtime_dir: the folder of the daemon's socket. systemd makes it for a user who
# logs in or lingers; elsewhere it has to be made, after every boot.
need_runtime_dir() {
	[[ $runtime_dir && $(stat -c '%u %a' "$runtime_dir" 2>/dev/null) == "$uid 700" ]] ||
		echo "make ${runtime_dir:-/run/user/UID} for $user alone"
}

make_runtime_dir() {
	if [[ ! -d $runtime_dir ]]; then
		as_root mkdir -p -m 0755 "${runtime_dir%/*}"
		as_root install -d -m 0700 -o "$user" -g "$(id -g "$user")" "$runtime_dir"
	fi
	[[ $(stat -c '%u %a' "$runtime_dir") == "$uid 700" ]] ||
		die "$runtime_dir has to belong to $user alone" "chown $user $runtime_dir; chmod 700 $runtime_dir"
	learn_user
}

# need_apparmor: Ubuntu since 24.04 lets only those programs make user namespaces whose
# AppArmor profile says so. The restriction stays; rootlesskit gets its profile, in the
# form Docker's documentation gives, where its package did not bring one.
need_apparmor() {
	setting kernel.apparmor_restrict_unprivileged_userns 1 || return 0
	grep -qsE "^(profile .* )?\"?$(rootlesskit_path)\"? .*\{" "$root"/etc/apparmor.d/* ||
		echo "allow $(rootlesskit_path) user namespaces ($APPARMOR_FILE)"
}

rootlesskit_path() { readlink -f "$(command -v rootlesskit || echo /usr/bin/rootlesskit)"; }

make_apparmor() {
	step "allowing rootlesskit user namespaces with a profile of AppArmor's"
	install_file "$APPARMOR_FILE" <<PROFILE
# Made by aibox's set-up; its --uninstall removes it.
abi <abi/4.0>,
include <tunables/global>

profile aibox-rootlesskit "$(rootlesskit_path)" flags=(unconfined) {
  userns,

  include if exists <local/aibox-rootlesskit>
}
PROFILE
	quietly "AppArmor did not take $APPARMOR_FILE" "apparmor_parser -r $APPARMOR_FILE (from the package apparmor)" \
		as_root apparmor_parser -r "$root$APPARMOR_FILE"
}

left_apparmor() { left_file "$APPARMOR_FILE"; }

undo_apparmor() {
	as_root apparmor_parser -R "$root$APPARMOR_FILE" 2>/dev/null || true
	as_told left_apparmor
}

# need_user_namespaces: settings of the kernel that a person made are a person's to undo.
need_user_namespaces() {
	if setting kernel.unprivileged_userns_clone 0; then
		echo "by hand: sysctl -w kernel.unprivileged_userns_clone=1 (and put that into /etc/sysctl.d)"
	elif setting user.max_user_namespaces 0; then
		echo "by hand: sysctl -w user.max_user_namespaces=28633 (and put that into /etc/sysctl.d)"
	elif [[ ! -e $root/proc/sys/user/max_user_namespaces ]]; then
		echo "by hand: use a kernel with CONFIG_USER_NS=y, such as the distribution's own"
	elif ! setting kernel.apparmor_restrict_unprivileged_userns 1 && [[ $uid ]] && ! as_user unshare --user --map-root-user true 2>/dev/null; then
		echo "by hand: use a real or a virtual machine; this container or chroot forbids user namespaces (as $user: unshare -Ur true)"
	fi
}

make_user_namespaces() {
	local hint
	hint=$(need_user_namespaces)
	die "$user cannot make user namespaces on this kernel, as its settings are" "${hint#by hand: }"
}

# --- gVisor ------------------------------------------------------------------

# installed_runsc: prints our runsc, the release or the one built here, if nobody but root
# can change it, and the release if it still is what is pinned.
installed_runsc() {
	local file release=$OUR_DIR/runsc-release-$RUNSC_RELEASE
	for file in "$release" "$OUR_DIR/runsc-${RUNSC_MODULE#*@}"; do
		if [[ -x $root$file ]] && is_roots "$root$file" && { [[ $file != "$release" ]] || is_pinned "$root$file"; }; then
			echo "$root$file"
			return
		fi
	done
}

# is_roots FILE: can nobody but root (in a test: but who made it) change the file?
is_roots() {
	local owner mode
	read -r owner mode < <(stat -L -c '%u %a' "$1")
	[[ ($owner == 0 || ($root && $owner == "$EUID")) && ! $mode =~ [2367].?$ ]]
}

# is_pinned FILE: is it the release for this processor?
is_pinned() { sha512sum --check --status <<<"${RUNSC_SHA512[$(uname -m)]}  $1"; }

need_runsc() {
	[[ $(installed_runsc) ]] || echo "install runsc in $OUR_DIR (gVisor's release $RUNSC_RELEASE, or built from source with Go)"
}

make_runsc() {
	local build=$scratch target=$OUR_DIR/runsc-release-$RUNSC_RELEASE
	fetch_runsc "$build" || {
		build_runsc "$build"
		target=$OUR_DIR/runsc-${RUNSC_MODULE#*@}
	}
	"$build/runsc" --version >/dev/null || die "the runsc that was fetched does not run here" "run this again, or report it with the output of: $build/runsc --version"
	as_root install -D -m 0755 "$build/runsc" "$root$target"
}

left_runsc() { left_file "$OUR_DIR"; }
undo_runsc() {
	step "rm -r $root$OUR_DIR"
	as_root rm -rf -- "$root$OUR_DIR"
}

# fetch_runsc DIR: gVisor's own release; fails where it cannot be reached.
fetch_runsc() {
	local url
	url=$RUNSC_RELEASES/$RUNSC_RELEASE/$(uname -m)/runsc
	step "fetching runsc, gVisor's release $RUNSC_RELEASE"
	if ! curl -fsS --connect-timeout 5 --max-time 20 -o /dev/null --head "$url" 2>/dev/null; then
		note "gVisor's releases cannot be reached from here"
		return 1
	fi
	curl -fsS --connect-timeout 5 --max-time 600 -o "$1/runsc" "$url" ||
		die "the download of runsc broke off" "run this again"
	is_pinned "$1/runsc" ||
		die "runsc does not match the SHA-512 that this script pins, so it was not installed" "run this again; if it stays so, something on the way changes downloads, or aibox is too old: fetch a newer one"
	chmod 0755 "$1/runsc"
}

# build_runsc DIR: the same program from source. The hash of the module is compared here,
# whatever GOSUMDB, GONOSUMDB or GOPRIVATE say, and its go.sum has those of all others.
build_runsc() {
	local module sum go_env=(GOMODCACHE="$1/modules" GOFLAGS="-mod=readonly -modcacherw" GOWORK=off GOTOOLCHAIN=local CGO_ENABLED=0)
	command -v go >/dev/null ||
		die "runsc can be neither fetched nor built: there is no Go here" "install Go 1.26 or newer from https://go.dev/dl/ (to /usr/local/go) and run this again"
	step "building runsc from source with Go (about a minute): $RUNSC_MODULE"
	# Into a cache of its own: Go compares a module with its hash when it fetches it.
	module=$(env -C "$1" "${go_env[@]}" go mod download -json "$RUNSC_MODULE" 2>&1) || {
		tail -n 15 <<<"$module" | sed 's/^/    /' >&2
		die "the source of runsc could not be fetched" "check that Go can fetch modules: go mod download $RUNSC_MODULE"
	}
	sum=$(jq -r '.Sum // ""' <<<"$module")
	[[ $sum == "$RUNSC_MODULE_SUM" ]] ||
		die "the source of runsc has the hash $sum and not the pinned $RUNSC_MODULE_SUM, so it was not built" "something on the way changes modules: look at go env GOPROXY"
	quietly "runsc could not be built" "check that Go can fetch modules: go mod download $RUNSC_MODULE" \
		env -C "$(jq -r .Dir <<<"$module")" "${go_env[@]}" go build -buildvcs=false -trimpath -ldflags '-s -w' -o "$1/runsc" ./runsc
}

# need_proof_program: a static busybox for the image that proves the set-up; no
# registry is needed for it, and the package is only unpacked, not installed.
need_proof_program() {
	[[ -x $root$OUR_DIR/proof/bin/busybox ]] || echo "unpack a static busybox in $OUR_DIR, for the proof"
}

make_proof_program() {
	step "fetching a static busybox for the proof"
	(cd "$scratch" && apt-get download busybox-static >/dev/null 2>&1) || as_root apt-get update >/dev/null 2>&1 || true
	quietly "the package busybox-static could not be fetched" "apt-get update, then run this again" \
		env -C "$scratch" apt-get download busybox-static
	dpkg-deb -x "$scratch"/busybox-static_*.deb "$scratch"
	# /bin until Debian 12, /usr/bin since.
	as_root install -D -m 0755 "$(find "$scratch" -type f -path '*/bin/busybox')" "$root$OUR_DIR/proof/bin/busybox"
}

# --- the daemon --------------------------------------------------------------

daemon_json() { echo "$(config_dir)/docker/daemon.json"; }

# read_daemon_json: prints the settings there are, an empty object where there are none.
read_daemon_json() {
	local text
	text=$(as_user cat "$(daemon_json)" 2>/dev/null || true)
	[[ $text =~ [^[:space:]] ]] || text='{}'
	printf '%s\n' "$text"
}

# write_daemon_json: makes the settings of standard input.
write_daemon_json() {
	local file
	file=$(daemon_json)
	as_user mkdir -p "${file%/*}"
	# shellcheck disable=SC2016 # $1 is the inner shell's
	as_user sh -c 'cat >"$1.new" && mv -f -- "$1.new" "$1"' sh "$file" ||
		die "$file cannot be written by $user" "chown -R $user ${file%/*}"
}

is_object() { jq -e 'type == "object"' >/dev/null 2>&1; }

# with_runsc: standard input with the runtime in it. Ours gets the pinned path and whatever
# flag it lacks. Another one stays as it is, unless it is to be replaced.
with_runsc() {
	local replace=no
	[[ $replace_runtime == no ]] || { registered_here && [[ -z $(odd_runtime) ]]; } || replace=yes
	jq --arg path "$(installed_runsc)" --arg ours "$root$OUR_DIR/" --argjson args "$RUNSC_ARGS" --arg replace "$replace" '
		def flag: split("=")[0];
		if $replace == "yes" then .runtimes.runsc = {path: $path, runtimeArgs: $args}
		elif .runtimes.runsc and ((.runtimes.runsc.path // "") | startswith($ours) | not) then .
		else .runtimes.runsc |= ((. // {}) | .path = $path | .runtimeArgs = ((.runtimeArgs // []) as $have
			| $have + [$args[] | select(flag as $f | all($have[]; flag != $f))])) end'
}

# registered_here: did this script register the runtime?
registered_here() { [[ $(read_daemon_json | jq -r '.runtimes.runsc.path // ""') == "$root$OUR_DIR"/* ]]; }

# without_runsc: standard input without our runtime, with the one it replaced, and without
# what was only there for it.
without_runsc() {
	jq --arg ours "$root$OUR_DIR/" --argjson before "$(replaced_runtime)" '
		if (.runtimes.runsc.path // "") | startswith($ours) then
			if $before then .runtimes.runsc = $before else del(.runtimes.runsc) end else . end
		| if .runtimes == {} then del(.runtimes) else . end'
}

# replaced_runtime: prints the runtime that was registered before ours, as JSON.
replaced_runtime() { own_records | sed -n "s/^runtime \([^ ]*\) $user\$/\1/p" | head -n 1 | base64 -d | grep . || echo null; }

# odd_runtime: prints what speaks against the runtime that is registered as runsc, a line
# each. Arguments that are not listed here may let a box out: --network=host,
# --host-uds=all, --directfs, a log file of --debug-log.
odd_runtime() {
	local registered path
	registered=$(read_daemon_json | jq -c '.runtimes.runsc // empty')
	[[ $registered ]] || return 0
	path=$(jq -r '.path // ""' <<<"$registered")
	[[ $path == "$root$OUR_DIR"/* ]] || odd_program "$path"
	jq -r --argjson args "$RUNSC_ARGS" --arg ours "$root$OUR_DIR/" '
		def flag: ltrimstr("-") | ltrimstr("-") | split("=")[0];
		(.runtimeArgs // []) as $have | ((.path // "") | startswith($ours)) as $is_ours
		| (keys[] | select(. != "path" and . != "runtimeArgs") | "aibox does not know its setting \(.)"),
		($have[] | select(test("^--?((ignore-cgroups|systemd-cgroup)(=(true|false))?|overlay2=root:(self|memory|dir=/[^,]+),size=[0-9]+[kmgtKMGT]?|platform=(systrap|kvm|ptrace)|network=sandbox)$") | not)
			| "aibox does not start boxes with its argument \(.)"),
		($args[] | select($is_ours | not) | select(flag as $f | all($have[]; flag != $f)) | "it lacks the argument \(.)")' <<<"$registered"
}

# odd_program PATH: prints what speaks against a program that others installed.
odd_program() {
	local dir=$1 owner mode version
	[[ $1 == /* && -f $1 && -x $1 ]] || { echo "its program ($1) cannot be executed" && return; }
	dir=$(readlink -f "$1")
	while :; do
		read -r owner mode < <(stat -c '%u %a' "$dir")
		[[ $owner == 0 || $owner == "$uid" ]] || { echo "$dir belongs to another user" && return; }
		# A sticky folder, such as /tmp, lets nobody replace what is another's.
		[[ ! $mode =~ [2367].?$ || ($mode =~ ^1... && -d $dir) ]] || { echo "others can write to $dir" && return; }
		[[ $dir != / ]] || break
		dir=$(dirname "$dir")
	done
	version=$(as_user "$1" --version 2>/dev/null </dev/null | head -n 1) || version=''
	[[ $version =~ release-([0-9]{8})\. && ${BASH_REMATCH[1]} -ge ${RUNSC_RELEASE%.*} ]] ||
		echo "its version is not known to be $RUNSC_RELEASE or newer (it says: ${version:-nothing})"
}

# same_json ONE OTHER: whatever the order of keys.
same_json() { [[ $(jq -S . <<<"$1") == "$(jq -S . <<<"$2")" ]]; }

need_registration() {
	local old odd
	if [[ -z $uid || -z $(installed_runsc) ]] || ! command -v jq >/dev/null; then
		echo "register runsc in ${home:-the home of $user}${home:+/.config/docker/daemon.json}"
		return
	fi
	old=$(read_daemon_json)
	if ! is_object <<<"$old"; then
		echo "by hand: mend $(daemon_json), which is not valid JSON (jq . $(daemon_json) shows the place)"
	elif [[ $replace_runtime == no ]] && odd=$(odd_runtime) && [[ $odd ]]; then
		echo "by hand: correct runtimes.runsc in $(daemon_json), or have it replaced by --replace-runtime"
		echo "$odd"
	elif ! same_json "$old" "$(with_runsc <<<"$old")"; then
		echo "register runsc in $(daemon_json)"
	fi
}

make_registration() {
	local old odd before
	old=$(read_daemon_json)
	is_object <<<"$old" ||
		die "$(daemon_json) is not valid JSON, so nothing was changed in it" "jq . $(daemon_json) shows the place; mend it and run this again"
	if [[ $replace_runtime == no ]]; then
		odd=$(odd_runtime)
		[[ -z $odd ]] ||
			die "the runtime runsc in $(daemon_json) is not one that aibox trusts: ${odd//$'\n'/; }" \
				"correct it there, or remove it, and run this again" "or let aibox's take its place: --replace-runtime"
	elif ! registered_here && [[ $(replaced_runtime) == null ]] && before=$(jq -ce .runtimes.runsc <<<"$old"); then
		record runtime "$(base64 -w 0 <<<"$before")" "$user"
	fi
	step "registering runsc in $(daemon_json)"
	as_user test -e "$(daemon_json)" || record daemon.json "$user"
	with_runsc <<<"$old" | write_daemon_json
}

left_registration() {
	local old
	[[ $uid ]] && command -v jq >/dev/null || return 0
	old=$(read_daemon_json)
	! is_object <<<"$old" || same_json "$old" "$(without_runsc <<<"$old")" || echo "remove runsc from $(daemon_json)"
}

undo_registration() {
	local new
	new=$(read_daemon_json | without_runsc)
	[[ $(jq -r '."default-runtime" // ""' <<<"$new") != runsc ]] || jq -e .runtimes.runsc >/dev/null <<<"$new" ||
		die "$(daemon_json) makes runsc the default runtime, and no Docker starts without its default" "remove default-runtime there, then run this again"
	step "removing runsc from $(daemon_json)"
	if [[ $new == '{}' ]] && recorded daemon.json "$user"; then
		as_user rm -f -- "$(daemon_json)"
	else
		write_daemon_json <<<"$new"
	fi
	! daemon_answers || signal_daemon HUP
}

# tell_foreign_runsc: one that others registered, and that need_registration found right.
tell_foreign_runsc() {
	local path
	path=$(read_daemon_json | jq -r '.runtimes.runsc.path // ""')
	[[ $path == "$(installed_runsc)" ]] || note "a runtime named runsc was registered already ($path); it is what aibox needs and stays"
}

daemon_answers() { as_user docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

# rootless_script: prints the program that starts dockerd without root. Docker's own is
# part of its packages and of Debian's; Ubuntu leaves it out, so there is one of ours.
rootless_script() {
	PATH=$(user_path) command -v dockerd-rootless.sh ||
		{ [[ ! -x $root$OUR_DIR/dockerd-rootless.sh ]] || echo "$root$OUR_DIR/dockerd-rootless.sh"; }
}

# need_rootless_script: whether the package brings it is known when it is there.
need_rootless_script() {
	! command -v dockerd >/dev/null || [[ $(rootless_script) ]] || echo "install $OUR_DIR/dockerd-rootless.sh, which this Docker lacks"
}

make_rootless_script() {
	step "installing $OUR_DIR/dockerd-rootless.sh, which this Docker lacks"
	cat >"$scratch/dockerd-rootless.sh" <<'SCRIPT'
#!/bin/sh
# Starts dockerd in namespaces of RootlessKit's, in the way of Docker's own script of
# this name. Made by aibox's set-up; its --uninstall removes it.
set -eu
if [ "${1-}" != --inside ]; then
	# Copies of /etc and /run let the daemon make its own files there.
	exec rootlesskit --state-dir="$XDG_RUNTIME_DIR/dockerd-rootless" --net=slirp4netns --mtu=65520 \
		--slirp4netns-sandbox=auto --slirp4netns-seccomp=auto --disable-host-loopback \
		--port-driver=builtin --copy-up=/etc --copy-up=/run --propagation=rslave "$0" --inside "$@"
fi
shift
rm -f /run/docker /run/containerd /run/xtables.lock
exec dockerd "$@"
SCRIPT
	as_root install -D -m 0755 "$scratch/dockerd-rootless.sh" "$root$OUR_DIR/dockerd-rootless.sh"
}

need_daemon() { [[ $uid ]] && daemon_answers || echo "start rootless Docker for $user"; }

make_daemon() {
	local script
	script=$(rootless_script)
	clear_stale_pids
	step "starting rootless Docker for $user"
	as_user test -e "$(data_dir)" || record data "$user"
	if has_systemd; then
		start_with_systemd "$script" && return
	else
		start_detached "$script" && return
	fi
	daemon_log | tail -n 15 | sed 's/^/    /' >&2
	die "rootless Docker did not come up; its last lines are above" "$(log_hint)" "then run this again"
}

# is_ours: was the daemon set going by this script? Its pid file is of start_detached.
is_ours() { recorded unit "$user" || [[ -e $runtime_dir/dockerd-rootless.pid ]]; }

left_daemon() {
	[[ $uid ]] && is_ours || return 0
	echo "stop rootless Docker of $user"
	! recorded unit "$user" || echo "remove its unit docker.service"
}

undo_daemon() {
	step "stopping rootless Docker of $user"
	if recorded unit "$user"; then
		as_user systemctl --user disable --now docker.service >/dev/null 2>&1 || true
		# Docker's tool also removes the client's context, where it made one.
		as_user sh -c 'dockerd-rootless-setuptool.sh uninstall --force' >/dev/null 2>&1 </dev/null || true
		as_user rm -f -- "$(unit_file)"
		as_user systemctl --user daemon-reload
	else
		end_daemon
	fi
	# Some of what the daemon leaves there belongs to subordinate ids.
	as_user rootlesskit rm -rf -- "$runtime_dir"/docker "$runtime_dir"/dockerd-rootless >/dev/null 2>&1 || true
	as_user rm -f -- "$socket" "$runtime_dir"/docker.pid "$runtime_dir"/dockerd-rootless.{pid,log}
	as_user rmdir "$runtime_dir/runc" 2>/dev/null || true
}

# signal_daemon NAME: by the shell's own kill, since small systems have no other.
signal_daemon() {
	# shellcheck disable=SC2016 # these are the inner shell's
	! runs "$runtime_dir/docker.pid" dockerd || as_user sh -c 'kill -s "$1" "$2"' sh "$1" "$(<"$runtime_dir/docker.pid")"
}

# end_daemon: ends the daemon that start_detached started.
end_daemon() {
	signal_daemon TERM
	wait_until 60 daemon_is_gone || die "the daemon (process $(<"$runtime_dir/docker.pid")) does not end" "kill -9 $(<"$runtime_dir/docker.pid"), then run this again"
}

data_dir() {
	local dir=$home/.local/share
	((EUID != uid)) || dir=${XDG_DATA_HOME:-$dir}
	echo "$dir/docker"
}

left_data() {
	[[ $purge == yes && $uid ]] && recorded data "$user" && as_user test -d "$(data_dir)" || return 0
	echo "delete all images, containers and volumes of $user's Docker: $(data_dir)"
}

# undo_data: in a user namespace, since the files belong to subordinate ids.
undo_data() {
	step "deleting $(data_dir)"
	quietly "the data of $user's Docker could not be deleted" "as $user: rootlesskit rm -rf $(data_dir)" \
		as_user rootlesskit rm -rf -- "$(data_dir)"
}

# refuse_while_boxes_run: nobody's work is ended by taking the set-up back.
refuse_while_boxes_run() {
	local running
	[[ $uid ]] && daemon_answers || return 0
	running=$(as_user docker ps --format '{{.Names}}' | xargs)
	[[ -z $running ]] ||
		die "containers are running on the Docker of $user: $running" "stop the sessions: aibox ls, then aibox stop ID" "stop what else docker ps shows"
}

# other_users: whose daemons also use what is installed here, as far as one may look
# without asking for a password when nothing is to be changed.
other_users() {
	local name ids dir found=() look=(grep)
	[[ $check == yes ]] || look=(as_root grep)
	while IFS=: read -r name _ ids _ _ dir _; do
		if ((ids >= 1000)) && [[ $name != "$user" && $dir == /?* ]] &&
			"${look[@]}" -qsF "\"$root$OUR_DIR/" "$dir/.config/docker/daemon.json"; then
			found+=("$name")
		fi
	done < <(getent passwd)
	echo "${found[*]}"
}

say_what_stays() {
	local kept
	step "taken back for $user"
	[[ -z $uid ]] || ! as_user test -d "$(data_dir)" || note "Docker's images and data stay in $(data_dir)"
	! recorded user "$user" || note "the user and its files stay; to remove them: userdel --remove $user"
	[[ -z $others ]] || return 0
	kept=$(recorded_of package | xargs)
	[[ -z $kept ]] || note "packages stay; to remove those that were installed here: apt-get remove $kept"
}

# forget_user: drops what was recorded, except of what stays: another --uninstall may purge
# that. Records of the machine go with the last user.
forget_user() {
	local words
	if [[ $uid ]]; then
		own_records | of_what_stays >"$scratch/own"
		as_user rm -f -- "$(own_state_file)"
		while read -ra words; do record "${words[@]}"; done <"$scratch/own"
	fi
	[[ -e $root$STATE_FILE ]] || return 0
	of_what_stays <"$root$STATE_FILE" >"$scratch/records"
	install_file "$STATE_FILE" <"$scratch/records"
	[[ -s $scratch/records ]] || as_root rm -rf -- "$root${STATE_FILE%/*}"
}

# of_what_stays: of the records in standard input.
of_what_stays() {
	local line words
	while IFS= read -r line; do
		read -ra words <<<"$line"
		case $line in
		"data $user") ! as_user test -d "$(data_dir)" || echo "$line" ;;
		"sub"[ug]"ids "*" $user") ! holds_range "${words[0]%s}" "${words[1]}" || echo "$line" ;;
		"package "* | "device "*) [[ -z $others ]] || echo "$line" ;;
		*" $user") ;;
		*) echo "$line" ;;
		esac
	done
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

# start_detached SCRIPT: a daemon in a session of its own, which keeps none of the caller's
# open files. It may meet the remains of one that was killed a moment ago and end at
# once, so it gets three tries.
start_detached() {
	local log=$runtime_dir/dockerd-rootless.log pidfile=$runtime_dir/dockerd-rootless.pid attempt
	for attempt in 1 2 3; do
		# shellcheck disable=SC2016 # all variables are the inner shell's
		as_user bash -c 'for fd in /proc/self/fd/*; do fd=${fd##*/}; ((fd <= 2)) || eval "exec $fd>&-"; done
			exec setsid --fork bash -c '\''echo $$ >"$1" && exec "$0"'\'' "$0" "$2" >"$1" 2>&1 </dev/null' \
			"$1" "$log" "$pidfile"
		wait_until 90 daemon_answers_or_ended "$pidfile" || return 1
		daemon_answers && return
		note "attempt $attempt ended early"
	done
	return 1
}

daemon_answers_or_ended() {
	daemon_answers || { [[ -s $1 ]] && ! as_user test -r "/proc/$(<"$1")/exe"; }
}

# start_with_systemd SCRIPT: the daemon as a unit of the user's.
start_with_systemd() {
	wait_until 60 as_user systemctl --user show-environment >/dev/null 2>&1 ||
		die "the systemd manager of $user does not answer" "systemctl status user@$uid.service" "apt-get install dbus-user-session libpam-systemd"
	as_user systemctl --user start dbus.socket 2>/dev/null || true
	as_root modprobe -a ip_tables nf_tables 2>/dev/null || true
	has_unit || make_unit "$1"
	as_user systemctl --user enable docker.service >/dev/null 2>&1 || true
	daemon_answers && return
	as_user systemctl --user restart docker.service && wait_until 90 daemon_answers
}

has_unit() { as_user systemctl --user cat docker.service >/dev/null 2>&1; }

# make_unit SCRIPT: Docker's tool beside the script writes it. Debian's ends with an
# error after that, as it looks for the docker client in its own folder; so the unit is
# what counts. Where there is no tool, the unit has the settings that count of Docker's.
make_unit() {
	local tool=${1%/*}/dockerd-rootless-setuptool.sh output
	if [[ -x $tool ]]; then
		output=$(as_user "$tool" install --force 2>&1 </dev/null) || has_unit || {
			tail -n 15 <<<"$output" | sed 's/^/    /' >&2
			die "Docker's own set-up tool refused; it says above what it needs" "do that and run this again"
		}
	else
		as_user mkdir -p "$(config_dir)/systemd/user"
		as_user tee "$(unit_file)" >/dev/null <<UNIT
[Unit]
Description=Docker without root
Documentation=https://docs.docker.com/go/rootless/
StartLimitBurst=3
StartLimitInterval=60s

[Service]
Environment=PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
ExecStart=$1
ExecReload=/bin/kill -s HUP \$MAINPID
TimeoutSec=0
RestartSec=2
Restart=always
LimitNOFILE=infinity
LimitNPROC=infinity
LimitCORE=infinity
TasksMax=infinity
Delegate=yes
KillMode=mixed

[Install]
WantedBy=default.target
UNIT
		as_user systemctl --user daemon-reload
	fi
	record unit "$user"
}

unit_file() { echo "$(config_dir)/systemd/user/docker.service"; }

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

need_settings() {
	[[ $uid ]] && daemon_answers && ! knows_runsc || return 0
	echo "tell the running daemon about runsc (SIGHUP; a restart where that is not enough and nothing runs)"
}

# make_settings: a running daemon reads its runtimes again on SIGHUP, which harms no
# container. Only where that is not enough it is restarted, and only if idle.
make_settings() {
	step "telling the running daemon about runsc"
	signal_daemon HUP
	wait_until 5 knows_runsc && return
	[[ -z $(as_user docker ps -q) ]] ||
		die "the running daemon has to be restarted to know runsc, but containers are running on it" "stop them (docker ps), then run this again"
	step "restarting the daemon, on which nothing runs"
	if has_systemd && as_user systemctl --user is-active --quiet docker.service; then
		as_user systemctl --user restart docker.service
	else
		end_daemon
		make_daemon
	fi
	wait_until 60 daemon_answers || die "the daemon did not come back" "$(log_hint)"
	knows_runsc || die "the daemon does not take over the runtime from $(daemon_json)" "is it started with --config-file or another DOCKER_CONFIG? $(log_hint)"
}

# daemon_is_gone: with its containerd, whose data the next one would wait for in vain.
daemon_is_gone() {
	! runs "$runtime_dir/docker.pid" dockerd && ! daemon_answers &&
		! runs "$runtime_dir/docker/containerd/containerd.pid" containerd && ! runs "$runtime_dir/dockerd-rootless.pid" rootlesskit
}

# --- the proof ---------------------------------------------------------------

prove() {
	local dir answer inside_uid kernel outside_uid
	tell_foreign_runsc
	as_user docker info --format '{{.SecurityOptions}}' | grep -q name=rootless ||
		die "the daemon on $socket is not rootless" "stop it and run this again; aibox needs a daemon of its own user"
	as_user docker image inspect "$PROOF_IMAGE" >/dev/null 2>&1 ||
		tar -c -C "$root$OUR_DIR/proof" bin | as_user docker import - "$PROOF_IMAGE" >/dev/null ||
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

# A test takes the functions one by one.
[[ ${BASH_SOURCE[0]} != "$0" ]] || main "$@"
