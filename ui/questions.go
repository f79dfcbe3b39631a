package ui

import (
	"aibox/session"
	"aibox/session/manager"
	"aibox/ui/approvals"
	"aibox/ui/widget/keymap"

	tea "charm.land/bubbletea/v2"
)

// Questions of sessions cover everything else: the open screen, the help and the
// palette. They appear unasked, so package approvals makes sure that they take no key
// that was meant for the screen below.

// takeQuestion passes a message to the questions: always their own messages, and also
// keys and clicks while a question is shown. It returns false for other messages.
func (a *app) takeQuestion(msg tea.Msg) (tea.Cmd, bool) {
	if press, ok := msg.(tea.KeyPressMsg); ok && !a.questions.Open() {
		return nil, !a.questions.Pass(press)
	}
	if cmd, own := a.questions.Take(msg); own || !a.questions.Open() || a.tooSmall() {
		return cmd, own
	}
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return a.questions.Press(msg), true
	case tea.MouseClickMsg:
		if binding, hit := a.footKey(msg.X); hit && msg.Y >= a.height-footRows && msg.Button == tea.MouseLeft {
			return a.questions.Press(keymap.Press(binding.Keys()[0])), true
		}
		return a.questions.Click(msg), true
	case tea.MouseMsg, tea.PasteMsg, tea.KeyMsg:
		return nil, true
	}
	return nil, false
}

// showQuestions shows a question unless the user is busy, or about to quit by a second
// ctrl+c.
func (a *app) showQuestions() {
	a.questions.Let(a.typing() || a.over.open() || a.tooSmall() || a.interrupted)
}

// showQuestion shows the first open question, or says that there is none.
func (a *app) showQuestion() {
	if a.questions.Waiting() == 0 {
		a.remark = "no session asks a question now"
		return
	}
	a.questions.Show()
}

// notify shows a notification about a question.
func (a *app) notify(r session.Request) tea.Cmd {
	return a.alerts.show(manager.NotifyAsks, string(r.Session)+" asks", r.Question)
}

// withQuestion draws the open question over a screen.
func (a *app) withQuestion(screen string) string {
	if !a.questions.Open() && !a.questions.Outcome() {
		return screen
	}
	return a.questions.View(screen)
}

// questionMark returns the number of open questions, for the foot.
func (a *app) questionMark() string {
	if a.questions.Open() {
		return ""
	}
	return a.questions.Mark()
}

var questionKey = approvals.Key()
