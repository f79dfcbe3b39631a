package reviewtest

import (
	"fmt"
	"slices"
	"testing"

	"aibox/review"
	"aibox/review/accept"
	"aibox/review/risk"
)

// Hunks returns the hunks of one file.
func (b *Fixture) Hunks(cs *review.ChangeSet, path string) (hunks []review.Hunk) {
	b.T.Helper()
	Must(b.T, cs.Files(b.T.Context(), func(f review.FileDiff) error {
		hunks = f.Hunks
		return nil
	}, review.Path(path)))
	return hunks
}

// Assess computes the changes and their risks.
func (b *Fixture) Assess() *review.ChangeSet {
	b.T.Helper()
	cs := b.Compute()
	Must(b.T, review.Assess(b.T.Context(), b.Workspace, cs))
	return cs
}

// RisksOf returns the risks of one changed file.
func RisksOf(t testing.TB, cs *review.ChangeSet, path string) []risk.Risk {
	t.Helper()
	for _, c := range cs.Changes {
		if c.Path.Raw() == path {
			return c.Risks
		}
	}
	t.Fatalf("%s is not among the changes", path)
	return nil
}

// WantRisks compares the names of the rules, most severe risk first.
func (b *Fixture) WantRisks(cs *review.ChangeSet, path string, rules ...string) {
	b.T.Helper()
	var got []string
	for _, r := range RisksOf(b.T, cs, path) {
		got = append(got, r.Rule)
	}
	if !slices.Equal(got, rules) {
		b.T.Errorf("%s: risks %q, want %q", path, got, rules)
	}
}

// Take accepts choice to a branch.
func (b *Fixture) Take(cs *review.ChangeSet, choice review.Choice, before *accept.Prior) *accept.Result {
	b.T.Helper()
	accepted, err := accept.Run(b.T.Context(), b.Workspace, cs, accept.Options{Choice: choice, Prior: before})
	Must(b.T, err)
	return accepted
}

// Mounted returns the command that runs a program where script has mounted something, which
// needs a new namespace and no special rights.
func Mounted(script string, args ...string) []string {
	words := []string{"unshare", "--user", "--map-root-user", "--mount", "--", "sh", "-euc", script + "\nn=$1; shift $((n+1)); exec \"$@\"", "sh", fmt.Sprint(len(args))}
	return append(words, args...)
}

func DiskBench(t *testing.T) *Fixture {
	return NewRepository(t, map[string]string{"a.txt": Ten, "d/c.txt": "c\n"}).Prepare()
}
