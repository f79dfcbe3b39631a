package ui

import (
	"slices"
	"unicode"
	"unicode/utf8"

	"aibox/ui/widget/dialog"
	"aibox/ui/widget/help"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/palette"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
)

// overlay covers the current screen: it is the help, the palette or the question
// whether to quit. It gets all keys and mouse events while it is open.
type overlay struct {
	help    *help.Model
	palette *palette.Model
	leave   *dialog.Confirm // see quit
}

// open reports whether something covers the screen.
func (o overlay) open() bool { return o.help != nil || o.palette != nil || o.leave != nil }

// groups returns all active keys: the page's and the app's. While the user types, keys that
// would only add text are left out.
func (a *app) groups() []keymap.Group {
	if !a.page().Typing() {
		return append(a.page().Keys(), a.ownKeys())
	}
	var groups []keymap.Group
	for _, group := range a.page().Keys() {
		group.Keys = slices.DeleteFunc(slices.Clone(group.Keys), addsText)
		groups = append(groups, group)
	}
	own := a.keys.inText
	return append(groups, keymap.Group{Title: "aibox", Keys: []key.Binding{own.help, own.palette, own.force, a.keys.suspend}})
}

// addsText reports whether all keys of a binding are letters, digits or the space.
func addsText(binding key.Binding) bool {
	return !slices.ContainsFunc(binding.Keys(), func(name string) bool {
		r, size := utf8.DecodeRuneInString(name)
		return name != "space" && (size < len(name) || !unicode.IsLetter(r) && !unicode.IsDigit(r))
	})
}

func (a *app) openHelp() {
	a.over.help = help.New(a.groups())
	a.fit()
}

func (a *app) openPalette() {
	a.over.palette = palette.New(a.groups())
	a.fit()
}

// fitOverlay sets the size and the theme of the overlay.
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

// pass passes a key, a paste or a mouse event to the overlay. A key that the user picks
// in the palette is pressed on the screen below.
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
