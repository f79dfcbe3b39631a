package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"aibox/internal/amount"
	"aibox/internal/fault"
	"aibox/review"
	"aibox/review/accept"
	"aibox/review/decision"
	"aibox/review/printer"
	"aibox/session"
	"aibox/session/feedback"
	"aibox/session/manager"
)

// chooseHunks asks hunk by hunk what to accept. It stores nothing before the user has
// confirmed a summary. An empty choice means that only feedback was stored and there is
// nothing to deliver.
func (o *acceptOptions) chooseHunks(ctx context.Context, service *manager.Manager, found session.Session, set *review.ChangeSet) (review.Choice, error) {
	scope, err := decision.NewScope(ctx, set, o.files, nil)
	if err != nil {
		return review.Choice{}, err
	}
	p, err := o.newHunkPrompt(service, found.ID, scope)
	if err != nil {
		return review.Choice{}, err
	}
	if p.in, err = o.answers(ctx); err != nil {
		return review.Choice{}, err
	}
	defer p.in.close()
	if o.isInteractive() { // answers from a pipe always answer the same questions
		err = o.continueDraft(ctx, p, service, found.ID, set)
	}
	if err == nil {
		err = p.run(ctx)
	}
	if err == nil {
		err = o.confirmChoice(ctx, p, set)
	}
	switch {
	case errors.Is(err, io.EOF):
		return review.Choice{}, p.keptHint(fault.New(fault.Interrupted, "the input ended before the last question, so nothing was accepted").
			Hint("answer q to accept what you chose so far"))
	case err != nil && ctx.Err() != nil:
		return review.Choice{}, p.keptHint(fault.New(fault.Interrupted, "interrupted, so nothing was accepted"))
	case err != nil:
		return review.Choice{}, err
	}
	choice, err := p.draft.Choice(), o.keepFeedback(ctx, service, found, p)
	if o.dryRun {
		return choice, err
	}
	if o.delivered = p.clear; err == nil && choice.Empty() && p.clear != nil {
		err = p.clear()
	}
	return choice, err
}

// newHunkPrompt returns a prompt for the files of a scope, with their earlier decisions
// and feedback. The caller sets its input.
func (o *acceptOptions) newHunkPrompt(service *manager.Manager, id session.ID, scope *decision.Scope) (*hunkPrompt, error) {
	decisions, err := service.Decisions(id)
	if err != nil {
		return nil, err
	}
	given, err := service.Feedback(id)
	if err != nil {
		return nil, err
	}
	p := &hunkPrompt{out: o.err, t: o.errTerm, earlier: map[review.HunkID][]string{}}
	p.load = func(ctx context.Context, path review.Path) (file review.FileDiff, err error) {
		err = scope.Whole.Files(ctx, func(f review.FileDiff) error { file = f; return nil }, path)
		return file, err
	}
	for _, c := range given.Comments {
		if c.Hunk != "" {
			p.earlier[c.Hunk] = append(p.earlier[c.Hunk], c.Text)
		}
	}
	for _, r := range given.Rejected {
		p.earlier[r.Hunk] = append(p.earlier[r.Hunk], rejectedText(r))
	}
	set := scope.Set()
	changes := make([]*review.Change, len(set.Changes))
	for i := range set.Changes {
		changes[i] = &set.Changes[i]
	}
	p.draft = decision.New(changes, decision.Options{
		Target: o.target(), Earlier: map[accept.Target]*review.Selection{o.target(): decisions.Delivered(o.target(), o.branch)}, Rejected: given.Rejects, HunksOnly: true,
	})
	return p, nil
}

// confirmChoice shows the decisions and asks for confirmation.
func (o *acceptOptions) confirmChoice(ctx context.Context, p *hunkPrompt, set *review.ChangeSet) error {
	choice, rejections := p.draft.Choice(), len(p.draft.Rejections())
	p.line("")
	if choice.Empty() && len(p.comments)+rejections == 0 {
		return fault.New(fault.Interrupted, "nothing was chosen, so nothing was accepted")
	}
	question := "Keep your comments and rejections"
	if o.dryRun {
		question = "Continue"
	}
	if choice.Empty() {
		p.line("Nothing is selected.")
	} else {
		plan, err := decision.NewPlan(ctx, set, choice, p.draft.Earlier())
		if err != nil {
			return err
		}
		for _, file := range plan.Selection.Left {
			p.line("Left out: %s", file.Path)
			for _, r := range file.Risks {
				p.line("    %s", notice(r.String()))
			}
		}
		hunks, files := p.draft.AcceptedHunks()
		p.line("Selected: %s in %s", amount.Of(hunks, "part"), amount.Of(files, "file"))
		if err := printer.Stat(plan.Part, p.out, p.t.width); err != nil {
			return err
		}
		switch {
		case o.dryRun:
		case o.target() == accept.ToWorktree:
			question = "Write these changes to your working tree"
		default:
			question = "Commit these changes to a branch"
		}
	}
	if len(p.comments)+rejections > 0 {
		p.line("Feedback: %s, %s", amount.Of(len(p.comments), "comment"), amount.Of(rejections, "rejection"))
	}
	yes, err := p.confirm(ctx, question)
	if err == nil && !yes {
		return p.keptHint(fault.New(fault.Interrupted, "you answered no, so nothing was accepted"))
	}
	return err
}

// feedbackStore stores the feedback on sessions' work; *manager.Manager implements it.
type feedbackStore interface {
	Comment(ctx context.Context, id session.ID, c feedback.Comment) (feedback.Comment, error)
	Reject(ctx context.Context, id session.ID, hunks []review.HunkID, note string) error
	Unreject(ctx context.Context, id session.ID, hunks []review.HunkID) error
}

// keepFeedback stores the comments and rejections, and removes the rejections that the user has undone.
// A dry run changes nothing.
func (o *acceptOptions) keepFeedback(ctx context.Context, service feedbackStore, of session.Session, p *hunkPrompt) error {
	if o.dryRun {
		if len(p.comments)+len(p.draft.Rejections()) > 0 {
			fmt.Fprintf(o.err, "%s your comments and rejections were not kept, because this is a dry run\n", o.errTerm.warn("!"))
		}
		return nil
	}
	if restored := p.draft.Unrejected(); len(restored) > 0 {
		if err := service.Unreject(ctx, of.ID, restored); err != nil {
			return err
		}
	}
	return o.storeFeedback(ctx, service, of, p)
}

// storeFeedback stores the comments and rejections.
func (c *console) storeFeedback(ctx context.Context, service feedbackStore, of session.Session, p *hunkPrompt) error {
	for _, c := range p.comments {
		if _, err := service.Comment(ctx, of.ID, c); err != nil {
			return err
		}
	}
	rejections := p.draft.Rejections()
	for _, r := range rejections {
		if err := service.Reject(ctx, of.ID, []review.HunkID{r.Hunk}, r.Note); err != nil {
			return err
		}
	}
	if len(p.comments)+len(rejections) > 0 {
		fmt.Fprintf(c.err, "%s feedback kept; `%s` sends it to the agent\n", c.errTerm.good("✓"), session.ResumeCommand(of.ID, of.Agent))
	}
	return nil
}
