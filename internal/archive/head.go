package archive

import (
	"archive/tar"
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"path"
	"strings"
)

// headSize is how many bytes of a file HEAD git reads (validate_headref).
const headSize = 255

// isNamedHead reports whether one of the paths ends in HEAD, in any case: file systems can
// ignore it.
func isNamedHead(paths ...string) bool {
	for _, name := range paths {
		if strings.EqualFold(path.Base(name), "HEAD") {
			return true
		}
	}
	return false
}

// readHead reports whether git takes an entry for the HEAD of a repository, and returns a reader
// of its whole content.
func readHead(h *tar.Header, in io.Reader) (head bool, content io.Reader, err error) {
	switch h.Typeflag {
	case tar.TypeSymlink:
		return strings.HasPrefix(h.Linkname, "refs/"), in, nil
	case tar.TypeReg:
		begin := make([]byte, headSize)
		n, err := io.ReadFull(in, begin)
		if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return false, nil, err
		}
		begin = begin[:n]
		return isHead(begin), io.MultiReader(bytes.NewReader(begin), in), nil
	default:
		return false, in, nil
	}
}

// isHead reports whether git takes a file that begins so for the HEAD of a repository: it names
// a ref or a commit.
func isHead(begin []byte) bool {
	if ref, ok := strings.CutPrefix(string(begin), "ref:"); ok {
		return strings.HasPrefix(strings.TrimLeft(ref, " \t\n\v\f\r"), "refs/")
	}
	const sha1 = 40
	if len(begin) < sha1 {
		return false
	}
	_, err := hex.DecodeString(string(begin[:sha1]))
	return err == nil
}
