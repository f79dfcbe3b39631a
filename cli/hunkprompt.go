package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"aibox/review"
	"aibox/review/decision"
	"aibox/session/feedback"
)

// hunkPrompt asks for a decision about each hunk of a draft, as "git add -p" does: one
// line of input per question, risky files first. It only writes questions; the
// decisions are in the draft.
type hunkPrompt struct {
	in      *lines
	out     io.Writer
	t       terminal
	load    func(ctx context.Context, path review.Path) (review.FileDiff, error)
	earlier map[review.HunkID][]string // earlier feedback on hunks

	draft    *decision.Draft
	resumes  bool               // only undecided hunks are asked about
	save     func() error       // stores the decisions; nil: they are not kept
	clear    func() error       // removes what save stored, once it is delivered
	comments []feedback.Comment // made now
}

// errQuit ends the questions; the decisions made so far count.
var errQuit = errors.New("the user quit")

// run asks about every file in turn. io.EOF means that the input ended before the
// questions did; then nothing must be delivered.
func (p *hunkPrompt) run(ctx context.Context) error {
	for i := range p.draft.Len() {
		err := p.askFile(ctx, i)
		if errors.Is(err, errQuit) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// askFile asks about the hunks of file i that no earlier accept delivered.
func (p *hunkPrompt) askFile(ctx context.Context, i int) error {
	file := p.draft.File(i)
	diff, err := p.load(ctx, file.Change.Path)
	if err != nil {
		return err
	}
	hunks := p.remaining(file, diff.Hunks)
	if len(hunks) == 0 {
		return nil
	}
	p.draft.Load(i, hunks)
	defer p.draft.Unload(i)
	f := &filePrompt{hunkPrompt: p, file: file, number: i}
	if p.resumes {
		if f.at = file.Undecided(0, 1); f.at < 0 {
			return nil
		}
	}
	f.printHeader()
	return f.run(ctx)
}

// remaining returns the hunks that no earlier accept delivered.
func (p *hunkPrompt) remaining(file *decision.File, all []review.Hunk) []review.Hunk {
	var hunks []review.Hunk
	for _, h := range all {
		hunks = append(hunks, file.Remaining(h, p.draft.Target())...)
	}
	return hunks
}

// line prints a line of our own text.
func (p *hunkPrompt) line(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

// read prints a question and returns the line that was typed.
func (p *hunkPrompt) read(ctx context.Context, question string) (string, error) {
	fmt.Fprint(p.out, p.t.style("1;34", question)+" ")
	answer, err := p.in.next(ctx)
	if err != nil {
		fmt.Fprintln(p.out)
	}
	return answer, err
}
