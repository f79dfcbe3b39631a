package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"

	"aibox/internal/fault"
	"aibox/internal/redact"
	"aibox/internal/secret"
)

// maxSecret is how much of standard input a secret can be, with blanks around it.
const maxSecret = redact.Most + 64

// readSecret asks for a secret on the terminal, without echo, or reads it from standard
// input. Blanks around it are removed.
func (c *console) readSecret(ctx context.Context, question string) (secret.Value, error) {
	var text []byte
	var err error
	if terminalOf(c.in).interactive {
		text, err = c.readHidden(ctx, question)
	} else {
		text, err = readAll(ctx, c.in, maxSecret)
	}
	switch {
	case ctx.Err() != nil:
		return secret.Value{}, fault.New(fault.Interrupted, "interrupted; nothing was stored")
	case err != nil:
		return secret.Value{}, fault.New(fault.Environment, "standard input cannot be read: %w", err)
	}
	return secret.New(strings.TrimSpace(string(text))), nil
}

// readHidden reads a line from the terminal without echo.
func (c *console) readHidden(ctx context.Context, question string) ([]byte, error) {
	restore, err := hideInput(c.in)
	if err != nil {
		return nil, err
	}
	defer restore()
	fmt.Fprint(c.err, question)
	defer fmt.Fprintln(c.err)
	var line []byte
	buf := make([]byte, maxSecret)
	for len(line) <= maxSecret {
		n, err := readKeys(ctx, c.in, buf, 0)
		line = append(line, buf[:n]...)
		if ended := n == 0 || buf[n-1] == '\n'; ended || err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return line, err
		}
	}
	return line, nil
}

// hideInput switches the echo of a terminal off, and drops what was typed before the
// question. restore switches it on again.
func hideInput(in *os.File) (restore func(), err error) {
	fd := int(in.Fd())
	before, err := unix.IoctlGetTermios(fd, unix.TCGETS)
	if err != nil {
		return nil, err
	}
	hidden := *before
	hidden.Lflag &^= unix.ECHO
	hidden.Lflag |= unix.ICANON | unix.ISIG
	if err := unix.IoctlSetTermios(fd, unix.TCSETSF, &hidden); err != nil {
		return nil, err
	}
	return func() { _ = unix.IoctlSetTermios(fd, unix.TCSETS, before) }, nil
}
