package changes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/review"
	"aibox/review/accept"
	"aibox/review/decision"
	"aibox/review/worktree"
	"aibox/session"
	"aibox/session/description"
	"aibox/session/manager"
	"aibox/ui/page"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// delivery delivers the selected changes, after a last question for confirmation.
type delivery struct {
	ctx      context.Context //nolint:containedctx // commands outlive Update, and end with the screen
	services Services
	session  session.Session
	request  manager.VerifyRequest
	set      *review.ChangeSet
	draft    *decision.Draft
	clear    func() error // removes the saved draft

	defaultBranch string
	branch        string // as the user wrote it; empty for the default

	stop context.CancelFunc // cancels the delivery in progress; nil before the first

	question *deliveryDialog // nil unless it is open
	message  string          // of the commit, as the last question had it
	proposed string          // the message that it proposed, as the field holds it
	agreed   []string        // files of which it takes a part despite the risks of that part
}

// asks reports whether the last question is open.
func (d *delivery) asks() bool { return d.question != nil }

func (d *delivery) resize(width, height int) {
	if d.question != nil {
		d.question.resize(width, height)
	}
}

// planned brings the data for the last question.
type planned struct {
	part     *review.ChangeSet
	left     []review.LeftOut // chosen, but left out because of risks
	more     bool             // something was delivered before, to one of the targets
	worktree *worktree.Plan   // nil when the working tree cannot be read
	message  string           // proposed for the commit
	secrets  int              // how many were replaced in it
	err      error
}

// choice returns the changes that are decided on, with the risks that the user agreed to.
func (d *delivery) choice() review.Choice {
	choice := d.draft.Choice()
	choice.RiskyParts = d.agreed
	return choice
}

// plan computes what would be delivered, for the last question. agreed are the files of which a part is
// taken despite its risks.
func (d *delivery) plan(agreed ...string) tea.Cmd {
	d.agreed = agreed
	ctx, services, of, set, choice := d.ctx, d.services, d.session, d.set, d.choice()
	target, branch := d.draft.Target(), d.branch
	return func() tea.Msg {
		decisions, err := services.Decisions(of.ID)
		if err != nil {
			return planned{err: err}
		}
		plan, err := decision.NewPlan(ctx, set, choice, decisions.Delivered(target, branch))
		if err != nil {
			return planned{err: err}
		}
		msg := planned{part: plan.Part, left: plan.Selection.Left, more: !decisions.Taken.Empty()}
		verifications, err := services.Verifications(of.ID)
		described := description.Of(of, plan.Part, verifications)
		msg.message, msg.secrets, msg.err = described.Message, described.Secrets, err
		msg.worktree, _ = services.PlanWorktree(ctx, of.ID, set, choice) // accepting reports the error
		return msg
	}
}

// open asks the last question. It keeps a message that the user wrote; another choice has another
// proposal.
func (d *delivery) open(msg planned, now time.Time) {
	if msg.err != nil {
		return
	}
	message := newMessageArea(msg.message)
	wrote := d.message != "" && d.message != d.proposed
	d.proposed = message.Value() // the field turns tabs into spaces, which is no change by the user
	if wrote {
		message = newMessageArea(d.message)
	}
	d.question = &deliveryDialog{id: d.session.ID, draft: d.draft, part: msg.part, left: msg.left, more: msg.more, plan: msg.worktree, secrets: msg.secrets, message: message, since: now}
	d.question.branch = newBranchField(cmp.Or(d.branch, d.defaultBranch))
}

// Update handles a key while the question is open. accepts means that the command
// delivers. note is at the foot of the question.
func (d *delivery) Update(msg tea.KeyPressMsg, now time.Time, note frame.Note) (cmd tea.Cmd, accepts bool) {
	q := d.question
	switch msg.String() {
	case "esc", "ctrl+c":
		d.take(q)
	case "ctrl+t":
		d.draft.SetTarget(otherTarget(d.draft.Target()))
		if q.more { // the other target may have taken something else before
			d.take(q)
			return d.plan(), false
		}
	case "ctrl+e":
		return d.edit(), false
	case "ctrl+r":
		if _, offers := q.rows(theme.Theme{}, note); offers && now.Sub(q.since) >= dialog.Grace {
			d.take(q)
			return d.plan(append(d.agreed, q.riskyParts()[0].Path.String())...), false
		}
	case "ctrl+s":
		if now.Sub(q.since) < dialog.Grace || d.draft.Target() == accept.ToBranch && q.branchError() != nil {
			return nil, false
		}
		was := d.branch
		if d.take(q); q.more && d.branch != was {
			d.agreed = nil // to what goes together with the work on the other branch
		}
		return d.accept(), true
	case "tab", "shift+tab":
		q.focusBranch(!q.branch.Focused())
	default:
		d.paste(msg)
	}
	return nil, false
}

// take closes the question and keeps what the user wrote.
func (d *delivery) take(q *deliveryDialog) {
	d.question, d.message, d.branch = nil, q.message.Value(), strings.TrimSpace(q.branch.Value())
	if d.branch == d.defaultBranch {
		d.branch = ""
	}
}

