package cli

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"aibox/session/output"
)

func TestVariablesThatTheUserLacksNowAreNamed(t *testing.T) {
	a, _, errOut := testApp(t)
	t.Setenv("AIBOX_HERE", "x")
	a.warnUnset([]string{"AIBOX_HERE", "AIBOX_GONE"})
	if got := errOut.String(); !strings.Contains(got, "AIBOX_GONE is not set here") || strings.Contains(got, "AIBOX_HERE") {
		t.Errorf("printed %q", got)
	}
}

// fullWriter fails once it is full.
type fullWriter struct{ full bool }

func (w *fullWriter) Write(p []byte) (int, error) {
	if w.full {
		return 0, syscall.ENOSPC
	}
	return len(p), nil
}

func TestALostEndOfAVerificationsOutputIsReported(t *testing.T) {
	w := &fullWriter{}
	begun := func() *agentOutput {
		w.full = false
		o := newAgentOutput(w, w, terminal{interactive: true, color: true}, terminal{interactive: true})
		if err := o.show(output.Chunk{Stream: output.Stdout, Data: []byte("\x1b[31mred")}); err != nil {
			t.Fatal(err)
		}
		w.full = true
		return o
	}
	if err := begun().close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("close: %v", err)
	}
	failed := errors.New("the command failed")
	verify := begun().around(func(context.Context, string) error { return failed })
	if err := verify(t.Context(), ""); !errors.Is(err, syscall.ENOSPC) || !errors.Is(err, failed) {
		t.Errorf("around: %v", err)
	}
}
