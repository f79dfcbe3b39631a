package doctor

import (
	"aibox/app/doctor"
	"aibox/internal/termtext"
	"aibox/ui/checkup"
	"aibox/ui/page"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// keys are the screen's keys.
type keys struct {
	fix, setUp, again, prove, proof, server, copy, list, back key.Binding
}

func newKeys() keys {
	return keys{
		fix: keymap.Bind("fix", "enter", "f"), setUp: keymap.Bind("set up everything that is missing", "F"),
		again: keymap.Bind("check again", "r"), prove: keymap.Bind("prove the isolation", "p"), proof: keymap.Bind("show the proof", "p"),
		server: keymap.Bind("choose the model server", "i"),
		copy:   keymap.Bind("copy the fix", "c"), list: keymap.Bind("back to the list", "esc", "q"), back: keymap.Bind("back", "esc", "q"),
	}
}

// enableKeys enables the keys that can do something now.
func (m *Model) enableKeys() {
	row := m.current()
	bad := row != nil && !row.Running && row.Fix != ""
	_, command := m.commandOf(row)
	root := false
	if bad {
		_, root = row.RootCommand()
	}
	m.keys.fix.SetEnabled(!m.proving && bad && (row.FixedByBuild() || isImages(row) || command || root))
	m.keys.copy.SetEnabled(!m.proving && bad)
	m.keys.server.SetEnabled(!m.proving && isModel(row))
	m.keys.again.SetEnabled(!m.proving)
	m.keys.proof.SetEnabled(!m.proving && m.proof.run != nil)
	m.keys.prove.SetEnabled(!m.keys.proof.Enabled() && !m.checkup.Busy() && doctor.Count(m.checkup.Findings(), doctor.Missing) == 0 && !m.proof.run.running())
	m.keys.setUp.SetEnabled(!m.proving && m.setUpHelps())
	m.keys.list.SetEnabled(m.proving)
	m.keys.back.SetEnabled(!m.proving)
}

// isModel reports whether a row is about the model server.
func isModel(row *checkup.Row) bool { return row != nil && !row.Running && row.Part == doctor.Model }

// isImages reports whether a row is about several images, of which the user can bake any on their
// own screen.
func isImages(row *checkup.Row) bool {
	return row.Part == doctor.Images && row.State != doctor.OK && row.Image == "" && row.Fix != ""
}

// setUpHelps reports whether the setup fixes any row.
func (m *Model) setUpHelps() bool {
	for _, row := range m.rows {
		if !row.Running && row.FixedBySetup() {
			return true
		}
	}
	return false
}

// Short returns the keys for the foot of the screen.
func (m *Model) Short() []key.Binding {
	m.enableKeys()
	k := m.keys
	return []key.Binding{k.fix, k.server, k.prove, k.proof, k.again, k.list, k.back, k.setUp, k.copy}
}

// Keys returns the active keys.
func (m *Model) Keys() []keymap.Group {
	m.enableKeys()
	k := m.keys
	return []keymap.Group{
		{Title: "This machine", Keys: []key.Binding{k.fix, k.setUp, k.again, k.prove, k.proof, k.server, k.copy, k.list, k.back}},
		cursor.Keys(),
	}
}

// press handles a key.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	m.enableKeys()
	k := m.keys
	switch {
	case key.Matches(msg, k.back):
		return page.Leave("", nil)
	case key.Matches(msg, k.list):
		m.proving = false
	case key.Matches(msg, k.proof):
		m.proving = true
		if err := m.proof.run.err; err != nil {
			m.note.Say("", err)
		}
	case key.Matches(msg, k.prove):
		m.proving = true
		return m.proof.start(m.ctx, m.machine)
	case key.Matches(msg, k.again):
		m.note.Say("", nil)
		return m.check()
	case key.Matches(msg, k.fix, k.copy) && dialog.Turned(m.turned, m.now(), "row", &m.note):
	case key.Matches(msg, k.fix):
		return m.fix(m.current())
	case key.Matches(msg, k.setUp):
		return setUp()
	case key.Matches(msg, k.server):
		return page.Ask(page.Settings{Key: "inference"})
	case key.Matches(msg, k.copy):
		text := m.current().Fix
		m.note.Say("copied: "+termtext.Escape(text), nil)
		return tea.SetClipboard(text)
	case m.proving:
		m.proof.cursor.Press(msg)
	case m.cursor.Press(msg):
		m.keepSelection()
	}
	return nil
}

// fix fixes a finding: it bakes an image, or runs a command on the whole terminal, which asks
// before it changes anything: one of aibox's own, or one for root.
func (m *Model) fix(row *checkup.Row) tea.Cmd {
	if row.FixedByBuild() {
		m.machine.Bake(row.Image)
		return page.Ask(page.Images{})
	}
	if isImages(row) {
		return page.Ask(page.Images{})
	}
	if command, root := row.RootCommand(); root {
		return page.Ask(page.System{Command: command})
	}
	args, _ := m.commandOf(row)
	return page.Ask(page.Command{Args: args, Wait: true})
}

// setUp fixes everything that the setup can.
func setUp() tea.Cmd {
	return page.Ask(page.SetUp())
}

// commandOf returns the command that fixes a row, if there is one.
func (m *Model) commandOf(row *checkup.Row) ([]string, bool) {
	if row == nil || row.Running || row.State == doctor.OK {
		return nil, false
	}
	return row.Command()
}
