package keymap

import (
	"strings"
	"testing"

	"aibox/ui/widget/theme"

	"charm.land/bubbles/v2/key"
	"github.com/charmbracelet/x/ansi"
)

func TestAKeyPressedByItsNameMatchesItsBinding(t *testing.T) {
	for _, name := range []string{"a", "A", "é", "?", "enter", "esc", "space", "shift+tab", "ctrl+s", "alt+x", "ctrl+shift+up", "pgdown", "f1", "+"} {
		if press := Press(name); !key.Matches(press, Bind("x", name)) {
			t.Errorf("%q is pressed as %q", name, press.String())
		}
	}
}

func TestTheLineOfKeysKnowsThePositionsOfItsKeys(t *testing.T) {
	keys := []key.Binding{Bind("review", "enter"), key.NewBinding(key.WithKeys("z"), key.WithHelp("z", "off"), key.WithDisabled()), Bind("stop", "s"), Bind("what does not fit", "w")}
	line := ansi.Strip(Short(theme.New(true), 24, keys))
	if line != "enter review · s stop" {
		t.Fatalf("%q", line)
	}
	for x := range 30 {
		binding, hit := At(24, keys, x)
		want := x < len("enter review") || x >= strings.Index(line, "s stop")-1 && x < ansi.StringWidth(line)
		if hit != want || hit && x < 12 && binding.Help().Desc != "review" || hit && x > 12 && binding.Help().Desc != "stop" {
			t.Errorf("column %d is %q, %v", x, binding.Help().Desc, hit)
		}
	}
}
