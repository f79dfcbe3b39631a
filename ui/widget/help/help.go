// Package help is a searchable list of the active keys of a screen. It is made from the bindings
// themselves, so it is always up to date.
package help

import (
	"strings"

	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
)

// Model is an open help.
type Model struct {
	groups    []keymap.Group
	theme     theme.Theme
	search    textinput.Model
	searching bool
	top       int // first line shown

	width, height int
}

// New opens the help for these keys.
func New(groups []keymap.Group) *Model {
	m := &Model{groups: groups, search: keymap.Field("/")}
	return m
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) { m.theme = t }

// SetSize changes the size, in cells.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = width, height
	m.search.SetWidth(max(5, min(30, width-20)))
	m.scroll(0)
}

var keys = struct{ up, down, pageUp, pageDown, search, leave, done, clear key.Binding }{
	up: keymap.Bind("up", "up", "k"), down: keymap.Bind("down", "down", "j"),
	pageUp: keymap.Bind("page up", "pgup", "ctrl+b"), pageDown: keymap.Bind("page down", "pgdown", "space", "ctrl+f"),
	search: keymap.Bind("search", "/"), leave: keymap.Bind("close", "esc", "q", "?", "f1", "ctrl+c"),
	done: keymap.Bind("keep the search", "enter", "down"), clear: keymap.Bind("clear the search", "esc", "ctrl+c"),
}

// Typing reports whether keys are text.
func (m *Model) Typing() bool { return m.searching }

// Short returns the help's own keys, for the foot of the screen.
func (m *Model) Short() []key.Binding {
	if m.searching {
		return []key.Binding{keys.done, keys.clear}
	}
	return []key.Binding{keys.search, keys.up, keys.down, keys.leave}
}

// Update handles a message. The outcome is Left when the user closes the help.
func (m *Model) Update(msg tea.Msg) dialog.Outcome {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		if m.searching {
			m.typed(msg)
			return dialog.Open
		}
		return m.press(msg)
	case tea.PasteMsg:
		if m.searching {
			m.search, _ = m.search.Update(msg)
			m.scroll(-m.top)
		}
	case tea.MouseClickMsg:
		return dialog.Left
	case tea.MouseWheelMsg:
		switch msg.Button {
		case tea.MouseWheelUp:
			m.scroll(-3)
		case tea.MouseWheelDown:
			m.scroll(3)
		}
	}
	return dialog.Open
}

func (m *Model) press(msg tea.KeyPressMsg) dialog.Outcome {
	page := max(1, m.room()-1)
	switch {
	case key.Matches(msg, keys.search):
		m.searching = true
		m.search.Focus()
	case msg.String() == "esc" && m.search.Value() != "":
		m.search.SetValue("")
		m.scroll(-m.top)
	case key.Matches(msg, keys.leave):
		return dialog.Left
	case key.Matches(msg, keys.up):
		m.scroll(-1)
	case key.Matches(msg, keys.down):
		m.scroll(1)
	case key.Matches(msg, keys.pageUp):
		m.scroll(-page)
	case key.Matches(msg, keys.pageDown):
		m.scroll(page)
	}
	return dialog.Open
}

// typed handles a key while the user searches.
func (m *Model) typed(msg tea.KeyPressMsg) {
	switch {
	case key.Matches(msg, keys.done):
		m.searching = false
		m.search.Blur()
	case key.Matches(msg, keys.clear):
		m.searching = false
		m.search.Blur()
		m.search.SetValue("")
	default:
		m.search, _ = m.search.Update(msg)
	}
	m.scroll(-m.top)
}

// scroll moves by n lines, within the list.
func (m *Model) scroll(n int) {
	m.top = max(0, min(m.top+n, len(m.lines())-m.room()))
}

// head is the rows above the list: title and rule.
const head = 2

func (m *Model) room() int { return max(1, m.height-head) }

// lines returns the lines of the matching keys.
func (m *Model) lines() []string {
	return keymap.Help(m.theme, m.width, m.matching())
}

// matching returns the keys that contain every word of the search in their help text,
// their name or their group.
func (m *Model) matching() []keymap.Group {
	words := strings.Fields(strings.ToLower(m.search.Value()))
	if len(words) == 0 {
		return m.groups
	}
	var found []keymap.Group
	for _, group := range m.groups {
		var kept []key.Binding
		for _, binding := range group.Keys {
			text := strings.ToLower(group.Title + " " + binding.Help().Desc + " " + strings.Join(binding.Keys(), " "))
			if holdsAll(text, words) {
				kept = append(kept, binding)
			}
		}
		if len(kept) > 0 {
			found = append(found, keymap.Group{Title: group.Title, Keys: kept})
		}
	}
	return found
}

func holdsAll(text string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// View returns the screen without its foot.
func (m *Model) View() string {
	all := m.lines()
	if len(all) == 0 {
		all = []string{"", m.theme.Faint.Render("no key matches")}
	}
	shown := all[min(m.top, len(all)):min(len(all), m.top+m.room())]
	out := append([]string{m.title(len(all)), m.theme.Rule.Render(strings.Repeat("─", m.width))}, shown...)
	for len(out) < m.height {
		out = append(out, "")
	}
	return strings.Join(out[:m.height], "\n")
}

// title returns the name of the screen, the search and the range of lines shown.
func (m *Model) title(lines int) string {
	left, right := m.theme.Title.Render("Keys"), ""
	switch {
	case m.searching:
		left += "  " + m.search.View()
	case m.search.Value() != "":
		left += "  " + m.theme.Key.Render("/") + m.search.Value()
	}
	if position := cursor.Range(m.top, min(lines, m.top+m.room()), lines); position != "" {
		right = m.theme.Faint.Render(position)
	}
	left = ansi.Truncate(left, max(0, m.width-ansi.StringWidth(right)-1), "…")
	return left + strings.Repeat(" ", max(1, m.width-ansi.StringWidth(left)-ansi.StringWidth(right))) + right
}
