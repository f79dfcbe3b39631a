package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"

	"aibox/internal/paths"
)

// screenFile holds what an interactive session's terminal showed at its end, as
// text with colors.
const screenFile = "screen.txt"

// maxScreen bounds a screen as text.
const maxScreen = 16 << 20

// Screen is what the terminal of an interactive session's agent shows, or showed
// when it ended: lines of text with colors, to be passed through screen.Recolor
// before a person sees them. ErrNoScreen says that there is none.
func (s *Sessions) Screen(ctx context.Context, id ID) ([]byte, error) {
	dir := s.store.dir(id)
	if held(dir) {
		response, err := s.store.dial(id).call(ctx, http.MethodGet, "/v1/screen", nil)
		if err == nil {
			defer response.Body.Close()
			return io.ReadAll(io.LimitReader(response.Body, maxScreen))
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
	if err := paths.WriteFile(filepath.Join(s.dir, screenFile), s.term.text()); err != nil {
		fmt.Fprintln(os.Stderr, "storing the last screen:", err)
	}
}
