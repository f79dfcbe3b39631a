#!/usr/bin/env bash
# Runs a command as root on a machine of its own: a Debian or Ubuntu of the given suite
# with nothing but git, make, certificates and this Go, on this kernel and network.
#
#   test/matrix/machine.sh [--fresh] SUITE COMMAND [ARG…]     e.g. trixie make demo
#
# The command starts in this checkout, read-only. What it installs stays for the next
# run (--fresh throws it away); every process of it ends with it. Needs root, or sudo.
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
	goroot=$(GOTOOLCHAIN=local go env GOROOT) || { echo "this needs Go: https://go.dev/dl/" >&2 && exit 3; }
	[[ $fresh == no ]] || as_root rm -rf --one-file-system "$root"
	[[ -e $root/.complete ]] || make_root "$1" "$root"
	as_root install -D -m 0644 /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/ca-certificates.crt"
	as_root cp -L /etc/resolv.conf "$root/etc/resolv.conf"
	as_root mkdir -p "$root/src" "$root/usr/local/go" "$root/.old"
	# A process namespace, so that the daemons inside end with the command.
	as_root env "GOROOT_OUTSIDE=$goroot" "${passed[@]}" \
		unshare --mount --pid --uts --ipc --fork --kill-child bash "$0" --inside "$root" "$checkout" "${@:2}"
}

# What the command inside has to know to reach its package sources through proxies.
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
	echo "==> making a bare $suite in $root" >&2
	as_root mkdir -p "${root%/*}"
	as_root rm -rf --one-file-system "$root"
	as_root mmdebstrap --quiet --mode=root "${keyring[@]}" --variant=minbase --components=$components --include=apt,ca-certificates,git,make "$suite" "$root"
	as_root touch "$root/.complete"
}

# ubuntu_keys: the keys that sign Ubuntu's packages. A Debian 12 has none to install; the
# package of Debian 13 is fetched, and its signature checked, by a Debian 13 made here.
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

# enter ROOT CHECKOUT COMMAND…: in a mount namespace of its own; pivot_root and not
# chroot, because the kernel forbids user namespaces to a process that is chrooted.
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
	# Not exec: this shell is process 1 and has to reap.
	HOME=/root PATH=/usr/local/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
	exit
}

main "$@"
