#!/usr/bin/env bash
# Gives this machine hosts for tests of the egress proxy, until the next boot. The proxy never
# connects to loopback or private addresses, so the tests need addresses that look public:
#
#   11.11.0.0/16         is routed to this machine itself, and belongs to no interface: the proxy refuses the networks of interfaces
#   nN.egress.test       is 11.11.0.N, for N from 0 to 255; other names below are special
#   nN.egress-test.cursor.sh is the same address, under a name that aibox knows as one of a
#                        vendor's cloud; the vendor has no such name
#   ports from 0         are open to unprivileged users, since tests serve 80 and 443
#
# It needs root, but to find out that nothing is left to do.
set -euo pipefail

readonly net=11.11.0.0/16
marker='# aibox: hosts of the egress tests'
vendor='# aibox: hosts of the egress tests that pose as those of a vendor'

ready() {
	grep -qxF "$marker" /etc/hosts && grep -qxF "$vendor" /etc/hosts && (($(</proc/sys/net/ipv4/ip_unprivileged_port_start) == 0)) &&
		ip route show table local "$net" 2>/dev/null | grep -q .
}

ready && exit
((EUID == 0)) || exec sudo "$0"
exec 9>/run/aibox-testnet.lock
flock 9 # two runs can begin at once
command -v ip >/dev/null || { apt-get update -qq && apt-get install -y -qq --no-install-recommends iproute2; } >/dev/null
ip route show table local "$net" | grep -q . || ip route add local "$net" dev lo
echo 0 >/proc/sys/net/ipv4/ip_unprivileged_port_start
# The marker is behind its names, and all are added at once, so that no part of them counts as all.
grep -qxF "$marker" /etc/hosts || {
	hosts=$(
		for n in {0..255}; do echo "11.11.0.$n n$n.egress.test"; done
		echo "127.0.0.1 loopback.egress.test"
		echo "10.1.2.3 private.egress.test"
		echo "169.254.169.254 metadata.egress.test"
		echo "100.64.0.1 shared.egress.test"
	)
	echo "$hosts"$'\n'"$marker" >>/etc/hosts
}
grep -qxF "$vendor" /etc/hosts || {
	hosts=$(for n in {0..255}; do echo "11.11.0.$n n$n.egress-test.cursor.sh"; done)
	echo "$hosts"$'\n'"$vendor" >>/etc/hosts
}
