package e2e

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// devServers are the servers of a session: HTTP on its loopback and on all addresses, a
// WebSocket that echoes, and a server that speaks first. They start when the file go exists.
const devServers = `
import base64, hashlib, http.server, os, socketserver, threading
class HTTP(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    def __init__(self, *args): super().__init__(*args, directory="/tmp/served")
    def log_message(self, *args): pass
class WebSocket(socketserver.StreamRequestHandler):
    def handle(self):
        key = ""
        while (line := self.rfile.readline().strip()):
            name, _, value = line.decode().partition(": ")
            if name.lower() == "sec-websocket-key": key = value
        accept = base64.b64encode(hashlib.sha1((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").encode()).digest()).decode()
        self.wfile.write(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n" % accept).encode())
        while len(head := self.rfile.read(6)) == 6:
            text = bytes(b ^ head[2 + i % 4] for i, b in enumerate(self.rfile.read(head[1] & 127)))
            self.wfile.write(bytes([head[0], len(text)]) + text)
class Greeter(socketserver.StreamRequestHandler):
    def handle(self):
        self.wfile.write(b"220 ready\n")
        self.rfile.read()
        self.wfile.write(b"221 bye\n")
class Server(socketserver.ThreadingMixIn, socketserver.TCPServer):
    allow_reuse_address, daemon_threads, request_queue_size = True, True, 128
os.mkdir("/tmp/served")
bulk = os.urandom(1 << 20) * 100
open("/tmp/served/bulk", "wb").write(bulk)
open("/tmp/served/index.html", "w").write("hello from the sandbox")
servers = [Server(("127.0.0.1", 3000), HTTP), Server(("0.0.0.0", 3001), HTTP), Server(("127.0.0.1", 3002), WebSocket), Server(("127.0.0.1", 3003), Greeter)]
for s in servers: threading.Thread(target=s.serve_forever).start()
print("serving", hashlib.sha256(bulk).hexdigest(), flush=True)
`

// serving starts a session with devServers, and returns its id and the hash of /bulk.
func (m *machine) serving(repo string) (id, bulk string) {
	m.t.Helper()
	id = m.detached("shell", "--network", "none", "--repo", repo, "--", "python3", "servers.py")
	eventually(m.t, hung, "the servers listen", func() bool {
		_, bulk, _ = strings.Cut(m.aibox(0, "logs", id).stdout, "serving ")
		bulk = strings.TrimSpace(bulk)
		return bulk != ""
	})
	return id, bulk
}

// openPort is a running `aibox open --json`.
type openPort struct {
	*background
	URL, Address string
}

// open opens a port of a session on a free port of this machine, at an address at which no
// other test listens: the number can be another's as soon as it is free.
func (m *machine) open(id string, port int) openPort {
	m.t.Helper()
	b := m.start("open", id, fmt.Sprint(port), "--address", "127.31.0.1", "--local", "0", "--json")
	var line string
	eventually(m.t, hung, "the port is open", func() bool {
		line, _, _ = strings.Cut(b.stdout.String(), "\n")
		return strings.HasSuffix(line, "}")
	})
	opened := openPort{background: b}
	if err := json.Unmarshal([]byte(line), &opened); err != nil || opened.URL != "http://"+opened.Address {
		m.t.Fatalf("the first line is %q: %v", line, err)
	}
	return opened
}

func get(url string) (string, error) {
	response, err := http.Get(url) //nolint:gosec // of this test
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	hash := sha256.New()
	_, err = io.Copy(hash, response.Body)
	return hex.EncodeToString(hash.Sum(nil)), err
}

