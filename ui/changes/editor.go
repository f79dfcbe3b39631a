package changes

import (
	"context"
	"io"

	"aibox/review"

	tea "charm.land/bubbletea/v2"

	"aibox/review/accept"
)

// edited brings the message back from the editor.
type edited struct {
	sent
	text string
	err  error
}

// edit gives the terminal to the person's editor.
func (m *Model) edit() tea.Cmd {
	if m.target == accept.ToWorktree {
		return nil
	}
	e := &editing{ctx: m.ctx, services: m.services, text: m.deliver.message.Value(), part: m.deliver.part}
	return tea.Exec(e, func(err error) tea.Msg { return edited{sent{m}, e.text, err} })
}

// editing is an editor that has the terminal.
type editing struct {
	ctx      context.Context //nolint:containedctx // it ends with the screen
	services Services
	text     string
	part     *review.ChangeSet
}

// Run waits for the editor.
func (e *editing) Run() (err error) {
	e.text, err = e.services.Edit(e.ctx, e.text, e.part)
	return err
}

// SetStdin and the others are not needed: the editor knows the terminal.
func (*editing) SetStdin(io.Reader)  {}
func (*editing) SetStdout(io.Writer) {}
func (*editing) SetStderr(io.Writer) {}

// rewrite takes the message from the editor. One that failed changes nothing.
func (m *Model) rewrite(msg edited) {
	if m.deliver == nil {
		return
	}
	m.deliver.since = m.now() // what was typed at the end of the editor answers nothing
	if msg.err != nil {
		m.note.Say("", msg.err)
		return
	}
	m.deliver.message.SetValue(msg.text)
}
