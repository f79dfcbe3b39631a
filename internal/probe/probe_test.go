package probe

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// serve answers each TCP connection with text after the first bytes came, and returns the
// address. With an empty text it sends nothing.
func serve(t *testing.T, text string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			if text != "" {
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = conn.Write([]byte(text))
				_ = conn.Close()
				continue
			}
			t.Cleanup(func() { _ = conn.Close() })
		}
	}()
	return listener.Addr().String()
}

// closed returns an address where no program listens.
func closed(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}

// datagrams answers each datagram with the result of reply; nil means no answer.
func datagrams(t *testing.T, reply func([]byte) []byte) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		buf := make([]byte, 1500)
		for {
			n, from, err := conn.ReadFrom(buf)
			if err != nil {
				return
			}
			if answer := reply(buf[:n]); answer != nil {
				_, _ = conn.WriteTo(answer, from)
			}
		}
	}()
	return conn.LocalAddr().String()
}

// nameServer answers with code, and with an address when code is success.
func nameServer(t *testing.T, code dnsmessage.RCode) string {
	return datagrams(t, func(query []byte) []byte {
		var m dnsmessage.Message
		if m.Unpack(query) != nil {
			return nil
		}
		m.Response, m.RCode = true, code
		if code == dnsmessage.RCodeSuccess {
			m.Answers = []dnsmessage.Resource{{
				Header: dnsmessage.ResourceHeader{Name: m.Questions[0].Name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET},
				Body:   &dnsmessage.AResource{A: [4]byte{10, 200, 200, 1}},
			}}
		}
		answer, _ := m.Pack()
		return answer
	})
}

// all runs a plan and returns the results, in its order.
func all(t *testing.T, plan Plan) []Result {
	t.Helper()
	results := make([]Result, len(plan.Probes))
	Run(t.Context(), plan, func(place int, r Result) { results[place] = r })
	return results
}

