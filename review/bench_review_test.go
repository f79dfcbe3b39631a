package review_test

import (
	"fmt"
	"slices"
	"testing"

	"aibox/review"
	"aibox/review/risk"
)

// hunks are those of one file.
func (b *bench) hunks(cs *review.ChangeSet, path string) (hunks []review.Hunk) {
	b.t.Helper()
	must(b.t, cs.Files(b.t.Context(), func(f review.FileDiff) error {
		hunks = f.Hunks
		return nil
	}, review.Path(path)))
	return hunks
}

// assess computes the changes and looks for their risks.
func (b *bench) assess() *review.ChangeSet {
	b.t.Helper()
	cs := b.compute()
	must(b.t, review.Assess(b.t.Context(), b.ws, cs))
	return cs
}

// risksOf are the risks of one changed file.
func risksOf(t testing.TB, cs *review.ChangeSet, path string) []risk.Risk {
	t.Helper()
	for _, c := range cs.Changes {
		if c.Path.Raw() == path {
			return c.Risks
		}
	}
	t.Fatalf("%s is not among the changes", path)
	return nil
}

// wantRisks compares the names of the rules, gravest risk first.
func (b *bench) wantRisks(cs *review.ChangeSet, path string, rules ...string) {
	b.t.Helper()
	var got []string
	for _, r := range risksOf(b.t, cs, path) {
		got = append(got, r.Rule)
	}
	if !slices.Equal(got, rules) {
		b.t.Errorf("%s: risks %q, want %q", path, got, rules)
	}
}

// take accepts what choice says to a branch.
func (b *bench) take(cs *review.ChangeSet, choice review.Choice, before *review.Before) *review.Accepted {
	b.t.Helper()
	accepted, err := review.Accept(b.t.Context(), b.ws, cs, review.AcceptOptions{Choice: choice, Before: before})
	must(b.t, err)
	return accepted
}

// mounted are the words that run a program where script has mounted something, which
// needs a namespace of its own and no more rights than anybody has.
func mounted(script string, args ...string) []string {
	words := []string{"unshare", "--user", "--map-root-user", "--mount", "--", "sh", "-euc", script + "\nn=$1; shift $((n+1)); exec \"$@\"", "sh", fmt.Sprint(len(args))}
	return append(words, args...)
}

func diskBench(t *testing.T) *bench {
	return newRepository(t, map[string]string{"a.txt": ten, "d/c.txt": "c\n"}).prepare()
}
