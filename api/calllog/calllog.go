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

	mu     sync.Mutex
	log    *audit.Log // nil if closed, and after a failure that the next event may overcome
	closed bool
}

// continued is the first event of a file that continues another one.
type continued struct {
	File   string `json:"file"`             // its name
	Hash   string `json:"hash,omitempty"`   // of its last event
	Damage string `json:"damage,omitempty"` // why that cannot be known
}

// Open opens or creates the log at path, whose name ends in .jsonl.
func Open(path string) (*Log, error) { return open(path, maxFile) }

func open(path string, size int64) (*Log, error) {
	l := &Log{path: path, max: size}
	return l, l.begin()
}

// begin opens the file. A new one begins with the end of the newest that was set aside. After a
// failure, begin can be called again.
func (l *Log) begin() error {
	if err := l.finish(); err != nil {
		return err
	}
	log, err := audit.Open(l.path)
	if err != nil {
		return err
	}
	if log.Next() == 0 {
		err = l.link(log)
	}
	if err != nil {
		return errors.Join(err, log.Close())
	}
	l.log = log
	return nil
}

// link writes the first event of a file that continues another one.
func (l *Log) link(log *audit.Log) error {
	numbers, err := l.numbers(".jsonl")
	if err != nil || len(numbers) == 0 {
		return err
	}
	before := l.aside(numbers[len(numbers)-1], ".jsonl")
	link := continued{File: filepath.Base(before)}
	link.Hash, err = lastHash(before)
	if errors.Is(err, audit.ErrBroken) { // it stays damaged, and the server must start nevertheless
		link.Damage, err = err.Error(), nil
	}
	if err == nil {
		_, err = log.Append(audit.LogContinued, link)
	}
	return err
}

// lastHash returns the hash of the last event of a file that was set aside. If the record of its
// end is lost, the file gets a new one, and an event that says so.
func lastHash(path string) (string, error) {
	if hash, err := audit.LastHash(path); err == nil {
		return hash, nil
	}
	log, err := audit.Open(path)
	if err == nil {
		err = log.Close()
	}
	if err != nil {
		return "", err
	}
	return audit.LastHash(path)
}

// Append writes one event, and sets the file aside if it is full.
func (l *Log) Append(kind audit.Type, data any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return errors.New("the log is closed")
	}
	if l.log == nil {
		if err := l.begin(); err != nil {
			return err
		}
	}
	if _, err := l.log.Append(kind, data); err != nil {
		return err
	}
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
	l.closed = true
	if l.log == nil {
		return nil
	}
	err := l.log.Close()
	l.log = nil
	return err
}

// rotate sets the file aside and begins a new one.
func (l *Log) rotate() error {
	numbers, err := l.numbers(".last", ".jsonl") // one of the two can be lost
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
		for _, suffix := range []string{".jsonl", ".last"} {
			if removed := os.Remove(l.aside(old, suffix)); !errors.Is(removed, fs.ErrNotExist) {
				err = errors.Join(err, removed)
			}
		}
	}
	return errors.Join(err, l.begin())
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

// numbers returns the numbers of the files that were set aside and have one of the suffixes, the
// oldest first.
func (l *Log) numbers(suffixes ...string) ([]int, error) {
	entries, err := os.ReadDir(filepath.Dir(l.path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	prefix := strings.TrimSuffix(filepath.Base(l.path), ".jsonl") + "-"
	var all []int
	for _, entry := range entries {
		suffix := filepath.Ext(entry.Name())
		text, isAside := strings.CutPrefix(strings.TrimSuffix(entry.Name(), suffix), prefix)
		if number, err := strconv.Atoi(text); isAside && err == nil && number > 0 && entry.Type().IsRegular() && slices.Contains(suffixes, suffix) {
			all = append(all, number)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), err
}
