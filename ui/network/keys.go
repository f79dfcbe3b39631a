package network

import (
	"time"

	"aibox/session/auditlog"
	"aibox/ui/page"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// keys are the screen's own keys.
type keys struct {
	open, refused, session, filter, checkLocks, up, back key.Binding
	allow, always, deny                                  key.Binding
}

func newKeys() keys {
	return keys{
		open: keymap.Bind("open the session", "enter"), refused: keymap.Bind("only refused", "r"),
		session: keymap.Bind("only this session", "s"), filter: keymap.Bind("filter", "/"),
		checkLocks: keymap.Bind("check the locks again", "u"), up: keymap.Bind("install the locks", "U"),
		back:  keymap.Bind("back", "esc", "q"),
		allow: keymap.Bind("allow for the session", "a"), always: keymap.Bind("allow always", "A"), deny: keymap.Bind("deny", "d"),
	}
}

// now returns the keys with the help texts that fit the current view.
func (m *Model) now() keys {
	k := m.keys
	at, some := m.current()
	host := some && at.What == auditlog.AskedEgress
	k.allow.SetEnabled(host && !at.Allowed)
	k.always.SetEnabled(host && !at.Allowed && m.Remember != nil)
	k.deny.SetEnabled(host)
	k.open.SetEnabled(some)
	k.session.SetEnabled(some || m.only != "")
	k.up.SetEnabled(m.locksKnown && m.locksErr == nil && !m.locks.Up)
	if m.refused {
		k.refused.SetHelp("r", "all")
	}
	if m.only != "" {
		k.session.SetHelp("s", "all sessions")
	}
	return k
}

// Keys returns the active keys.
func (m *Model) Keys() []keymap.Group {
	k := m.now()
	switch {
	case m.ask != nil:
		return m.ask.Keys()
	case m.filter.Typing():
		return []keymap.Group{{Title: "Filter", Keys: m.filter.Keys()}}
	}
	return []keymap.Group{
		{Title: "Network", Keys: []key.Binding{k.open, k.allow, k.always, k.deny, k.refused, k.session, k.filter, k.checkLocks, k.up, k.back}},
		cursor.Keys(),
	}
}

// Short returns the keys for the foot of the screen.
func (m *Model) Short() []key.Binding {
	k := m.now()
	switch {
	case m.ask != nil:
		return m.ask.Keys()[0].Keys
	case m.filter.Typing():
		return m.filter.Keys()
	}
	return []key.Binding{k.up, k.allow, k.open, k.refused, k.back, k.deny, k.always, k.session, k.filter}
}

// press handles a key.
func (m *Model) press(msg tea.KeyPressMsg) tea.Cmd {
	switch {
	case m.ask != nil:
		return dialog.Act(&m.ask, msg, time.Now(), &m.note)
	case m.filter.Typing():
		m.typed(msg)
		return nil
	}
	k := m.now()
	switch {
	case key.Matches(msg, k.allow):
		return m.changeHost(false)
	case key.Matches(msg, k.always):
		m.askToAllow()
		return nil
	case key.Matches(msg, k.deny):
		return m.changeHost(true)
	case key.Matches(msg, k.back):
		return m.leave(msg)
	case key.Matches(msg, k.open):
		a, _ := m.current()
		return page.Ask(page.Session{ID: a.Session})
	case key.Matches(msg, k.refused):
		m.refused = !m.refused
	case key.Matches(msg, k.session):
		if m.only != "" {
			m.only = ""
		} else if a, some := m.current(); some {
			m.only = a.Session
		}
	case key.Matches(msg, k.filter):
		m.filter.Open()
	case key.Matches(msg, k.checkLocks):
		return m.checkLocks(false)
	case key.Matches(msg, k.up):
		return page.Ask(page.CloseNetwork())
	default:
		if m.cursor.Press(msg) {
			m.keepSelection()
		}
		return nil
	}
	m.stale = true
	return nil
}

// leave closes the screen. esc clears the filter first; q does not.
func (m *Model) leave(msg tea.KeyPressMsg) tea.Cmd {
	if msg.String() == "esc" && m.filter.Value() != "" {
		m.filter.Clear()
		m.stale = true
		return nil
	}
	return page.Leave("", nil)
}

// typed handles a key or a paste while the filter is open.
func (m *Model) typed(msg tea.Msg) {
	m.filter.Update(msg)
	m.stale = true
}

// click selects a row; a click on the selected row opens its session.
func (m *Model) click(msg tea.MouseClickMsg) tea.Cmd {
	was, some := m.current()
	if msg.Button != tea.MouseLeft || m.Typing() || !some || !m.cursor.Click(msg.Y-headRows) {
		return nil
	}
	m.keepSelection()
	if sameAccess(was, m.at) {
		return page.Ask(page.Session{ID: was.Session})
	}
	return nil
}
