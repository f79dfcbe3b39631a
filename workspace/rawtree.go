package workspace

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"strconv"

	"golang.org/x/sys/unix"

	"aibox/internal/git"
)

// treeEntry is one entry of a raw tree.
type treeEntry struct {
	raw, name []byte
	id        string
	folder    bool
	submodule bool
}

// eachEntry calls each with every entry of a raw tree. Its error ends the call.
func eachEntry(raw []byte, format git.Format, each func(treeEntry) error) error {
	for size := format.Size(); len(raw) > 0; {
		space, end := bytes.IndexByte(raw, ' '), bytes.IndexByte(raw, 0)
		if space < 0 || end < space || end+1+size > len(raw) {
			return fmt.Errorf("a tree of the history is damaged")
		}
		// Old versions of some tools wrote 040000 for a folder. Git takes every mode that is
		// none of a file, a symlink or a folder for that of a submodule.
		mode, err := strconv.ParseUint(string(raw[:space]), 8, 32)
		if err != nil {
			return fmt.Errorf("a tree of the history has a file of mode %q", raw[:space])
		}
		kind := mode & unix.S_IFMT
		e := treeEntry{
			raw: raw[:end+1+size], name: raw[space+1 : end], id: hex.EncodeToString(raw[end+1 : end+1+size]),
			folder:    kind == unix.S_IFDIR,
			submodule: kind != unix.S_IFDIR && kind != unix.S_IFREG && kind != unix.S_IFLNK,
		}
		if err := each(e); err != nil {
			return err
		}
		raw = raw[len(e.raw):]
	}
	return nil
}