func TestServersInASandboxAreReachedFromTheHost(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id, bulk := m.serving(m.repo("p", map[string]string{"servers.py": devServers}))
	if out := m.aibox(0, "open", id).stdout; !strings.Contains(out, "3000  127.0.0.1\n") || !strings.Contains(out, "3001  0.0.0.0\n") {
		t.Errorf("the ports are not listed:\n%s", out)
	}
	want := sha256.Sum256([]byte("hello from the sandbox"))
	for _, port := range []int{3000, 3001} {
		opened := m.open(id, port)
		if got, err := get(opened.URL + "/"); got != hex.EncodeToString(want[:]) {
			t.Errorf("port %d: %s, %v", port, got, err)
		}
		var getting sync.WaitGroup
		for range 50 {
			getting.Go(func() {
				if got, err := get(opened.URL + "/?"); got != hex.EncodeToString(want[:]) {
					t.Errorf("one of 50 at once: %s, %v", got, err)
				}
			})
		}
		getting.Wait()
		if port == 3000 {
			begin := time.Now()
			if got, err := get(opened.URL + "/bulk"); got != bulk {
				t.Errorf("100 MB arrive as %s, not %s: %v", got, bulk, err)
			}
			t.Logf("100 MB took %v", time.Since(begin).Round(time.Millisecond))
		}
		opened.interrupt()
	}
	m.webSocketEchoes(id)
	m.greeterEnds(id)
	for _, wrong := range []struct{ args, text string }{
		{"3000 --address 0.0.0.0", "only on this machine's loopback"},
		{"0", "from 1 to 65535"},
		{"http", `"http" is not a port`},
	} {
		if o := m.aibox(2, append([]string{"open", id}, strings.Fields(wrong.args)...)...); !strings.Contains(o.stderr, wrong.text) {
			t.Errorf("%s:\n%s", wrong.args, o)
		}
	}
	m.aibox(0, "stop", id)
	if o := m.aibox(2, "open", id, "3000"); !strings.Contains(o.stderr, "no longer running") {
		t.Errorf("after the end:\n%s", o)
	}
	if log := m.aibox(0, "audit", id, "--kind", "ports").stdout; strings.Count(log, "port.opened") != 4 || strings.Count(log, "port.closed") != 4 || !strings.Contains(log, "bytes up 1048") {
		t.Errorf("the log is\n%s", log)
	}
}

