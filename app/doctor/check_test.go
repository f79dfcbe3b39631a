package doctor

import (
	"context"
	"slices"
	"testing"
)

func named(names ...string) []Finding {
	found := make([]Finding, len(names))
	for i, name := range names {
		found[i] = Finding{Name: name, State: OK}
	}
	return found
}

func TestFindingsAreReportedAtOnceAndListedInOrder(t *testing.T) {
	reported := make(chan struct{})
	checks := []Check{
		{Name: "slow", Part: Docker, Run: func(context.Context) []Finding {
			<-reported // ends only after the other finding was reported
			return named("a", "b")
		}},
		{Name: "none", Run: func(context.Context) []Finding { return nil }},
		{Name: "quick", Part: Model, Run: func(context.Context) []Finding { return named("c") }},
	}
	var order []int
	each := map[int][]Finding{}
	Examine(t.Context(), checks, func(i int, found []Finding) {
		order, each[i] = append(order, i), found
		if i == 2 {
			close(reported)
		}
	})
	if len(order) != 3 || slices.Index(order, 2) > slices.Index(order, 0) {
		t.Errorf("reported in the order %v", order)
	}
	if each[0][1].Part != Docker || each[2][0].Part != Model {
		t.Errorf("found %v", each)
	}
	var names []string
	for _, f := range All(t.Context(), checks) {
		names = append(names, f.Name)
	}
	if !slices.Equal(names, []string{"a", "b", "c"}) {
		t.Errorf("listed %v", names)
	}
}

func TestAnExaminationEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	checks := []Check{{Run: func(ctx context.Context) []Finding {
		cancel()
		<-ctx.Done()
		return named(ctx.Err().Error())
	}}}
	if found := All(ctx, checks); len(found) != 1 {
		t.Errorf("found %v", found)
	}
}
