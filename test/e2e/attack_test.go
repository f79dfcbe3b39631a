package e2e

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"aibox/test/testnet"
)

// attacker runs attacks from inside a sandbox: each line of the file is one attack, each line of
// its output a result. It does not know what the attacks mean.
const attacker = `
import base64, concurrent.futures, json, re, socket, sys, threading, time
def head(s):
    data = b""
    while b"\r\n\r\n" not in data:
        more = s.recv(4096)
        if not more: break
        data += more
    return data
def complete(got):
    head, _, body = got[got.rfind(b"HTTP/1.1 "):].partition(b"\r\n\r\n")
    length = re.search(rb"Content-Length: (\d+)", head)
    return length and len(body) >= int(length[1])
def tcp(a):
    got, opened = b"", False
    try:
        with socket.create_connection((a["host"], a["port"]), timeout=4) as s:
            opened = True
            s.settimeout(4)
            for step in a["steps"] or []:
                if step.get("pause"): time.sleep(step["pause"] / 1000)
                if step.get("head"): got += head(s)
                if step.get("send"): s.sendall(base64.b64decode(step["send"]))
            if a["steps"]:
                while len(got) < 8192 and not complete(got):
                    more = s.recv(4096)
                    if not more: break
                    got += more
        return opened, got, ""
    except Exception as e:
        return opened, got, repr(e)
def udp(a):
    family = socket.AF_INET6 if ":" in a["host"] else socket.AF_INET
    got = b""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as s:
            s.settimeout(2)
            s.connect((a["host"], a["port"]))
            for step in a["steps"]: s.send(base64.b64decode(step["send"]))
            got = s.recv(4096)
        return bool(got), got, ""
    except Exception as e:
        return bool(got), got, repr(e)
lock = threading.Lock()
def play(line):
    a, begin = json.loads(line), time.monotonic()
    opened, got, error = (udp if a.get("udp") else tcp)(a)
    with lock:
        print(json.dumps({"name": a["name"], "opened": opened, "got": base64.b64encode(got).decode(), "error": error, "ms": int((time.monotonic() - begin) * 1000)}), flush=True)
with concurrent.futures.ThreadPoolExecutor(24) as pool:
    for line in open(sys.argv[1]):
        pool.submit(play, line)
        time.sleep(0.02) # faster, and the log counts some refusals instead of recording them
`

// attack is one attack of a sandbox on its guard.
type attack struct {
	name  string
	udp   bool
	host  string
	port  int
	steps []move
	want  string // see verdict
}

// move is one step of a connection, its parts in this order.
type move struct {
	Pause int    `json:"pause,omitempty"` // milliseconds
	Head  bool   `json:"head,omitempty"`  // read up to an empty line
	Send  []byte `json:"send,omitempty"`
}

// What an attack has to lead to: one of these, or else a refusal. Any other text is a part of the reason that the refusal of
// a request has, in its response and in the audit log. With "closed: " before it, the
// proxy has answered 200 and then closed the tunnel for that reason, which only the log has.
const (
	unreachable = "unreachable" // no connection, no answer, no packet
	reaches     = "reaches"     // it is no attack: it has to reach the host
	nothing     = "nothing"     // no host is reached; the proxy may wait for more
	onlyLog     = "closed: "
)

// played is what the attacker saw.
type played struct {
	Name   string
	Opened bool
	Got    []byte
	Error  string
	Ms     int
}

// canary is a host that records what reaches it.
type canary struct {
	*testnet.Host
	mu       sync.Mutex
	received map[net.Conn][]byte
	count    int
}

// newCanary makes a host whose ports accept everything and answer with a canary.
func newCanary(t testing.TB, ports ...int) *canary {
	t.Helper()
	c := &canary{Host: testnet.NewHost(t, ports...), received: map[net.Conn][]byte{}}
	for _, port := range ports {
		go c.serve(c.Listener(port))
	}
	return c
}

func (c *canary) serve(listener net.Listener) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		c.mu.Lock()
		c.count++
		c.mu.Unlock()
		go c.answer(conn)
	}
}

