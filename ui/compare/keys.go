package compare

import (
	"slices"

	"aibox/ui/page"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// keys are the screen's own keys.
type keys struct {
	review, open, accept, choose, discard, base, diff, pane, back key.Binding
}

func newKeys() keys {
	return keys{
		review: keymap.Bind("review", "enter"), open: keymap.Bind("open the session", "l"),
		accept: keymap.Bind("accept", "a"), choose: keymap.Bind("accept it, discard the others", "A"), discard: keymap.Bind("discard", "x"),
		base: keymap.Bind("start differences here", "space"), diff: keymap.Bind("difference to it", "d"),
		pane: keymap.Bind("sessions or files", "tab"), back: keymap.Bind("back", "esc", "q"),
	}
}

// active returns the keys that can do something now.
func (m *Model) active() keys {
	k, current := m.keys, m.current()
	k.review.SetEnabled(current != nil && current.Known && current.Files > 0)
	k.open.SetEnabled(current != nil)
	k.base.SetEnabled(current != nil)
	k.accept.SetEnabled(current != nil && current.Open)
	k.discard.SetEnabled(current != nil && current.Open)
	k.choose.SetEnabled(current != nil && current.Open && len(m.rest(current.ID)) > 0)
	base := m.baseMember()
	k.diff.SetEnabled(base != nil && base.Known && current.Known)
	k.pane.SetEnabled(m.compared != nil && len(m.compared.Files) > 0)
	return k
}

// Keys returns the active keys.
func (m *Model) Keys() []keymap.Group {
	if m.ask != nil {
		return m.ask.Keys()
	}
	k := m.active()
	own := []key.Binding{k.review, k.open, k.accept, k.choose, k.discard, k.base, k.diff, k.pane, k.back}
	own = slices.DeleteFunc(own, func(k key.Binding) bool { return !k.Enabled() })
	return []keymap.Group{{Title: "Compare", Keys: own}, cursor.Keys()}
}

// Short returns the keys for the foot of the screen.
func (m *Model) Short() []key.Binding {
	if m.ask != nil {
		return m.ask.Keys()[0].Keys
	}
	k := m.active()
	return []key.Binding{k.review, k.accept, k.choose, k.diff, k.pane, k.back, k.discard, k.base, k.open}
}

// press handles a key.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	if m.ask != nil {
		return dialog.Act(&m.ask, msg, m.now(), &m.note)
	}
	m.note.Say("", nil) // it was about the last key
	k, current := m.active(), m.current()
	switch {
	case key.Matches(msg, k.back):
		return page.Leave("", nil)
	case key.Matches(msg, k.pane):
		m.inFiles = !m.inFiles
	case key.Matches(msg, k.review):
		return page.Ask(page.Review{ID: current.ID})
	case key.Matches(msg, k.open):
		return page.Ask(page.Session{ID: current.ID})
	case key.Matches(msg, k.base):
		m.base = current.ID
		m.note.Say("d shows the difference from "+string(current.ID)+" to the selected session", nil)
	case key.Matches(msg, k.diff):
		return page.Ask(page.DiffBetween(m.baseMember().ID, current.ID))
	case key.Matches(msg, k.accept):
		m.askAccept(current)
	case key.Matches(msg, k.choose):
		m.askChoose(current)
	case key.Matches(msg, k.discard):
		m.askDiscard(current)
	case m.refuse(msg):
	default:
		m.moveBy(func(c *cursor.Cursor) bool { return c.Press(msg) })
	}
	return nil
}

// refuse says why a key that decides about the selected session does nothing now. It reports whether it is such
// a key.
func (m *Model) refuse(msg tea.KeyPressMsg) bool {
	current := m.current()
	if current == nil || !key.Matches(msg, m.keys.accept, m.keys.choose, m.keys.discard) {
		return false
	}
	why := "no other session has work that waits for a decision"
	if !current.Open {
		why = string(current.ID) + " has no work that waits for a decision"
	}
	m.note.Say(msg.String()+" does nothing: "+why, nil)
	return true
}

// moveBy moves in the list that has the focus.
func (m *Model) moveBy(step func(*cursor.Cursor) bool) {
	if m.inFiles {
		step(&m.files)
		return
	}
	if step(&m.members) {
		if current := m.current(); current != nil {
			m.at = current.ID
		}
	}
}

// click selects a row. A click on the selected member opens its review.
func (m *Model) click(msg tea.MouseClickMsg) tea.Cmd {
	if m.ask != nil || msg.Button != tea.MouseLeft || m.compared == nil {
		return nil
	}
	if y := msg.Y - headRows; y >= 0 && y < m.memberRows() {
		m.inFiles = false
		was := m.at
		if m.members.Click(y) {
			m.at = m.current().ID
			if m.at == was && m.active().review.Enabled() {
				return page.Ask(page.Review{ID: was})
			}
		}
		return nil
	}
	if y := msg.Y - headRows - m.memberRows() - betweenRows; y >= 0 && m.files.Click(y) {
		m.inFiles = true
	}
	return nil
}
