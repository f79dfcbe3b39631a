package cli

import (
	"context"
	"slices"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/decision"
	"aibox/session"
)

// drafts stores the decisions of unfinished reviews.
type drafts interface {
	Draft(id session.ID, set *review.ChangeSet) (*decision.Saved, error)
	SaveDraft(id session.ID, saved *decision.Saved) error
}

// continueDraft offers to start with the decisions of an unfinished review, and has the
// prompt save the decisions after every answer.
func (c *console) continueDraft(ctx context.Context, p *hunkPrompt, service drafts, id session.ID, set *review.ChangeSet) error {
	saved, err := service.Draft(id, set)
	if err != nil {
		p.line("%s %s", c.errTerm.warn("!"), notice(err.Error()))
	}
	if err := p.restore(ctx, saved); err != nil {
		return err
	}
	// What the prompt does not ask about stays.
	others := slices.DeleteFunc(slices.Clone(saved.All()), func(f decision.SavedFile) bool { return p.draft.Find(f.Path) >= 0 })
	stored := p.draft.Version()
	p.save = func() error {
		if p.draft.Version() == stored {
			return nil
		}
		stored = p.draft.Version()
		now := p.draft.Save(set)
		now.Files = append(now.Files, others...)
		return service.SaveDraft(id, now)
	}
	p.clear = func() error {
		return service.SaveDraft(id, &decision.Saved{Base: set.BaseTree, Tree: set.Tree, Files: others})
	}
	return nil
}

// restore makes the saved decisions if the user wants to continue with them.
func (p *hunkPrompt) restore(ctx context.Context, saved *decision.Saved) error {
	hunks, known := map[review.Path][]review.Hunk{}, 0
	for _, f := range saved.All() {
		if p.draft.Find(f.Path) >= 0 {
			known++
		}
	}
	if known == 0 {
		return nil
	}
	if yes, err := p.confirm(ctx, "Continue with your decisions on "+amount.Of(known, "file")); err != nil || !yes {
		return err
	}
	for _, path := range saved.Detailed() {
		i := p.draft.Find(path)
		if i < 0 {
			continue
		}
		diff, err := p.load(ctx, path)
		if err != nil {
			return err
		}
		hunks[path] = p.remaining(p.draft.File(i), diff.Hunks)
	}
	p.draft.Restore(saved, hunks)
	p.resumes = true
	return nil
}

// confirm asks a question until the answer is yes or no.
func (p *hunkPrompt) confirm(ctx context.Context, question string) (bool, error) {
	for {
		answer, err := p.read(ctx, question+" [y,n]?")
		if err != nil {
			return false, err
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return true, nil
		case "n", "no":
			return false, nil
		}
		p.line("Answer y or n.")
	}
}

// keptHint adds to an error that the decisions are kept, if they are.
func (p *hunkPrompt) keptHint(f *fault.Fault) error {
	if p.save != nil && p.draft.Steps() > 0 {
		return f.Hint("your decisions are kept: accept -p continues with them")
	}
	return f
}
