package changes

import (
	"context"
	"errors"

	"aibox/internal/amount"
	"aibox/review"
	"aibox/review/accept"
	"aibox/review/decision"
	"aibox/session"
	"aibox/session/feedback"
	"aibox/session/manager"
	"aibox/ui/changes/filetree"
	"aibox/ui/page"

	tea "charm.land/bubbletea/v2"
)

// computed brings the change set and the facts about it.
type computed struct {
	session   session.Session
	set       *review.ChangeSet
	verified  *session.Verification
	request   manager.VerifyRequest
	feedback  feedback.Feedback
	decisions *manager.Decisions
	target    accept.Target                 // the last one of the repository
	saved     *decision.Saved               // the decisions of an earlier review
	unread    error                         // why the saved decisions cannot be read
	hunks     map[review.Path][]review.Hunk // of the files with earlier decisions about hunks
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
		msg.saved, msg.unread = services.Draft(id, msg.set)
		msg.target = services.LastTarget(msg.session.Repository)
		for _, v := range verifications {
			if v.Tree == msg.set.Tree {
				msg.verified = &v
			}
		}
		if msg.err == nil {
			msg.err = msg.readHunks(ctx)
		}
		return msg
	}
}

// readHunks reads the files with earlier decisions about their hunks.
func (c *computed) readHunks(ctx context.Context) error {
	paths := c.saved.Detailed()
	for _, r := range c.feedback.Open().Rejected {
		paths = append(paths, r.Path)
	}
	if paths = c.set.Changed(paths); len(paths) == 0 {
		return nil
	}
	c.hunks = map[review.Path][]review.Hunk{}
	return c.set.Files(ctx, func(d review.FileDiff) error {
		c.hunks[d.Change.Path] = d.Hunks
		return nil
	}, paths...)
}

// draft starts the review with the earlier rejections and the saved decisions. It returns
// the number of files with a saved decision.
func (c *computed) draft() (d *decision.Draft, restored int) {
	d = decision.New(filetree.InOrder(c.set), decision.Options{Target: c.target, Earlier: deliveredBy(c.decisions), Rejected: c.feedback.Rejects})
	for path, hunks := range c.hunks {
		i := d.Find(path)
		d.Load(i, hunks)
		d.RestoreRejections(i)
		d.Unload(i)
	}
	return d, d.Restore(c.saved, c.hunks)
}

// deliveredBy returns what earlier accepts delivered, by target.
func deliveredBy(d *manager.Decisions) map[accept.Target]*review.Selection {
	return map[accept.Target]*review.Selection{accept.ToBranch: d.Delivered(accept.ToBranch, ""), accept.ToWorktree: d.Delivered(accept.ToWorktree, "")}
}

// start shows the change set, or closes the screen if there is none.
func (m *Model) start(msg computed) tea.Cmd {
	m.busy = ""
	if msg.err != nil {
		return page.Leave("", msg.err)
	}
	if msg.set.Empty() {
		return page.Leave(string(m.session.ID)+" changed nothing", nil)
	}
	m.session, m.set, m.verified, m.request = msg.session, msg.set, msg.verified, msg.request
	draft, restored := msg.draft()
	m.use(draft, msg.decisions)
	switch {
	case msg.unread != nil:
		m.note.Say("", msg.unread)
	case restored > 0:
		m.note.Say("decisions on "+amount.Of(restored, "file")+" are from your last review; F withdraws them", nil)
	}
	m.diff.Comments.Add(msg.feedback.Comments...)
	m.goTo(0)
	return m.load()
}

// use makes the parts show a draft.
func (m *Model) use(d *decision.Draft, decisions *manager.Decisions) {
	m.setDraft(d)
	m.saver.use(m.set, d)
	m.delivery = delivery{ctx: m.ctx, services: m.services, session: m.session, set: m.set, draft: d, request: m.request, clear: m.saver.remove(), defaultBranch: defaultBranch(m.session.ID, decisions)}
}

// defaultBranch returns the branch that an accept goes to unless the user names another.
func defaultBranch(id session.ID, d *manager.Decisions) string {
	if d.Branch != nil && d.Branch.Branch != "" {
		return d.Branch.Branch
	}
	return "aibox/" + string(id)
}
