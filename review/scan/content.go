package scan

import (
	"bytes"
	"fmt"
	"io"
	"os"

	"aibox/internal/spool"
)

// content is a snapshot of one file's bytes.
type content struct {
	size  int64
	small []byte
	large *os.File // an unlinked copy, when small is nil
}

func (c *content) reader() io.Reader {
	if c.large != nil {
		return io.NewSectionReader(c.large, 0, c.size)
	}
	return bytes.NewReader(c.small)
}

func (c *content) close() {
	if c.large != nil {
		c.large.Close()
	}
}

// snapshot takes at most size+1 bytes of file into memory or an unnamed file.
func (c *collector) snapshot(file *os.File, size int64) (*content, error) {
	limited := io.LimitReader(file, size+1)
	if size <= maxMemory {
		buf := make([]byte, 0, size+1)
		for len(buf) < cap(buf) {
			n, err := limited.Read(buf[len(buf):cap(buf)])
			buf = buf[:len(buf)+n]
			if err == io.EOF {
				break
			}
			if err != nil {
				return nil, refusedError("cannot be read: " + describeError(err))
			}
		}
		return &content{size: int64(len(buf)), small: buf}, nil
	}
	snapshot, err := spool.CreateUnnamed(c.scratch)
	if err != nil {
		return nil, err
	}
	n, err := io.Copy(snapshot, limited)
	if err != nil {
		snapshot.Close()
		return nil, fmt.Errorf("keeping a large file: %w", err)
	}
	return &content{size: n, large: snapshot}, nil
}
