package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"aibox/review"
)

// hunkPrompt asks a person for each hunk of a change set, as "git add -p" does: a
// line of input for each question, files with risks first. It writes nothing but
// questions; what was chosen and said is in choice and said.
type hunkPrompt struct {
	in       *lines
	out      io.Writer
	t        terminal
	load     func(ctx context.Context, path review.Path) (review.FileDiff, error)
	taken    func(*review.Change, review.HunkID) bool // by an earlier accept, of hunks that cannot be split; may be nil
	earlier  map[review.HunkID][]string               // what was said before
	rejected func(review.HunkID) bool                 // before; may be nil

	choice   review.Choice
	said     []hunkRemark
	restored []review.HunkID // chosen though they were rejected before
	files    int             // with something chosen
	count    int             // hunks chosen
}

// hunkRemark is what a person said of a hunk.
type hunkRemark struct {
	hunk   review.HunkID
	text   string
	reject bool
}

// errLeft ends the questions: what was chosen so far counts.
var errLeft = errors.New("the person has left")

// run asks for every change in turn. io.EOF means that the input ended before the
// questions did: then nothing is to be delivered.
func (p *hunkPrompt) run(ctx context.Context, changes []review.Change) error {
	ordered := make([]*review.Change, 0, len(changes))
	for i := range changes {
		ordered = append(ordered, &changes[i])
	}
	slices.SortStableFunc(ordered, func(a, b *review.Change) int { return gravity(a) - gravity(b) })
	for i, c := range ordered {
		err := p.askFile(ctx, c, i+1, len(ordered))
		if errors.Is(err, errLeft) {
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// gravity orders files: what is held back comes first.
func gravity(c *review.Change) int {
	if c.Risky() {
		return 0
	}
	return 1
}

// askFile asks for the hunks of one file and keeps what was chosen.
func (p *hunkPrompt) askFile(ctx context.Context, c *review.Change, number, of int) error {
	diff, err := p.load(ctx, c.Path)
	if err != nil {
		return err
	}
	f := &fileQuestions{prompt: p, change: c}
	for _, h := range diff.Hunks {
		for _, part := range p.open(c, h) {
			f.hunks = append(f.hunks, hunkQuestion{Hunk: part})
		}
	}
	if len(f.hunks) == 0 {
		return nil
	}
	f.head(number, of)
	err = f.ask(ctx)
	if err == nil || errors.Is(err, errLeft) {
		f.keep()
	}
	return err
}

// open are the parts of a hunk that no earlier accept took; the hunk itself when none
// was taken.
func (p *hunkPrompt) open(c *review.Change, h review.Hunk) []review.Hunk {
	if p.taken == nil {
		return []review.Hunk{h}
	}
	parts := h.Split()
	left := slices.DeleteFunc(slices.Clone(parts), func(part review.Hunk) bool { return p.taken(c, part.ID) })
	if len(left) == len(parts) {
		return []review.Hunk{h}
	}
	return left
}

// line writes one line of ours.
func (p *hunkPrompt) line(format string, args ...any) { fmt.Fprintf(p.out, format+"\n", args...) }

// read asks and returns the line that was typed.
func (p *hunkPrompt) read(ctx context.Context, question string) (string, error) {
	fmt.Fprint(p.out, p.t.style("1;34", question)+" ")
	answer, err := p.in.next(ctx)
	if err != nil {
		fmt.Fprintln(p.out)
	}
	return answer, err
}
