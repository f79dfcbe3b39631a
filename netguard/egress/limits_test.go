package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"aibox/netguard"
	"aibox/netguard/egress/egresstest"
)

// flood is a server that sends n bytes and then waits.
func flood(t *testing.T, n int) net.Listener {
	t.Helper()
	return serveEach(t, func(conn net.Conn) {
		piece := make([]byte, 64<<10)
		for sent := 0; sent < n; sent += len(piece) {
			if _, err := conn.Write(piece); err != nil {
				return
			}
		}
		_, _ = io.Copy(io.Discard, conn)
	})
}

func TestBudgetsEndTunnelsExactly(t *testing.T) {
	const limit = 300_000
	for name, budgets := range map[string]netguard.Traffic{
		"download-budget": {Download: limit}, "download-budget-host": {DownloadPerHost: limit},
		"upload-budget": {Upload: limit}, "upload-budget-host": {UploadPerHost: limit},
	} {
		t.Run(name, func(t *testing.T) {
			w, server := tunnelWorld(t, func(c *Config) { c.Budgets = budgets })
			w.Route("a.wild.example.org", 443, flood(t, 10<<20).Addr().String())
			to := "a.wild.example.org"
			if strings.HasPrefix(name, "upload") {
				to = "good.example.org"
			}
			conn := w.connect(to + ":443")
			_, _ = conn.Write(simpleHello(serverNames(to)))
			var got int64
			if to == "good.example.org" {
				_, _ = conn.Write(record(recordApplicationData, []byte{0})) // no ClientHello can follow
				piece := make([]byte, 64<<10)
				for {
					if _, err := conn.Write(piece); err != nil {
						break
					}
				}
			} else {
				got, _ = io.Copy(io.Discard, conn)
			}
			closed := waitFor(t, w, Closed)
			if to == "good.example.org" {
				eventually(t, "too little arrived", func() bool { return len(server.received()) > limit/2 })
				got = int64(len(server.received()))
			}
			if got > limit || got < limit/2 || closed.Code != name {
				t.Errorf("%d bytes passed of a budget of %d, closed for %q", got, limit, closed.Code)
			}
			if cut := waitFor(t, w, Refused); cut.Code != name || cut.Host != to || cut.Hint == "" {
				t.Errorf("the cut is recorded as %+v", cut)
			}
			responses := w.say("CONNECT "+to+":443 HTTP/1.1\r\n\r\n", 1)
			if len(responses) != 1 || responses[0].StatusCode != http.StatusForbidden {
				t.Errorf("after that: %v", responses)
			}
			setting := map[string]string{
				"download-budget": "egress-download", "download-budget-host": "egress-download-host",
				"upload-budget": "egress-upload", "upload-budget-host": "egress-upload-host",
			}[name]
			if events := w.recorded(Refused); len(events) != 2 || !strings.Contains(events[1].Hint, "aibox config set "+setting+" ") || !strings.Contains(responses[0].Status, setting) {
				t.Errorf("what raises the limit is not said: %+v, %q", events, responses[0].Status)
			}
			other := w.say("CONNECT ok.wild.example.org:443 HTTP/1.1\r\n\r\n", 1)
			if perHost := strings.HasSuffix(name, "host"); len(other) != 1 || (other[0].StatusCode == http.StatusOK) != perHost {
				t.Errorf("another host: %v", other)
			}
		})
	}
}

// A wildcard allows any number of names. Those beyond the bound share one budget.
func TestBudgetsHoldForManyHosts(t *testing.T) {
	b := newBudget(netguard.Traffic{UploadPerHost: 10})
	reserve := func(i int) int64 {
		host, err := netguard.ParseHost(fmt.Sprintf("h%d.example.org", i))
		if err != nil {
			t.Fatal(err)
		}
		n, _ := b.reserve(host, up, 6)
		return n
	}
	for i := range maxHosts {
		if n := reserve(i); n != 6 {
			t.Fatalf("host %d has %d bytes left", i, n)
		}
	}
	if first, second, third := reserve(maxHosts), reserve(maxHosts+1), reserve(maxHosts+2); first != 6 || second != 4 || third != 0 {
		t.Errorf("the hosts beyond the bound have %d, %d and %d bytes, not 6, 4 and 0 of one budget", first, second, third)
	}
	if len(b.hosts) != maxHosts+1 {
		t.Errorf("%d hosts are counted", len(b.hosts))
	}
}

