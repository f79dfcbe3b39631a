package supervisor

import (
	"context"
	"fmt"
	"sync"
	"time"

	"aibox/audit"
	"aibox/internal/amount"
	"aibox/session"
)

// budgets are the questions about a session's limits of tokens and cost, while a request
// waits for the user's decision. The zero value is ready, and safe for concurrent use.
type budgets struct {
	mu     sync.Mutex
	open   map[string]*budgetQuestion // by Request.What
	raised map[string]int64           // the multiple of its first amount to which the user has raised each one
}

// budgetQuestion is a question to the user about a budget.
type budgetQuestion struct {
	decided chan struct{} // closed when there is a decision
	times   int64         // the multiple of the first amount to which a yes raises the budget
	granted bool
}

// question returns the question whether to raise a budget to a multiple, times, of its
// first amount. isNew reports that it has not been asked yet.
func (b *budgets) question(what string, times int64) (q *budgetQuestion, isNew bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if q := b.open[what]; q != nil {
		return q, false
	}
	q = &budgetQuestion{decided: make(chan struct{}), times: times}
	if b.open == nil {
		b.open, b.raised = map[string]*budgetQuestion{}, map[string]int64{}
	}
	b.open[what] = q
	return q, true
}

// decide ends the question about a budget, if there is one.
func (b *budgets) decide(what string, granted bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	q := b.open[what]
	if q == nil {
		return
	}
	delete(b.open, what)
	if q.granted = granted; granted {
		b.raised[what] = q.times
	}
	close(q.decided)
}

// times returns the current multiple of a budget's first amount.
func (b *budgets) times(what string) int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return max(1, b.raised[what])
}

// budgetWait is how long a request to the model waits for the user's decision. A model
// client waits about as long for an answer.
const budgetWait = 10 * time.Minute

// askForBudget asks the user whether to raise a limit that the session has reached to a
// multiple, times, of its first amount, and waits for the decision. In an unattended
// session it does not ask, because the session must not wait. The decision is valid even if
// the request that waits for it is given up. A yes to a smaller multiple is followed by
// another question.
func (s *limits) askForBudget(ctx context.Context, what string, times int64) bool {
	for s.budgets.times(what) < times {
		if !s.askOnce(ctx, what, times) {
			return false
		}
	}
	return true
}

// askOnce waits for the decision about the open question about a limit, or asks it if there is
// none.
func (s *limits) askOnce(ctx context.Context, what string, times int64) bool {
	if _, watched := s.requests.watched(); !watched {
		return false
	}
	q, isNew := s.budgets.question(what, times)
	if isNew {
		limit := s.describeBudget(what, s.budgets.times(what))
		r, asked := s.ask(session.Request{
			What: what, Until: time.Now().Add(budgetWait).UTC(),
			Question: fmt.Sprintf("%s has used up its limit of %s for the model. Its next request waits. Without an answer the session is ended; its work so far is kept.", s.id, limit),
			Yes:      "raise the limit to " + s.describeBudget(what, times), No: "let it end",
		}, func(answer session.Answer) error { s.decideBudget(what, answer.Allows()); return nil })
		if !asked {
			s.budgets.decide(what, false)
			return false
		}
		expire := time.AfterFunc(budgetWait, func() { s.requests.expire(r.ID) })
		go func() { <-q.decided; expire.Stop() }() // every question ends
	}
	select {
	case <-q.decided:
		return q.granted
	case <-ctx.Done():
		return false
	}
}

// decideBudget applies the user's decision.
func (s *limits) decideBudget(what string, granted bool) {
	before := s.budgets.times(what)
	s.budgets.decide(what, granted)
	if granted {
		after := s.budgets.times(what)
		s.audit(audit.LimitExtended, map[string]string{"limit": what, "by": s.describeBudget(what, after-before), "value": s.describeBudget(what, after)})
	}
}

// describeBudget describes a multiple of the first amount of a budget.
func (s *limits) describeBudget(what string, times int64) string {
	if what == session.RequestCost {
		return amount.Cost(s.launch.Spec.MaxCost.Dollars() * float64(times))
	}
	return fmt.Sprintf("%d tokens", int64(s.launch.Spec.MaxTokens)*times)
}
