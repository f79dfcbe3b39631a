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

// read returns the text above the scissors; empty if there is none, or only what the editor offers.
func (u unsentText) read() (string, error) {
	data, err := os.ReadFile(u.file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	text := aboveScissors(string(data))
	if text == offeredFeedback {
		text = ""
	}
	return text, err
}

// edit lets the user edit the file, which holds template first, and returns the text above the
// scissors, also if the editor fails.
func (u unsentText) edit(template string, editor func(path string) error) (string, error) {
	if err := paths.WriteFile(u.file, []byte(template)); err != nil {
		return "", err
	}
	editErr := editor(u.file)
	data, err := os.ReadFile(u.file)
	if err != nil {
		err = fmt.Errorf("reading the text: %w", err)
	}
	return aboveScissors(string(data)), errors.Join(editErr, err)
}

// untilSent removes the file when start has started a session. Otherwise the error says that the
// user's own text is kept.
func (u unsentText) untilSent(text string, start func() (started bool, err error)) error {
	started, err := start()
	switch {
	case started:
		return errors.Join(err, u.remove())
	case err != nil && text != "" && text != offeredFeedback:
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
