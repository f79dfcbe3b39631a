package risk

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"aibox/internal/amount"
)

// MaxPointer is more than the size of any pointer of Git LFS in bytes (the specification allows
// 1023).
const MaxPointer = 1024

// pointerVersions begin the pointers that git-lfs reads, those of its earlier names too.
var pointerVersions = []string{
	"version https://git-lfs.github.com/spec/", "version https://hawser.github.com/spec/", "version http://git-media.io/v/",
}

// Pointer reads a pointer of Git LFS (https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md). It
// accepts blank lines, which git-lfs accepts too. oid is the SHA-256 of the content, in hex.
func Pointer(content []byte) (oid string, size int64, ok bool) {
	if len(content) > MaxPointer {
		return "", 0, false
	}
	lines := strings.Split(string(bytes.TrimSpace(content)), "\n")
	if !slices.ContainsFunc(pointerVersions, func(version string) bool { return strings.HasPrefix(lines[0], version) }) {
		return "", 0, false
	}
	for _, line := range lines[1:] {
		switch key, value, _ := strings.Cut(strings.TrimRight(line, "\r"), " "); key {
		case "oid":
			oid = strings.TrimPrefix(value, "sha256:")
		case "size":
			size, _ = strconv.ParseInt(value, 10, 64)
		}
	}
	raw, err := hex.DecodeString(oid)
	return oid, size, err == nil && len(raw) == sha256.Size && size >= 0
}

// lfsPointer finds a pointer in place of content: git-lfs stores it as it is, and a checkout
// fetches what it names from the server of Git LFS.
func lfsPointer(r *rule, f *File) []Risk {
	if f.link() {
		return nil
	}
	oid, size, ok := Pointer(f.New.Content)
	if before, _, was := Pointer(f.Old.Content); !ok || was && before == oid {
		return nil
	}
	return r.one(0, amount.Bytes(size)+", "+oid)
}
