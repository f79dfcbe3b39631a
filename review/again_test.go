package review_test

import (
	"context"
	"errors"
	"os"
	"testing"

	"aibox/internal/fault"
	"aibox/review"
)

// accepting is a session in which work is accepted bit by bit.
type accepting struct {
	*bench
	before *review.Before
}

func (a *accepting) accept(cs *review.ChangeSet, choice review.Choice) *review.Accepted {
	a.t.Helper()
	accepted, err := review.Accept(a.t.Context(), a.ws, cs, review.AcceptOptions{Choice: choice, Before: a.before})
	must(a.t, err)
	a.before = &review.Before{Selection: accepted.Selection, Tree: accepted.Tree, Branch: accepted.Branch, Commit: accepted.Commit}
	return accepted
}

// hunk is the id of the hunk of a file that adds a line.
func (a *accepting) hunk(cs *review.ChangeSet, path, line string) string {
	a.t.Helper()
	for _, h := range a.hunks(cs, path) {
		for _, part := range h.Split() {
			for _, l := range part.Lines {
				if l.Op == '+' && string(l.Text) == line {
					return string(part.ID)
				}
			}
		}
	}
	a.t.Fatalf("no hunk of %s adds %q", path, line)
	return ""
}

// on is a file as the session's branch has it.
func (a *accepting) on(path string) string {
	a.t.Helper()
	return gitIn(a.t, a.repo, "show", a.before.Branch+":"+path) + "\n"
}

func TestWhatWasAcceptedStaysWhenTheAgentGoesOn(t *testing.T) {
	a := &accepting{bench: newRepository(t, map[string]string{"f": numbered(), "g": "g\n", "h": "h\n"}).prepare()}
	a.write("f", numbered("b\n", "X\n"))
	a.write("g", "first\n")
	a.write("new", "one\n")
	must(t, os.Remove(a.path("h")))
	a.accept(a.compute(), review.Choice{All: true})

	// A session that continues this one changes its mind about some of it.
	a.write("f", numbered("b\n", "Y\n", "s\n", "Z\n"))
	a.write("g", "g\n")
	a.write("new", "two\n")
	a.write("h", "h again\n")
	a.write("other", "other\n")
	cs := a.compute()
	first := a.before.Commit
	accepted := a.accept(cs, review.Choice{Files: []string{"other"}, Hunks: []string{a.hunk(cs, "f", "Z")}})
	if got := a.on("f"); got != numbered("b\n", "X\n", "s\n", "Z\n") {
		t.Errorf("f is %q", got)
	}
	if got := gitIn(t, a.repo, "diff", "--name-status", first, accepted.Commit); got != "M\tf\nA\tother" {
		t.Errorf("the second commit is %q", got)
	}
	if accepted.Files != 2 {
		t.Errorf("%d files", accepted.Files)
	}
	a.accept(cs, review.Choice{Hunks: []string{a.hunk(cs, "f", "Y")}})
	if got := a.on("f"); got != numbered("b\n", "Y\n", "s\n", "Z\n") {
		t.Errorf("f is %q", got)
	}
	if got := gitIn(t, a.repo, "diff", "--name-status", accepted.Commit, a.before.Commit); got != "M\tf" {
		t.Errorf("the third commit is %q", got)
	}
	last := a.accept(cs, review.Choice{Files: []string{"h", "new"}})
	if got := gitIn(t, a.repo, "diff", "--name-status", last.Commit+"^", last.Commit); got != "A\th\nM\tnew" {
		t.Errorf("the fourth commit is %q", got)
	}
	if got := a.on("g"); got != "first\n" {
		t.Errorf("g is %q", got)
	}
}

func TestABranchThatMovedIsLeftAlone(t *testing.T) {
	a := &accepting{bench: newRepository(t, map[string]string{"f": "f\n"}).prepare()}
	a.write("one", "1\n")
	a.write("two", "2\n")
	cs := a.compute()
	first := a.accept(cs, review.Choice{Files: []string{"one"}})
	moved := gitIn(t, a.repo, "commit-tree", "-p", first.Commit, "-m", "mine", first.Commit+"^{tree}")
	gitIn(t, a.repo, "update-ref", "refs/heads/"+first.Branch, moved)
	second := a.accept(cs, review.Choice{Files: []string{"two"}})
	if second.Branch != "aibox/k3f9-2" || gitIn(t, a.repo, "rev-parse", first.Branch) != moved {
		t.Errorf("the work is on %s", second.Branch)
	}
	if got := gitIn(t, a.repo, "ls-tree", "--name-only", second.Branch); got != "f\none\ntwo" {
		t.Errorf("the new branch has %q", got)
	}
	named, err := review.Accept(t.Context(), a.ws, cs, review.AcceptOptions{
		Branch: "only-two", Choice: review.Choice{Files: []string{"two"}}, Before: a.before,
	})
	must(t, err)
	if got := gitIn(t, a.repo, "ls-tree", "--name-only", named.Branch); got != "f\ntwo" {
		t.Errorf("the named branch has %q", got)
	}
}

func TestABranchThatIsCheckedOutIsLeftAlone(t *testing.T) {
	a := &accepting{bench: newRepository(t, map[string]string{"f": "f\n"}).prepare()}
	a.write("one", "1\n")
	a.write("two", "2\n")
	cs := a.compute()
	first := a.accept(cs, review.Choice{Files: []string{"one"}})
	gitIn(t, a.repo, "checkout", "-q", first.Branch)
	second := a.accept(cs, review.Choice{Files: []string{"two"}})
	if second.Branch != "aibox/k3f9-2" {
		t.Errorf("the work is on %s", second.Branch)
	}
	if got := gitIn(t, a.repo, "status", "--porcelain"); got != "" {
		t.Errorf("the user sees %q", got)
	}
}

func TestWorkThatDoesNotPassIsNotDelivered(t *testing.T) {
	b := newRepository(t, map[string]string{"f": "f\n"}).prepare()
	b.write("one", "1\n")
	b.write("two", "2\n")
	cs := b.compute()
	failed := fault.New(fault.AgentFailed, "the tests fail")
	var verified string
	_, err := review.Accept(t.Context(), b.ws, cs, review.AcceptOptions{
		Choice: review.Choice{Files: []string{"two"}},
		Verify: func(_ context.Context, tree string) error { verified = tree; return failed },
	})
	if !errors.Is(err, failed) {
		t.Fatalf("accept gives %v", err)
	}
	if got := gitIn(t, b.ws.GitDir, "ls-tree", "--name-only", verified); got != "f\ntwo" {
		t.Errorf("what was verified has %q", got)
	}
	if got := gitIn(t, b.repo, "branch", "--list", "aibox/*"); got != "" {
		t.Errorf("there is a branch %s", got)
	}
}
