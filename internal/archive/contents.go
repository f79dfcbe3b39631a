package archive

import "io"

// contentsSize is how many bytes of a file are copied at once. Under gVisor each read and
// write takes as long as copying many kilobytes.
const contentsSize = 256 << 10

// contents copies the contents of files, one after the other, with one buffer.
type contents struct{ buf []byte }

// copy copies the contents of a file of a size. It returns how many bytes there were.
func (c *contents) copy(to io.Writer, from io.Reader, size int64) (int64, error) {
	if wanted := int(min(max(size, 1), contentsSize)); len(c.buf) < wanted {
		c.buf = make([]byte, wanted)
	}
	// The methods of files and archives are hidden, since they copy with small buffers.
	return io.CopyBuffer(struct{ io.Writer }{to}, struct{ io.Reader }{from}, c.buf)
}