// interrupt closes the port as ctrl-c does.
func (o openPort) interrupt() {
	o.t.Helper()
	_ = o.Process.Signal(syscall.SIGINT)
	<-o.done
	if o.code != 0 {
		o.t.Errorf("after ctrl-c it exits with %d: %s", o.code, o.stderr)
	}
	// The kernel can take some milliseconds to close the sockets of a process that has ended.
	eventually(o.t, hung, o.Address+" is closed", func() bool {
		conn, err := net.Dial("tcp", o.Address)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
}

// dial connects to an open port.
func (o openPort) dial() (net.Conn, *bufio.Reader) {
	o.t.Helper()
	conn, err := net.Dial("tcp", o.Address)
	if err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(func() { conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(hung))
	return conn, bufio.NewReader(conn)
}

func (m *machine) webSocketEchoes(id string) {
	m.t.Helper()
	opened := m.open(id, 3002)
	conn, in := opened.dial()
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", opened.Address)
	response, err := http.ReadResponse(in, nil)
	if err != nil || response.StatusCode != 101 || response.Header.Get("Sec-WebSocket-Accept") != "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" {
		m.t.Fatalf("the upgrade: %+v, %v", response, err)
	}
	for _, text := range []string{"one", "two", "three"} {
		_, _ = conn.Write(append([]byte{0x81, 0x80 | byte(len(text)), 0, 0, 0, 0}, text...)) // a mask of zeros
		frame := make([]byte, 2+len(text))
		if _, err := io.ReadFull(in, frame); err != nil || string(frame[2:]) != text {
			m.t.Errorf("got %q, %v", frame, err)
		}
	}
	opened.interrupt()
	if _, err := in.ReadByte(); err == nil {
		m.t.Error("the WebSocket outlives its port")
	}
}

// greeterEnds talks to a server that speaks first and reads to the end of its input.
func (m *machine) greeterEnds(id string) {
	m.t.Helper()
	opened := m.open(id, 3003)
	conn, in := opened.dial()
	if line, err := in.ReadString('\n'); line != "220 ready\n" {
		m.t.Errorf("got %q, %v", line, err)
	}
	_ = conn.(*net.TCPConn).CloseWrite()
	if rest, err := io.ReadAll(in); string(rest) != "221 bye\n" {
		m.t.Errorf("got %q, %v", rest, err)
	}
	opened.interrupt()
}

func TestOpenPortsEndWithTheirClientSupervisorAndSession(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	repo := m.repo("p", map[string]string{"servers.py": devServers})
	id, _ := m.serving(repo)
	ended := func(in *bufio.Reader, when string) {
		t.Helper()
		if _, err := in.ReadByte(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("a connection is open %s: %v", when, err)
		}
	}
	greeted := func(o openPort) *bufio.Reader {
		t.Helper()
		_, in := o.dial()
		if _, err := in.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
		return in
	}
	killed := m.open(id, 3003)
	in := greeted(killed)
	_ = killed.Process.Kill()
	ended(in, "after kill -9 of its client")
	eventually(t, hung, "the end is in the log", func() bool {
		return strings.Contains(m.aibox(0, "audit", id, "--kind", "port.closed").stdout, "connections 1")
	})
	<-killed.done

	stopped := m.open(id, 3003)
	in = greeted(stopped)
	m.aibox(0, "stop", id)
	ended(in, "after the session's end")
	if <-stopped.done; stopped.code != 0 || !strings.Contains(stopped.stdout.String(), `{"connections":1,"sent":0,"received":10}`) {
		t.Errorf("it ends with %d:\n%s\n%s", stopped.code, stopped.stdout, stopped.stderr)
	}

	id, _ = m.serving(repo)
	orphan := m.open(id, 3003)
	in = greeted(orphan)
	kill(t, m.record(id).State.Supervisor)
	ended(in, "after kill -9 of the supervisor")
	if <-orphan.done; orphan.code != 1 || !strings.Contains(orphan.stderr.String(), "died, so the port is closed") {
		t.Errorf("it ends with %d:\n%s\n%s", orphan.code, orphan.stdout, orphan.stderr)
	}
	m.aibox(0, "ls")
	m.aibox(0, "rm", "--force", id)
}

// intruder connects to the supervisor from inside, all the time: with nothing, as the
// lifeline, with tokens of its own, and by more connections than there is room for.
const intruder = `
import os, socket, threading, http.server, time
threading.Thread(target=http.server.ThreadingHTTPServer(("127.0.0.1", 3000), http.server.SimpleHTTPRequestHandler).serve_forever, daemon=True).start()
begins = [b"", b"\x41\x00\x00\x00\x1a" + b'{"version":4,"kernel":"x"}', os.urandom(32), b"x" * 31]
opened = refused = answered = 0
def attack(n):
    global opened, refused, answered
    held = []
    while True:
        try:
            s = socket.create_connection(("10.200.200.1", 11435), timeout=5)
            opened += 1
            s.sendall(begins[n % len(begins)] or b"")
            held.append(s)
            if len(held) > 20:
                s = held.pop(0)
                if s.recv(100): answered += 1
                s.close()
        except ConnectionRefusedError: refused += 1; time.sleep(0.0005)
        except OSError: pass
for n in range(12): threading.Thread(target=attack, args=(n,), daemon=True).start()
print("attacking", flush=True)
while True:
    time.sleep(0.2)
    open("/workspace/seen", "w").write("%d %d %d" % (opened, refused, answered))
`

// The listener of the lifeline is open again while a port is dialed.
func TestAnAgentCannotPoseAsPID1WhilePortsAreOpened(t *testing.T) {
	t.Parallel()
	m := newMachine(t)
	id := m.detached("shell", "--network", "none", "--repo", m.repo("p", map[string]string{"intruder.py": intruder}), "--", "python3", "intruder.py")
	seen := func() (opened, refused, answered int) {
		data, _ := os.ReadFile(m.record(id).State.Workspace.Path + "/seen")
		_, _ = fmt.Sscan(string(data), &opened, &refused, &answered)
		return opened, refused, answered
	}
	eventually(t, limit, "the attack is on", func() bool { _, refused, _ := seen(); return refused > 100 })
	if opened, _, _ := seen(); opened > 0 {
		t.Errorf("%d connections were made while no port was open", opened)
	}
	port := m.open(id, 3000)
	reached := 0
	for begin := time.Now(); time.Since(begin) < limit; {
		if _, err := get(port.URL + "/intruder.py"); err == nil {
			reached++
		}
		if opened, _, _ := seen(); reached >= 20 && opened > 20 {
			break
		}
	}
	opened, _, answered := seen()
	if reached < 20 || opened <= 20 || answered > 0 {
		t.Errorf("the port was reached %d times, the attack connected %d times and was answered %d times", reached, opened, answered)
	}
	port.interrupt()
	m.aibox(0, "stop", id)
	r := m.record(id)
	if !r.State.Result.refusedTarget("10.200.200.1:11435") || r.State.Result.Fault == nil || r.State.Result.Fault.Kind != "interrupted" {
		t.Errorf("the result is %+v", r.State.Result)
	}
	if log := m.aibox(0, "audit", id, "--denied").stdout; !strings.Contains(log, "aibox did not ask for this connection") {
		t.Errorf("the log is\n%s", log)
	}
}
