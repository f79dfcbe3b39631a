package review

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/git"
)

// LFS describes a file that the repository keeps in Git LFS. The baseline has only its
// pointer, and the workspace its content, so their lines cannot be compared.
type LFS struct {
	OldOID  string `json:"old_oid"` // SHA-256 of the content, in hex
	OldSize int64  `json:"old_size"`
	NewOID  string `json:"new_oid,omitempty"` // empty when the file is deleted
}

// maxPointer is more than the size of any pointer in bytes (the specification allows 1023).
const maxPointer = 1024

// parsePointer reads a pointer of Git LFS
// (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md).
func parsePointer(content []byte) (oid string, size int64, ok bool) {
	lines := strings.Split(strings.TrimSuffix(string(content), "\n"), "\n")
	if len(content) > maxPointer || !strings.HasPrefix(lines[0], "version https://git-lfs.github.com/spec/") {
		return "", 0, false
	}
	for _, line := range lines[1:] {
		switch key, value, _ := strings.Cut(line, " "); key {
		case "oid":
			oid = strings.TrimPrefix(value, "sha256:")
		case "size":
			size, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	raw, err := hex.DecodeString(oid)
	return oid, size, err == nil && len(raw) == sha256.Size && size >= 0
}

// FindLFS sets LFS in the changes for whose baseline files stored reports a filter.
func (cs *ChangeSet) FindLFS(ctx context.Context, repo *git.Repo, stored func(Path) bool) error {
	var blobs *git.Blobs
	var err error
	for i := range cs.Changes {
		c, old := &cs.Changes[i], cs.Changes[i].Path
		if c.OldPath != "" {
			old = c.OldPath
		}
		if c.OldBlob == "" || c.Kind == TypeChanged || !stored(old) {
			continue
		}
		if blobs == nil {
			blobs = repo.Blobs(ctx)
		}
		if c.LFS, err = readLFS(blobs, c); err != nil {
			break
		}
	}
	if blobs != nil {
		err = errors.Join(err, blobs.Close())
	}
	return err
}

// readLFS returns the LFS of a changed file in Git LFS, or nil for another one.
func readLFS(blobs *git.Blobs, c *Change) (*LFS, error) {
	if c.OldBlob == c.NewBlob { // the mode
		return nil, nil
	}
	content, cut, err := blobs.ReadWithin(c.OldBlob, maxPointer)
	if err != nil {
		return nil, err
	}
	oid, size, ok := parsePointer(content)
	if cut || !ok {
		return nil, nil
	}
	found := &LFS{OldOID: oid, OldSize: size}
	if c.NewBlob != "" {
		sum := sha256.New()
		if err := blobs.Copy(c.NewBlob, sum); err != nil {
			return nil, err
		}
		found.NewOID = hex.EncodeToString(sum.Sum(nil))
	}
	return found, nil
}

// shortOID is how many digits of an object id of Git LFS are shown.
const shortOID = 10

// DescribeLFS compares the contents of a file in Git LFS: their sizes and shortened ids.
// It is empty for any other file.
func (c *Change) DescribeLFS() string {
	switch l := c.LFS; {
	case l == nil:
		return ""
	case l.NewOID == "":
		return fmt.Sprintf("Git LFS: %s, %.*s", amount.Bytes(l.OldSize), shortOID, l.OldOID)
	default:
		return fmt.Sprintf("Git LFS: %s → %s, %.*s → %.*s", amount.Bytes(l.OldSize), amount.Bytes(c.Size), shortOID, l.OldOID, shortOID, l.NewOID)
	}
}

// Shown returns the hunks for display: without the lines of a Git LFS pointer, which are
// not an older version of the content.
func (f FileDiff) Shown() []Hunk {
	if f.Change.LFS == nil {
		return f.Hunks
	}
	shown := make([]Hunk, len(f.Hunks))
	for i, h := range f.Hunks {
		lines := h.Lines
		h.Lines = nil
		for _, line := range lines {
			if line.Op != '-' {
				line.Op = '+' // even if the pointer has the same line
				h.Lines = append(h.Lines, line)
			}
		}
		shown[i] = h
	}
	return shown
}
