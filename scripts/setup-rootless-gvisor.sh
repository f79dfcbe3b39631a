#!/usr/bin/env bash
# Sets up rootless Docker with gVisor's runsc on Debian or Ubuntu, and removes the setup
# again (--uninstall).
#
# Root installs packages and the runsc binary, creates the user and device nodes, and
# configures systemd and AppArmor. The daemon, its settings and all containers belong to an
# unprivileged user. The script is idempotent: a second run changes nothing and takes
# seconds.
#
# The setup is a list of items (ITEMS). Each has two functions: need_ITEM prints the missing
# steps, one per line, or nothing if the item is complete; make_ITEM does them. A line that
# starts with "by hand: " is a step for the user. Likewise, each item of UNINSTALL_ITEMS has
# left_ITEM and undo_ITEM.
set -Eeuo pipefail

# The pinned versions. The release is gVisor's own binary, pinned by SHA-512, so that the
# server of the binary does not also provide its checksum. Kubespray pins the same values
# (roles/kubespray_defaults/vars/main/checksums.yml). The module is the same program, built
# from source and pinned by its hash in Go's checksum database. That hash covers go.sum,
# which pins the module's dependencies. Releases after mid-2026 need helper binaries next to
# runsc.
readonly RUNSC_RELEASE=20260323.0
readonly RUNSC_RELEASES=https://storage.googleapis.com/gvisor/releases/release
readonly -A RUNSC_SHA512=(
	[x86_64]=8cfc4e0580e49a0463fafd51661305ac4e69d27eea68de4fc569760a55a7f2c4a2cc75d43d7edeae982288ebfdf4644d6840533b95167bb5f0758cb237e49217
	[aarch64]=2aacb4de88e9c4fadceb9c81c47b9aebf3ecb16df4f68d7def428d844bf3bc3ca1cc7d61a30bf73996e2485cea6a8c12ef86823fa473d0eb6489a95898be7d98
)
readonly RUNSC_MODULE=gvisor.dev/gvisor@v0.0.0-20260224225140-573d5e7127a8
readonly RUNSC_MODULE_SUM=h1:Zy8IV/+FMLxy6j6p87vk/vQGKcdnbprwjTxc8UiUtsA=

# Files that only this script uses, so that it never replaces or removes anyone else's.
readonly OUR_DIR=/usr/local/lib/aibox
readonly MODULES_FILE=/etc/modules-load.d/aibox.conf
readonly DELEGATION_FILE=/etc/systemd/system/user@.service.d/aibox.conf
readonly APPARMOR_FILE=/etc/apparmor.d/aibox-rootlesskit
readonly UDEV_FILE=/etc/udev/rules.d/80-aibox.rules
readonly PROOF_IMAGE=aibox-setup-proof:1

# Records of what this script created, for --uninstall: one line each, such as "linger ann".
# Records of a user's own files are in that user's ~/.local/state/aibox/setup.
readonly STATE_FILE=/var/lib/aibox/setup

# Without --ignore-cgroups, runsc does not start if the user has no delegated cgroup. The
# overlay limits how much a sandbox can write outside its mounts.
readonly RUNSC_ARGS='["--ignore-cgroups","--overlay2=root:self,size=10g"]'

# The runtime that restores sandboxes from snapshots, and its program.
readonly RESTORER=aibox-restore
readonly RESTORER_FILE=$OUR_DIR/runsc-restore

# The controllers that a user's systemd needs to enforce limits.
readonly CONTROLLERS="cpu cpuset io memory pids"

# The tested systems, as ID-VERSION_ID of os-release.
readonly TESTED="debian-12 debian-13 ubuntu-22.04 ubuntu-24.04 ubuntu-26.04"

# Required commands, each with the packages that can provide it; the first package that
# exists is installed. In Debian 12 and Ubuntu, one package holds both daemon and client.
readonly NEEDED=(
	"dockerd docker.io" "docker docker-cli docker.io" "rootlesskit rootlesskit"
	"newuidmap uidmap" "slirp4netns slirp4netns" "fuse-overlayfs fuse-overlayfs"
	"iptables iptables" "ip iproute2" "nft nftables" "nsenter util-linux" "git git" "mmdebstrap mmdebstrap"
	"jq jq" "curl curl"
)

# The units of the packages of dockerd. Rootless Docker needs none of them.
readonly ROOT_UNITS=(docker.service docker.socket containerd.service)

# Later items depend on earlier ones.
readonly ITEMS=(
	packages user subordinate_ids devices bridge_filter delegation linger runtime_dir apparmor
	user_namespaces runsc proof_program registration restorer rootless_script daemon settings
)
readonly UNINSTALL_ITEMS=(
	daemon data registration runsc apparmor linger delegation bridge_filter devices subordinate_ids
)

# Variables of the caller that the unprivileged user's programs inherit: certificate
# authorities, proxies, terminal settings and aibox's own.
readonly PASSED_ENV='^(SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS|CURL_CA_BUNDLE|REQUESTS_CA_BUNDLE|GIT_SSL_CAINFO|NIX_SSL_CERT_FILE|(HTTPS?|NO|ALL)_PROXY|(https?|no|all)_proxy|TERM|COLORTERM|NO_COLOR|LANG|LC_.*|TZ|CI|VERSION|AIBOX_.*)$'
readonly PASSED_GO_ENV=(GOPROXY GOFLAGS GONOSUMDB GOSUMDB GONOPROXY GOPRIVATE GOINSECURE)

root='' # prefix of all system paths; only tests set it
check=no uninstall=no purge=no yes=no replace_runtime=no
user='' uid='' home='' runtime_dir='' socket='' others='' scratch=''
held_units=() # by hold_units
user_env=() packages=() command=()
with_proxies=() # by load_proxies
download_error='' download_hints=() # by fetch_runsc

usage() {
	cat <<'USAGE'
Set up rootless Docker with gVisor (runsc) on Debian or Ubuntu, and test it.

Usage:
  scripts/setup-rootless-gvisor.sh [flags] [-- COMMAND…]

Run it as a normal user with sudo to set up Docker for yourself, or as root to set it up for
another user. With COMMAND, it then runs COMMAND as that user, with the daemon running.

Flags:
  --user NAME      set up Docker for this unprivileged user; create the user if missing
                   (root only; default aibox)
  --package NAME   also install this package (can be repeated)
  --check          print the state of each item and change nothing: ok, todo (with the
                   step) or manual (a step for you); with --uninstall, list what would be
                   removed
  --replace-runtime
                   replace another runtime that is registered as runsc in daemon.json;
                   --uninstall restores it
  --uninstall      stop the daemon and remove everything that this script created: the
                   daemon's unit, runsc and its entry in daemon.json, the AppArmor profile,
                   lingering, delegation, the kernel module's file and device permissions.
                   Files that other users need stay. Packages, the user, and Docker's
                   images and data stay
  --purge          with --uninstall, also delete Docker's images and data, and the
                   subordinate ids that own them
  --yes            with --uninstall, do not ask for confirmation
  -h, --help       print this help

Examples:
  scripts/setup-rootless-gvisor.sh --check
  sudo scripts/setup-rootless-gvisor.sh --user ann -- docker ps

Exit codes:
  0  done; with --check, nothing to do; with COMMAND, the code of COMMAND
  2  wrong usage
  3  the machine is not ready; with --check, steps are missing
USAGE
}

main() {
	parse "$@"
	PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin
	scratch=$(mktemp -d)
	trap leave EXIT
	trap 'report_error "$LINENO" "$BASH_COMMAND"' ERR
	load_proxies
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
	print_how_to_connect
	((${#command[@]} == 0)) || run_command
}

# check: prints what set_up would do. While earlier items are missing, the steps of later
# ones can be incomplete.
check() {
	local item todo count=0
	for item in "${ITEMS[@]}"; do
		todo=$(need_"$item")
		case $todo in
		'') print_item ok "$item" '' ;;
		"by hand: "*) print_item manual "$item" "${todo#by hand: }" ;;
		*) print_item todo "$item" "$todo" ;;
		esac
		[[ -z $todo ]] || count=$((count + 1))
	done
	if ((count == 0)); then
		echo "nothing to do for $user"
	else
		echo "$count of ${#ITEMS[@]} items are missing for $user"
		exit 3
	fi
}

# print_item STATE ITEM LINES: prints one line, with LINES joined.
print_item() { printf '%-6s %-16s %s\n' "$1" "${2//_/ }" "${3//$'\n'/; }" | sed 's/ *$//'; }

uninstall() {
	local item todo count=0
	others=$(other_users)
	for item in "${UNINSTALL_ITEMS[@]}"; do
		todo=$(left_"$item")
		[[ -z $todo ]] || print_item undo "$item" "$todo"
		[[ -z $todo ]] || count=$((count + 1))
	done
	[[ -z $others ]] || echo "shared files stay, because other users need them: $others"
	if ((count == 0)); then
		echo "nothing to remove for $user"
		return
	fi
	[[ $check == no ]] || exit 3
	refuse_while_containers_run
	confirm
	for item in "${UNINSTALL_ITEMS[@]}"; do
		todo=$(left_"$item")
		[[ -z $todo ]] || undo_"$item"
	done
	print_what_stays
	forget_user
}

# --- messages ----------------------------------------------------------------

# leave: cleans up at the end of the script, however it ends, and even if one step fails.
leave() {
	set +e
	trap - ERR
	(set -e; release_units)
	rm -rf "$scratch"
}

