package changes

import (
	"fmt"
	"strings"

	"aibox/internal/amount"
	"aibox/review/accept"
	"aibox/review/decision"
	"aibox/ui/page"
	"aibox/ui/widget/dialog"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// press routes a key.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	switch {
	case m.ask != nil:
		if yes := dialog.Answer(&m.ask, msg, m.now()); yes != nil {
			return yes.Do
		}
		return nil
	case m.lateDialog() && m.appeared.Ignores(m.now()):
		return nil
	case m.result != nil:
		return m.pressResult(msg)
	case m.delivery.asks():
		return m.pressDelivery(msg)
	case m.comment != nil:
		return m.pressComment(msg)
	case m.search.typing():
		return m.updateSearch(msg)
	case m.verify.asks() || m.verify.shown():
		return m.pressVerify(msg)
	case m.conflict != nil:
		return m.pressConflict(msg)
	case m.busy == planning:
		return m.cancelPlan(msg)
	case m.busy == delivering:
		m.pressDelivering(msg)
		return nil
	case m.busy != "" || m.set == nil:
		if m.set == nil && key.Matches(msg, m.keys.leave) {
			return page.Leave("", nil)
		}
		return nil
	}
	m.note.Say("", nil)
	if m.list.Focused {
		return m.pressList(msg)
	}
	return m.pressDiff(msg)
}

// lateDialog reports whether a dialog is open that can appear by itself at the end of a command.
func (m *Model) lateDialog() bool {
	return m.result != nil || m.delivery.asks() || m.comment != nil || m.conflict != nil || m.verify.shown()
}

// pressDiff handles a key on the diff.
func (m *Model) pressDiff(msg tea.KeyPressMsg) tea.Cmd {
	if m.lines != nil {
		if cmd, handled := m.pressLines(msg); handled {
			return cmd
		}
	}
	k := m.bound()
	switch {
	case key.Matches(msg, k.endSearch):
		m.endSearch()
		return nil
	case key.Matches(msg, k.nextHit):
		return m.nextHit(1)
	case key.Matches(msg, k.lastHit):
		return m.nextHit(-1)
	case key.Matches(msg, k.leave):
		return m.leave()
	case key.Matches(msg, k.tree):
		m.focusList(true)
		return nil
	case key.Matches(msg, k.more), key.Matches(msg, k.whole):
		return m.expand(key.Matches(msg, k.whole))
	case key.Matches(msg, k.search):
		m.search.open(m.width)
		return nil
	case m.diff.Move(msg) || m.jump(msg):
		return m.load()
	}
	shown := m.diff.File().ExpandedBytes
	if m.diff.Change(msg) {
		if m.diff.File().ExpandedBytes != shown {
			return tea.Batch(m.load(), m.searchAgain())
		}
		return m.load()
	}
	return m.decide(msg, k)
}

// decide handles a key that decides something, or that ends the review.
func (m *Model) decide(msg tea.KeyPressMsg, k keys) tea.Cmd {
	switch {
	case key.Matches(msg, k.take):
		return m.decideHunk(decision.Accepted)
	case key.Matches(msg, k.takeFile):
		return m.decideFile(decision.Accepted)
	case key.Matches(msg, k.reject):
		return m.decideHunk(decision.Rejected)
	case key.Matches(msg, k.rejectFile):
		return m.decideFile(decision.Rejected)
	case key.Matches(msg, k.clear):
		return m.decideHunk(decision.Undecided)
	case key.Matches(msg, k.takeAll):
		m.decideRest(0, m.draft.Len(), decision.Accepted)
	case key.Matches(msg, k.rejectAll):
		m.decideRest(0, m.draft.Len(), decision.Rejected)
	case key.Matches(msg, k.reset):
		m.reset()
	case key.Matches(msg, k.comment):
		m.openComment()
	case key.Matches(msg, k.sendBack):
		return m.askUnfinished("send back", true, m.sendBack)
	case key.Matches(msg, k.undo):
		m.undo()
		return m.load()
	case key.Matches(msg, k.split):
		m.split()
	case key.Matches(msg, k.lines):
		m.chooseLines()
	case key.Matches(msg, k.verify):
		m.openVerify()
	case key.Matches(msg, k.target):
		m.switchTarget()
	case key.Matches(msg, k.deliver):
		return m.askUnfinished("go on", false, m.deliver)
	}
	return nil
}

