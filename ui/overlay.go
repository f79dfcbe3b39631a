package ui

import (
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/help"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/palette"

	tea "charm.land/bubbletea/v2"
)

// overlay is what can lie over the screen that is shown: the help, the palette or the
// question whether to quit. Keys and mouse are its own while it does.
type overlay struct {
	help    *help.Model
	palette *palette.Model
	leave   *dialog.Confirm // see quit
}

// open reports whether something lies over the screen.
func (o overlay) open() bool { return o.help != nil || o.palette != nil || o.leave != nil }

// groups are all keys that count now: the page's and the app's.
func (a *app) groups() []keymap.Group { return append(a.page().Keys(), a.ownKeys()) }

func (a *app) openHelp() {
	a.over.help = help.New(a.groups())
	a.fit()
}

func (a *app) openPalette() {
	a.over.palette = palette.New(a.groups())
	a.fit()
}

// fitOverlay gives what lies over the screen its size and the theme.
func (a *app) fitOverlay() {
	width, height := a.width, max(1, a.height-footRows)
	if o := a.over.help; o != nil {
		o.SetTheme(a.theme)
		o.SetSize(width, height)
	}
	if o := a.over.palette; o != nil {
		o.SetTheme(a.theme)
		o.SetSize(width, height)
	}
}

// pass brings a key, a paste or the mouse to what lies over the screen. A key that is
// chosen in the palette is pressed on the screen below.
func (a *app) pass(msg tea.Msg) tea.Cmd {
	if a.over.leave != nil {
		return a.answerLeave(msg)
	}
	if a.over.help != nil {
		if a.over.help.Update(msg) == dialog.Left {
			a.over.help = nil
		}
		return nil
	}
	outcome, press := a.over.palette.Update(msg)
	if outcome != dialog.Open {
		a.over.palette = nil
	}
	if outcome == dialog.Taken {
		return a.press(press)
	}
	return nil
}
