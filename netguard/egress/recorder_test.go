package egress

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"aibox/netguard"
	"aibox/netguard/egress/egresstest"
)

// TestNoFloodExceedsTheBudgetOfRecords simulates a minute of each flood.
func TestNoFloodExceedsTheBudgetOfRecords(t *testing.T) {
	const seconds, perSecond = 60, 3000
	host := func(i int) netguard.Destination {
		h, err := netguard.ParseHost(fmt.Sprintf("n%d.example.net", i))
		if err != nil {
			t.Fatal(err)
		}
		return netguard.Destination{Host: h, Port: 443}
	}
	for name, event := range map[string]func(i int) Event{
		"one host":                    func(int) Event { return Event{Kind: Refused, Destination: host(0)} },
		"a new host each time":        func(i int) Event { return Event{Kind: Refused, Destination: host(i)} },
		"as many as are remembered":   func(i int) Event { return Event{Kind: Refused, Destination: host(i % maxLike)} },
		"one more than is remembered": func(i int) Event { return Event{Kind: Refused, Destination: host(i % (maxLike + 1))} },
		"all kinds of events": func(i int) Event {
			return Event{Kind: []EventKind{Allowed, Refused, Closed}[i%3], Destination: host(i / 3), Up: 3, Down: 5}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var records, total int
			var up, down int64
			inSecond := map[int64]int{}
			begin := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
			now := begin
			r := newRecorder(func(e Event) string {
				records++
				total += 1 + e.Repeated
				up, down = up+e.Up, down+e.Down
				inSecond[int64(now.Sub(begin)/time.Second)]++
				return fmt.Sprint(records)
			})
			var wantUp, wantDown int64
			for i := range seconds * perSecond {
				now = begin.Add(time.Duration(i) * time.Second / perSecond)
				e := event(i)
				e.Time = now
				wantUp, wantDown = wantUp+e.Up, wantDown+e.Down
				r.add(e, false)
			}
			now = begin.Add((seconds + 1) * time.Second)
			r.close()
			for second, n := range inSecond {
				if n > 2*recordsPerSecond { // seconds of the budget do not start with those of the clock
					t.Errorf("%d records in second %d", n, second)
				}
			}
			if most := (seconds+1)*recordsPerSecond + 3*(seconds/10+1); records > most {
				t.Errorf("%d records, more than %d", records, most)
			}
			if total != seconds*perSecond || up != wantUp || down != wantDown {
				t.Errorf("the records stand for %d events, %d and %d bytes; want %d, %d and %d", total, up, down, seconds*perSecond, wantUp, wantDown)
			}
		})
	}
}

func TestFrequentEventsKeepTheirOwnSummaryInAFlood(t *testing.T) {
	frequent, err := netguard.ParseHost("frequent.example.net")
	if err != nil {
		t.Fatal(err)
	}
	var got []Event
	r := newRecorder(func(e Event) string { got = append(got, e); return "" })
	now := time.Date(2026, 5, 4, 12, 0, 0, 0, time.UTC)
	for i := range 5000 {
		host, err := netguard.ParseHost(fmt.Sprintf("n%d.example.net", i))
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range []netguard.Host{frequent, host} {
			r.add(Event{Kind: Refused, Time: now, Destination: netguard.Destination{Host: h, Port: 443}, Host: h.String()}, false)
		}
	}
	before := len(got)
	r.close()
	summaries := got[before:]
	if len(summaries) != recordsPerSecond+1 || summaries[0].Host != "frequent.example.net" {
		t.Fatalf("%d summaries, the first of %q", len(summaries), summaries[0].Host)
	}
	last := summaries[len(summaries)-1]
	if last.Host != OtherHosts || last.Reason == "" || last.Repeated < 4000 {
		t.Errorf("the rest is %+v", last)
	}
}

func TestEveryAllowedRequestOfAFloodIsCountedForItsHost(t *testing.T) {
	type count struct {
		requests, recorded, ends int
		up, down                 int64
	}
	var mu sync.Mutex
	counts := map[string]count{}
	w := newWorld(t, egresstest.Allowlist(t, "plain.example.org", "rare.example.org"), func(c *Config) {
		c.Count = func(e Event, recorded bool) {
			mu.Lock()
			defer mu.Unlock()
			sum := counts[e.Host]
			if e.Kind == Allowed {
				sum.requests++
				if recorded {
					sum.recorded++
				}
			} else {
				sum.ends++
			}
			sum.up, sum.down = sum.up+e.Up, sum.down+e.Down
			counts[e.Host] = sum
		}
	})
	server := httptest.NewServer(http.HandlerFunc(hello))
	defer server.Close()
	for _, name := range []string{"plain.example.org", "rare.example.org"} {
		w.Route(name, 80, server.Listener.Addr().String())
	}
	const flood = 5 * recordsAlike
	for i := range flood + 1 {
		name := "plain.example.org"
		if i == flood {
			name = "rare.example.org"
		}
		response, err := w.client().Get("http://" + name + "/")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, response.Body)
		response.Body.Close()
	}
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		mu.Lock()
		ends := counts["plain.example.org"].ends + counts["rare.example.org"].ends
		mu.Unlock()
		if ends == flood+1 {
			break
		}
	}
	mu.Lock()
	defer mu.Unlock()
	plain, rare := counts["plain.example.org"], counts["rare.example.org"]
	if plain.requests != flood || plain.ends != flood || plain.recorded == flood || plain.recorded < recordsAlike || plain.down == 0 || rare.requests != 1 || rare.ends != 1 {
		t.Errorf("counted %+v and %+v", plain, rare)
	}
}
