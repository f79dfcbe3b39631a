package audit

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"

	"aibox/internal/paths"
)

// mark is the place of an event in a log. The mark of the last event is kept in a file
// beside the log. The file has a fixed size and is overwritten in place, which also works
// on a full disk.
type mark struct {
	seq  int // -1 for an empty log
	hash string
}

// unknown is the mark of a log whose end is not recorded.
var unknown = mark{seq: -1}

// LastPath returns the file that records the last event of the log at path.
func LastPath(path string) string { return strings.TrimSuffix(path, ".jsonl") + ".last" }

// markSize is the size of an encoded mark in bytes.
const markSize = 10 + 1 + 64 + 1

// encode returns the content of the file.
func (m mark) encode() []byte { return fmt.Appendf(nil, "%-10d %-64s\n", m.seq, m.hash) }

// write overwrites the content of the file.
func (m mark) write(file *os.File) error {
	_, err := file.WriteAt(m.encode(), 0)
	return err
}

// parseMark returns the mark in the content of a file. It returns unknown for any other content,
// which a power cut can leave there.
func parseMark(data []byte) mark {
	number, rest, _ := strings.Cut(string(data), " ")
	seq, err := strconv.ParseUint(number, 10, 31)
	m := mark{int(seq), strings.TrimSpace(rest)}
	if err != nil || string(m.encode()) != string(data) || strings.Trim(m.hash, "0123456789abcdef") != "" || len(m.hash) != sha256.Size*2 {
		return unknown
	}
	return m
}

// readLast returns the recorded end of the log at path.
func readLast(path string) (mark, error) {
	data, err := paths.ReadSmall(LastPath(path), markSize)
	if errors.Is(err, fs.ErrNotExist) {
		return unknown, nil
	}
	if err != nil {
		return unknown, fmt.Errorf("reading the recorded end of the log: %w", err)
	}
	return parseMark(data), nil
}

// LastNumber returns the number of the last event of the log at path, as recorded; -1 if there is
// no record.
func LastNumber(path string) int {
	last, err := readLast(path)
	if err != nil {
		return unknown.seq
	}
	return last.seq
}

// LastHash returns the hash of the last event of the log at path, as recorded.
func LastHash(path string) (string, error) {
	last, err := readLast(path)
	if err == nil && last == unknown {
		err = fmt.Errorf("the end of %s is not recorded", path)
	}
	return last.hash, err
}

// openLast opens the file that records the end of the log at path.
func openLast(path string) (*os.File, error) {
	return os.OpenFile(LastPath(path), os.O_WRONLY|os.O_CREATE, 0o600)
}
