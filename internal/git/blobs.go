package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
)

// Blobs reads blobs from one git process, one at a time. It is not safe for concurrent use.
// The caller must call Close.
type Blobs struct {
	ask    *io.PipeWriter
	answer *bufio.Reader
	read   *io.PipeReader
	done   chan struct{}
	cancel context.CancelFunc
}

// Blobs starts a process that reads blobs of r.
func (r *Repo) Blobs(ctx context.Context) *Blobs {
	ctx, cancel := context.WithCancel(ctx)
	askRead, ask := io.Pipe()
	read, write := io.Pipe()
	b := &Blobs{ask: ask, answer: bufio.NewReaderSize(read, 64<<10), read: read, done: make(chan struct{}), cancel: cancel}
	go func() {
		err := r.Run(ctx, askRead, write, "cat-file", "--batch")
		askRead.CloseWithError(io.ErrClosedPipe)
		write.CloseWithError(errors.Join(err, io.ErrUnexpectedEOF)) // without a context, the process would never end by itself
		close(b.done)
	}()
	return b
}

// Read returns the content of the blob id. A missing blob is an error.
func (b *Blobs) Read(id string) ([]byte, error) {
	content, _, err := b.ReadWithin(id, math.MaxInt64-1)
	return content, err
}

// ReadWithin is like Read for blobs of at most most bytes. For a longer blob it returns
// nothing and sets cut.
func (b *Blobs) ReadWithin(id string, most int64) (content []byte, cut bool, err error) {
	content, size, err := b.object(id, "blob", most)
	return content, size > most, err
}

// ReadSized is like ReadWithin, but returns the size of the blob, whether its content is too long
// or not.
func (b *Blobs) ReadSized(id string, most int64) (content []byte, size int64, err error) {
	return b.object(id, "blob", most)
}

// Object returns the content of a commit or a tree.
func (b *Blobs) Object(kind, id string) ([]byte, error) {
	content, _, err := b.object(id, kind, math.MaxInt64-1)
	return content, err
}

func (b *Blobs) object(id, kind string, most int64) (content []byte, size int64, err error) {
	size, err = b.start(id, kind)
	if err != nil {
		return nil, 0, err
	}
	if size > most {
		_, err = io.CopyN(io.Discard, b.answer, size+1)
		return nil, size, err
	}
	content, err = readContent(b.answer, id, size)
	return content, size, err
}

// Copy writes the content of the blob id to w.
func (b *Blobs) Copy(id string, w io.Writer) error {
	size, err := b.start(id, "blob")
	if err != nil {
		return err
	}
	if _, err := io.CopyN(w, b.answer, size); err != nil {
		return err
	}
	_, err = b.answer.Discard(1)
	return err
}

// start requests an object of the kind and reads its size. Its content and a newline follow
// in the stream.
func (b *Blobs) start(id, kind string) (size int64, err error) {
	if _, err := io.WriteString(b.ask, id+"\n"); err != nil {
		return 0, fmt.Errorf("asking git for %s: %w", id, err)
	}
	_, got, size, err := readHeader(b.answer)
	if err != nil {
		return 0, fmt.Errorf("asking git for %s: %w", id, err)
	}
	if got != kind {
		return 0, fmt.Errorf("git has no %s %s", kind, id)
	}
	return size, nil
}

// Close ends the process and waits for it.
func (b *Blobs) Close() error {
	err := b.ask.Close()
	b.read.CloseWithError(io.ErrClosedPipe)
	<-b.done
	b.cancel()
	return err
}
