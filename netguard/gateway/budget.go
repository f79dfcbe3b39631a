package gateway

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/netguard/gateway/price"
	"aibox/netguard/gateway/schema"
	"aibox/netguard/gateway/usage"
)

// A session's budgets are its tokens and what they cost. If one is used up, a request for
// an answer or for vectors waits if a user can be asked for more; otherwise it is refused. An
// answer that has started is never cut off.

// awaitBudget waits until the session may ask its model, as long as the user may still
// permit it. checkBudget then checks whether they did.
func (g *Gateway) awaitBudget(ctx context.Context, c *call) {
	if g.askMore == nil || !c.spends() || c.endpoint == nil {
		return
	}
	for {
		reached := g.ledger.reached(g.tokenLimit, g.costLimit)
		if reached == 0 {
			return
		}
		select {
		case g.asking <- struct{}{}:
		case <-ctx.Done():
			return
		}
		granted := g.ledger.reached(g.tokenLimit, g.costLimit) != reached
		if times := g.ledger.raiseTo(reached, g.tokenLimit, g.costLimit); !granted && g.askMore(ctx, reached, times) {
			g.ledger.raise(reached, times)
			granted = true
		}
		<-g.asking
		if !granted {
			return
		}
	}
}

// checkBudget refuses a request that uses a budget when a budget is used up.
func (g *Gateway) checkBudget(c *call) *problem {
	if !c.spends() {
		return nil
	}
	c.event.Limit = g.ledger.reached(g.tokenLimit, g.costLimit)
	switch c.event.Limit {
	case TokenLimit:
		return &problem{status: http.StatusForbidden, message: fmt.Sprintf("this session has used all of the %d tokens that its settings allow", g.ledger.allowed(TokenLimit, g.tokenLimit))}
	case CostLimit:
		return &problem{status: http.StatusForbidden, message: "this session's model has cost all of the " + amount.Cost(g.ledger.allowedCost(g.costLimit)) + " that its settings allow"}
	default:
		return nil
	}
}

// checkPrice refuses a model whose price is not known in a session with a limit of cost, and a tool
// of its server with a fee, unless the model is free: the limit could not be enforced.
func (g *Gateway) checkPrice(c *call) *problem {
	if g.costLimit <= 0 || !c.spends() {
		return nil
	}
	p, known := g.priceOf(c)
	if free := known && p == (price.Price{}); c.fee != 0 && !free {
		return &problem{status: http.StatusForbidden, message: fmt.Sprintf("the request has the tool %s of the model's server, whose fees aibox does not know, so it cannot limit what the answer costs; use inference-tools or max-cost, not both", c.fee)}
	}
	if known {
		return nil
	}
	if c.surcharge != "" {
		return &problem{status: http.StatusForbidden, message: fmt.Sprintf("the request has %s, with which an answer can cost more than the price of the model %q, so aibox cannot limit what it costs", c.surcharge, schema.Printable(c.event.Model))}
	}
	return &problem{status: http.StatusForbidden, message: fmt.Sprintf("the price of the model %q is not known, so aibox cannot limit what it costs", schema.Printable(c.event.Model))}
}

// priceOf returns the price of the call's model. It is not known for a call that can cost more: a
// model that is free is so in every tier.
func (g *Gateway) priceOf(c *call) (price.Price, bool) {
	if g.price == nil || c.several {
		return price.Price{}, false
	}
	p, known := g.price(c.event.Model)
	if c.surcharge != "" && p != (price.Price{}) {
		return price.Price{}, false
	}
	return p, known
}

// spend counts a request against the session's budgets. If a server does not report how
// many tokens it used, or the agent disconnects before it does, the number is estimated,
// rather too high, so that neither evades a limit.
func (g *Gateway) spend(c *call) {
	// A server that drops a connection, or is too slow, has read the request as well.
	unanswered := c.header == nil && (c.event.Outcome == GivenUp || c.event.Outcome == Broken && c.connected.Load())
	if asked, sent := c.body.readFor(); sent && c.spends() && unanswered {
		counts := c.abandoned(asked)
		p, _ := g.priceOf(c)
		g.ledger.settle(c.reserved, reservation{counts.Total(), p.Cost(counts)})
		return
	}
	if !c.spends() || c.header == nil || c.event.Status >= http.StatusBadRequest {
		g.ledger.settle(c.reserved, reservation{})
		return
	}
	counts := c.usage.Counts()
	p, known := g.priceOf(c)
	if counts.Total() > 0 && known {
		c.event.Cost = p.Cost(counts)
	}
	c.event.Unpriced = !known && (counts.Total() > 0 || c.usage.Pieces() > 0)
	counts = g.estimate(c, counts)
	g.ledger.settle(c.reserved, reservation{counts.Total(), p.Cost(counts)})
}

// What is estimated: a token is a few bytes of text, an event of a stream holds a token or
// more, and a model writes that many in a second.
const bytesOfToken, bytesOfEvent, tokensPerSecond = 4, 64, 100

// abandoned estimates what a request has used that the server received so long ago, and
// whose agent disconnected before the answer began. An answer that is not streamed begins
// when the model has written all of it.
func (c *call) abandoned(asked time.Duration) usage.Counts {
	counts := usage.Counts{Input: c.readTokens()}
	if !c.streams && !strings.HasSuffix(c.path, ":streamGenerateContent") {
		counts.Output = c.written(asked)
	}
	return counts
}

// readTokens estimates how many tokens the request has.
func (c *call) readTokens() int64 { return c.sent/bytesOfToken + c.mediaTokens }

// written estimates how many tokens a model has written in a time. It writes all choices at once.
func (c *call) written(during time.Duration) int64 {
	return min(min(int64(during.Seconds()*tokensPerSecond), longestOutput)*max(1, c.choices), c.mostOutput())
}

// estimate adds the tokens that the server did not report to counts.
func (g *Gateway) estimate(c *call, counts usage.Counts) usage.Counts {
	if counts.Input == 0 {
		counts.Input = c.readTokens()
	}
	if c.api().Embeds() {
		return counts
	}
	if counts.Output == 0 || c.hungUp || c.brokeOff {
		per := int64(bytesOfToken)
		if strings.HasPrefix(c.header.Get("Content-Type"), "text/event-stream") {
			per = bytesOfEvent
		}
		counts.Output = max(counts.Output, c.received/per)
	}
	// What the agent did not wait for can be more than what it has received: the server's answer
	// continues in the buffers of connections, and models think without sending anything. A server
	// also breaks off an answer that the agent does not read. Of an answer that is not in the form of its
	// dialect, the received bytes say nothing.
	unknown := c.hungUp || c.brokeOff || c.event.Outcome == NoAnswer && !c.usage.Reported()
	if asked, sent := c.body.readFor(); sent && unknown && !(c.usage.Ended() && c.usage.Reported()) {
		counts.Output = max(counts.Output, c.written(asked))
	}
	return counts
}
