package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/miekg/dns"
)

// start serves on loopback and returns the address, the same for UDP and TCP by name of the
// network, and a function that returns the log.
func start(t *testing.T) (udp, tcp string, queries func() []Query) {
	t.Helper()
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var questions []Query
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() {
		done <- DNS{Log: func(q Query) {
			mu.Lock()
			defer mu.Unlock()
			questions = append(questions, q)
		}}.Serve(ctx, packets, listener)
	}()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	return packets.LocalAddr().String(), listener.Addr().String(), func() []Query {
		mu.Lock()
		defer mu.Unlock()
		return append([]Query(nil), questions...)
	}
}

func ask(t *testing.T, network, address, name string, kind uint16) *dns.Msg {
	t.Helper()
	client := dns.Client{Net: network, Timeout: time.Minute}
	query := new(dns.Msg).SetQuestion(dns.Fqdn(name), kind)
	query.SetEdns0(4096, false)
	reply, _, err := client.Exchange(query, address)
	if err != nil {
		t.Fatalf("%s %s: %v", network, name, err)
	}
	return reply
}

func TestOnlyTheGuardsOwnNamesResolve(t *testing.T) {
	udp, tcp, queries := start(t)
	for network, address := range map[string]string{"udp": udp, "tcp": tcp} {
		for _, name := range []string{"aibox", "gateway.aibox.internal", "GateWay.AIBOX.internal"} {
			reply := ask(t, network, address, name, dns.TypeA)
			if len(reply.Answer) != 1 || reply.Answer[0].(*dns.A).A.String() != "10.200.200.1" {
				t.Errorf("%s: %s: %v", network, name, reply)
			}
		}
		if reply := ask(t, network, address, "aibox", dns.TypeAAAA); reply.Rcode != dns.RcodeSuccess || len(reply.Answer) != 0 {
			t.Errorf("the guard has no IPv6 address, but got %v", reply)
		}
		for _, kind := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeTXT, dns.TypeMX, dns.TypeNULL, dns.TypeANY, dns.TypeSRV, dns.TypeHTTPS, 65280} {
			if reply := ask(t, network, address, "secret-data.attacker.example", kind); reply.Rcode != dns.RcodeNameError || len(reply.Answer) != 0 {
				t.Errorf("%s: %s: %v", network, dns.Type(kind), reply)
			}
		}
	}
	if len(queries()) != 18 {
		t.Errorf("each refused question is reported, got %v", queries())
	}
}

func TestQueriedNameIsReportedEscapedAndBounded(t *testing.T) {
	udp, _, queries := start(t)
	long := strings.Repeat(strings.Repeat(`\255`, 60)+".", 4) // 244 bytes in a packet, four times as many as text
	ask(t, "udp", udp, `e\027[31m\009\255vil.example`, dns.TypeA)
	ask(t, "udp", udp, long, dns.TypeA)
	if len(queries()) != 2 {
		t.Errorf("%v", queries())
	}
	for _, q := range queries() {
		for _, c := range q.Name {
			if c < ' ' || c > '~' {
				t.Errorf("%q holds %q", q.Name, c)
			}
		}
		if len(q.Name) > nameLimit {
			t.Errorf("%d bytes", len(q.Name))
		}
	}
}

func TestRefusalOfANameIsExplained(t *testing.T) {
	udp, _, _ := start(t)
	reply := ask(t, "udp", udp, "example.org", dns.TypeA)
	opt := reply.IsEdns0()
	if opt == nil || len(opt.Option) != 1 || !strings.Contains(opt.Option[0].String(), explanation) {
		t.Errorf("%v", reply)
	}
}

func TestUnknownVersionOfEDNSIsRefused(t *testing.T) {
	query := new(dns.Msg).SetQuestion("aibox.", dns.TypeA)
	query.SetEdns0(4096, false)
	query.IsEdns0().SetVersion(1)
	packed, err := query.Pack()
	if err != nil {
		t.Fatal(err)
	}
	raw, refused := answer(packed)
	var reply dns.Msg
	if err := reply.Unpack(raw); err != nil || reply.Rcode != dns.RcodeBadVers || refused != nil {
		t.Errorf("%v, %v", &reply, err)
	}
}

// The session counts them, so none may be missing.
func TestEveryNameOfAFloodIsAnsweredAndReported(t *testing.T) {
	udp, _, queries := start(t)
	for i := range 500 {
		if reply := ask(t, "udp", udp, fmt.Sprintf("x%d.attacker.example", i/2), dns.TypeA); reply.Rcode != dns.RcodeNameError {
			t.Fatal(reply)
		}
	}
	if n := len(queries()); n != 500 {
		t.Errorf("%d of 500 are reported", n)
	}
}