func TestBudgetsHoldForPlainRequests(t *testing.T) {
	w := newWorld(t, attackPolicy(t), func(c *Config) { c.Budgets = netguard.Traffic{Upload: 100_000} })
	good := newSite(t, hello)
	w.Route("good.example.org", 80, good.address())
	response, err := w.client().Post("http://good.example.org/", "", strings.NewReader(strings.Repeat("x", 200_000)))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if body, _ := io.ReadAll(response.Body); response.StatusCode != http.StatusForbidden || !strings.Contains(string(body), "upload budget of 98 KiB") {
		t.Errorf("%s %s", response.Status, body)
	}
	if closed := waitFor(t, w, Closed); closed.Up < 100_000 || closed.Up > 300_000 {
		t.Errorf("%d bytes recorded", closed.Up)
	}
	if w.code() != "upload-budget" {
		t.Errorf("a request that got an answer is recorded as %s", w.code())
	}
}

func TestDownloadBudgetsHoldForPlainRequests(t *testing.T) {
	const limit = 100_000
	for name, budgets := range map[string]netguard.Traffic{"download-budget": {Download: limit}, "download-budget-host": {DownloadPerHost: limit}} {
		w := newWorld(t, attackPolicy(t), func(c *Config) { c.Budgets = budgets })
		good := newSite(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 3*limit)) })
		w.Route("good.example.org", 80, good.address())
		get := func() (status, size int) {
			response, err := w.client().Get("http://good.example.org/")
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			body, _ := io.ReadAll(response.Body)
			return response.StatusCode, len(body)
		}
		status, size := get()
		if closed := waitFor(t, w, Closed); status != http.StatusOK || size > limit || size < limit/2 || closed.Code != name {
			t.Errorf("%s: %d with %d bytes, closed for %q", name, status, size, closed.Code)
		}
		if cut := waitFor(t, w, Refused); cut.Code != name || cut.Path != "/" || cut.Hint == "" {
			t.Errorf("%s: the cut is recorded as %+v", name, cut)
		}
		if status, _ := get(); status != http.StatusForbidden {
			t.Errorf("%s: then %d", name, status)
		}
		if events := w.recorded(Refused); len(events) != 2 || events[1].Code != name {
			t.Errorf("%s: then refused as %+v", name, events)
		}
	}
}

