package comparison

import (
	"context"

	"aibox/internal/fault"
	"aibox/review"
)

// Difference returns the changes that lead from the result of one member to that of
// another. The change set is only for printing: it belongs to no session.
func Difference(ctx context.Context, from, to *Member) (*review.ChangeSet, error) {
	for _, m := range []*Member{from, to} {
		if !m.Known {
			return nil, fault.New(fault.Usage, "the changes of %s are not known yet", m.ID).
				Hint("`aibox attach %s` follows it, `aibox diff %s` computes them", m.ID, m.ID)
		}
	}
	if from.Dir != to.Dir {
		return nil, fault.New(fault.Usage, "%s and %s worked on different repositories", from.ID, to.ID).
			Hint("compare sessions of one repository")
	}
	set := &review.ChangeSet{GitDir: to.Dir, BaseTree: from.Tree, Tree: to.Tree}
	return set, set.Describe(ctx)
}
