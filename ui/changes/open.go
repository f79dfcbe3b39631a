package changes

import (
	"context"
	"errors"

	"aibox/review"
	"aibox/review/accept"
	"aibox/review/decision"
	"aibox/session"
	"aibox/session/feedback"
	"aibox/ui/changes/filetree"
	"aibox/ui/page"

	tea "charm.land/bubbletea/v2"
)

// computed brings the change set and what is known about it.
type computed struct {
	session   session.Session
	set       *review.ChangeSet
	verified  *session.Verification
	request   session.VerifyRequest
	feedback  feedback.Feedback
	decisions *session.Decisions
	rejected  map[review.Path][]review.Hunk // hunks of the files with earlier rejections
	err       error
}

// Init finds the session and computes its change set.
func (m *Model) Init() tea.Cmd {
	ctx, services, id := m.ctx, m.services, m.session.ID
	return func() tea.Msg {
		var msg computed
		if msg.session, msg.err = services.Find(string(id)); msg.err != nil {
			return msg
		}
		if msg.set, msg.err = services.Changes(ctx, id); msg.err != nil {
			return msg
		}
		verifications, err := services.Verifications(id)
		feedback, feedbackErr := services.Feedback(id)
		request, requestErr := services.VerifyRequest(msg.session)
		decisions, decisionsErr := services.Decisions(id)
		msg.feedback, msg.request, msg.decisions = feedback, request, decisions
		msg.err = errors.Join(err, feedbackErr, requestErr, decisionsErr)
		for _, v := range verifications {
			if v.Tree == msg.set.Tree {
				msg.verified = &v
			}
		}
		if msg.err == nil {
			msg.err = msg.readRejected(ctx)
		}
		return msg
	}
}

// readRejected reads the files with hunks that the user rejected earlier.
func (c *computed) readRejected(ctx context.Context) error {
	var paths []review.Path
	for _, r := range c.feedback.Open().Rejected {
		paths = append(paths, r.Path)
	}
	if paths = c.set.Changed(paths); len(paths) == 0 {
		return nil
	}
	c.rejected = map[review.Path][]review.Hunk{}
	return c.set.Files(ctx, func(d review.FileDiff) error {
		c.rejected[d.Change.Path] = d.Hunks
		return nil
	}, paths...)
}

// draft starts the review. Earlier rejections are decided already.
func (c *computed) draft() *decision.Draft {
	d := decision.New(filetree.InOrder(c.set), decision.Options{Earlier: deliveredBy(c.decisions), Rejected: c.feedback.Rejects})
	for path, hunks := range c.rejected {
		i := d.Find(path)
		d.Load(i, hunks)
		d.RestoreRejections(i)
		d.Unload(i)
	}
	return d
}

// deliveredBy returns what earlier accepts delivered, by target.
func deliveredBy(d *session.Decisions) map[accept.Target]*review.Selection {
	delivered := map[accept.Target]*review.Selection{}
	for target, prior := range map[accept.Target]*accept.Prior{accept.ToBranch: d.Branch, accept.ToWorktree: d.Worktree} {
		if prior != nil {
			delivered[target] = prior.Selection
		}
	}
	return delivered
}

// start shows the change set, or leaves when there is none.
func (m *Model) start(msg computed) tea.Cmd {
	m.busy = ""
	if msg.err != nil {
		return page.Leave("", msg.err)
	}
	if msg.set.Empty() {
		return page.Leave(string(m.session.ID)+" changed nothing", nil)
	}
	m.session, m.set, m.verified, m.request = msg.session, msg.set, msg.verified, msg.request
	m.use(msg.draft())
	m.diff.Comments.Add(msg.feedback.Comments...)
	m.goTo(0)
	return m.load()
}

// use makes the parts show a draft.
func (m *Model) use(d *decision.Draft) {
	m.setDraft(d)
	m.delivery = delivery{ctx: m.ctx, services: m.services, session: m.session, set: m.set, draft: d, request: m.request}
}
