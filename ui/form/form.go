// Package form asks the user for the options of a struct that package spec can read, under
// headings by group, with help and validation. A Part lists and edits them within a
// screen; Run asks for them line by line. The package knows only fields, so an agent needs
// no code for its form. Lines and texts are edited with huh's widgets. The list of fields
// and the lists of choices are its own: huh builds all fields of a form at once, but the
// fields of an agent come and go with the answers. Run writes the options only after the
// user confirms, and a Part never does. Neither starts anything, and only Run does I/O, at
// the terminal of the request.
package form

import (
	"context"
	"errors"
	"fmt"
	"io"

	"aibox/agents/spec"
)

// Request is a form to fill in.
type Request struct {
	In    io.Reader // the user's terminal
	Out   io.Writer
	Title string // one line: what the form is for
	// Action names what happens at the end, such as "Run"; empty means "Done".
	Action string
	// Options is a pointer to the struct. Its values are the first answers. It is written
	// once, when the user completes the form.
	Options any
	// Base has the values that a Part's fields can be reset to, a pointer to the same
	// struct; nil means Options.
	Base any
	// Mode leaves out the options of other modes.
	Mode spec.Mode
	// Only limits the form to the options with these keys; nil means all.
	Only []string
	// Check reports an error in a field of draft, a pointer to a copy of Options, besides the
	// rules of its tags. It does no I/O. Nil accepts any value.
	Check func(draft any, field spec.Field) error
	// Suggest returns values to pick from for models and paths, in a Part for any line of
	// text. It may be slow, and is called from another goroutine. Nil suggests nothing.
	Suggest func(spec.Field) []string
	// Preview describes the effect of draft, a pointer to a copy of Options, with secrets
	// as dots, before the user confirms. Nil shows no preview.
	Preview func(draft any) string
}

// check validates a field of draft.
func (r Request) check(draft any, field spec.Field) error {
	err := spec.Check(draft, field)
	if err == nil && r.Check != nil {
		err = r.Check(draft, field)
	}
	return err
}

// Run asks line by line, without moving the cursor, which also suits screen readers and
// dumb terminals. It returns when the user completes the form (done is true, Options is
// written), or the user or ctx cancels it (done is false, Options is unchanged).
func Run(ctx context.Context, r Request) (done bool, err error) {
	if _, err := spec.Of(r.Options); err != nil || spec.Clone(r.Options) == nil {
		return false, errors.Join(err, fmt.Errorf("form: %T holds no options to fill in", r.Options))
	}
	return askLines(ctx, r)
}

// action names what completing the form does.
func (r Request) action() string {
	if r.Action == "" {
		return "Done"
	}
	return r.Action
}
