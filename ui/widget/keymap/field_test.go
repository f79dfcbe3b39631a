package keymap

import (
	"testing"

	tea "charm.land/bubbletea/v2"

	"charm.land/lipgloss/v2"
)

func TestAFieldIsStillUntilTheUserTypes(t *testing.T) {
	field, area := Field("/"), Area()
	if field.Focus() != nil || area.Focus() != nil {
		t.Error("what has the keys asks for something")
	}
	if field.Prompt != "/" {
		t.Errorf("it stands behind %q", field.Prompt)
	}
	field, cmd := field.Update(Press("x"))
	area, more := area.Update(Press("x"))
	if field.Value() != "x" || area.Value() != "x" || cmd != nil || more != nil {
		t.Errorf("%q and %q are typed, and a command comes of it: %v, %v", field.Value(), area.Value(), cmd != nil, more != nil)
	}
}

func TestNoKeyOfAFieldRunsAProgram(t *testing.T) {
	field, area := Field("/"), Area()
	field.Focus()
	area.Focus()
	for _, name := range []string{"ctrl+v", "ctrl+shift+c", "ctrl+c", "ctrl+x"} {
		_, cmd := field.Update(Press(name))
		_, more := area.Update(Press(name))
		if cmd != nil || more != nil {
			t.Errorf("%s asks for something: %v, %v", name, cmd != nil, more != nil)
		}
	}
	field, _ = field.Update(tea.PasteMsg{Content: "pasted"})
	area, _ = area.Update(tea.PasteMsg{Content: "two\nlines"})
	if field.Value() != "pasted" || area.Value() != "two\nlines" {
		t.Errorf("%q and %q", field.Value(), area.Value())
	}
}

// The library ends the program if alt+d is pressed on the last character.
func TestNoKeyOfAFieldEndsTheProgram(t *testing.T) {
	for _, name := range []string{"alt+d", "alt+delete", "alt+backspace", "alt+f", "alt+b", "ctrl+w", "ctrl+k", "ctrl+u", "ctrl+t", "alt+u"} {
		for _, text := range []string{"", "a", " ", "two words", "a "} {
			for back := range len(text) + 1 {
				field, area := Field("/"), Area()
				field.Focus()
				area.Focus()
				field.SetValue(text)
				area.SetValue(text)
				for range back {
					field, _ = field.Update(Press("left"))
					area, _ = area.Update(Press("left"))
				}
				for range 2 {
					field, _ = field.Update(Press(name))
					area, _ = area.Update(Press(name))
				}
			}
		}
	}
}

func TestTheCursorLineOfAnAreaKeepsTheTerminalsColors(t *testing.T) {
	styles := Area().Styles()
	for name, style := range map[string]lipgloss.Style{"cursor line": styles.Focused.CursorLine, "cursor line without focus": styles.Blurred.CursorLine, "text without focus": styles.Blurred.Text} {
		if _, none := style.GetBackground().(lipgloss.NoColor); !none {
			t.Errorf("the %s has the background %v", name, style.GetBackground())
		}
		if _, none := style.GetForeground().(lipgloss.NoColor); !none {
			t.Errorf("the %s has the color %v", name, style.GetForeground())
		}
	}
}
