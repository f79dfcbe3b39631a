package cli

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"syscall"

	"aibox/internal/fault"
)

// results is the standard output of this process. It remembers the first write that failed, so that
// no command succeeds whose results were lost on a full disk. All later writes fail with the same
// error. It is safe for concurrent use.
type results struct {
	*os.File // for what needs the terminal itself

	failed atomic.Pointer[fault.Fault]
}

// Write returns a fault of kind Environment, except for a reader that has left.
func (r *results) Write(data []byte) (int, error) {
	if failed := r.failed.Load(); failed != nil {
		return 0, failed
	}
	n, err := r.File.Write(data)
	if err == nil || errors.Is(err, syscall.EPIPE) {
		return n, err
	}
	if path, ok := errors.AsType[*os.PathError](err); ok {
		err = path.Err // its path is /dev/stdout
	}
	r.failed.CompareAndSwap(nil, fault.New(fault.Environment, "standard output cannot be written: %w", err))
	return n, r.failed.Load()
}

// WriteString writes text.
func (r *results) WriteString(text string) (int, error) { return r.Write([]byte(text)) }

// ReadFrom copies from in, and hides the method of the file, which would bypass Write.
func (r *results) ReadFrom(in io.Reader) (int64, error) {
	return io.Copy(struct{ io.Writer }{r}, in)
}

// lost returns the error of the first write that failed, or nil.
func (r *results) lost() error {
	if failed := r.failed.Load(); failed != nil {
		return failed
	}
	return nil
}

// fileOf returns the file that out writes to, if it is one.
func fileOf(out io.Writer) (file *os.File, ok bool) {
	switch out := out.(type) {
	case *os.File:
		return out, out != nil
	case *results:
		return out.File, true
	}
	return nil, false
}

// inherited returns out as a program that aibox starts should get it: as the file itself if it is
// one, because a pager and other programs need the terminal.
func inherited(out io.Writer) io.Writer {
	if file, ok := fileOf(out); ok {
		return file
	}
	return out
}
