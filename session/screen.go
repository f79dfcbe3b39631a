package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"aibox/internal/paths"
	"aibox/session/control"
)

// screenFile holds what an interactive session's terminal showed at its end, as
// text with colors.
const screenFile = "screen.txt"

// Screen is what the terminal of an interactive session's agent shows, or showed
// when it ended: lines of text with colors, to be passed through screen.Recolor
// before they are shown. ErrNoScreen says that there is none.
func (s *contact) Screen(ctx context.Context, id ID) ([]byte, error) {
	dir := s.store.Dir(id)
	if isLocked(dir) {
		text, err := s.store.dial(id).Screen(ctx)
		if err == nil {
			return text, nil
		}
		if errors.Is(err, control.ErrTimeout) {
			return nil, s.unresponsiveFault(id)
		}
		if !errors.Is(err, control.ErrNoSupervisor) {
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

// WriteScreen stores what the terminal of a session's agent showed last.
func (s Store) WriteScreen(id ID, text []byte) error {
	return paths.WriteFile(filepath.Join(s.Dir(id), screenFile), text)
}
