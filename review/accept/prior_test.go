package accept_test

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/accept"
	"aibox/review/reviewtest"
)

// accepting is a session whose work is accepted in several parts.
type accepting struct {
	*reviewtest.Fixture
	before *accept.Prior
}

func (a *accepting) accept(cs *review.ChangeSet, choice review.Choice) *accept.Result {
	a.T.Helper()
	accepted, err := accept.Run(a.T.Context(), a.Workspace, cs, accept.Options{Choice: choice, Prior: a.before})
	reviewtest.Must(a.T, err)
	a.before = &accept.Prior{Selection: accepted.Selection, Tree: accepted.Tree, Branch: accepted.Branch, Commit: accepted.Commit}
	return accepted
}

// hunk is the id of the hunk of a file that adds a line.
func (a *accepting) hunk(cs *review.ChangeSet, path, line string) string {
	a.T.Helper()
	for _, h := range a.Hunks(cs, path) {
		for _, part := range h.Split() {
			for _, l := range part.Lines {
				if l.Op == '+' && string(l.Text) == line {
					return string(part.ID)
				}
			}
		}
	}
	a.T.Fatalf("no hunk of %s adds %q", path, line)
	return ""
}

// on returns a file's content on the session's branch.
func (a *accepting) on(path string) string {
	a.T.Helper()
	return reviewtest.GitIn(a.T, a.Repo, "show", a.before.Branch+":"+path) + "\n"
}

func TestAcceptedWorkIsKeptWhenTheAgentContinues(t *testing.T) {
	a := &accepting{Fixture: reviewtest.NewRepository(t, map[string]string{"f": reviewtest.Numbered(), "g": "g\n", "h": "h\n"}).Prepare()}
	a.Write("f", reviewtest.Numbered("b\n", "X\n"))
	a.Write("g", "first\n")
	a.Write("new", "one\n")
	reviewtest.Must(t, os.Remove(a.Path("h")))
	a.accept(a.Compute(), review.Choice{All: true})

	// A later session changes part of this one's work again.
	a.Write("f", reviewtest.Numbered("b\n", "Y\n", "s\n", "Z\n"))
	a.Write("g", "g\n")
	a.Write("new", "two\n")
	a.Write("h", "h again\n")
	a.Write("other", "other\n")
	cs := a.Compute()
	first := a.before.Commit
	accepted := a.accept(cs, review.Choice{Files: []string{"other"}, Hunks: []string{a.hunk(cs, "f", "Z")}})
	if got := a.on("f"); got != reviewtest.Numbered("b\n", "X\n", "s\n", "Z\n") {
		t.Errorf("f is %q", got)
	}
	if got := reviewtest.GitIn(t, a.Repo, "diff", "--name-status", first, accepted.Commit); got != "M\tf\nA\tother" {
		t.Errorf("the second commit is %q", got)
	}
	if accepted.Files != 2 {
		t.Errorf("%d files", accepted.Files)
	}
	a.accept(cs, review.Choice{Hunks: []string{a.hunk(cs, "f", "Y")}})
	if got := a.on("f"); got != reviewtest.Numbered("b\n", "Y\n", "s\n", "Z\n") {
		t.Errorf("f is %q", got)
	}
	if got := reviewtest.GitIn(t, a.Repo, "diff", "--name-status", accepted.Commit, a.before.Commit); got != "M\tf" {
		t.Errorf("the third commit is %q", got)
	}
	last := a.accept(cs, review.Choice{Files: []string{"h", "new"}})
	if got := reviewtest.GitIn(t, a.Repo, "diff", "--name-status", last.Commit+"^", last.Commit); got != "A\th\nM\tnew" {
		t.Errorf("the fourth commit is %q", got)
	}
	if got := a.on("g"); got != "first\n" {
		t.Errorf("g is %q", got)
	}
}

func TestABranchThatMovedIsNotChanged(t *testing.T) {
	a := &accepting{Fixture: reviewtest.NewRepository(t, map[string]string{"f": "f\n"}).Prepare()}
	a.Write("one", "1\n")
	a.Write("two", "2\n")
	cs := a.Compute()
	first := a.accept(cs, review.Choice{Files: []string{"one"}})
	moved := reviewtest.GitIn(t, a.Repo, "commit-tree", "-p", first.Commit, "-m", "mine", first.Commit+"^{tree}")
	reviewtest.GitIn(t, a.Repo, "update-ref", "refs/heads/"+first.Branch, moved)
	second := a.accept(cs, review.Choice{Files: []string{"two"}})
	if second.Branch != "aibox/k3f9-2" || reviewtest.GitIn(t, a.Repo, "rev-parse", first.Branch) != moved {
		t.Errorf("the work is on %s", second.Branch)
	}
	if got := reviewtest.GitIn(t, a.Repo, "ls-tree", "--name-only", second.Branch); got != "f\none\ntwo" {
		t.Errorf("the new branch has %q", got)
	}
	named, err := accept.Run(t.Context(), a.Workspace, cs, accept.Options{
		Branch: "only-two", Choice: review.Choice{Files: []string{"two"}}, Prior: a.before,
	})
	reviewtest.Must(t, err)
	if got := reviewtest.GitIn(t, a.Repo, "ls-tree", "--name-only", named.Branch); got != "f\ntwo" {
		t.Errorf("the named branch has %q", got)
	}
}

