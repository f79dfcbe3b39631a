package main

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// lateContext is a context that delays the first caller of Done, as a busy machine does.
type lateContext struct {
	context.Context
	calls int
}

func (c *lateContext) Done() <-chan struct{} {
	if c.calls++; c.calls == 50 {
		time.Sleep(100 * time.Millisecond)
	}
	return c.Context.Done()
}

func TestADelayedRequestIsMadeAndCountsFromWhenItWasDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const apart = 5 * time.Millisecond
		begin := time.Now()
		made := 0
		answers, reached, err := steadily(&lateContext{Context: t.Context()}, 200, apart, func() error {
			made++
			return nil
		})
		if took := time.Since(begin); err != nil || took > 199*apart || made != 200 || reached < 199 || reached > 201 {
			t.Errorf("%v: %d requests in %v, %v a second", err, made, took, reached)
		}
		slowest := time.Duration(0)
		for _, one := range answers {
			slowest = max(slowest, one.took)
		}
		if slowest < 90*time.Millisecond {
			t.Errorf("the slowest request took %v", slowest)
		}
	})
}

func TestARateThatIsNotReachedIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, reached, err := steadily(&lateContext{Context: t.Context(), calls: 40}, 10, 5*time.Millisecond, func() error { return errors.New("no") })
		if err != nil || reached > 80 {
			t.Errorf("%v, %v a second", err, reached)
		}
	})
}

// slowClaims takes long to give out a warm sandbox; some of its sandboxes are cold.
type slowClaims struct{ made int }

func (s *slowClaims) awaitWarm(context.Context) error { return nil }

func (s *slowClaims) claim(context.Context) (id string, warm bool, err error) {
	if s.made++; s.made%3 == 0 {
		return "cold", false, nil
	}
	time.Sleep(2 * time.Second)
	return "warm", true, nil
}

func (s *slowClaims) run(context.Context, string) error     { return nil }
func (s *slowClaims) Destroy(context.Context, string) error { return nil }

func TestASlowClaimOfAWarmSandboxIsMeasured(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		rows, err := measureClaims(t.Context(), &slowClaims{}, 100)
		if err != nil || len(rows) != 2 || len(rows[0].All) != 100 || rows[0].Ours != 2000 || rows[1].Ours != 2000 || rows[1].Met {
			t.Errorf("%+v, %v", rows, err)
		}
	})
}
