package gateway

import (
	"context"
	"net/http"
	"time"

	"aibox/netguard/gateway/price"
	"aibox/netguard/gateway/usage"
)

// Requests that run at the same time do not exceed a budget together: each one reserves what
// it can use at most, until its answer has ended and what it really used is known. A
// request waits while those in flight could already use up a budget. So a session exceeds a
// budget by one answer at most, as it does if its requests come one after another. What a
// server-side tool reads, and the answer that a request continues by its ID, are not in a
// reservation, and the tokens of pictures and documents are an estimate.

const (
	// budgetPatience is how long a request waits for others. Then it is refused with a status
	// after which clients try again, so a client that never reads its answers blocks nothing
	// forever.
	budgetPatience = 5 * time.Minute
	// longestOutput is how many tokens are reserved for one choice of an answer whose request
	// does not limit them. Models write less.
	longestOutput = 128 << 10
	// mostReserved bounds the output that is reserved for one answer.
	mostReserved = 16 * longestOutput
)

// reservation is a part of a session's budgets: tokens, and their cost in US dollars.
type reservation struct {
	tokens int64
	cost   float64
}

// reserveBudget waits until the call has its part of the session's budgets. It returns the
// reason why the request is refused, or errGone. size is the number of bytes that it sends.
func (g *Gateway) reserveBudget(ctx context.Context, c *call, size int64) (*problem, error) {
	if !c.spends() || g.tokenLimit <= 0 && g.costLimit <= 0 {
		return nil, nil
	}
	p, _ := g.priceOf(c)
	part := mostUsed(size+c.mediaTokens, c.mostOutput(), p)
	timeout := time.NewTimer(g.patience)
	defer timeout.Stop()
	for {
		g.awaitBudget(ctx, c)
		if ctx.Err() != nil { // nobody has decided: the question can still be open
			return nil, errGone
		}
		admitted, changed := g.ledger.admit(part, g.tokenLimit, g.costLimit)
		if admitted {
			c.reserved = &part
			return nil, nil
		}
		if changed == nil {
			return g.checkBudget(c), nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, errGone
		case <-timeout.C:
			return &problem{status: http.StatusTooManyRequests, message: "the answers in progress could use up what is left of the session's tokens or cost"}, nil
		}
	}
}

// mostOutput returns how many tokens an answer can have at most.
func (c *call) mostOutput() int64 {
	if c.api().Embeds() {
		return 0
	}
	if c.output > 0 {
		return min(c.output, mostReserved)
	}
	return min(max(1, c.choices), mostReserved/longestOutput) * longestOutput
}

// mostUsed returns what an answer can use at most. size is the most tokens that the request can have:
// no text has more than bytes. output is the most tokens that the answer can have.
func mostUsed(size, output int64, p price.Price) reservation {
	counts := usage.Counts{Input: size, Output: output}
	cost := p.Cost(counts)
	for _, long := range []int64{0, size} { // a server can ask more for what it stores in its cache
		counts.CacheWrite, counts.CacheWriteLong = size, long
		cost = max(cost, p.Cost(counts))
	}
	return reservation{counts.Total(), cost}
}

// admit reserves a part of the budgets. If the requests in flight could already use up a
// budget, it returns a channel that is closed when this may have changed. It returns no
// channel if a budget is used up.
func (l *ledger) admit(part reservation, tokens int64, cost float64) (admitted bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.reachedWith(reservation{}, tokens, cost) != 0:
		return false, nil
	case l.inFlight > 0 && l.reachedWith(l.reserved, tokens, cost) != 0:
		return false, l.changed
	}
	l.inFlight++
	l.reserved.tokens += part.tokens
	l.reserved.cost += part.cost
	return true, nil
}

// settle counts what a request has used, and ends its reservation; nil if it has none.
func (l *ledger) settle(part *reservation, used reservation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.tokens += used.tokens
	l.cost += used.cost
	if part == nil {
		return
	}
	l.inFlight--
	l.reserved.tokens -= part.tokens
	l.reserved.cost -= part.cost
	if l.inFlight == 0 {
		l.reserved = reservation{} // without what rounding leaves
	}
	l.change()
}

// change wakes the requests that wait for a part of the budgets. The caller holds the lock.
func (l *ledger) change() {
	close(l.changed)
	l.changed = make(chan struct{})
}
