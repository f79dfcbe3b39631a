package review_test

import (
	"strings"
	"testing"

	"aibox/review"
	"aibox/workspace"

	"github.com/google/go-cmp/cmp"
)

func TestAPlanTellsTheLinesThatBothSidesChanged(t *testing.T) {
	t.Parallel()
	b := newRepository(t, map[string]string{"a": ten, "b": ten}).prepare(func(r *workspace.Request) { r.Clean = true })
	b.write("a", strings.NewReplacer("2\n", "two\n", "9\n", "").Replace(ten))
	b.user("a", "0\n"+strings.NewReplacer("2\n", "zwei\nzwei\n", "9\n", "neun\n").Replace(ten))
	b.write("b", "agent\n")
	cs := b.compute()
	plan, err := review.PlanWorktree(t.Context(), b.ws, cs.BaseTree, cs.Tree)
	must(t, err)
	want := []review.Meeting{
		{Line: 3, Yours: []string{"zwei", "zwei"}, Before: []string{"2"}, Theirs: []string{"two"}},
		{Line: 11, Yours: []string{"neun"}, Before: []string{"9"}},
	}
	if diff := cmp.Diff(want, plan.Conflicts()[0].Meetings); diff != "" {
		t.Error(diff)
	}
	if b := plan.Steps[1]; b.Action == review.Clash || b.Meetings != nil {
		t.Errorf("%+v", b)
	}
}
