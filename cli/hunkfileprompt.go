package cli

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"aibox/internal/termtext"
	"aibox/review"
	"aibox/review/decision"
	"aibox/session/feedback"
)

// filePrompt asks about the hunks of one file.
type filePrompt struct {
	*hunkPrompt
	file   *decision.File
	number int       // of the file in the draft
	at     int       // index of the hunk in question
	pager  hunkPager // of that hunk
}

// printHeader prints the file's name and risks.
func (f *filePrompt) printHeader() {
	c := f.file.Change
	name := c.Path.String()
	if c.OldPath != "" {
		name = c.OldPath.String() + " → " + name
	}
	f.line("")
	f.line("%s  %s", f.t.bold(name), f.t.faint(fmt.Sprintf("file %d of %d", f.number+1, f.draft.Len())))
	for _, r := range c.Risks {
		f.line("%s %s", f.t.warn("!"), notice(r.String()))
	}
	if c.LFS != nil {
		f.line("%s", c.DescribeLFS())
	}
	for _, note := range c.Notes {
		f.line("%s %s", f.t.warn("!"), termtext.Escape(note))
	}
}

// run asks until each hunk is decided or the user quits.
func (f *filePrompt) run(ctx context.Context) error {
	f.move(f.at)
	for {
		answer, err := f.read(ctx, f.question())
		if err != nil {
			return err
		}
		done, err := f.answer(ctx, answer)
		if f.save != nil {
			if saveErr := f.save(); saveErr != nil {
				return saveErr
			}
		}
		if err != nil || done {
			return err
		}
	}
}

func (f *filePrompt) hunk() review.Hunk { return f.file.Hunks()[f.at] }

// move goes to a hunk and shows it.
func (f *filePrompt) move(to int) {
	f.at = to
	h := f.hunk()
	f.pager = newHunkPager(f.hunkPrompt, h, hunkTitle(h, f.file.Change))
	f.pager.next()
}

// answer handles an answer. done means that the file needs no more questions.
func (f *filePrompt) answer(ctx context.Context, typed string) (done bool, err error) {
	typed = strings.TrimSpace(typed)
	key, rest := typed, ""
	if typed != "" {
		key, rest = typed[:1], strings.TrimSpace(typed[1:])
	}
	if strings.EqualFold(typed, "yes") {
		return f.decide(decision.Accepted, true)
	}
	if len(typed) > 1 && !takesText(typed) {
		f.rejectAnswer(typed)
		return false, nil
	}
	switch key {
	case "":
		f.pager.next()
	case "y":
		return f.decide(decision.Accepted, false)
	case "n":
		return f.decide(decision.Skipped, false)
	case "q":
		return true, errQuit
	case "a":
		return f.decideFrom(decision.Accepted)
	case "d":
		return f.decideFrom(decision.Skipped)
	case "s":
		f.split()
	case "l":
		return f.chooseLines(ctx, rest)
	case "j", "J", "k", "K":
		f.step(key)
	case "g":
		err = f.goTo(ctx, rest)
	case "/":
		err = f.search(ctx, rest)
	case "c":
		err = f.comment(ctx, rest)
	case "r":
		return f.reject(ctx, rest)
	case "?":
		f.help()
	default:
		f.rejectAnswer(typed)
	}
	return false, err
}

// takesText reports whether an answer of more than its key is one: text after a blank, so that a word is not
// taken for its first letter, or what to search or go to.
func takesText(typed string) bool {
	return strings.Contains("g/", typed[:1]) || strings.Contains("crl", typed[:1]) && strings.ContainsAny(typed[1:2], " \t")
}

func (f *filePrompt) rejectAnswer(typed string) {
	f.line("%s is not an answer here; ? lists the answers", termtext.Escape(firstLine(typed, 20)))
}

// decide decides about the hunk and goes to the next undecided one. Every hunk of a
// risky file takes the user's consent.
func (f *filePrompt) decide(d decision.Decision, consent bool) (done bool, err error) {
	if d == decision.Accepted && f.file.Risky() && !consent {
		f.line("This file has risks (see above): type the whole word yes to accept this part of it.")
		return false, nil
	}
	if err := f.draft.Decide(f.number, f.hunk().ID, d, consent); err != nil {
		return false, err
	}
	return f.next(), nil
}

