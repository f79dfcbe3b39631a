package gateway

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"aibox/netguard"
	"aibox/netguard/gateway/price"
)

// answers have 1,000 tokens in, 400 of them cached, and 100 out: 0.0012 + 0.00004 + 0.001.
func priced(w http.ResponseWriter, _ *http.Request) {
	fmt.Fprint(w, `{"choices":[{"message":{"content":"hi"}}],"usage":{"prompt_tokens":1000,"completion_tokens":100,"prompt_tokens_details":{"cached_tokens":400}}}`)
}

const priceOfAnswer = (600*2 + 400*0.1 + 100*10) / 1e6

func testPrice(model string) (price.Price, bool) {
	return price.Price{Input: 2, Output: 10, CacheRead: 0.1, CacheWrite: 2, CacheWriteLong: 2}, model == "m"
}

func TestCostIsCountedAndLimited(t *testing.T) {
	b := newBench(t, priced, func(c *Config) { c.Price, c.CostLimit = testPrice, 2.5*priceOfAnswer })
	for i, status := range []int{200, 200, 200, 403, 403} {
		b.events = nil
		answer := b.send(t, "POST", chat, ask(1))
		body := text(t, answer)
		event := b.last(t)
		if answer.StatusCode != status || (event.Limit == CostLimit) != (status == 403) {
			t.Errorf("request %d: %d %s %+v", i, answer.StatusCode, body, event)
		}
		if want := map[int]float64{200: priceOfAnswer}[status]; math.Abs(event.Cost-want) > 1e-12 || event.Unpriced {
			t.Errorf("request %d costs %g, want %g", i, event.Cost, want)
		}
		if status == 403 && (event.Outcome != Refused || !strings.Contains(body, "has cost all of the $0.0056")) {
			t.Errorf("%s", body)
		}
	}
}

func TestUnknownPriceIsUnknownAndNotZero(t *testing.T) {
	b := newBench(t, priced, func(c *Config) { c.Price = testPrice })
	_ = text(t, b.send(t, "POST", chat, strings.ReplaceAll(ask(1), `"m"`, `"x"`)))
	if event := b.last(t); !event.Unpriced || event.Cost != 0 || event.InputTokens != 1000 || event.CachedTokens != 400 {
		t.Errorf("%+v", event)
	}
	limited := newBench(t, func(http.ResponseWriter, *http.Request) { t.Error("it passed") }, func(c *Config) { c.Price, c.CostLimit = testPrice, 1 })
	answer := limited.send(t, "POST", chat, strings.ReplaceAll(ask(1), `"m"`, `"x"`))
	if body := text(t, answer); answer.StatusCode != 403 || !strings.Contains(body, "price of the model") {
		t.Errorf("%d %s", answer.StatusCode, body)
	}
}

// A faster tier costs several times as much. A second model can have another price.
func TestARequestThatCanCostMoreThanItsModelHasNoPrice(t *testing.T) {
	for more, what := range map[string]string{
		`"service_tier":"priority",`: "service_tier=priority", `"service_tier":"fast",`: "service_tier=fast", `"models":["x"],`: "model",
	} {
		request := strings.Replace(ask(1), "{", "{"+more, 1)
		b := newBench(t, priced, func(c *Config) { c.Price, c.TokenLimit = testPrice, 1<<30 })
		if answer := b.send(t, "POST", chat, request); answer.StatusCode != 200 {
			t.Errorf("%s: %d %s", more, answer.StatusCode, text(t, answer))
		}
		if event := b.last(t); !event.Unpriced || event.Cost != 0 || event.InputTokens != 1000 {
			t.Errorf("%s: %+v", more, event)
		}
		limited := newBench(t, func(http.ResponseWriter, *http.Request) { t.Error("it passed") }, func(c *Config) { c.Price, c.CostLimit = testPrice, 1 })
		answer := limited.send(t, "POST", chat, request)
		if body := text(t, answer); answer.StatusCode != 403 || !strings.Contains(body, "the request has "+what+", with which") {
			t.Errorf("%s: %d %s", more, answer.StatusCode, body)
		}
	}
	free := newBench(t, priced, func(c *Config) {
		c.Price, c.CostLimit = func(string) (price.Price, bool) { return price.Price{}, true }, 1
	})
	for more, status := range map[string]int{`"service_tier":"priority",`: 200, `"models":["x"],`: 403} {
		if answer := free.send(t, "POST", chat, strings.Replace(ask(1), "{", "{"+more, 1)); answer.StatusCode != status {
			t.Errorf("%s for a free model: %d %s", more, answer.StatusCode, text(t, answer))
		}
	}
	b := newBench(t, priced, func(c *Config) { c.Price, c.CostLimit = testPrice, 1 })
	answer := b.send(t, "POST", chat, strings.Replace(ask(1), "{", `{"service_tier":"default",`, 1))
	if event := b.last(t); answer.StatusCode != 200 || event.Cost != priceOfAnswer {
		t.Errorf("the default tier: %d %+v", answer.StatusCode, event)
	}
}