// answer answers the first bytes, as HTTP if they are that.
func (c *canary) answer(conn net.Conn) {
	defer conn.Close()
	buffer, first := make([]byte, 32<<10), true
	for {
		_ = conn.SetReadDeadline(time.Now().Add(3 * time.Second))
		n, err := conn.Read(buffer)
		c.mu.Lock()
		c.received[conn] = append(c.received[conn], buffer[:n]...)
		c.mu.Unlock()
		if err != nil {
			return
		}
		if first {
			first = false
			_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 7\r\n\r\ncanary\n")
		}
	}
}

// connections returns how many there were.
func (c *canary) connections() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.count
}

// has reports whether a connection has received data.
func (c *canary) has(data []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, all := range c.received {
		if bytes.Contains(all, data) {
			return true
		}
	}
	return false
}

// marker is what an attack sends and no other does.
func (a attack) marker() []byte {
	sum := sha256.Sum256([]byte(a.name))
	return sum[:]
}

// mark is marker as text.
func mark(name string) string { return hex.EncodeToString(attack{name: name}.marker()) }

// attacks runs all attacks in one sandbox and compares their results with the expected ones.
// Of the canaries, only attacks that expect reaches may reach hosts; no attack may reach silent.
func (m *machine) attacks(all []attack, hosts, silent []*canary, args ...string) {
	t := m.t
	t.Helper()
	var lines strings.Builder
	for _, a := range all {
		encoded, err := json.Marshal(map[string]any{"name": a.name, "udp": a.udp, "host": a.host, "port": a.port, "steps": a.steps})
		if err != nil {
			t.Fatal(err)
		}
		lines.Write(append(encoded, '\n'))
	}
	repo := m.repo("attack", map[string]string{"attack.py": attacker, "attacks": lines.String()})
	args = append(append([]string{"run", "shell", "--repo", repo, "--inference", m.script("[[step]]\nsay = \"hello\"\n")}, args...), "--", "python3", "attack.py", "attacks")
	o := m.aibox(0, args...)
	results := map[string]played{}
	for line := range strings.Lines(o.stdout) {
		var r played
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		results[r.Name] = r
	}
	stored := m.stored()
	id := stored[len(stored)-1].ID
	reasons := m.refusals(string(id))
	for _, a := range all {
		r, ok := results[a.name]
		if !ok {
			t.Errorf("%s: it has no result: %s", a.name, o)
			continue
		}
		received := slices.ContainsFunc(hosts, func(c *canary) bool { return c.has(a.marker()) || c.has([]byte(mark(a.name))) })
		if problem := a.judge(r, received, reasons); problem != "" {
			t.Errorf("%s: %s\nopened %t, error %s, after %d ms: %.1000q", a.name, problem, r.Opened, r.Error, r.Ms, r.Got)
		}
	}
	for _, c := range silent {
		if n := c.connections(); n > 0 {
			t.Errorf("%s was reached %d times", c.Name, n)
		}
	}
}

// judge returns the difference between a result and the expected one, or "".
func (a attack) judge(r played, received bool, reasons []string) string {
	answered := bytes.Contains(r.Got, []byte("canary\n"))
	if a.want != reaches && (received || answered) {
		return "it reached the host"
	}
	why, tunnel := strings.CutPrefix(a.want, onlyLog)
	status, _, _ := strings.Cut(string(r.Got), "\r\n")
	switch {
	case a.want == reaches:
		if !answered {
			return "it did not reach the host"
		}
	case a.want == nothing:
	case a.want == unreachable:
		if len(r.Got) > 0 || r.Opened {
			return "it was reached"
		}
	case a.want == notResolved:
		if !isRefusedLookup(r.Got) {
			return "it was not refused"
		}
	case !slices.ContainsFunc(reasons, func(reason string) bool { return strings.Contains(reason, why) }):
		return fmt.Sprintf("the log has no refusal because %q", why)
	case tunnel:
		if !strings.HasPrefix(status, "HTTP/1.1 200 ") {
			return "the tunnel was not opened"
		}
	case !strings.HasPrefix(status, "HTTP/1.1 4") && !strings.HasPrefix(status, "HTTP/1.1 5"):
		// A tunnel can end in the refusal of a request inside.
		if !strings.Contains(string(r.Got), "\r\n\r\nHTTP/1.1 4") && !strings.Contains(string(r.Got), "\r\n\r\nHTTP/1.1 5") {
			return "it was not refused"
		}
		fallthrough
	default:
		if !strings.Contains(string(r.Got), why) {
			return fmt.Sprintf("the refusal does not say %q", why)
		}
	}
	return ""
}

