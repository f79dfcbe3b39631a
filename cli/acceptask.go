package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/review"
	"aibox/session"
)

// askHunks asks hunk by hunk what to take. Nothing is written before the person has
// seen a summary and said yes; a choice that is empty then means that what they said
// was kept and there is nothing to deliver.
func (a *app) askHunks(ctx context.Context, service *session.Sessions, found session.Session, set *review.ChangeSet, o acceptOptions) (review.Choice, error) {
	part, err := partOf(ctx, set, o.files, nil)
	if err != nil {
		return review.Choice{}, err
	}
	in, err := a.answers(ctx)
	if err != nil {
		return review.Choice{}, err
	}
	defer in.close()
	p := &hunkPrompt{in: in, out: a.err, t: a.errTerm, load: func(ctx context.Context, path review.Path) (file review.FileDiff, err error) {
		err = set.Files(ctx, func(f review.FileDiff) error { file = f; return nil }, path)
		return file, err
	}}
	if p.taken, err = takenBefore(service, found.ID); err != nil {
		return review.Choice{}, err
	}
	if p.earlier, p.rejected, err = saidBefore(service, found.ID); err != nil {
		return review.Choice{}, err
	}
	err = p.run(ctx, part.seen().Changes)
	if err == nil {
		err = a.confirm(ctx, p, set, found, o)
	}
	switch {
	case errors.Is(err, io.EOF):
		return review.Choice{}, fault.New(fault.Interrupted, "the input ended before the questions did, so nothing was accepted").
			Hint("answer q to take what was chosen so far")
	case err != nil && ctx.Err() != nil:
		return review.Choice{}, fault.New(fault.Interrupted, "interrupted, so nothing was accepted")
	case err != nil:
		return review.Choice{}, err
	}
	if len(p.restored) > 0 && !o.dryRun {
		if err := service.Unreject(found.ID, p.restored); err != nil {
			return review.Choice{}, err
		}
	}
	return p.choice, a.keepRemarks(ctx, service, found.ID, p.said)
}

// takenBefore reports of hunks that cannot be split, and of whole files, whether an
// earlier accept took them as they are now.
func takenBefore(service *session.Sessions, id session.ID) (func(*review.Change, review.HunkID) bool, error) {
	decisions, err := service.Decisions(id)
	if err != nil {
		return nil, err
	}
	taken := make(map[review.Path]review.Taken, len(decisions.Taken.Taken))
	for _, t := range decisions.Taken.Taken {
		taken[t.Path] = t
	}
	return func(c *review.Change, hunk review.HunkID) bool {
		t, ok := taken[c.Path]
		if !ok || t.Whole && !t.Fits(c) {
			return false
		}
		return t.Whole || slices.Contains(t.Blocks, hunk)
	}, nil
}

// saidBefore is what was said of hunks already, as lines, and which are rejected.
func saidBefore(service *session.Sessions, id session.ID) (map[review.HunkID][]string, func(review.HunkID) bool, error) {
	feedback, err := service.Feedback(id)
	if err != nil {
		return nil, nil, err
	}
	said := map[review.HunkID][]string{}
	for _, c := range feedback.Comments {
		if c.Hunk != "" {
			said[c.Hunk] = append(said[c.Hunk], c.Text)
		}
	}
	for _, r := range feedback.Rejected {
		said[r.Hunk] = append(said[r.Hunk], rejectedText(r))
	}
	return said, feedback.Rejects, nil
}

// confirm shows what was chosen and asks whether that is meant.
func (a *app) confirm(ctx context.Context, p *hunkPrompt, set *review.ChangeSet, found session.Session, o acceptOptions) error {
	p.line("")
	if p.choice.Empty() && len(p.said) == 0 {
		return fault.New(fault.Interrupted, "nothing was chosen, so nothing was accepted")
	}
	question := "Keep what you said"
	if p.choice.Empty() {
		p.line("Nothing was chosen.")
	} else {
		plan, err := a.planAccept(ctx, set, p.choice)
		if err != nil {
			return err
		}
		p.line("Chosen: %s in %s", amount.Of(p.count, "part"), amount.Of(p.files, "file"))
		if err := plan.part.Stat(p.out, p.t.width); err != nil {
			return err
		}
		switch {
		case o.dryRun:
			question = "Is this what you want"
		case o.target() == review.ToWorktree:
			question = "Write this into your working tree"
		default:
			question = "Make a commit of this on a branch"
		}
	}
	rejected := 0
	for _, r := range p.said {
		if r.reject {
			rejected++
		}
	}
	if len(p.said) > 0 {
		p.line("Said: %s, %s", amount.Of(len(p.said)-rejected, "comment"), amount.Of(rejected, "rejection"))
	}
	for {
		answer, err := p.read(ctx, question+" [y,n]?")
		if err != nil {
			return err
		}
		switch strings.ToLower(strings.TrimSpace(answer)) {
		case "y", "yes":
			return nil
		case "n", "no":
			return fault.New(fault.Interrupted, "nothing was accepted, as you said")
		}
		p.line("Answer y or n.")
	}
}

// keepRemarks stores what was said of hunks.
func (a *app) keepRemarks(ctx context.Context, service *session.Sessions, id session.ID, said []hunkRemark) error {
	for _, r := range said {
		var err error
		if r.reject {
			err = service.Reject(ctx, id, []review.HunkID{r.hunk}, r.text)
		} else {
			_, err = service.Comment(ctx, id, session.Comment{Hunk: r.hunk, Text: r.text})
		}
		if err != nil {
			return err
		}
	}
	if len(said) > 0 {
		fmt.Fprintf(a.err, "%s kept what you said; aibox run --resume %s sends it to the agent\n", a.errTerm.good("✓"), id)
	}
	return nil
}
