package snapshots

import (
	"context"
	"fmt"

	"aibox/internal/amount"
	"aibox/internal/termtext"
	"aibox/session"
	"aibox/session/snapshot"
	"aibox/ui/page"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// keys are the screen's keys.
type keys struct {
	start, take, delete, copy, back key.Binding
	choose, cancel                  key.Binding // while a sandbox is chosen
}

func newKeys() keys {
	return keys{
		start: keymap.Bind("start a sandbox from it", "enter"), take: keymap.Bind("take a snapshot", "n"), delete: keymap.Bind("delete the snapshot", "x", "delete"),
		copy: keymap.Bind("copy the command", "c"), back: keymap.Bind("back", "esc", "q"),
		choose: keymap.Bind("take a snapshot of it", "enter"), cancel: keymap.Bind("take none", "esc", "q", "ctrl+c"),
	}
}

// enableKeys enables the keys that can do something now.
func (m *Model) enableKeys() {
	some := m.current() != nil
	m.keys.start.SetEnabled(some && !m.busy)
	m.keys.delete.SetEnabled(some && !m.busy)
	m.keys.copy.SetEnabled(some)
	m.keys.take.SetEnabled(!m.busy)
}

// Short returns the keys for the foot of the screen.
func (m *Model) Short() []key.Binding {
	m.enableKeys()
	k := m.keys
	switch {
	case m.ask != nil:
		return m.ask.Keys()[0].Keys
	case m.choice.open:
		return []key.Binding{k.choose, k.cancel}
	}
	return []key.Binding{k.start, k.take, k.delete, k.copy, k.back}
}

// Keys returns the active keys.
func (m *Model) Keys() []keymap.Group {
	if m.ask != nil {
		return m.ask.Keys()
	}
	return []keymap.Group{{Title: "Snapshots", Keys: m.Short()}, cursor.Keys()}
}

// press handles a key.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	m.enableKeys()
	switch {
	case m.ask != nil:
		cmd := dialog.Act(&m.ask, msg, m.now(), &m.note)
		m.busy = m.busy || cmd != nil
		return cmd
	case m.choice.open:
		return m.pressChoice(msg)
	}
	if !m.busy {
		m.note.Say("", nil) // it was about the last key
	}
	k, s := m.keys, m.current()
	switch {
	case key.Matches(msg, k.back):
		return page.Leave("", nil)
	case key.Matches(msg, k.take):
		m.chooseSandbox()
	case key.Matches(msg, k.start, k.delete, k.copy) && dialog.Turned(m.turned, m.now(), "snapshot", &m.note):
	case key.Matches(msg, k.start):
		return m.start(s)
	case key.Matches(msg, k.delete):
		m.askDelete(s)
	case key.Matches(msg, k.copy):
		command := "aibox sandbox create --snapshot " + s.ID
		m.note.Say("copied: "+command, nil)
		return tea.SetClipboard(command)
	default:
		m.cursor.Press(msg)
	}
	return nil
}

// chooseSandbox opens the list of running sandboxes.
func (m *Model) chooseSandbox() {
	if len(m.sandboxes) == 0 {
		m.note.Say("no sandbox is running; `aibox sandbox create` starts one", nil)
		return
	}
	m.choice.open = true
}

// take takes a snapshot of a sandbox.
func (m *Model) take(id session.ID) tea.Cmd {
	m.busy = true
	m.note.Say("taking a snapshot of "+string(id)+"…", nil)
	ctx, store := context.WithoutCancel(m.ctx), m.store // it continues after the user leaves the screen
	return func() tea.Msg {
		taken, err := store.Take(ctx, id)
		return acted{"taken: " + termtext.Escape(taken) + "; the sandbox runs on", taken, err}
	}
}

// start starts a sandbox from a snapshot.
func (m *Model) start(s *snapshot.Snapshot) tea.Cmd {
	m.busy = true
	m.note.Say("starting a sandbox…", nil)
	ctx, store, id := context.WithoutCancel(m.ctx), m.store, s.ID
	return func() tea.Msg {
		started, err := store.Start(ctx, id)
		return acted{done: fmt.Sprintf("%s is running; it is among the sessions", started), err: err}
	}
}

// askDelete asks whether to delete a snapshot.
func (m *Model) askDelete(s *snapshot.Snapshot) {
	ctx, store, id := m.ctx, m.store, s.ID
	text := fmt.Sprintf("Deletes the stored files and memory, %s. No key brings them back. Sandboxes that were started from it run on.", amount.Bytes(s.Bytes))
	m.ask = dialog.Ask(dialog.Confirm{
		Title: "Delete " + titleOf(s) + "?", Text: text, Yes: "delete",
		Do: func() tea.Msg { return acted{done: "deleted " + id, err: store.Delete(ctx, id)} },
	}, m.now())
}

// wheel handles the mouse wheel.
func (m *Model) wheel(msg tea.MouseWheelMsg) {
	switch {
	case m.ask != nil:
	case m.choice.open:
		m.choice.cursor.Wheel(msg)
	default:
		m.cursor.Wheel(msg)
	}
}

// click selects the row under the mouse.
func (m *Model) click(msg tea.MouseClickMsg) tea.Cmd {
	row := msg.Y - frame.HeadRows - headingRows
	switch {
	case m.ask != nil || msg.Button != tea.MouseLeft || msg.X >= m.listWidth():
	case m.choice.open:
		m.choice.cursor.Click(row)
	default:
		m.cursor.Click(row)
	}
	return nil
}
