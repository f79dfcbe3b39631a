package ui

import (
	"context"
	"errors"
	"io"
	"os"
)

// errHungUp means that the user's terminal is gone.
var errHungUp = errors.New("the terminal has gone")

// input reads the user's terminal. A terminal that goes away ends the program. The kernel
// signals that only to the session's leader, which may be a program such as runuser or
// sudo that does not pass it on.
type input struct {
	*os.File
	end context.CancelCauseFunc
}

// inputOf returns the request's input. A file is watched for its end.
func inputOf(in io.Reader, end context.CancelCauseFunc) io.Reader {
	if file, ok := in.(*os.File); ok && file != nil {
		return input{file, end}
	}
	return in
}

// Read reads what the user types.
func (i input) Read(p []byte) (int, error) {
	n, err := i.File.Read(p)
	if n == 0 && err != nil {
		i.end(errHungUp)
	}
	return n, err
}
