package cli

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"aibox/internal/termtext"
	"aibox/review"
)

// ruling is what was decided of a hunk.
type ruling int

const (
	undecided ruling = iota
	takeIt
	leaveIt
)

// hunkQuestion is a hunk that is asked for.
type hunkQuestion struct {
	review.Hunk
	ruled ruling
}

// fileQuestions are the questions about one file.
type fileQuestions struct {
	prompt *hunkPrompt
	change *review.Change
	hunks  []hunkQuestion
	at     int  // the hunk that is asked for now
	fresh  bool // it was not shown yet
	pages  *pages
}

// head tells which file comes, and its risks.
func (f *fileQuestions) head(number, of int) {
	p := f.prompt
	name := f.change.Path.String()
	if f.change.OldPath != "" {
		name = f.change.OldPath.String() + " → " + name
	}
	p.line("")
	p.line("%s  %s", p.t.bold(name), p.t.faint(fmt.Sprintf("file %d of %d", number, of)))
	for _, r := range f.change.Risks {
		p.line("%s %s", p.t.warn("!"), notice(r.String()))
	}
	for _, note := range f.change.Notes {
		p.line("%s %s", p.t.warn("!"), termtext.Escape(note))
	}
}

// ask goes through the hunks until each is decided or the person leaves.
func (f *fileQuestions) ask(ctx context.Context) error {
	f.fresh = true
	for {
		h := &f.hunks[f.at]
		if f.fresh {
			f.pages = newPages(f.prompt, h.Hunk, hunkTitle(h.Hunk, f.change))
			f.pages.next()
			f.fresh = false
		}
		answer, err := f.prompt.read(ctx, f.question())
		if err != nil {
			return err
		}
		done, err := f.answer(ctx, answer)
		if err != nil || done {
			return err
		}
	}
}

// question is what is asked, with the keys that do something now.
func (f *fileQuestions) question() string {
	keys := []string{"y", "n", "q", "a", "d"}
	if f.change.Risky() {
		keys = []string{"yes", "n", "q", "d"}
	}
	if len(f.hunks) > 1 {
		keys = append(keys, "j", "J", "k", "K", "g", "/")
	}
	if f.splits() {
		keys = append(keys, "s")
	}
	keys = append(keys, "c", "r", "?")
	what := f.hunks[f.at].Hunk.Kind
	ask := fmt.Sprintf("(%d/%d) %s [%s]?", f.at+1, len(f.hunks), takeWhat[what], strings.Join(keys, ","))
	if left := f.pages.left(); left > 0 {
		ask = fmt.Sprintf("(%d lines more: enter) %s", left, ask)
	}
	return ask
}

var takeWhat = map[review.HunkKind]string{
	review.HunkText:    "Take this hunk",
	review.HunkAdded:   "Take this new file",
	review.HunkFolder:  "Take all that changed below this folder",
	review.HunkDeleted: "Take this deletion",
	review.HunkContent: "Take this new content",
	review.HunkType:    "Take this change of type",
	review.HunkMode:    "Take this change of mode",
	review.HunkRenamed: "Take this new name",
}

func (f *fileQuestions) splits() bool { return len(f.hunks[f.at].Split()) > 1 }

// answer does what was typed. done means that the file needs no more questions.
func (f *fileQuestions) answer(ctx context.Context, typed string) (done bool, err error) {
	typed = strings.TrimSpace(typed)
	key, rest := typed, ""
	if typed != "" {
		key, rest = typed[:1], strings.TrimSpace(typed[1:])
	}
	if strings.EqualFold(typed, "yes") {
		return f.decide(takeIt), nil
	}
	if len(typed) > 1 && !strings.Contains("g/cr", key) {
		f.unknown(typed)
		return false, nil
	}
	switch key {
	case "":
		f.pages.next()
	case "y":
		if !f.change.Risky() {
			return f.decide(takeIt), nil
		}
		f.prompt.line("This file has risks, see above: type the whole word yes to take this part of it.")
	case "n":
		return f.decide(leaveIt), nil
	case "q":
		return true, errLeft
	case "a":
		if !f.change.Risky() {
			return f.decideRest(takeIt), nil
		}
		f.prompt.line("This file has risks, see above: each part of it is asked for by itself.")
	case "d":
		return f.decideRest(leaveIt), nil
	case "s":
		f.split()
	case "j", "J", "k", "K":
		f.step(key)
	case "g":
		err = f.goTo(ctx, rest)
	case "/":
		err = f.search(ctx, rest)
	case "c", "r":
		return f.remark(ctx, rest, key == "r")
	case "?":
		f.help()
	default:
		f.unknown(typed)
	}
	return false, err
}

func (f *fileQuestions) unknown(typed string) {
	f.prompt.line("%s is no answer here; ? shows the answers", termtext.Escape(firstLine(typed, 20)))
}

// decide decides the hunk and goes to the next one that is open.
func (f *fileQuestions) decide(v ruling) (done bool) {
	f.hunks[f.at].ruled = v
	return f.onward()
}

// decideRest decides the hunk and all open ones behind it.
func (f *fileQuestions) decideRest(v ruling) (done bool) {
	f.hunks[f.at].ruled = v
	for i := f.at; i < len(f.hunks); i++ {
		if f.hunks[i].ruled == undecided {
			f.hunks[i].ruled = v
		}
	}
	return f.onward()
}