func TestBudgetsHoldForManyConnectionsTogether(t *testing.T) {
	const limit = 1 << 20
	w, server := tunnelWorld(t, func(c *Config) { c.Budgets = netguard.Traffic{Upload: limit} })
	var wait sync.WaitGroup
	var conns []net.Conn
	for range 16 {
		conns = append(conns, w.connect("good.example.org:443"))
	}
	for _, conn := range conns {
		wait.Go(func() {
			_, _ = conn.Write(goodTLS)
			piece := make([]byte, 128<<10)
			for {
				if _, err := conn.Write(piece); err != nil {
					return
				}
			}
		})
	}
	wait.Wait()
	if n := len(server.received()); n > limit {
		t.Errorf("%d bytes passed of a budget of %d", n, limit)
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	w, _ := tunnelWorld(t, func(c *Config) { c.Limits = Limits{Connections: 4} })
	var idle []net.Conn
	for range 4 {
		conn, err := net.Dial("tcp", w.addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		idle = append(idle, conn)
	}
	for range 4 { // tunnels replace idle connections
		conn := w.connect("good.example.org:443")
		_, _ = conn.Write(goodTLS)
	}
	for _, conn := range idle {
		_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := conn.Read(make([]byte, 1)); err == nil {
			t.Error("an idle connection was kept")
		}
	}
	request := "POST http://good.example.org/ HTTP/1.1\r\nHost: good.example.org\r\nContent-Length: 1000000\r\n\r\n" + strings.Repeat("x", 1_000_000)
	for i := range 20 { // each can read why, although it is still sending
		responses := w.say(request, 1)
		if len(responses) != 1 || responses[0].StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%v", responses)
		}
		if i > 0 {
			continue
		}
		if code := w.code(); code != "connections" {
			t.Errorf("refused for %q", code)
		}
	}
}

// A name carries data to the name servers of its domain, even one that does not exist.
func TestBudgetsCountTheNamesThatAreResolved(t *testing.T) {
	const limit = 1000
	w := newWorld(t, egresstest.Allowlist(t, "*.example.net", "9.9.9.9"), func(c *Config) { c.Budgets = netguard.Traffic{Upload: limit} })
	if responses := w.say("CONNECT 9.9.9.9:443 HTTP/1.1\r\n\r\n", 1); len(responses) != 1 || w.proxy.Transferred() != 0 {
		t.Errorf("%v; an address that is not resolved is counted as %d bytes", responses, w.proxy.Transferred())
	}
	label := strings.Repeat("x", 48)
	for i := range limit {
		name := fmt.Sprintf("%s%d.example.net", label, i)
		for _, request := range []string{"CONNECT " + name + ":443 HTTP/1.1\r\n\r\n", "GET http://" + name + "/ HTTP/1.1\r\nHost: " + name + "\r\n\r\n"} {
			if responses := w.say(request, 1); len(responses) != 1 {
				t.Fatalf("%q: %v", request, responses)
			}
		}
	}
	var sent int
	for _, name := range w.Asked() {
		sent += 2 * (len(name) - 1) // without the final dot; for both families
	}
	if sent > limit || sent < limit/2 {
		t.Errorf("%d bytes of names were sent, with a limit of %d", sent, limit)
	}
	closed, refused := w.recorded(Closed), w.recorded(Refused)
	if first := closed[1]; first.Up != int64(2*len(first.Host)) || refused[len(refused)-1].Code != "upload-budget" {
		t.Errorf("recorded is %+v, the last refusal is for %q", first, refused[len(refused)-1].Code)
	}
	if n := w.proxy.Transferred(); n != 0 {
		t.Errorf("%d bytes count as the traffic of hosts that do not exist", n)
	}
	if n := len(w.proxy.budget.hosts); n != 0 {
		t.Errorf("%d names that do not exist take places of hosts", n)
	}
}

func TestConnectionsToAHostAreBounded(t *testing.T) {
	w, _ := tunnelWorld(t, func(c *Config) { c.Limits = Limits{PerHost: 2} })
	w.connect("good.example.org:443")
	w.connect("good.example.org:8080")
	if responses := w.say("CONNECT good.example.org:443 HTTP/1.1\r\n\r\n", 1); len(responses) != 1 || responses[0].StatusCode != http.StatusServiceUnavailable || w.code() != "host-connections" {
		t.Errorf("%v, refused for %q", responses, w.code())
	}
	w.connect("ok.wild.example.org:443")
}

func TestARequestReplacesItsTunnelInTheCountOfItsHost(t *testing.T) {
	w, server := tunnelWorld(t, func(c *Config) { c.Limits = Limits{PerHost: 1} })
	conn := w.connect("good.example.org:80")
	_, _ = conn.Write([]byte(plainGet))
	for deadline := time.Now().Add(time.Minute); len(server.received()) == 0; time.Sleep(time.Millisecond) {
		if len(w.recorded(Refused)) > 0 || time.Now().After(deadline) {
			t.Fatalf("the server has nothing: %+v", w.recorded(Refused))
		}
	}
	if responses := w.say("CONNECT good.example.org:443 HTTP/1.1\r\n\r\n", 1); len(responses) != 1 || responses[0].StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a second connection to the host: %v", responses)
	}
	conn.Close()
	eventually(t, "no connection to the host once the request and the tunnel have ended", func() bool {
		responses := w.say("CONNECT good.example.org:443 HTTP/1.1\r\n\r\n", 1)
		return len(responses) == 1 && responses[0].StatusCode == http.StatusOK
	})
}

// endlessConn is a connection whose reads never end.
type endlessConn struct{ net.Conn }

func (endlessConn) Read(p []byte) (int, error) { return len(p), nil }

func TestAReadEndsBeforeItsBytesOnlyWithARefusal(t *testing.T) {
	const size = 8
	b := newBudget(netguard.Traffic{Download: size})
	conn := &meteredConn{Conn: endlessConn{}, budget: b}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() { // another connection that takes a part and gives it back
		defer close(stopped)
		for {
			select {
			case <-stop:
				return
			default:
			}
			granted, _ := b.reserve(netguard.Host{}, down, 1)
			b.refund(netguard.Host{}, down, granted)
		}
	}()
	for range 200_000 {
		n, err := conn.Read(make([]byte, size))
		b.refund(netguard.Host{}, down, int64(n))
		var problem *refusal
		if n < size && (err == nil || errors.As(err, &problem) && problem == nil) {
			t.Fatalf("%d bytes, %#v", n, err)
		}
	}
	close(stop)
	<-stopped
}

