package ui

import (
	"fmt"
	"slices"
	"strings"

	"aibox/ui/keymap"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// View is the whole screen.
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
	case a.width < minWidth || a.height < minHeight:
		return ansi.Wrap(fmt.Sprintf("aibox needs %d columns and %d rows; there are %d and %d. q quits.",
			minWidth, minHeight, a.width, a.height), max(1, a.width), "")
	case a.help:
		return a.helpView()
	default:
		return a.page().View()
	}
}

// ownKeys are the keys that every screen has.
func (a *app) ownKeys() keymap.Group {
	return keymap.Group{Title: "aibox", Keys: []key.Binding{a.keys.help, a.keys.quit, a.keys.force}}
}

// helpView is every key of the page and of the app.
func (a *app) helpView() string {
	lines := keymap.Help(a.theme, a.width-2, append(a.page().Keys(), a.ownKeys()))
	room := a.height - 4
	from := max(0, min(a.scroll, len(lines)-room))
	shown := lines[from:min(len(lines), from+room)]
	out := []string{a.theme.Title.Render("Keys"), a.theme.Rule.Render(strings.Repeat("─", a.width))}
	out = append(out, slices.Clone(shown)...)
	for len(out) < a.height-1 {
		out = append(out, "")
	}
	foot := "any key closes this"
	if len(lines) > room {
		foot = "↑ ↓ scroll · " + foot
	}
	return strings.Join(append(out, a.theme.Faint.Render(foot)), "\n")
}
