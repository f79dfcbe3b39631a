// Package palette is a fuzzy-searchable list of the commands available now. It is made
// from the keys of the screen, so it offers nothing that a key does not. It runs nothing
// itself, but returns the key of the chosen command.
package palette

import (
	"slices"
	"strings"

	"aibox/internal/sorting"
	"aibox/ui/widget/cursor"
	"aibox/ui/widget/dialog"
	"aibox/ui/widget/frame"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	"charm.land/bubbles/v2/textinput"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// Model is an open palette.
type Model struct {
	all   []entry
	shown []entry // the matches, best first
	at    int
	typed textinput.Model
	theme theme.Theme

	width, height int // of the screen
}

// entry is a command.
type entry struct {
	group, does string
	key         string   // runs the command
	keys        []string // all that run it
}

// match scores how well an entry matches what the user typed: its key, its help text, the
// name of its group, or other words for the same.
func (e entry) match(typed string) (score int, ok bool) {
	if name := strings.TrimSpace(typed); slices.Contains(e.keys, name) || name == keymap.Shown(e.key) {
		return exact, true
	}
	inText, ok := match(typed, e.does)
	if ok {
		score = inText + 100
	}
	if other, found := alike(typed, e.does); found {
		score, ok = max(score, other), true
	}
	if inGroup, found := within(typed, e.group, e.does); found && !ok {
		score, ok = inGroup, true
	}
	return score, ok
}

// exact is the score of a typed key, which is above every other score.
const exact = 1 << 30

// The measures of the box, in cells.
const (
	widest = 64
	most   = 12 // entries at once
	border = 2  // rows of its border
	above  = 2  // rows above the entries: the field and a line
	indent = 3  // columns of border and padding at each side
)

// New opens a palette of the enabled keys of the groups. If two bindings share a key, it
// belongs to the first one, as on the screen.
func New(groups []keymap.Group) *Model {
	m := &Model{typed: keymap.Field("› ")}
	m.typed.Placeholder = "search commands by name, key or a similar word"
	m.typed.Focus()
	taken := map[string]bool{}
	for _, group := range groups {
		for _, binding := range group.Keys {
			if !binding.Enabled() {
				continue
			}
			free := slices.DeleteFunc(slices.Clone(binding.Keys()), func(name string) bool { return taken[name] })
			if len(free) > 0 {
				m.all = append(m.all, entry{group.Title, binding.Help().Desc, free[0], free})
			}
			for _, name := range binding.Keys() {
				taken[name] = true
			}
		}
	}
	m.filter()
	return m
}

// SetTheme changes the styles.
func (m *Model) SetTheme(t theme.Theme) { m.theme = t }

// SetSize changes the size of the screen below the palette, in cells.
func (m *Model) SetSize(width, height int) {
	m.width, m.height = width, height
	m.typed.SetWidth(m.inner() - 3)
}

var keys = struct{ up, down, take, leave key.Binding }{
	up: keymap.Bind("up", "up", "ctrl+p"), down: keymap.Bind("down", "down", "ctrl+n"),
	take: keymap.Bind("run", "enter"), leave: keymap.Bind("close", "esc", "ctrl+c", "ctrl+k"),
}

// Short returns the palette's own keys, for the foot of the screen.
func (m *Model) Short() []key.Binding {
	return []key.Binding{keys.take, keys.up, keys.down, keys.leave}
}

// Update handles a message. When the outcome is Taken, press is the key of the chosen
// command.
func (m *Model) Update(msg tea.Msg) (outcome dialog.Outcome, press tea.KeyPressMsg) {
	switch msg := msg.(type) {
	case tea.KeyPressMsg:
		return m.press(msg)
	case tea.PasteMsg:
		m.typed, _ = m.typed.Update(msg)
		m.filter()
	case tea.MouseWheelMsg:
		switch msg.Button {
		case tea.MouseWheelUp:
			m.step(-1)
		case tea.MouseWheelDown:
			m.step(1)
		}
	case tea.MouseClickMsg:
		return m.click(msg)
	}
	return dialog.Open, press
}

func (m *Model) press(msg tea.KeyPressMsg) (dialog.Outcome, tea.KeyPressMsg) {
	switch {
	case key.Matches(msg, keys.leave):
		return dialog.Left, tea.KeyPressMsg{}
	case key.Matches(msg, keys.take):
		return m.take()
	case key.Matches(msg, keys.up):
		m.step(-1)
	case key.Matches(msg, keys.down):
		m.step(1)
	default:
		before := m.typed.Value()
		m.typed, _ = m.typed.Update(msg)
		if m.typed.Value() != before {
			m.filter()
		}
	}
	return dialog.Open, tea.KeyPressMsg{}
}

// take returns the key of the selected entry, if there is one.
func (m *Model) take() (dialog.Outcome, tea.KeyPressMsg) {
	if len(m.shown) == 0 {
		return dialog.Open, tea.KeyPressMsg{}
	}
	return dialog.Taken, keymap.Press(m.shown[m.at].key)
}

func (m *Model) step(n int) { m.at = max(0, min(m.at+n, len(m.shown)-1)) }

// click chooses the entry under the mouse. A click outside the box closes the palette.
func (m *Model) click(msg tea.MouseClickMsg) (dialog.Outcome, tea.KeyPressMsg) {
	if msg.Button != tea.MouseLeft {
		return dialog.Open, tea.KeyPressMsg{}
	}
	box := m.box()
	width, height := lipgloss.Width(box), lipgloss.Height(box)
	x, y := msg.X-(m.width-width)/2, msg.Y-(m.height-height)/2
	if x < 0 || y < 0 || x >= width || y >= height {
		return dialog.Left, tea.KeyPressMsg{}
	}
	top, row := m.window(), y-border/2-above
	if row < 0 || row >= m.room() || top+row >= len(m.shown) {
		return dialog.Open, tea.KeyPressMsg{}
	}
	m.at = top + row
	return m.take()
}

// filter updates the matches.
func (m *Model) filter() {
	type scored struct {
		entry
		score int
	}
	var found []scored
	for _, e := range m.all {
		if score, ok := e.match(m.typed.Value()); ok {
			found = append(found, scored{e, score})
		}
	}
	if strings.TrimSpace(m.typed.Value()) != "" { // otherwise keep the order of the help
		sorting.StableFunc(found, func(a, b *scored) int { return b.score - a.score })
	}
	m.shown, m.at = m.shown[:0], 0
	for _, f := range found {
		m.shown = append(m.shown, f.entry)
	}
}

// inner returns the width inside the box.
func (m *Model) inner() int { return max(10, min(widest, m.width-2*indent-2)) }

// room returns the rows for entries. It stays the same while the user types, so the box
// does not jump.
func (m *Model) room() int { return max(1, min(most, min(len(m.all), m.height-above-border-2))) }

// window returns the index of the first entry shown.
func (m *Model) window() int {
	return max(0, min(m.at-m.room()/2, len(m.shown)-m.room()))
}

// View draws the palette over a screen of the size of SetSize.
func (m *Model) View(screen string) string {
	return dialog.Over(screen, m.box(), m.width, m.height)
}

func (m *Model) box() string {
	width := m.inner()
	top := m.window()
	lines := []string{ansi.Truncate(m.typed.View(), width, ""), frame.TitledRule(m.theme, width, m.position(top))}
	for i := range m.room() {
		switch {
		case top+i < len(m.shown):
			lines = append(lines, m.line(top+i, width))
		case i == 0:
			lines = append(lines, m.theme.Faint.Render("no command that works here matches"))
		default:
			lines = append(lines, "")
		}
	}
	for i, line := range lines {
		lines[i] = line + strings.Repeat(" ", max(0, width-ansi.StringWidth(line)))
	}
	return m.theme.Dialog.Render(strings.Join(lines, "\n"))
}

// position returns which of the matches are shown; empty for all of them.
func (m *Model) position(top int) string {
	return cursor.Range(top, min(len(m.shown), top+m.room()), len(m.shown))
}

// line returns an entry with its group and its key.
func (m *Model) line(i, width int) string {
	e := m.shown[i]
	shortcut := keymap.Shown(e.key)
	left := ansi.Truncate(cursor.Here(i == m.at)+" "+e.does, max(0, width-ansi.StringWidth(shortcut)-2), "…")
	group := "  " + e.group
	if ansi.StringWidth(left)+ansi.StringWidth(group)+ansi.StringWidth(shortcut)+2 > width {
		group = ""
	}
	pad := strings.Repeat(" ", max(1, width-ansi.StringWidth(left)-ansi.StringWidth(group)-ansi.StringWidth(shortcut)))
	if i == m.at {
		return m.theme.Selected.Render(left + group + pad + shortcut)
	}
	return left + m.theme.Faint.Render(group) + pad + m.theme.Key.Render(shortcut)
}
