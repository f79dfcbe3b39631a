package session

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Tail is at most the last limit bytes of what the agent said, both streams in the
// order in which they came, raw. A session without output has none.
func (s *Sessions) Tail(id ID, limit int64) ([]byte, error) {
	file, err := os.Open(filepath.Join(s.store.dir(id), outputFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	return io.ReadAll(io.NewSectionReader(file, max(0, info.Size()-limit), limit))
}
