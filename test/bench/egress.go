package main

import (
	"bufio"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/rogpeppe/go-internal/txtar"

	"aibox/audit"
	"aibox/netguard"
	"aibox/netguard/egress"
)

// egressCommand makes this program an egress proxy that leads the names of the benchmark to
// servers on loopback: its argument is HTTP,TUNNEL,BULK, the addresses of three servers. It
// inherits its listener as descriptor 3, and records each request in an audit log, as that
// of a session does.
const egressCommand = "serve-egress"

// The destinations of the benchmark, and what they are for.
const (
	plainHost  = "plain.bench.example:80"
	tunnelHost = "tunnel.bench.example:443"
	bulkHost   = "tunnel.bench.example:8443"
)

// serveEgress runs until its standard input ends.
func serveEgress(ctx context.Context, servers string) error {
	policy := netguard.Policy{Mode: netguard.Allowlist}
	for _, entry := range []string{plainHost, tunnelHost, bulkHost} {
		pattern, err := netguard.ParseAllow(entry)
		if err != nil {
			return err
		}
		policy.Allow = append(policy.Allow, netguard.Rule{Pattern: pattern, Source: "--allow"})
	}
	routes := strings.Split(servers, ",")
	if len(routes) != 3 {
		return errors.New("want three servers")
	}
	scratch, err := os.MkdirTemp("", "aibox-bench-egress-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch)
	log, err := audit.Open(filepath.Join(scratch, "audit.jsonl"))
	if err != nil {
		return err
	}
	defer log.Close()
	var dialer net.Dialer
	proxy := egress.New(egress.Config{
		Policy:   netguard.NewMatcher(policy),
		Resolver: benchNames{},
		Dial: func(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", routes[map[uint16]int{80: 0, 443: 1, 8443: 2}[to.Port()]])
		},
		Record: func(e egress.Event) string {
			data := audit.Egress{Host: e.Host, Port: int(e.Destination.Port), Method: e.Method, Path: e.Path, Rule: e.Rule, Address: e.Address.String()}
			event, err := log.Append(eventTypes[e.Kind], data)
			if err != nil {
				fatal(err)
			}
			return fmt.Sprint("bench/", event.Seq)
		},
	})
	listener, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	ctx, cancel := context.WithCancel(ctx)
	go func() { _, _ = io.Copy(io.Discard, os.Stdin); cancel() }()
	return proxy.Serve(ctx, listener)
}

// eventTypes are the types of the proxy's events in the audit log.
var eventTypes = map[egress.EventKind]audit.Type{
	egress.Allowed: audit.EgressAllowed, egress.Refused: audit.EgressRefused, egress.Closed: audit.EgressClosed,
}

// startEgress starts serveEgress in a process of its own. The caller closes the listener.
func startEgress(ctx context.Context, listener net.Listener, servers string) (*child, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	file, err := listener.(*net.TCPListener).File()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	cmd := exec.CommandContext(ctx, exe, egressCommand, servers)
	cmd.ExtraFiles = []*os.File{file}
	return startChild(cmd, "the proxy")
}

// benchNames resolves every name to the same public address.
type benchNames struct{}

func (benchNames) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("9.9.9.9")}, nil
}

