package workspace

import (
	"bytes"
	"crypto/sha1" //nolint:gosec // git's format
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"os"
	"slices"
	"strconv"

	"aibox/internal/git"
)

// indexEntry is one file of a git index. A zero Stat makes git read the file.
type indexEntry struct {
	git.Entry
	Stat     Stat
	UID, GID uint32 // belong to Stat
	Skip     bool   // skip-worktree: absent, but not deleted
}

// writeIndex writes a git index (see gitformat-index). The entries must be sorted by path.
func writeIndex(file string, format git.Format, entries []indexEntry) error {
	var h hash.Hash = sha1.New() //nolint:gosec // git's format
	if format == git.SHA256 {
		h = sha256.New()
	}
	var out bytes.Buffer
	out.Grow(len(entries) * 128)
	out.WriteString("DIRC")
	out.Write(binary.BigEndian.AppendUint32(nil, indexVersion(entries)))
	out.Write(binary.BigEndian.AppendUint32(nil, uint32(len(entries))))
	for _, e := range entries {
		record, err := e.encode()
		if err != nil {
			return err
		}
		out.Write(record)
	}
	h.Write(out.Bytes())
	out.Write(h.Sum(nil))
	return os.WriteFile(file, out.Bytes(), 0o644) //nolint:gosec // the agent's own, in a private folder
}

// indexVersion returns the oldest version that can hold the entries. Only extended flags need
// version 3, which libraries that agents use, such as GitPython, could not read until recently.
func indexVersion(entries []indexEntry) uint32 {
	if slices.ContainsFunc(entries, func(e indexEntry) bool { return e.Skip }) {
		return 3
	}
	return 2
}

func (e indexEntry) encode() ([]byte, error) {
	mode, err := strconv.ParseUint(string(e.Mode), 8, 32)
	if err != nil {
		return nil, fmt.Errorf("mode %q: %w", e.Mode, err)
	}
	id, err := hex.DecodeString(e.ID)
	if err != nil {
		return nil, err
	}
	words := []uint32{
		uint32(e.Stat.Ctime / 1e9), uint32(e.Stat.Ctime % 1e9),
		uint32(e.Stat.Mtime / 1e9), uint32(e.Stat.Mtime % 1e9),
		0, uint32(e.Stat.Inode), uint32(mode), e.UID, e.GID, uint32(e.Stat.Size),
	}
	record := make([]byte, 0, 72+len(id)+len(e.Path))
	for _, w := range words {
		record = binary.BigEndian.AppendUint32(record, w)
	}
	record = append(record, id...)
	flags := uint16(min(len(e.Path), 0xfff))
	if e.Skip {
		record = binary.BigEndian.AppendUint16(record, flags|0x4000)
		record = binary.BigEndian.AppendUint16(record, 0x4000)
	} else {
		record = binary.BigEndian.AppendUint16(record, flags)
	}
	record = append(record, e.Path...)
	return append(record, make([]byte, 8-len(record)%8)...), nil
}
