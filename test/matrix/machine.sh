#!/usr/bin/env bash
# Runs a command as root in a bare Debian or Ubuntu of the given suite, which has only git,
# make, certificates and this machine's Go. It uses this machine's kernel and network.
#
#   test/matrix/machine.sh [--fresh] SUITE COMMAND [ARG…]     e.g. trixie make demo
#
# The command starts in this checkout, read-only. Installed files stay for the next run,
# unless you use --fresh; processes end with the command. Needs root or sudo.
set -euo pipefail

readonly ROOTS=${MATRIX_ROOTS:-/var/cache/aibox/matrix}
checkout=$(cd "$(dirname "$0")/../.." && pwd)

main() {
	if [[ ${1-} == --inside ]]; then
		shift
		enter "$@"
	fi
	local fresh=no
	if [[ ${1-} == --fresh ]]; then
		fresh=yes
		shift
	fi
	(($# >= 2)) || { sed -n 's/^# \{0,1\}//; 2,8p' "$0" >&2 && exit 2; }
	local root=$ROOTS/$1 goroot
	goroot=$(GOTOOLCHAIN=local go env GOROOT) || { echo "this test needs Go: https://go.dev/dl/" >&2 && exit 3; }
	[[ $fresh == no ]] || as_root rm -rf --one-file-system "$root"
	[[ -e $root/.complete ]] || make_root "$1" "$root"
	as_root install -D -m 0644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
	as_root cp -L /etc/resolv.conf "$root/etc/resolv.conf"
	as_root mkdir -p "$root/src" "$root/usr/local/go" "$root/.old"
	# A PID namespace, so that daemons end with the command.
	as_root env "GOROOT_OUTSIDE=$goroot" "${passed[@]}" \
		unshare --mount --pid --uts --ipc --fork --kill-child bash "$0" --inside "$root" "$checkout" "${@:2}"
}

# Variables that the command needs to download packages through proxies.
mapfile -t passed < <(compgen -e | grep -E '^(SSL_CERT_FILE|SSL_CERT_DIR|NODE_EXTRA_CA_CERTS|(HTTPS?|NO)_PROXY|(https?|no)_proxy|CI|VERSION|TERM|AIBOX_.*|SANDBOX_USER)$' | while IFS= read -r name; do echo "$name=${!name}"; done
	for name in GOPROXY GOFLAGS GONOSUMDB GOSUMDB GOPRIVATE; do
		value=$(cd / && GOTOOLCHAIN=local go env "$name" 2>/dev/null) && [[ $value ]] && echo "$name=$value"
	done)

as_root() { if ((EUID == 0)); then "$@"; else sudo -- "$@"; fi; }

make_root() {
	local suite=$1 root=$2 components=main keyring=()
	command -v mmdebstrap >/dev/null || as_root apt-get install -y --no-install-recommends mmdebstrap
	case $suite in
	jammy | noble | resolute)
		components=main,universe
		ubuntu_keys
		;;
	esac
	echo "==> creating a bare $suite in $root" >&2
	as_root mkdir -p "${root%/*}"
	as_root rm -rf --one-file-system "$root"
	as_root mmdebstrap --quiet --mode=root "${keyring[@]}" --variant=minbase --components=$components --include=apt,ca-certificates,git,make "$suite" "$root"
	as_root touch "$root/.complete"
}

# ubuntu_keys: finds the keys that sign Ubuntu's packages. Debian 12 has no package of them,
# so a bare Debian 13 downloads its own and checks the signature.
ubuntu_keys() {
	local keys=usr/share/keyrings/ubuntu-archive-keyring.gpg folder=$ROOTS/ubuntu-keyring
	[[ ! -e /$keys ]] || return 0
	if [[ ! -e $folder/$keys ]]; then
		[[ -e $ROOTS/trixie/.complete ]] || make_root trixie "$ROOTS/trixie"
		as_root mkdir -p "$folder"
		# shellcheck disable=SC2016 # the variable is the inner shell's
		bash "$0" trixie bash -euc 'cd /tmp && apt-get -q update >&2 && apt-get -q download ubuntu-keyring >&2 && dpkg-deb --fsys-tarfile ubuntu-keyring_*.deb' |
			as_root tar -x -C "$folder"
	fi
	keyring=(--keyring="$folder/$keys")
}

# enter ROOT CHECKOUT COMMAND…: runs the command in ROOT, in a new mount namespace. It uses
# pivot_root, because the kernel forbids user namespaces in a chroot.
enter() {
	local root=$1 source=$2
	shift 2
	mount --make-rprivate /
	mount --bind "$root" "$root"
	mount --bind -o ro "$source" "$root/src"
	mount --bind -o ro "$GOROOT_OUTSIDE" "$root/usr/local/go"
	mount --rbind /dev "$root/dev"
	mount --rbind /sys "$root/sys"
	mount -t proc proc "$root/proc"
	mount -t tmpfs -o mode=0755 tmpfs "$root/run"
	mount -t tmpfs -o mode=1777 tmpfs "$root/tmp"
	cd "$root"
	pivot_root . .old
	umount -l /.old
	hostname "$(basename "$root")"
	cd /src
	unset GOROOT_OUTSIDE
	# No exec, because this shell is PID 1 and has to reap processes.
	HOME=/root PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
	exit
}

main "$@"
