package git

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Blobs reads blobs one after the other from one git process. It is not safe for
// concurrent use. Close must be called.
type Blobs struct {
	ask    *io.PipeWriter
	answer *bufio.Reader
	read   *io.PipeReader
	done   chan struct{}
	cancel context.CancelFunc
}

// Blobs starts to read blobs of r.
func (r *Repo) Blobs(ctx context.Context) *Blobs {
	ctx, cancel := context.WithCancel(ctx)
	askRead, ask := io.Pipe()
	read, write := io.Pipe()
	b := &Blobs{ask: ask, answer: bufio.NewReaderSize(read, 64<<10), read: read, done: make(chan struct{}), cancel: cancel}
	go func() {
		err := r.Run(ctx, askRead, write, "cat-file", "--batch")
		askRead.CloseWithError(io.ErrClosedPipe)
		write.CloseWithError(err)
		close(b.done)
	}()
	return b
}

// Read gives the content of the blob id. One that is not there is an error.
func (b *Blobs) Read(id string) ([]byte, error) {
	if _, err := io.WriteString(b.ask, id+"\n"); err != nil {
		return nil, fmt.Errorf("asking git for %s: %w", id, err)
	}
	header, err := b.answer.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("asking git for %s: %w", id, err)
	}
	fields := strings.Fields(header)
	if len(fields) != 3 || fields[1] != "blob" {
		return nil, fmt.Errorf("git has no file content %s", id)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil {
		return nil, fmt.Errorf("git tells no size of %s: %w", id, err)
	}
	content := make([]byte, size+1) // git ends it with a newline
	if _, err := io.ReadFull(b.answer, content); err != nil {
		return nil, fmt.Errorf("reading %s: %w", id, err)
	}
	return content[:size], nil
}

// Close ends the process and waits for it.
func (b *Blobs) Close() error {
	err := b.ask.Close()
	b.read.CloseWithError(io.ErrClosedPipe)
	<-b.done
	b.cancel()
	return err
}
