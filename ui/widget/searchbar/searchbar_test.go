package searchbar

import (
	"testing"

	"aibox/ui/widget/dialog"
	"aibox/ui/widget/keymap"

	tea "charm.land/bubbletea/v2"
)

// typed returns the line after some keys.
func typed(l *Line, names ...string) dialog.Outcome {
	outcome := dialog.Open
	for _, name := range names {
		outcome = l.Update(keymap.Press(name))
	}
	return outcome
}

func TestTypedTextIsKeptOrCleared(t *testing.T) {
	l := New("search", "leave")
	l.Open()
	if outcome := typed(&l, "a", "q"); outcome != dialog.Open || !l.Typing() || l.Value() != "aq" {
		t.Errorf("%v with %q", outcome, l.Value())
	}
	l.Update(tea.PasteMsg{Content: " pasted"})
	if outcome := typed(&l, "enter"); outcome != dialog.Taken || l.Typing() || l.Value() != "aq pasted" {
		t.Errorf("%v with %q", outcome, l.Value())
	}
	for _, leave := range []string{"esc", "ctrl+c"} {
		l.Open()
		if l.Update(keymap.Press("x")); l.Value() == "" {
			t.Error("it begins without the words that it had")
		}
		if outcome := typed(&l, leave); outcome != dialog.Left || l.Typing() || l.Value() != "" {
			t.Errorf("%s: %v with %q", leave, outcome, l.Value())
		}
	}
}
