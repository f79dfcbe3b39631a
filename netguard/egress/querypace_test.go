package egress

import (
	"net"
	"testing"
	"time"

	"github.com/miekg/dns"
)

func TestQueriesAreAnsweredAtOnceUntilTheyAreAFlood(t *testing.T) {
	var p queryPace
	now := time.Now()
	for i := range queryBurst {
		if delay := p.take(now); delay > 0 {
			t.Fatalf("query %d waits for %v", i, delay)
		}
	}
	began := now
	for range 10 * queriesPerSecond {
		now = now.Add(p.take(now))
	}
	if took := now.Sub(began); took < 9*time.Second || took > 11*time.Second {
		t.Errorf("a flood of %d queries takes %v", 10*queriesPerSecond, took)
	}
	if delay := p.take(now.Add(time.Minute)); delay > 0 {
		t.Errorf("a minute later a query waits for %v", delay)
	}
}

// A name server that answers as fast as a sandbox asks takes a whole processor.
func TestTheNameServerDelaysAFlood(t *testing.T) {
	ours, theirs := net.Pipe()
	served := make(chan struct{})
	go func() { defer close(served); DNS{pace: &queryPace{}}.serveConn(theirs) }()
	conn := dns.Conn{Conn: ours}
	began := time.Now()
	for range queryBurst + queriesPerSecond/2 {
		if err := conn.WriteMsg(new(dns.Msg).SetQuestion("example.com.", dns.TypeA)); err != nil {
			t.Fatal(err)
		}
		if _, err := conn.ReadMsg(); err != nil {
			t.Fatal(err)
		}
	}
	if took := time.Since(began); took < 400*time.Millisecond {
		t.Errorf("the queries take %v", took)
	}
	_ = ours.Close()
	<-served
}
