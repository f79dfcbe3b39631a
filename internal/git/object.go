package git

import (
	"context"
	"crypto/sha1" //nolint:gosec // git's object ids are SHA-1 by format
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strconv"
)

// Format is a repository's object format.
type Format string

// The formats of git.
const (
	SHA1   Format = "sha1"
	SHA256 Format = "sha256"
)

// Known reports whether f is one of them.
func (f Format) Known() bool { return f == SHA1 || f == SHA256 }

// Size returns the length of an object id in bytes.
func (f Format) Size() int {
	if f == SHA256 {
		return sha256.Size
	}
	return sha1.Size
}

// Blob starts the hash of a blob of size bytes; write the content to it.
func (f Format) Blob(size int64) hash.Hash {
	h := f.hash()
	header := strconv.AppendInt([]byte("blob "), size, 10)
	h.Write(append(header, 0))
	return h
}

// hash returns a new hash of the format.
func (f Format) hash() hash.Hash {
	if f == SHA256 {
		return sha256.New()
	}
	return sha1.New() //nolint:gosec // see the import
}

// BlobID returns the id of a blob with this content.
func (f Format) BlobID(content []byte) string {
	h := f.Blob(int64(len(content)))
	h.Write(content)
	return hex.EncodeToString(h.Sum(nil))
}

// Mode is the kind of a tree entry, in git's octal.
type Mode string

// The modes a tree can hold.
const (
	File       Mode = "100644"
	Executable Mode = "100755"
	Symlink    Mode = "120000"
	Submodule  Mode = "160000"
	Folder     Mode = "040000" // only in an import: a whole tree
)

// Entry is one file of a tree or an index.
type Entry struct {
	Mode Mode
	ID   string // object id in hex
	Path string // raw bytes
}

// Tree lists the files of a tree or a commit, submodules included, in git's order.
func (r *Repo) Tree(ctx context.Context, treeish string) ([]Entry, error) {
	entries := []Entry{}
	for e, err := range r.Entries(ctx, treeish) {
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// Quote quotes path, with any bytes, for git's plumbing commands.
func Quote(path string) string {
	quoted := make([]byte, 0, len(path)+2)
	quoted = append(quoted, '"')
	for i := range len(path) {
		switch c := path[i]; {
		case c == '"' || c == '\\':
			quoted = append(quoted, '\\', c)
		case c < 0x20 || c >= 0x7f:
			quoted = append(quoted, '\\', '0'+c>>6, '0'+c>>3&7, '0'+c&7)
		default:
			quoted = append(quoted, c)
		}
	}
	return string(append(quoted, '"'))
}