func TestAQuestionThatIsWithdrawnIsNotJoined(t *testing.T) {
	p := &Proxy{
		held: map[netguard.Destination]*heldRequests{}, limits: Limits{Held: 2},
		config: Config{Ask: func(ctx context.Context, _ Question) Answer { <-ctx.Done(); return Answer{} }},
	}
	var q Question
	first, _ := p.hold(q)
	for range 20_000 {
		released := make(chan struct{})
		begin := make(chan struct{})
		go func() {
			defer close(released)
			<-begin
			p.release(q.Destination, first)
		}()
		close(begin)
		runtime.Gosched()
		second, _ := p.hold(q)
		<-released
		p.mu.Lock()
		open := p.held[q.Destination] == second
		p.mu.Unlock()
		if !open {
			t.Fatal("a request waits for the answer to a question that was withdrawn")
		}
		first = second
	}
	p.release(q.Destination, first)
	p.asking.Wait()
}

// TestSlowClientsAreCut sends an incomplete beginning and then nothing. What it sends arrives at
// once, so that a busy machine does not make it late.
func TestSlowClientsAreCut(t *testing.T) {
	short := Limits{Header: 50 * time.Millisecond, Hello: 500 * time.Millisecond}
	for name, attack := range map[string]struct{ to, raw, code string }{
		"head":             {"", "GET http://good.example.org/ HTT", "slow-head"},
		"fields":           {"", "GET http://good.example.org/ HTTP/1.1\r\nA: b\r\n", "slow-head"},
		"hello":            {"good.example.org:443", string(goodTLS[:20]), "slow-hello"},
		"record":           {"good.example.org:443", string(goodTLS[:3]), "slow-hello"},
		"silent tunnel":    {"good.example.org:443", "", "silent-tunnel"},
		"SSH":              {"ssh.wild.example.org:22", "SSH", "not-ssh"},
		"head in a tunnel": {"good.example.org:80", "GET / HTTP/1.1\r\n", "slow-head"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w, server := tunnelWorld(t, func(c *Config) { c.Limits = short })
			conn, err := net.Dial("tcp", w.addr)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			raw := attack.raw
			if attack.to != "" {
				raw = fmt.Sprintf("CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n%s", attack.to, attack.to, raw)
			}
			_, _ = io.WriteString(conn, raw)
			_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
			_, _ = io.Copy(io.Discard, conn)
			if code := w.code(); code != attack.code || len(server.received()) != 0 {
				t.Errorf("refused for %q, want %q", code, attack.code)
			}
		})
	}
}

