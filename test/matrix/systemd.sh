#!/usr/bin/env bash
# Tests the setup script on a machine with systemd and cgroup v2: a Debian 13 that boots in
# an emulator, because containers and chroots have no systemd. It sets up as a normal user
# with sudo, then again, then as root for a new user, then reboots, and uninstalls. It
# tests the limits of sandboxes that systemd enforces, on real ones.
#
#   test/matrix/systemd.sh [--fresh] [--limits]
#
# It needs root or sudo, Go, and about fifteen minutes of one core. --limits tests only the
# limits.
#
# The machine's disk is never changed, and kept for the next run unless you use --fresh. The
# emulator runs at a tenth of the processor's speed. That is too slow for the network probes
# of a session, so this test runs none.
set -euo pipefail
((EUID == 0)) || exec sudo -- "$0" "$@"

# Newer kernels, virtio-blk and multiple processors cause kernel panics in this emulator.
readonly KERNEL_SUITE=bookworm KERNEL=linux-image-cloud-amd64
readonly PACKAGES=systemd-sysv,libpam-systemd,dbus-user-session,udev,kmod,openssh-server,sudo,ca-certificates,docker.io,docker-cli,rootlesskit,uidmap,slirp4netns,fuse-overlayfs,iptables,nftables,iproute2,procps,mmdebstrap,git,jq,curl

readonly CACHE=${MATRIX_ROOTS:-/var/cache/aibox/matrix}/systemd
readonly OURS=/usr/local/lib/aibox # the setup installs runsc here
readonly DELEGATION_FILE=/etc/systemd/system/user@.service.d/aibox.conf
readonly DOCKERS_SCRIPT=/usr/share/docker.io/contrib/dockerd-rootless.sh
checkout=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
emulator=''
trap '[[ -z $emulator ]] || kill "$emulator" 2>/dev/null; rm -rf "$scratch"' EXIT

main() {
	[[ $(uname -m) == x86_64 ]] || { echo "this test needs an x86_64 machine" >&2 && exit 3; }
	[[ -d $OURS ]] || { echo "this test copies runsc from this machine; first run: make setup" >&2 && exit 3; }
	[[ ${1-} != --fresh ]] || { rm -rf "$CACHE" && shift; }
	build_tests
	install_tools
	[[ -e $CACHE/.complete ]] || make_machine
	boot
	fill_machine
	if [[ ${1-} == --limits ]]; then
		expect "a normal user sets up the machine" tess setup
		check_limits
		return
	fi
	run_checks
}

