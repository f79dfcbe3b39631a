package form

import (
	"context"
	"fmt"
	"io"
	"strings"

	"aibox/agents/spec"
	"aibox/internal/termtext"

	"charm.land/huh/v2"
	"github.com/muesli/cancelreader"
)

// askLines asks the questions line by line. The end of the input cancels the form, as ctx
// does.
func askLines(ctx context.Context, r Request) (done bool, err error) {
	in, err := newLineReader(ctx, r.In)
	if err != nil {
		return false, err
	}
	defer in.close()
	fmt.Fprintln(r.Out, termtext.Escape(r.Title))
	draft, group := spec.Clone(r.Options), ""
	for _, field := range inOrder(r) {
		if !spec.Visible(draft, field) {
			continue
		}
		if field.Group != group {
			group = field.Group
			fmt.Fprintf(r.Out, "\n== %s\n", group)
		}
		if err := askOne(r, in, field, draft); err != nil || in.ended {
			return false, err
		}
	}
	if err := spec.Validate(draft); err != nil {
		return false, err
	}
	if r.Preview != nil {
		fmt.Fprintf(r.Out, "\n%s\n", termtext.Text(r.Preview(draft)))
	}
	yes := true
	question := huh.NewConfirm().Title(r.action() + "?").Value(&yes).WithTheme(plainStyles().theme())
	if err := question.RunAccessible(r.Out, in); err != nil || in.ended || !yes {
		return false, err
	}
	return true, spec.Copy(r.Options, draft)
}

// askOne asks for one field until the answer is valid.
func askOne(r Request, in *lineReader, field spec.Field, draft any) error {
	a := newAnswer(r, field, draft, plainStyles(), true)
	if r.Suggest != nil && (field.Type == spec.Model || field.Type == spec.Path) {
		a.setSuggestions(safeWords(r.Suggest(field)))
	}
	fmt.Fprintf(r.Out, "\n%s\n", a.help())
	if value := field.Show(draft); value != "" {
		fmt.Fprintf(r.Out, "Empty keeps %s\n", termtext.Escape(value))
	}
	if len(a.suggestions) > 0 {
		fmt.Fprintf(r.Out, "Such as %s\n", strings.Join(a.suggestions[:min(len(a.suggestions), 10)], ", "))
	}
	for {
		if a.multiline() {
			a.text = field.Text(draft) // one line, with commas
			a.before = a.text
			a.makeWidget(plainStyles())
		}
		if err := a.widget.RunAccessible(r.Out, in); err != nil || in.ended {
			return err
		}
		a.apply(draft)
		if a.err == nil {
			return nil
		}
		fmt.Fprintln(r.Out, termtext.Escape(a.err.Error()))
	}
}

// lineReader returns one byte at a time, since huh reads each answer with a buffer of its
// own and would swallow the next ones. It records the end of the input and of ctx, which
// huh takes for an empty answer.
type lineReader struct {
	cancelreader.CancelReader
	in    io.Reader
	stop  func() bool
	ended bool
}

func newLineReader(ctx context.Context, in io.Reader) (*lineReader, error) {
	cancelable, err := cancelreader.NewReader(in)
	if err != nil { // a file on a disk cannot be polled, and never blocks
		cancelable, err = cancelreader.NewReader(struct{ io.Reader }{in})
	}
	if err != nil {
		return nil, fmt.Errorf("reading answers: %w", err)
	}
	stop := context.AfterFunc(ctx, func() { cancelable.Cancel() })
	return &lineReader{CancelReader: cancelable, in: in, stop: stop}, nil
}

// Read reads at most one byte.
func (l *lineReader) Read(p []byte) (int, error) {
	n, err := l.CancelReader.Read(p[:min(len(p), 1)])
	l.ended = l.ended || err != nil
	return n, err
}

// Fd is the terminal, which huh needs to read a secret without echo.
func (l *lineReader) Fd() uintptr {
	if file, ok := l.in.(interface{ Fd() uintptr }); ok {
		return file.Fd()
	}
	return ^uintptr(0)
}

func (l *lineReader) close() {
	l.stop()
	_ = l.CancelReader.Close()
}
