package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aibox/internal/paths"
)

// unsentText is the file of the feedback on a session's work, or of the task of a fork, while no
// session has received it. It is part of the session's record.
type unsentText struct {
	record string // the folder of the record
	fork   bool
}

// file returns the path of the file, which need not exist.
func (u unsentText) file() string {
	name := "unsent-feedback.md"
	if u.fork {
		name = "unsent-task.md"
	}
	return filepath.Join(u.record, name)
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
	return paths.WriteFile(u.file(), []byte(text))
}

// remove removes the file.
func (u unsentText) remove() error {
	if err := os.Remove(u.file()); err != nil && !os.IsNotExist(err) {
		return fmt.Errorf("removing the text that was sent: %w", err)
	}
	return nil
}
