package cli

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"aibox/internal/fault"
	"aibox/session"
	"aibox/session/output"
)

// fakeSession ends when it is stopped, and records what it is asked to do.
type fakeSession struct {
	stopped chan struct{}
	asked   []string
}

func (s *fakeSession) Follow(ctx context.Context, id session.ID, _ int64, visit func(output.Chunk) error) (session.Session, error) {
	if err := visit(output.Chunk{Stream: output.Stdout, Data: []byte("half a line")}); err != nil {
		return session.Session{}, err
	}
	select {
	case <-s.stopped:
		return session.Session{Spec: session.Spec{ID: id}}, nil
	case <-ctx.Done():
		return session.Session{}, ctx.Err()
	}
}

func (s *fakeSession) Signal(_ context.Context, _ session.ID, number int) error {
	s.asked = append(s.asked, syscall.Signal(number).String())
	return nil
}

func (s *fakeSession) Stop(context.Context, session.ID, string) (session.Session, error) {
	s.asked = append(s.asked, "stop")
	close(s.stopped)
	return session.Session{}, nil
}

// follow follows a session while signals of the user arrive.
func follow(t *testing.T, signals ...os.Signal) (*fakeSession, string, error) {
	t.Helper()
	queue := make(chan os.Signal, len(signals))
	for _, s := range signals {
		queue <- s
	}
	fake, printed := &fakeSession{stopped: make(chan struct{})}, new(bytes.Buffer)
	f := follower{sessions: fake, id: "0dq4f-codex", output: newAgentOutput(printed, printed, terminal{}, terminal{}), signals: queue}
	_, err := f.run(t.Context(), 0)
	return fake, printed.String(), err
}

func TestAHangUpReturnsAnErrorAndLeavesTheSessionRunning(t *testing.T) {
	fake, printed, err := follow(t, syscall.SIGHUP)
	if fault.KindOf(err) != fault.Interrupted || len(fake.asked) > 0 {
		t.Errorf("error %v, asked %q", err, fake.asked)
	}
	if printed != "half a line" || !slices.Contains(fault.Hints(err), "`aibox attach 0dq4f-codex` follows it") {
		t.Errorf("printed %q, hints %q", printed, fault.Hints(err))
	}
}

func TestTheFirstInterruptAsksTheAgentAndTheSecondStopsTheSession(t *testing.T) {
	fake, printed, err := follow(t, os.Interrupt, os.Interrupt)
	if err != nil || !slices.Equal(fake.asked, []string{"interrupt", "stop"}) {
		t.Errorf("error %v, asked %q", err, fake.asked)
	}
	if !strings.Contains(printed, "the agent was asked to stop") || !strings.Contains(printed, "stopping 0dq4f-codex") {
		t.Errorf("printed %q", printed)
	}
}
