package workspace

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"aibox/internal/git"
)

// treeEntry is one entry of a raw tree.
type treeEntry struct {
	raw, name, hash []byte
	folder          bool
	submodule       bool
}

// id returns the id of the entry's object.
func (e treeEntry) id() string { return hex.EncodeToString(e.hash) }

// eachEntry calls each with every entry of a raw tree. Its error ends the call.
func eachEntry(raw []byte, format git.Format, each func(treeEntry) error) error {
	for len(raw) > 0 {
		e, err := firstEntry(raw, format)
		if err != nil {
			return err
		}
		if err := each(e); err != nil {
			return err
		}
		raw = raw[len(e.raw):]
	}
	return nil
}

// eachNewEntry is eachEntry for a tree without entries that an earlier version of it has, too. Both
// are in git's order; in another one, more entries than necessary are taken for new.
func eachNewEntry(earlier, raw []byte, format git.Format, each func(treeEntry) error) error {
	for len(raw) > 0 {
		if size := entrySize(raw, format); size > 0 && bytes.HasPrefix(earlier, raw[:size]) {
			earlier, raw = earlier[size:], raw[size:]
			continue
		}
		e, err := firstEntry(raw, format)
		if err != nil {
			return err
		}
		if len(earlier) > 0 {
			was, err := firstEntry(earlier, format)
			if err != nil {
				return err
			}
			if bytes.Compare(was.name, e.name) <= 0 { // it was changed or removed
				earlier = earlier[len(was.raw):]
			}
			if bytes.Compare(was.name, e.name) < 0 {
				continue // compare e with the one after it
			}
		}
		if err := each(e); err != nil {
			return err
		}
		raw = raw[len(e.raw):]
	}
	return nil
}

// entrySize returns the size of the first entry of a raw tree; 0 if it is damaged.
func entrySize(raw []byte, format git.Format) int {
	size := bytes.IndexByte(raw, 0) + 1 + format.Size()
	if size <= format.Size() || size > len(raw) {
		return 0
	}
	return size
}

// firstEntry returns the first entry of a raw tree that is not empty.
func firstEntry(raw []byte, format git.Format) (treeEntry, error) {
	space, end, size := bytes.IndexByte(raw, ' '), bytes.IndexByte(raw, 0), format.Size()
	if space < 0 || end < space || end+1+size > len(raw) {
		return treeEntry{}, errors.New("a tree of the history is damaged")
	}
	// Old versions of some tools wrote 040000 for a folder. Git takes every mode that is
	// none of a file, a symlink or a folder for that of a submodule.
	mode, err := strconv.ParseUint(string(raw[:space]), 8, 32)
	if err != nil {
		return treeEntry{}, fmt.Errorf("a tree of the history has a file of mode %q", raw[:space])
	}
	kind := mode & unix.S_IFMT
	return treeEntry{
		raw: raw[:end+1+size], name: raw[space+1 : end], hash: raw[end+1 : end+1+size],
		folder:    kind == unix.S_IFDIR,
		submodule: kind != unix.S_IFDIR && kind != unix.S_IFREG && kind != unix.S_IFLNK,
	}, nil
}
