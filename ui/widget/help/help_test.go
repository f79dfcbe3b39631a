package help

import (
	"fmt"
	"strings"
	"testing"

	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"
	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	tea "charm.land/bubbletea/v2"
	"charm.land/lipgloss/v2"
	"github.com/charmbracelet/x/ansi"
)

// many is more keys than a small screen has lines.
func many() []keymap.Group {
	var groups []keymap.Group
	for i, title := range []string{"Session", "List", "Move", "aibox"} {
		group := keymap.Group{Title: title}
		for j := range 12 {
			group.Keys = append(group.Keys, keymap.Bind(fmt.Sprintf("do the thing %d of %s", j, title), string(rune('a'+12*(i%2)+j))))
		}
		groups = append(groups, group)
	}
	return groups
}

func opened(width, height int) *Model {
	m := New(many())
	m.SetTheme(theme.New(true))
	m.SetSize(width, height)
	return m
}

func (m *Model) presses(names ...string) (outcome dialog.Outcome) {
	for _, name := range names {
		outcome = m.Update(keymap.Press(name))
	}
	return outcome
}

func (m *Model) shown() string { return ansi.Strip(m.View()) }

func TestEveryKeyCanBeScrolledTo(t *testing.T) {
	m := opened(50, 12)
	var seen strings.Builder
	for range 80 {
		seen.WriteString(m.shown())
		m.presses("down")
	}
	for _, group := range many() {
		for _, binding := range group.Keys {
			if !strings.Contains(seen.String(), binding.Help().Desc) {
				t.Errorf("%q is never seen", binding.Help().Desc)
			}
		}
	}
	if view := m.shown(); !strings.Contains(view, "of 5") && !strings.Contains(view, " of ") {
		t.Errorf("the help does not say where in it one is:\n%s", view)
	}
	m.presses("pgup", "pgup", "pgup", "pgup", "pgup", "pgup", "pgup", "k")
	if view := m.shown(); !strings.Contains(view, "Session") {
		t.Error(view)
	}
}

func TestASearchLeavesOnlyWhatHasTheWords(t *testing.T) {
	m := opened(80, 24)
	m.presses("/", "l", "i", "s", "t", "space", "7")
	if view := m.shown(); !strings.Contains(view, "thing 7 of List") || strings.Contains(view, "Session") || strings.Contains(view, "thing 6") {
		t.Error(view)
	}
	if m.presses("enter"); m.Typing() {
		t.Error("enter does not end the search")
	}
	if m.presses("esc") != dialog.Open || !strings.Contains(m.shown(), "Session") {
		t.Error("the first esc does not just clear the search")
	}
	m.presses("/", "z", "z")
	if view := m.shown(); !strings.Contains(view, "no key matches") {
		t.Error(view)
	}
	if m.presses("esc", "esc") != dialog.Left {
		t.Error("esc does not leave in the end")
	}
}

func TestTheHelpClosesByTheKeysThatItShows(t *testing.T) {
	for _, name := range []string{"esc", "q", "?", "f1", "ctrl+c"} {
		if opened(80, 24).presses(name) != dialog.Left {
			t.Errorf("%s does not leave", name)
		}
	}
}

func TestTheHelpFitsEveryScreen(t *testing.T) {
	for _, size := range [][2]int{{40, 11}, {80, 23}, {120, 39}, {200, 59}} {
		m := opened(size[0], size[1])
		for _, keys := range [][]string{nil, {"/", "ü", "漢"}, {"enter"}, {"esc", "pgdown"}} {
			m.presses(keys...)
			m.Update(tea.MouseWheelMsg{Button: tea.MouseWheelDown})
			if view := m.View(); lipgloss.Width(view) > size[0] || lipgloss.Height(view) != size[1] {
				t.Errorf("%v, %v: the view is %d by %d", size, keys, lipgloss.Width(view), lipgloss.Height(view))
			}
		}
	}
}

func TestAKeyThatIsOffIsNotInTheHelp(t *testing.T) {
	off := keymap.Bind("fly", "z")
	off.SetEnabled(false)
	m := New([]keymap.Group{{Title: "Air", Keys: []key.Binding{off, keymap.Bind("walk", "w")}}})
	m.SetSize(80, 24)
	if view := m.shown(); strings.Contains(view, "fly") || !strings.Contains(view, "walk") {
		t.Error(view)
	}
}

func FuzzKeys(f *testing.F) {
	f.Add("/ a b enter down esc q")
	f.Fuzz(func(t *testing.T, names string) {
		m := opened(60, 20)
		m.presses(strings.Fields(names)...)
		if view := m.View(); lipgloss.Height(view) != 20 {
			t.Fatalf("the view is %d rows", lipgloss.Height(view))
		}
	})
}
