package sandbox

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"aibox/session"
)

func TestOnlySomeSandboxesOfATenantStartAtTheSameTime(t *testing.T) {
	limit := ownStartsPerProcessor * runtime.NumCPU()
	var starting, most atomic.Int64
	var once sync.Once
	full, proceed := make(chan struct{}), make(chan struct{})
	launch := LimitStarts(func(context.Context, session.Launch, func(session.Step)) (session.ID, error) {
		now := starting.Add(1)
		defer starting.Add(-1)
		for old := most.Load(); now > old && !most.CompareAndSwap(old, now); old = most.Load() {
		}
		if now == int64(limit) {
			once.Do(func() { close(full) })
		}
		<-proceed
		return "", nil
	})
	var all sync.WaitGroup
	for range limit {
		all.Go(func() { _, _ = launch(context.Background(), session.Launch{}, nil) })
	}
	<-full
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := launch(ctx, session.Launch{}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("a request that was canceled while it waited: %v", err)
	}
	for range 3 {
		all.Go(func() { _, _ = launch(context.Background(), session.Launch{}, nil) })
	}
	close(proceed)
	all.Wait()
	if most.Load() != int64(limit) {
		t.Errorf("%d started at the same time, not %d", most.Load(), limit)
	}
}

// of returns a launch of a tenant.
func of(tenant session.Tenant) session.Launch {
	return session.Launch{Spec: session.Spec{Sandbox: &session.SandboxSpec{Tenant: tenant}}}
}

// One tenant restores large snapshots, which takes long, and wants to restore many more.
func TestATenantDoesNotWaitForTheStartsOfAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		proceed := make(chan struct{})
		var mu sync.Mutex
		started := map[session.Tenant]int{}
		launch := limitStarts(func(_ context.Context, l session.Launch, _ func(session.Step)) (session.ID, error) {
			mu.Lock()
			started[l.Spec.Sandbox.Tenant]++
			mu.Unlock()
			<-proceed
			return "", nil
		}, newTurns(6, 4))
		starts := func(tenant session.Tenant, n int) {
			for range n {
				go func() { _, _ = launch(t.Context(), of(tenant), nil) }()
			}
			synctest.Wait()
		}
		check := func(want map[session.Tenant]int) {
			t.Helper()
			if mu.Lock(); !maps.Equal(started, want) {
				t.Errorf("started are %v, not %v", started, want)
			}
			mu.Unlock()
		}
		starts("many", 100)
		starts("few", 1)
		check(map[session.Tenant]int{"many": 4, "few": 1})
		starts("more", 100)
		check(map[session.Tenant]int{"many": 4, "few": 1, "more": 1})
		starts("new", 1)
		proceed <- struct{}{}
		synctest.Wait()
		check(map[session.Tenant]int{"many": 4, "few": 1, "more": 1, "new": 1})
		close(proceed)
		synctest.Wait()
		check(map[session.Tenant]int{"many": 100, "few": 1, "more": 100, "new": 1})
	})
}
