package changes

import (
	"fmt"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/reviewtest"
	"aibox/review/worktree"
)

func TestLongListsShowWhichFilesAreHidden(t *testing.T) {
	after := map[string]string{}
	for i := range 70 {
		after[fmt.Sprintf("file%02d.txt", i)] = "text\n"
	}
	p := newUser(t, &recorded{set: reviewtest.ChangeSet(t, nil, after)}, 80, 24)
	p.Press("t")
	p.Scrolls(p.m.list.Len(), "end")
}

func TestAConflictShowsWhichFilesAndLinesAreHidden(t *testing.T) {
	var steps []worktree.Step
	lines := strings.Split(strings.Repeat("line\n", 80), "\n")
	for i := range 30 {
		steps = append(steps, worktree.Step{Path: review.Path(fmt.Sprintf("file%02d.txt", i)), Action: worktree.ActionConflict, Reason: "both", Lines: []worktree.Conflict{
			{Line: 5, Yours: lines, Theirs: lines},
		}})
	}
	services := &recorded{set: worked(t), plan: &worktree.Plan{Steps: steps}}
	p := newUser(t, services, 120, 40)
	p.Press("T", "A", "enter")
	services.fail = fault.New(fault.Conflict, "%w", &worktree.ConflictError{Repo: "/home/ann/shop", Conflicts: steps})
	p.accept()
	p.Sees("1-11 of 30")
	p.Sees("of 82")
	p.Press("end")
	p.Sees("20-30 of 30")
}
