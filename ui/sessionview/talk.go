package sessionview

import (
	"context"
	"errors"

	"aibox/agents/conversation"
	"aibox/audit"
	"aibox/internal/amount"
	"aibox/session"
	"aibox/session/output"
	"aibox/ui/traffic"

	talk "aibox/ui/conversation"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// reader is the pane that shows the agent's output: the log or the conversation.
type reader interface {
	Update(msg tea.Msg) tea.Cmd
	Press(msg tea.KeyPressMsg) tea.Cmd
	Scroll(n int) tea.Cmd
	Typing() bool
	TypingKeys() []key.Binding
	Line() string
	View() []string
}

// output returns the pane that is shown.
func (m *Model) output() reader {
	if m.converses() {
		return m.talk
	}
	return m.log
}

// toggleRaw shows the raw output in place of the conversation, or the other way round.
func (m *Model) toggleRaw() tea.Cmd {
	m.raw = !m.raw
	m.fit()
	if m.raw && !m.log.Started() {
		return m.log.Start()
	}
	return m.log.More()
}

// events is the conversation of a session as a source of a screen.
type events struct {
	sessions Sessions
	id       session.ID
}

// Follow decodes the session's output as it is recorded.
func (e events) Follow(ctx context.Context, visit func([]conversation.Event) error) error {
	found, err := e.sessions.Find(string(e.id))
	if err != nil {
		return err
	}
	decoder := session.NewConversation(&found)
	_, err = e.sessions.Follow(ctx, e.id, 0, func(chunk output.Chunk) error {
		if all := decoder.Add(chunk); len(all) > 0 {
			return visit(all)
		}
		return nil
	})
	if rest := decoder.Close(); len(rest) > 0 && ctx.Err() == nil {
		return errors.Join(visit(rest), err)
	}
	return err
}

// noteOf returns an event of the session's log as an entry of the conversation.
func noteOf(id session.ID, e audit.Event) (talk.Note, bool) {
	if access, ok := session.AccessOf(id, e); ok {
		w := traffic.Say(access)
		note := talk.Note{Time: access.Time, Mark: w.Mark, Text: w.String(), Tone: talk.Bad}
		if access.Allowed {
			note.Tone = talk.Faint
		}
		if cost := access.Call.Cost; cost > 0 {
			note.Text += " " + amount.Cost(cost)
		}
		return note, true
	}
	entry, ok := describe(e)
	if !ok {
		return talk.Note{}, false
	}
	note := talk.Note{Time: entry.time, Mark: entry.mark, Text: entry.text}
	if entry.mark != "·" {
		note.Tone = talk.Warn
	}
	return note, true
}
