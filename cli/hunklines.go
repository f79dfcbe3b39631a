package cli

import (
	"context"
	"strconv"
	"strings"

	"aibox/internal/termtext"
	"aibox/review/decision"
)

// chooseLines accepts single lines of the hunk: those that typed names, else those that
// the user names after seeing them with their numbers.
func (f *filePrompt) chooseLines(ctx context.Context, typed string) (done bool, err error) {
	h := f.hunk()
	if !decision.CanChooseLines(&h) {
		f.line("This hunk has no single lines to choose.")
		return false, nil
	}
	if f.file.Risky() {
		f.line("This file has risks (see above): accept this hunk with the whole word yes, or leave it out.")
		return false, nil
	}
	changed := h.Changed()
	if typed == "" {
		for n, at := range changed {
			f.line("%3d: %c%s", n+1, h.Lines[at].Op, termtext.Escape(string(h.Lines[at].Text)))
		}
		if typed, err = f.read(ctx, "Accept which lines (such as 1,3-5)?"); err != nil {
			return false, err
		}
	}
	numbers, ok := parseNumbers(typed, len(changed))
	if !ok {
		f.line("Line numbers go from 1 to %d, as in 1,3-5.", len(changed))
		return false, nil
	}
	if err := f.draft.DecideLines(f.number, h.ID, numbers, false); err != nil {
		return false, err
	}
	return f.next(), nil
}

// parseNumbers parses numbers and ranges from 1 to most, with commas or spaces between
// them. It needs at least one.
func parseNumbers(text string, most int) (numbers []int, ok bool) {
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' }) {
		first, last, ranged := strings.Cut(word, "-")
		if !ranged {
			last = first
		}
		from, fromErr := strconv.Atoi(first)
		to, toErr := strconv.Atoi(last)
		if fromErr != nil || toErr != nil || from < 1 || to < from || to > most {
			return nil, false
		}
		for n := from; n <= to; n++ {
			numbers = append(numbers, n)
		}
	}
	return numbers, len(numbers) > 0
}
