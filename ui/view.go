package ui

import (
	"fmt"
	"strings"

	"aibox/ui/widget/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// View returns the whole screen.
func (a *app) View() tea.View {
	view := tea.NewView(a.content())
	view.AltScreen = true
	view.MouseMode = tea.MouseModeCellMotion
	view.WindowTitle = "aibox"
	return view
}

func (a *app) content() string {
	switch {
	case a.width == 0:
		return ""
	case a.tooSmall():
		quits := "ctrl+c twice quits"
		if a.quitsAtOnce() {
			quits = "q quits"
		}
		return ansi.Wrap(fmt.Sprintf("aibox needs a terminal of %dx%d; this one is %dx%d. %s.",
			minWidth, minHeight, a.width, a.height, quits), max(1, a.width), "")
	}
	return a.screen() + "\n" + a.foot()
}

// screen returns what is above the line of keys: the page, and what covers it.
func (a *app) screen() string {
	switch {
	case a.over.leave != nil:
		return a.over.leave.Over(a.withRemark(a.page().View()), a.theme, a.width, a.height-footRows)
	case a.over.help != nil:
		return a.withQuestion(a.withRemark(a.over.help.View()))
	case a.over.palette != nil:
		return a.withQuestion(a.withRemark(a.over.palette.View(a.page().View())))
	default:
		return a.withQuestion(a.withRemark(a.page().View()))
	}
}

// tooSmall reports whether there is no room for any screen.
func (a *app) tooSmall() bool { return a.width < minWidth || a.height < minHeight }

// typing reports whether keys are text or answers now.
func (a *app) typing() bool {
	switch {
	case a.over.leave != nil:
		return true
	case a.over.help != nil:
		return a.over.help.Typing()
	case a.over.palette != nil:
		return true
	default:
		return a.page().Typing()
	}
}

// short returns the keys for the foot of the screen.
func (a *app) short() []key.Binding {
	switch {
	case a.questions.Open():
		return a.questions.Short()
	case a.over.leave != nil:
		return a.over.leave.Keys()[0].Keys
	case a.over.help != nil:
		return a.over.help.Short()
	case a.over.palette != nil:
		return a.over.palette.Short()
	default:
		return a.page().Short()
	}
}

// footRows is the line of keys.
const footRows = 1

// foot returns the line of keys: as many of the page's as fit, then the help.
func (a *app) foot() string {
	keys := keymap.Short(a.theme, a.footWidth(), a.short())
	rest := keymap.Short(a.theme, restWidth, a.rest())
	if mark := a.questionMark(); mark != "" {
		rest = strings.TrimSuffix(mark+"  "+rest, "  ")
	}
	pad := max(1, a.width-ansi.StringWidth(keys)-ansi.StringWidth(rest))
	return ansi.Truncate(keys+strings.Repeat(" ", pad)+rest, a.width, "")
}

// footKey returns the key at column x of the foot.
func (a *app) footKey(x int) (key.Binding, bool) {
	if binding, hit := keymap.At(a.footWidth(), a.short(), x); hit {
		return binding, true
	}
	rest := a.rest()
	if mark := ansi.StringWidth(a.questionMark()); mark > 0 && !a.typing() {
		to := a.width - ansi.StringWidth(keymap.Short(a.theme, restWidth, rest)) - 2
		if x >= to-mark && x < to {
			return questionKey, true
		}
	}
	from := a.width - ansi.StringWidth(keymap.Short(a.theme, restWidth, rest))
	return keymap.At(restWidth, rest, x-from)
}

// restWidth is the maximum width of the keys at the end of the foot.
const restWidth = 20

// footWidth returns the width available to the page's keys.
func (a *app) footWidth() int {
	width := a.width
	if rest := ansi.StringWidth(keymap.Short(a.theme, restWidth, a.rest())); rest > 0 {
		width -= rest + 2
	}
	if mark := ansi.StringWidth(a.questionMark()); mark > 0 {
		width -= mark + 2
	}
	return width
}

// rest returns the keys at the end of the foot. None is active while keys are text.
func (a *app) rest() []key.Binding {
	if a.over.open() || a.questions.Open() || a.page().Typing() {
		return nil
	}
	keys := []key.Binding{keymap.Bind("help", "?")}
	if a.onDashboard() {
		keys = append(keys, keymap.Bind("quit", "q"))
	}
	return keys
}

// ownKeys returns the app's own keys that are active on the current screen.
func (a *app) ownKeys() keymap.Group {
	keys := []key.Binding{a.keys.help, a.keys.palette}
	if a.onDashboard() {
		keys = append(keys, a.keys.quit)
	}
	if a.questions.Waiting() > 0 {
		keys = append(keys, questionKey)
	}
	return keymap.Group{Title: "aibox", Keys: append(append(keys, a.keys.force, a.keys.suspend), a.sideKeys()...)}
}
