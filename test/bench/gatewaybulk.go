package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"aibox/netguard"
	"aibox/netguard/rules"
)

// downloadAnswers fetches long answers through the gateway, straight from a model server and
// through a relay, in turns, and prints the way and the seconds of each.
const downloadAnswers = `
import http.client, sys, time
address, gateway, server, relay, key, pairs = sys.argv[1:]
ports = {"gateway": int(gateway), "direct": int(server), "relay": int(relay)}
block = bytearray(1 << 20)
def fetch(way):
    c = http.client.HTTPConnection(address, ports[way])
    c.request("POST", "/v1/chat/completions", b'{"model":"m"}',
              {"Authorization": "Bearer " + key, "Content-Type": "application/json"})
    r, begin = c.getresponse(), time.monotonic()
    if r.status != 200:
        sys.exit(f"the {way} answered {r.status}")
    while r.readinto(block):
        pass
    print(way, time.monotonic() - begin, flush=True)
    c.close()
for i in range(int(pairs)):
    for way in ("gateway", "direct", "relay") if i % 2 == 0 else ("relay", "direct", "gateway"):
        fetch(way)
`

// gatewayBulk compares a long answer through the gateway with the same answer straight from
// the model server, both by one sandbox on sockets of its session. gVisor's network stack
// limits both, so that the rest is what the gateway costs. Most of that is a second TCP
// connection on the same processors, so the note has the rate of a relay that reads nothing.
func gatewayBulk(ctx context.Context, b *bench) (_ []Row, err error) {
	size := int64(1 << 30)
	if b.quick {
		size = 64 << 20
	}
	upstream, stop, err := serveLong("127.0.0.1", size)
	if err != nil {
		return nil, err
	}
	defer stop()
	proxy, err := newGateway(upstream)
	if err != nil {
		return nil, err
	}
	network, sockets, release, err := b.guardedNetwork(ctx, rules.GuardRequest{TCP: []int{netguard.PortProxy, netguard.PortGateway, netguard.PortSandboxes}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	go func() { _ = proxy.Serve(sockets.TCP[netguard.PortGateway]) }()
	defer proxy.Close()
	direct := &http.Server{Handler: longAnswer(size), ReadHeaderTimeout: time.Minute}
	go func() { _ = direct.Serve(sockets.TCP[netguard.PortProxy]) }()
	defer direct.Close()
	go relayTo(sockets.TCP[netguard.PortSandboxes], upstream)

	out, err := b.quiet(ctx, "docker", "run", "--rm", "--runtime=runsc", "--network="+network, b.image, "python3", "-c", downloadAnswers,
		netguard.Address().String(), strconv.Itoa(netguard.PortGateway), strconv.Itoa(netguard.PortProxy), strconv.Itoa(netguard.PortSandboxes), serverKey, strconv.Itoa(b.pairs))
	if err != nil {
		return nil, err
	}
	rates, err := readRates(out, size, b.pairs, "gateway", "direct", "relay")
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("gateway, %d MB into a sandbox", size>>20)
	row := versus(what, "the same sandbox straight from the model server, by a socket of its session", "MB/s", rates["gateway"], rates["direct"], target{least: 0.9})
	row.Note = "through a relay that reads nothing " + number(median(rates["relay"])) + " MB/s"
	return []Row{row}, nil
}

// uploadRequests sends long requests to a model through the gateway and to a plain server, in
// turns, each time on one connection, and prints the way and the seconds of each.
const uploadRequests = `
import http.client, sys, time
address, gateway, sink, key, length, requests, pairs = sys.argv[1:]
ports = {"gateway": int(gateway), "direct": int(sink)}
body = b'{"model":"m","messages":[{"role":"user","content":"' + b"word " * (int(length) // 5) + b'"}]}'
def send(way):
    c, begin = http.client.HTTPConnection(address, ports[way]), time.monotonic()
    for _ in range(int(requests)):
        c.request("POST", "/v1/chat/completions", body, {"Authorization": "Bearer " + key, "Content-Type": "application/json"})
        r = c.getresponse()
        if r.status != 200:
            sys.exit(f"the {way} answered {r.status}: {r.read()}")
        r.read()
    print(way, time.monotonic() - begin, flush=True)
    c.close()
for i in range(int(pairs)):
    for way in ("gateway", "direct") if i % 2 == 0 else ("direct", "gateway"):
        send(way)
`

// gatewayRequests compares long requests through the gateway with the same requests to a
// server that reads and forgets them, both by one sandbox on sockets of its session.
func gatewayRequests(ctx context.Context, b *bench) (_ []Row, err error) {
	length, requests := int64(1<<20), int64(1<<10)
	if b.quick {
		requests = 32
	}
	upstream, stop, err := serveLong("127.0.0.1", 1<<10)
	if err != nil {
		return nil, err
	}
	defer stop()
	proxy, err := newGateway(upstream)
	if err != nil {
		return nil, err
	}
	network, sockets, release, err := b.guardedNetwork(ctx, rules.GuardRequest{TCP: []int{netguard.PortProxy, netguard.PortGateway}})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	go func() { _ = proxy.Serve(sockets.TCP[netguard.PortGateway]) }()
	defer proxy.Close()
	sink := &http.Server{Handler: longAnswer(1 << 10), ReadHeaderTimeout: time.Minute}
	go func() { _ = sink.Serve(sockets.TCP[netguard.PortProxy]) }()
	defer sink.Close()

	out, err := b.quiet(ctx, "docker", "run", "--rm", "--runtime=runsc", "--network="+network, b.image, "python3", "-c", uploadRequests,
		netguard.Address().String(), strconv.Itoa(netguard.PortGateway), strconv.Itoa(netguard.PortProxy), serverKey,
		strconv.FormatInt(length, 10), strconv.FormatInt(requests, 10), strconv.Itoa(b.pairs))
	if err != nil {
		return nil, err
	}
	rates, err := readRates(out, length*requests, b.pairs, "gateway", "direct")
	if err != nil {
		return nil, err
	}
	what := fmt.Sprintf("gateway, %d MB out of a sandbox in requests of %d MB", length*requests>>20, length>>20)
	return []Row{versus(what, "the same sandbox to a server that forgets them, by a socket of its session", "MB/s", rates["gateway"], rates["direct"], target{least: 0.9})}, nil
}

// relayTo passes each connection on to the server at base. The kernel moves the bytes.
func relayTo(listener net.Listener, base string) {
	server, err := url.Parse(base)
	if err != nil {
		return
	}
	for {
		client, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer client.Close()
			conn, err := net.Dial("tcp", server.Host)
			if err != nil {
				return
			}
			defer conn.Close()
			go func() { _, _ = io.Copy(conn, client) }()
			_, _ = io.Copy(client, conn)
		}()
	}
}

// readRates reads lines of a way and its seconds for size bytes, and returns megabytes per
// second. Each of the ways must be there once for each pair.
func readRates(out string, size int64, pairs int, ways ...string) (map[string][]float64, error) {
	rates := map[string][]float64{}
	for line := range strings.Lines(out) {
		var way string
		var seconds float64
		if _, err := fmt.Sscanf(line, "%s %g", &way, &seconds); err != nil {
			return nil, fmt.Errorf("the sandbox printed %q: %w", line, err)
		}
		rates[way] = append(rates[way], float64(size)/1e6/seconds)
	}
	for _, way := range ways {
		if len(rates[way]) != pairs {
			return nil, fmt.Errorf("the sandbox printed %q", lastLines(out))
		}
	}
	return rates, nil
}
