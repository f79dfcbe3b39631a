// Package calllog keeps the log of the API's calls: hash-chained events of package audit, in
// files of a bounded size. A full file is set aside, and the next one begins with its last
// hash, so that the chain covers all files that are kept. It logs no content of a call.
package calllog

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"aibox/audit"
)

const (
	maxFile = 16 << 20 // bytes of a file
	keep    = 8        // files that are set aside
)

// Log is the log. It is safe for concurrent use by one process.
type Log struct {
	path string
	max  int64 // bytes of a file

	mu   sync.Mutex
	log  *audit.Log
	last string // the hash of the newest event
}

// continued is the first event of a file that continues another one.
type continued struct {
	File string `json:"file"` // its name
	Hash string `json:"hash"` // of its last event
}

// Open opens or creates the log at path, whose name ends in .jsonl.
func Open(path string) (*Log, error) { return open(path, maxFile) }

func open(path string, size int64) (*Log, error) {
	l := &Log{path: path, max: size}
	if err := l.finish(); err != nil {
		return nil, err
	}
	var err error
	l.log, err = audit.Open(path)
	return l, err
}

// Append writes one event, and sets the file aside if it is full.
func (l *Log) Append(kind audit.Type, data any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log == nil {
		return errors.New("the log is closed")
	}
	event, err := l.log.Append(kind, data)
	if err != nil {
		return err
	}
	l.last = event.Hash
	info, err := os.Stat(l.path)
	if err != nil || info.Size() < l.max {
		return err
	}
	return l.rotate()
}

// Close closes the log.
func (l *Log) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.log == nil {
		return nil
	}
	err := l.log.Close()
	l.log = nil
	return err
}

// rotate sets the file aside and begins a new one. If that fails, the log is closed.
func (l *Log) rotate() error {
	numbers, err := l.numbers(".last")
	if err != nil {
		return err
	}
	number := 1
	if len(numbers) > 0 {
		number = numbers[len(numbers)-1] + 1
	}
	err, l.log = l.log.Close(), nil
	if err == nil {
		// The record of the end moves first, so that finish can complete a rotation that a
		// crash interrupts.
		err = os.Rename(audit.LastPath(l.path), l.aside(number, ".last"))
	}
	if err == nil {
		err = os.Rename(l.path, l.aside(number, ".jsonl"))
	}
	if err != nil {
		return fmt.Errorf("setting the full log aside: %w", err)
	}
	for _, old := range numbers[:max(0, len(numbers)+1-keep)] {
		err = errors.Join(err, os.Remove(l.aside(old, ".jsonl")), os.Remove(l.aside(old, ".last")))
	}
	log, openErr := audit.Open(l.path)
	if openErr != nil {
		return errors.Join(err, openErr)
	}
	l.log = log
	_, appendErr := log.Append(audit.LogContinued, continued{filepath.Base(l.aside(number, ".jsonl")), l.last})
	return errors.Join(err, appendErr)
}

// finish completes a rotation that was interrupted.
func (l *Log) finish() error {
	numbers, err := l.numbers(".last")
	if err != nil || len(numbers) == 0 {
		return err
	}
	newest := l.aside(numbers[len(numbers)-1], ".jsonl")
	if _, err := os.Lstat(newest); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return os.Rename(l.path, newest)
}

// aside returns the path of a file that was set aside.
func (l *Log) aside(number int, suffix string) string {
	return strings.TrimSuffix(l.path, ".jsonl") + "-" + strconv.Itoa(number) + suffix
}

// numbers returns the numbers of the files that were set aside, the oldest first.
func (l *Log) numbers(suffix string) ([]int, error) {
	entries, err := os.ReadDir(filepath.Dir(l.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	prefix := strings.TrimSuffix(filepath.Base(l.path), ".jsonl") + "-"
	var all []int
	for _, entry := range entries {
		text, isAside := strings.CutPrefix(strings.TrimSuffix(entry.Name(), suffix), prefix)
		if number, err := strconv.Atoi(text); isAside && err == nil && number > 0 && strings.HasSuffix(entry.Name(), suffix) {
			all = append(all, number)
		}
	}
	slices.Sort(all)
	return all, err
}
