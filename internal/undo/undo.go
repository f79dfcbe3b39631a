// Package undo keeps the steps that take back what a function has made so far:
// register each one right after the thing is made, release them all on success.
package undo

import (
	"context"
	"errors"
	"time"
)

// Stack runs undo steps in reverse order. The zero value is ready to use. It is
// not safe for concurrent use.
type Stack struct {
	steps []func(context.Context) error
}

// Add registers a step. Steps must tolerate that the thing is already gone.
func (s *Stack) Add(step func(context.Context) error) {
	s.steps = append(s.steps, step)
}

// Release forgets every step: what was made stays.
func (s *Stack) Release() { s.steps = nil }

// Run executes the steps, newest first, and joins their errors. A canceled ctx
// does not stop the clean-up: each step gets ctx's values without its
// cancellation and at most limit (30 s when limit is 0). After Run the stack is
// empty, so deferring it beside Release is safe.
func (s *Stack) Run(ctx context.Context, limit time.Duration) error {
	if limit == 0 {
		limit = 30 * time.Second
	}
	var errs []error
	for i := len(s.steps) - 1; i >= 0; i-- {
		stepCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
		errs = append(errs, s.steps[i](stepCtx))
		cancel()
	}
	s.steps = nil
	return errors.Join(errs...)
}
