package sandbox

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"aibox/session"
)

func TestOnlySomeSandboxesStartAtTheSameTime(t *testing.T) {
	limit := startsPerProcessor * runtime.NumCPU()
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
