package cli

import (
	"context"
	"fmt"
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

// setIgnored sets whether a signal is ignored, for the rest of the test. The tests can be started with it ignored.
func setIgnored(t *testing.T, s os.Signal, ignored bool) {
	t.Helper()
	before := signal.Ignored(s)
	set := func(ignored bool) {
		if ignored {
			signal.Ignore(s)
			return
		}
		received := make(chan os.Signal, 1)
		signal.Notify(received, s) // unlike Reset, it changes what Ignored returns
		signal.Stop(received)
	}
	set(ignored)
	t.Cleanup(func() { set(before) })
}

// nohup starts a program with SIGHUP ignored, so that it survives the end of the terminal. A script starts a
// program in the background with SIGINT ignored, so that ctrl-c ends only the script.
func TestAnIgnoredSignalStaysIgnored(t *testing.T) {
	for _, s := range []os.Signal{syscall.SIGHUP, os.Interrupt} {
		for _, ignored := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v ignored %t", s, ignored), func(t *testing.T) {
				setIgnored(t, s, ignored)
				err := untilNextSignal(t.Context(), func(context.Context) error {
					if signal.Ignored(s) != ignored {
						t.Errorf("at the end of a run it is ignored %t", !ignored)
					}
					return nil
				})
				if err != nil {
					t.Error(err)
				}
				for name, signals := range map[string][]os.Signal{"end a command": endSignals(os.Interrupt), "are passed on": passedSignals()} {
					if slices.Contains(signals, s) == ignored {
						t.Errorf("%v %s", signals, name)
					}
				}
			})
		}
	}
}

func TestAnIgnoredInterruptStaysIgnoredForTheWholeProgram(t *testing.T) {
	setIgnored(t, os.Interrupt, true)
	var c console
	c.untilSignal(t.Context())
	t.Cleanup(func() { signal.Stop(c.interrupts) })
	if !signal.Ignored(os.Interrupt) {
		t.Error("the program receives it")
	}
	setIgnored(t, os.Interrupt, true)
	c.ignoreInterrupts()()
	if !signal.Ignored(os.Interrupt) {
		t.Error("the program receives it after an editor")
	}
}
