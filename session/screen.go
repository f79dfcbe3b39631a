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

// screenFile holds the final screen of an interactive session's terminal, as text with
// colors.
const screenFile = "screen.txt"

// Screen returns the current or final screen of an interactive session's terminal: lines of
// text with colors, which must pass through screen.Recolor before they are shown. Without
// a screen it returns ErrNoScreen.
func (s *supervisorClient) Screen(ctx context.Context, id ID) ([]byte, error) {
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

// ErrNoScreen reports that a session has no screen: it was headless, or its supervisor
// died.
var ErrNoScreen = errors.New("the session has no screen")

// WriteScreen stores the final screen of a session's terminal.
func (s Store) WriteScreen(id ID, text []byte) error {
	return paths.WriteFile(filepath.Join(s.Dir(id), screenFile), text)
}