// paste passes text to the focused field. There is no field if the target is the working tree.
func (d *delivery) paste(msg tea.Msg) {
	switch q := d.question; {
	case d.draft.Target() == accept.ToWorktree:
	case q.branch.Focused():
		q.branch, _ = q.branch.Update(msg)
	default:
		q.message, _ = q.message.Update(msg)
	}
}

// edit opens the message in the user's editor.
func (d *delivery) edit() tea.Cmd {
	if d.draft.Target() == accept.ToWorktree {
		return nil
	}
	e := &editing{ctx: d.ctx, services: d.services, text: d.question.message.Value(), part: d.question.part}
	return page.Ask(page.Exec{Do: e.run, Done: func(err error) tea.Msg { return edited{e.text, err} }})
}

// takeMessage takes the message from the editor. A failed edit changes nothing.
func (d *delivery) takeMessage(msg edited, now time.Time) error {
	if d.question == nil {
		return nil
	}
	d.question.since = now // keys typed while the editor closes must not answer the question
	if msg.err == nil {
		d.question.message.SetValue(msg.text)
		d.question.message.MoveToBegin()
	}
	return msg.err
}

// delivered brings the result of an accept.
type delivered struct {
	accepted *accept.Result
	left     string // names the files that are still undecided
	err      error
	unkept   error // why the rejections could not be stored
}

// accept delivers, and stores the rejections for the agent.
func (d *delivery) accept() tea.Cmd {
	ctx, stop := context.WithCancel(d.ctx)
	d.stop = stop
	services, id, set, store, clearDraft := d.services, d.session.ID, d.set, d.rejections(), d.clear
	left := remaining(d.draft)
	repo := d.session.Repository
	opts := accept.Options{
		Choice: d.choice(), Target: d.draft.Target(), Message: d.message, Verify: services.Verifier(d.session, d.request),
	}
	if opts.Target == accept.ToBranch {
		opts.Branch = d.branch
	}
	return func() tea.Msg {
		defer stop()
		msg := delivered{left: left}
		if msg.accepted, msg.err = services.AcceptSet(ctx, id, set, opts); msg.err != nil {
			return msg
		}
		_ = services.RememberTarget(repo, opts.Target)                                 // a failure changes only the next default
		if _, msg.unkept = store(); msg.unkept == nil && len(msg.accepted.Left) == 0 { // else the user can go on
			msg.unkept = clearDraft()
		}
		return msg
	}
}

// rejections returns a function that makes the stored rejections those of the draft: it withdraws
// those that the draft has no longer. Rejections that were stored elsewhere meanwhile stay. The
// function reads the files that were rejected before they were read, and returns the rejected hunks.
func (d *delivery) rejections() func() ([]review.HunkID, error) {
	ctx, services, id, set := d.ctx, d.services, d.session.ID, d.set
	unread, stored := d.draft.RejectedUnread(), d.draft.StoredRejections()
	var hunks []review.HunkID
	for _, r := range d.draft.Rejections() {
		hunks = append(hunks, r.Hunk)
	}
	return func() ([]review.HunkID, error) {
		if len(unread) > 0 {
			err := set.Files(ctx, func(d review.FileDiff) error {
				for i := range d.Hunks {
					hunks = append(hunks, d.Hunks[i].ID)
				}
				return nil
			}, unread...)
			if err != nil {
				return nil, err
			}
		}
		if len(stored) > 0 {
			now, err := services.Feedback(id)
			if err != nil {
				return nil, err
			}
			withdrawn := slices.DeleteFunc(slices.Clone(stored), func(h review.HunkID) bool { return slices.Contains(hunks, h) || !now.Rejects(h) })
			if len(withdrawn) > 0 {
				if err := services.Unreject(ctx, id, withdrawn); err != nil {
					return nil, err
				}
			}
		}
		if len(hunks) == 0 {
			return nil, nil
		}
		return hunks, services.Reject(ctx, id, hunks, "")
	}
}

// askToKeep asks whether to store the rejections when nothing is accepted. canSend reports
// whether the agent can receive them.
func (d *delivery) askToKeep(now time.Time, canSend bool) *dialog.Confirm {
	store, clearDraft := d.rejections(), d.clear
	text, sent := "Nothing is accepted.", ""
	if canSend {
		text += " S, here or in the list of sessions, sends your rejections to the agent."
		sent = ": S sends that to the agent"
	}
	return dialog.Ask(dialog.Confirm{
		Title: "Keep your rejections?", Yes: "keep",
		Text: text,
		Do: func() tea.Msg {
			rejected, err := store()
			if err == nil {
				err = clearDraft()
			}
			if err != nil {
				return delivered{err: err}
			}
			return page.Close{Text: amount.Of(len(rejected), "hunk") + " rejected" + sent}
		},
	}, now)
}

// nothing reports that everything was left out because of risks.
func (msg delivered) nothing() bool { return msg.accepted.Files == 0 && len(msg.accepted.Left) > 0 }