func TestProbeDistinguishesAnswersRefusalsAndSilence(t *testing.T) {
	shut, mute := closed(t), serve(t, "")
	for _, c := range []struct {
		probe Probe
		want  outcome
	}{
		{Probe{Kind: TCP, Target: mute}, answered},
		{Probe{Kind: TCP, Target: shut}, refused},
		{Probe{Kind: HTTP, Target: "http://" + serve(t, "HTTP/1.1 404 Not Found\r\n\r\n") + "/x"}, answered},
		{Probe{Kind: HTTP, Target: "http://" + mute}, silent},
		{Probe{Kind: HTTP, Target: "http://" + shut}, refused},
		{Probe{Kind: HTTP, Target: "http://" + serve(t, "SSH-2.0-OpenSSH_9.2")}, unclear},
		{Probe{Kind: CONNECT, Via: serve(t, "HTTP/1.1 200 OK\r\n\r\n"), Target: "example.com:443"}, answered},
		{Probe{Kind: CONNECT, Via: serve(t, "HTTP/1.1 403 Forbidden\r\n\r\n"), Target: "example.com:443"}, refused},
		{Probe{Kind: CONNECT, Via: shut, Target: "example.com:443"}, refused},
		{Probe{Kind: CONNECT, Via: serve(t, "HTTP/1.1 502 Bad Gateway\r\n\r\n"), Target: "example.com:443"}, unclear},
		{Probe{Kind: HTTP, Via: serve(t, "HTTP/1.1 403 no\r\nProxy-Status: aibox; error=http_request_denied\r\n\r\n"), Target: "http://192.0.2.1/"}, refused},
		{Probe{Kind: HTTP, Via: serve(t, "HTTP/1.1 403 no\r\nServer: metadata\r\n\r\n"), Target: "http://192.0.2.1/"}, answered},
		{Probe{Kind: HTTP, Via: serve(t, "HTTP/1.1 502 no\r\nProxy-Status: aibox\r\n\r\n"), Target: "http://192.0.2.1/"}, unclear},
		{Probe{Kind: HTTP, Via: shut, Target: "http://192.0.2.1/"}, refused},
		{Probe{Kind: UDP, Target: datagrams(t, func(p []byte) []byte { return p })}, answered},
		{Probe{Kind: UDP, Target: datagrams(t, func([]byte) []byte { return nil })}, silent},
		{Probe{Kind: UDP, Target: shut}, refused},
		{Probe{Kind: DNS, Via: nameServer(t, dnsmessage.RCodeSuccess), Target: "gateway"}, answered},
		{Probe{Kind: DNS, Via: nameServer(t, dnsmessage.RCodeNameError), Target: "example.com"}, refused},
		{Probe{Kind: DNS, Via: datagrams(t, func([]byte) []byte { return []byte("junk") }), Target: "example.com"}, unclear},
		{Probe{Kind: "telepathy", Target: "x"}, unclear},
		{Probe{Kind: TCP, Target: "no port"}, unclear},
	} {
		t.Run(fmt.Sprintf("%s %s %s", c.probe.Kind, c.probe.Via, c.probe.Target), func(t *testing.T) {
			patience := time.Minute // of a busy machine
			if c.want == silent {
				patience = 100 * time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			detail, err := c.probe.ask(ctx)
			if got := classify(err); got != c.want {
				t.Errorf("got %d (%q, %v), want %d", got, detail, err, c.want)
			}
		})
	}
}

func TestOnlyAConclusiveProbePasses(t *testing.T) {
	for _, c := range []struct {
		want  Want
		quiet bool
		err   error
		ok    bool
	}{
		{Answers, false, nil, true},
		{Answers, false, syscall.ECONNREFUSED, false},
		{Answers, true, errSilence, false},
		{Refused, false, nil, false},
		{Refused, false, syscall.ECONNREFUSED, true},
		{Refused, false, errSilence, false},
		{Refused, true, errSilence, true},
		{Refused, true, nil, false},
		{Refused, true, fmt.Errorf("broken probe"), false},
		{"", false, nil, false},
		{"", true, syscall.ECONNREFUSED, false},
	} {
		if ok, text := (Probe{Want: c.want, Quiet: c.quiet}).judge("", c.err); ok != c.ok {
			t.Errorf("want %q, quiet %t, error %v: %t (%s)", c.want, c.quiet, c.err, ok, text)
		}
	}
}

func TestProbeResultIsDescribed(t *testing.T) {
	for _, c := range []struct {
		probe Probe
		want  string
	}{
		{Probe{Kind: TCP, Target: closed(t)}, "connection refused"},
		{Probe{Kind: UDP, Target: closed(t)}, "connection refused"},
		{Probe{Kind: HTTP, Target: "http://" + serve(t, "")}, "no answer in time"},
		{Probe{Kind: CONNECT, Via: serve(t, "HTTP/1.1 403 Forbidden\r\n\r\n"), Target: "example.com:443"}, "the proxy said 403"},
		{Probe{Kind: DNS, Via: nameServer(t, dnsmessage.RCodeSuccess), Target: "gateway"}, "1 record"},
		{Probe{Kind: DNS, Via: nameServer(t, dnsmessage.RCodeNameError), Target: "example.com"}, "name unknown to the name server"},
		{Probe{Kind: DNS, Via: nameServer(t, dnsmessage.RCodeRefused), Target: "example.com"}, "refused by the name server"},
		{Probe{Kind: DNS, Via: nameServer(t, dnsmessage.RCodeServerFailure), Target: "example.com"}, "the name server failed"},
		{Probe{Kind: DNS, Via: nameServer(t, dnsmessage.RCodeNotImplemented), Target: "example.com"}, "the name server said no (code 4)"},
		{Probe{Kind: DNS, Via: closed(t), Target: "example.com"}, "connection refused"},
	} {
		c.probe.Want, c.probe.Timeout = Refused, 60_000
		if c.want == "no answer in time" {
			c.probe.Timeout = 100
		}
		if got := all(t, Plan{Probes: []Probe{c.probe}})[0].Detail; got != c.want {
			t.Errorf("%s %s: %q, want %q", c.probe.Kind, c.probe.Target, got, c.want)
		}
	}
}

func TestResultIsDeliveredWhileAnotherProbeRuns(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	quickEnded := make(chan struct{})
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		<-quickEnded
		_ = conn.Close() // ends the slow probe
	}()
	plan := Plan{Probes: []Probe{
		{Name: "slow", Kind: HTTP, Target: "http://" + listener.Addr().String(), Want: Refused, Timeout: 60_000},
		{Name: "quick", Kind: TCP, Target: closed(t), Want: Refused},
	}}
	var mu sync.Mutex
	var order []string
	Run(t.Context(), plan, func(place int, r Result) {
		if plan.Probes[place].Name != r.Name {
			t.Errorf("%q is at place %d", r.Name, place)
		}
		mu.Lock()
		order = append(order, r.Name)
		mu.Unlock()
		if r.Name == "quick" {
			close(quickEnded)
		}
	})
	if len(order) != 2 || order[0] != "quick" {
		t.Errorf("ended in the order %q", order)
	}
}

// No probe has an answer until all of them have connected.
func TestProbesRunAtTheSameTimeAndKeepTheirOrder(t *testing.T) {
	const count = 50
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() {
		var conns []net.Conn
		for range count {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			conns = append(conns, conn)
		}
		for _, conn := range conns {
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\n\r\n"))
			_ = conn.Close()
		}
	}()
	var plan Plan
	for i := range count {
		plan.Probes = append(plan.Probes, Probe{Name: fmt.Sprint(i), Kind: HTTP, Target: "http://" + listener.Addr().String(), Want: Answers, Timeout: 60_000})
	}
	results := all(t, plan)
	for i, r := range results {
		if r.Name != fmt.Sprint(i) || !r.OK {
			t.Errorf("result %d is %+v", i, r)
		}
	}
	if len(Failed(results)) != 0 {
		t.Error("some failed")
	}
}

func TestTooManyProbesFail(t *testing.T) {
	plan := Plan{Probes: make([]Probe, MaxProbes+1)}
	for i := range plan.Probes {
		plan.Probes[i] = Probe{Kind: "none", Want: Refused}
	}
	results := all(t, plan)
	if last := results[MaxProbes]; last.OK || !strings.Contains(last.Detail, "too many") {
		t.Errorf("the last result is %+v", last)
	}
}
