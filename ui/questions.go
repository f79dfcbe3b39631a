package ui

import (
	"aibox/ui/approvals"
	"aibox/ui/widget/keymap"

	tea "charm.land/bubbletea/v2"
)

// Questions of sessions lie over everything else: the screen that is open, the help
// and the palette. They come by themselves, so that they take no key that was meant
// for what is below (see requests).

// takeQuestion brings a message to the questions: their own in any case, and while one
// is on the screen keys and clicks, too. It returns false for other messages.
func (a *app) takeQuestion(msg tea.Msg) (tea.Cmd, bool) {
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

// showQuestions lets a question appear unless the user is busy.
func (a *app) showQuestions() { a.questions.Let(a.typing() || a.over.open() || a.tooSmall()) }

// withQuestion is a screen with the question over it.
func (a *app) withQuestion(screen string) string {
	if !a.questions.Open() {
		return screen
	}
	return a.questions.View(screen)
}

// questionMark is how many questions wait, for the foot.
func (a *app) questionMark() string {
	if a.questions.Open() {
		return ""
	}
	return a.questions.Mark()
}

var questionKey = approvals.Key()
