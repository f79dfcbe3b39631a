package cli

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// readFile reads a file that the user names, of which it returns at most one byte more than most.
// It ends with ctx, even if the file is a pipe that stays open; a pipe that no program has open for
// writing is empty. The error does not name the file.
func readFile(ctx context.Context, name string, most int64) ([]byte, error) {
	// Opening a pipe would otherwise wait for a program that writes to it, and no signal ends that.
	file, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
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

// withoutName removes the name of the file from an error of package os.
func withoutName(err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		return path.Err
	}
	return err
}