func TestOnlyOneQuestionOfAClientIsAnswered(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*dns.Msg)
		code   int // -1 if there must be no answer
	}{
		"a question":       {func(*dns.Msg) {}, dns.RcodeSuccess},
		"an answer":        {func(m *dns.Msg) { m.Response = true }, -1},
		"an update":        {func(m *dns.Msg) { m.Opcode = dns.OpcodeUpdate }, dns.RcodeNotImplemented},
		"no question":      {func(m *dns.Msg) { m.Question = nil }, dns.RcodeNotImplemented},
		"two questions":    {func(m *dns.Msg) { m.Question = append(m.Question, m.Question[0]) }, dns.RcodeNotImplemented},
		"of another class": {func(m *dns.Msg) { m.Question[0].Qclass = dns.ClassCHAOS }, dns.RcodeNameError},
	} {
		query := new(dns.Msg).SetQuestion("aibox.", dns.TypeA)
		c.change(query)
		packed, err := query.Pack()
		if err != nil {
			t.Fatal(err)
		}
		raw, _ := answer(packed)
		if c.code < 0 {
			if raw != nil {
				t.Errorf("%s is answered", name)
			}
			continue
		}
		var reply dns.Msg
		if err := reply.Unpack(raw); err != nil || reply.Rcode != c.code || (len(reply.Answer) > 0) != (c.code == dns.RcodeSuccess) {
			t.Errorf("%s: %v, %v", name, &reply, err)
		}
	}
	for size := range 12 {
		if raw, refused := answer(make([]byte, size)); raw != nil || refused != nil {
			t.Errorf("a packet of %d bytes is answered", size)
		}
	}
}

// Parsing would take milliseconds, and a flood of them the machine's processors.
func TestAQuestionOfThousandsOfRecordsIsNotParsed(t *testing.T) {
	many := func(n int) []byte {
		packet := []byte{1, 2, 0, 0, 0, 1, byte(n >> 8), byte(n), 0, 0, 0, 0, 1, 'a', 0, 0, 1, 0, 1}
		for range n {
			packet = append(packet, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0) // the question's name
		}
		return packet
	}
	padded := func(n int) []byte {
		query := new(dns.Msg).SetQuestion("aibox.", dns.TypeA)
		query.SetEdns0(4096, false)
		query.IsEdns0().Option = append(query.IsEdns0().Option, &dns.EDNS0_PADDING{Padding: make([]byte, n)})
		packed, err := query.Pack()
		if err != nil {
			t.Fatal(err)
		}
		return packed
	}
	for name, c := range map[string]struct {
		packet []byte
		code   int
	}{
		"three records":   {many(3), dns.RcodeNameError},
		"four records":    {many(4), dns.RcodeFormatError},
		"5,000 records":   {many(5000), dns.RcodeFormatError},
		"a usual padding": {padded(468), dns.RcodeSuccess},
		"a long padding":  {padded(1300), dns.RcodeFormatError},
	} {
		raw, _ := answer(c.packet)
		var reply dns.Msg
		if err := reply.Unpack(raw); err != nil || reply.Rcode != c.code {
			t.Errorf("%s: %v, %v", name, &reply, err)
		}
	}
}

func TestIdleConnectionDoesNotBlockOthers(t *testing.T) {
	_, tcp, _ := start(t)
	for range connections - 1 {
		conn, err := net.Dial("tcp", tcp)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	ask(t, "tcp", tcp, "aibox", dns.TypeA)
}

func FuzzAnswer(f *testing.F) {
	for _, name := range []string{"aibox.", "a.example.", "."} {
		packed, err := new(dns.Msg).SetQuestion(name, dns.TypeA).Pack()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(packed)
		f.Add(packed[:len(packed)-3])
	}
	f.Add([]byte{1, 2, 0x80, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0xc0, 0x0c})
	f.Fuzz(func(t *testing.T, packet []byte) {
		reply, refused := answer(packet)
		if len(packet) >= 12 && packet[2]&0x80 != 0 && reply != nil {
			t.Error("an answer was answered")
		}
		if refused != nil && len(refused.Name) > nameLimit {
			t.Errorf("a name of %d bytes", len(refused.Name))
		}
		if reply == nil {
			return
		}
		var message dns.Msg
		if err := message.Unpack(reply); err != nil {
			t.Errorf("the answer cannot be read: %v", err)
		}
		if !message.Response || message.Id != uint16(packet[0])<<8|uint16(packet[1]) {
			t.Errorf("not an answer to this: %v", &message)
		}
		if len(reply) > len(packet)+64 {
			t.Errorf("%d bytes to a packet of %d", len(reply), len(packet))
		}
	})
}

func BenchmarkAnswer(b *testing.B) {
	packed, _ := new(dns.Msg).SetQuestion("secret.attacker.example.", dns.TypeA).Pack()
	for b.Loop() {
		answer(packed)
	}
}

func TestStreamsToTheNameServerAreBounded(t *testing.T) {
	t.Parallel()
	_, tcp, _ := start(t)
	var idle []net.Conn
	for range connections {
		conn, err := net.Dial("tcp", tcp)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		idle = append(idle, conn)
	}
	query := new(dns.Msg).SetQuestion("aibox.", dns.TypeA)
	waiting := dns.Client{Net: "tcp", Timeout: 100 * time.Millisecond}
	if _, _, err := waiting.Exchange(query, tcp); err == nil {
		t.Errorf("connection %d was answered beside %d idle ones", connections+1, connections)
	}
	_ = idle[0].Close()
	ask(t, "tcp", tcp, "aibox", dns.TypeA)
	_ = idle[1].SetReadDeadline(time.Now().Add(time.Minute))
	if _, err := idle[1].Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("an idle connection ends with %v", err)
	}
}
