package limittest

import (
	"context"
	"testing"

	"aibox/runtime/limit"
)

// Suite tests the common behavior of all enforcers. l are limits that this one enforces here.
func Suite(t *testing.T, e limit.Enforcer, l limit.Limits) {
	t.Run("a sandbox can be put under limits", func(t *testing.T) {
		s := Start(t)
		s.Do("child")
		if e.Name() == "" || len(e.Gaps(l)) > 0 {
			t.Fatalf("%q has the gaps %v", e.Name(), e.Gaps(l))
		}
		c, err := e.Enforce(context.Background(), s.Sandbox, l)
		if err != nil {
			t.Fatal(err)
		}
		s.Do("child") // it still works
		select {
		case <-c.OutOfMemory():
			t.Error("the sandbox has used up its memory")
		default:
		}
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("without limits nothing happens to the sandbox", func(t *testing.T) {
		s := Start(t)
		c, err := e.Enforce(context.Background(), s.Sandbox, limit.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		s.Do("child")
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	t.Run("a limit that was not resolved is refused", func(t *testing.T) {
		if _, err := e.Enforce(context.Background(), Start(t).Sandbox, limit.Limits{Memory: -1}); err == nil {
			t.Error("a negative limit was accepted")
		}
	})
	t.Run("a sandbox that has ended is an error", func(t *testing.T) {
		s := Start(t)
		_ = s.Try("exit")
		gone := s.Sandbox
		gone.Process.PID = 1 << 30
		if _, err := e.Enforce(context.Background(), gone, limit.Limits{CPUs: 0.01, Memory: 1 << 30}); err == nil {
			t.Error("nothing was put under limits")
		}
	})
}