func TestAToolWithFeesIsRefusedWithALimitOfCost(t *testing.T) {
	request := strings.Replace(ask(1), "{", `{"web_search_options":{},`, 1)
	open := func(c *Config) { c.Price, c.ServerTools = testPrice, []netguard.ServerTool{netguard.WebSearch} }
	b := newBench(t, priced, open)
	if answer := b.send(t, "POST", chat, request); answer.StatusCode != 200 || b.last(t).Cost != priceOfAnswer {
		t.Errorf("without a limit: %d %+v", answer.StatusCode, b.last(t))
	}
	limited := newBench(t, priced, func(c *Config) { open(c); c.CostLimit = 1 })
	if answer := limited.send(t, "POST", chat, request); answer.StatusCode != 403 || !strings.Contains(text(t, answer), "whose fees aibox does not know") {
		t.Errorf("with a limit: %d", answer.StatusCode)
	}
	if answer := limited.send(t, "POST", chat, ask(1)); answer.StatusCode != 200 {
		t.Errorf("a request without the tool: %d", answer.StatusCode)
	}
	free := newBench(t, priced, func(c *Config) {
		open(c)
		c.Price, c.CostLimit = func(string) (price.Price, bool) { return price.Price{}, true }, 1
	})
	if answer := free.send(t, "POST", chat, request); answer.StatusCode != 200 {
		t.Errorf("with a free model: %d", answer.StatusCode)
	}
}

func TestRequestWaitsForTheUsersDecisionAboutABudget(t *testing.T) {
	for name, c := range map[string]struct {
		config  func(*Config)
		reached Limit
	}{
		"tokens": {func(c *Config) { c.TokenLimit = 1100 }, TokenLimit},
		"cost":   {func(c *Config) { c.Price, c.CostLimit = testPrice, priceOfAnswer }, CostLimit},
	} {
		t.Run(name, func(t *testing.T) {
			asked, decide := make(chan Limit), make(chan bool)
			var began, questions atomic.Int32
			b := newBench(t, priced, func(config *Config) {
				c.config(config)
				config.OnRequest = func() { began.Add(1) }
				config.AskMore = func(ctx context.Context, reached Limit, _ int64) bool {
					questions.Add(1)
					asked <- reached
					select {
					case more := <-decide:
						return more
					case <-ctx.Done():
						return false
					}
				}
			})
			if answer := b.send(t, "POST", chat, ask(1)); answer.StatusCode != 200 {
				t.Fatal(answer.StatusCode)
			}
			_ = b.last(t)
			statuses := make(chan int, 2)
			var wait sync.WaitGroup
			for range 2 { // at a time: one question
				wait.Go(func() { statuses <- b.send(t, "POST", chat, ask(1)).StatusCode })
			}
			if reached := <-asked; reached != c.reached || began.Load() != 1 {
				t.Errorf("%v, %d requests count as waiting for the model", reached, began.Load())
			}
			if status := b.send(t, "GET", "/v1/models", "").StatusCode; status != 200 {
				t.Errorf("the list of models waits: %d", status)
			}
			decide <- true
			if first := <-statuses; first != 200 {
				t.Errorf("the answer was yes, and the request got %d", first)
			}
			select {
			case second := <-statuses: // it was admitted together with the first
				if second != 200 {
					t.Errorf("the second request got %d", second)
				}
				wait.Go(func() { statuses <- b.send(t, "POST", chat, ask(1)).StatusCode })
				<-asked
			case <-asked: // the first one has used it up
			}
			decide <- false
			if last := <-statuses; last != 403 {
				t.Errorf("the answer was no, and the request got %d", last)
			}
			wait.Wait()
			if event := b.last(t); event.Limit != c.reached || questions.Load() != 2 {
				t.Errorf("%+v after %d questions", event, questions.Load())
			}
		})
	}
}

// The question stays open, and the session's end would take it away from the user.
func TestARequestThatIsGivenUpDuringAQuestionReachesNoLimit(t *testing.T) {
	gone, cancel := context.WithCancel(t.Context())
	g := &Gateway{tokenLimit: 100, ledger: newLedger(), patience: time.Hour, asking: make(chan struct{}, 1)}
	g.askMore = func(context.Context, Limit, int64) bool { cancel(); return false }
	g.ledger.settle(nil, reservation{tokens: 100})
	c := &call{event: Event{Generates: true}, endpoint: &endpoint{}}
	if refusal, err := g.reserveBudget(gone, c, 100); refusal != nil || !errors.Is(err, errGone) || c.event.Limit != 0 {
		t.Errorf("%+v, %v, the limit %v", refusal, err, c.event.Limit)
	}
}

func TestAYesLeavesRoomForMoreRequests(t *testing.T) {
	for name, c := range map[string]struct {
		config func(*Config)
		times  int64
	}{
		"tokens": {func(c *Config) { c.TokenLimit = 100 }, 12},
		"cost":   {func(c *Config) { c.Price, c.CostLimit = testPrice, priceOfAnswer/10.9 }, 12},
		"slight": {func(c *Config) { c.TokenLimit = 1099 }, 2},
	} {
		var asked []int64
		b := newBench(t, priced, func(config *Config) {
			c.config(config)
			config.AskMore = func(_ context.Context, _ Limit, times int64) bool {
				asked = append(asked, times)
				return true
			}
		})
		for range 2 {
			if answer := b.send(t, "POST", chat, ask(1)); answer.StatusCode != 200 {
				t.Fatalf("%s: %d", name, answer.StatusCode)
			}
			_ = b.last(t)
		}
		if len(asked) != 1 || asked[0] != c.times {
			t.Errorf("%s: the user was asked for %v times the limit", name, asked)
		}
	}
}
