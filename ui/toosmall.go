package ui

import (
	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// takeTooSmall handles keys and the mouse while the terminal is too small for any
// screen. The only active keys quit: the user cannot see what others would do. If that would lose
// something, or the user was typing, only a second ctrl+c does.
func (a *app) takeTooSmall(msg tea.Msg) (cmd tea.Cmd, taken bool) {
	if a.width == 0 || !a.tooSmall() {
		return nil, false
	}
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		if key.Matches(msg, a.keys.quit, a.keys.force) && a.quitsAtOnce() {
			return tea.Quit, true
		}
		return nil, true
	case tea.KeyMsg, tea.MouseMsg, tea.PasteMsg:
		return nil, true
	}
	return nil, false
}

// quitsAtOnce reports whether a key that quits was not meant as text, and loses nothing.
func (a *app) quitsAtOnce() bool { return !a.typing() && a.losses() == nil }