// refusals are the reasons of the refusals in a session's log.
func (m *machine) refusals(id string) []string {
	m.t.Helper()
	var reasons []string
	for line := range strings.Lines(m.aibox(0, "netguard", "log", id, "--json").stdout) {
		var refused struct{ Reason string }
		if err := json.Unmarshal([]byte(line), &refused); err != nil {
			m.t.Fatalf("%q: %v", line, err)
		}
		reasons = append(reasons, refused.Reason)
	}
	return reasons
}

// The parts of attacks on the proxy.

const (
	guardAddress = "10.200.200.1"
	proxyPort    = 3128
)

// sends is an attack that sends text to the proxy. MARK is replaced.
func sends(name, text, want string) attack {
	text = strings.ReplaceAll(text, "MARK", mark(name))
	return attack{name: name, host: guardAddress, port: proxyPort, steps: []move{{Send: []byte(text)}}, want: want}
}

// tunnels is an attack that opens a tunnel and sends pieces through it.
func tunnels(name, target, want string, pieces ...[]byte) attack {
	steps := []move{{Send: []byte("CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n")}}
	for i, piece := range pieces {
		piece = bytes.ReplaceAll(piece, []byte("MARK"), []byte(mark(name)))
		steps = append(steps, move{Head: i == 0, Pause: 5 * min(i, 1), Send: piece})
	}
	return attack{name: name, host: guardAddress, port: proxyPort, steps: steps, want: want}
}

// direct is an attempt to reach an address without the proxy.
func direct(host string, port int) attack {
	return attack{name: fmt.Sprintf("tcp %s %d", host, port), host: host, port: port, want: unreachable}
}

// datagram is a direct attempt by UDP.
func datagram(name, host string, port int, data []byte) attack {
	return attack{name: fmt.Sprintf("udp %s %d: %s", host, port, name), udp: true, host: host, port: port, steps: []move{{Send: data}}, want: unreachable}
}

// extension is one of a ClientHello (RFC 8446, section 4.2).
type extension struct {
	kind uint16
	data []byte
}

// serverName is the extension server_name with names.
func serverName(names ...string) extension {
	var list []byte
	for _, name := range names {
		list = append(list, 0)
		list = append(binary.BigEndian.AppendUint16(list, uint16(len(name))), name...)
	}
	return extension{0, append(binary.BigEndian.AppendUint16(nil, uint16(len(list))), list...)}
}

// clientHello is the first message of TLS, whose random bytes are the marker of the attack
// with this name, in records of at most size bytes.
func clientHello(name string, size int, extensions ...extension) []byte {
	var all []byte
	for _, e := range append(extensions, extension{0x000a, []byte{0, 2, 0, 29}}, extension{0x002b, []byte{2, 3, 4}}) {
		all = binary.BigEndian.AppendUint16(all, e.kind)
		all = append(binary.BigEndian.AppendUint16(all, uint16(len(e.data))), e.data...)
	}
	body := append([]byte{3, 3}, attack{name: name}.marker()...)
	body = append(body, 0, 0, 4, 0x13, 1, 0xc0, 0x2f, 1, 0)
	body = append(binary.BigEndian.AppendUint16(body, uint16(len(all))), all...)
	message := append([]byte{1, 0, byte(len(body) >> 8), byte(len(body))}, body...)
	var records []byte
	for part := range slices.Chunk(message, size) {
		records = binary.BigEndian.AppendUint16(append(records, 22, 3, 1), uint16(len(part)))
		records = append(records, part...)
	}
	return records
}

// query is a DNS query.
func query(name string, kind uint16) []byte {
	packet := []byte{0xab, 0xcd, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0}
	for label := range strings.SplitSeq(name, ".") {
		packet = append(append(packet, byte(len(label))), label...)
	}
	packet = binary.BigEndian.AppendUint16(append(packet, 0), kind)
	return binary.BigEndian.AppendUint16(packet, 1) // class IN
}
