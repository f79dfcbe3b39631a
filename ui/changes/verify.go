package changes

import (
	"context"

	"aibox/review"
	"aibox/review/decision"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// openVerify shows the running verification, or asks for the command of a new one.
func (m *Model) openVerify() {
	if m.verify.running() {
		m.verify.hidden = false
		return
	}
	command := m.request.Command
	switch {
	case m.verify != nil:
		command = m.verify.command
	case command == "":
		command = m.session.Verify
	}
	m.verify = newVerification(&m.verifications, command, m.draft.Tally())
	m.verify.resize(m.width)
}

// pressVerify handles a key on the question or on the output.
func (m *Model) pressVerify(msg tea.KeyPressMsg) tea.Cmd {
	v := m.verify
	switch name := msg.String(); {
	case !v.asks() && key.Matches(msg, againVerify) && !v.running():
		m.openVerify()
	case !v.asks():
		v.pressOutput(msg)
	case name == "esc", name == "ctrl+c":
		m.verify = nil
	case name == "tab":
		v.part = !v.part && v.any
	case name == "enter":
		return m.startVerify()
	default:
		v.paste(msg)
	}
	return nil
}

// startVerify runs the command on all of the work, or on the selected part.
func (m *Model) startVerify() tea.Cmd {
	set, choice := m.set, review.Choice{}
	if m.verify.part {
		choice = m.draft.Choice()
	}
	return m.verify.start(m.ctx, m.services, m.session.ID, m.request, func(ctx context.Context) (string, error) {
		if choice.Empty() {
			return "", nil
		}
		return decision.Tree(ctx, set, choice)
	})
}

// showVerified shows the result of a verification.
func (m *Model) showVerified(msg checked) {
	note, err := m.verify.end(msg)
	m.appeared.Start(m.now()) // its keys have changed
	if note != "" || err != nil {
		m.note.Say(note, err)
	}
	if err == nil && msg.result.Tree == m.set.Tree {
		m.verified = m.verify.result
	}
}
