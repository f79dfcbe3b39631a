package changes

import (
	"context"

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

// run waits for the editor, which opens the terminal itself.
func (e *editing) run() (err error) {
	e.text, err = e.services.Edit(e.ctx, e.text, e.part)
	return err
}