// summary describes the delivery in a sentence.
func (msg delivered) summary() string {
	a := msg.accepted
	text := amount.Of(a.Files, "file") + " accepted on branch " + termtext.Escape(a.Branch)
	for _, sub := range a.Modules {
		text += fmt.Sprintf(", and branch %s in submodule %s", termtext.Escape(sub.Branch), sub.Path)
	}
	if a.Target == accept.ToWorktree {
		text = amount.Of(len(a.Paths), "file") + " written to your working tree"
	}
	if msg.nothing() {
		text = "nothing was accepted"
	}
	if len(a.Left) > 0 {
		text += "; left out because of risks: " + leftPaths(a.Left)
	}
	if msg.left != "" {
		text += "; " + msg.left
	}
	if a.Secrets > 0 {
		text += "; " + amount.Of(a.Secrets, "secret") + " in the message replaced"
	}
	if msg.unkept != nil {
		text += "; your rejections could not be kept: " + termtext.Escape(msg.unkept.Error())
	}
	return text
}

// leftPaths names files that are left out.
func leftPaths(left []review.LeftOut) string {
	paths := make([]review.Path, len(left))
	for i := range left {
		paths[i] = left[i].Path
	}
	return review.NamePaths(paths)
}

// remaining names the files that are still undecided; empty for none.
func remaining(draft *decision.Draft) string {
	var parts []string
	undecided, risky := draft.Remaining()
	if len(undecided) > 0 {
		parts = append(parts, "undecided: "+review.NamePaths(undecided))
	}
	if len(risky) > 0 {
		parts = append(parts, "with risks: "+review.NamePaths(risky))
	}
	return strings.Join(parts, "; ")
}

// deliver begins to deliver: it plans the last question, or asks whether to keep the
// rejections when nothing is accepted.
func (m *Model) deliver() tea.Cmd {
	tally := m.draft.Tally()
	switch {
	case m.draft.Choice().Empty() && tally.Rejected+tally.Mixed > 0:
		m.ask = m.delivery.askToKeep(m.now(), m.canSendBack())
		return nil
	case m.draft.Choice().Empty():
		text := "nothing is selected: y takes a hunk, Y a file, A all but the risky ones"
		if left := remaining(m.draft); tally.Delivered > 0 && left != "" {
			text = "nothing more is selected; " + left
		}
		m.note.Say(text, nil)
		return nil
	case m.verify.running():
		m.note.Say("a verification is running: v shows it", nil)
		return nil
	}
	if err := m.session.Deliverable(); err != nil {
		m.note.Say("", err)
		return nil
	}
	m.busy = planning
	return m.plans.Replace(m.delivery.plan())
}

// planning names the operation in progress before the last question.
const planning = "putting the parts together…"

// cancelPlan handles a key while the last question is being prepared. The key works as usual, and
// the question is canceled, because it would otherwise take the user's next key. The note reports
// this.
func (m *Model) cancelPlan(msg tea.KeyPressMsg) tea.Cmd {
	m.plans.Cancel()
	m.busy = ""
	var cmd tea.Cmd
	if !key.Matches(msg, m.keys.leave) {
		cmd = m.press(msg)
	}
	if m.busy == "" && m.note.Text() == "" {
		m.note.Say("you went on, so nothing is accepted; enter asks again", nil)
	}
	return cmd
}

// pressDelivery handles a key while the last question is open.
func (m *Model) pressDelivery(msg tea.KeyPressMsg) tea.Cmd {
	cmd, accepts := m.delivery.Update(msg, m.now(), m.note)
	switch {
	case accepts:
		m.busy = delivering
	case cmd != nil && !m.delivery.asks(): // it plans again
		m.busy = planning
		return m.plans.Replace(cmd)
	}
	return cmd
}

// The names of the operation in progress after the last question.
const (
	delivering = "delivering…"
	canceling  = "canceling the delivery…"
)

var cancelDelivery = keymap.Bind("cancel", "esc")

// pressDelivering handles a key while the work is being delivered.
func (m *Model) pressDelivering(msg tea.KeyPressMsg) {
	if key.Matches(msg, cancelDelivery) {
		m.busy = canceling
		m.delivery.stop()
	}
}

// showDelivered leaves the screen, or shows why nothing was delivered. A failure changes
// no decision.
func (m *Model) showDelivered(msg delivered) tea.Cmd {
	m.busy = ""
	m.appeared.Start(m.now())
	if clash, ok := errors.AsType[*worktree.ConflictError](msg.err); ok {
		m.conflict = newConflict(clash, m.bodyHeight())
		return nil
	}
	if errors.Is(msg.err, context.Canceled) {
		m.note.Say("the delivery was canceled", nil)
		return nil
	}
	if msg.err != nil {
		m.note.Say("", msg.err)
		return nil
	}
	if msg.nothing() {
		m.note.Say(msg.summary(), nil)
		return nil
	}
	if msg.accepted.Target == accept.ToBranch && msg.accepted.Branch != "" {
		m.result = &resultDialog{text: msg.summary(), command: mergeCommand(m.session, msg.accepted)}
		return nil
	}
	return page.Leave(msg.summary(), nil)
}
