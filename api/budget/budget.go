// Package budget bounds the memory for messages of calls: those that have arrived, and the answers
// that calls collect before they send them. A call reserves bytes, and holds them until it ends. The
// package never measures what a call uses.
package budget

import (
	"context"
	"fmt"
	"sync"

	"aibox/internal/fault"
	"aibox/session"
)

// Budget is what calls can reserve at the same time. It is safe for concurrent use.
type Budget struct {
	what          string // what the bytes are of; it contains %s for who has them
	total, tenant int64  // bytes: of all tenants, and of each

	mu  sync.Mutex
	all int64
	of  map[session.Tenant]int64
}

// New returns a budget of bytes for all tenants together, and for each of them. what names what has
// these bytes, with %s in place of their owner.
func New(what string, total, tenant int64) *Budget {
	return &Budget{what: what, total: total, tenant: tenant, of: map[session.Tenant]int64{}}
}

// Call is what the calls of one request have reserved. A nil Call is not limited.
type Call struct {
	budget *Budget
	tenant session.Tenant
	bytes  int64
}

// Call returns a call of a tenant, which Release must end.
func (b *Budget) Call(tenant session.Tenant) *Call { return &Call{budget: b, tenant: tenant} }

type callKey struct{}

// With returns a context whose calls reserve bytes for a tenant. done frees them; it is called
// once the answer is sent.
func (b *Budget) With(ctx context.Context, tenant session.Tenant) (_ context.Context, done func()) {
	c := b.Call(tenant)
	return context.WithValue(ctx, callKey{}, c), c.Release
}

// Reserve reserves the bytes that the answer of the call of ctx can have, or returns a Limit
// fault with hints. A call without a budget, which no server has received, is not limited.
func Reserve(ctx context.Context, bytes int64, hints ...string) error {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c.Reserve(bytes, hints...)
}

// ReserveAll makes what the call of ctx has reserved at least this large; see Reserve.
func ReserveAll(ctx context.Context, bytes int64) error {
	c, _ := ctx.Value(callKey{}).(*Call)
	return c.ReserveAll(bytes)
}

// Reserve reserves more bytes, or returns a Limit fault with hints.
func (c *Call) Reserve(bytes int64, hints ...string) error {
	if c == nil {
		return nil
	}
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	return c.reserve(bytes, hints)
}

// ReserveAll reserves what is missing to a number of bytes, or returns a Limit fault.
func (c *Call) ReserveAll(bytes int64) error {
	if c == nil {
		return nil
	}
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	return c.reserve(max(bytes-c.bytes, 0), nil)
}

// reserve is Reserve with the budget locked.
func (c *Call) reserve(bytes int64, hints []string) error {
	b := c.budget
	switch {
	case bytes > b.tenant-b.of[c.tenant]:
		return b.full("the tenant", b.tenant, hints)
	case bytes > b.total-b.all:
		return b.full("the server", b.total, hints)
	}
	b.all += bytes
	b.of[c.tenant] += bytes
	c.bytes += bytes
	return nil
}

// full returns the error for a call that exceeds the limit of who.
func (b *Budget) full(who string, limit int64, hints []string) error {
	full := fault.New(fault.Limit, "%s would have more than %d MiB, which is the limit", fmt.Sprintf(b.what, who), limit>>20)
	for _, hint := range hints {
		full = full.Hint("%s", hint)
	}
	return full.Hint("try again when other calls have ended")
}

// Release frees everything that the call has reserved. It can reserve again.
func (c *Call) Release() {
	if c == nil {
		return
	}
	b := c.budget
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all -= c.bytes
	if b.of[c.tenant] -= c.bytes; b.of[c.tenant] == 0 {
		delete(b.of, c.tenant)
	}
	c.bytes = 0
}
