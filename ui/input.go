package ui

import (
	"context"
	"errors"
	"io"
	"os"
)

// errHungUp says that the person's terminal has gone.
var errHungUp = errors.New("the terminal has gone")

// input is the person's terminal as what they type comes from. A terminal that goes
// away ends the program: the kernel signals that to the leader of its session alone,
// which may be a program in between that keeps it to itself, as runuser and sudo do.
type input struct {
	*os.File
	end context.CancelCauseFunc
}

// inputOf is the request's input, watched where it is a file.
func inputOf(in io.Reader, end context.CancelCauseFunc) io.Reader {
	if file, ok := in.(*os.File); ok && file != nil {
		return input{file, end}
	}
	return in
}

// Read reads what is typed.
func (i input) Read(p []byte) (int, error) {
	n, err := i.File.Read(p)
	if n == 0 && err != nil {
		i.end(errHungUp)
	}
	return n, err
}
