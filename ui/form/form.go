// Package form asks the user for the options of a struct that package spec can
// read: one question per field, under headings by group, with help, validation
// while typing and a live preview. It knows nothing but fields, so an agent needs
// no code to have a form. It never writes to the options before the user has
// said yes, never runs anything and does no I/O but at the terminal it is given.
package form

import (
	"context"
	"errors"
	"fmt"
	"io"

	"aibox/agents/spec"

	tea "charm.land/bubbletea/v2"
)

// Request is a form to fill in.
type Request struct {
	In    io.Reader // the user's terminal
	Out   io.Writer
	Title string // one line: what the form is for
	// Action is the word for what happens at the end, "Run"; empty means "Done".
	Action string
	// Options is a pointer to the struct. Its values are the first answers; it is
	// written once, when the user has finished, and not at all before.
	Options any
	// Mode leaves out the options that this way of running does not know.
	Mode spec.Mode
	// Only are the keys of the options to ask for, where that is not all of them.
	Only []string
	// Suggest gives values to pick from for models and paths, in a Part for any line of
	// text, and may take its time; nil for none. It is called from another goroutine.
	Suggest func(spec.Field) []string
	// Preview shows what draft, a pointer to a copy of Options, would do. It is called
	// after each change, so it must be quick and do no I/O; nil for no preview. Secrets
	// must be dots in it.
	Preview func(draft any) string
	// Accessible asks line by line without moving the cursor, as screen readers and
	// dumb terminals want it.
	Accessible bool
}

// Run shows the form until it is finished (done is true, Options is written) or
// canceled by the user or by ctx (done is false, Options is as it was).
func Run(ctx context.Context, r Request) (done bool, err error) {
	if _, err := spec.Of(r.Options); err != nil || spec.Clone(r.Options) == nil {
		return false, errors.Join(err, fmt.Errorf("form: %T holds no options to fill in", r.Options))
	}
	if r.Accessible {
		return ask(ctx, r)
	}
	program := tea.NewProgram(newModel(r), tea.WithContext(ctx), tea.WithInput(r.In), tea.WithOutput(r.Out),
		tea.WithoutSignalHandler())
	last, err := program.Run()
	if ctx.Err() != nil {
		return false, nil //nolint:nilerr // it was canceled, and Bubble Tea's word for that is an error
	}
	m, ok := last.(*model)
	if err != nil || !ok {
		return false, fmt.Errorf("showing the form: %w", err)
	}
	return m.finish()
}

// action is the word for finishing.
func (r Request) action() string {
	if r.Action == "" {
		return "Done"
	}
	return r.Action
}
