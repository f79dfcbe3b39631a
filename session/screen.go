package session

import (
	"errors"
	"os"
	"path/filepath"

	"aibox/internal/paths"
)

// screenFile holds the final screen of an interactive session's terminal, as text with
// colors.
const screenFile = "screen.txt"

// ErrNoScreen reports that a session has no screen: it was headless, or its supervisor
// died.
var ErrNoScreen = errors.New("the session has no screen")

// ReadScreen returns the final screen of a session's terminal; ErrNoScreen if there is none.
func (s Store) ReadScreen(id ID) ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(s.Dir(id), screenFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, ErrNoScreen
	}
	return text, err
}

// WriteScreen stores the final screen of a session's terminal.
func (s Store) WriteScreen(id ID, text []byte) error {
	return paths.WriteFile(filepath.Join(s.Dir(id), screenFile), text)
}