install_tools() {
	local pair missing=()
	for pair in "qemu-system-x86_64 qemu-system-x86" "mke2fs e2fsprogs" "modprobe kmod" "cpio cpio" "ssh openssh-client" "mmdebstrap mmdebstrap"; do
		command -v "${pair% *}" >/dev/null || missing+=("${pair#* }")
	done
	((${#missing[@]} == 0)) || DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
}

# make_machine: creates the kernel, the initrd, the disk and an SSH key in $CACHE.
make_machine() {
	local kernel=$scratch/kernel root=$scratch/root
	echo "==> making a Debian 13 with systemd in $CACHE" >&2
	mkdir -p "$CACHE"
	mmdebstrap --quiet --mode=root --variant=extract --include="$KERNEL,busybox-static" "$KERNEL_SUITE" "$kernel"
	mmdebstrap --quiet --mode=root --variant=minbase --include="$PACKAGES" trixie "$root"
	cp "$kernel"/boot/vmlinuz-* "$CACHE/vmlinuz"
	make_initrd "$kernel"
	cp -a "$kernel/lib/modules" "$root/usr/lib/"
	rm -f "$CACHE/key" "$CACHE/key.pub"
	ssh-keygen -q -t ed25519 -N '' -f "$CACHE/key"
	configure "$root"
	mke2fs -q -F -t ext4 -d "$root" "$CACHE/disk" 5G
	touch "$CACHE/.complete"
}

# make_initrd KERNEL: creates a minimal initrd that mounts the disk and starts systemd.
make_initrd() {
	local initrd=$scratch/initrd version module
	version=$(ls "$1/lib/modules")
	depmod -b "$1" "$version"
	mkdir -p "$initrd"/{bin,modules,proc,sys,dev,root}
	cp "$1/bin/busybox" "$initrd/bin/busybox"
	for module in virtio_pci virtio_scsi sd_mod virtio_net; do
		modprobe -d "$1" -S "$version" --show-depends "$module"
	done | awk '!seen[$2]++ {print $2}' | while IFS= read -r module; do
		cp "$module" "$initrd/modules/"
		echo "${module##*/}"
	done >"$initrd/order"
	cat >"$initrd/init" <<'INIT'
#!/bin/busybox sh
busybox=/bin/busybox
$busybox mount -t proc proc /proc
$busybox mount -t sysfs sys /sys
$busybox mount -t devtmpfs dev /dev
while read -r module; do $busybox insmod /modules/$module; done </order
until [ -b /dev/sda ]; do $busybox sleep 1; done
$busybox mount -t ext4 /dev/sda /root
for dir in dev proc sys; do $busybox mount --move /$dir /root/$dir; done
exec $busybox switch_root /root /lib/systemd/systemd
INIT
	chmod +x "$initrd/init"
	(cd "$initrd" && find . | cpio -o -H newc --quiet) | gzip -1 >"$CACHE/initrd"
}

# configure ROOT: adds a user with sudo and a network address, and disables background jobs.
configure() {
	local home
	chroot "$1" useradd --create-home --shell /bin/bash tess
	echo 'tess ALL=(ALL) NOPASSWD: ALL' >"$1/etc/sudoers.d/tess"
	for home in root home/tess; do
		install -D -m 0600 "$CACHE/key.pub" "$1/$home/.ssh/authorized_keys"
	done
	chroot "$1" chown -R tess: /home/tess
	printf '[Match]\nName=e*\n[Network]\nAddress=10.0.2.15/24\nGateway=10.0.2.2\n' >"$1/etc/systemd/network/10-emulated.network"
	echo 'nameserver 10.0.2.3' >"$1/etc/resolv.conf"
	echo emulated >"$1/etc/hostname"
	echo '127.0.0.1 localhost emulated' >"$1/etc/hosts"
	echo '/dev/sda / ext4 rw 0 1' >"$1/etc/fstab"
	: >"$1/etc/machine-id"
	rm -rf "$1"/var/lib/apt/lists/*
	# The setup disables the root daemon when it installs Docker.
	units "$1" disable docker.service docker.socket containerd.service
	units "$1" enable systemd-networkd.service ssh.service
	units "$1" mask systemd-networkd-wait-online.service apt-daily.timer apt-daily-upgrade.timer
}

# units ROOT VERB UNIT…: hides systemctl's warning that a new root has no /proc.
units() { chroot "$1" systemctl --quiet "${@:2}" 2>/dev/null; }

boot() {
	echo "==> booting" >&2
	port=$(shuf -i 20000-32000 -n 1)
	nice qemu-system-x86_64 -accel tcg,thread=single -machine q35 -cpu Nehalem -smp 1 -m 3G -nographic \
		-kernel "$CACHE/vmlinuz" -initrd "$CACHE/initrd" -append "console=ttyS0 mitigations=off panic=1" \
		-device virtio-scsi-pci -drive "if=none,id=disk,file=$CACHE/disk,format=raw,cache=unsafe" -snapshot \
		-device scsi-hd,drive=disk -netdev "user,id=net,hostfwd=tcp:127.0.0.1:$port-:22" \
		-device virtio-net-pci,netdev=net >"$scratch/console" 2>&1 </dev/null &
	emulator=$!
	await_machine
}

await_machine() {
	local deadline=$((SECONDS + 900))
	until [[ $(on root systemctl is-system-running --wait) =~ running|degraded ]]; do
		if ((SECONDS > deadline)) || ! kill -0 "$emulator" 2>/dev/null; then
			tail -n 20 "$scratch/console" >&2
			echo "the emulated machine did not boot; its console is above" >&2
			exit 1
		fi
		sleep 2
	done
}

# on USER COMMAND…: in the machine, by its own login.
on() {
	ssh -q -i "$CACHE/key" -p "$port" -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
		-o ConnectTimeout=30 "$1@127.0.0.1" "${@:2}"
}

fill_machine() {
	tar -c -C "$OURS" . | on root "mkdir -p $OURS && tar -x -C $OURS"
	on root "cat >/usr/local/bin/setup && chmod 0755 /usr/local/bin/setup" <"$checkout/scripts/setup-rootless-gvisor.sh"
}

# build_tests: builds the tests of limits, as this checkout's owner if this is root.
build_tests() {
	local build=(env CGO_ENABLED=0 go test -c -o "$scratch/limits.test" ./runtime/limit/scope)
	(cd "$checkout" && PATH=$PATH:/usr/local/go/bin GOFLAGS=-buildvcs=false "${build[@]}")
}

# check_limits: makes an image of the machine's own Perl, and runs the tests of limits.
# shellcheck disable=SC2016 # the machine's shell expands what is in single quotes
check_limits() {
	on root 'cat >/usr/local/bin/limits.test && chmod 0755 /usr/local/bin/limits.test' <"$scratch/limits.test"
	expect "an image for the tests of limits is imported" tess \
		'libs=$(ldd /usr/bin/perl | grep -o "/[^ ]*"); tar -C / -c --dereference usr/bin/perl $(for lib in $libs; do echo "${lib#/}"; done) | docker -H "unix://$XDG_RUNTIME_DIR/docker.sock" import - limits:1'
	expect "a scope of systemd enforces the limits of sandboxes" tess \
		'DOCKER_HOST=unix://$XDG_RUNTIME_DIR/docker.sock AIBOX_TEST_SYSTEMD=1 AIBOX_TEST_SYSTEMD_IMAGE=limits:1 limits.test -test.v -test.run Systemd -test.timeout 15m'
	expect "no scope is left" tess '! systemctl --user list-units --all --plain --no-legend "aibox-*" | grep .'
}

# expect SENTENCE USER COMMAND…
expect() {
	local started=$SECONDS output
	if ! output=$(on "$2" "${@:3}" 2>&1 </dev/null); then
		printf '%s\n' "$output" | tail -n 30 >&2
		echo "FAIL $1" >&2
		exit 1
	fi
	echo "ok   $1 ($((SECONDS - started)) s)" >&2
}

# shellcheck disable=SC2016 # what stands in single quotes is for the machine's shell
run_checks() {
	expect "on a new machine, the check lists what is missing" tess 'setup --check; test $? = 3'
	expect "a normal user sets up the machine" tess setup
	expect "the daemon is a unit of the user" tess systemctl --user is-active docker.service
	expect "the daemon starts at boot" tess systemctl --user is-enabled docker.service
	expect "lingering is enabled for the user" tess 'test -e /var/lib/systemd/linger/tess'
	expect "then nothing is left to do" tess setup --check
	expect "the second run changes nothing" tess 'test "$(setup 2>&1 | grep -c "^==>")" = 1'
	expect "the daemon can create the networks that sessions need" tess 'docker -H "unix://$XDG_RUNTIME_DIR/docker.sock" network create --opt com.docker.network.bridge.enable_icc=false proof'
	on root "mv $DOCKERS_SCRIPT $DOCKERS_SCRIPT.away"
	expect "root sets up a new user, with our script and unit if Docker's are missing" root setup --user other -- docker info
	expect "that daemon runs our script" root "grep -q ExecStart=$OURS/dockerd-rootless.sh /home/other/.config/systemd/user/docker.service"
	on root "mv $DOCKERS_SCRIPT.away $DOCKERS_SCRIPT"
	on root systemctl reboot || true
	await_end_of_boot
	expect "both daemons start after a reboot, before any login" root \
		'for name in tess other; do for try in $(seq 60); do docker -H "unix:///run/user/$(id -u $name)/docker.sock" info >/dev/null && continue 2; sleep 2; done; exit 1; done'
	expect "a container starts under runsc after the reboot" tess setup
	expect "systemd user managers have the controllers for limits" tess \
		'given=$(cat /sys/fs/cgroup/user.slice/user-$UID.slice/user@$UID.service/cgroup.controllers); for name in cpu cpuset io memory pids; do [[ " $given " == *" $name "* ]] || exit 1; done'
	check_limits
	expect "one user's setup is uninstalled" root setup --user other --uninstall --purge --yes
	expect "lingering, unit, runtime and data of that user are gone" root \
		'! ls /var/lib/systemd/linger/other /home/other/.config/systemd/user/docker.service /home/other/.config/docker/daemon.json /home/other/.local/share/docker 2>/dev/null'
	expect "the other user's setup is complete" tess setup --check
	expect "the other user's setup is uninstalled" tess setup --uninstall --yes
	expect "only files that stay on purpose are left" root \
		"! ls $OURS $DELEGATION_FILE /etc/modules-load.d/aibox.conf /var/lib/systemd/linger/tess 2>/dev/null && ! pgrep dockerd"
	expect "the check reports the missing setup again" tess 'setup --check; test $? = 3'
}

# await_end_of_boot: waits until the old system's sshd is gone.
await_end_of_boot() {
	local deadline=$((SECONDS + 120))
	while on root true && ((SECONDS < deadline)); do sleep 1; done
	await_machine
}

main "$@"
