package cli

import (
	"context"
	"fmt"

	"aibox/api/wiring"
	"aibox/app/pool"
	"aibox/internal/fault"
)

// keepWarm keeps sandboxes warm until stop is called, which also ends them.
func (o *serveOptions) keepWarm(ctx context.Context, api *wiring.API) (stop func(), err error) {
	if len(o.warm) == 0 {
		return func() {}, nil
	}
	if o.warmMemory < 0 {
		return nil, fault.New(fault.Usage, "--warm-memory cannot be negative")
	}
	kept, err := o.app.WarmPool(ctx, api.Sandboxes, o.warm, pool.Options{
		Memory: o.warmMemory << 20,
		Log:    func(text string) { fmt.Fprintln(o.err, text) },
	})
	if err != nil {
		return nil, err
	}
	// The pool belongs to the server, not to the call that started it.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() { defer close(done); kept.Run(ctx) }()
	return func() { cancel(); <-done }, nil
}