func TestACheckedOutBranchIsNotChanged(t *testing.T) {
	a := &accepting{Fixture: reviewtest.NewRepository(t, map[string]string{"f": "f\n"}).Prepare()}
	a.Write("one", "1\n")
	a.Write("two", "2\n")
	cs := a.Compute()
	first := a.accept(cs, review.Choice{Files: []string{"one"}})
	reviewtest.GitIn(t, a.Repo, "checkout", "-q", first.Branch)
	second := a.accept(cs, review.Choice{Files: []string{"two"}})
	if second.Branch != "aibox/k3f9-2" {
		t.Errorf("the work is on %s", second.Branch)
	}
	if got := reviewtest.GitIn(t, a.Repo, "status", "--porcelain"); got != "" {
		t.Errorf("the user sees %q", got)
	}
}

// TestABranchInTheMiddleOfARebaseIsNotChanged has operations of git that go back to the branch in the
// end, while nothing has it checked out.
func TestABranchInTheMiddleOfARebaseIsNotChanged(t *testing.T) {
	for name, start := range map[string]string{
		"rebase":         "git checkout -q BRANCH; ! git rebase -q main",
		"with patches":   "git checkout -q BRANCH; ! git rebase -q --apply main",
		"of a branch":    "git checkout -q -b above BRANCH; git commit -q --allow-empty -m above; ! git rebase -q --update-refs main",
		"bisect":         "git checkout -q BRANCH; git bisect start -q; git bisect bad; git bisect good main~2",
		"other worktree": "git worktree add -q ../other BRANCH; cd ../other; ! git rebase -q main",
	} {
		t.Run(name, func(t *testing.T) {
			a := &accepting{Fixture: reviewtest.NewRepository(t, map[string]string{"f": "a\n", "g": "g\n"})}
			reviewtest.GitIn(t, a.Repo, "commit", "-q", "--allow-empty", "-m", "second")
			reviewtest.GitIn(t, a.Repo, "branch", "-M", "main")
			a.Prepare()
			a.Write("f", "agent\n")
			a.Write("g", "agent\n")
			cs := a.Compute()
			first := a.accept(cs, review.Choice{Files: []string{"f"}})
			reviewtest.Write(t, a.InRepo("f"), "user\n")
			reviewtest.GitIn(t, a.Repo, "commit", "-qam", "user")
			script := exec.Command("sh", "-ec", strings.ReplaceAll(start, "BRANCH", first.Branch))
			script.Dir = a.Repo
			if out, err := script.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			second := a.accept(cs, review.Choice{Files: []string{"g"}})
			if tip := reviewtest.GitIn(t, a.Repo, "rev-parse", first.Branch); second.Branch == first.Branch || tip != first.Commit {
				t.Errorf("the branch %s is at %s, and the work on %s", first.Branch, tip, second.Branch)
			}
		})
	}
}

func TestWorkThatFailsVerificationIsNotDelivered(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"f": "f\n"}).Prepare()
	b.Write("one", "1\n")
	b.Write("two", "2\n")
	cs := b.Compute()
	failed := fault.New(fault.AgentFailed, "the tests fail")
	var verified string
	_, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{
		Choice: review.Choice{Files: []string{"two"}},
		Verify: func(_ context.Context, tree string) error { verified = tree; return failed },
	})
	if !errors.Is(err, failed) {
		t.Fatalf("accept gives %v", err)
	}
	if got := reviewtest.GitIn(t, b.Workspace.GitDir, "ls-tree", "--name-only", verified); got != "f\ntwo" {
		t.Errorf("what was verified has %q", got)
	}
	if got := reviewtest.GitIn(t, b.Repo, "branch", "--list", "aibox/*"); got != "" {
		t.Errorf("there is a branch %s", got)
	}
}

// TestNamesThatExcludeEachOtherAreExplained has branches that prevent each of the names that aibox
// chooses: git keeps a branch x in a file, and x/y in a folder x.
func TestNamesThatExcludeEachOtherAreExplained(t *testing.T) {
	b := reviewtest.NewRepository(t, map[string]string{"a.txt": "a\n"}).Prepare()
	b.Write("a.txt", "agent\n")
	session := b.Workspace.Session
	for _, name := range []string{"aibox", "aibox-" + session + "/x"} {
		reviewtest.GitIn(t, b.Repo, "branch", name)
	}
	cs := b.Compute()
	for _, name := range []string{"", "aibox/other", "aibox-" + session} {
		_, err := accept.Run(t.Context(), b.Workspace, cs, accept.Options{Choice: review.Choice{All: true}, Branch: name})
		if fault.KindOf(err) != fault.Conflict || !slices.Contains(fault.Hints(err), "name another branch with --branch") {
			t.Errorf("%q: %v", name, err)
		}
		if name == "" {
			continue
		}
		foreseen := accept.CheckBranch(t.Context(), b.Workspace, cs, accept.Options{Choice: review.Choice{All: true}, Branch: name})
		if foreseen == nil || foreseen.Error() != err.Error() {
			t.Errorf("%q: %v is foreseen, and not %v", name, foreseen, err)
		}
	}
}
