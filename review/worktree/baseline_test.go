package worktree_test

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/google/go-cmp/cmp"

	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/reviewtest"
	"aibox/review/worktree"
)

// place puts the whole change set onto the user's working tree.
func place(b *reviewtest.Fixture) ([]review.Path, error) {
	b.T.Helper()
	cs := b.Compute()
	return worktree.ApplyToWorktree(b.T.Context(), b.Workspace, cs.BaseTree, cs.Tree, nil)
}

func mustPlace(b *reviewtest.Fixture) []review.Path {
	b.T.Helper()
	paths, err := place(b)
	reviewtest.Must(b.T, err)
	leavesNothing(b)
	return paths
}

// leavesNothing checks that a delivery leaves nothing behind.
func leavesNothing(b *reviewtest.Fixture) {
	b.T.Helper()
	left, _ := filepath.Glob(filepath.Join(b.Repo, ".aibox-*"))
	more, _ := filepath.Glob(filepath.Join(b.Workspace.GitDir, "aibox", "*worktree.[jm]*"))
	if left = append(left, more...); len(left) > 0 {
		b.T.Errorf("%q is left", left)
	}
}

// leaveMerge leaves an unfinished merge of b.txt.
func leaveMerge(b *reviewtest.Fixture) {
	reviewtest.GitIn(b.T, b.Repo, "checkout", "-q", "-b", "side")
	b.User("b.txt", "side\n")
	reviewtest.GitIn(b.T, b.Repo, "commit", "-qam", "side")
	reviewtest.GitIn(b.T, b.Repo, "checkout", "-q", "main")
	b.User("b.txt", "main\n")
	reviewtest.GitIn(b.T, b.Repo, "commit", "-qam", "main")
	_ = gitFails(b.Repo, "merge", "side")
}

// clashes checks that nothing is placed because of these paths, each with a part of
// its reason, and that nothing at all was touched.
func clashes(b *reviewtest.Fixture, want ...string) {
	b.T.Helper()
	cs := b.Compute()
	before := reviewtest.Picture(b.T, b.Repo)
	paths, err := worktree.ApplyToWorktree(b.T.Context(), b.Workspace, cs.BaseTree, cs.Tree, nil)
	if err == nil {
		b.T.Fatalf("it places %q", paths)
	}
	if diff := cmp.Diff(before, reviewtest.Picture(b.T, b.Repo)); diff != "" {
		b.T.Errorf("something was touched:\n%s", diff)
	}
	leavesNothing(b)
	if kind := fault.KindOf(err); kind != fault.Conflict {
		b.T.Fatalf("%v: %v", kind, err)
	}
	conflict, ok := errors.AsType[*worktree.ConflictError](err)
	if !ok {
		b.T.Fatalf("%v lists nothing", err)
	}
	var got []string
	for _, step := range conflict.Conflicts {
		got = append(got, step.Path.String()+": "+step.Reason)
	}
	if len(got) != len(want) {
		b.T.Fatalf("conflicts %q, want %q", got, want)
	}
	for i := range want {
		path, why, _ := strings.Cut(want[i], ": ")
		if !strings.HasPrefix(got[i], path+": ") || !strings.Contains(got[i], why) || !strings.Contains(err.Error(), got[i]) {
			b.T.Errorf("conflict %q, want %q", got[i], want[i])
		}
	}
	plan, err := worktree.NewPlan(b.T.Context(), b.Workspace, cs.BaseTree, cs.Tree)
	reviewtest.Must(b.T, err)
	if diff := cmp.Diff(conflict.Conflicts, plan.Conflicts()); diff != "" {
		b.T.Errorf("the plan has other conflicts:\n%s", diff)
	}
}
