package cli

import (
	"fmt"
	"strings"

	"aibox/review"
	"aibox/review/decision"
)

// question returns the question about the hunk, with the possible answers.
func (f *filePrompt) question() string {
	keys := []string{"y", "n", "q", "a", "d"}
	if f.file.Risky() {
		keys = []string{"yes", "n", "q", "d"}
	}
	if len(f.file.Hunks()) > 1 {
		keys = append(keys, "j", "J", "k", "K", "g", "/")
	}
	if len(f.hunk().Split()) > 1 {
		keys = append(keys, "s")
	}
	if h := f.hunk(); decision.CanChooseLines(&h) && !f.file.Risky() {
		keys = append(keys, "l")
	}
	keys = append(keys, "c", "r", "?")
	ask := fmt.Sprintf("(%d/%d) %s [%s]?", f.at+1, len(f.file.Hunks()), acceptQuestions[f.hunk().Kind], strings.Join(keys, ","))
	if left := f.pager.left(); left > 0 {
		ask = fmt.Sprintf("(%d more lines: press enter) %s", left, ask)
	}
	return ask
}

var acceptQuestions = map[review.HunkKind]string{
	review.HunkText:    "Accept this hunk",
	review.HunkAdded:   "Accept this new file",
	review.HunkFolder:  "Accept all changes below this folder",
	review.HunkDeleted: "Accept this deletion",
	review.HunkContent: "Accept this new content",
	review.HunkType:    "Accept this type change",
	review.HunkMode:    "Accept this mode change",
	review.HunkRenamed: "Accept this rename",
}

// help explains the answers.
func (f *filePrompt) help() {
	accept := "y - accept this hunk\nn - leave it out\nq - quit: leave out this hunk and all that follow\na - accept this hunk and every undecided one after it in this file\nd - leave out this hunk and every undecided one after it in this file"
	if f.file.Risky() {
		accept = "yes - accept this part of a file with risks (the whole word)\nn - leave it out\nq - quit: leave out this hunk and all that follow\nd - leave out this hunk and every undecided one after it in this file"
	}
	f.line("%s", accept)
	f.line("j, k - decide later, go to the next or previous undecided hunk")
	f.line("J, K - decide later, go to the next or previous hunk")
	f.line("g - go to a hunk by number\n/ - search for a regular expression\ns - split this hunk\nl - accept single lines of this hunk")
	f.line("c - comment on this hunk\nr - reject this hunk with a reason, which a session that resumes this one receives\nenter - show more of this hunk")
}
