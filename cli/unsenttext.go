package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"aibox/internal/paths"
	"aibox/session"
	"aibox/ui/page"
)

// unsentText is the file of the feedback on a session's work, or of the task of a fork, while no
// session has received it. It is part of the session's record.
type unsentText struct {
	file string
	key  string // the key that opens it again
}

func newUnsentText(of page.SendBack) (unsentText, error) {
	dirs, err := paths.Default()
	if err != nil {
		return unsentText{}, err
	}
	name, key := "unsent-feedback.md", "S"
	if of.Fork {
		name, key = "unsent-task.md", "F"
	}
	return unsentText{filepath.Join(session.NewStore(dirs).Dir(of.ID), name), key}, nil
}

// read returns the text; empty if there is none.
func (u unsentText) read() (string, error) {
	data, err := os.ReadFile(u.file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return string(data), err
}

// whileUnsent keeps text until start has started a session with it. It does not keep the text that the
// editor offers to everyone.
func (u unsentText) whileUnsent(text, offered string, start func() (started bool, err error)) error {
	own := text != offered && text != ""
	var keepErr error
	if own {
		keepErr = paths.WriteFile(u.file, []byte(text))
	}
	started, err := start()
	switch {
	case started:
		return errors.Join(err, u.remove())
	case err != nil && keepErr != nil:
		return errors.Join(err, fmt.Errorf("your text is lost: %w", keepErr))
	case err != nil && own:
		return fmt.Errorf("%w; your text is kept, and %s opens it again", err, u.key)
	}
	return err
}

// remove removes the file.
func (u unsentText) remove() error {
	if err := os.Remove(u.file); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("removing the text that was sent: %w", err)
	}
	return nil
}
