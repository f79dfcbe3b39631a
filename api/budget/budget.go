// Package budget bounds the memory for answers that calls collect before they send them. A call
// reserves the bytes that its answer can have, and holds them until the answer is sent. The
// package never measures what a call uses.
package budget

import (
	"context"
	"sync"

	"aibox/internal/fault"
	"aibox/session"
)

// Budget is what answers can reserve at the same time. It is safe for concurrent use.
type Budget struct {
	total, tenant int64 // bytes: of all tenants, and of each

	mu  sync.Mutex
	all int64
	of  map[session.Tenant]int64
}

// New returns a budget of bytes for all tenants together, and for each of them.
func New(total, tenant int64) *Budget {
	return &Budget{total: total, tenant: tenant, of: map[session.Tenant]int64{}}
}

// call is what the calls of one request have reserved.
type call struct {
	budget *Budget
	tenant session.Tenant
	bytes  int64
}

type callKey struct{}

// With returns a context whose calls reserve bytes for a tenant. done frees them; it is called
// once the answer is sent.
func (b *Budget) With(ctx context.Context, tenant session.Tenant) (_ context.Context, done func()) {
	c := &call{budget: b, tenant: tenant}
	return context.WithValue(ctx, callKey{}, c), c.release
}

// Reserve reserves the bytes that the answer of the call of ctx can have, or returns a Limit
// fault with hints. A call without a budget, which no server has received, is not limited.
func Reserve(ctx context.Context, bytes int64, hints ...string) error {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok {
		return nil
	}
	if full := c.reserve(bytes); full != nil {
		for _, hint := range hints {
			full = full.Hint("%s", hint)
		}
		return full.Hint("try again when other calls have ended")
	}
	return nil
}

func (c *call) reserve(bytes int64) *fault.Fault {
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case bytes > b.tenant-b.of[c.tenant]:
		return full("the tenant", b.tenant)
	case bytes > b.total-b.all:
		return full("the server", b.total)
	}
	b.all += bytes
	b.of[c.tenant] += bytes
	c.bytes += bytes
	return nil
}

// full returns the error for a call that exceeds the limit of who.
func full(who string, limit int64) *fault.Fault {
	return fault.New(fault.Limit, "the answers that %s collects at once would have more than %d MiB, which is the limit", who, limit>>20)
}

func (c *call) release() {
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all -= c.bytes
	if b.of[c.tenant] -= c.bytes; b.of[c.tenant] == 0 {
		delete(b.of, c.tenant)
	}
	c.bytes = 0
}