// pressList handles a key in the list of files.
func (m *Model) pressList(msg tea.KeyPressMsg) tea.Cmd {
	k := m.bound()
	e, ok := m.list.Entry()
	switch {
	case !ok:
	case key.Matches(msg, k.open):
		return m.enter(e)
	case key.Matches(msg, k.closed):
		m.focusList(false)
	case key.Matches(msg, k.Left):
		m.list.Outward()
	case key.Matches(msg, k.undo):
		m.undo()
	case key.Matches(msg, k.takeFile), key.Matches(msg, k.take):
		return m.decideEntry(e, decision.Accepted)
	case key.Matches(msg, k.rejectFile), key.Matches(msg, k.reject):
		return m.decideEntry(e, decision.Rejected)
	case m.list.Cursor.Press(msg):
		if e, _ := m.list.Entry(); e.File && e.From != m.diff.At {
			m.goTo(e.From)
		}
	}
	return m.load()
}

// leave closes the screen. It asks first if the user has decided something, because nothing is
// accepted yet, if a comment would be lost, or if a verification runs.
func (m *Model) leave() tea.Cmd {
	question := m.Leaving()
	if question == nil {
		return page.Leave("", nil)
	}
	question.Yes = "leave"
	store, text := m.saver.now(), ""
	if m.draft.Steps() > 0 {
		text = "nothing of " + string(m.session.ID) + " is accepted yet; your decisions are kept"
	}
	question.Do = func() tea.Msg {
		if err := store(); err != nil {
			return page.Close{Err: err}
		}
		return page.Close{Text: text}
	}
	m.ask = dialog.Ask(*question, m.now())
	return nil
}

// Leaving returns the question that the user must answer before leaving or quitting, without its
// Do. It returns nil if nothing was decided, no comment would be lost and nothing is being delivered or verified.
func (m *Model) Leaving() *dialog.Confirm {
	if m.draft == nil || m.result != nil {
		return nil
	}
	if m.busy == delivering || m.busy == canceling {
		return &dialog.Confirm{Title: "Leave during the delivery?", Text: fmt.Sprintf("The work of %s is being delivered. That may not be completed if you leave now.", m.session.ID)}
	}
	var texts []string
	if m.draft.Steps() > 0 {
		texts = append(texts, fmt.Sprintf("Nothing of %s is accepted yet. Your decisions are kept: the next review shows them again.", m.session.ID))
	}
	if n := len(m.unfinished); n > 0 {
		texts = append(texts, "You lose the text of "+amount.Of(n, "comment")+" that you have not kept.")
	}
	if m.verify.running() {
		texts = append(texts, "The verification is stopped.")
	}
	if len(texts) == 0 {
		return nil
	}
	return &dialog.Confirm{Title: "Leave the review?", Text: strings.Join(texts, " ")}
}

// switchTarget chooses the other target.
func (m *Model) switchTarget() { m.draft.SetTarget(otherTarget(m.draft.Target())) }

func otherTarget(t accept.Target) accept.Target {
	if t == accept.ToBranch {
		return accept.ToWorktree
	}
	return accept.ToBranch
}

// paste passes pasted text to the open field.
func (m *Model) paste(msg tea.PasteMsg) {
	switch {
	case m.delivery.asks():
		m.delivery.paste(msg)
	case m.comment != nil:
		m.comment.Update(msg)
	case m.search.typing():
		m.search.Update(msg)
	case m.verify.asks():
		m.verify.paste(msg)
	}
}