// egressProxy compares the proxy with a minimal one, each in a process of its own, with the
// same client and servers.
func egressProxy(ctx context.Context, b *bench) (_ []Row, err error) {
	plain, tunnels, bulk, stop, err := egressServers()
	if err != nil {
		return nil, err
	}
	defer stop()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ours, err := startEgress(ctx, listener, plain+","+tunnels+","+bulk)
	if err = errors.Join(err, listener.Close()); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ours.stop()) }()
	other, remove, err := buildGoproxy(ctx)
	if err != nil {
		return nil, err
	}
	defer remove()
	theirs, err := startChild(exec.CommandContext(ctx, other), "the proxy")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, theirs.stop()) }()

	tunnelCount, requests, size := 500, 4000, int64(1<<30)
	if b.quick {
		tunnelCount, requests, size = 50, 200, 64<<20
	}
	setUp := func(proxy, to string) func(context.Context) (time.Duration, error) {
		return func(context.Context) (time.Duration, error) { return timeTunnels(proxy, to, tunnelCount) }
	}
	a, c, err := duel(ctx, b.pairs, setUp(ours.address, tunnelHost), setUp(theirs.address, tunnels))
	if err != nil {
		return nil, err
	}
	rows := []Row{versus("egress proxy, tunnels per second", "a minimal goproxy", "/s", perSecond(a, tunnelCount), perSecond(c, tunnelCount), target{least: 1})}
	get := func(proxy, to string) func(context.Context) (time.Duration, error) {
		return func(context.Context) (time.Duration, error) { return timeRequests(proxy, to, requests) }
	}
	if a, c, err = duel(ctx, b.pairs, get(ours.address, plainHost), get(theirs.address, plain)); err != nil {
		return nil, err
	}
	rows = append(rows, versus("egress proxy, plain requests per second", "a minimal goproxy", "/s", perSecond(a, requests), perSecond(c, requests), target{least: 1}))
	fetch := func(proxy, to string) func(context.Context) (time.Duration, error) {
		return func(context.Context) (time.Duration, error) { return timeBulk(proxy, to, size) }
	}
	megabytes := int(size / 1e6)
	var direct []float64
	if a, c, err = duel(ctx, b.pairs, fetch(ours.address, bulkHost), func(ctx context.Context) (time.Duration, error) {
		if err := measure(ctx, &direct, fetch("", bulk)); err != nil {
			return 0, err
		}
		return fetch(theirs.address, bulk)(ctx)
	}); err != nil {
		return nil, err
	}
	row := versus(fmt.Sprintf("egress proxy, %d MB through a tunnel over loopback", size>>20), "a minimal goproxy", "MB/s", perSecond(a, megabytes), perSecond(c, megabytes), target{least: 1})
	row.Note = "without a proxy " + number(median(perSecond(direct, megabytes))) + " MB/s"
	return append(rows, row), nil
}

// goproxySource is the other proxy, a module of its own.
//
//go:embed goproxy.txtar
var goproxySource []byte

// buildGoproxy builds the other proxy and returns its path.
func buildGoproxy(ctx context.Context) (path string, remove func(), err error) {
	dir, err := os.MkdirTemp("", "aibox-bench-goproxy-")
	if err != nil {
		return "", nil, err
	}
	remove = func() { _ = os.RemoveAll(dir) }
	path = filepath.Join(dir, "goproxybench")
	build := exec.CommandContext(ctx, "go", "build", "-buildvcs=false", "-o", path, ".")
	build.Dir, build.Env, build.Stderr = dir, append(os.Environ(), "GOWORK=off"), os.Stderr
	if err = errors.Join(txtar.Write(txtar.Parse(goproxySource), dir), build.Run()); err != nil {
		remove()
	}
	return path, remove, err
}

// perSecond turns milliseconds for n things into things per second.
func perSecond(millis []float64, n int) (rates []float64) {
	for _, m := range millis {
		rates = append(rates, float64(n)/m*1e3)
	}
	return rates
}

// egressServers starts an HTTP server, a server that answers a ClientHello with one byte, and one
// that answers it with an endless stream.
func egressServers() (plain, tunnels, bulk string, stop func(), err error) {
	var listeners []net.Listener
	stop = func() {
		for _, l := range listeners {
			_ = l.Close()
		}
	}
	for range 3 {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			stop()
			return "", "", "", nil, err
		}
		listeners = append(listeners, listener)
	}
	body := strings.Repeat("x", 1<<10)
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })}
	go func() { _ = server.Serve(listeners[0]) }()
	go accept(listeners[1], func(conn net.Conn) { _, _ = conn.Write([]byte{1}) })
	go accept(listeners[2], sendEndlessly)
	return listeners[0].Addr().String(), listeners[1].Addr().String(), listeners[2].Addr().String(), stop, nil
}

