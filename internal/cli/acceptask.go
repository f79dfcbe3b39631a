package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

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
	return p.choice, a.keepRemarks(ctx, service, found.ID, p.said)
}

// confirm shows what was chosen and asks whether that is meant.
func (a *app) confirm(ctx context.Context, p *hunkPrompt, set *review.ChangeSet, found session.Session, o acceptOptions) error {
	p.line("")
	if p.choice.Empty() && len(p.said) == 0 {
		return fault.New(fault.Interrupted, "nothing was chosen, so nothing was accepted")
	}
	question := "Keep what you said?"
	if p.choice.Empty() {
		p.line("Nothing was chosen.")
	} else {
		plan, err := a.planAccept(ctx, set, p.choice)
		if err != nil {
			return err
		}
		p.line("Chosen: %s in %s", count(p.count, "part"), files(p.files))
		if err := plan.part.Stat(p.out, p.t.width); err != nil {
			return err
		}
		switch {
		case o.dryRun:
			question = "Is this what you want?"
		case o.target() == review.ToWorktree:
			question = "Write this into your working tree?"
		default:
			question = "Make a commit of this on a branch?"
		}
	}
	rejected := 0
	for _, r := range p.said {
		if r.reject {
			rejected++
		}
	}
	if len(p.said) > 0 {
		p.line("Said: %s, %s", count(len(p.said)-rejected, "comment"), count(rejected, "rejection"))
	}
	for {
		answer, err := p.read(ctx, question+" [y,n]")
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
