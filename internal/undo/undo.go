// Package undo keeps the steps that undo a function's work so far: register each one right
// after something is made, and release them all on success.
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

// Release drops all steps, so that their results stay.
func (s *Stack) Release() { s.steps = nil }

// Run executes the steps, newest first, and joins their errors. A canceled ctx does not
// stop the cleanup: each step gets ctx's values without its cancellation, and at most limit
// (30 s if limit is 0). After Run the stack is empty, so deferring it together with Release
// is safe.
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
