package changes

import (
	"context"
	"io"

	"aibox/review"
)

// edited brings a text back from the editor.
type edited struct {
	text string
	err  error
}

// editing is an editor that has the terminal.
type editing struct {
	ctx      context.Context //nolint:containedctx // it ends with the screen
	services Services
	text     string
	part     *review.ChangeSet
}

// Run waits for the editor.
func (e *editing) Run() (err error) {
	e.text, err = e.services.Edit(e.ctx, e.text, e.part)
	return err
}

// SetStdin does nothing, like the next two: the editor opens the terminal itself.
func (*editing) SetStdin(io.Reader)  {}
func (*editing) SetStdout(io.Writer) {}
func (*editing) SetStderr(io.Writer) {}