step() { printf '==> %s\n' "$*" >&2; }
note() { printf '    %s\n' "$*" >&2; }

# die SENTENCE [HINT…]: each hint is a command or an action for the user.
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

# report_error LINE COMMAND: reports an unexpected error.
report_error() {
	printf 'setup: failed at line %s (%s)\n  try: run it again; if it fails there again, run it with bash -x and read the last lines\n' "$1" "$2" >&2
	exit 3
}

# confirm: asks the user to confirm what was just listed.
confirm() {
	local answer=''
	[[ $yes == no ]] || return 0
	[[ -t 0 ]] || wrong_usage "cannot ask for confirmation without a terminal; use --yes"
	read -r -p "Remove all this? [y/N] " answer || true
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
	[[ -z $user || $user =~ ^[a-z_][a-z0-9_-]*$ ]] || is_user "$user" || wrong_usage "'$user' is not a user name"
	[[ $user != root ]] || wrong_usage "rootless Docker needs a user other than root"
	[[ $uninstall == yes || $purge$yes == nono ]] || wrong_usage "--purge and --yes go with --uninstall"
	[[ $uninstall$replace_runtime != yesyes ]] || wrong_usage "--replace-runtime does not go with --uninstall"
	[[ $uninstall$check == nono ]] || ((${#command[@]} == 0)) || wrong_usage "a command can only run after the setup"
}

# is_user NAME: does the user exist? The names of a directory service can have capitals, dots or @, but nothing that
# would be more than one word or field in the files of this script and of the system.
is_user() { [[ $1 =~ ^[^[:space:]:/-][^[:space:]:/]*$ && ! $1 =~ ^[+]?[0-9]+$ ]] && id -u -- "$1" >/dev/null 2>&1; }

# --- users -------------------------------------------------------------------

# as_root COMMAND…: runs it as root, through sudo if needed.
as_root() {
	if ((EUID == 0)); then
		"$@"
		return
	fi
	local shown="$*"
	shown=${shown#"${with_proxies[*]} "} # they end with this script
	command -v sudo >/dev/null ||
		die "this needs root: $shown" "install sudo and allow $(id -un) to use it, or run this script as root with --user $(id -un)"
	if ! sudo -n true 2>/dev/null; then
		{ : </dev/tty; } 2>/dev/null ||
			die "this needs root, sudo asks for a password, but there is no terminal to type it: $shown" "run this in a terminal, or as root with --user $(id -un)"
		sudo -- true ||
			die "this needs root, but sudo refused $(id -un): $shown" "run it again and type your own password" "if you may not use sudo, have root run this script with --user $(id -un)"
	fi
	# Some file systems, such as NFS and FUSE, deny root what only the user can read.
	[[ -z ${TMPDIR-} || -e $scratch/readable ]] || { sudo -- test -r "$scratch" && : >"$scratch/readable"; } ||
		die "root cannot read the folder for temporary files, $TMPDIR" "set TMPDIR to a folder on a disk of this machine, or unset it"
	sudo -- "$@"
}

# load_proxies: sets with_proxies, which begins commands that run apt-get. sudo drops the proxies of the environment,
# and apt knows only the lowercase names. They are in a file, since others can see arguments, and a proxy can have a
# password.
load_proxies() {
	local name upper
	for name in http_proxy https_proxy no_proxy; do
		upper=${name^^}
		[[ -z ${!name:-${!upper-}} ]] || printf 'export %s=%q\n' "$name" "${!name:-${!upper-}}"
	done >"$scratch/proxies"
	# shellcheck disable=SC2016 # these are the inner shell's
	[[ ! -s $scratch/proxies ]] || with_proxies=(bash -c 'source "$0" && exec "$@"' "$scratch/proxies")
}

# as_user COMMAND…: runs it as the daemon's owner, in its home, with a clean environment.
as_user() {
	local switch=()
	((EUID == uid)) || switch=(runuser -u "$user" --)
	"${switch[@]}" env -i -C "$home" "${user_env[@]}" "$@"
}

# quietly SENTENCE HINT COMMAND…: prints the command's output only if it fails.
quietly() {
	local sentence=$1 hint=$2 output
	shift 2
	if ! output=$("$@" 2>&1 </dev/null); then
		tail -n 15 <<<"$output" | sed 's/^/    /' >&2
		die "$sentence" "$hint"
	fi
}

# run_printed NEED_FUNCTION: runs the lines that the function prints, as root.
run_printed() {
	local lines words line
	mapfile -t lines < <("$1")
	for line in "${lines[@]}"; do
		step "$line"
		read -ra words <<<"$line"
		quietly "this command failed: $line" "run it as root: $line" as_root "${words[@]}"
	done
}

# wait_until SECONDS COMMAND…: fails if the command does not succeed in time.
wait_until() {
	local deadline=$((SECONDS + $1))
	shift
	until "$@"; do
		((SECONDS < deadline)) || return 1
		sleep 0.2
	done
}

not() { ! "$@"; }

# has_systemd: is systemd the init system of this machine?
has_systemd() { [[ -d $root/run/systemd/system ]]; }

# sysctl_is NAME VALUE: does the kernel have this setting, with this value?
sysctl_is() { [[ -r $root/proc/sys/${1//.//} && $(<"$root/proc/sys/${1//.//}") == "$2" ]]; }

# install_file FILE: creates a world-readable file from standard input.
install_file() {
	cat >"$scratch/file"
	as_root install -D -m 0644 "$scratch/file" "$root$1"
}

# record KIND WORD…: records for --uninstall that this script created something. Records of
# the user's own files are written as the user, who may have no root access.
record() {
	! recorded "$@" || return 0
	if is_own "$1"; then
		# shellcheck disable=SC2016 # these are the inner shell's
		as_user sh -c 'mkdir -p -m 0700 "${1%/*}" && printf "%s\n" "$2" >>"$1"' sh "$(own_state_file)" "$*"
	else
		{ cat "$root$STATE_FILE" 2>/dev/null || true; echo "$*"; } | install_file "$STATE_FILE"
	fi
}

# is_own KIND: are the records of this kind about the user's own files?
is_own() { [[ $1 == daemon.json || $1 == data || $1 == unit || $1 == runtime ]]; }

# forget KIND WORD…: drops a record of the machine.
forget() {
	! recorded "$@" || { grep -vxF -- "$*" "$root$STATE_FILE" || true; } | store_records
}

# store_records: replaces the records of the machine by standard input.
store_records() {
	install_file "$STATE_FILE"
	[[ -s $root$STATE_FILE ]] || as_root rm -rf -- "$root${STATE_FILE%/*}"
}

# recorded KIND WORD…: is there such a record? The user's records say nothing about the machine.
recorded() { grep -qxF -- "$*" <<<"$(cat "$root$STATE_FILE" 2>/dev/null || true; ! is_own "$1" || own_records)"; }

own_records() { [[ -z $uid ]] || as_user cat "$(own_state_file)" 2>/dev/null || true; }

own_state_file() {
	local dir=$home/.local/state
	((EUID != uid)) || dir=${XDG_STATE_HOME:-$dir}
	echo "$dir/aibox/setup"
}

# records_of KIND: prints the records of one kind.
records_of() { sed -n "s/^$1 //p" "$root$STATE_FILE" 2>/dev/null || true; }

# --- the machine -------------------------------------------------------------

check_platform() {
	[[ $(uname -s) == Linux ]] ||
		die "aibox needs Linux; this is $(uname -s)" "run it in a Linux machine such as Lima (macOS) or WSL 2 (Windows)"
	case $(uname -m) in
	x86_64 | aarch64) ;;
	*) die "gVisor runs on x86_64 and aarch64; this is $(uname -m)" ;;
	esac
	[[ " $TESTED " == *" $(os_release ID)-$(os_release VERSION_ID) "* ]] || ! command -v apt-get >/dev/null ||
		note "$(os_release PRETTY_NAME) is not one of the tested systems ($TESTED); continuing anyway"
}

# os_release NAME: prints this variable of os-release.
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
	load_user
}

# load_user: sets the variables that depend on the user, if the user exists.
load_user() {
	uid=$(id -u "$user" 2>/dev/null) || uid=''
	[[ $uid ]] || return 0
	((uid != 0)) || die "$user is root under another name" "choose another one with --user"
	home=$(getent passwd "$user" | cut -d: -f6)
	[[ -d $home && $(stat -L -c %u "$home") == "$uid" ]] ||
		die "the home of $user ($home) is missing or belongs to someone else" "mkhomedir_helper $user, or choose another user with --user"
	runtime_dir=$root/run/user/$uid
	if ((EUID == uid)) && [[ -O ${XDG_RUNTIME_DIR:-/nonexistent} ]]; then
		runtime_dir=$XDG_RUNTIME_DIR
	fi
	socket=$runtime_dir/docker.sock
	fill_user_env
}

# fill_user_env: sets the whole environment of the unprivileged user's programs.
fill_user_env() {
	local name value
	user_env=("HOME=$home" "USER=$user" "LOGNAME=$user" "SHELL=/bin/bash" "PATH=$(user_path)"
		"XDG_RUNTIME_DIR=$runtime_dir" "DOCKER_HOST=unix://$socket")
	[[ ! -S $runtime_dir/bus ]] || user_env+=("DBUS_SESSION_BUS_ADDRESS=unix:path=$runtime_dir/bus")
	((EUID != uid)) || [[ -z ${XDG_CONFIG_HOME-} ]] || user_env+=("XDG_CONFIG_HOME=$XDG_CONFIG_HOME")
	while IFS= read -r name; do
		[[ ! $name =~ $PASSED_ENV ]] || user_env+=("$name=${!name}")
	done < <(compgen -e)
	command -v go >/dev/null || return 0
	for name in "${PASSED_GO_ENV[@]}"; do
		value=$(cd / && GOTOOLCHAIN=local go env "$name" 2>/dev/null) || continue
		[[ -z $value ]] || user_env+=("$name=$value")
	done
}

# user_path: prints a PATH with the system's folders, Go's, and Debian's folder of rootless
# scripts.
user_path() {
	local go
	go=$(command -v go || true)
	printf '%s' "${go:+$(dirname "$go"):}/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/usr/share/docker.io/contrib"
}

# config_dir: prints the folder of the user's settings.
config_dir() {
	local dir=$home/.config
	((EUID != uid)) || dir=${XDG_CONFIG_HOME:-$dir}
	echo "$dir"
}

# missing_packages: prints the packages of missing commands and files. The client is run with the PATH of as_user,
# which lacks ~/bin, where Docker's own installation without root puts it.
missing_packages() {
	local words package path
	for package in "${NEEDED[@]}"; do
		read -ra words <<<"$package"
		path=$PATH
		[[ ${words[0]} != docker ]] || path=$(user_path)
		PATH=$path command -v "${words[0]}" >/dev/null || available_package "${words[@]:1}"
	done
	[[ -s $root/etc/ssl/certs/ca-certificates.crt ]] || echo ca-certificates
	# mmdebstrap needs this key to build the base of all images.
	[[ -e $root/usr/share/keyrings/debian-archive-keyring.gpg ]] || echo debian-archive-keyring
	! has_systemd || [[ -e $root/usr/lib/systemd/user/dbus.socket ]] || echo dbus-user-session
	# apt-get only downloads this one, see make_proof_program.
	command -v apt-get >/dev/null || [[ -z $(need_proof_program) || $(static_busybox) ]] || echo busybox-static
	for package in "${packages[@]}"; do
		dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q ^ii || echo "$package"
	done
}

# available_package NAME…: prints the first name that apt can install, or else the first.
available_package() {
	local name
	for name in "$@"; do
		! has_candidate "$name" || { echo "$name" && return; }
	done
	echo "$1"
}

# has_candidate PACKAGE: can apt install it?
has_candidate() { [[ $(LC_ALL=C apt-cache policy "$1" 2>/dev/null) =~ Candidate:\ [^\(] ]]; }

# new_units: prints the units that come with docker.io if it is missing, and those that a killed run has held.
# Another unit that exists belongs to others, such as the containerd of a Kubernetes node.
new_units() {
	local unit missing
	has_systemd || return 0
	missing=$(missing_packages)
	for unit in "${ROOT_UNITS[@]}"; do
		if recorded held "$unit" || { [[ $missing == *docker.io* ]] && ! has_root_unit "$unit"; }; then
			echo "$unit"
		fi
	done
}

# has_root_unit UNIT: does the systemd of the system have this unit?
has_root_unit() {
	local dir
	for dir in etc usr/local/lib usr/lib lib; do
		[[ ! -e $root/$dir/systemd/system/$1 ]] || return 0
	done
	return 1
}

# hold_units [UNIT…]: keeps packages that are being installed from starting their units. A root daemon would
# set up a bridge and forwarding. The masks do not survive a reboot. If this run is killed, the next one finds
# the records.
hold_units() {
	local unit
	(($#)) || return 0
	held_units=("$@")
	for unit in "$@"; do record held "$unit"; done
	as_root systemctl mask --runtime "$@" >/dev/null 2>&1 || true
}

# release_units: ends hold_units. The units can be started, but do not start at boot.
release_units() {
	local unit
	((${#held_units[@]})) || return 0
	note "disabling ${held_units[*]}, which rootless Docker does not need"
	as_root systemctl unmask --runtime "${held_units[@]}" >/dev/null 2>&1 || true
	for unit in "${held_units[@]}"; do as_root systemctl disable --now "$unit" >/dev/null 2>&1 || true; done
	for unit in "${held_units[@]}"; do forget held "$unit"; done
	held_units=()
}

# unmask_held: lets others use the units that a killed run has held. It does not disable them, because they may
# be in use by now.
unmask_held() {
	local units
	mapfile -t units < <(records_of held)
	((${#units[@]} == 0)) || as_root systemctl unmask --runtime "${units[@]}" >/dev/null 2>&1 || true
}

need_packages() {
	local missing units
	missing=$(missing_packages | sort -u | xargs)
	if [[ $missing ]] && ! command -v apt-get >/dev/null; then
		echo "by hand: install these packages (the names are Debian's): $missing"
		return
	fi
	[[ -z $missing ]] || echo "apt-get install --no-install-recommends --no-remove $missing"
	units=$(new_units | xargs)
	[[ -z $units ]] || echo "systemctl disable $units"
}

make_packages() {
	local missing units
	command -v apt-get >/dev/null ||
		die "packages are missing, and $(os_release PRETTY_NAME) has no apt-get to install them: $(missing_packages | sort -u | xargs)" \
			"install them with this system's package manager (the names are Debian's), then run this again"
	mapfile -t units < <(new_units)
	hold_units "${units[@]}"
	finish_packages
	if [[ $(missing_packages) ]]; then
		quietly "cannot update the package lists" "check the network and /etc/apt/sources.list*, then: apt-get update" \
			as_root "${with_proxies[@]}" apt-get -o DPkg::Lock::Timeout=300 update
		mapfile -t missing < <(missing_packages | sort -u)
		install_packages "${missing[@]}"
	fi
	release_units
}

# finish_packages: completes an installation that was killed; apt-get refuses to work before.
finish_packages() {
	compgen -G "$root/var/lib/dpkg/updates/[0-9]*" >/dev/null || return 0
	step "completing an interrupted installation: dpkg --configure -a"
	quietly "an interrupted installation of packages cannot be completed" "run it as root: dpkg --configure -a" \
		as_root env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 dpkg --configure -a
}

# install_packages NAME…: installs them with apt-get, whose lists are current.
install_packages() {
	local name
	step "installing packages: $*"
	for name in "$@"; do
		has_candidate "$name" ||
			die "$(os_release PRETTY_NAME) has no package $name" "on Ubuntu: add-apt-repository universe; then run this again"
	done
	# Without systemd, RUNLEVEL=1 keeps invoke-rc.d from starting a root daemon.
	quietly "apt-get cannot install $*" "apt-get install $*" \
		as_root "${with_proxies[@]}" env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 \
		apt-get -o DPkg::Lock::Timeout=300 install -y --no-install-recommends --no-remove "$@"
	for name in "$@"; do record package "$name"; done
}

need_user() { [[ $uid ]] || echo "useradd --create-home --shell /bin/bash $user"; }

make_user() {
	run_printed need_user
	record user "$user"
	load_user
}

# need_subordinate_ids: rootless containers need 65,536 ids of their own, in any number of ranges. useradd adds them
# for a new user.
need_subordinate_ids() {
	local file first missing=()
	[[ $uid ]] || return 0
	# mawk's print rounds large numbers, and -v reads a backslash of a name as an escape.
	first=$(awk -F: 'BEGIN {end = 100000} $2 + $3 > end {end = $2 + $3} END {printf "%.0f\n", end}' "$root/etc/subuid" "$root/etc/subgid" 2>/dev/null) || first=100000
	for file in subuid subgid; do
		name=$user awk -F: -v u="$uid" '($1 == ENVIRON["name"] || $1 == u) {total += $3} END {exit total < 65536}' "$root/etc/$file" 2>/dev/null ||
			missing+=("usermod --add-${file}s $first-$((first + 65535)) $user")
	done
	if ((${#missing[@]} && first + 65535 >= 2 ** 32 - 1)); then
		missing=("by hand: give $user 65536 ids in /etc/subuid and /etc/subgid that no user has; none are left above those in use")
	fi
	((${#missing[@]} == 0)) || printf '%s\n' "${missing[@]}"
}

make_subordinate_ids() {
	local given
	given=$(need_subordinate_ids)
	[[ $given != "by hand: "* ]] || die "there are no subordinate ids for $user" "${given#by hand: }"
	run_printed need_subordinate_ids
	while IFS= read -r given; do record "${given/usermod --add-/}"; done <<<"$given"
}

left_subordinate_ids() {
	[[ $purge == yes ]] || return 0
	local kind range name
	while read -r kind range name; do
		[[ $kind != sub[ug]ids || $name != "$user" ]] || ! has_range "${kind%s}" "$range" ||
			echo "usermod --del-$kind $range $user"
	done < <(cat "$root$STATE_FILE" 2>/dev/null)
}

# has_range FILE FIRST-LAST: does the user have exactly these ids?
has_range() { grep -qsFx -- "$user:${2%-*}:$((${2#*-} - ${2%-*} + 1))" "$root/etc/$1"; }

# undo_subordinate_ids: usermod fails while the user has running processes.
undo_subordinate_ids() {
	local lines words line
	mapfile -t lines < <(left_subordinate_ids)
	for line in "${lines[@]}"; do
		step "$line"
		read -ra words <<<"$line"
		as_root "${words[@]}" 2>/dev/null || note "failed, because $user is logged in; run this later as root: $line"
	done
}

# need_devices: slirp4netns needs /dev/net/tun; fuse-overlayfs, on old kernels, needs
# /dev/fuse. On most systems udev opens both to all users. Otherwise an access control list
# grants access only to this user.
need_devices() {
	need_device /dev/net/tun 200
	need_device /dev/fuse 229
}

need_device() {
	if ! is_device "$1"; then
		echo "mknod -m 0600 $root$1 c 10 $2"
		need_access "$1"
	elif [[ -z $uid ]] || ! can_use "$1"; then
		! anyone_can_use "$1" || return 0
		need_access "$1"
	fi
}

need_access() {
	echo "setfacl --modify user:$user:rw $root$1"
	! has_udev || grep -qsF "$(udev_line "$1")" "$root$UDEV_FILE" || echo "set it at every boot ($UDEV_FILE)"
}

is_device() { [[ -c $root$1 ]]; }

anyone_can_use() { [[ $(stat -c %a "$root$1") =~ [67]$ ]]; }

# can_use DEVICE: does the user have access, by a group or otherwise?
# shellcheck disable=SC2016 # $1 is the inner shell's
can_use() { as_user sh -c '[ -r "$1" ] && [ -w "$1" ]' sh "$root$1"; }

# has_udev: does udev create the devices at every boot, by its rules?
has_udev() { has_systemd && [[ -d $root/etc/udev/rules.d ]]; }

# udev_line DEVICE: prints a rule with RUN, because udev sets the mode, which would mask the
# access control list, before it runs programs.
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
		die "cannot give $user access to $device: the file system of /dev has no access control lists" \
			"give a group access, and add $user to it: chgrp GROUP $device; chmod 0660 $device; usermod --append --groups GROUP $user"
	record right "$device" "$user"
}

# left_devices: the access of this user; if no other user needs them, also a device that
# this script created, and a mode that an earlier version set.
left_devices() {
	local device mode name
	while read -r device name; do
		[[ $name != "$user" ]] || ! has_access "$device" || echo "setfacl --remove user:$user $root$device"
	done < <(records_of right)
	! grep -qsF "user:$user:rw" "$root$UDEV_FILE" || echo "remove $user from $UDEV_FILE"
	[[ -z $others ]] || return 0
	while read -r device mode; do
		if is_device "$device" && [[ $mode == none ]]; then
			echo "rm $root$device"
		elif is_device "$device" && [[ $(stat -c %a "$root$device") == 666 ]]; then
			echo "chmod $mode $root$device"
		fi
	done < <(records_of device)
}

has_access() { is_device "$1" && getfacl -cp "$root$1" 2>/dev/null | grep -qF "user:$user:"; }

undo_devices() {
	local lines words line
	mapfile -t lines < <(left_devices)
	for line in "${lines[@]}"; do
		step "$line"
		read -ra words <<<"$line"
		case $line in
		"remove "*) undo_udev ;;
		"setfacl "*) undo_access "${words[-1]}" ;;
		*) as_root "${words[@]}" ;;
		esac
	done
}

# undo_access FILE: with the last user, the whole list is removed, and with it the mask, so
# that the old mode applies again.
undo_access() {
	as_root setfacl --remove "user:$user" "$1"
	getfacl -cp "$1" | grep -qE '^(user|group):[^:]+:' || as_root setfacl --remove-all "$1"
}

undo_udev() {
	grep -vF "user:$user:rw" "$root$UDEV_FILE" >"$scratch/rules" || true
	install_file "$UDEV_FILE" <"$scratch/rules"
	[[ -s $root$UDEV_FILE ]] || as_root rm -f -- "$root$UDEV_FILE"
}

# need_bridge_filter: without this module, Docker refuses networks that isolate their
# containers from each other, as aibox's do. Rootless Docker cannot load it. Something that
# does not run at every boot, such as the package's root daemon, may have loaded it.
need_bridge_filter() {
	has_bridge_filter && { ! has_systemd || loads_bridge_filter; } || echo "modprobe br_netfilter, now and at every boot ($MODULES_FILE)"
}

has_bridge_filter() { [[ -d $root/proc/sys/net/bridge ]]; }

# loads_bridge_filter: does a file, of this script or of others, load it at every boot?
loads_bridge_filter() { grep -qsE '^[[:space:]]*br_netfilter[[:space:]]*$' "$root"/{etc,usr/lib}/modules-load.d/*.conf; }

make_bridge_filter() {
	step "loading the kernel module br_netfilter, now and at every boot"
	has_bridge_filter || as_root modprobe br_netfilter 2>/dev/null ||
		die "cannot load the kernel module br_netfilter" "modprobe br_netfilter (after a kernel update, reboot first; for a container, load it on the host)"
	install_file "$MODULES_FILE" <<<br_netfilter
}

# The module itself stays loaded until the next boot, because others may use it.
left_bridge_filter() { left_file "$MODULES_FILE"; }
undo_bridge_filter() { run_printed left_bridge_filter; }

# left_file FILE: prints how to remove a shared file, if no other user needs it.
left_file() { [[ $others || ! -e $root$1 ]] || echo "rm $root$1"; }

# need_delegation: a user's systemd can enforce limits only with delegated controllers. By
# default, Debian and Ubuntu do not delegate cpuset and io.
need_delegation() {
	local given
	has_systemd && [[ -e $root/sys/fs/cgroup/cgroup.controllers ]] || return 0
	given=$(systemctl show --property DelegateControllers --value "user@${uid:-1000}.service" 2>/dev/null) || true
	[[ -z $(missing_controllers "$given") ]] || echo "delegate $CONTROLLERS to systemd user managers ($DELEGATION_FILE)"
}

make_delegation() {
	step "delegating $CONTROLLERS to systemd user managers"
	printf '[Service]\nDelegate=%s\n' "$CONTROLLERS" | install_file "$DELEGATION_FILE"
	as_root systemctl daemon-reload
	[[ -z $uid || ! -e $(manager_cgroup) || $(missing_controllers "$(<"$(manager_cgroup)")") == '' ]] ||
		note "this takes effect when $user logs in again, or after a reboot"
}

# manager_cgroup: prints the file that lists the controllers of the user's systemd.
manager_cgroup() { echo "$root/sys/fs/cgroup/user.slice/user-$uid.slice/user@$uid.service/cgroup.controllers"; }

# missing_controllers LIST: prints the controllers that are not in LIST.
missing_controllers() {
	local name
	for name in $CONTROLLERS; do
		[[ " $1 " == *" $name "* ]] || echo "$name"
	done
}

left_delegation() { left_file "$DELEGATION_FILE"; }

undo_delegation() {
	run_printed left_delegation
	as_root rmdir "$root${DELEGATION_FILE%/*}" 2>/dev/null || true
	as_root systemctl daemon-reload
}

# need_linger: when the user is not logged in, systemd runs the daemon only with lingering.
need_linger() {
	! has_systemd || [[ -e $(linger_file) ]] || echo "loginctl enable-linger $user"
}

# linger_file: prints the file by which systemd knows that the user lingers. In its name, a backslash is doubled.
linger_file() { printf '%s\n' "$root/var/lib/systemd/linger/${user//\\/\\\\}"; }

make_linger() {
	run_printed need_linger
	record linger "$user"
	wait_until 30 test -d "$runtime_dir" || true
	load_user
}

left_linger() {
	! recorded linger "$user" || [[ ! -e $(linger_file) ]] || echo "loginctl disable-linger $user"
}

undo_linger() { run_printed left_linger; }

# need_runtime_dir: the folder of the daemon's socket. systemd creates it for users who log
# in or linger. Without systemd, it has to be created after every boot.
need_runtime_dir() {
	[[ $runtime_dir && $(stat -c '%u %a' "$runtime_dir" 2>/dev/null) == "$uid 700" ]] ||
		echo "create ${runtime_dir:-/run/user/UID}, private to $user"
}

make_runtime_dir() {
	if [[ ! -d $runtime_dir ]]; then
		as_root mkdir -p -m 0755 "${runtime_dir%/*}"
		as_root install -d -m 0700 -o "$user" -g "$(id -g "$user")" "$runtime_dir"
	fi
	[[ $(stat -c '%u %a' "$runtime_dir") == "$uid 700" ]] ||
		die "$runtime_dir has to be private to $user" "chown $user $runtime_dir; chmod 700 $runtime_dir"
	load_user
}

# need_apparmor: since 24.04, Ubuntu restricts user namespaces to programs whose AppArmor
# profile allows them. The restriction stays. If the package of rootlesskit has no profile,
# this script installs the one from Docker's documentation.
need_apparmor() {
	sysctl_is kernel.apparmor_restrict_unprivileged_userns 1 || return 0
	grep -qsE "^(profile .* )?\"?$(rootlesskit_path)\"? .*\{" "$root"/etc/apparmor.d/* ||
		echo "allow user namespaces for $(rootlesskit_path) ($APPARMOR_FILE)"
}

rootlesskit_path() { readlink -f "$(command -v rootlesskit || echo /usr/bin/rootlesskit)"; }

# make_apparmor: loads the profile before the file exists, because need_apparmor takes a
# profile in a file for one that is loaded.
make_apparmor() {
	local profile=$scratch/${APPARMOR_FILE##*/}
	step "allowing user namespaces for rootlesskit in AppArmor"
	cat >"$profile" <<PROFILE
# Created by aibox's setup. setup-rootless-gvisor.sh --uninstall removes it.
abi <abi/4.0>,
include <tunables/global>

profile aibox-rootlesskit "$(rootlesskit_path)" flags=(unconfined) {
  userns,

  include if exists <local/aibox-rootlesskit>
}
PROFILE
	quietly "AppArmor rejected the profile for $APPARMOR_FILE" "check that the package apparmor is installed, then run this again" \
		as_root apparmor_parser -r "$profile"
	install_file "$APPARMOR_FILE" <"$profile"
}

left_apparmor() { left_file "$APPARMOR_FILE"; }

undo_apparmor() {
	as_root apparmor_parser -R "$root$APPARMOR_FILE" 2>/dev/null || true
	run_printed left_apparmor
}

# need_user_namespaces: kernel settings that an administrator chose are not changed here.
need_user_namespaces() {
	if sysctl_is kernel.unprivileged_userns_clone 0; then
		echo "by hand: sysctl -w kernel.unprivileged_userns_clone=1 (and add it to /etc/sysctl.d)"
	elif sysctl_is user.max_user_namespaces 0; then
		echo "by hand: sysctl -w user.max_user_namespaces=28633 (and add it to /etc/sysctl.d)"
	elif [[ ! -e $root/proc/sys/user/max_user_namespaces ]]; then
		echo "by hand: use a kernel with CONFIG_USER_NS=y, such as the distribution's own"
	elif ! sysctl_is kernel.apparmor_restrict_unprivileged_userns 1 && [[ $uid ]] && ! as_user unshare --user --map-root-user true 2>/dev/null; then
		echo "by hand: use a real or a virtual machine; this container or chroot forbids user namespaces (as $user: unshare -Ur true)"
	fi
}

make_user_namespaces() {
	local hint
	hint=$(need_user_namespaces)
	die "the settings of this kernel forbid user namespaces for $user" "${hint#by hand: }"
}

# --- gVisor ------------------------------------------------------------------

# installed_runsc: prints the path of our runsc, the release or a local build, if only root
# can change it. The release must also match its pinned checksum.
installed_runsc() {
	local file release=$OUR_DIR/runsc-release-$RUNSC_RELEASE
	for file in "$release" "$OUR_DIR/runsc-${RUNSC_MODULE#*@}"; do
		if [[ -x $root$file ]] && only_root_can_write "$root$file" && { [[ $file != "$release" ]] || is_pinned "$root$file"; }; then
			echo "$root$file"
			return
		fi
	done
}

# only_root_can_write FILE: can only root (in tests, only the owner) change the file?
only_root_can_write() {
	local owner mode
	read -r owner mode < <(stat -L -c '%u %a' "$1")
	[[ ($owner == 0 || ($root && $owner == "$EUID")) && ! $mode =~ [2367].?$ ]]
}

# is_pinned FILE: is it the pinned release for this architecture?
is_pinned() { sha512sum --check --status <<<"${RUNSC_SHA512[$(uname -m)]}  $1"; }

need_runsc() {
	[[ $(installed_runsc) ]] || echo "install runsc in $OUR_DIR (gVisor's release $RUNSC_RELEASE, or built from source with Go)"
}

make_runsc() {
	local output build=$scratch target=$OUR_DIR/runsc-release-$RUNSC_RELEASE
	fetch_runsc "$build" || {
		build_runsc "$build"
		target=$OUR_DIR/runsc-${RUNSC_MODULE#*@}
	}
	# It is tested where it will run, since /tmp may forbid programs.
	as_root install -D -m 0755 "$build/runsc" "$root$target.new"
	output=$("$root$target.new" --version 2>&1) || {
		as_root rm -f -- "$root$target.new"
		tail -n 15 <<<"$output" | sed 's/^/    /' >&2
		die "the downloaded runsc does not run on this machine; its output is above" "run this again, or report it with that output"
	}
	as_root mv -f -- "$root$target.new" "$root$target"
}

left_runsc() { left_file "$OUR_DIR"; }
undo_runsc() {
	step "rm -r $root$OUR_DIR"
	as_root rm -rf -- "$root$OUR_DIR"
}

# fetch_runsc DIR: downloads gVisor's release. If its server sends nothing, it fails and sets download_error and
# download_hints.
fetch_runsc() {
	local url code=0
	url=$RUNSC_RELEASES/$RUNSC_RELEASE/$(uname -m)/runsc
	step "downloading runsc, gVisor release $RUNSC_RELEASE"
	curl -fsS --connect-timeout 5 --max-time 600 --speed-limit 1 --speed-time 20 -o "$1/runsc" "$url" 2>"$scratch/error" || code=$?
	if ((code != 0)); then
		download_error=$(sed -n '1s/^curl: //p' "$scratch/error")
		[[ ! -s $1/runsc ]] || die "the download of runsc was interrupted: $download_error" "run this again"
		note "cannot download gVisor's release to this machine: $download_error"
		case $code in
		22 | 56) download_hints=("check the proxy and what it allows: env | grep -i proxy") ;;
		35 | 60) download_hints=("check the clock: date" "if this network has a certificate authority of its own: export SSL_CERT_FILE=FILE") ;;
		esac
		return 1
	fi
	is_pinned "$1/runsc" ||
		die "runsc was not installed: it does not match the SHA-512 that this script pins" "run this again; if it fails again, a proxy changes downloads, or aibox is too old: get a newer version"
	chmod 0755 "$1/runsc"
}

# build_runsc DIR: builds the same program from source. It compares the module's hash
# whatever GOSUMDB, GONOSUMDB or GOPRIVATE are set to; the module's go.sum has the hashes of
# its dependencies.
build_runsc() {
	local module sum go_env=(GOMODCACHE="$1/modules" GOFLAGS="-mod=readonly -modcacherw" GOWORK=off GOTOOLCHAIN=local CGO_ENABLED=0)
	command -v go >/dev/null ||
		die "cannot download runsc ($download_error), and cannot build it without Go" "${download_hints[@]}" "install Go 1.26 or newer from https://go.dev/dl/ (to /usr/local/go) and run this again"
	step "building runsc from source with Go (about a minute): $RUNSC_MODULE"
	# A separate cache, because Go compares hashes only when it downloads a module.
	module=$(env -C "$1" "${go_env[@]}" go mod download -json "$RUNSC_MODULE" 2>&1) || {
		tail -n 15 <<<"$module" | sed 's/^/    /' >&2
		die "cannot download the source of runsc" "check that Go can download modules: go mod download $RUNSC_MODULE"
	}
	sum=$(jq -r '.Sum // ""' <<<"$module")
	[[ $sum == "$RUNSC_MODULE_SUM" ]] ||
		die "runsc was not built: its source has the hash $sum and not the pinned $RUNSC_MODULE_SUM" "a module proxy changes modules: check go env GOPROXY"
	quietly "cannot build runsc" "check that Go can download modules: go mod download $RUNSC_MODULE" \
		env -C "$(jq -r .Dir <<<"$module")" "${go_env[@]}" go build -buildvcs=false -trimpath -ldflags '-s -w' -o "$1/runsc" ./runsc
}

# static_busybox: prints a busybox of this system that needs no library. Some packages put it beside one that does.
static_busybox() {
	local name file
	for name in busybox-static busybox.static busybox; do
		file=$(command -v "$name") || continue
		[[ ! $(LC_ALL=C ldd "$file" 2>&1) =~ "statically linked"|"not a dynamic executable"|"Not a valid dynamic program" ]] || { echo "$file" && return; }
	done
}

# need_proof_program: a static busybox for the image that tests the setup. It needs no
# registry, and its package is only unpacked, not installed. Without apt-get, it is the
# system's own.
need_proof_program() {
	[[ -x $root$OUR_DIR/proof/bin/busybox ]] || echo "unpack a static busybox in $OUR_DIR, to test the setup"
}

make_proof_program() {
	if ! command -v apt-get >/dev/null; then
		as_root install -D -m 0755 "$(static_busybox)" "$root$OUR_DIR/proof/bin/busybox"
		return
	fi
	step "downloading a static busybox to test the setup"
	"${with_proxies[@]}" env -C "$scratch" apt-get download busybox-static >/dev/null 2>&1 ||
		as_root "${with_proxies[@]}" apt-get update >/dev/null 2>&1 || true
	quietly "cannot download the package busybox-static" "apt-get update, then run this again" \
		"${with_proxies[@]}" env -C "$scratch" apt-get download busybox-static
	dpkg-deb -x "$scratch"/busybox-static_*.deb "$scratch"
	# Debian 12 has it in /bin, later releases in /usr/bin.
	as_root install -D -m 0755 "$(find "$scratch" -type f -path '*/bin/busybox')" "$root$OUR_DIR/proof/bin/busybox"
}

# --- the daemon --------------------------------------------------------------

daemon_json() { echo "$(config_dir)/docker/daemon.json"; }

# read_daemon_json: prints the daemon's settings, or an empty object if there are none. It
# prints nothing, which is not valid JSON, if the file cannot be read.
read_daemon_json() {
	local text
	text=$(as_user cat "$(daemon_json)" 2>/dev/null) || ! as_user test -e "$(daemon_json)" || return 0
	[[ $text =~ [^[:space:]] ]] || text='{}'
	printf '%s\n' "$text"
}

# write_daemon_json: replaces the daemon's settings or, if they are a link, its target, with standard input. What jq
# could not compute must not replace them.
write_daemon_json() {
	local file new
	file=$(as_user readlink -f -- "$(daemon_json)") || file=$(daemon_json)
	new=$(cat)
	is_object <<<"$new" ||
		die "$file was not changed, because its runtimes are not what Docker's documentation describes" "correct runtimes in that file, then run this again"
	as_user mkdir -p "${file%/*}"
	# shellcheck disable=SC2016 # $1 is the inner shell's
	as_user sh -c 'cat >"$1.new" && mv -f -- "$1.new" "$1"' sh "$file" <<<"$new" ||
		die "$user cannot write $file" "$(write_hint "$file")"
}

# write_hint FILE: prints how to make the daemon's settings, which are in FILE, writable. The folder of a link's target
# stays as it is: the user must not own that of the system's daemon.
write_hint() {
	if as_user test -L "$(daemon_json)"; then
		echo "replace the link by a copy: cp --remove-destination $1 $(daemon_json)"
	else
		echo "chown -R $user $(config_dir)/docker"
	fi
}

# is_object: is standard input one JSON object? Without -s, some versions of jq exit with 0 for none.
is_object() { jq -se 'length == 1 and (.[0] | type == "object")' >/dev/null 2>&1; }

# with_runsc: prints the settings of standard input with the runtime added. Our runtime gets
# the pinned path and any missing flag. Another one stays unchanged, unless it is to be
# replaced.
with_runsc() {
	local replace=no
	[[ $replace_runtime == no ]] || { registered_here && [[ -z $(runtime_problems) ]]; } || replace=yes
	jq --arg path "$(installed_runsc)" --arg ours "$root$OUR_DIR/" --argjson args "$RUNSC_ARGS" --arg replace "$replace" '
		def flag: split("=")[0];
		if $replace == "yes" then .runtimes.runsc = {path: $path, runtimeArgs: $args}
		elif .runtimes.runsc and ((.runtimes.runsc.path // "") | startswith($ours) | not) then .
		else .runtimes.runsc |= ((. // {}) | .path = $path | .runtimeArgs = ((.runtimeArgs // []) as $have
			| $have + [$args[] | select(flag as $f | all($have[]; flag != $f))])) end'
}

# registered_here: did this script register the runtime?
registered_here() { [[ $(read_daemon_json | jq -r '.runtimes.runsc.path // ""') == "$root$OUR_DIR"/* ]]; }

# without_runsc: prints the settings of standard input without our runtime, and with the one
# that it replaced.
without_runsc() {
	jq --arg ours "$root$OUR_DIR/" --argjson before "$(replaced_runtime)" --arg restorer "$RESTORER" '
		if (.runtimes.runsc.path // "") | startswith($ours) then
			if $before then .runtimes.runsc = $before else del(.runtimes.runsc) end else . end
		| if (.runtimes[$restorer].path // "") | startswith($ours) then del(.runtimes[$restorer]) else . end
		| if .runtimes == {} then del(.runtimes) else . end'
}

# replaced_runtime: prints the runtime that ours replaced, as JSON.
replaced_runtime() {
	own_records | name=$user awk '$1 == "runtime" && $3 == ENVIRON["name"] && !found++ {print $2}' | base64 -d | grep . || echo null
}

# runtime_problems: prints the problems of the runtime that is registered as runsc, one per
# line. It accepts only the arguments listed here, because others can open the sandbox:
# --network=host, --host-uds=all, --directfs, a log file of --debug-log.
runtime_problems() {
	local registered path
	registered=$(read_daemon_json | jq -c '.runtimes.runsc // empty')
	[[ $registered ]] || return 0
	path=$(jq -r '.path // ""' <<<"$registered")
	[[ $path == "$root$OUR_DIR"/* ]] || program_problems "$path"
	jq -r --argjson args "$RUNSC_ARGS" --arg ours "$root$OUR_DIR/" '
		def flag: ltrimstr("-") | ltrimstr("-") | split("=")[0];
		(.runtimeArgs // []) as $have | ((.path // "") | startswith($ours)) as $is_ours
		| (keys[] | select(. != "path" and . != "runtimeArgs") | "unknown setting \(.)"),
		($have[] | select(test("^--?((ignore-cgroups|systemd-cgroup)(=(true|false))?|overlay2=root:(self|memory|dir=/[^,]+),size=[0-9]+[kmgtKMGT]?|platform=(systrap|kvm|ptrace)|network=sandbox)$") | not)
			| "not allowed: the argument \(.)"),
		($args[] | select($is_ours | not) | select(flag as $f | all($have[]; flag != $f)) | "missing: the argument \(.)")' <<<"$registered"
}

# program_problems PATH: prints the problems of a runsc that this script did not install.
program_problems() {
	local dir=$1 owner mode version
	[[ $1 == /* && -f $1 && -x $1 ]] || { echo "its program ($1) cannot be executed" && return; }
	dir=$(readlink -f "$1")
	while :; do
		read -r owner mode < <(stat -c '%u %a' "$dir")
		[[ $owner == 0 || $owner == "$uid" ]] || { echo "$dir belongs to another user" && return; }
		# In a sticky folder, such as /tmp, users cannot replace each other's files.
		[[ ! $mode =~ [2367].?$ || ($mode =~ ^1... && -d $dir) ]] || { echo "others can write to $dir" && return; }
		[[ $dir != / ]] || break
		dir=$(dirname "$dir")
	done
	version=$(as_user "$1" --version 2>/dev/null </dev/null | head -n 1) || version=''
	[[ $version =~ release-([0-9]{8})\. && ${BASH_REMATCH[1]} -ge ${RUNSC_RELEASE%.*} ]] ||
		echo "its version must be $RUNSC_RELEASE or newer (it reports ${version:-none})"
}

# same_json ONE OTHER: compares two values, ignoring the order of keys.
same_json() { [[ $(jq -S . <<<"$1") == "$(jq -S . <<<"$2")" ]]; }

need_registration() {
	local old problems
	if [[ -z $uid || -z $(installed_runsc) ]] || ! command -v jq >/dev/null; then
		echo "register runsc in ${home:-the home of $user}${home:+/.config/docker/daemon.json}"
		return
	fi
	old=$(read_daemon_json)
	if ! is_object <<<"$old"; then
		echo "by hand: fix $(daemon_json), which is not valid JSON or cannot be read (find the error with: jq . $(daemon_json))"
	elif [[ $replace_runtime == no ]] && problems=$(runtime_problems) && [[ $problems ]]; then
		echo "by hand: correct runtimes.runsc in $(daemon_json), or replace it with --replace-runtime"
		echo "$problems"
	elif ! same_json "$old" "$(with_runsc <<<"$old")"; then
		echo "register runsc in $(daemon_json)"
	fi
}

make_registration() {
	local old new problems before
	old=$(read_daemon_json)
	is_object <<<"$old" ||
		die "$(daemon_json) is not valid JSON or cannot be read, so it was not changed" "find the error with: jq . $(daemon_json)" "fix it, then run this again"
	if [[ $replace_runtime == no ]]; then
		problems=$(runtime_problems)
		[[ -z $problems ]] ||
			die "aibox does not trust the runtime runsc in $(daemon_json): ${problems//$'\n'/; }" \
				"correct or remove it, then run this again" "or replace it with aibox's: --replace-runtime"
	elif ! registered_here && [[ $(replaced_runtime) == null ]] && before=$(jq -ce .runtimes.runsc <<<"$old"); then
		record runtime "$(base64 -w 0 <<<"$before")" "$user"
	fi
	step "registering runsc in $(daemon_json)"
	as_user test -e "$(daemon_json)" || as_user test -L "$(daemon_json)" || record daemon.json "$user"
	new=$(with_runsc <<<"$old") || new=''
	write_daemon_json <<<"$new"
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
		die "runsc is the default runtime in $(daemon_json), and Docker cannot start without its default" "remove default-runtime from that file, then run this again"
	step "removing runsc from $(daemon_json)"
	if [[ $new == '{}' ]] && recorded daemon.json "$user"; then
		as_user rm -f -- "$(daemon_json)"
	else
		write_daemon_json <<<"$new"
	fi
	! daemon_answers || signal_daemon HUP
}

# restorer_program: prints the program of the runtime that restores sandboxes. Docker cannot
# restore a container by itself, so this program turns its start into a restore. Its first
# argument, from daemon.json, names runsc; every call but a start goes there unchanged.
restorer_program() {
	cat <<'EOF'
#!/bin/sh
# Installed by aibox's setup. An OCI runtime that starts a container by restoring it from a
# checkpoint, which aibox names in a private folder of the user, by the id of the container. A
# container that aibox has named no checkpoint for does not start.
set -eu
fail() {
	echo "runsc-restore: $1" >&2
	exit 1
}
case ${1-} in
--aibox-runsc=/*) runsc=${1#--aibox-runsc=} && shift ;;
*) fail "the first argument must be --aibox-runsc=PATH" ;;
esac

# The command follows the global options, of which three have their value in the next argument.
place=0 value=no command=''
for arg; do
	place=$((place + 1))
	case $value,$arg in
	yes,*) value=no ;;
	no,--root | no,--log | no,--log-format) value=yes ;;
	no,-*) ;;
	*) command=$arg && break ;;
	esac
done
if [ "$command" = kill ]; then
	# Docker ends what it could not start. Only by these words does containerd know that nothing
	# is left to end; otherwise it keeps the container, and the process that watches it.
	code=0
	said=$("$runsc" "$@" 2>&1) || code=$?
	[ -z "$said" ] || printf '%s\n' "$said" >&2
	case $code,$said in
	0,*) ;;
	*"sandbox is not running"*) echo "container not running" >&2 ;;
	esac
	exit "$code"
fi
[ "$command" = start ] || exec "$runsc" "$@"
[ $# -eq $((place + 1)) ] || fail "start takes the id of a container"

count=0
for arg; do
	count=$((count + 1))
	shift
	[ "$count" -ge "$place" ] || set -- "$@" "$arg"
done
id=$arg
case $id in
*[!0-9a-f]*) fail "not the id of a container: $id" ;;
esac
[ ${#id} -eq 64 ] || fail "not the id of a container: $id"

# A container that was created has a process already. If it does not start, Docker forgets it
# without ending that process, because runsc signals no container in this state, and knows its
# process no longer after a restore that failed.
pid=$("$runsc" "$@" state "$id" 2>/dev/null | sed -n 's/^ *"pid": *\([1-9][0-9]*\).*/\1/p')
end_process() {
	[ -n "$pid" ] && kill -KILL "$pid" 2>/dev/null || return 0
	tries=100 # containerd must know of the end when Docker deletes the container
	while [ "$tries" -gt 0 ] && kill -0 "$pid" 2>/dev/null; do
		tries=$((tries - 1))
		sleep 0.02
	done
	sleep 0.2
}
dir=${XDG_RUNTIME_DIR:?}/aibox-restore/$id
if ! [ -d "$dir" ] || [ -L "$dir" ] || ! [ -O "$dir" ]; then
	end_process
	fail "aibox has named no checkpoint for this container"
fi
code=0
"$runsc" "$@" restore --detach --image-path "$dir/image" "$id" || code=$?
[ "$code" -eq 0 ] || end_process
exit "$code"
EOF
}

# with_restorer: prints the settings of standard input with the runtime that restores. It has
# the program and the arguments of the runtime that starts sandboxes.
with_restorer() {
	jq --arg name "$RESTORER" --arg path "$root$RESTORER_FILE" '
		if .runtimes.runsc.path then .runtimes[$name] =
			{path: $path, runtimeArgs: (["--aibox-runsc=" + .runtimes.runsc.path] + (.runtimes.runsc.runtimeArgs // []))}
		else . end'
}

has_restorer_program() {
	[[ -x $root$RESTORER_FILE ]] && only_root_can_write "$root$RESTORER_FILE" && cmp -s <(restorer_program) "$root$RESTORER_FILE"
}

need_restorer() {
	local old
	has_restorer_program || echo "install $RESTORER_FILE, which restores sandboxes from snapshots"
	if [[ -z $uid ]] || ! command -v jq >/dev/null; then
		echo "register $RESTORER in ${home:-the home of $user}${home:+/.config/docker/daemon.json}"
		return
	fi
	old=$(read_daemon_json)
	if is_object <<<"$old" && ! same_json "$old" "$(with_restorer <<<"$old")"; then
		echo "register $RESTORER in $(daemon_json)"
	fi
}

make_restorer() {
	local old new
	if ! has_restorer_program; then
		restorer_program >"$scratch/runsc-restore"
		as_root install -D -m 0755 "$scratch/runsc-restore" "$root$RESTORER_FILE"
	fi
	old=$(read_daemon_json)
	same_json "$old" "$(with_restorer <<<"$old")" && return
	step "registering $RESTORER in $(daemon_json)"
	new=$(with_restorer <<<"$old") || new=''
	write_daemon_json <<<"$new"
}

# note_foreign_runsc: names a runtime that this script did not register but accepts.
note_foreign_runsc() {
	local path
	path=$(read_daemon_json | jq -r '.runtimes.runsc.path // ""')
	[[ $path == "$(installed_runsc)" ]] || note "using the runtime runsc that was already registered ($path)"
}

daemon_answers() { as_user docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

# rootless_script: prints the program that starts dockerd without root. Docker's and
# Debian's packages include it. Ubuntu's do not, so this script has its own.
rootless_script() {
	PATH=$(user_path) command -v dockerd-rootless.sh ||
		{ [[ ! -x $root$OUR_DIR/dockerd-rootless.sh ]] || echo "$root$OUR_DIR/dockerd-rootless.sh"; }
}

# need_rootless_script: this can only be checked after the package is installed.
need_rootless_script() {
	! command -v dockerd >/dev/null || [[ $(rootless_script) ]] || echo "install $OUR_DIR/dockerd-rootless.sh, which this Docker lacks"
}

make_rootless_script() {
	step "installing $OUR_DIR/dockerd-rootless.sh, which this Docker lacks"
	cat >"$scratch/dockerd-rootless.sh" <<'SCRIPT'
#!/bin/sh
# Starts dockerd in RootlessKit's namespaces, like Docker's own script of this name.
# Created by aibox's setup. setup-rootless-gvisor.sh --uninstall removes it.
set -eu
if [ "${1-}" != --inside ]; then
	# With copies of /etc and /run, the daemon can create its own files there.
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
	die "rootless Docker did not start; the end of its log is above" "$(log_hint)" "then run this again"
}

# is_ours: did this script start the daemon? start_detached writes that pid file.
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
		# Docker's tool also removes the client context that it may have created.
		as_user sh -c 'dockerd-rootless-setuptool.sh uninstall --force' >/dev/null 2>&1 </dev/null || true
		as_user rm -f -- "$(unit_file)" "$(config_dir)/systemd/user/default.target.wants/docker.service"
		as_user systemctl --user daemon-reload 2>/dev/null || true # the user's manager may not run
	else
		stop_daemon
	fi
	# Some of the daemon's files there belong to subordinate ids.
	as_user rootlesskit rm -rf -- "$runtime_dir"/docker "$runtime_dir"/dockerd-rootless >/dev/null 2>&1 || true
	as_user rm -f -- "$socket" "$runtime_dir"/docker.pid "$runtime_dir"/dockerd-rootless.{pid,log}
	as_user rmdir "$runtime_dir/runc" 2>/dev/null || true
}

# signal_daemon NAME: uses the shell's builtin kill, because small systems have no other.
signal_daemon() {
	# shellcheck disable=SC2016 # these are the inner shell's
	! runs "$runtime_dir/docker.pid" dockerd || as_user sh -c 'kill -s "$1" "$2"' sh "$1" "$(<"$runtime_dir/docker.pid")"
}

# stop_daemon: stops the daemon that start_detached started.
stop_daemon() {
	signal_daemon TERM
	wait_until 60 daemon_is_gone || die "the daemon (process $(<"$runtime_dir/docker.pid")) does not stop" "kill -9 $(<"$runtime_dir/docker.pid"), then run this again"
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

# undo_data: deletes in a user namespace, because the files belong to subordinate ids.
undo_data() {
	step "deleting $(data_dir)"
	quietly "cannot delete the data of $user's Docker" "as $user: rootlesskit rm -rf $(data_dir)" \
		as_user rootlesskit rm -rf -- "$(data_dir)"
}

# refuse_while_containers_run: uninstalling must not end running work.
refuse_while_containers_run() {
	local running
	[[ $uid ]] && daemon_answers || return 0
	running=$(as_user docker ps --format '{{.Names}}' | xargs)
	[[ -z $running ]] ||
		die "containers are running in the Docker of $user: $running" "stop the sessions: aibox ls, then aibox stop ID" "stop other containers: docker ps, then docker stop ID"
}

# other_users: prints the users whose daemons also use this installation. With --check it
# reads only what it can without a password. Root does not open what is not a file, or read
# all of a file: a user could make the search wait, or read without an end.
other_users() {
	local name ids dir file found=() as=(as_root)
	[[ $check == no ]] || as=()
	while IFS=: read -r name _ ids _ _ dir _; do
		file=$dir/.config/docker/daemon.json
		if ((ids >= 1000)) && [[ $name != "$user" && $dir == /?* ]] && "${as[@]}" test -f "$file" &&
			grep -qF "\"$root$OUR_DIR/" < <("${as[@]}" timeout 5 head -c 1000000 -- "$file" 2>/dev/null); then
			found+=("$name")
		fi
	done < <(getent passwd)
	echo "${found[*]}"
}

print_what_stays() {
	local kept
	step "uninstalled for $user"
	[[ -z $uid ]] || ! as_user test -d "$(data_dir)" || note "Docker's images and data stay in $(data_dir)"
	! recorded user "$user" || note "the user and its files stay; to remove them: userdel --remove $user"
	[[ -z $others ]] || return 0
	kept=$(records_of package | xargs)
	[[ -z $kept ]] || note "packages stay; to remove those that this script installed: apt-get remove $kept"
}

# forget_user: drops this user's records, except those of kept files, which another
# --uninstall can purge. The machine's records go with the last user.
forget_user() {
	local words
	if [[ $uid ]]; then
		own_records | keep_records >"$scratch/own"
		as_user rm -f -- "$(own_state_file)"
		while read -ra words; do record "${words[@]}"; done <"$scratch/own"
	fi
	[[ -e $root$STATE_FILE ]] || return 0
	[[ $others ]] || unmask_held
	keep_records <"$root$STATE_FILE" >"$scratch/records"
	store_records <"$scratch/records"
}

# keep_records: prints those records of standard input whose files stay.
keep_records() {
	local line words
	while IFS= read -r line; do
		read -ra words <<<"$line"
		case $line in
		"data $user") ! as_user test -d "$(data_dir)" || echo "$line" ;;
		"sub"[ug]"ids "*" $user") ! has_range "${words[0]%s}" "${words[1]}" || echo "$line" ;;
		"package "* | "device "* | "held "*) [[ -z $others ]] || echo "$line" ;;
		*" $user") ;;
		*) echo "$line" ;;
		esac
	done
}

# clear_stale_pids: dockerd does not start while its pid file names a process, and waits
# forever for a containerd that its pid file names. After a kill -9 or a reboot, the number
# may belong to a zombie or to any other process.
clear_stale_pids() {
	local file=$runtime_dir/docker.pid
	if runs "$file" dockerd; then
		wait_until 20 daemon_answers && return
		die "dockerd of $user is running (process $(<"$file")) but does not respond on $socket" "kill $(<"$file"), then run this again"
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

# start_detached SCRIPT: starts the daemon in a new session, without the caller's open files.
# The remains of a daemon that was just killed can make it exit at once, so it gets three
# attempts.
start_detached() {
	local log=$runtime_dir/dockerd-rootless.log pidfile=$runtime_dir/dockerd-rootless.pid attempt
	for attempt in 1 2 3; do
		# shellcheck disable=SC2016 # all variables are the inner shell's
		as_user bash -c 'for fd in /proc/self/fd/*; do fd=${fd##*/}; ((fd <= 2)) || eval "exec $fd>&-"; done
			exec setsid --fork bash -c '\''echo $$ >"$1" && exec "$0"'\'' "$0" "$2" >"$1" 2>&1 </dev/null' \
			"$1" "$log" "$pidfile"
		wait_until 90 daemon_answers_or_ended "$pidfile" || return 1
		daemon_answers && return
		note "attempt $attempt failed: the daemon exited"
	done
	return 1
}

daemon_answers_or_ended() {
	daemon_answers || { [[ -s $1 ]] && ! as_user test -r "/proc/$(<"$1")/exe"; }
}

# start_with_systemd SCRIPT: starts the daemon as a unit of the user.
start_with_systemd() {
	wait_until 60 as_user systemctl --user show-environment >/dev/null 2>&1 ||
		die "the systemd user manager of $user does not respond" "systemctl status user@$uid.service" "apt-get install dbus-user-session libpam-systemd"
	as_user systemctl --user start dbus.socket 2>/dev/null || true
	as_root modprobe -a ip_tables nf_tables 2>/dev/null || true
	has_unit || make_unit "$1"
	as_user systemctl --user enable docker.service >/dev/null 2>&1 || true
	daemon_answers && return
	as_user systemctl --user restart docker.service && wait_until 90 daemon_answers
}

has_unit() { as_user systemctl --user cat docker.service >/dev/null 2>&1; }

# make_unit SCRIPT: Docker's tool in the same folder writes the unit. Debian's version then
# fails, because it looks for the docker client in its own folder, so only the unit counts.
# Without the tool, this function writes a unit with the relevant settings of Docker's.
make_unit() {
	local tool=${1%/*}/dockerd-rootless-setuptool.sh output
	record unit "$user" # first, since this can be interrupted
	if [[ -x $tool ]]; then
		output=$(as_user "$tool" install --force 2>&1 </dev/null) || has_unit || {
			as_user sed -i '/^unit /d' "$(own_state_file)" 2>/dev/null || true # a unit that comes later is the user's
			tail -n 15 <<<"$output" | sed 's/^/    /' >&2
			die "Docker's own setup tool failed; its output is above" "do what it asks, then run this again"
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

# daemon_has_runsc: does the running daemon use the runtimes' entries of daemon.json?
daemon_has_runsc() {
	# shellcheck disable=SC2016 # $restorer is jq's
	local wanted known entries='[.runsc, .[$restorer]] | map({path, args: (.runtimeArgs // [])})'
	wanted=$(as_user cat "$(daemon_json)" | jq -cS --arg restorer "$RESTORER" ".runtimes | $entries")
	known=$(as_user docker info --format '{{json .Runtimes}}' | jq -cS --arg restorer "$RESTORER" "$entries")
	[[ $wanted == "$known" ]]
}

need_settings() {
	[[ $uid ]] && daemon_answers && ! daemon_has_runsc || return 0
	echo "reload the running daemon's settings (SIGHUP; restart it if that is not enough and it is idle)"
}

# make_settings: on SIGHUP, a running daemon reads its runtimes again, without effect on
# containers. If that is not enough, it is restarted, but only if it is idle.
make_settings() {
	step "reloading the running daemon's settings"
	signal_daemon HUP
	wait_until 5 daemon_has_runsc && return
	[[ -z $(as_user docker ps -q) ]] ||
		die "the running daemon has to be restarted to use runsc, but it has running containers" "stop them (docker ps), then run this again"
	step "restarting the daemon, which has no running containers"
	if has_systemd && as_user systemctl --user is-active --quiet docker.service; then
		as_user systemctl --user restart docker.service
	else
		stop_daemon
		make_daemon
	fi
	wait_until 60 daemon_answers || die "the daemon did not start again" "$(log_hint)"
	daemon_has_runsc || die "the daemon ignores the runtime in $(daemon_json)" "check whether it is started with --config-file or another DOCKER_CONFIG: $(log_hint)"
}

# daemon_is_gone: includes its containerd, for whose data the next daemon would wait.
daemon_is_gone() {
	! runs "$runtime_dir/docker.pid" dockerd && ! daemon_answers &&
		! runs "$runtime_dir/docker/containerd/containerd.pid" containerd && ! runs "$runtime_dir/dockerd-rootless.pid" rootlesskit
}

# --- the test ----------------------------------------------------------------

prove() {
	local dir answer inside_uid kernel outside_uid
	note_foreign_runsc
	as_user docker info --format '{{.SecurityOptions}}' | grep -q name=rootless ||
		die "the daemon on $socket is not rootless" "stop it, then run this again; aibox needs a daemon that runs as its user"
	as_user docker image inspect "$PROOF_IMAGE" >/dev/null 2>&1 ||
		tar -c -C "$root$OUR_DIR/proof" bin | as_user docker import - "$PROOF_IMAGE" >/dev/null ||
		die "cannot import the test image" "docker system df (is the disk full?)"
	dir=$(as_user mktemp -d)
	# The sandbox reports its user and its kernel, and creates a file.
	answer=$(as_user docker run --rm --runtime=runsc --network=none -v "$dir:/proof" "$PROOF_IMAGE" /bin/busybox sh -c \
		'busybox id -u; busybox uname -sr; busybox touch /proof/file; busybox dmesg' 2>&1) || {
		as_user rm -rf "$dir"
		tail -n 8 <<<"$answer" | sed 's/^/    /' >&2
		die "a container with runsc does not start; Docker's output is above" "$(proof_hint "$answer")"
	}
	outside_uid=$(stat -c %u "$dir/file" 2>/dev/null || echo unknown)
	as_user rm -rf "$dir"
	inside_uid=$(sed -n 1p <<<"$answer") kernel=$(sed -n 2p <<<"$answer")
	grep -qi gvisor <<<"$answer" ||
		die "the container ran, but not on gVisor's kernel (it saw $kernel)" "check runtimes.runsc in $(daemon_json)"
	[[ $inside_uid == 0 && $outside_uid == "$uid" ]] ||
		die "uid $inside_uid in the container is uid $outside_uid outside, not $user ($uid)" "check which daemon uses $socket: docker info"
	step "tested with a container under runsc:"
	note "kernel    $kernel inside, gVisor's ($(grep -im1 gvisor <<<"$answer" | sed 's/^\[[^]]*\] *//')); the host's is $(uname -sr)"
	note "user      uid 0 inside is uid $outside_uid ($user) outside"
	note "daemon    Docker $(as_user docker version --format '{{.Server.Version}}'), rootless, on $socket"
	note "runtime   $(as_user docker info --format '{{json .Runtimes}}' | jq -r '.runsc | [.path] + (.runtimeArgs // []) | join(" ")')"
}

proof_hint() {
	case $1 in
	*cgroup*) echo "add --ignore-cgroups to runtimes.runsc.runtimeArgs in $(daemon_json)" ;;
	*"no space"*) echo "free some disk space: docker system prune" ;;
	*) echo "read the log: $(log_hint)" ;;
	esac
}

print_how_to_connect() {
	if ((EUID == 0)); then
		note "use it as $user, for example: $0 --user $user -- docker ps"
	elif [[ ${XDG_RUNTIME_DIR-} != "$runtime_dir" ]]; then
		note "in every new shell (or in ~/.profile):"
		note "  export XDG_RUNTIME_DIR=$runtime_dir DOCKER_HOST=unix://$socket"
	elif [[ ${DOCKER_HOST:-unix://$socket} != "unix://$socket" ]]; then
		note "DOCKER_HOST names another daemon here; for this one: export DOCKER_HOST=unix://$socket"
	fi
}

# run_command: keeps a normal user's environment, but not root's.
run_command() {
	rm -rf "$scratch"
	if ((EUID == uid)); then
		PATH=$PATH XDG_RUNTIME_DIR=$runtime_dir DOCKER_HOST=unix://$socket exec "${command[@]}"
	fi
	exec runuser -u "$user" -- env -i -C "$home" "${user_env[@]}" "${command[@]}"
}

# Tests source this file and call single functions.
[[ ${BASH_SOURCE[0]} != "$0" ]] || main "$@"