// onward goes to the next open hunk, else to the first; there may be none.
func (f *fileQuestions) onward() (done bool) {
	open := func(h hunkQuestion) bool { return h.ruled == undecided }
	next := slices.IndexFunc(f.hunks[f.at:], open)
	if next >= 0 {
		f.move(f.at + next)
		return false
	}
	next = slices.IndexFunc(f.hunks, open)
	if next < 0 {
		return true
	}
	f.move(next)
	return false
}

func (f *fileQuestions) move(to int) { f.at, f.fresh = to, true }

// step goes to a neighbor: j and k to one that is open, J and K to any.
func (f *fileQuestions) step(key string) {
	by := 1
	if key == "k" || key == "K" {
		by = -1
	}
	for i := f.at + by; i >= 0 && i < len(f.hunks); i += by {
		if key == "J" || key == "K" || f.hunks[i].ruled == undecided {
			f.move(i)
			return
		}
	}
	f.prompt.line("There is no other hunk that way.")
}

// split asks for each run of changed lines by itself.
func (f *fileQuestions) split() {
	if !f.splits() {
		f.prompt.line("This cannot be split.")
		return
	}
	var parts []hunkQuestion
	for _, part := range f.hunks[f.at].Split() {
		parts = append(parts, hunkQuestion{Hunk: part})
	}
	f.hunks = slices.Replace(f.hunks, f.at, f.at+1, parts...)
	f.prompt.line("Split into %d.", len(parts))
	f.fresh = true
}

// goTo goes to a hunk by its number, after a list of all when none is given.
func (f *fileQuestions) goTo(ctx context.Context, number string) error {
	if number == "" {
		for i, h := range f.hunks {
			f.prompt.line("%s%3d: %s", marks[h.ruled], i+1, hunkTitle(h.Hunk, f.change))
		}
		var err error
		if number, err = f.prompt.read(ctx, "Go to which hunk?"); err != nil {
			return err
		}
	}
	if i, _ := strconv.Atoi(strings.TrimSpace(number)); i >= 1 && i <= len(f.hunks) {
		f.move(i - 1)
	} else {
		f.prompt.line("There are hunks 1 to %d.", len(f.hunks))
	}
	return nil
}

var marks = map[ruling]string{undecided: " ", takeIt: "+", leaveIt: "-"}

// search goes to the next hunk that an expression matches.
func (f *fileQuestions) search(ctx context.Context, expression string) error {
	if expression == "" {
		var err error
		if expression, err = f.prompt.read(ctx, "Search for which expression?"); err != nil {
			return err
		}
	}
	switch match, wrong := regexp.Compile(expression); {
	case wrong != nil:
		f.prompt.line("%s is no regular expression.", termtext.Escape(expression))
	case !f.moveTo(match):
		f.prompt.line("No hunk of this file matches.")
	}
	return nil
}

// moveTo goes to the next hunk with a line that matches.
func (f *fileQuestions) moveTo(match *regexp.Regexp) bool {
	for i := range f.hunks {
		at := (f.at + 1 + i) % len(f.hunks)
		for _, line := range f.hunks[at].Lines {
			if match.Match(line.Text) {
				f.move(at)
				return true
			}
		}
	}
	return false
}

// remark keeps a comment on the hunk; a rejection leaves it, too.
func (f *fileQuestions) remark(ctx context.Context, text string, reject bool) (done bool, err error) {
	ask := "Comment on this hunk:"
	if reject {
		ask = "What is wrong with this hunk:"
	}
	if text == "" {
		if text, err = f.prompt.read(ctx, ask); err != nil {
			return false, err
		}
	}
	text = strings.TrimSpace(text)
	if text == "" && !reject {
		f.prompt.line("No comment.")
		return false, nil
	}
	f.prompt.said = append(f.prompt.said, hunkRemark{hunk: f.hunks[f.at].ID, text: text, reject: reject})
	if !reject {
		f.prompt.line("Noted.")
		return false, nil
	}
	return f.decide(leaveIt), nil
}

// help explains the answers.
func (f *fileQuestions) help() {
	take := "y - take this hunk\nn - leave it\nq - leave it and everything behind it\na - take this hunk and all that are open in this file\nd - leave this hunk and all that are open in this file"
	if f.change.Risky() {
		take = "yes - take this part of a file with risks (the whole word)\nn - leave it\nq - leave it and everything behind it\nd - leave this hunk and all that are open in this file"
	}
	f.prompt.line("%s", take)
	f.prompt.line("j, k - leave it open, go to the next or the last open hunk")
	f.prompt.line("J, K - leave it open, go to the next or the last hunk")
	f.prompt.line("g - go to a hunk by its number\n/ - search for a regular expression\ns - split this hunk")
	f.prompt.line("c - comment on this hunk\nr - reject this hunk, and say why: a session that resumes this one is told\nenter - show more of this hunk")
}

// keep adds what was decided to the choice. Everything is named by its id, which holds
// the content: what was changed since it was shown is not found, and so not taken.
func (f *fileQuestions) keep() {
	p, chosen := f.prompt, 0
	for _, h := range f.hunks {
		if h.ruled != takeIt {
			continue
		}
		chosen++
		p.choice.Hunks = append(p.choice.Hunks, string(h.ID))
		if p.rejected != nil && p.rejected(h.ID) {
			p.restored = append(p.restored, h.ID)
		}
	}
	if chosen == 0 {
		return
	}
	p.files, p.count = p.files+1, p.count+chosen
	if f.change.Risky() {
		p.choice.Risky = append(p.choice.Risky, f.change.Path.Raw())
	}
}
