package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"aibox/internal/paths"
	"aibox/netguard"
	"aibox/netguard/rules"
	"aibox/runtime/docker"
)

// download fetches bytes in pairs, through the proxy and straight from a server, and prints
// the way and the seconds of each.
const download = `
import socket, sys, time
address, proxy, server, to, hello, size, pairs = sys.argv[1:]
block = bytearray(1 << 20)
def fetch(way):
    s = socket.create_connection((address, int(proxy if way == "proxy" else server)))
    if way == "proxy":
        s.sendall(f"CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n\r\n".encode())
        answer = s.recv(4096)
        if b" 200 " not in answer:
            sys.exit(f"the proxy answered {answer}")
    s.sendall(bytes.fromhex(hello))
    s.recv(1)
    left, begin = int(size), time.monotonic()
    while left > 0:
        n = s.recv_into(block)
        if n == 0:
            sys.exit("the connection has ended")
        left -= n
    print(way, time.monotonic() - begin, flush=True)
    s.close()
for i in range(int(pairs)):
    for way in ("proxy", "direct") if i % 2 == 0 else ("direct", "proxy"):
        fetch(way)
`

// sandboxBulk compares a download through the proxy with one straight from a server, both by
// the same sandbox on sockets of its session. That is what the proxy costs a user, whose
// programs are in a sandbox: gVisor's network stack limits both ways. Over loopback without a
// sandbox (see egressProxy) a byte passes no other limit than the processors, so that a proxy
// can only be compared with another proxy there.
func sandboxBulk(ctx context.Context, b *bench) (_ []Row, err error) {
	size := int64(256 << 20)
	if b.quick {
		size = 32 << 20
	}
	plain, tunnels, bulk, stop, err := egressServers()
	if err != nil {
		return nil, err
	}
	defer stop()
	network, sockets, release, err := b.guardedNetwork(ctx, rules.GuardRequest{TCP: []int{netguard.PortProxy, netguard.PortGateway}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	proxy, err := startEgress(ctx, sockets.TCP[netguard.PortProxy], plain+","+tunnels+","+bulk)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, proxy.stop()) }()
	go accept(sockets.TCP[netguard.PortGateway], sendEndlessly)

	out, err := b.quiet(ctx, "docker", "run", "--rm", "--runtime=runsc", "--network="+network, b.image, "python3", "-c", download,
		netguard.Address().String(), strconv.Itoa(netguard.PortProxy), strconv.Itoa(netguard.PortGateway), bulkHost,
		hex.EncodeToString(benchHello), strconv.FormatInt(size, 10), strconv.Itoa(b.pairs))
	if err != nil {
		return nil, err
	}
	rates, err := readRates(out, size, b.pairs, "proxy", "direct")
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("egress proxy, %d MB into a sandbox through a tunnel", size>>20)
	return []Row{versus(what, "the same sandbox without a proxy, by a socket of its session", "MB/s", rates["proxy"], rates["direct"], target{least: 0.85})}, nil
}

// guardedNetwork returns the name of a network for one sandbox, and sockets for it, as a
// session has them. release gives back both.
func (b *bench) guardedNetwork(ctx context.Context, ports rules.GuardRequest) (name string, _ *rules.Sockets, release func() error, err error) {
	dirs, err := paths.Default()
	if err != nil {
		return "", nil, nil, err
	}
	backend, err := docker.Open(ctx, docker.Options{Leases: dirs.Leases()})
	if err != nil {
		return "", nil, nil, err
	}
	info, err := backend.Info(ctx)
	if err != nil {
		return "", nil, nil, err
	}
	network, err := backend.Networks().Acquire(ctx, fmt.Sprintf("bench-%d", time.Now().UnixNano()))
	if err != nil {
		return "", nil, nil, err
	}
	leave := func() error { return backend.Networks().Release(context.WithoutCancel(ctx), network) }
	guard := rules.Client{Exe: b.aibox, Site: rules.Site{PID: info.Site.PID, NetNS: info.Site.NetNS}}
	sockets, err := guard.Guard(ctx, network.Bridge, ports)
	if err != nil {
		return "", nil, nil, errors.Join(err, leave())
	}
	return network.ID, sockets, func() error {
		return errors.Join(sockets.Close(), guard.Release(context.WithoutCancel(ctx), network.Bridge), leave())
	}, nil
}
