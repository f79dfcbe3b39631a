package cli

import (
	"context"
	"os"
	"os/signal"
	"slices"
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

// nohup starts a program with SIGHUP ignored, so that it survives the end of the terminal.
func TestAnIgnoredHangUpStaysIgnored(t *testing.T) {
	for _, ignored := range []bool{false, true} {
		if ignored {
			signal.Ignore(syscall.SIGHUP)
			defer signal.Reset(syscall.SIGHUP)
		}
		err := untilNextSignal(t.Context(), func(context.Context) error {
			if signal.Ignored(syscall.SIGHUP) != ignored {
				t.Errorf("at the end of a run, with SIGHUP ignored %t before, it is ignored %t", ignored, !ignored)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		for name, signals := range map[string][]os.Signal{"end a command": endSignals(), "are passed on": passedSignals()} {
			if slices.Contains(signals, os.Signal(syscall.SIGHUP)) == ignored {
				t.Errorf("with SIGHUP ignored %t before, %v %s", ignored, signals, name)
			}
		}
	}
}
