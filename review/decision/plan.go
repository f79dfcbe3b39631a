package decision

import (
	"context"

	"aibox/internal/fault"
	"aibox/internal/termtext"
	"aibox/review"
)

// Plan is the result that accepting a choice would deliver.
type Plan struct {
	Choice    review.Choice
	Selection *review.Selection
	Part      *review.ChangeSet // the delivered part, as a separate change set
}

// NewPlan applies a choice to a change set. before is what the target has taken earlier, nil for
// nothing. It returns a Usage error if the choice accepts the risks of a file from which it takes
// nothing.
func NewPlan(ctx context.Context, set *review.ChangeSet, choice review.Choice, before *review.Selection) (*Plan, error) {
	selection, err := set.SelectAfter(ctx, choice, before)
	if err != nil {
		return nil, err
	}
	names := set.Names()
	for _, name := range choice.Risky {
		if selection.At(names.Named(name).Path) == nil { // Select found it
			return nil, fault.New(fault.Usage, "--accept-risky names %s, but nothing in it is selected", termtext.Escape(name)).
				Hint("add it with --files, or remove --files and --hunks")
		}
	}
	part, err := set.Outline(ctx, selection)
	return &Plan{Choice: choice, Selection: selection, Part: part}, err
}

// Tree returns the baseline with the choice applied, as a tree.
func Tree(ctx context.Context, set *review.ChangeSet, choice review.Choice) (string, error) {
	selection, err := set.Select(ctx, choice)
	if err != nil {
		return "", err
	}
	return set.TreeOf(ctx, selection)
}