func TestAClientThatSendsNothingIsCut(t *testing.T) {
	w, _ := tunnelWorld(t, func(c *Config) { c.Limits = Limits{Header: time.Hour, KeepAlive: 50 * time.Millisecond} })
	conn, err := net.Dial("tcp", w.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.Copy(io.Discard, conn); isTimeout(err) {
		t.Error("it stays connected")
	}
}

// The deadline of the CONNECT request is not that of the tunnel.
func TestASilentTunnelEndsBeforeTheDeadlineOfItsRequest(t *testing.T) {
	w, _ := tunnelWorld(t, func(c *Config) { c.Limits = Limits{Header: time.Hour, Hello: 500 * time.Millisecond} })
	conn := w.connect("good.example.org:443")
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := io.Copy(io.Discard, conn); isTimeout(err) || w.code() != "silent-tunnel" {
		t.Errorf("%v, refused for %q", err, w.code())
	}
}

func TestATunnelToARestrictedHostCarriesNothingThatCannotBeRead(t *testing.T) {
	w, server := tunnelWorld(t, func(c *Config) {
		c.Policy = netguard.NewMatcher(egresstest.Allowlist(t, "GET http://good.example.org/x"))
	})
	conn := w.connect("good.example.org:80")
	_, _ = conn.Write(goodTLS)
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	_, _ = io.Copy(io.Discard, conn)
	if code := w.code(); code != "not-inspected" || len(server.received()) != 0 {
		t.Errorf("refused for %q, and the server receives %q", code, server.received())
	}
}

func TestIdleTunnelsAndOldTunnelsAreClosed(t *testing.T) {
	for code, limits := range map[string]Limits{"idle": {Idle: 50 * time.Millisecond}, "lifetime": {Lifetime: 3 * time.Second}} { // its life begins before the tunnel is open
		w, _ := tunnelWorld(t, func(c *Config) { c.Limits = limits })
		conn := w.connect("good.example.org:443")
		_, _ = conn.Write(goodTLS)
		_, _ = io.Copy(io.Discard, conn)
		if closed := waitFor(t, w, Closed); closed.Code != code {
			t.Errorf("closed for %q, want %q", closed.Code, code)
		}
	}
}

func TestATunnelInUseInOneDirectionIsNotIdle(t *testing.T) {
	t.Parallel()
	const idle = 500 * time.Millisecond
	for {
		w, server := tunnelWorld(t, func(c *Config) { c.Limits = Limits{Idle: idle} })
		conn := w.connect("good.example.org:443")
		_, _ = conn.Write(goodTLS)
		piece := record(recordApplicationData, []byte{0}) // no ClientHello can follow
		var err error
		var gap time.Duration // the longest between two writes
		sent := 0
		begin := time.Now()
		for last := begin; err == nil && time.Since(begin) < 4*idle; time.Sleep(idle / 10) {
			_, err = conn.Write(piece)
			sent += len(piece)
			gap, last = max(gap, time.Since(last)), time.Now()
		}
		conn.Close()
		if gap > idle/2 { // the machine was too busy to keep the tunnel in use
			continue
		}
		if err != nil {
			t.Fatalf("%v: %+v", err, w.recorded(Closed))
		}
		waitFor(t, w, Closed)
		if n := len(server.received()) - len(goodTLS); n != sent {
			t.Errorf("%d bytes passed, not %d", n, sent)
		}
		return
	}
}

func TestAFloodOfRefusalsIsCounted(t *testing.T) {
	w := newWorld(t, attackPolicy(t), nil)
	const n = 1000
	responses := w.say(strings.Repeat("GET http://evil.example.net/ HTTP/1.1\r\nHost: evil.example.net\r\n\r\n", n), n)
	if len(responses) != n {
		t.Fatalf("%d answers", len(responses))
	}
	body, _ := io.ReadAll(responses[n-1].Body)
	if !strings.Contains(string(body), "k3f9-codex/") {
		t.Errorf("the last refusal has no id: %s", body)
	}
	recorded := w.recorded(Refused)
	if len(recorded) > 2*recordsAlike {
		t.Errorf("%d refusals were recorded one by one", len(recorded))
	}
	w.proxy.recorder.close()
	total := 0
	for _, e := range w.recorded(Refused) {
		total += 1 + e.Repeated
	}
	if total != n {
		t.Errorf("the records stand for %d refusals of %d", total, n)
	}
}

func TestAFloodOfNamesIsCounted(t *testing.T) {
	w := newWorld(t, netguard.Policy{Mode: netguard.Allowlist}, nil)
	const n = 3000
	var raw strings.Builder
	for i := range n {
		fmt.Fprintf(&raw, "CONNECT n%d.example.net:443 HTTP/1.1\r\n\r\n", i)
	}
	if responses := w.say(raw.String(), n); len(responses) != n {
		t.Fatalf("%d answers", len(responses))
	}
	if got := len(w.proxy.recorder.like); got > maxLike {
		t.Errorf("%d kinds are remembered", got)
	}
}

// deadlines is a connection that records the deadlines of its writes.
type deadlines struct {
	net.Conn
	set []time.Time
}

func (*deadlines) Write(p []byte) (int, error) { return len(p), nil }

func (c *deadlines) SetWriteDeadline(to time.Time) error {
	c.set = append(c.set, to)
	return nil
}

func TestTheDeadlineOfWritesIsRenewedOnlyAfterAPartOfIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := &deadlines{}
		r := &relay{proxy: New(Config{}), flow: &flow{}}
		p, idle := r.pump(conn, up), r.proxy.limits.Idle
		var want []time.Time
		for range 3 {
			want = append(want, time.Now().Add(idle))
			for range 100 {
				if problem := p.send([]byte("x")); problem != nil {
					t.Fatal(problem)
				}
			}
			time.Sleep(idle/8 + time.Second)
		}
		if !slices.Equal(conn.set, want) {
			t.Errorf("the deadlines are %v, not %v", conn.set, want)
		}
	})
}
