package cli

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"aibox/internal/fault"
)

// The end of a run can verify the agent's changes for a long time, after the ctrl-c that ended the agent.
func TestTheNextSignalEndsTheEndOfARun(t *testing.T) {
	received := make(chan os.Signal, 1) // without it, a failure would end the tests
	signal.Notify(received, os.Interrupt)
	defer signal.Stop(received)
	before, cancel := context.WithCancel(t.Context())
	cancel()
	err := untilNextSignal(before, func(ctx context.Context) error {
		if ctx.Err() != nil {
			t.Error("the signal before ends it")
		}
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if fault.KindOf(err) != fault.Interrupted {
		t.Errorf("it ends with %v", err)
	}
}
