package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

// readNamed is readFile, and reads standard input for the name -.
func (c *console) readNamed(ctx context.Context, name string, most int64) ([]byte, error) {
	if name == standardStream {
		data, err := readAll(ctx, c.in, most)
		return data, withoutName(err)
	}
	return readFile(ctx, name, most)
}

// readFile reads a file that the user names, of which it returns at most one byte more than most.
// It ends with ctx, even if the file is a pipe to which nothing is written. The error does not
// name the file.
func readFile(ctx context.Context, name string, most int64) ([]byte, error) {
	var file *os.File
	var err error
	opened := make(chan struct{})
	go func() { // opening a pipe waits for a program that writes to it
		file, err = os.Open(name)
		close(opened)
	}()
	select {
	case <-opened:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err != nil {
		return nil, withoutName(err)
	}
	defer file.Close()
	defer context.AfterFunc(ctx, func() { _ = file.SetReadDeadline(time.Unix(1, 0)) })()
	data, err := io.ReadAll(io.LimitReader(file, most+1))
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return data, withoutName(err)
}

// readAll reads in, of which it returns at most one byte more than most. It ends with ctx, even if in
// is a pipe that nothing closes.
func readAll(ctx context.Context, in io.Reader, most int64) ([]byte, error) {
	type result struct {
		text []byte
		err  error
	}
	read := make(chan result, 1)
	go func() { // without an end of the input it ends with the program
		text, err := io.ReadAll(io.LimitReader(in, most+1))
		read <- result{text, err}
	}()
	select {
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	case r := <-read:
		return r.text, r.err
	}
}

// withoutName removes the name of the file from an error of package os.
func withoutName(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}
