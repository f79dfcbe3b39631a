package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"github.com/muesli/cancelreader"
)

// lines reads the user's answers, one per line. It leaves line editing to the terminal and
// does not change its modes. It reads no byte after a line before the next call, because
// that input may be for a command that runs in between.
type lines struct {
	in    *bufio.Reader
	close func()
}

// answers reads lines of the standard input until ctx ends, which also ends a pending read. close
// must be called.
func (c *console) answers(ctx context.Context) (*lines, error) {
	in, err := cancelable(c.in)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { in.Cancel() })
	return &lines{in: bufio.NewReader(oneByte{in}), close: func() { stop(); _ = in.Close() }}, nil
}

// cancelable reads in until it is canceled. Files that cannot be polled, such as
// /dev/null and those on a disk, never wait.
func cancelable(in *os.File) (cancelreader.CancelReader, error) {
	reader, err := cancelreader.NewReader(in)
	if err != nil {
		return cancelreader.NewReader(struct{ io.Reader }{in})
	}
	return reader, nil
}

// next returns the next line without its end. It returns io.EOF if there is none, and the error of
// ctx if that ended.
func (l *lines) next(ctx context.Context) (string, error) {
	line, err := l.in.ReadString('\n')
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if errors.Is(err, io.EOF) && line != "" {
		err = nil // a last line without an end
	}
	return strings.TrimRight(line, "\r\n"), err
}

// oneByte reads a byte at a time.
type oneByte struct{ io.Reader }

// Read reads at most one byte.
func (o oneByte) Read(p []byte) (int, error) { return o.Reader.Read(p[:min(len(p), 1)]) }