// decideFrom decides about the hunk and all undecided ones after it.
func (f *filePrompt) decideFrom(d decision.Decision) (done bool, err error) {
	if d == decision.Accepted && f.file.Risky() {
		f.line("This file has risks (see above): each part of it needs its own answer.")
		return false, nil
	}
	if err := f.draft.DecideFrom(f.number, f.at, d, false); err != nil {
		return false, err
	}
	return f.next(), nil
}

// next goes to the next undecided hunk, and reports whether there is none.
func (f *filePrompt) next() (done bool) {
	next := f.file.NextUndecided(f.at)
	if next >= 0 {
		f.move(next)
	}
	return next < 0
}

// step goes to a neighbor: j and k to an undecided one, J and K to any.
func (f *filePrompt) step(key string) {
	by := 1
	if key == "k" || key == "K" {
		by = -1
	}
	to := f.at + by
	if key == "j" || key == "k" {
		to = f.file.Undecided(to, by)
	}
	if to < 0 || to >= len(f.file.Hunks()) {
		f.line("There is no other hunk in that direction.")
		return
	}
	f.move(to)
}

// split asks about each part of the hunk by itself, whatever was decided about it.
func (f *filePrompt) split() {
	parts := f.draft.Split(f.number, f.at)
	if parts < 2 {
		f.line("This hunk cannot be split.")
		return
	}
	for _, h := range f.file.Hunks()[f.at : f.at+parts] {
		_ = f.draft.Decide(f.number, h.ID, decision.Undecided, false) // never needs consent
	}
	f.line("Split into %d.", parts)
	f.move(f.at)
}

// goTo goes to a hunk by its number; without one it lists the hunks and asks.
func (f *filePrompt) goTo(ctx context.Context, number string) error {
	hunks := f.file.Hunks()
	if number == "" {
		for i, h := range hunks {
			f.line("%s%3d: %s", decisionMarks[f.file.Of(h.ID)], i+1, hunkTitle(h, f.file.Change))
		}
		var err error
		if number, err = f.read(ctx, "Go to which hunk?"); err != nil {
			return err
		}
	}
	if i, _ := strconv.Atoi(strings.TrimSpace(number)); i >= 1 && i <= len(hunks) {
		f.move(i - 1)
	} else {
		f.line("Hunk numbers go from 1 to %d.", len(hunks))
	}
	return nil
}

var decisionMarks = map[decision.Decision]string{
	decision.Undecided: " ", decision.Accepted: "+", decision.Rejected: "-", decision.Skipped: "-", decision.Partial: "±",
}

// search goes to the next hunk with a line that matches a regular expression.
func (f *filePrompt) search(ctx context.Context, expression string) error {
	if expression == "" {
		var err error
		if expression, err = f.read(ctx, "Search for regex?"); err != nil {
			return err
		}
	}
	pattern, err := regexp.Compile(expression)
	if err != nil {
		f.line("%s is not a regular expression.", termtext.Escape(expression))
		return nil //nolint:nilerr // the user may type another one
	}
	if to := f.file.NextMatch(f.at, pattern.Match); to >= 0 {
		f.move(to)
	} else {
		f.line("No hunk of this file matches.")
	}
	return nil
}

// comment keeps a comment on the hunk.
func (f *filePrompt) comment(ctx context.Context, text string) error {
	text, err := f.text(ctx, text, "Comment on this hunk:")
	switch {
	case err != nil:
		return err
	case text == "":
		f.line("No comment.")
	default:
		f.comments = append(f.comments, feedback.Comment{Hunk: f.hunk().ID, Text: text})
		f.line("Noted.")
	}
	return nil
}

// reject rejects the hunk with a reason, which may be empty.
func (f *filePrompt) reject(ctx context.Context, note string) (done bool, err error) {
	note, err = f.text(ctx, note, "Reason for rejecting this hunk:")
	if err != nil {
		return false, err
	}
	f.draft.Reject(f.number, f.hunk().ID, note)
	return f.next(), nil
}

// text returns the text after a key, or asks for it.
func (f *filePrompt) text(ctx context.Context, typed, question string) (string, error) {
	var err error
	if typed == "" {
		typed, err = f.read(ctx, question)
	}
	return strings.TrimSpace(typed), err
}
