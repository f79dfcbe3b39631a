package gateway

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"aibox/netguard/gateway/price"
)

// together sends n requests at a time, and returns how many got each status. The model
// answers the first one only when all have been read, so that each is checked against the
// budgets while the first one is in flight.
func together(t *testing.T, n int, change func(*Config)) map[int]int {
	t.Helper()
	var asked atomic.Int32
	all := make(chan struct{})
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		select {
		case <-all:
		case <-r.Context().Done():
		}
		priced(w, r)
	}, func(c *Config) {
		change(c)
		c.Models = func() []string {
			if int(asked.Add(1)) == n {
				close(all)
			}
			return []string{"m"}
		}
	})
	var mu sync.Mutex
	statuses := map[int]int{}
	var wait sync.WaitGroup
	for range n {
		wait.Go(func() {
			status := b.send(t, "POST", chat, ask(1)).StatusCode
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
		})
	}
	wait.Wait()
	return statuses
}

func TestRequestsAtTheSameTimeExceedABudgetByOneAnswerAtMost(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"tokens": func(c *Config) { c.TokenLimit = 1000 },
		"cost":   func(c *Config) { c.Price, c.CostLimit = testPrice, priceOfAnswer },
	} {
		t.Run(name, func(t *testing.T) {
			if statuses := together(t, 8, change); statuses[200] != 1 || statuses[403] != 7 {
				t.Errorf("the statuses are %v", statuses)
			}
		})
	}
}

func TestRequestsFarFromABudgetRunAtTheSameTime(t *testing.T) {
	const n = 8
	var arrived atomic.Int32
	all := make(chan struct{})
	b := newBench(t, func(w http.ResponseWriter, r *http.Request) {
		if arrived.Add(1) == n {
			close(all)
		}
		select {
		case <-all:
		case <-r.Context().Done():
		case <-time.After(time.Minute):
			t.Error("the requests run one after another")
		}
		priced(w, r)
	}, func(c *Config) { c.TokenLimit = 20_000 })
	var wait sync.WaitGroup
	for range n { // 8 times about 1,100 tokens
		wait.Go(func() {
			if status := b.send(t, "POST", chat, strings.Replace(ask(1), "{", `{"max_tokens":1000,`, 1)).StatusCode; status != 200 {
				t.Errorf("a request got %d", status)
			}
		})
	}
	wait.Wait()
}

func TestARequestThatWaitsForABudgetCanBeGivenUpAndDoesNotWaitForever(t *testing.T) {
	g := &Gateway{tokenLimit: 1000, ledger: newLedger(), patience: time.Hour}
	first, second := &call{event: Event{Generates: true}}, &call{event: Event{Generates: true}}
	if refusal, err := g.reserveBudget(t.Context(), first, 100); refusal != nil || err != nil {
		t.Fatal(refusal, err)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if refusal, err := g.reserveBudget(gone, second, 100); refusal != nil || !errors.Is(err, errGone) {
		t.Errorf("the client is gone: %+v %v", refusal, err)
	}
	g.patience = time.Millisecond
	if refusal, err := g.reserveBudget(t.Context(), second, 100); err != nil || refusal == nil || refusal.status != http.StatusTooManyRequests || second.event.Limit != 0 {
		t.Errorf("the first answer never ends: %+v %v", refusal, err)
	}
	g.spend(first)
	if refusal, err := g.reserveBudget(t.Context(), second, 100); refusal != nil || err != nil || g.ledger.inFlight != 1 {
		t.Errorf("the first answer failed: %+v %v", refusal, err)
	}
}

func TestAReservationHasTheTokensOfPictures(t *testing.T) {
	g := &Gateway{ledger: newLedger(), tokenLimit: 1 << 30}
	one := &call{event: Event{Generates: true}, output: 50, mediaTokens: 2000}
	if refusal, err := g.reserveBudget(t.Context(), one, 100); refusal != nil || err != nil || one.reserved.tokens != 2150 {
		t.Errorf("%+v, %+v, %v", one.reserved, refusal, err)
	}
}

func TestAReservationIsTheMostThatAnAnswerCanUse(t *testing.T) {
	p := price.Price{Input: 2, Output: 10, CacheRead: 0.1, CacheWrite: 3, CacheWriteLong: 4}
	for _, c := range []struct{ size, output, choices, tokens int64 }{
		{100, 50, 0, 150},
		{100, 50, 3, 150}, // of all choices together
		{100, 0, 0, 100 + longestOutput},
		{100, 0, 3, 100 + 3*longestOutput},
		{100, 0, 1 << 40, 100 + mostReserved},
		{100, 1 << 40, 0, 100 + mostReserved},
	} {
		got := mostUsed(c.size, (&call{output: c.output, choices: c.choices}).mostOutput(), p)
		if want := float64(100*4+(c.tokens-100)*10) / 1e6; got.tokens != c.tokens || got.cost < want-1e-9 || got.cost > want+1e-9 {
			t.Errorf("%+v: %+v, want $%g", c, got, want)
		}
	}
}
