package workspace

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
)

// Covers returns a function that reports whether a path is a user's file that the agent did not
// get, or conflicts with one: a folder above such a file, or a path below it. hide are the
// workspace's globs, which decide for old baselines that do not list these files.
func (b *Baseline) Covers(hide []string) func(path string) bool {
	if b.Hidden == nil {
		return recordedGlobs(hide).Match
	}
	hidden, above := map[string]bool{}, map[string]bool{}
	for _, name := range b.Hidden {
		path := string(name)
		hidden[path] = true
		for dir := folderOf(path); dir != "." && !above[dir]; dir = folderOf(dir) {
			above[dir] = true
		}
	}
	return func(path string) bool {
		if hidden[path] || above[path] {
			return true
		}
		for dir := folderOf(path); dir != "." && len(hidden) > 0; dir = folderOf(dir) {
			if hidden[dir] {
				return true
			}
		}
		return false
	}
}

// Covers is Baseline.Covers for the workspace's baseline. Without a baseline it covers
// every path that the globs hide.
func (w *Workspace) Covers() (func(path string) bool, error) {
	file, err := os.Open(w.Baseline)
	if errors.Is(err, fs.ErrNotExist) {
		return (&Baseline{}).Covers(w.Hide), nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	b, err := readHeader(bufio.NewReader(file))
	if err != nil {
		return nil, fmt.Errorf("the baseline %s is damaged: %w", w.Baseline, err)
	}
	return b.Covers(w.Hide), nil
}

// readHeader reads a baseline without its files.
func readHeader(in *bufio.Reader) (*Baseline, error) {
	start := make([]byte, len(magic))
	if _, err := io.ReadFull(in, start); err != nil || !strings.HasPrefix(string(start), magic) {
		return nil, errors.Join(errors.New("it does not begin as a baseline does"), err)
	}
	size, err := binary.ReadUvarint(in)
	if err != nil {
		return nil, err
	}
	b := &Baseline{}
	return b, json.NewDecoder(io.LimitReader(in, int64(min(size, 1<<40)))).Decode(b)
}
