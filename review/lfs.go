package review

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"aibox/internal/amount"
	"aibox/internal/git"
	"aibox/review/risk"
)

// LFS describes a file that the repository keeps in Git LFS. The baseline has only its
// pointer, and the workspace its content, so their lines cannot be compared.
type LFS struct {
	OldOID  string `json:"old_oid"` // SHA-256 of the content, in hex
	OldSize int64  `json:"old_size"`
	NewOID  string `json:"new_oid,omitempty"` // empty when the file is deleted
	NewSize int64  `json:"new_size,omitempty"`
	Pointer bool   `json:"pointer,omitempty"` // the new file is a pointer itself, which git-lfs stores unchanged
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
	content, _, err := blobs.ReadWithin(c.OldBlob, risk.MaxPointer)
	if err != nil {
		return nil, err
	}
	oid, size, ok := risk.Pointer(content)
	if !ok {
		return nil, nil
	}
	found := &LFS{OldOID: oid, OldSize: size, NewSize: c.Size}
	if c.NewBlob != "" && c.Size <= risk.MaxPointer {
		if content, _, err = blobs.ReadWithin(c.NewBlob, risk.MaxPointer); err != nil {
			return nil, err
		}
		if oid, size, ok := risk.Pointer(content); ok {
			found.NewOID, found.NewSize, found.Pointer = oid, size, true
			return found, nil
		}
	}
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
	case l.Pointer:
		return l.describe(l.NewSize) + " by a pointer to content that is not here"
	default:
		return l.describe(c.Size)
	}
}

func (l *LFS) describe(size int64) string {
	return fmt.Sprintf("Git LFS: %s → %s, %.*s → %.*s", amount.Bytes(l.OldSize), amount.Bytes(size), shortOID, l.OldOID, shortOID, l.NewOID)
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
