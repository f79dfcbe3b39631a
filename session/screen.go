package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"aibox/internal/paths"
)

// screenFile holds what an interactive session's terminal showed at its end, as
// text with colors.
const screenFile = "screen.txt"

// Screen is what the terminal of an interactive session's agent shows, or showed
// when it ended: lines of text with colors, to be passed through screen.Recolor
// before a person sees them. ErrNoScreen says that there is none.
func (s *Sessions) Screen(ctx context.Context, id ID) ([]byte, error) {
	dir := s.store.dir(id)
	if held(dir) {
		text, err := s.store.dial(id).screen(ctx)
		if err == nil {
			return text, nil
		}
		if errors.Is(err, errSilent) {
			return nil, s.silent(id)
		}
		if !errors.Is(err, errNoSupervisor) {
			return nil, fmt.Errorf("%w: %w", ErrNoScreen, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, screenFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrNoScreen
	}
	return text, err
}

// ErrNoScreen says that a session has no screen: it was headless, or its supervisor
// died.
var ErrNoScreen = errors.New("the session has no screen")

// keepScreen stores what the terminal shows last.
func (s *supervisor) keepScreen() {
	if s.term == nil {
		return
	}
	if err := s.store.writeScreen(s.id, s.term.text()); err != nil {
		fmt.Fprintln(os.Stderr, "storing the last screen:", err)
	}
}

// writeScreen stores what the terminal of a session's agent showed last.
func (s store) writeScreen(id ID, text []byte) error {
	return paths.WriteFile(filepath.Join(s.dir(id), screenFile), text)
}
