package session

import (
	"errors"
	"strings"
	"testing"
	"time"

	"aibox/internal/fault"
	"aibox/internal/screen"
	"aibox/session/control"
	"aibox/session/output"
)

// hanging is a running session whose supervisor takes connections and says nothing, as
// one that hangs does.
func hanging(t *testing.T) (*Sessions, ID) {
	t.Helper()
	store := testStore(t)
	store.timeout = 20 * time.Millisecond
	s := newSessions(Deps{}, store)
	id, err := s.store.Create("codex", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	storeSession(t, s.store, id, State{Phase: Running})
	mine, err := lock(s.store.Dir(id))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := control.Listen(s.store.Dir(id))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(listener.Close(), mine.Close()) })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
		}
	}()
	return s, id
}

func TestCommandsDoNotWaitForASupervisorThatHangs(t *testing.T) {
	for name, ask := range map[string]func(*Sessions, ID) error{
		"stop":   func(s *Sessions, id ID) error { _, err := s.Stop(t.Context(), id, "x"); return err },
		"extend": func(s *Sessions, id ID) error { return s.Extend(t.Context(), id, time.Minute) },
		"answer": func(s *Sessions, id ID) error { return s.Answer(t.Context(), id, 1, AnswerYes) },
		"screen": func(s *Sessions, id ID) error { _, err := s.Screen(t.Context(), id); return err },
		"follow": func(s *Sessions, id ID) error {
			_, err := s.Follow(t.Context(), id, 0, func(output.Chunk) error { return nil })
			return err
		},
		"attach": func(s *Sessions, id ID) error {
			_, err := s.Attach(t.Context(), id, screen.Size{}, screen.Colors(0))
			return err
		},
	} {
		s, id := hanging(t)
		err := ask(s, id)
		hints := strings.Join(fault.Hints(err), "\n")
		if err == nil || fault.KindOf(err) != fault.Environment || !strings.Contains(err.Error(), "does not answer") ||
			!strings.Contains(hints, "aibox stop --force "+string(id)) {
			t.Errorf("%s says %v, %q", name, err, hints)
		}
	}
}
