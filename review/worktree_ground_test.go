package review_test

import (
	"errors"
	"path/filepath"
	"strings"

	"github.com/google/go-cmp/cmp"

	"aibox/internal/fault"
	"aibox/review"
)

// place puts the whole change set onto the user's working tree.
func place(b *bench) ([]review.Path, error) {
	b.t.Helper()
	cs := b.compute()
	return review.ApplyToWorktree(b.t.Context(), b.ws, cs.BaseTree, cs.Tree, nil)
}

func mustPlace(b *bench) []review.Path {
	b.t.Helper()
	paths, err := place(b)
	must(b.t, err)
	tidy(b)
	return paths
}

// tidy checks that a delivery leaves nothing behind.
func tidy(b *bench) {
	b.t.Helper()
	left, _ := filepath.Glob(filepath.Join(b.repo, ".aibox-*"))
	more, _ := filepath.Glob(filepath.Join(b.ws.GitDir, "aibox", "*worktree.[jm]*"))
	if left = append(left, more...); len(left) > 0 {
		b.t.Errorf("%q is left", left)
	}
}

// leaveMerge leaves a merge of b.txt that is not finished.
func leaveMerge(b *bench) {
	gitIn(b.t, b.repo, "checkout", "-q", "-b", "side")
	b.user("b.txt", "side\n")
	gitIn(b.t, b.repo, "commit", "-qam", "side")
	gitIn(b.t, b.repo, "checkout", "-q", "main")
	b.user("b.txt", "main\n")
	gitIn(b.t, b.repo, "commit", "-qam", "main")
	_ = gitFails(b.repo, "merge", "side")
}

// clashes checks that nothing is placed because of these paths, each with a part of
// its reason, and that nothing at all was touched.
func clashes(b *bench, want ...string) {
	b.t.Helper()
	cs := b.compute()
	before := picture(b.t, b.repo)
	paths, err := review.ApplyToWorktree(b.t.Context(), b.ws, cs.BaseTree, cs.Tree, nil)
	if err == nil {
		b.t.Fatalf("it places %q", paths)
	}
	if diff := cmp.Diff(before, picture(b.t, b.repo)); diff != "" {
		b.t.Errorf("something was touched:\n%s", diff)
	}
	tidy(b)
	if kind := fault.KindOf(err); kind != fault.Conflict {
		b.t.Fatalf("%v: %v", kind, err)
	}
	conflict, ok := errors.AsType[*review.WorktreeConflict](err)
	if !ok {
		b.t.Fatalf("%v lists nothing", err)
	}
	var got []string
	for _, step := range conflict.Clashes {
		got = append(got, step.Path.String()+": "+step.Reason)
	}
	if len(got) != len(want) {
		b.t.Fatalf("conflicts %q, want %q", got, want)
	}
	for i := range want {
		path, why, _ := strings.Cut(want[i], ": ")
		if !strings.HasPrefix(got[i], path+": ") || !strings.Contains(got[i], why) || !strings.Contains(err.Error(), got[i]) {
			b.t.Errorf("conflict %q, want %q", got[i], want[i])
		}
	}
	plan, err := review.PlanWorktree(b.t.Context(), b.ws, cs.BaseTree, cs.Tree)
	must(b.t, err)
	if diff := cmp.Diff(conflict.Clashes, plan.Conflicts()); diff != "" {
		b.t.Errorf("the plan has other conflicts:\n%s", diff)
	}
}
