package sessionview

import (
	"context"
	"errors"

	events "aibox/agents/conversation"
	"aibox/audit"
	"aibox/session"
	"aibox/session/auditlog"
	"aibox/session/output"
	"aibox/ui/conversation"
	"aibox/ui/traffic"

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
	Failed() error
	View() []string
}

// output returns the pane that is shown.
func (m *Model) output() reader {
	if m.converses() {
		return m.conversation
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

// eventSource is the conversation of a session as a source of a screen.
type eventSource struct {
	sessions Sessions
	id       session.ID
}

// Follow decodes the session's output as it is recorded.
func (e eventSource) Follow(ctx context.Context, visit func([]events.Event) error) error {
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
func noteOf(id session.ID, e audit.Event) (conversation.Note, bool) {
	if access, ok := auditlog.AccessOf(id, e); ok {
		said := traffic.Event(access)
		note := conversation.Note{Time: said.Time, Mark: "✓", Text: said.Name + " " + said.Text}
		if said.Failed {
			note.Mark, note.Tone = "✗", conversation.Bad
		}
		return note, true
	}
	entry, ok := describe(e)
	if !ok {
		return conversation.Note{}, false
	}
	note := conversation.Note{Time: entry.time, Mark: entry.mark, Text: entry.text}
	if entry.mark != "·" {
		note.Tone = conversation.Warn
	}
	return note, true
}
