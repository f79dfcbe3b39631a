package session

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// Recorded is the number of bytes that are recorded of a session's output now.
func (s *Sessions) Recorded(id ID) (int64, error) {
	info, err := os.Stat(filepath.Join(s.store.dir(id), outputFile))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}
