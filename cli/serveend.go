package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
)

// endingServer is a server that waits for calls before it ends.
type endingServer interface {
	// Calls returns how many calls run.
	Calls() int
	// EndCalls ends them.
	EndCalls()
}

// watchEnd says that the server waits for calls after ctx has ended, and ends them at the next signal.
// stop waits for it.
func (o *serveOptions) watchEnd(ctx context.Context, server endingServer) (stop func()) {
	ended, end := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	go func() {
		defer close(done)
		select {
		case <-ctx.Done():
		case <-ended.Done():
			return
		}
		// Only now, so that the signal that has ended ctx is not among them.
		signals := make(chan os.Signal, 1)
		signal.Notify(signals, endSignals(os.Interrupt)...)
		defer signal.Stop(signals)
		o.hurry(ended, server, signals)
	}()
	return func() { end(); <-done }
}

// hurry ends the calls of a server when a signal comes before ended.
func (o *serveOptions) hurry(ended context.Context, server endingServer, signals <-chan os.Signal) {
	if server.Calls() > 0 {
		fmt.Fprintf(o.err, "%s waiting up to %.0f seconds for calls to end; press ctrl-c again to end them now\n", o.errTerm.faint("→"), stopGrace.Seconds())
	}
	select {
	case <-signals:
		server.EndCalls()
	case <-ended.Done():
	}
}
