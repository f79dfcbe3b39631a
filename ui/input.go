package ui

import (
	"context"
	"errors"
	"io"
	"os"
)

// errHungUp means that the user's terminal is gone.
var errHungUp = errors.New("the terminal has gone")

// input reads the user's terminal. The program ends when the terminal goes away. The kernel signals
// this only to the session leader, which may be a program such as runuser or sudo that does not
// pass the signal on.
type input struct {
	*os.File
	end context.CancelCauseFunc
}

// inputOf returns the request's input. If it is a file, its end is reported to end.
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
