package session

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"aibox/internal/fault"

	"golang.org/x/sys/unix"
)

const (
	reserveFile = "reserve"

	// reserveSize is the room that a session's result, log and list of changes
	// need, with some to spare.
	reserveSize = 2 << 20
)

// reserve takes room on the session's disk while the session runs, so that its
// result can be stored even when its own output has filled the disk.
func reserve(dir string) error {
	file, err := os.OpenFile(filepath.Join(dir, reserveFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = unix.Fallocate(int(file.Fd()), 0, 0, reserveSize)
	if errors.Is(err, unix.EOPNOTSUPP) {
		_, err = file.Write(make([]byte, reserveSize))
	}
	if err = errors.Join(err, file.Close()); errors.Is(err, unix.ENOSPC) {
		return fault.New(fault.Environment, "the disk of %s is full", dir).Hint("make room there: `aibox rm` removes old sessions")
	}
	if err != nil {
		return fmt.Errorf("reserving room for the session's result: %w", err)
	}
	return nil
}

// unreserve gives the room back. That there is none is no error.
func unreserve(dir string) error {
	err := os.Remove(filepath.Join(dir, reserveFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
