package worktree_test

import (
	"strings"
	"testing"

	"aibox/workspace"

	"github.com/google/go-cmp/cmp"

	"aibox/review/reviewtest"
	"aibox/review/worktree"
)

func TestAPlanReportsLinesChangedOnBothSides(t *testing.T) {
	t.Parallel()
	b := reviewtest.NewRepository(t, map[string]string{"a": reviewtest.Ten, "b": reviewtest.Ten}).Prepare(func(r *workspace.Request) { r.Clean = true })
	b.Write("a", strings.NewReplacer("2\n", "two\n", "9\n", "").Replace(reviewtest.Ten))
	b.User("a", "0\n"+strings.NewReplacer("2\n", "zwei\nzwei\n", "9\n", "neun\n").Replace(reviewtest.Ten))
	b.Write("b", "agent\n")
	cs := b.Compute()
	plan, err := worktree.NewPlan(t.Context(), b.Workspace, cs.BaseTree, cs.Tree)
	reviewtest.Must(t, err)
	want := []worktree.Conflict{
		{Line: 3, Yours: []string{"zwei", "zwei"}, Base: []string{"2"}, Theirs: []string{"two"}},
		{Line: 11, Yours: []string{"neun"}, Base: []string{"9"}},
	}
	if diff := cmp.Diff(want, plan.Conflicts()[0].Lines); diff != "" {
		t.Error(diff)
	}
	if b := plan.Steps[1]; b.Action == worktree.ActionConflict || b.Lines != nil {
		t.Errorf("%+v", b)
	}
}