func sendEndlessly(conn net.Conn) {
	for block := make([]byte, 1<<20); ; {
		if _, err := conn.Write(block); err != nil {
			return
		}
	}
}

// accept calls serve for each connection that has sent something.
func accept(listener net.Listener, serve func(net.Conn)) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			if _, err := conn.Read(make([]byte, 4096)); err == nil {
				serve(conn)
			}
		}()
	}
}

// openTunnel connects to a server, through a proxy unless that is "", and returns when the
// first byte of the server's answer has come.
func openTunnel(proxy, to string) (net.Conn, error) {
	address := proxy
	if proxy == "" {
		address = to
	}
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	if proxy != "" {
		fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", to, to)
		response, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: http.MethodConnect})
		if err != nil || response.StatusCode != http.StatusOK {
			return nil, errors.Join(fmt.Errorf("the proxy refused %s", to), err, conn.Close())
		}
	}
	if _, err := conn.Write(benchHello); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	if _, err := io.ReadFull(conn, make([]byte, 1)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// benchHello is a ClientHello for tunnel.bench.example.
var benchHello = makeHello("tunnel.bench.example")

func makeHello(name string) []byte {
	prefixed := func(size int, data []byte) []byte {
		length := []byte{byte(len(data) >> 16), byte(len(data) >> 8), byte(len(data))}
		return append(length[3-size:], data...)
	}
	list := prefixed(2, append([]byte{0}, prefixed(2, []byte(name))...))
	extensions := append([]byte{0, 0}, prefixed(2, list)...)
	body := append([]byte{3, 3}, make([]byte, 32+1)...)
	body = append(body, 0, 2, 0x13, 1, 1, 0)
	body = append(body, prefixed(2, extensions)...)
	return append([]byte{22, 3, 1}, prefixed(2, append([]byte{1}, prefixed(3, body)...))...)
}

func timeTunnels(proxy, to string, n int) (time.Duration, error) {
	begin := time.Now()
	for range n {
		conn, err := openTunnel(proxy, to)
		if err != nil {
			return 0, err
		}
		_ = conn.Close()
	}
	return time.Since(begin), nil
}

// timeRequests sends n requests on four connections.
func timeRequests(proxy, to string, n int) (time.Duration, error) {
	begin := time.Now()
	errs := make([]error, 4)
	var wait sync.WaitGroup
	for i := range errs {
		wait.Go(func() { errs[i] = sendRequests(proxy, to, n/len(errs)) })
	}
	wait.Wait()
	return time.Since(begin), errors.Join(errs...)
}

func sendRequests(proxy, to string, n int) error {
	conn, err := net.Dial("tcp", proxy)
	if err != nil {
		return err
	}
	defer conn.Close()
	to = strings.TrimSuffix(to, ":80")
	request := []byte("GET http://" + to + "/ HTTP/1.1\r\nHost: " + to + "\r\nUser-Agent: bench\r\nAccept: */*\r\n\r\n")
	reader := bufio.NewReader(conn)
	for range n {
		if _, err := conn.Write(request); err != nil {
			return err
		}
		response, err := http.ReadResponse(reader, nil)
		if err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, response.Body)
		if err != nil || response.StatusCode != http.StatusOK {
			return errors.Join(fmt.Errorf("the proxy answered %s", response.Status), err)
		}
	}
	return nil
}

func timeBulk(proxy, to string, size int64) (time.Duration, error) {
	conn, err := openTunnel(proxy, to)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	begin := time.Now()
	block := make([]byte, 256<<10)
	for left := size; left > 0; {
		n, err := conn.Read(block)
		if err != nil {
			return 0, err
		}
		left -= int64(n)
	}
	return time.Since(begin), nil
}
