package supervisor

import (
	"context"
	"encoding/json"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"aibox/agents"
	"aibox/config"
	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/auditlog"
)

func TestQuestionAboutABudgetIsOpenOnce(t *testing.T) {
	var b budgets
	first, isNew := b.question(session.RequestCost, 5)
	second, again := b.question(session.RequestCost, 5)
	if _, other := b.question(session.RequestTokens, 2); !isNew || again || first != second || !other {
		t.Error("a question is asked twice, or not at all")
	}
	b.decide(session.RequestCost, true)
	b.decide(session.RequestCost, false) // too late
	if <-first.decided; !first.granted || b.times(session.RequestCost) != 5 || b.times(session.RequestTokens) != 1 {
		t.Errorf("%+v", first)
	}
	third, isNew := b.question(session.RequestCost, 5)
	b.decide(session.RequestCost, false)
	if <-third.decided; !isNew || third.granted || b.times(session.RequestCost) != 5 {
		t.Error("a no is a yes")
	}
}

func TestAnUnattendedSessionDoesNotAskAboutItsBudget(t *testing.T) {
	s := &limits{sandbox: &sandbox{preparation: &preparation{modelWatch: &modelWatch{run: &run{}}}}}
	if s.askForBudget(t.Context(), session.RequestTokens, 2) {
		t.Error("it was granted")
	}
}

func TestCostAndTokensAreCountedByModel(t *testing.T) {
	var all counters
	all.addCall(auditlog.ModelCall{Model: "big", Input: 100, Cached: 60, Output: 10, Cost: 0.5})
	all.addCall(auditlog.ModelCall{Model: "small", Input: 1, Output: 1, Unpriced: true})
	all.addCall(auditlog.ModelCall{Model: "big", Input: 50, Output: 5, Cost: 0.25})
	all.addCall(auditlog.ModelCall{Model: "refused"})
	models := all.models()
	if len(models) != 2 || models[0].Model != "big" || models[0].Tokens != (session.Tokens{Requests: 2, Input: 150, Cached: 60, Output: 15, Cost: 0.75}) || models[1].Tokens.Unpriced != 1 {
		t.Errorf("%+v", models)
	}
	_, tokens := all.result()
	if tokens.Cost != 0.75 || tokens.Unpriced != 1 || all.cost() != 0.75 || tokens.String() != "151 tokens in, 16 out, at least $0.75" {
		t.Errorf("%s, %+v", tokens, tokens)
	}
	text, err := json.Marshal(models[1])
	if err != nil || string(text) != `{"model":"small","tokens":{"requests":1,"input":1,"output":1,"unpriced":1}}` {
		t.Errorf("%s, %v", text, err)
	}
	for want, tokens := range map[string]session.Tokens{
		"": {Input: 5}, "cost unknown": {Unpriced: 1}, "$0.0012": {Cost: 0.00123}, "less than $0.0001": {Cost: 1e-9},
	} {
		if got := tokens.CostText(); got != want {
			t.Errorf("%+v: %q, want %q", tokens, got, want)
		}
	}
	for range 2 * maxModels {
		all.addCall(auditlog.ModelCall{Model: strings.Repeat("x", len(all.models())), Input: 1})
	}
	if n := len(all.models()); n > maxModels {
		t.Errorf("%d models", n)
	}
}

// pricedServer knows the price of one model.
type pricedServer struct{ Inference }

func (pricedServer) Name() string             { return "work" }
func (pricedServer) PriceName() string        { return "work" }
func (pricedServer) Priced(model string) bool { return model == "known" }
func (pricedServer) Free(model string) bool   { return model == "free" }
func (pricedServer) Speaks(string) []agents.Dialect {
	return nil
}
func (pricedServer) Serve(context.Context, net.Listener, ModelAccess) error { return nil }

func TestModelWithoutAPriceIsRefusedUnderACostLimit(t *testing.T) {
	s := &preparation{modelWatch: &modelWatch{run: &run{launch: session.Launch{Spec: session.Spec{Run: config.Run{MaxCost: 250}}}}}}
	if err := s.checkPrices(pricedServer{}, []string{"known"}); err != nil {
		t.Error(err)
	}
	err := s.checkPrices(pricedServer{}, []string{"known", "unknown"})
	if err == nil || fault.KindOf(err) != fault.Usage || !strings.Contains(strings.Join(fault.Hints(err), " "), `prices.toml`) {
		t.Errorf("%v, %q", err, fault.Hints(err))
	}
	s.launch.Spec.MaxCost = 0
	if err := s.checkPrices(pricedServer{}, []string{"unknown"}); err != nil {
		t.Error(err)
	}
}

func TestToolsThatACostLimitRefusesAreReported(t *testing.T) {
	s := &preparation{modelWatch: &modelWatch{run: &run{launch: session.Launch{Spec: session.Spec{Run: config.Run{MaxCost: 250, InferenceTools: []string{"mcp", "web-search"}}}}}}}
	if text := s.refusedForFees(pricedServer{}, "known"); !strings.Contains(text, "with web-search are refused because of --max-cost") {
		t.Errorf("%q", text)
	}
	if text := s.refusedForFees(pricedServer{}, "free"); text != "" {
		t.Errorf("a free model: %q", text)
	}
	s.launch.Spec.InferenceTools = []string{"mcp"}
	if text := s.refusedForFees(pricedServer{}, "known"); text != "" {
		t.Errorf("a tool without fees: %q", text)
	}
	s.launch.Spec.MaxCost, s.launch.Spec.InferenceTools = 0, []string{"web-search"}
	if text := s.refusedForFees(pricedServer{}, "known"); text != "" {
		t.Errorf("without a limit: %q", text)
	}
}

func TestAYesRaisesABudgetOnlyAsFarAsItsQuestionSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := limited(t, time.Hour)
		s.launch.Spec.MaxTokens = 1000
		watching, leave := context.WithCancel(t.Context())
		defer leave()
		go func() { _ = s.WatchRequests(watching, func(any) error { return nil }) }()
		synctest.Wait()
		ask := func(ctx context.Context, times int64) <-chan bool {
			granted := make(chan bool, 1)
			go func() { granted <- s.askForBudget(ctx, session.RequestTokens, times) }()
			synctest.Wait()
			return granted
		}
		short, giveUp := context.WithCancel(t.Context())
		first := ask(short, 2)
		giveUp()
		if <-first {
			t.Error("a request that was given up was granted")
		}
		second := ask(t.Context(), 3)
		for i, want := range []string{"raise the limit to 2000 tokens", "raise the limit to 3000 tokens"} {
			open := s.requests.pending()
			if len(open) != 1 || open[0].Yes != want {
				t.Fatalf("question %d: open are %+v", i, open)
			}
			if err := s.Answer(open[0].ID, string(session.AnswerYes)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		if !<-second {
			t.Error("it was not granted")
		}
		if !<-ask(t.Context(), 3) || len(s.requests.pending()) != 0 {
			t.Error("what the user has granted is asked again")
		}
		s.timeLimit.stop()
	})
}
