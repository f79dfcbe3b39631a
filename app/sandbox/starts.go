package sandbox

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"aibox/session"
)

// Numbers of concurrent starts for each processor. More starts do not end earlier in total, and on
// a busy machine they may run into their timeouts.
const (
	startsPerProcessor = 3
	// ownStartsPerProcessor is the part of one tenant. The rest is for the others: a start can
	// take minutes, because the restore of a large snapshot reads all of it.
	ownStartsPerProcessor = 2
)

// LimitStarts returns a Launch that starts a limited number of sandboxes at the same time, and
// fewer of one tenant. The others wait for their turn, or until ctx ends.
func LimitStarts(launch Launch) Launch {
	return limitStarts(launch, newTurns(startsPerProcessor*runtime.NumCPU(), ownStartsPerProcessor*runtime.NumCPU()))
}

func limitStarts(launch Launch, starts *turns) Launch {
	return func(ctx context.Context, l session.Launch, step func(session.Step)) (session.ID, error) {
		var tenant session.Tenant
		if l.Spec.Sandbox != nil {
			tenant = l.Spec.Sandbox.Tenant
		}
		done, err := starts.take(ctx, tenant)
		if err != nil {
			return "", err
		}
		defer done()
		return launch(ctx, l, step)
	}
}

// turns are a number of turns that tenants share. The next one is for the waiting tenant that has
// the fewest, so that no tenant has to wait for all requests of another one. It is safe for
// concurrent use.
type turns struct {
	own int // maximum of one tenant

	mu      sync.Mutex
	free    int
	of      map[session.Tenant]int
	waiting []*turn // oldest first
}

// turn is a request for a turn.
type turn struct {
	tenant session.Tenant
	begun  chan struct{} // closed when it has its turn
}

func newTurns(all, own int) *turns {
	return &turns{own: own, free: all, of: map[session.Tenant]int{}}
}

// take waits for a turn of a tenant, or until ctx ends. done ends the turn.
func (t *turns) take(ctx context.Context, tenant session.Tenant) (done func(), err error) {
	next := &turn{tenant, make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, next)
	t.assign()
	t.mu.Unlock()
	select {
	case <-next.begun:
	case <-ctx.Done():
		if t.leave(next) {
			return nil, ctx.Err()
		}
	}
	return func() { t.end(tenant) }, nil
}

// assign gives free turns to those that wait. t.mu is held.
func (t *turns) assign() {
	for t.free > 0 {
		best := -1
		for i, w := range t.waiting {
			if of := t.of[w.tenant]; of < t.own && (best < 0 || of < t.of[t.waiting[best].tenant]) {
				best = i
			}
		}
		if best < 0 {
			return
		}
		next := t.waiting[best]
		t.waiting = slices.Delete(t.waiting, best, best+1)
		t.free--
		t.of[next.tenant]++
		close(next.begun)
	}
}

// leave removes a request that no longer waits. It returns false if the request has its turn.
func (t *turns) leave(next *turn) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.waiting, next)
	if i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
	}
	return i >= 0
}

func (t *turns) end(tenant session.Tenant) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.free++
	if t.of[tenant]--; t.of[tenant] == 0 {
		delete(t.of, tenant)
	}
	t.assign()
}
