package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aibox/internal/paths"
	"aibox/ui/page"
)

// unsentText is the file of the feedback on a session's work, or of the task of a fork, while no
// session has received it.
type unsentText struct {
	dir string
	of  page.SendBack
}

// file returns the path of the file, which need not exist.
func (u unsentText) file() string {
	name := string(u.of.ID)
	if u.of.Fork {
		name += ".fork"
	}
	return filepath.Join(u.dir, name+".md")
}

// read returns the text above the scissors; empty if there is none.
func (u unsentText) read() string {
	data, err := os.ReadFile(u.file())
	if err != nil {
		return "" // mostly because there is none
	}
	text, _, _ := strings.Cut("\n"+string(data), "\n"+scissors)
	return strings.TrimSpace(text)
}

// write replaces the file.
func (u unsentText) write(text string) error {
	if err := os.MkdirAll(u.dir, 0o700); err != nil {
		return fmt.Errorf("keeping the text: %w", err)
	}
	return paths.WriteFile(u.file(), []byte(text))
}

// remove removes the file, and its folder if it is empty then.
func (u unsentText) remove() error {
	if err := os.Remove(u.file()); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("removing the text that was sent: %w", err)
	}
	_ = os.Remove(u.dir) // it has other texts
	return nil
}
